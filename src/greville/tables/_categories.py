"""The values of text columns: which were learned, new ones, and those that were never learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fields import each, json, known, stored
from ._values import Floats, Mask
from .batch import Batch
from .findings import Finding
from .kinds import Text
from .schema import Schema

# Known values that are tried in the place of one that was never learned.
MOST_ALTERNATIVES = 16

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class _TextInputs:
    """A text column, and the places of its inputs: of known values, then of late ones.

    The code of a value is which of these it has; that of a missing one, or of one without any, is
    their number.
    """

    column: Text
    inputs: list[int]

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def width(self) -> int:
        """How many of the inputs are not late."""
        return len(self.inputs) - len(self.column.late)

    def codes(self, X: Floats) -> Codes:
        """The code of each row's value. That of a late one counts, not what it is taken for."""
        block, n = X[:, self.inputs], len(self.inputs)
        last = n - 1 - block[:, ::-1].argmax(axis=1)
        return np.where(block.any(axis=1), last, n)

    def put(self, X: Floats, rows: Codes, code: int) -> None:
        """Give some rows a value."""
        X[rows[:, None], self.inputs] = 0
        if code >= self.width:
            X[rows, self.inputs[self.column.common]] = 1
        X[rows, self.inputs[code]] = 1


@stored(
    parameters={"columns": json, "findings": each(known(Finding)), "learned": json},
    to_fields=lambda categories: {
        "columns": [column.as_dict() for column in categories.schema.columns],
        "findings": list(categories.schema.findings),
        "learned": {name: flags.tolist() for name, flags in categories.learned.items()},
    },
    from_fields=lambda cls, fields: cls._from_fields(**fields),
)
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
        self.texts = [
            _TextInputs(column, schema.places[column.name])
            for column in schema.used
            if isinstance(column, Text)
        ]
        self.learned = learned or {
            text.name: np.zeros(len(text.inputs) + 1, bool) for text in self.texts
        }

    def with_rows(self, X: Floats) -> Categories:
        """After these rows were learned."""
        if all(flags.all() for flags in self.learned.values()):
            return self
        learned = {name: flags.copy() for name, flags in self.learned.items()}
        for text in self.texts:
            learned[text.name][text.codes(X)] = True
        return Categories(self.schema, learned)

    def first_rows(self, X: Floats) -> Codes:
        """The rows whose value of some column neither was learned nor is in a row before."""
        rows = [np.empty(0, np.int64)]
        for text in self.texts:
            codes = text.codes(X)
            new = np.flatnonzero(~self.learned[text.name][codes])
            rows.append(new[np.unique(codes[new], return_index=True)[1]])
        return np.unique(np.concatenate(rows))

    def were_learned(self, X: Floats, rows: Sequence[Mapping[str, Any]]) -> Mask:
        """Which of some rows, and their inputs, have in all text columns a value that was learned.

        For some it may be said that they have not, though they have.
        """
        there = np.ones(len(X), bool)
        for text in self.texts:
            codes = text.codes(X)
            missing = np.array([row.get(text.name) in (None, "") for row in rows], bool)
            there &= self.learned[text.name][codes] & (missing | (codes < len(text.inputs)))
        return there

    # New values

    def new_labels(self, batch: Batch, X: Floats, rows: Mask) -> dict[str, list[str]]:
        """Labels for values of these rows that have no input, by column."""
        labels = {}
        for text in self.texts:
            without = rows & (text.codes(X) == len(text.inputs))
            if without.any():
                labels[text.name] = text.column.new_labels(batch.values(text.name), without)
        return {name: some for name, some in labels.items() if some}

    def grown(self, labels: dict[str, list[str]]) -> Schema:
        """The schema with inputs for late values."""
        columns = self.schema.columns
        return Schema(
            [c.grown(labels.get(c.name, [])) if isinstance(c, Text) else c for c in columns],
            self.schema.findings,
        )

    def joined(self, other: Categories) -> Schema | None:
        """The schema of two models that met different values since they had the same; or None."""
        late = {text.name: text.column.late for text in other.texts}
        columns = [
            replace(c, late=sorted({*c.late, *late.get(c.name, ())})) if isinstance(c, Text) else c
            for c in self.schema.columns
        ]
        without = [categories.schema.without_late().columns for categories in (self, other)]
        return Schema(columns, self.schema.findings) if without[0] == without[1] else None

    def in_schema(self, schema: Schema) -> tuple[Categories, list[int]]:
        """For a schema with more late values; and where in it the late inputs of this one are."""
        categories, places = Categories(schema), []
        first = len(schema.inputs) - schema.n_late
        for old, new in zip(self.texts, categories.texts, strict=True):
            kept = [old.width + new.column.late.index(label) for label in old.column.late]
            categories.learned[old.name][[*range(old.width), *kept, -1]] = self.learned[old.name]
            places += [new.inputs[k] - first for k in kept]
        return categories, places

    def __or__(self, other: Categories) -> Categories:
        """What either of two with the same schema has learned."""
        return Categories(self.schema, {k: v | other.learned[k] for k, v in self.learned.items()})

    # Values that were never learned

    def unlearned(self, batch: Batch, X: Floats) -> dict[str, Mask]:
        """By column, the rows whose value was never learned, if there are any."""
        unlearned = {}
        for text in self.texts:
            codes, flags = text.codes(X), self.learned[text.name]
            there = flags[codes]
            without = codes == len(text.inputs)
            if there[without].any():
                there &= ~without | np.asarray(batch.values(text.name).text.is_null())
            if flags[:-1].any() and not there.all():
                unlearned[text.name] = ~there
        return unlearned

    def alternatives(self, X: Floats, unlearned: dict[str, Mask]) -> NDArray[Any]:
        """These rows with values that were learned: of shape (alternatives, rows, inputs)."""
        texts = [text for text in self.texts if text.name in unlearned]
        places = [_spread(np.flatnonzero(self.learned[text.name][:-1])) for text in texts]
        many = np.repeat(X[None], max(map(len, places)), axis=0)
        for text, codes in zip(texts, places, strict=True):
            rows = np.flatnonzero(unlearned[text.name])
            for k, rows_of_one in enumerate(many):
                text.put(rows_of_one, rows, int(codes[k % len(codes)]))
        return many

    @classmethod
    def _from_fields(cls, columns: Any, findings: list[Finding], learned: Any) -> Categories:
        """The columns again; an exception for fields that do not go together."""
        made = cls(Schema.from_list(columns, findings))
        fits = isinstance(learned, dict) and learned.keys() == made.learned.keys()
        if not fits or not all(_is_flags(learned[k], len(v)) for k, v in made.learned.items()):
            raise ValueError("learned: not a flag for each value of each text column.")
        flags = {name: np.array(each, bool) for name, each in learned.items()}
        return cls(made.schema, flags)


def _is_flags(flags: Any, length: int) -> bool:
    return isinstance(flags, list) and len(flags) == length and all(type(f) is bool for f in flags)


def _spread(places: Codes) -> Codes:
    """Some of the places, evenly, if there are many."""
    n = min(len(places), MOST_ALTERNATIVES)
    return places[np.arange(n) * len(places) // n]
