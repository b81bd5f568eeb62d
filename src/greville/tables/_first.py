"""The first rows of a table, as they came: what its columns are is learned from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..fields import array, count, each, nothing, row, stored, text
from ._plain import FLAG, NUMBER, TEXT, TIME, VECTOR, UnknownType
from ._rows import Row, batches_of_rows
from ._values import joined
from .batch import MOST_COLUMNS, Batch, Place, check_count, record_batch
from .readers.json import is_text

# Rows that are not in the columns yet: those before, and the last.
_Later = tuple["_Later | None", Row]
_Origins = tuple[tuple[Place, NDArray[np.int64]], ...]
_Content = tuple[dict[str, Any], _Later | None, _Origins]

# A column in a file: its name and type, and one or two arrays.
Stored = tuple[str, str, NDArray[Any], NDArray[Any] | None]

_ARROW_TYPES = {"number": NUMBER, "flag": FLAG, "text": TEXT, "time": TIME, "vector": VECTOR}
_NO_TIME = np.iinfo(np.int64).min


_column = row(
    text, text, array(1, "fi", any_number=True), nothing | array(1, "fu", any_number=True)
)


@stored(
    parameters={"n": count, "columns": each(_column)},
    to_fields=lambda rows: rows._to_fields(),
    from_fields=lambda cls, fields: cls._from_fields(**fields),
)
class FirstRows:
    """Some rows in plain columns; a value, which never changes."""

    def __init__(
        self,
        columns: dict[str, Any] | None = None,
        n: int = 0,
        origins: Sequence[tuple[Place, NDArray[np.int64]]] = (),
    ) -> None:
        self.n = n
        self._most_columns = len(columns or ())  # with those that rows below may bring
        # Columns, rows that are not in them yet, and places with the numbers of the rows there: one
        # value, so that threads that read at once see all of it before or after rows are joined.
        self._content: _Content = columns or {}, None, tuple(origins)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns by their names."""
        return self._joined()[0]

    @property
    def origins(self) -> _Origins:
        return self._joined()[2]

    def with_row(self, row: Row, wanted: Callable[[str], bool]) -> FirstRows:
        """And one more row, which becomes part of the columns when they are read.

        Its values must not change later: numbers, text, true or false, and None.
        """
        columns, later, origins = self._content
        other = FirstRows(columns, self.n + 1)
        kept = {name: row[name] for name in row if wanted(name)}
        other._content = columns, (later, kept), origins
        other._most_columns = self._most_columns + len(kept.keys() - columns.keys())
        return other

    def takes_names_of(self, row: Row) -> bool:
        """Whether `with_row` may have the row: other names could make no column later."""
        columns = self._content[0]
        if row.keys() <= columns.keys():
            return True
        new = [name for name in row if name not in columns]
        fit = self._most_columns + len(new) <= MOST_COLUMNS
        return fit and all(isinstance(name, str) and is_text(name) for name in new)

    def _joined(self) -> _Content:
        """The content with all rows in the columns."""
        columns, later, origins = self._content
        rows: list[Row] = []
        while later is not None:
            later, row = later
            rows.append(row)
        if rows:
            whole = FirstRows(columns, self.n - len(rows), origins)
            for batch in batches_of_rows(rows[::-1], "the rows"):
                whole = whole.with_batch(batch, lambda name: True)
            self._content = whole._content
        return self._content

    def __getstate__(self) -> dict[str, Any]:
        self._joined()
        return dict(vars(self))

    def with_batch(self, batch: Batch, wanted: Callable[[str], bool]) -> FirstRows:
        """And more rows. A column that one of them does not have is missing there."""
        n, columns = len(batch), dict(self.columns)
        fixed = self.n > 0 and not batch.sparse  # a table that has begun gets no new columns
        for name in filter(wanted, batch.table.schema.names):
            if fixed and name not in columns:
                continue
            try:
                column = batch.values(name).plain
            except UnknownType:  # nothing of it can be used
                column = pa.nulls(n, TEXT)
            before = columns.get(name)
            if before is None:
                before = pa.nulls(self.n, column.type)
            columns[name] = joined(before, column)
            check_count(batch.source, len(columns))
        for name, column in columns.items():
            if len(column) == self.n:
                columns[name] = pa.concat_arrays([column, pa.nulls(n, column.type)])
        return FirstRows(columns, self.n + n, [*self.origins, (batch.located(), batch.numbers)])

    def without(self, rows: Sequence[int]) -> FirstRows:
        keep = np.ones(self.n, bool)
        keep[list(rows)] = False
        columns = {name: c.filter(pa.array(keep)) for name, c in self.columns.items()}
        origins, start = [], 0
        for source, numbers in self.origins:
            part = keep[start : start + len(numbers)]
            origins.append((source, numbers[part]))
            start += len(numbers)
        return FirstRows(columns, int(keep.sum()), origins)

    @property
    def places(self) -> NDArray[np.int64]:
        """The numbers of the rows in their sources."""
        return np.concatenate([np.empty(0, np.int64), *(each for _, each in self.origins)])

    def where(self, row: int) -> str:
        """The name of a row in a message."""
        for place, numbers in self.origins:
            if row < len(numbers):
                return place(int(numbers[row]))
            row -= len(numbers)
        return f"row {row + 1:,} of an earlier run"

    def batch(self) -> Batch:
        """All of them as one batch."""
        return Batch(record_batch(self.columns), "the first rows", np.arange(1, self.n + 1), 0.0)

    # Files

    def _to_fields(self) -> dict[str, Any]:
        columns = [(name, *_as_arrays(column)) for name, column in self.columns.items()]
        return {"n": self.n, "columns": columns}

    @classmethod
    def _from_fields(cls, n: int, columns: Sequence[Stored]) -> FirstRows:
        """The rows again; a ValueError if there are not so many."""
        made = {name: _from_arrays(kind, a, b) for name, kind, a, b in columns}
        if any(len(column) != n for column in made.values()):
            raise ValueError("the first rows are not as many as they should be.")
        origins = [(Place("an earlier run"), np.arange(1, n + 1))] if n else []
        return cls(made, n, origins)


