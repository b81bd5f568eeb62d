"""Rows of a table whose schema is known, and the estimator that learns them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..elm import set_direct_inputs
from ._answers import NOTHING_LEARNED, Answers, predict_into
from ._categories import Categories
from ._first import FirstRows
from ._settings import make_estimator
from ._single import SingleRows
from ._values import IN_LABELS
from .batch import Batch, TableError, Troubles
from .decisions import usual_of
from .doubts import unused_options
from .evidence import Evidence, Hints
from .findings import Finding
from .schema import Schema
from .target import CLASSIFICATION, REGRESSION, Target, check_target, decide_target

# Classes of a target. Time and memory grow with their number.
MOST_CLASSES = 10_000


@dataclass(frozen=True)
class EncodedRows:
    """Inputs, targets, which rows have a target, and what is wrong with rows."""

    X: NDArray[Any]
    y: NDArray[Any]
    known: NDArray[np.bool_]
    wrong: dict[int, str]

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Rows that can be learned."""
        usable = self.known.copy()
        usable[list(self.wrong)] = False
        return usable

    def until_wrong(self) -> EncodedRows:
        """The rows before the first wrong one."""
        stop = min(self.wrong, default=len(self.X))
        return EncodedRows(self.X[:stop], self.y[:stop], self.known[:stop], {})


