"""The schema of a table: how its columns become the numbers that a hidden layer takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fields import each, json, known, require, stored
from ._values import Floats, Mask, UnknownType, Values
from .batch import Batch, TableError, listed
from .column import Column
from .decisions import Decision, Evidence, Hints, decide, decide_all
from .doubts import doubts, left_out
from .findings import Finding
from .kinds import KINDS, MOST_UNITS, Ignored, Number, Text
from .numerals import PLAIN

# Columns that `repr` shows.
_MOST_COLUMNS = 30

# Known values that are tried in the place of one that was never learned.
MOST_ALTERNATIVES = 16

Codes = NDArray[np.int64]


@stored(
    parameters={
        "columns": each(known(Column)),
        "findings": each(known(Finding)),
        "learned": json,
    },
    to_fields=lambda schema: {
        "columns": schema.columns,
        "findings": list(schema.findings),
        "learned": {name: flags.tolist() for name, flags in schema.learned.items()},
    },
    from_fields=lambda cls, fields: cls._from_fields(**fields),
)
class Schema:
    """Schema of a table: what each column is, and which inputs it becomes; it never changes.

    It also says which values of text columns were in a row that was learned. One that never was is
    a direction in which a model has seen nothing, and where its weights, which may be large, have
    no meaning. So it is predicted as the mean of what is predicted for the values that were.

    Parameters
    ----------
    columns : sequence of Column
        In the order of their inputs.
    findings : sequence of Finding
        What the first rows have shown that the owner of the table should know.

    Attributes
    ----------
    places : dict of str to list of int
        The places of the inputs of each column, late ones last.
    learned : dict of str to ndarray of bool
        For each text column and each of its inputs, whether it was one in a row that was learned;
        the last says the same of a missing value.
    """

    def __init__(self, columns: Sequence[Column], findings: Sequence[Finding] = ()) -> None:
        self.columns = list(columns)
        self.decisions: dict[str, Decision] = {}  # where it was fitted
        self.findings = tuple(findings)
        self.used = [column for column in self.columns if column.inputs]
        self.names = [column.name for column in self.used]
        self.texts = [column for column in self.used if isinstance(column, Text)]
        self.n_late = sum(len(text.late) for text in self.texts)
        self.inputs: list[str] = []
        self.places: dict[str, list[int]] = {}
        blocks = [(column.name, column.inputs) for column in self.used]
        for name, inputs in [*blocks, *((text.name, text.late_inputs) for text in self.texts)]:
            first = len(self.inputs)
            self.inputs += inputs
            self.places.setdefault(name, []).extend(range(first, len(self.inputs)))
        self.learned = {t.name: np.zeros(len(self.places[t.name]) + 1, bool) for t in self.texts}

    @classmethod
    def fit(
        cls, columns: Mapping[str, Values], hints: Hints | None = None, places: Any = None
    ) -> Schema:
        """Make a schema from the first rows; return it with findings.

        Parameters
        ----------
        columns : mapping of str to Values
        hints : Hints, optional
            What the user says about columns.
        places : ndarray of int, optional
            The numbers of the rows in their table.
        """
        hints = hints or Hints()
        decisions = decide_all(columns, hints)
        schema = cls._fit(columns, decisions, hints, places)
        if schema.n_late > MOST_UNITS and hints.categories is None:
            n = sum(bool(text.late) for text in schema.texts)
            hints = replace(hints, categories=MOST_UNITS // n + 50)
            schema = cls._fit(columns, decisions, hints, places)
        schema.decisions = decisions
        return schema

    @classmethod
    def _fit(
        cls,
        columns: Mapping[str, Values],
        decisions: dict[str, Decision],
        hints: Hints,
        places: Any,
    ) -> Schema:
        asked = {*hints.features, *hints.number, *hints.text, *hints.categorical}
        fitted: list[Column] = []
        findings: list[Finding] = []
        kept: dict[str, Column] = {}  # what columns that are left out would have been
        for name, values in columns.items():
            decision, evidence = decisions[name], Evidence(name, values, hints)
            out = None if decision.kind == "words" else left_out(evidence, decision)
            column, said = _fitted(name, values, decision, hints)
            if out is not None and (name not in asked or decision.kind == "empty"):
                kind, why = out
                kept[name] = column
                column, said = Ignored(name, why), [finding for finding in said if finding.warning]
                if kind == "unique text":
                    said += [f for f in doubts(evidence, decision) if f.kind == "digits"]
                what = repr(name) if name else "the column without a name"
                said.append(Finding(kind, f"{what} is left out: {why}.", name))
            elif column.inputs:
                said += doubts(evidence, decision, places)
            fitted.append(column)
            findings += said
        if not any(column.inputs for column in fitted):  # something must be learned from
            kept = {name: c for name, c in kept.items() if c.inputs and not isinstance(c, Text)}
            fitted = [kept.get(column.name, column) for column in fitted]
            findings = [finding for finding in findings if finding.column not in kept]
        return cls(fitted, findings)

    def is_like(self, other: Schema) -> bool:
        """Whether rows become the same inputs, in units that other rows may have measured."""
        pairs = list(zip(self.columns, other.columns, strict=False))
        same = len(self.columns) == len(other.columns)
        return same and all(mine.is_like(theirs) for mine, theirs in pairs)

    def __repr__(self) -> str:
        """Describe the columns; the first ones, where there are many."""
        shown = [f"  {c.name!r}: {c.description()}" for c in self.columns[:_MOST_COLUMNS]]
        if len(self.columns) > _MOST_COLUMNS:
            shown.append(f"  ... and {len(self.columns) - _MOST_COLUMNS:,} more")
        n = len(self.columns)
        return "\n".join([f"Schema of {n:,} column{'s' * (n != 1)}:", *shown])

    @classmethod
    def _from_fields(cls, columns: list[Column], findings: list[Finding], learned: Any) -> Schema:
        """Make the schema from a file's fields; an exception if they do not go together."""
        schema = cls(columns, findings)
        lengths = {name: len(flags) for name, flags in schema.learned.items()}
        fits = isinstance(learned, dict) and lengths == {k: len(v) for k, v in learned.items()}
        fits = fits and all(type(flag) is bool for flags in learned.values() for flag in flags)
        require(fits, "learned: not a flag for each value of each text column")
        schema.learned = {name: np.array(flags, bool) for name, flags in learned.items()}
        return schema

    def saying(self, findings: Iterable[Finding]) -> Schema:
        """Return the schema with other findings."""
        other = copy(self)
        other.findings = tuple(findings)
        return other

    # Rows as inputs

    def check_columns(self, batch: Batch) -> None:
        """Raise a TableError for columns that a table does not have.

        Lines of JSON may leave out what is missing, but not everything.
        """
        names = batch.table.schema.names
        missing = [name for name in self.names if name not in set(names)]
        if missing and (not batch.sparse or len(missing) == len(self.used)):
            raise TableError(
                f"{batch.source}: it has no column {listed(missing)}, which the model was trained "
                f"with; it has {listed(names)}."
            )

    def unknown_gaps(self, batch: Batch) -> dict[str, int]:
        """Count, by column, rows without a number where no learned row lacks one."""
        counts = {}
        for column in self.used:
            if isinstance(column, Number) and not column.missing:
                numbers, wrong = _values(batch, column.name).numbers_as(column.numerals)
                counts[column.name] = int((np.isnan(numbers) & ~wrong).sum())
        return {name: n for name, n in counts.items() if n}

    def encode(self, batch: Batch) -> tuple[Floats, dict[int, str]]:
        """The inputs of all rows, and for rows that have none, what is wrong with them."""
        self.check_columns(batch)
        out = np.zeros((len(batch), len(self.inputs)))
        wrong: dict[int, str] = {}
        for column in self.used:
            values, places = _values(batch, column.name), self.places[column.name]
            start, n_late = places[0], len(column.late) if isinstance(column, Text) else 0
            own = out[:, start : start + len(places) - n_late]
            bad = column.fill(values, own)
            if isinstance(column, Text) and n_late:
                column.fill_late(values, own, out[:, places[-n_late] : places[-1] + 1])
            for row, reason in _reasons(batch, column.name, column.expected, bad).items():
                wrong.setdefault(row, reason)
        return out, wrong

    # Values of text columns, and which of them were learned

    def _codes(self, text: Text, X: Floats) -> Codes:
        """Return, for each row, the index of its input of a text column; their number if none.

        For a late value, its own input counts, and not the common one beside it.
        """
        block, n = X[:, self.places[text.name]], len(self.places[text.name])
        return np.where(block.any(axis=1), n - 1 - block[:, ::-1].argmax(axis=1), n)

    def with_rows(self, X: Floats) -> Schema:
        """Return the schema after rows were learned."""
        codes = {text.name: np.unique(self._codes(text, X)) for text in self.texts}
        if all(self.learned[name][each].all() for name, each in codes.items()):
            return self
        other = copy(self)
        other.learned = {name: flags.copy() for name, flags in self.learned.items()}
        for name, places in codes.items():
            other.learned[name][places] = True
        return other

    def first_rows(self, X: Floats) -> Codes:
        """Return the rows with a text value that was not learned and is in no earlier row."""
        rows = [np.empty(0, np.int64)]
        for text in self.texts:
            codes = self._codes(text, X)
            new = np.flatnonzero(~self.learned[text.name][codes])
            rows.append(new[np.unique(codes[new], return_index=True)[1]])
        return np.unique(np.concatenate(rows))

    def was_learned(self, x: Floats, row: Mapping[str, Any]) -> bool:
        """Whether all text columns of a row have a value that was learned.

        False may be wrong, and costs time only; True is always right.
        """
        for text in self.texts:
            code = self._codes(text, x[None])[0]
            is_named = code < len(self.places[text.name]) or row.get(text.name) in (None, "")
            if not (self.learned[text.name][code] and is_named):
                return False
        return True

    def new_labels(self, batch: Batch, X: Floats, rows: Mask) -> dict[str, list[str]]:
        """Labels for values of these rows that have no input, by column."""
        labels = {}
        for text in self.texts:
            without = rows & (self._codes(text, X) == len(self.places[text.name]))
            if without.any():
                labels[text.name] = text.new_labels(batch.values(text.name), without)
        return {name: some for name, some in labels.items() if some}

    def with_late(self, late: Mapping[str, list[str]]) -> tuple[Schema, list[int]]:
        """Set the late values of columns; return the new indices of the present late inputs."""
        columns = [
            replace(c, late=late[c.name]) if isinstance(c, Text) and c.name in late else c
            for c in self.columns
        ]
        schema = Schema(columns, self.findings)
        first, places = len(schema.inputs) - schema.n_late, []
        for old, new in zip(self.texts, schema.texts, strict=True):
            width = len(old.inputs)
            kept = [width + new.late.index(label) for label in old.late if label in new.late]
            if len(kept) == len(old.late):
                schema.learned[old.name][[*range(width), *kept, -1]] = self.learned[old.name]
            places += [schema.places[old.name][k] - first for k in kept]
        return schema, places

    def grown(self, labels: Mapping[str, Sequence[str]]) -> Mapping[str, list[str]]:
        """Return the late values of columns after new labels have come."""
        return {text.name: text.grown(labels.get(text.name, ())) for text in self.texts}

    def joined(self, other: Schema) -> Mapping[str, list[str]] | None:
        """Unite the late values of two schemas; None if the schemas had different columns."""
        late = {text.name: text.late for text in self.texts}
        none: dict[str, list[str]] = {text.name: [] for text in (*self.texts, *other.texts)}
        if self.with_late(none)[0].columns != other.with_late(none)[0].columns:
            return None
        return {text.name: sorted({*text.late, *late[text.name]}) for text in other.texts}

    def __or__(self, other: Schema) -> Schema:
        """Unite the learned values of two schemas with the same columns."""
        both = copy(self)
        both.learned = {name: flags | other.learned[name] for name, flags in self.learned.items()}
        return both

    def unlearned(self, batch: Batch, X: Floats) -> dict[str, Mask]:
        """Return, by column, the rows whose value was never learned, if there are any."""
        unlearned = {}
        for text in self.texts:
            codes, flags = self._codes(text, X), self.learned[text.name]
            there, without = flags[codes], codes == len(flags) - 1
            if there[without].any():
                there &= ~without | np.asarray(batch.values(text.name).text.is_null())
            if flags[:-1].any() and not there.all():
                unlearned[text.name] = ~there
        return unlearned

    def alternatives(self, X: Floats, unlearned: dict[str, Mask]) -> NDArray[Any]:
        """Return rows with learned values in place of others: (alternatives, rows, inputs)."""
        texts = [text for text in self.texts if text.name in unlearned]
        codes = [_spread(np.flatnonzero(self.learned[text.name][:-1])) for text in texts]
        many = np.repeat(X[None], max(map(len, codes)), axis=0)
        for text, some in zip(texts, codes, strict=True):
            rows, places = np.flatnonzero(unlearned[text.name]), self.places[text.name]
            for k, copied in enumerate(many):
                code = some[k % len(some)]
                copied[rows[:, None], places] = 0
                if code >= len(text.inputs):
                    copied[rows, places[text.common]] = 1
                copied[rows, places[code]] = 1
        return many