def _as_arrays(column: Any) -> tuple[str, NDArray[Any], NDArray[Any] | None]:
    kind = next(name for name, type_ in _ARROW_TYPES.items() if type_ == column.type)
    if kind == "number":
        return kind, np.array(column.to_numpy(zero_copy_only=False), np.float64), None
    if kind == "flag":
        return kind, _filled(pc.cast(column, pa.int64()), -1), None
    if kind == "time":
        return kind, _filled(pc.cast(column, pa.int64()), _NO_TIME), None
    if kind == "vector":
        flat = pc.list_flatten(column).to_numpy(zero_copy_only=False)
        return kind, _filled(pc.list_value_length(column), -1), np.array(flat, np.float64)
    content = "".join(column.drop_null().to_pylist()).encode()
    return kind, _filled(pc.binary_length(column), -1), np.frombuffer(content, np.uint8).copy()


def _filled(column: Any, instead: int) -> NDArray[np.int64]:
    return np.array(pc.fill_null(pc.cast(column, pa.int64()), instead), np.int64)


def _from_arrays(kind: str, values: NDArray[Any], content: NDArray[Any] | None) -> Any:
    wanted = {"number": ("f", ""), "vector": ("i", "f"), "text": ("i", "u")}.get(kind, ("i", ""))
    got = values.dtype.kind, "" if content is None else content.dtype.kind
    if kind not in _ARROW_TYPES or got != wanted or values.ndim != 1:
        raise ValueError(f"a column of {kind!r}: its values are not of that kind.")
    if kind == "number":
        return pa.array(values)
    if kind == "flag":
        return pa.array(values == 1, mask=values < 0)
    if kind == "time":
        return pc.cast(pa.array(values, mask=values == _NO_TIME), TIME)
    assert content is not None
    lengths = np.maximum(values, 0)
    ends = np.cumsum(lengths)
    if content.ndim != 1 or (ends[-1] if len(ends) else 0) != len(content):
        raise ValueError(f"a column of {kind!r}: its parts do not make the whole.")
    parts: list[Any] = [content[end - n : end] for end, n in zip(ends, lengths, strict=True)]
    if kind == "text":
        parts = [part.tobytes().decode() for part in parts]
    return pa.array(
        [p if n >= 0 else None for p, n in zip(parts, values, strict=True)], _ARROW_TYPES[kind]
    )
