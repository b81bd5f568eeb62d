"""Rows as dicts become the inputs of a hidden layer, without a table where that is faster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ._plain import Floats
from .batch import Batch, TableError, listed, record_batch
from .column import Column
from .readers.json import array_of
from .schema import Schema

# Values of one column whose inputs are remembered.
_MOST_REMEMBERED = 4096

# Up to so many rows are encoded one by one; of more, whole columns are.
FEW_ROWS = 8

# Types that Arrow turns into a column in which no value depends on the others.
_PLAIN = ({float, int}, {str}, {bool})

_NOTHING = type(None)

Row = Mapping[str, Any]


class RowEncoder:
    """The inputs of rows, the same as those that `Schema.encode` makes of a table.

    A row that leaves a column out has a missing value there.

    Parameters
    ----------
    schema : Schema
    na : sequence of str
        Values that stand for a missing one, besides the usual ones.
    """

    def __init__(self, schema: Schema, na: Sequence[str] = ()) -> None:
        self.schema = schema
        self._columns = [_ColumnEncoder(column, na) for column in schema.used]
        self._names = frozenset(schema.names)
        self._no_column = f"it has none of the columns {listed(schema.names)}"

    def encode_one(self, row: Row) -> tuple[Floats, str | None]:
        """The inputs of a row, and what is wrong with it, if anything is."""
        inputs: list[float] = []
        late: list[float] = []  # behind those of all columns
        reason = None
        for column in self._columns:
            found, wrong = column.encode_one(row.get(column.name))
            inputs += found[: column.n]
            late += found[column.n :]
            reason = reason or wrong
        inputs += late
        if self._names.isdisjoint(row):
            reason = self._no_column
        return np.array(inputs, np.float64), reason

    def encode(self, rows: Sequence[Row]) -> tuple[Floats, dict[int, str]]:
        """The inputs of rows, and for rows that have none, what is wrong with them.

        Each row gets what it would get alone, whatever the others are.
        """
        if len(rows) <= FEW_ROWS:
            pairs = [self.encode_one(row) for row in rows]
            wrong = {i: reason for i, (_, reason) in enumerate(pairs) if reason is not None}
            return np.array([inputs for inputs, _ in pairs]), wrong
        parts, late, wrong = [], [], {}
        for column in self._columns:
            inputs, reasons = column.encode([row.get(column.name) for row in rows])
            parts.append(inputs[:, : column.n])
            late.append(inputs[:, column.n :])
            wrong = reasons | wrong
        empty = {i: self._no_column for i, row in enumerate(rows) if self._names.isdisjoint(row)}
        return np.concatenate([*parts, *late], axis=1), wrong | empty


class _ColumnEncoder:
    """The inputs of single values of a column; those of usual values are remembered."""

    def __init__(self, column: Column, na: Sequence[str]) -> None:
        self.name, self.n = column.name, len(column.inputs)
        self._na = na
        self._of_usual = column.inputs_of
        self._schema = Schema([column])
        self._remembered: dict[Any, tuple[list[float], str | None]] = {}

    def encode_one(self, value: Any) -> tuple[Sequence[float], str | None]:
        usual = None if self._na else self._of_usual(value)
        if usual is not None:
            return usual, None
        kind = type(value)
        if kind is not str and kind is not bool and value is not None:
            return self._parsed(value)
        known = self._remembered.get((kind, value))
        if known is None:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            known = self._remembered[kind, value] = self._parsed(value)
        return known

    def encode(self, values: list[Any]) -> tuple[Floats, dict[int, str]]:
        kinds = set(map(type, values)) - {_NOTHING}
        if any(kinds <= plain for plain in _PLAIN):
            return self._encode(values)
        pairs = [self.encode_one(value) for value in values]
        wrong = {i: reason for i, (_, reason) in enumerate(pairs) if reason is not None}
        return np.array([inputs for inputs, _ in pairs], np.float64), wrong

    def _encode(self, values: list[Any]) -> tuple[Floats, dict[int, str]]:
        table = record_batch({self.name: array_of(values)})
        numbers = np.arange(1, len(values) + 1)
        batch = Batch(table, "the row", numbers, 1.0, sparse=True)
        return self._schema.encode(batch.with_gaps(self._na))

    def _parsed(self, value: Any) -> tuple[list[float], str | None]:
        try:
            inputs, wrong = self._encode([value])
        except TableError as error:  # a type that no column can have
            return [0.0] * len(self._schema.inputs), error.message.removeprefix("the row: ")
        return inputs[0].tolist(), wrong.get(0)


def one_row_batch(row: Row) -> Batch:
    """A row as a batch."""
    columns = {name: _column(name, [value]) for name, value in row.items()}
    return Batch(record_batch(columns), "the row", np.ones(1, np.int64), 1.0, sparse=True)


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
    """Where a column begins to have values of another kind."""
    found: list[int] = []
    kinds: dict[str, str] = {}
    for k, row in enumerate(rows):
        for name, value in row.items():
            kind = _kind(value)
            if kind != _MISSING and kinds.setdefault(name, kind) != kind:
                found.append(k)
                kinds = {name: _kind(value) for name, value in row.items()}
                kinds = {name: kind for name, kind in kinds.items() if kind != _MISSING}
                break
    return found


# Kinds of values that go together into a column: numbers are of two types.
_MISSING = "missing"
_KINDS = {float: "number", str: "text", bool: "flag", type(None): _MISSING, list: "list"}


def _kind(value: Any) -> str:
    if type(value) is int:
        return "number" if -(1 << 63) <= value < 1 << 63 else "large"
    return _KINDS.get(type(value), "other")