def numbers(
    batch: Batch, name: str, decision: Decision | None = None
) -> tuple[Floats, dict[int, str]]:
    """A column as numbers, nan where one is missing, and what is wrong with rows.

    `decision` says how they are written, as `decision_of` found it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import Reading, RowErrors, find_sources, numbers, read
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> batch = next(read(find_sources([str(path)]), Reading(), RowErrors()))
    >>> values, wrong = numbers(batch, "ecg")
    >>> len(values), wrong
    (16384, {})
    """
    numerals = PLAIN if decision is None else decision.numerals
    values, wrong = _values(batch, name).numbers_as(numerals)
    return values, _reasons(batch, name, "a number", wrong)


def decision_of(batch: Batch, name: str) -> Decision:
    """Return the decision what a column is, and how its numbers or dates are written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import Reading, RowErrors, decision_of, find_sources, read
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> batch = next(read(find_sources([str(path)]), Reading(), RowErrors()))
    >>> decision_of(batch, "ecg").kind
    'number'
    """
    return decide(Evidence(name, _values(batch, name)))


def _fitted(
    name: str, values: Values, decision: Decision, hints: Hints
) -> tuple[Column, list[Finding]]:
    """The column that a decision makes, and findings about it."""
    kind = {"code": "text", "empty": "ignored"}.get(decision.kind, decision.kind)
    column = KINDS[kind].fit(name, values, decision, hints)
    doubtful = any(finding.warning for finding in decision.findings)
    return column, [*decision.findings, *([] if doubtful else column.findings(values))]


def _values(batch: Batch, name: str) -> Values:
    try:
        return batch.values(name)
    except UnknownType as error:
        raise TableError(f"{batch.source}: column {name!r}: {error}.") from error


def _reasons(batch: Batch, name: str, expected: str, wrong: Any) -> dict[int, str]:
    return {
        int(row): f"column {name!r} should be {expected}, got {batch.shown(name, int(row))}"
        for row in np.flatnonzero(wrong)
    }


def _spread(places: Codes) -> Codes:
    """Choose some of the places, evenly, if there are many."""
    n = min(len(places), MOST_ALTERNATIVES)
    return places[np.arange(n) * len(places) // n]
