"""A last row of totals, as people write it below a table: it is no row like the others."""

from __future__ import annotations

import numpy as np

from ._values import NUMBER, TEXT, Floats, UnknownType, Values
from .batch import Batch
from .decisions import Evidence, decide
from .findings import Finding
from .readers._header import total_in

# Rows above the totals, and how many of the numbers in the row must be sums.
_LEAST_ROWS, _SHARE_OF_SUMS = 3, 0.5

# By how much a total may be off, of itself, since it and what it adds up are rounded.
_ROUNDING = 1e-3


def totals_row(batch: Batch, place: str = "") -> Finding | None:
    """A finding if the last row of a table has a label such as "Total" and the sums of columns.

    Parameters
    ----------
    batch : Batch
        All rows of a table.
    place : str
        How the last row is called, if not by the batch.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from greville.tables import Batch, totals_row
    >>> table = pa.record_batch({"city": ["Ulm", "Bonn", "Kiel", "Total"], "n": [5, 7, 9, 21]})
    >>> totals_row(Batch(table, "towns.csv", np.arange(1, 5), 1.0)).text
    "towns.csv, row 4, is left out: it is a row of totals ('Total', and 'n' is the sum 21)."
    """
    n = len(batch) - 1
    if n < _LEAST_ROWS:
        return None
    label = total_in(batch.table.slice(n).to_pylist()[0].values())
    if label is None:
        return None
    sums, others = [], 0
    for name in batch.table.schema.names:
        numbers = _numbers(batch, name)
        if numbers is None or np.isnan(numbers[-1]) or np.isfinite(numbers[:n]).sum() < _LEAST_ROWS:
            continue
        total = float(np.nansum(numbers[:n]))
        if abs(total - numbers[-1]) <= _ROUNDING * max(abs(total), abs(numbers[-1])) and total:
            sums.append(f"{name!r} is the sum {numbers[-1]:.15g}")
        else:
            others += 1
    if not sums or len(sums) < _SHARE_OF_SUMS * (len(sums) + others):
        return None
    where = place or batch.where(n)
    text = f"{where}, is left out: it is a row of totals ({label!r}, and {sums[0]})."
    return Finding("total", text, warning=True)


def _numbers(batch: Batch, name: str) -> Floats | None:
    """A column as numbers, where all values above the last are; else None."""
    try:
        values = batch.values(name)
    except UnknownType:
        return None
    if values.plain.type == NUMBER:
        return values.numbers[0]
    if values.plain.type != TEXT:
        return None
    decision = decide(Evidence(name, Values(values.plain.slice(0, len(batch) - 1))))
    if decision.kind != "number":
        return None
    return values.numbers_as(decision.numerals)[0]
