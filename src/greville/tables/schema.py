"""From the columns of a table to the numbers a hidden layer takes, as the first rows show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ._values import Floats, UnknownType, Values
from .batch import Batch, TableError, listed
from .column import Column
from .decisions import Decision, Evidence, Hints, decide, decide_all
from .doubts import doubts, left_out
from .findings import Finding
from .kinds import KINDS, MOST_UNITS, Ignored, Number, Text
from .numerals import PLAIN

# Columns that `repr` shows.
_MOST_COLUMNS = 30


class Schema:
    """What each column of a table is, and which inputs it becomes; it never changes.

    Parameters
    ----------
    columns : sequence of Column
        In the order of their inputs.
    findings : sequence of Finding
        What the first rows have shown that the owner of the table should know.
    """

    def __init__(self, columns: Sequence[Column], findings: Sequence[Finding] = ()) -> None:
        self.columns = list(columns)
        self.decisions: dict[str, Decision] = {}  # where it was fitted
        self.findings = tuple(findings)
        self.used = [column for column in self.columns if column.inputs]
        self.names = [column.name for column in self.used]
        self.late = [c for c in self.used if isinstance(c, Text) and c.late]
        self.n_late = sum(len(column.late) for column in self.late)
        self.inputs: list[str] = []
        self.places: dict[str, list[int]] = {}  # of the inputs of each column, late ones last
        for column in self.used:
            self._place(column.name, column.inputs)
        for text in self.late:
            self._place(text.name, text.late_inputs)

    def _place(self, name: str, inputs: list[str]) -> None:
        start = len(self.inputs)
        self.inputs += inputs
        self.places.setdefault(name, []).extend(range(start, len(self.inputs)))

    @classmethod
    def fit(
        cls, columns: Mapping[str, Values], hints: Hints | None = None, places: Any = None
    ) -> Schema:
        """What the first rows of columns show, and findings about them.

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
            most = MOST_UNITS // len(schema.late) + 50
            schema = cls._fit(columns, decisions, replace(hints, categories=most), places)
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
        schema = cls(fitted, findings)
        schema.decisions = decisions
        return schema

    def __repr__(self) -> str:
        """What the columns are; the first ones, where there are many."""
        shown = [f"  {c.name!r}: {c.description()}" for c in self.columns[:_MOST_COLUMNS]]
        if len(self.columns) > _MOST_COLUMNS:
            shown.append(f"  ... and {len(self.columns) - _MOST_COLUMNS:,} more")
        n = len(self.columns)
        return "\n".join([f"Schema of {n:,} column{'s' * (n != 1)}:", *shown])

    @classmethod
    def from_list(cls, columns: Any, findings: Sequence[Finding] = ()) -> Schema:
        """The columns of which `as_dict` gave these; an exception for anything else."""
        found = []
        for entry in columns:
            settings = dict(entry)
            found.append(KINDS[settings.pop("kind")].from_dict(settings))
        return cls(found, findings)

    def without_late(self) -> Schema:
        """The schema without inputs for late values."""
        columns = [replace(c, late=[]) if isinstance(c, Text) else c for c in self.columns]
        return Schema(columns, self.findings)

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
        """How many rows have no number in a column in which no row learned from lacks one."""
        found = {}
        for column in self.used:
            if isinstance(column, Number) and not column.missing:
                numbers, wrong = _values(batch, column.name).numbers_as(column.numerals)
                found[column.name] = int((np.isnan(numbers) & ~wrong).sum())
        return {name: n for name, n in found.items() if n}

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
            for row, reason in _reasons(batch, column.name, column.wanted, bad).items():
                wrong.setdefault(row, reason)
        return out, wrong


def numbers(
    batch: Batch, name: str, decision: Decision | None = None
) -> tuple[Floats, dict[int, str]]:
    """A column as numbers, nan where one is missing, and what is wrong with rows.

    `decision` says how they are written, as `decision_of` found it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import Reading, Troubles, find_sources, numbers, read
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> batch = next(read(find_sources([str(path)]), Reading(), Troubles()))
    >>> values, wrong = numbers(batch, "ecg")
    >>> len(values), wrong
    (16384, {})
    """
    numerals = PLAIN if decision is None else decision.numerals
    values, wrong = _values(batch, name).numbers_as(numerals)
    return values, _reasons(batch, name, "a number", wrong)


def decision_of(batch: Batch, name: str) -> Decision:
    """What a column is, and how its numbers or dates are written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import Reading, Troubles, decision_of, find_sources, read
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> batch = next(read(find_sources([str(path)]), Reading(), Troubles()))
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


def _reasons(batch: Batch, name: str, wanted: str, wrong: Any) -> dict[int, str]:
    return {
        int(row): f"column {name!r} should be {wanted}, got {batch.shown(name, int(row))}"
        for row in np.flatnonzero(wrong)
    }
