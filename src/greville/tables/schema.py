"""The schema of a table: how its columns become the numbers that a hidden layer takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fields import array, each, instance_of, require, stored
from ._values import Floats, Mask, UnknownType, Values
from .batch import Batch, TableError, listed
from .decisions import Decision, Evidence, Hints, decide, decide_all
from .doubts import doubts, left_out
from .findings import Finding
from .kinds import KINDS, MOST_UNITS, Column, Ignored, Text
from .numerals import PLAIN

# Columns that `repr` shows.
_MOST_COLUMNS = 30

Places = NDArray[np.int64]


@stored(
    parameters={
        "columns": each(instance_of(Column)),
        "findings": each(instance_of(Finding), tuple),
        "learned": array(1, "b"),
    },
    to_fields=lambda schema: {k: getattr(schema, k) for k in ("columns", "findings", "learned")},
    from_fields=lambda cls, fields: cls._from_fields(**fields),
)
class Schema:
    """Schema of a table: what each column is, and which inputs it becomes; it never changes.

    It also says which values of text columns were in a row that was learned. One that never was is
    a direction in which a model has seen nothing, and where its weights, which may be large, have
    no meaning. So it is predicted as the most common value.

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
    learned : ndarray of bool
        Whether each input of a text column was one in a row that was learned; True for others.
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
            n_inputs = len(self.inputs)
            self.inputs += inputs
            self.places.setdefault(name, []).extend(range(n_inputs, len(self.inputs)))
        self.learned = np.ones(len(self.inputs), bool)
        for column in self.texts:
            self.learned[self.places[column.name]] = False

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
        asked = {*(hints.features or ()), *hints.number, *hints.text, *hints.categorical}
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
    def _from_fields(cls, columns: Any, findings: Any, learned: Mask) -> Schema:
        """Make the schema from a file's fields; an exception if they do not go together."""
        schema = cls(columns, findings)
        require(len(learned) == len(schema.learned), "learned: not a flag for each input")
        schema.learned = learned
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

    def encode(self, batch: Batch) -> tuple[Floats, dict[int, str]]:
        """The inputs of all rows, and for rows that have none, what is wrong with them."""
        self.check_columns(batch)
        out = np.zeros((len(batch), len(self.inputs)))
        wrong: dict[int, str] = {}
        for column in self.used:
            places = self.places[column.name]
            own, late = places[: len(column.inputs)], places[len(column.inputs) :]
            inputs = out[:, own[0] : own[-1] + 1]
            if late:  # they stand behind those of all columns
                inputs = np.zeros((len(batch), len(places)))
            bad = column.fill(_values(batch, column.name), inputs)
            if late:
                out[:, own[0] : own[-1] + 1] = inputs[:, : len(own)]
                out[:, late[0] : late[-1] + 1] = inputs[:, len(own) :]
            for row, reason in _reasons(batch, column.name, column.expected, bad).items():
                wrong.setdefault(row, reason)
        return out, wrong

    # Values of text columns, and which of them were learned

    def after(self, X: Floats) -> Schema:
        """Return the schema after rows were learned."""
        new = np.flatnonzero(~self.learned)
        new = new[X[:, new].any(axis=0)]
        if not len(new):
            return self
        other = copy(self)
        other.learned = self.learned.copy()
        other.learned[new] = True
        return other

    def new_rows(self, X: Floats) -> Places:
        """Return the rows with a text value that was not learned and is in no earlier row."""
        new = X[:, ~self.learned]
        new = new[:, new.any(axis=0)] != 0
        return np.unique(new.argmax(axis=0)) if new.size else np.empty(0, np.int64)

    def was_learned(self, x: Floats) -> bool:
        """Whether the values of all text columns of a row were learned."""
        return bool(self.learned[x != 0].all())

    def with_learned_values(self, X: Floats) -> Floats:
        """Return rows with the most common value in the place of one that was never learned."""
        for column in self.texts if not self.learned.all() else ():
            places = np.array(self.places[column.name])
            learned = self.learned[places]
            rows = X[:, places[~learned]].any(axis=1)
            if rows.any() and learned.any():
                X[np.ix_(rows, places)] = 0
                common = column.common if learned[column.common] else int(learned.argmax())
                X[rows, places[common]] = 1
        return X

    def unlearned(self, batch: Batch) -> dict[str, list[str]]:
        """Return, by column, the values of rows that no learned row had; "" for a missing one."""
        unlearned = {}
        for column in self.used:
            learned = self.learned[self.places[column.name]]
            rows = column.unlearned(_values(batch, column.name), learned)
            if rows is not None and rows.any() and learned.any():
                chosen = np.flatnonzero(rows).tolist()
                unlearned[column.name] = [batch.value(column.name, row) for row in chosen]
        return unlearned

    def new_labels(self, batch: Batch, rows: Mask) -> dict[str, list[str]]:
        """The late values of text columns once some rows are learned, where there are new ones."""
        labels = {t.name: t.grown(batch.values(t.name), rows) for t in self.texts}
        return {t.name: labels[t.name] for t in self.texts if labels[t.name] != t.late}

    def with_late(self, late: Mapping[str, list[str]]) -> tuple[Schema, list[int]]:
        """Set the late values of columns; return the new indices of the present late inputs."""
        columns: list[Column] = [
            replace(c, late=late[c.name]) if isinstance(c, Text) and c.name in late else c
            for c in self.columns
        ]
        schema = Schema(columns, self.findings)
        first, places = len(schema.inputs) - schema.n_late, []
        for old, new in zip(self.texts, schema.texts, strict=True):
            width = len(old.inputs)
            kept = [k for k, label in enumerate(old.late) if label in new.late]
            was = [*range(width), *(width + k for k in kept)]
            now = [*range(width), *(width + new.late.index(old.late[k]) for k in kept)]
            here = np.array(schema.places[new.name])[now]
            schema.learned[here] = self.learned[np.array(self.places[old.name])[was]]
            places += (here[width:] - first).tolist()
        return schema, places

    def united(self, other: Schema) -> Mapping[str, list[str]] | None:
        """Unite the late values of two schemas; None if the schemas had different columns."""
        none: dict[str, list[str]] = {text.name: [] for text in (*self.texts, *other.texts)}
        if self.with_late(none)[0].columns != other.with_late(none)[0].columns:
            return None
        pairs = zip(self.texts, other.texts, strict=True)
        return {mine.name: sorted({*mine.late, *theirs.late}) for mine, theirs in pairs}


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
