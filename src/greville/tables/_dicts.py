"""Rows as dicts: what a `TableModel` does with one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from ._answers import Answers
from ._learner import Learner
from ._rows import batches_of_rows, one_row_batch
from ._state import State
from .batch import TableError, Troubles
from .target import REGRESSION


class DictRows:
    """`learn_one`, `predict_one` and the like of a `TableModel`."""

    # What `TableModel` has
    _state: State
    record: Any
    learn: Any
    _settled_learner: Any

    def learn_one(self, row: Mapping[str, Any]) -> Self:
        """Learn one row, in microseconds but for a few of the first 4096.

        What the columns are is learned afresh from the first 1, 2, 4, ... rows, and when one does
        not fit.

        Parameters
        ----------
        row : dict
            Values by the names of their columns, the target among them. A column that is left
            out, or is None, is missing; a row without a target is counted, and not learned.

        Returns
        -------
        self

        Examples
        --------
        >>> from greville.tables import TableModel
        >>> model = TableModel("y", task="regression")
        >>> for i in range(100):
        ...     _ = model.learn_one({"x": i / 10, "kind": "ab"[i % 2], "y": i / 5})
        >>> round(model.predict_one({"x": 2.5, "kind": "a"}), 1)
        5.0
        """
        learner = self._learner_of_single_rows()
        if learner is not None:
            learner.learn_one(checked_row(row))
            return self
        state = self._state.learned_one(checked_row(row))
        if state is not None:
            self._state = state
            return self
        (answers,) = self.record(one_row_batch(checked_row(row)), Troubles(skip=True))
        if answers.wrong:
            raise TableError(f"{answers.wrong[0]}.")
        return self

    def learn_rows(
        self, rows: Sequence[Mapping[str, Any]], troubles: Troubles | None = None
    ) -> Self:
        """Learn rows, all of them or, if an exception comes out, none; see `learn_one`.

        Parameters
        ----------
        rows : sequence of dict
        troubles : Troubles, optional
            Whether rows that cannot be used are skipped, or are the end, as by default.

        Returns
        -------
        self
        """
        batches = batches_of_rows(list(map(checked_row, rows)), "the rows")
        if self._state.warmup is None:
            return self.learn(batches, troubles)
        self.record(batches, troubles)
        return self

    def record_one(self, row: Mapping[str, Any]) -> Answers:
        """Predict one row and then learn it; see `learn_one`.

        What is wrong with the row, if anything is, is in the answer, and nothing is learned.
        """
        learner = self._learner_of_single_rows()
        if learner is not None:
            return learner.record_one(checked_row(row))
        return self.record(one_row_batch(checked_row(row)), Troubles(skip=True))[0]

    def trouble_with(self, row: Mapping[str, Any]) -> str | None:
        """Why a row cannot be learned; None if it can, or while the columns may change."""
        learner = self._learner_of_single_rows()
        return None if learner is None else learner.trouble_with(checked_row(row))

    def trouble_with_target(self, row: Mapping[str, Any]) -> str | None:
        """Why the target of a row cannot be read as those before were; None if it can."""
        learner = self._state.learner
        return None if learner is None else learner.target_of(row)[1]

    def _learner_of_single_rows(self) -> Learner | None:
        """What learns rows without a table; None while the columns may change."""
        return self._state.learner if self._state.warmup is None else None

    def predict_one(self, row: Mapping[str, Any]) -> Any:
        """The prediction for one row, in microseconds.

        Parameters
        ----------
        row : dict
            Values by the names of their columns. A column that is left out, or is None, is
            missing; other names are passed over.

        Returns
        -------
        prediction : float, str, int or bool
            What `predict` gives for a table of this row, to rounding.
        """
        return self._settled_learner().predict_one(checked_row(row))

    def predict_proba_one(self, row: Mapping[str, Any]) -> dict[Any, float]:
        """The probability of each class for one row; see `predict_one`."""
        answers = self.answers_to_rows([row], proba=True)
        if answers.wrong:
            raise TableError(f"{answers.wrong[0]}.")
        assert answers.proba is not None
        return dict(zip(answers.classes, answers.proba[0].tolist(), strict=True))

    def answers_to_rows(
        self, rows: Sequence[Mapping[str, Any]], *, std: bool = False, proba: bool = False
    ) -> Answers:
        """Predictions for rows as dicts, each what it would be if the row were alone."""
        learner = self._settled_learner()
        if proba and learner.target.task == REGRESSION:
            raise TableError("the model predicts a number; there are no probabilities.")
        return learner.predict_rows(list(map(checked_row, rows)), std=std, proba=proba)


def checked_row(row: Any, learn: str = "learn") -> Mapping[str, Any]:
    """The row; a TypeError that names the method for several rows if it is none.

    A row of a pandas data frame is one too.
    """
    if isinstance(row, Mapping):
        return row
    if type(row).__name__ == "Series" and hasattr(row, "to_dict"):
        found: Mapping[str, Any] = row.to_dict()
        if all(isinstance(name, str) for name in found):
            return found
    raise TypeError(
        f"row: pass a dict of values by the names of their columns, got {type(row).__name__}; "
        f"for several rows use {learn} and predict."
    )
