"""Rows as dicts, on their way to a table or, one at a time, to the inputs of a hidden layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import is_
from typing import Any

import numpy as np

from ._values import Floats
from .batch import Batch, TableError, record_batch
from .frames import array_of
from .kinds import Column
from .readers.json import flat
from .schema import Schema

# Values of a column whose inputs are remembered.
_MOST_REMEMBERED = 4096

# Up to so many rows of a stream are learned one by one; more are learned as a table.
FEW_ROWS = 8

# Types whose values never change, and are the same as others only if they are equal.
_SIMPLE = frozenset({float, int, str, bool, type(None)})

Row = Mapping[str, Any]


class RowEncoder:
    """The inputs of single rows, the same as those that `Schema.encode` makes of a table.

    A usual value becomes inputs at once (`Column.inputs_of`). Others go through a table of one
    value, and what they become is remembered.

    Parameters
    ----------
    schema : Schema
    na : sequence of str
        Values that stand for a missing one, besides the usual ones.
    """

    def __init__(self, schema: Schema, na: Sequence[str] = ()) -> None:
        self.columns, self._na = schema.columns, na
        self._names = frozenset(schema.names)
        self._used = [(column, len(column.inputs), Schema([column])) for column in schema.used]
        for _, _, alone in self._used:
            alone.learned[:] = True
        self._remembered: dict[Any, list[float] | None] = {}
        self._last: tuple[tuple[Any, ...], Floats] | None = None  # values and their inputs

    def encode(self, row: Row) -> Floats | None:
        """Return the inputs of a row; None if no column is there or a value is not a usual one.

        A row that is predicted and then learned is encoded once.
        """
        if self._names.isdisjoint(row):
            return None
        values, last = tuple([row.get(column.name) for column, _, _ in self._used]), self._last
        if last is not None and all(map(is_, values, last[0])):
            return last[1]
        inputs: list[float] = []
        late: list[float] = []  # behind those of all columns
        for value, (column, n, alone) in zip(values, self._used, strict=True):
            numbers = None if self._na else column.inputs_of(value)
            numbers = self._through_a_table(column, alone, value) if numbers is None else numbers
            if numbers is None:
                return None
            inputs += numbers[:n]
            late += numbers[n:]
        x = np.array(inputs + late, np.float64)
        if _SIMPLE.issuperset(map(type, values)):  # they cannot change
            self._last = values, x
        return x

    def _through_a_table(self, column: Column, alone: Schema, value: Any) -> list[float] | None:
        key = column.name, type(value), value
        if type(value) not in _SIMPLE:
            return None
        if key not in self._remembered:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            batch = batch_of_rows([{column.name: value}], [column.name], "the row")
            batch = batch.with_gaps(self._na)
            X, wrong = alone.encode(batch)
            usual = not (wrong or alone.unlearned(batch))
            self._remembered[key] = X[0].tolist() if usual else None
        return self._remembered[key]


def checked_row(row: Any, learn: str = "learn") -> Row:
    """Return a row; a TypeError that names the method for several rows if it is no dict.

    A row of a pandas data frame is one too. What is in dicts of the row has names with points.
    """
    if isinstance(row, Mapping):
        return flat(row)
    if type(row).__name__ == "Series" and hasattr(row, "to_dict"):
        dictionary: Row = row.to_dict()
        if all(isinstance(name, str) for name in dictionary):
            return dictionary
    raise TypeError(
        f"row: pass a dict of values by the names of their columns, got {type(row).__name__}; "
        f"for several rows use {learn} and predict."
    )


def batch_of_rows(
    rows: Sequence[Row], names: Sequence[str], source: str, numbers: Sequence[int] = ()
) -> Batch:
    """Rows as one batch with these columns. What a row does not have is missing."""
    columns = {name: _column(name, [row.get(name) for row in rows]) for name in names}
    lines = np.array(numbers if len(numbers) else range(1, len(rows) + 1), np.int64)
    return Batch(record_batch(columns), source, lines, 0.0, sparse=True)


def _column(name: Any, values: list[Any]) -> Any:
    """Values as a column; a TableError if they cannot be one."""
    if not isinstance(name, str):
        raise TableError(f"the row: the names of columns are text, got {name!r}.")
    try:
        return array_of(values)
    except TypeError as error:
        kinds = ", ".join(sorted({type(value).__name__ for value in values if value is not None}))
        raise TableError(
            f"the row: column {name!r} should be numbers, text, true or false, or times, got "
            f"values of type {kinds}."
        ) from error


def batches_of_rows(rows: Sequence[Row], source: str) -> list[Batch]:
    """Rows as batches, so that each row is read as it would be alone."""
    parts = [(rows[run], range(1, len(rows) + 1)[run]) for run in runs_of_one_kind(rows)]
    return [
        batch_of_rows(part, list(dict.fromkeys(name for row in part for name in row)), source, n)
        for part, n in parts
    ]


def runs_of_one_kind(rows: Sequence[Row]) -> Iterator[slice]:
    """Runs of rows in which no column has values of different kinds.

    Of text and numbers together, a column of text would be made.
    """
    for start, stop in pairwise([0, *_changes(rows), len(rows)]):
        if start < stop:
            yield slice(start, stop)


def _changes(rows: Sequence[Row]) -> list[int]:
    """Return the row numbers at which a column's values change their kind."""
    changes: list[int] = []
    kinds: dict[str, str] = {}
    for k, row in enumerate(rows):
        own = {name: _kind(value) for name, value in row.items() if value is not None}
        if any(kinds.setdefault(name, kind) != kind for name, kind in own.items()):
            changes.append(k)
            kinds = own
    return changes


def _kind(value: Any) -> str:
    """Return the kind of column that a value makes; large integers are a kind of their own."""
    if type(value) is int:
        return "number" if -(1 << 63) <= value < 1 << 63 else "large"
    return {float: "number", str: "text", bool: "flag", list: "list"}.get(type(value), "other")
