"""Rows as dicts: how a `TableModel` predicts and learns them, without a table on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ._answers import NOTHING_LEARNED, Answers
from ._predicting import Predicting
from ._rows import FEW_ROWS, Row, RowEncoder, batches_of_rows, one_row_batch
from ._settings import is_used
from .batch import TableError, Troubles
from .target import CLASSIFICATION, REGRESSION

# Types of values that never change.
_SIMPLE = frozenset({float, int, str, bool, type(None)})


class DictRows(Predicting):
    """`learn_one`, `predict_one` and the like of a `TableModel`."""

    _row_encoder: RowEncoder | None = None  # of the last schema
    _labels: tuple[Any, frozenset[Any]] | None = None  # of the last classes

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
        row = checked_row(row)
        if self.first is None:
            x = self._encoded_one(row)
            y, wrong = self._target_of(row)
            if wrong is not None:
                raise TableError(f"{wrong}.")
            if self._all_known(x, row):
                self._learn_one(x, y)
            else:
                self.learn(one_row_batch(row))
        elif not self._learned_as_usual(row):
            (answers,) = self.record(one_row_batch(row), Troubles(skip=True))
            if answers.wrong:
                raise TableError(f"{answers.wrong[0]}.")
        return self

    def _learned_as_usual(self, row: Row) -> bool:
        """Learn one more of the first rows in place.

        False, and nothing is learned, where more is to be done: where the columns are to be looked
        at again, or a value or a name is not as usual.
        """
        first = self.first
        if first is None or self.estimator is None or self.stale or self._n_until_due == 1:
            return False
        if not all(type(value) in _SIMPLE for value in row.values()):
            return False
        if not first.takes_names_of(row):
            return False
        x, wrong = self._encoder.encode_one(row)
        y, wrong_target = self._target_of(row)
        if wrong is not None or wrong_target is not None or y is None:
            return False
        if not self._all_known(x, row):
            return False
        longer = first.with_row(row, lambda name: is_used(self.settings, name))
        self._learn_one(x, y)
        self.first = longer
        return True

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
        if self.first is None:
            return self.learn(batches, troubles)
        self.record(batches, troubles)
        return self

    def record_one(self, row: Mapping[str, Any]) -> Answers:
        """Predict one row and then learn it; see `learn_one`.

        What is wrong with the row, if anything is, is in the answer, and nothing is learned.
        """
        row = checked_row(row)
        if self.first is not None:
            return self.record(one_row_batch(row), Troubles(skip=True))[0]
        x, wrong = self._encoder.encode_one(row)
        y, wrong_target = self._target_of(row)
        reason = wrong or wrong_target
        if reason is not None:
            return Answers(self._no_predictions(1), {0: reason})
        if not self._all_known(x, row):
            return self.record(one_row_batch(row), Troubles(skip=True))[0]
        predicted = self._no_predictions(1)
        predicted[0] = self.estimator.predict_one(x)
        self._learn_one(x, y)
        return Answers(predicted, {}, target=np.array([y]), known=np.array([y is not None]))

    def trouble_with(self, row: Mapping[str, Any]) -> str | None:
        """Why a row cannot be learned; None if it can, or while the columns may change."""
        if self.first is not None:
            return None
        wrong = self._encoder.encode_one(checked_row(row))[1]
        target, wrong_target = self._target_of(row)
        missing = f"the target {self.target!r} is missing" if target is None else None
        return wrong or wrong_target or missing

    def trouble_with_target(self, row: Mapping[str, Any]) -> str | None:
        """Why the target of a row cannot be read as those before were; None if it can."""
        return self._target_of(row)[1] if self.has_schema else None

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
        self.settle()
        row = checked_row(row)
        if self.estimator is None:
            raise TableError(NOTHING_LEARNED)
        x = self._encoded_one(row)
        if not self._all_known(x, row):
            return self.answers(one_row_batch(row)).prediction[0].item()
        return self.estimator.predict_one(x).item()

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
        rows = list(map(checked_row, rows))
        X, wrong = self.settle()._encoder.encode(rows)
        model = copy(self)
        if proba and model.task == REGRESSION:
            raise TableError("the model predicts a number; there are no probabilities.")
        if len(rows) > FEW_ROWS or std or proba or wrong or model.estimator is None:
            answers = model._predicted(X, wrong, std=std, proba=proba)
        else:
            answers = Answers(np.array([model.estimator.predict_one(x) for x in X]), {})
        known = model._known_categories.were_learned(X, rows)
        for i in np.flatnonzero(~known).tolist():
            if i not in wrong:
                found = model.answers(one_row_batch(rows[i]), std=std, proba=proba)
                answers.collect([(np.array([i]), found)], model.classes)
        return answers

    # Rows on the way to the estimator

    @property
    def _encoder(self) -> RowEncoder:
        encoder, schema = self._row_encoder, self.schema
        if encoder is None or encoder.schema is not schema:
            encoder = self._row_encoder = RowEncoder(schema, self.settings["na"])
        return encoder

    def _encoded_one(self, row: Row) -> NDArray[Any]:
        x, wrong = self._encoder.encode_one(row)
        if wrong is not None:
            raise TableError(f"{wrong}.")
        return x

    def _target_of(self, row: Row) -> tuple[Any, str | None]:
        """The target of a row, None if it is missing; and what is wrong with it."""
        return self._known_target.read_one(row.get(self.target), self.settings["na"])

    def _all_known(self, x: NDArray[Any], row: Row) -> bool:
        """Whether there is something learned, also of all values of the row."""
        if self.estimator is None:
            return False
        return bool(self._known_categories.were_learned(x[None], [row])[0])

    def _learn_one(self, x: NDArray[Any], y: Any) -> None:
        """Learn a row all of whose values were learned before; None is no target."""
        if y is None:
            self.n_without_target += 1
            return
        if self.task == CLASSIFICATION and y not in self._known_labels():
            self._check_classes(np.array([y]))
        try:
            self.estimator.learn_one(x, y)
        except ValueError as error:
            raise TableError(str(error)) from error
        self.n_rows += 1

    def _known_labels(self) -> frozenset[Any]:
        """The classes, in which a label is found at once."""
        classes = self.estimator.classes_
        if self._labels is None or self._labels[0] is not classes:
            self._labels = classes, frozenset(classes.tolist())
        return self._labels[1]


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
