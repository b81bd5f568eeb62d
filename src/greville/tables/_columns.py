"""Columns of any type as numbers, times or text, and which of their values cannot be.

Files do not agree on types: what is a float in Parquet is text in CSV. So every column first
becomes one of five plain types, and is then read as the kind that the model has learned it to be.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
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
# A column of text with at most this share of slips among so many values is what the others are.
_SPARED, _ENOUGH = 0.05, 20
_FLAGS = {"true": 1.0, "false": 0.0}
_MICROSECONDS_A_DAY = 86_400e6

# Up to here every whole number is a float; beyond there numbers are too large to be squared.
_EXACT, LARGEST = 2**53, 1e100

# What stands for nothing among numbers, dates, true and false.
NOTHING = [
    "",
    "NA",
    "N/A",
    "#N/A",
    "n/a",
    "NaN",
    "nan",
    "-nan",
    "NULL",
    "null",
    "None",
    "none",
    "?",
]


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
    return most is not None and max(most, -least) > _EXACT


def joined(first: Any, more: Any) -> Any:
    """Two plain columns as one; as text if they are of different types."""
    if first.type != more.type:
        first, more = as_text(first), as_text(more)
    return pa.concat_arrays([first, more])


# Reading a plain column as one kind: the values, nan where one is missing, and those that are wrong


def as_numbers(column: Any) -> tuple[Floats, Mask]:
    if column.type == TEXT:
        values, wrong = _parsed(column)
    elif column.type in (NUMBER, FLAG):
        values, wrong = _with_nan(pc.cast(column, NUMBER)), np.zeros(len(column), bool)
    else:
        return _all_wrong(column)
    large = np.abs(values) > LARGEST  # infinite ones too
    if large.any():
        return np.where(large, math.nan, values), wrong | large
    return values, wrong


def as_flags(column: Any) -> tuple[Floats, Mask]:
    """1 for true, 0 for false."""
    if column.type == FLAG:
        return _with_nan(pc.cast(column, NUMBER)), np.zeros(len(column), bool)
    if column.type == NUMBER:
        values = _with_nan(column)
        return values, ~(np.isnan(values) | (values == 0) | (values == 1))
    if column.type == TEXT:
        known = pc.utf8_lower(_something(column))
        values = np.array(
            [math.nan if v is None else _FLAGS.get(v, math.inf) for v in known.to_pylist()]
        )
        wrong = np.isinf(values)
        return np.where(wrong, math.nan, values), wrong
    return _all_wrong(column)


def as_days(column: Any) -> tuple[Floats, Mask]:
    """Days since 1970, in UTC."""
    if column.type == TEXT:
        column, wrong = _times(column)
    elif column.type == TIME:
        wrong = np.zeros(len(column), bool)
    else:
        return _all_wrong(column)
    return _with_nan(
        pc.cast(pc.cast(column, pa.int64()), NUMBER, safe=False)
    ) / _MICROSECONDS_A_DAY, wrong


def as_text(column: Any) -> Any:
    """Whole numbers without a point, so that 3 in a CSV and 3.0 in Parquet are the same."""
    if column.type == NUMBER:
        column = pc.if_else(pc.is_nan(column), None, column)
        short = pc.and_(pc.equal(pc.round(column), column), pc.less(pc.abs(column), float(_EXACT)))
        whole = pc.cast(pc.cast(pc.if_else(short, column, 0.0), pa.int64()), TEXT)
        return pc.if_else(short, whole, pc.cast(column, TEXT))
    if column.type == VECTOR:
        return pa.array([None if v is None else str(v) for v in column.to_pylist()], TEXT)
    text = column if column.type == TEXT else pc.cast(column, TEXT)
    return pc.if_else(pc.equal(text, ""), None, text)


def text_of(value: Any) -> str | None:
    """The same for one value, as JSON has it."""
    if isinstance(value, str):
        return value.encode("utf8", "replace").decode() or None
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124
            return None
        return str(int(value)) if value == round(value) and abs(value) < _EXACT else repr(value)
    return None if value is None else json.dumps(value)


def as_vectors(column: Any, width: int) -> tuple[Floats, Mask]:
    """Rows of so many numbers; missing ones are wrong."""
    values = np.zeros((len(column), width))
    if column.type != VECTOR:
        return values, np.ones(len(column), bool)
    lengths = pc.fill_null(pc.list_value_length(column), -1).to_numpy(zero_copy_only=False)
    wrong = lengths != width
    if not wrong.all():
        flat = _with_nan(pc.list_flatten(column.filter(pa.array(~wrong)))).reshape(-1, width)
        values[~wrong] = flat
    wrong = wrong | ~np.isfinite(values).all(axis=1)
    return np.where(wrong[:, None], 0.0, values), wrong


def kind_of(column: Any) -> str:
    """What a plain column is: number, flag, time, vector, text, or empty."""
    if column.type == NUMBER:
        return "empty" if np.isnan(as_numbers(column)[0]).all() else "number"
    if column.type != TEXT:
        kind = {FLAG: "flag", TIME: "time"}.get(column.type, "vector")
        return "empty" if column.null_count == len(column) else kind
    known = _something(column).drop_null()
    if not len(known):
        return "empty"
    spared = _SPARED * len(known) if len(known) >= _ENOUGH else 0.0
    for kind, read in (("number", as_numbers), ("flag", as_flags), ("time", as_days)):
        if read(known)[1].sum() <= spared:
            return kind
    return "text"


def _with_nan(column: Any) -> Floats:
    values = column.to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)


def _as_it_is(column: Any) -> Any:
    return column


def _something(column: Any) -> Any:
    """Text without spaces around it, and missing where it says nothing."""
    trimmed = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.is_in(trimmed, value_set=pa.array(NOTHING)), None, trimmed)


def _all_wrong(column: Any) -> tuple[Floats, Mask]:
    wrong = ~column.is_null().to_numpy(zero_copy_only=False)
    return np.full(len(column), math.nan), wrong


def _parsed(column: Any) -> tuple[Floats, Mask]:
    """Text as numbers, all at once if all are; else one by one, to know which are not."""
    for read in (_as_it_is, _something):
        try:
            return _with_nan(pc.cast(read(column), NUMBER)), np.zeros(len(column), bool)
        except pa.ArrowInvalid:
            continue
    values = [_number(value) for value in _something(column).to_pylist()]
    wrong = np.array([value is None for value in values], bool)
    return np.array([math.nan if value is None else value for value in values]), wrong


def _number(text: str | None) -> float | None:
    if text is None or not text.strip():
        return math.nan
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def _times(column: Any) -> tuple[Any, Mask]:
    trimmed = _something(column)
    for wanted in (TIME, pa.timestamp("us", "UTC")):
        try:
            return pc.cast(pc.cast(trimmed, wanted), TIME), np.zeros(len(column), bool)
        except pa.ArrowInvalid:
            continue
    values = [_time(value) for value in trimmed.to_pylist()]
    wrong = np.array([value is False for value in values], bool)
    return pa.array([value or None for value in values], TIME), wrong


def _time(text: str | None) -> datetime | bool | None:
    """False for what is no time."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
        return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return False
