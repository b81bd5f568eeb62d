"""Predictions for the rows of a batch, also for values that were never learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from .batch import Batch
from .schema import MOST_ALTERNATIVES, Schema

# Numbers in the inputs of rows that are predicted in several ways at once.
_NUMBERS_AT_ONCE = 1 << 22

# Values that were never learned, by column.
Unlearned = dict[str, list[str]]

NOTHING_LEARNED = "the model has learned nothing yet; give it rows with a target first."


@dataclass
class Answers:
    """Predictions for the rows of a batch; those in `wrong` have none, for the reason given."""

    prediction: NDArray[Any]
    wrong: dict[int, str]
    std: NDArray[Any] | None = None
    proba: NDArray[Any] | None = None
    target: NDArray[Any] | None = None
    known: NDArray[np.bool_] | None = None  # rows that have a target
    unlearned: Unlearned = field(default_factory=dict)
    guessed: set[int] = field(default_factory=set)  # rows with values that were never learned
    gaps: dict[str, int] = field(default_factory=dict)  # rows, by column; no row learned has one
    classes: Sequence[Any] = ()  # those that `proba` has a column for

    def put(self, rows: Any, prediction: Any, std: Any, proba: Any) -> None:
        """Set the answers of some rows."""
        self.prediction[rows] = prediction
        if self.std is not None:
            self.std[rows] = std
        if self.proba is not None:
            self.proba[rows] = proba

    def collect(self, parts: Sequence[tuple[Any, Answers]], classes: Sequence[Any]) -> None:
        """Take over the answers to some of the rows; `classes` are all that there are."""
        n = len(self.prediction)
        for rows, part in parts:
            self.prediction[rows] = part.prediction
            self.guessed.update(int(rows[row]) for row in part.guessed)
            for name, values in part.unlearned.items():
                self.unlearned.setdefault(name, []).extend(values)
            if part.std is not None:
                self.std = np.full(n, np.nan) if self.std is None else self.std
                self.std[rows] = part.std
            if part.proba is not None:
                if self.proba is None:
                    self.proba, self.classes = np.zeros((n, len(classes))), classes
                places = [classes.index(label) for label in part.classes]
                self.proba[np.ix_(rows, places)] = part.proba


def predict_into(
    answers: Answers,
    estimator: Any,
    schema: Schema,
    batch: Batch | None,
    X: NDArray[Any],
) -> None:
    """Put predictions for rows into answers, with deviations and probabilities if wanted.

    A value that was never learned is predicted as the mean over values that were. `batch` is None
    where all values were learned.
    """
    answers.put(slice(None), *_outputs(estimator, X[None], answers))
    unlearned = {} if batch is None else schema.unlearned(batch, X)
    if batch is None or not unlearned:
        return
    rows = np.flatnonzero(np.any(list(unlearned.values()), axis=0)).tolist()
    rows = [row for row in rows if row not in answers.wrong]
    length = max(1, _NUMBERS_AT_ONCE // (MOST_ALTERNATIVES * X.shape[1]))
    for start in range(0, len(rows), length):
        some = np.array(rows[start : start + length])
        where = {name: mask[some] for name, mask in unlearned.items()}
        many = schema.alternatives(X[some], where)
        answers.put(some, *_outputs(estimator, many, answers))
    answers.guessed.update(rows)
    answers.unlearned = {
        name: [batch.value(name, row) for row in rows if mask[row]]
        for name, mask in unlearned.items()
    }


def _outputs(estimator: Any, many: NDArray[Any], answers: Answers) -> tuple[Any, Any, Any]:
    """Means over alternatives, of shape (alternatives, rows, inputs): what `answers` asks for.

    Predictions, standard deviations and probabilities.
    """
    n = many.shape[0]
    X = many.reshape(-1, many.shape[2])
    if is_classifier(estimator):
        if n == 1 and answers.proba is None:
            return estimator.predict(X), None, None
        proba = _mean(estimator.predict_proba(X), n)
        return estimator.classes_[proba.argmax(axis=1)], None, proba
    if answers.std is None:
        return _mean(estimator.predict(X), n), None, None
    predicted, spread = estimator.predict(X, return_std=True)
    mean = _mean(predicted, n)
    variance = _mean(spread**2, n) + _mean((predicted - np.tile(mean, n)) ** 2, n)
    return mean, spread if n == 1 else np.sqrt(variance), None


def _mean(values: NDArray[Any], n: int) -> NDArray[Any]:
    """The means over n alternatives."""
    return values if n == 1 else values.reshape(n, -1, *values.shape[1:]).mean(axis=0)
