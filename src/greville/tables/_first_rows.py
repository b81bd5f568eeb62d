"""The first rows of a table, from which is learned what its columns are; and rows as inputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..fields import array, count, require, stored
from ._settings import Settings
from ._values import FLAG, IN_LABELS, NUMBER, TAGS, TEXT, TIME, VECTOR, UnknownType, concatenated
from .batch import Batch, Place, TableError, check_count, record_batch
from .decisions import Evidence, usual_of
from .doubts import unused_options
from .schema import Schema
from .target import Target, check_target, decide_target

_ARROW_TYPES = {"number": NUMBER, "flag": FLAG, "text": TEXT, "time": TIME, "vector": VECTOR}
_ARROW_TYPES["tags"] = TAGS


@stored(
    parameters={"n": count, "columns": array(1, "u")},
    to_fields=lambda rows: {"n": rows.n, "columns": _as_bytes(rows.columns)},
    from_fields=lambda cls, fields: cls._from_fields(**fields),
)
class FirstRows:
    """The first rows of a table in plain columns, as an immutable value.

    Parameters
    ----------
    columns : dict of str to Array
        Arrow arrays of the plain types, by name.
    n : int
        How many rows they have.
    origins : sequence of (Place, ndarray of int)
        Where the rows come from, and their numbers there.
    """

    def __init__(
        self,
        columns: dict[str, Any] | None = None,
        n: int = 0,
        origins: Sequence[tuple[Place, NDArray[np.int64]]] = (),
    ) -> None:
        self.columns, self.n, self.origins = columns or {}, n, tuple(origins)

    @classmethod
    def of(cls, batches: Sequence[Batch]) -> FirstRows:
        """Make first rows from all columns of some batches."""
        rows = cls()
        for batch in batches:
            rows = rows.with_batch(batch)
        return rows

    def with_batch(
        self, batch: Batch, uses: Callable[[str], bool] = lambda name: True
    ) -> FirstRows:
        """Append a batch to the rows; a column that one side lacks has missing values there."""
        n, columns = len(batch), dict(self.columns)
        fixed = self.n > 0 and not batch.sparse  # a table that has begun gets no new columns
        for name in filter(uses, batch.table.schema.names):
            if fixed and name not in columns:
                continue
            try:
                column = batch.values(name).plain
            except UnknownType:  # nothing of it can be used
                column = pa.nulls(n, TEXT)
            before = columns.get(name)
            columns[name] = concatenated(
                pa.nulls(self.n, column.type) if before is None else before, column
            )
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
            origins.append((source, numbers[keep[start : start + len(numbers)]]))
            start += len(numbers)
        return FirstRows(columns, int(keep.sum()), origins)

    @property
    def places(self) -> NDArray[np.int64]:
        """The numbers of the rows in their sources."""
        return np.concatenate([np.empty(0, np.int64), *(numbers for _, numbers in self.origins)])

    def where(self, row: int) -> str:
        """The name of a row in a message."""
        for place, numbers in self.origins:
            if row < len(numbers):
                return place(int(numbers[row]))
            row -= len(numbers)
        return f"row {row + 1:,} of an earlier run"

    def batch(self) -> Batch:
        """Return all first rows as one batch."""
        return Batch(record_batch(self.columns), "the first rows", np.arange(1, self.n + 1), 0.0)

    @classmethod
    def _from_fields(cls, n: int, columns: NDArray[np.uint8]) -> FirstRows:
        """Read stored first rows; a ValueError if a column does not have n values."""
        try:
            stored_columns = json.loads(columns.tobytes())
            made = {name: _from_json(*column) for name, column in stored_columns.items()}
        except (AttributeError, TypeError, LookupError, OverflowError, RecursionError) as error:
            raise ValueError("the first rows have values of another kind.") from error
        fits = all(len(column) == n for column in made.values())
        require(fits, "the first rows are not as many as they should be")
        return cls(made, n, [(Place("an earlier run"), np.arange(1, n + 1))] if n else [])


def _as_bytes(columns: dict[str, Any]) -> NDArray[np.uint8]:
    """Columns in JSON: the kind and the values of each, times as numbers."""
    values = {}
    for name, column in columns.items():
        kind = next(kind for kind, type_ in _ARROW_TYPES.items() if type_ == column.type)
        is_time = column.type == TIME
        values[name] = kind, (pc.cast(column, pa.int64()) if is_time else column).to_pylist()
    return np.frombuffer(json.dumps(values).encode(), np.uint8)


def _from_json(kind: str, values: list[Any]) -> Any:
    """A column of plain values."""
    if kind == "time":
        return pc.cast(pa.array(values, pa.int64()), TIME)
    return pa.array(values, _ARROW_TYPES[kind])


@dataclass(frozen=True)
class EncodedRows:
    """Rows as inputs and targets, with a mask of known targets and reasons for wrong rows."""

    X: NDArray[Any]
    y: NDArray[Any]
    has_target: NDArray[np.bool_]
    wrong: dict[int, str]

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Mask of the rows that can be learned: rows with a target and without an error."""
        usable = self.has_target.copy()
        usable[list(self.wrong)] = False
        return usable

    def learned_from(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The inputs and targets of rows that can be learned."""
        use = self.usable
        return (self.X, self.y) if use.all() else (self.X[use], self.y[use])

    def until_wrong(self) -> EncodedRows:
        """Return the rows before the first row that cannot be used."""
        stop = min(self.wrong, default=len(self.X))
        return EncodedRows(self.X[:stop], self.y[:stop], self.has_target[:stop], {})


def first_columns(settings: Settings, first: FirstRows) -> tuple[Schema, Target, Batch]:
    """Decide the columns of the first rows and the target; return these and the rows as a batch."""
    batch, name = first.batch().with_gaps(settings.na), settings.target
    check_target(batch, name)
    columns = {other: batch.values(other) for other in first.columns if other != name}
    schema = Schema.fit(columns, settings, first.places)
    if not schema.inputs:
        what = "; ".join(f"{c.name!r} is {c.description()}" for c in schema.columns)
        raise TableError(f"there is no column to learn from: {what or 'there is no other'}.")
    values, decisions = batch.values(name), schema.decisions
    column = Evidence(name, values, settings, usual_of(columns, decisions), IN_LABELS)
    decision = decide_target(column)
    target = Target.fit(name, values, settings.task, decision, folds=name in settings.fold)
    unused = unused_options({**columns, name: values}, [*decisions.values(), decision], settings)
    findings = [*unused, *target.findings(column, decision), *schema.findings]
    return schema.saying(findings), target, batch


@contextmanager
def naming_rows(batches: Sequence[Batch]) -> Iterator[None]:
    """Say which rows an estimator has refused."""
    try:
        yield
    except ValueError as error:
        first, last = batches[0], batches[-1]
        where = first.where(0)
        if last is not first or len(last) > 1:
            where += f" to {last.where(len(last) - 1)}"
        raise TableError(f"{where}: {error}") from error