class Learner(SingleRows):
    """A schema, a target, and an estimator, which is made when there are rows to learn.

    Parameters
    ----------
    settings : dict
        Those of the `TableModel`.
    schema : Schema
    target : Target
    n_expected : int
        How many rows will be learned, as far as that is known: a hidden layer of size "auto"
        depends on it.
    """

    def __init__(
        self, settings: dict[str, Any], schema: Schema, target: Target, n_expected: int
    ) -> None:
        self.settings = settings
        self.categories = Categories(schema)
        self.target = target
        self.n_expected = n_expected
        self.estimator: Any = None
        self.n_rows = 0  # learned
        self.n_without_target = 0

    @classmethod
    def fit_schema(cls, settings: dict[str, Any], first: FirstRows) -> tuple[Self, Batch]:
        """One that knows what the columns of the first rows are; and these rows as a batch."""
        batch, name = first.batch().with_gaps(settings["na"]), settings["target"]
        check_target(batch, name)
        columns = {other: batch.values(other) for other in first.columns if other != name}
        hints = Hints.of(settings)
        schema = Schema.fit(columns, hints, first.places)
        if not schema.inputs:
            what = "; ".join(f"{c.name!r} is {c.description()}" for c in schema.columns)
            raise TableError(f"there is no column to learn from: {what or 'there is no other'}.")
        values, decisions = batch.values(name), schema.decisions
        column = Evidence(name, values, hints, usual_of(columns, decisions), IN_LABELS)
        decision = decide_target(column)
        target = Target.fit(name, values, settings["task"], decision, folds=name in hints.fold)
        unused = unused_options({**columns, name: values}, [*decisions.values(), decision], hints)
        findings = [*unused, *target.findings(column, decision), *schema.findings]
        schema = Schema(schema.columns, findings)
        return cls(settings, schema, target, first.n), batch

    def prepare(self, rows: EncodedRows) -> None:
        """Measure the units of inputs and targets, if there are rows that can be learned."""
        use, n_late = rows.usable, self.schema.n_late
        if not use.any():
            self.categories = Categories(self.schema.without_late())
            return
        self._check_classes(rows.y[use])
        n_rows = max(1, round(self.n_expected * float(use.mean())))
        n_layer = len(self.schema.inputs) - n_late
        estimator = self._started(n_layer)
        estimator.prepare(rows.X[use][:, :n_layer], rows.y[use], n_rows=n_rows)
        if n_late:
            set_direct_inputs(estimator, n_late, [])

    @property
    def schema(self) -> Schema:
        return self.categories.schema

    def say(self, finding: Finding) -> None:
        """Have one more finding about the table."""
        schema = Schema(self.schema.columns, [finding, *self.schema.findings])
        self.categories = Categories(schema, self.categories.learned)

    def copy(self) -> Self:
        """One that learns on its own."""
        other = copy(self)
        if self.estimator is not None:
            other.estimator = copy(self.estimator)
        return other

    def emptied(self) -> Self:
        """The same schema, units and hidden layer, and nothing learned."""
        other = copy(self)
        other.estimator = copy(self.estimator)
        other.estimator.publish(self.estimator.fitted_.emptied())
        other.n_rows = other.n_without_target = 0
        other.categories = Categories(self.schema)
        return other

    def weighed(self, batches: Sequence[Batch], weight: NDArray[np.float64]) -> Self:
        """The same schema, units and hidden layer, and all rows learned again with weights."""
        other, start = self.emptied(), 0
        for batch in batches:
            rows, weights = self.read(batch), weight[start : start + len(batch)]
            start, use = start + len(batch), rows.usable
            if use.any():
                X, y = rows.X[use], rows.y[use]
                other.estimator.partial_fit(X, y, sample_weight=weights[use])
                other.categories = other.categories.with_rows(X)
        other.estimator.choose()
        other.n_rows, other.n_without_target = self.n_rows, self.n_without_target
        return other

    @property
    def classes(self) -> list[Any]:
        known = self.target.task == CLASSIFICATION and self.estimator is not None
        return self.estimator.classes_.tolist() if known else []

    def read(self, batch: Batch) -> EncodedRows:
        """The rows of a batch as the estimator takes them."""
        batch = batch.with_gaps(self.settings["na"])
        X, wrong = self.schema.encode(batch)
        y, known, wrong_targets = self.target.read(batch)
        return EncodedRows(X, y, known, wrong_targets | wrong)

    def learn(
        self, batches: Sequence[Batch], troubles: Troubles, rows: Sequence[EncodedRows] = ()
    ) -> None:
        """Learn the rows of batches together; `rows` are the same if they are encoded already."""
        batches = [batch.with_gaps(self.settings["na"]) for batch in batches]
        rows = rows or [self._checked(batch, troubles) for batch in batches]
        rows = self._with_new_inputs(batches, rows)
        parts = [(r.X, r.y) if (u := r.usable).all() else (r.X[u], r.y[u]) for r in rows]
        X, y = (
            np.concatenate(part) if len(parts) > 1 else part[0] for part in zip(*parts, strict=True)
        )
        self.n_without_target += sum(int((~r.known).sum()) for r in rows)
        if len(X):
            self._check_classes(y)
            with _naming_rows(batches):
                self._started().partial_fit(X, y)
            self.n_rows += len(X)
            self.categories = self.categories.with_rows(X)

    def record(
        self,
        batch: Batch,
        troubles: Troubles,
        rows: EncodedRows | None = None,
        *,
        std: bool = False,
        proba: bool = False,
    ) -> Answers:
        """Predict every row before it is learned, and learn those that have a target."""
        batch = batch.with_gaps(self.settings["na"])
        (rows,) = self._with_new_inputs([batch], [rows or self._checked(batch, troubles)])
        X, y, use = rows.X, rows.y, rows.usable
        answers = Answers(self.no_predictions(len(batch)), rows.wrong, target=y, known=use)
        parts: list[tuple[Any, Answers]] = []
        self.n_without_target += int((~rows.known).sum())
        self._check_classes(y[use])
        # Rows with a new value are alone: they are predicted as rows without a target are.
        new = np.flatnonzero(use)[self.categories.first_rows(X[use])]
        cuts = {0, len(use), *(np.flatnonzero(np.diff(use)) + 1), *new, *(new + 1)}
        with _naming_rows([batch]):
            for start, stop in pairwise(sorted(cuts)):
                run, learns = np.arange(start, stop), use[start]
                guessed = self.n_rows > 0 and (not learns or start in new)
                if guessed:
                    part = batch.part(start, stop)
                    found = self.predicted(X[run], {}, part, std=std, proba=proba)
                    parts.append((run, found))
                    if learns:
                        found.unlearned = {}
                if learns:
                    found = self._recorded(X[run], y[run], std=std, proba=proba)
                    if not guessed:
                        parts.append((run, found))
                    self.n_rows += int(stop - start)
                    self.categories = self.categories.with_rows(X[run])
        self._collect(parts, answers)
        return answers

    def _recorded(self, X: NDArray[Any], y: NDArray[Any], *, std: bool, proba: bool) -> Answers:
        estimator = self._started()
        if std:
            predicted, spread = estimator.prequential(X, y, return_std=True)
            return Answers(predicted, {}, std=spread)
        if proba:
            return self._most_likely(estimator.prequential(X, y, method="predict_proba"), {})
        return Answers(estimator.prequential(X, y), {})

    def _collect(self, parts: Sequence[tuple[Any, Answers]], answers: Answers) -> None:
        """Write the answers to some of the rows into those to all of them."""
        n, classes = len(answers.prediction), self.classes
        for run, part in parts:
            answers.prediction[run] = part.prediction
            answers.guessed.update(int(run[row]) for row in part.guessed)
            for name, values in part.unlearned.items():
                answers.unlearned.setdefault(name, []).extend(values)
            if part.std is not None:
                answers.std = np.full(n, np.nan) if answers.std is None else answers.std
                answers.std[run] = part.std
            if part.proba is not None:
                if answers.proba is None:
                    answers.proba, answers.classes = np.zeros((n, len(classes))), classes
                places = [classes.index(label) for label in part.classes]
                answers.proba[np.ix_(run, places)] = part.proba

    def predict(self, batch: Batch, *, std: bool = False, proba: bool = False) -> Answers:
        """Predictions for a batch, and what goes with them."""
        batch = batch.with_gaps(self.settings["na"])
        answers = self.predicted(*self.schema.encode(batch), batch, std=std, proba=proba)
        answers.gaps = self.schema.unknown_gaps(batch)
        return answers

    def predicted(
        self,
        X: NDArray[Any],
        wrong: dict[int, str],
        batch: Batch | None = None,
        *,
        std: bool = False,
        proba: bool = False,
    ) -> Answers:
        """Predictions for encoded rows; `batch` has them, unless all their values were learned."""
        if self.estimator is None:
            raise TableError(NOTHING_LEARNED)
        X[list(wrong)] = 0
        kind = np.float64 if self.target.task == REGRESSION else self.estimator.classes_.dtype
        answers = Answers(np.empty(len(X), kind), wrong, classes=self.classes if proba else ())
        if std:
            answers.std = np.empty(len(X))
        if proba:
            answers.proba = np.empty((len(X), len(self.classes)))
        if len(X):
            run = slice(0, len(X))
            answers.count_unlearned(
                predict_into(answers, run, self.estimator, self.categories, batch, X)
            )
        return answers

    def leave_out(self, batch: Batch) -> Answers:
        """Predictions for rows that were learned, each as if it alone had not been."""
        rows = self.read(batch)
        use, known = rows.usable, self.no_predictions(len(batch))
        answers = Answers(known, rows.wrong, target=rows.y, known=use)
        if self.estimator is None or not use.any():
            answers.known = np.zeros(len(batch), bool)
            return answers
        X, y = rows.X[use], rows.y[use]
        if self.target.task == CLASSIFICATION:
            proba = self.estimator.loo_predict(X, y, method="predict_proba")
            answers.prediction[use] = self.estimator.classes_[proba.argmax(axis=1)]
            answers.proba = np.zeros((len(batch), proba.shape[1]))
            answers.proba[use] = proba
        else:
            answers.prediction[use] = self.estimator.loo_predict(X, y)
        return answers

    def calibrate(self, batch: Batch) -> None:
        """Learn how sharp probabilities are from rows that were learned, each without itself."""
        rows = self.read(batch)
        if self.estimator is not None and rows.usable.any():
            self.estimator.calibrate(rows.X[rows.usable], rows.y[rows.usable])

    def _most_likely(self, probabilities: NDArray[Any], wrong: dict[int, str]) -> Answers:
        labels = self.estimator.classes_[probabilities.argmax(axis=1)]
        return Answers(labels, wrong, proba=probabilities, classes=self.classes)

    def unlearn(self, batch: Batch, troubles: Troubles) -> int:
        """Remove rows learned earlier; how many."""
        rows = self._checked(batch, troubles)
        use = rows.usable
        if use.any():
            with _naming_rows([batch]):
                self.estimator.unlearn(rows.X[use], rows.y[use])
        self.n_rows -= int(use.sum())
        return int(use.sum())

    def accumulator(self) -> Self:
        """One with the same schema, units and hidden layer that only adds rows up, for `merge`."""
        other = self.emptied()
        other.estimator.publish(self.estimator.fitted_.accumulator())
        return other

    def merge(self, other: Learner) -> None:
        """Learn all that another has learned, once both have the inputs of both."""
        joined = self.categories.joined(other.categories)
        if joined is None or self.target != other.target or other.estimator is None:
            raise _different_columns()
        theirs, grew = other.copy(), self.schema.as_list() != other.schema.as_list()
        self._extend(joined)
        theirs._extend(joined)
        try:
            self.estimator.merge(theirs.estimator)
        except ValueError as error:
            if not grew:
                raise
            raise _different_columns() from error
        self.n_rows += other.n_rows
        self.n_without_target += other.n_without_target
        self.categories |= theirs.categories

    def no_predictions(self, n: int) -> NDArray[Any]:
        """What stands for so many predictions where there are none."""
        return np.full(n, np.nan if self.target.task == REGRESSION else None)

    def _checked(self, batch: Batch, troubles: Troubles) -> EncodedRows:
        rows = self.read(batch)
        troubles.meet_rows(batch, rows.wrong)
        return rows

    def _with_new_inputs(
        self, batches: Sequence[Batch], rows: Sequence[EncodedRows]
    ) -> Sequence[EncodedRows]:
        """The rows of batches, with an input for each value that is new in those to be learned.

        It was zero in all rows so far, which has changed nothing: none has to be learned again.
        """
        new: dict[str, list[str]] = {}
        if self.estimator is None:  # it will be made for the inputs that there are then
            return rows
        for batch, each in zip(batches, rows, strict=True):
            for name, labels in self.categories.new_labels(batch, each.X, each.usable).items():
                new[name] = list(dict.fromkeys([*new.get(name, ()), *labels]))
        if not new:
            return rows
        self._extend(self.categories.grown(new))
        return [
            replace(each, X=self.schema.encode(batch)[0][: len(each.X)])
            for batch, each in zip(batches, rows, strict=True)
        ]

    def _extend(self, schema: Schema) -> None:
        """Take a schema with the same columns, and maybe more late values of them."""
        self.categories, old = self.categories.in_schema(schema)
        if self.estimator is not None and len(old) < schema.n_late:
            set_direct_inputs(self.estimator, schema.n_late, old)

    def _started(self, n_inputs: int | None = None) -> Any:
        """The estimator, which is made for so many inputs of its layer where there is none."""
        if self.estimator is None:
            task, n_inputs = self.target.task, n_inputs or len(self.schema.inputs)
            self.estimator = make_estimator(self.settings, task, n_inputs, self.n_expected)
        return self.estimator

    def _check_classes(self, y: NDArray[Any]) -> None:
        """Raise a TableError for more classes than can be learned in reasonable time."""
        if self.target.task == CLASSIFICATION:
            n = len(set(self.classes).union(y.tolist()))
            if n > MOST_CLASSES:
                raise TableError(
                    f"the target {self.target.name!r} has {n:,} different values, and at most "
                    f"{MOST_CLASSES:,} classes can be learned; is it the right column?",
                    " For numbers pass {task}.",
                    task=REGRESSION,
                )


def _different_columns() -> TableError:
    return TableError(
        "the models have different columns, types or categories",
        "; start the second from first.forgotten(), then they can be merged.",
    )


@contextmanager
def _naming_rows(batches: Sequence[Batch]) -> Iterator[None]:
    """Say which rows an estimator has refused."""
    try:
        yield
    except ValueError as error:
        first, last = batches[0], batches[-1]
        where = first.where(0)
        if last is not first or len(last) > 1:
            where += f" to {last.where(len(last) - 1)}"
        raise TableError(f"{where}: {error}") from error
