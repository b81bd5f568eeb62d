"""Targets: what a model predicts, numbers or labels of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..fields import choice, flag, instance_of, require, stored
from ..fields import text as any_text
from ._outliers import far_values
from ._values import EXACT, FLAGS, IN_LABELS, LARGEST, UnknownType, Values, folded
from .batch import Batch, TableError, listed, record_batch
from .decisions import LEADING_ZEROS, Decision, Evidence, decide
from .doubts import spellings
from .findings import Finding, listed_values, shown_value
from .frames import array_of
from .numerals import PLAIN, Numerals

# Whole numbers are labels if there are no more different ones than this, and ten rows for each; or
# two, and three rows for each.
_MOST_LABELS = 20

# Characters of a label: every one of them takes as much memory as the longest.
_LONGEST_LABEL = 1000

# Text that is different in more than half of so many rows is taken for numbers that cannot be read.
_ROWS_OF_LABELS = 20

# How many extreme numbers are shown in a message.
_MOST_SHOWN = 3

_GAPS = frozenset(IN_LABELS.to_pylist())

REGRESSION, CLASSIFICATION = "regression", "classification"


def _check_fields(target: Target) -> None:
    fits = (target.kind == "number") == (target.task == REGRESSION)
    require(fits, "the task and the kind of the targets do not go together")


@stored(check=_check_fields)
@dataclass(frozen=True)
class Target:
    """The column to predict, the task, and what its values are: number, text, integer or flag.

    `numerals` says how its numbers are written, `folds` that small letters and blanks make no
    difference between labels.
    """

    name: Annotated[str, any_text]
    task: Annotated[str, choice(REGRESSION, CLASSIFICATION)]
    kind: Annotated[str, choice("number", "text", "integer", "flag")]
    numerals: Annotated[Numerals, instance_of(Numerals)] = PLAIN
    folds: Annotated[bool, flag] = False

    @classmethod
    def fit(
        cls, name: str, values: Values, task: str, decision: Decision, folds: bool = False
    ) -> Target:
        """Make a target from the first rows and the decision of `decide_target`.

        The task "numbers" is "auto" where no number is a label: a stream's first rows tell too
        little.
        """
        if decision.kind == "number":
            numerals = decision.numerals
            numbers = _present(values.numbers_as(numerals)[0])
            whole = bool((numbers == np.round(numbers)).all())
            labels = task == "auto" and whole and numerals.is_plain and _few(numbers)
            if not (task == CLASSIFICATION or labels):
                return cls(name, REGRESSION, "number", numerals)
            whole = whole and numerals.is_plain and not decision.says("leading zeros")
            whole = whole and not decision.wrong  # what is no number is a class too
            return cls(name, CLASSIFICATION, "integer" if whole else "text", numerals, folds)
        if task != CLASSIFICATION:
            _check_no_dates(_labels(values).drop_null(), decision, task)
        if task == REGRESSION:
            return cls(name, REGRESSION, "number", decision.numerals)
        if decision.kind == "flag":
            return cls(name, CLASSIFICATION, "flag")
        if task == "auto":
            _check_labels(values, decision)
        return cls(name, CLASSIFICATION, "text", folds=folds)

    def description(self) -> str:
        """Describe in words what would be learned."""
        if self.task == REGRESSION:
            return "a number, to be predicted (regression)"
        kind = {"integer": "whole numbers", "flag": "true and false"}.get(self.kind, "text")
        return f"labels, {kind}, to be told apart (classification)"

    def findings(self, column: Evidence, decision: Decision) -> list[Finding]:
        """Return those findings about the column that matter for a target."""
        kinds: tuple[str, ...] = ("odd values", "code", "gaps")
        if self.kind != "text":
            kinds = ("written numbers", "ambiguous numbers", "gaps", "limits")
        if self.kind == "number":
            kinds = (*kinds, "leading zeros", "extremes")
        alike = spellings(column) if self.kind == "text" else []
        return [*(finding for finding in decision.findings if finding.kind in kinds), *alike]

    def read(self, batch: Batch) -> tuple[NDArray[Any], NDArray[np.bool_], dict[int, str]]:
        """Return the targets of a batch, a mask of present ones, and the reasons for wrong ones."""
        check_target(batch, self.name)
        try:
            y, missing, wrong = self._parsed(batch.values(self.name))
        except UnknownType as error:
            raise TableError(f"{batch.source}: the target {self.name!r}: {error}.") from error
        reason = f"the target {self.name!r} should be {self._expected}, got "
        reasons = {int(i): reason + batch.shown(self.name, int(i)) for i in np.flatnonzero(wrong)}
        return y, ~missing, reasons

    def read_one(self, value: Any, na: Sequence[str] = ()) -> tuple[Any, str | None]:
        """Return the target of one row, None if missing or wrong, and the reason if wrong.

        `na` are values that stand for a missing one, besides the usual ones.
        """
        if not na and self._passes_fast_check(value):
            return value, None
        table = record_batch({self.name: array_of([value])})
        batch = Batch(table, "the row", np.ones(1, np.int64), 1.0)
        y, there, wrong = self.read(batch.with_gaps(na))
        return (y[0].item() if there[0] and not wrong else None), wrong.get(0)

    def _passes_fast_check(self, value: Any) -> bool:
        """Whether a value is a target as it is."""
        if self.kind in ("number", "integer"):
            of_kind, most = (float, LARGEST) if self.kind == "number" else (int, EXACT)
            usual = type(value) is of_kind and -most <= value <= most
            return usual and value not in self.numerals.gaps
        if self.kind == "flag":
            return type(value) is bool
        usual = type(value) is str and value.isascii() and 0 < len(value) <= _LONGEST_LABEL
        return usual and not self.folds and value.strip() not in _GAPS

    def _parsed(self, values: Values) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_]]:
        """Targets, which of them are missing, and which are of the wrong kind."""
        if self.kind == "text":
            text = folded(_labels(values)) if self.folds else _labels(values)
            missing = text.is_null().to_numpy(zero_copy_only=False)
            long = pc.fill_null(pc.greater(pc.utf8_length(text), _LONGEST_LABEL), False)
            labels = pc.fill_null(pc.if_else(long, "", text), "").to_pylist()
            return np.array(labels, dtype=str), missing, long.to_numpy(zero_copy_only=False)
        is_flag = self.kind == "flag"
        parsed, wrong = values.flags if is_flag else values.numbers_as(self.numerals)
        gaps = np.isnan(parsed)
        missing, numbers = gaps & ~wrong, np.where(gaps, 0.0, parsed)
        if self.kind == "number":
            return numbers, missing, wrong
        wrong = wrong | (numbers != np.round(numbers)) | (np.abs(numbers) > float(EXACT))
        numbers = np.where(wrong, 0.0, numbers)
        return numbers.astype(bool if is_flag else np.int64), missing, wrong

    @property
    def _expected(self) -> str:
        expected = {"number": "a number", "integer": "a whole number", "flag": "true or false"}
        return expected.get(self.kind, f"text of at most {_LONGEST_LABEL:,} characters")


def check_target(batch: Batch, name: str) -> None:
    """Raise a TableError if there is no column of this name where one must be."""
    names = batch.table.schema.names
    if name not in names and not batch.sparse:
        raise TableError(
            f"{batch.source}: there is no column {name!r}, the target; it has {listed(names)}."
        )


def _labels(values: Values) -> Any:
    """Text with gaps where a label is missing; "None" may be a class."""
    return values.text_without(IN_LABELS) if values.is_text else values.text


def _few(numbers: NDArray[Any]) -> bool:
    """Whether whole numbers are so few that they are labels."""
    n, distinct = len(numbers), len(np.unique(numbers))
    return distinct <= min(_MOST_LABELS, n // 10) or (distinct == 2 and n >= 6)


def decide_target(column: Evidence) -> Decision:
    """Decide what a target is: no date, and digits with leading zeros only if they are few."""
    values, decision = column.values, decide(column)
    if decision.kind == "time" and values.kind == "number":
        return Decision("number")
    if decision.kind == "flag" and column.is_text:
        words = {text.lower() for text in column.texts.distinct}
        return decision if words <= set(FLAGS[0]) else replace(decision, kind="text")
    if decision.kind == "words" or (decision.kind == "vector" and column.is_text):
        return replace(decision, kind="text", findings=())
    if decision.kind == "code" and not _few(_present(values.numbers[0])):
        text = (
            f" has leading zeros, such as {column.texts.some(LEADING_ZEROS)}, and is learned as a "
            "number; if its values are labels"
        )
        advice, task = ", pass {task}.", CLASSIFICATION
        finding = column.finding("leading zeros", text, advice, warning=True, task=task)
        decision = Decision("number").saying(finding)
    if decision.kind != "number":
        return decision
    far = far_values(values.numbers_as(decision.numerals)[0])
    if not len(far):
        return decision
    shown = ", ".join(f"{number:.15g}" for number in np.unique(far)[:_MOST_SHOWN])
    text = (
        f" has {len(far):,} number{'s' * (len(far) > 1)} very far from the others, such as "
        f"{shown}, which weigh heavily; remove such rows if they are mistakes."
    )
    return decision.saying(column.finding("extremes", text, warning=True))


def _present(numbers: Any) -> Any:
    return numbers[~np.isnan(numbers)]


def _check_no_dates(labels: Any, decision: Decision, task: str) -> None:
    """Raise a TableError for dates and times, unless they are few enough to be labels."""
    if not (decision.kind == "time" or decision.says("ambiguous dates")):
        return
    if task == REGRESSION or _are_different(labels):
        raise TableError(
            f"the target is a date or time, such as {shown_value(labels[0].as_py())}, which is not "
            "learned as a number; write it as days since some day, such as 2000-01-01",
            ", or pass {task}.",
            task=CLASSIFICATION,
        )


def _are_different(labels: Any) -> bool:
    """Whether values are too different to be labels."""
    return len(labels) >= _ROWS_OF_LABELS and len(labels.unique()) > len(labels) / 2


def _check_labels(values: Values, decision: Decision) -> None:
    """Raise a TableError for text that is nearly a number, or different in most rows."""
    labels = _labels(values).drop_null()
    n, distinct = len(labels), len(labels.unique())
    if _are_different(labels) or (decision.says("odd values") and distinct > _MOST_LABELS):
        odd = values.text.filter(pa.array(values.numbers[1])).drop_null()
        many = "which" if len(odd) == n else f"of which {len(odd):,}"
        raise TableError(
            f"the target has {distinct:,} different values in {n:,} rows, {many} are no numbers, "
            f"such as {listed_values(odd.unique().to_pylist()[:2])}; write numbers with a point",
            ", pass {na} with what stands for a missing one, or pass {task}.",
            na=None,
            task=CLASSIFICATION,
        )
