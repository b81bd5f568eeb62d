"""How a `TableModel` predicts batches, and learns them after they were predicted."""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ._answers import NOTHING_LEARNED, Answers, predict_into
from ._encoded import EncodedRows, naming_rows
from ._learning import Learning
from .batch import Batch, TableError, Troubles, batches_of
from .target import CLASSIFICATION, REGRESSION


class Predicting(Learning):
    """Predicts batches, before they are learned or without learning them."""

    def predict(self, table: Any) -> NDArray[Any]:
        """The predictions for all rows of a batch or a table."""
        parts = []
        for batch in batches_of(table):
            answers = self.answers(batch)
            for row, reason in answers.wrong.items():
                raise TableError(f"{batch.where(row)}: {reason}.")
            parts.append(answers.prediction)
        return np.concatenate(parts)

    def answers(self, batch: Batch, *, std: bool = False, proba: bool = False) -> Answers:
        """Predictions for a batch, and what goes with them."""
        model = self._snapshot()
        batch = batch.with_gaps(self.settings["na"])
        answers = model._predicted(*model.schema.encode(batch), batch, std=std, proba=proba)
        answers.gaps = model.schema.unknown_gaps(batch)
        return answers

    def _snapshot(self) -> Self:
        """This model, in which what another thread learns from now on does not come about."""
        return copy(self.settle())

    def _predicted(
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
        kind = np.float64 if self.task == REGRESSION else self.estimator.classes_.dtype
        answers = Answers(np.empty(len(X), kind), wrong, classes=self.classes if proba else ())
        answers.std = np.empty(len(X)) if std else None
        answers.proba = np.empty((len(X), len(self.classes))) if proba else None
        if len(X):
            predict_into(answers, self.estimator, self._known_categories, batch, X)
        return answers

    def leave_out(self, batch: Batch) -> Answers:
        """Predictions for rows that were learned, each as if it alone had not been.

        A ValueError if a row determines its own prediction, as with fewer rows than units it may.
        """
        model = self._snapshot()
        rows, estimator = model._encoded(batch), model.estimator
        use, known = rows.usable, model._no_predictions(len(batch))
        answers = Answers(known, rows.wrong, target=rows.y, known=use)
        if estimator is None or not use.any():
            answers.known = np.zeros(len(batch), bool)
            return answers
        X, y = rows.learned_from()
        if model.task == CLASSIFICATION:
            proba = estimator.loo_predict(X, y, method="predict_proba")
            answers.prediction[use] = estimator.classes_[proba.argmax(axis=1)]
            answers.proba = np.zeros((len(batch), proba.shape[1]))
            answers.proba[use] = proba
        else:
            answers.prediction[use] = estimator.loo_predict(X, y)
        return answers

    def targets(self, batch: Batch) -> tuple[NDArray[Any], NDArray[np.bool_], dict[int, str]]:
        """The targets of a batch, which are there, and what is wrong with the others."""
        return self.settle()._known_target.read(batch)

    # Predicted and then learned

    def record(
        self,
        table: Any,
        troubles: Troubles | None = None,
        *,
        std: bool = False,
        proba: bool = False,
    ) -> list[Answers]:
        """Predict every row before it is learned, and learn them all.

        As long as the first rows come, what the columns are is learned afresh from 1, 2, 4, ... of
        them, and when one does not fit.
        """
        answers, troubles = [], troubles or Troubles()
        wanted = {"std": std, "proba": proba}
        with self._replacement() as new:
            new._settle(Troubles(skip=True))
            for batch in batches_of(table):
                troubles.count_skipped(batch)
                start = 0
                while start < len(batch) and new.first is not None:
                    stop = min(start + new._n_until_due, len(batch))
                    answers.append(new._record_first(batch.part(start, stop), troubles, wanted))
                    start += len(answers[-1].prediction)
                if start < len(batch):
                    rest = batch.part(start, len(batch))
                    answers.append(new._record(rest, new._checked(rest, troubles), **wanted))
        return answers

    @property
    def _n_until_due(self) -> int:
        """How many more of the first rows until they are looked at again: 1, 2, 4, ... of them."""
        assert self.first is not None
        return (1 << self.first.n.bit_length()) - self.first.n

    def _record_first(self, piece: Batch, troubles: Troubles, wanted: dict[str, bool]) -> Answers:
        """Record some of the first rows: those up to one that does not fit, or that one."""
        if not self.has_schema:
            return self._record_misfit(piece.part(0, 1), "", troubles)
        rows = self._encoded(piece)
        if 0 in rows.wrong:
            return self._record_misfit(piece.part(0, 1), rows.wrong[0], troubles)
        rows, due = rows.until_wrong(), self._n_until_due
        piece = piece.part(0, len(rows.X))
        answers = self._record(piece, rows, **wanted)
        self._keep(piece)
        self.stale = False
        if len(piece) >= due:
            self._relearn(*self._fit_columns(), troubles, drop=True)
        return answers

    def _record_misfit(self, row: Batch, reason: str, troubles: Troubles) -> Answers:
        """Fit the schema to a row that does not fit into it, or that is the first.

        If it does not fit then, it is wrong for `reason`, and nothing changes.
        """
        new = self.twin()
        new._keep(row)
        batch, rows = new._fit_columns()
        if len(batch) - 1 in rows.wrong:
            wrong = {0: reason or rows.wrong[len(batch) - 1]}
            troubles.meet_rows(row, wrong)
            known = self if self.has_schema else new
            return Answers(known._no_predictions(1), wrong)
        new._relearn(batch, rows, troubles, drop=True)
        self.__dict__ = new.__dict__
        target, known_target = rows.y[-1:], rows.known[-1:]
        return Answers(self._no_predictions(1), {}, target=target, known=known_target)

    def _record(
        self, batch: Batch, rows: EncodedRows, *, std: bool = False, proba: bool = False
    ) -> Answers:
        """Predict every row before it is learned, and learn those that have a target."""
        batch = batch.with_gaps(self.settings["na"])
        (rows,) = self._with_late_inputs([batch], [rows])
        X, y, use = rows.X, rows.y, rows.usable
        answers = Answers(self._no_predictions(len(batch)), rows.wrong, target=y, known=use)
        parts: list[tuple[Any, Answers]] = []
        self.n_without_target += int((~rows.known).sum())
        self._check_classes(y[use])
        # Rows with a new value are alone: they are predicted as rows without a target are.
        new = np.flatnonzero(use)[self._known_categories.first_rows(X[use])]
        cuts = {0, len(use), *(np.flatnonzero(np.diff(use)) + 1), *new, *(new + 1)}
        with naming_rows([batch]):
            for start, stop in pairwise(sorted(cuts)):
                run, learns = np.arange(start, stop), use[start]
                guessed = self.n_rows > 0 and (not learns or start in new)
                if guessed:
                    part = batch.part(start, stop)
                    found = self._predicted(X[run], {}, part, std=std, proba=proba)
                    parts.append((run, found))
                    if learns:
                        found.unlearned = {}
                if learns:
                    found = self._prequential(X[run], y[run], std=std, proba=proba)
                    if not guessed:
                        parts.append((run, found))
                    self.n_rows += int(stop - start)
                    self.categories = self._known_categories.with_rows(X[run])
        answers.collect(parts, self.classes)
        return answers

    def _prequential(self, X: NDArray[Any], y: NDArray[Any], *, std: bool, proba: bool) -> Answers:
        estimator = self._started()
        if std:
            predicted, spread = estimator.prequential(X, y, return_std=True)
            return Answers(predicted, {}, std=spread)
        if proba:
            found = estimator.prequential(X, y, method="predict_proba")
            labels = estimator.classes_[found.argmax(axis=1)]
            return Answers(labels, {}, proba=found, classes=self.classes)
        return Answers(estimator.prequential(X, y), {})
