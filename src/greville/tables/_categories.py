"""The values of text columns: which were learned, new ones, and those that were never learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._values import Floats, Mask
from .batch import Batch
from .column import Column
from .kinds import Text
from .schema import Schema

# Known values that are tried in the place of one that was never learned.
MOST_ALTERNATIVES = 16


@dataclass(frozen=True)
class _TextInputs:
    """A text column, and where its inputs are, and those of its late values."""

    column: Text
    start: int
    stop: int
    late: int

    @property
    def n(self) -> int:
        """How many values have an input."""
        return self.stop - self.start + len(self.column.late)

    def of(self, X: Floats) -> Floats:
        """For each row a one for its value, whatever it is taken for beside that."""
        block, late = X[:, self.start : self.stop], X[:, self.late : self.late + self.n_late]
        if not self.n_late:
            return block
        is_late = late.any(axis=1, keepdims=True)
        return np.hstack([np.where(is_late, 0.0, block), late])

    @property
    def n_late(self) -> int:
        return len(self.column.late)

    def put(self, X: Floats, rows: NDArray[np.int64], place: int) -> None:
        """Give some rows a value, by its place in `of`."""
        X[rows, self.start : self.stop] = 0
        X[rows, self.late : self.late + self.n_late] = 0
        width = self.stop - self.start
        X[rows, self.start + (place if place < width else self.column.common)] = 1
        if place >= width:
            X[rows, self.late + place - width] = 1


class Categories:
    """The text columns of a schema, and which of their values were in a row that was learned.

    A value that was never learned is a direction in which a model has seen nothing, and where its
    weights, which may be large, have no meaning. So it is predicted as the mean of what is
    predicted for the values that were learned.

    Parameters
    ----------
    schema : Schema
    learned : dict, optional
        For each text column and each of its inputs, whether it was one in a row that was learned;
        the last says the same of a missing value. None before the first row.
    """

    def __init__(self, schema: Schema, learned: dict[str, Mask] | None = None) -> None:
        self.schema = schema
        self.texts = list(_text_inputs(schema))
        self.learned = learned or {
            text.column.name: np.zeros(text.n + 1, bool) for text in self.texts
        }

    def with_rows(self, X: Floats) -> Categories:
        """After these rows were learned."""
        if all(self.learned[text.column.name].all() for text in self.texts):
            return self
        seen = {text.column.name: _states(text.of(X)).any(axis=0) for text in self.texts}
        return Categories(self.schema, {k: v | seen[k] for k, v in self.learned.items()})

    def first_rows(self, X: Floats) -> NDArray[np.int64]:
        """The rows whose value of some column neither was learned nor is in a row before."""
        found = [np.empty(0, np.int64)]
        for text in self.texts if len(X) else ():
            states = _states(text.of(X))[:, ~self.learned[text.column.name]]
            found.append(states.argmax(axis=0)[states.any(axis=0)])
        return np.unique(np.concatenate(found))

    def were_learned(self, X: Floats, rows: Sequence[Mapping[str, Any]]) -> Mask:
        """Which of some rows, and their inputs, have in all text columns a value that was learned.

        For some it may be said that they have not, though they have.
        """
        known = np.ones(len(X), bool)
        for text in self.texts:
            name = text.column.name
            flags = self.learned[name]
            found = text.of(X) @ flags[:-1].astype(float) > 0
            if not found.all() and flags[-1]:
                found |= np.array([row.get(name) in (None, "") for row in rows])
            known &= found
        return known

    # New values

    def new_labels(self, batch: Batch, X: Floats, rows: Mask) -> dict[str, list[str]]:
        """Labels for values of these rows that have no input, by column."""
        found = {}
        for text in self.texts:
            without = rows & ~text.of(X).any(axis=1)
            if without.any():
                values = batch.values(text.column.name)
                found[text.column.name] = text.column.new_labels(values, without)
        return {name: labels for name, labels in found.items() if labels}

    def grown(self, labels: dict[str, list[str]]) -> Schema:
        """The schema with inputs for late values."""
        columns = self.schema.columns
        return Schema(
            [c.grown(labels.get(c.name, [])) if isinstance(c, Text) else c for c in columns],
            self.schema.findings,
        )

    def joined(self, other: Categories) -> Schema | None:
        """The schema of two models that met different values since they had the same; or None."""
        if len(self.schema.columns) != len(other.schema.columns):
            return None
        columns: list[Column] = []
        for mine, theirs in zip(self.schema.columns, other.schema.columns, strict=True):
            both: list[Column] = [mine, theirs]
            if isinstance(mine, Text) and isinstance(theirs, Text):
                late = sorted({*mine.late, *theirs.late})
                both = [replace(each, late=late) for each in (mine, theirs)]
            if both[0] != both[1]:
                return None
            columns.append(both[0])
        return Schema(columns, self.schema.findings)

    def in_schema(self, schema: Schema) -> tuple[Categories, list[int]]:
        """For a schema with more late values; and where in it the late inputs of this one are."""
        learned, places = {}, []
        old = {text.column.name: text.column.late for text in self.texts}
        for text in Categories(schema).texts:
            name, width = text.column.name, text.stop - text.start
            before, flags = old[name], self.learned[name]
            kept = [text.column.late.index(label) for label in before]
            learned[name] = np.zeros(text.n + 1, bool)
            learned[name][[*range(width), *(width + np.array(kept, int)), -1]] = flags
            places += [text.late - len(schema.inputs) + schema.n_late + k for k in kept]
        return Categories(schema, learned), places

    def __or__(self, other: Categories) -> Categories:
        """What either of two with the same schema has learned."""
        return Categories(self.schema, {k: v | other.learned[k] for k, v in self.learned.items()})

    # Values that were never learned

    def unlearned(self, batch: Batch, X: Floats) -> dict[str, Mask]:
        """By column, the rows whose value was never learned, if there are any."""
        found = {}
        for text in self.texts:
            name, block = text.column.name, text.of(X)
            flags = self.learned[name]
            if not flags[:-1].any():  # nor was any other
                continue
            known = block @ flags[:-1].astype(float) > 0
            if not known.all() and flags[-1]:
                gaps = np.asarray(batch.values(name).text.is_null())
                known |= gaps & ~block.any(axis=1)
            if not known.all():
                found[name] = ~known
        return found

    def alternatives(self, X: Floats, unlearned: dict[str, Mask]) -> NDArray[Any]:
        """These rows with values that were learned: of shape (alternatives, rows, inputs)."""
        texts = [text for text in self.texts if text.column.name in unlearned]
        places = [_spread(np.flatnonzero(self.learned[t.column.name][:-1])) for t in texts]
        many = np.repeat(X[None], max(map(len, places)), axis=0)
        for text, known in zip(texts, places, strict=True):
            rows = np.flatnonzero(unlearned[text.column.name])
            for k, each in enumerate(many):
                text.put(each, rows, int(known[k % len(known)]))
        return many

    # Files

    def as_dict(self) -> dict[str, list[bool]]:
        return {name: flags.tolist() for name, flags in self.learned.items()}

    @classmethod
    def all_learned(cls, schema: Schema) -> Categories:
        """Those of a model of which this is not known."""
        return cls(schema, {name: ~flags for name, flags in cls(schema).learned.items()})

    @classmethod
    def from_dict(cls, schema: Schema, learned: Any) -> Categories:
        """What `as_dict` gave; a ValueError for anything else."""
        empty = cls(schema).learned
        fits = isinstance(learned, dict) and learned.keys() == empty.keys()
        if not fits or not all(_is_flags(learned[k], len(v)) for k, v in empty.items()):
            raise ValueError("learned: not a flag for each value of each text column.")
        return cls(schema, {name: np.array(learned[name], bool) for name in empty})


def _is_flags(flags: Any, length: int) -> bool:
    return isinstance(flags, list) and len(flags) == length and all(type(f) is bool for f in flags)


def _text_inputs(schema: Schema) -> Any:
    start, late = 0, len(schema.inputs) - schema.n_late
    for column in schema.used:
        stop = start + len(column.inputs)
        if isinstance(column, Text):
            yield _TextInputs(column, start, stop, late)
            late += len(column.late)
        start = stop


def _states(block: Floats) -> Mask:
    """For each row which of the inputs is one, or that none is."""
    ones = block != 0
    return np.column_stack([ones, ~ones.any(axis=1)])


def _spread(places: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
    """Some of the places, evenly, if there are many."""
    n = min(len(places), MOST_ALTERNATIVES)
    return np.asarray(places)[np.arange(n) * len(places) // n]
