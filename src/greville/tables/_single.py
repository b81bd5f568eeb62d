"""Rows as dicts, predicted and learned one at a time, without a table on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._answers import NOTHING_LEARNED, Answers
from ._categories import Categories
from ._rows import FEW_ROWS, Row, RowEncoder, one_row_batch
from .batch import TableError, Troubles
from .target import CLASSIFICATION, Target


class SingleRows:
    """What a `Learner` does with rows that are no table."""

    # What `Learner` has
    settings: dict[str, Any]
    target: Target
    estimator: Any
    n_rows: int
    n_without_target: int
    no_predictions: Any
    predicted: Any
    predict: Any
    record: Any
    learn: Any
    categories: Categories
    _collect: Any
    _started: Any
    _check_classes: Any

    _row_encoder: RowEncoder | None = None  # of the last schema
    _labels: tuple[Any, frozenset[Any]] | None = None  # of the last classes

    def predict_rows(
        self, rows: Sequence[Row], *, std: bool = False, proba: bool = False
    ) -> Answers:
        """Predictions for rows, each as if it were alone."""
        X, wrong = self._encoder.encode(rows)
        if len(rows) > FEW_ROWS or std or proba or wrong or self.estimator is None:
            answers = self.predicted(X, wrong, std=std, proba=proba)
        else:
            answers = Answers(np.array([self.estimator.predict_one(x) for x in X]), {})
        for i in np.flatnonzero(~self.categories.were_learned(X, rows)).tolist():
            if i not in wrong:
                found = self.predict(one_row_batch(rows[i]), std=std, proba=proba)
                self._collect([(np.array([i]), found)], answers)
        return answers

    def predict_one(self, row: Row) -> Any:
        """The prediction for a row."""
        if self.estimator is None:
            raise TableError(NOTHING_LEARNED)
        x = self._encoded(row)
        if not self.categories.were_learned(x[None], [row])[0]:
            return self.predict(one_row_batch(row)).prediction[0].item()
        return self.estimator.predict_one(x).item()

    def record_one(self, row: Row) -> Answers:
        """Predict a row, and learn it if it has a target."""
        x, wrong = self._encoder.encode_one(row)
        y, wrong_target = self.target_of(row)
        reason = wrong or wrong_target
        if reason is not None:
            return Answers(self.no_predictions(1), {0: reason})
        if self.estimator is None or not self.categories.were_learned(x[None], [row])[0]:
            return self.record(one_row_batch(row), Troubles(skip=True))
        predicted = self.no_predictions(1)
        predicted[0] = self.estimator.predict_one(x)
        self._learn_encoded(x, y)
        return Answers(predicted, {}, target=np.array([y]), known=np.array([y is not None]))

    def trouble_with(self, row: Row) -> str | None:
        """Why a row cannot be learned, if it cannot."""
        wrong = self._encoder.encode_one(row)[1]
        target, wrong_target = self.target_of(row)
        missing = f"the target {self.target.name!r} is missing" if target is None else None
        return wrong or wrong_target or missing

    def learn_one(self, row: Row) -> None:
        """Learn a row, if it has a target."""
        x = self._encoded(row)
        y, wrong = self.target_of(row)
        if wrong is not None:
            raise TableError(f"{wrong}.")
        if self.estimator is None or not self.categories.were_learned(x[None], [row])[0]:
            self.learn([one_row_batch(row)], Troubles())
        else:
            self._learn_encoded(x, y)

    def learned_known(self, row: Row) -> bool:
        """Learn a row that can be learned, and all of whose values were learned before.

        False, and nothing is learned, for others.
        """
        if self.estimator is None:
            return False
        x, wrong = self._encoder.encode_one(row)
        y, wrong_target = self.target_of(row)
        if wrong is not None or wrong_target is not None or y is None:
            return False
        if not self.categories.were_learned(x[None], [row])[0]:
            return False
        self._learn_encoded(x, y)
        return True

    def _learn_encoded(self, x: NDArray[Any], y: Any) -> None:
        """Learn a row all of whose values were learned before; None is no target."""
        if y is None:
            self.n_without_target += 1
            return
        if self.target.task == CLASSIFICATION and y not in self._known_labels():
            self._check_classes(np.array([y]))
        try:
            self._started().learn_one(x, y)
        except ValueError as error:
            raise TableError(str(error)) from error
        self.n_rows += 1

    def target_of(self, row: Row) -> tuple[Any, str | None]:
        """The target of a row, None if it is missing; and what is wrong with it."""
        return self.target.read_one(row.get(self.target.name), self.settings["na"])

    def _known_labels(self) -> Any:
        """The classes, in which a label is found at once."""
        if self.estimator is None:
            return ()
        classes = self.estimator.classes_
        if self._labels is None or self._labels[0] is not classes:
            self._labels = classes, frozenset(classes.tolist())
        return self._labels[1]

    @property
    def _encoder(self) -> RowEncoder:
        encoder = self._row_encoder
        if encoder is None or encoder.schema is not self.categories.schema:
            encoder = self._row_encoder = RowEncoder(self.categories.schema, self.settings["na"])
        return encoder

    def _encoded(self, row: Row) -> NDArray[Any]:
        x, wrong = self._encoder.encode_one(row)
        if wrong is not None:
            raise TableError(f"{wrong}.")
        return x
