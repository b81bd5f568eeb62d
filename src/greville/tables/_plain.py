"""Columns of any type in one of five plain types.

Files do not agree on types: what is a float in Parquet is text in CSV.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

NUMBER, FLAG, TEXT, TIME, VECTOR = (
    pa.float64(),
    pa.bool_(),
    pa.string(),
    pa.timestamp("us"),
    pa.list_(pa.float64()),
)

# Up to here every whole number is a float; beyond there numbers are too large to be squared.
EXACT, LARGEST = 2**53, 1e100


class UnknownType(ValueError):
    """A column of a type that no model can use."""


def plain(column: Any) -> Any:
    """The column in one of the five plain types; an `UnknownType` if it is none of them."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain(column.dictionary_decode())
    if pa.types.is_integer(kind) and _has_large(column):
        return pc.cast(column, TEXT)  # as a float it would be another number, and another name
    for is_kind, wanted in (
        (pa.types.is_floating, NUMBER),
        (pa.types.is_integer, NUMBER),
        (pa.types.is_decimal, NUMBER),
        (pa.types.is_boolean, FLAG),
        (pa.types.is_string, TEXT),
        (pa.types.is_large_string, TEXT),
        (pa.types.is_string_view, TEXT),
        (pa.types.is_null, TEXT),
        (pa.types.is_date, TIME),
        (pa.types.is_timestamp, TIME),
    ):
        if is_kind(kind):
            return column if kind == wanted else pc.cast(column, wanted, safe=False)
    if pa.types.is_duration(kind):
        lengths = pc.cast(pc.cast(column, pa.duration("us"), safe=False), pa.int64())
        return pc.divide(pc.cast(lengths, NUMBER, safe=False), 1e6)
    if pa.types.is_time(kind):
        return pc.cast(pc.cast(pc.cast(column, pa.time64("us")), pa.int64()), NUMBER)
    lists = (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )
    if lists and (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
        return pc.cast(column, VECTOR, safe=False)
    raise UnknownType(f"its type, {kind}, is none that can be learned from")


def _has_large(column: Any) -> bool:
    ends = pc.min_max(column)
    least, most = ends["min"].as_py(), ends["max"].as_py()
    return most is not None and max(most, -least) > EXACT
