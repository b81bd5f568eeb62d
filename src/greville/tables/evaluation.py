"""How good a model is: measured in the pass in which it learns, or on held-out rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._first_rows import FirstRows
from ._sample import HELD_OUT, Sample, uniform
from .batch import Batch, RowErrors, TableError
from .model import TableModel
from .predictions import UnlearnedValues
from .target import CLASSIFICATION

# Rows that are left out, one at a time, to see how good a model is.
_ROWS_LEFT_OUT = 4096

# First rows of a table that are compared with those of a model.
_ROWS_COMPARED = 100

# The places that probabilities are counted in.
_BINS = 4096


class Holdout:
    """Rows that are held out of learning: a share of them, by their number alone.

    Parameters
    ----------
    share : float
        From 0 to below 1.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import Holdout, Reading, RowErrors, find_sources, read
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> batches = list(read(find_sources([str(path)]), Reading(), RowErrors()))
    >>> holdout = Holdout(0.2)
    >>> sum(len(batch) for batch in holdout.learned(batches))
    17248
    >>> sum(len(batch) for batch in holdout.held_out(batches))
    4352
    """

    def __init__(self, share: float) -> None:
        if not 0 <= share < 1:
            raise TableError(
                f"test={share}: pass a share of the rows, at least 0 and below 1.", argument="test"
            )
        self.share = share

    def learned(self, batches: Iterable[Batch], first: int = 0) -> Iterator[Batch]:
        """Yield the rows that are not held out; `first` is the number of earlier rows."""
        return self._part(batches, first, held_out=False)

    def held_out(self, batches: Iterable[Batch], first: int = 0) -> Iterator[Batch]:
        """Yield the rows that are held out for the test."""
        return self._part(batches, first, held_out=True)

    def _part(self, batches: Iterable[Batch], number: int, *, held_out: bool) -> Iterator[Batch]:
        for batch in batches:
            chosen = uniform(number, len(batch), HELD_OUT) < self.share
            number += len(batch)
            yield batch.filter(chosen == held_out) if self.share else batch


class TrainingScore:
    """Scores a model while it learns.

    Where rows can be left out exactly, that is done at the end for a sample of them. With other
    solvers every chunk but the first is predicted before it is learned.
    """

    def __init__(self) -> None:
        self._sample = Sample(_ROWS_LEFT_OUT)
        self._score: Any = None

    def before_learning(self, model: TableModel, chunk: Sequence[Batch]) -> None:
        """Score a chunk of rows that the model has not learned yet."""
        if not model.leaves_out:
            if model.n_rows > 0:
                self._score = self._score or empty_score(model)
                for batch in chunk:
                    add_scores(self._score, model, batch, RowErrors(skip=True))
            return
        for batch in chunk:
            self._sample.add(batch)

    def calibrate(self, model: TableModel) -> None:
        """Calibrate a fully trained model by a sample of the rows seen here."""
        if model.leaves_out and self._sample.total:
            model.calibrate(FirstRows.of(self._sample.batches()).batch())

    def summary(self, model: TableModel) -> dict[str, Any] | None:
        """Return the scores, once the model has learned all; None if there are none."""
        how = "before learning"
        if model.leaves_out and self._sample.total:
            how = "leave-one-out"
            try:
                answers = model.leave_out(FirstRows.of(self._sample.batches()).batch())
            except ValueError:  # rows determine their own predictions
                return None
            self._score, use = empty_score(model), answers.has_target
            assert use is not None
            assert answers.target is not None
            proba = None if answers.proba is None else answers.proba[use]
            self._score.add(answers.target[use], answers.prediction[use], proba)
        if self._score is None or not self._score.n:
            return None
        return {"how": how, **self._score.summary()}


def score_rows(
    model: TableModel, batches: Iterable[Batch], row_errors: RowErrors
) -> dict[str, Any]:
    """The scores of a model on rows that have a target."""
    score = empty_score(model)
    for batch in batches:
        add_scores(score, model, batch, row_errors)
    if not score.n:
        raise TableError(f"no row that was held out has a value of {model.target!r}.")
    return {"how": "held out", **score.summary()}


def empty_score(model: TableModel) -> RegressionScore | ClassificationScore:
    """The score of a model before any row.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from greville.tables import TableModel, empty_score
    >>> model = TableModel("y", hidden=10)
    >>> _ = model.learn(pa.table({"x": [1.0, 2.0, 3.0], "y": [1.5, 2.0, 3.0]})).settle()
    >>> type(empty_score(model)).__name__
    'RegressionScore'
    """
    classes = model.task == CLASSIFICATION
    return ClassificationScore(model.classes) if classes else RegressionScore()


def add_scores(
    score: Any,
    model: TableModel,
    batch: Batch,
    row_errors: RowErrors,
    unlearned: UnlearnedValues | None = None,
) -> int:
    """Score the predictions for a batch; return the number of rows without a target."""
    classes = model.task == CLASSIFICATION
    y, there, wrong = model.targets(batch)
    answers = model.answers(batch, proba=classes, std=not classes and model.says_how_sure)
    if unlearned is not None:
        unlearned.add(answers)
    wrong = answers.wrong | wrong
    row_errors.count_skipped(batch)
    row_errors.add_rows(batch, wrong)
    use = there.copy()
    use[list(wrong)] = False
    more = answers.proba if classes else answers.std
    score.add(y[use], answers.prediction[use], None if more is None else more[use])
    return int((~there).sum())


def were_learned(model: TableModel, batch: Batch) -> bool:
    """Whether the rows with which a table begins are those with which the model has begun.

    False where the model does not know its first rows any more.
    """
    learned = model.first
    n = 0 if learned is None else min(learned.n, len(batch), _ROWS_COMPARED)
    if learned is None or n == 0:
        return False
    columns = FirstRows.of([batch.part(0, n)]).columns
    names = learned.columns.keys() & columns.keys()
    return model.target in names and all(
        columns[name].equals(learned.columns[name][:n]) for name in names
    )


class RegressionScore:
    """Errors of predicted numbers, added up batch by batch.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.tables import RegressionScore
    >>> score = RegressionScore()
    >>> score.add(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    >>> round(score.summary()["r2"], 2)
    0.5
    """

    def __init__(self) -> None:
        self.n = 0
        self._sums = np.zeros(5)  # of e, |e| and e²; rows with std, and of them within 1.645 std
        self._mean = self._spread = 0.0  # of y: its mean, and the squares around that

    def add(
        self, y: NDArray[Any], predicted: NDArray[Any], std: NDArray[Any] | None = None
    ) -> None:
        if not len(y):
            return
        error = predicted - y
        within = (0, 0) if std is None else (len(y), (np.abs(error) <= 1.6449 * std).sum())
        self._sums += np.array([error.sum(), np.abs(error).sum(), error @ error, *within])
        mean = y[0] + (y - y[0]).mean()  # exact where all are the same
        step, before, self.n = mean - self._mean, self.n, self.n + len(y)
        self._spread += float(((y - mean) ** 2).sum() + step**2 * before * len(y) / self.n)
        self._mean += step * len(y) / self.n

    def summary(self) -> dict[str, Any]:
        bias, mae, mse = (self._sums[:3] / self.n).tolist()
        variance = self._spread / self.n
        scores = {
            "rows": self.n,
            "rmse": mse**0.5,
            "mae": mae,
            "bias": bias,
            "r2": 1 - mse / variance if variance > 0 else None,
            "target_std": variance**0.5,
        }
        if mse >= (1 - 1e-9) * variance > 0:
            scores["no_better_than_guessing"] = True
        if self._sums[3]:
            scores["within_90_percent_interval"] = float(self._sums[4] / self._sums[3])
        return scores


class ClassificationScore:
    """Errors of predicted labels and of their probabilities, added up batch by batch.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.tables import ClassificationScore
    >>> score = ClassificationScore(["no", "yes"])
    >>> labels = np.array(["no", "yes", "yes"])
    >>> proba = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> score.add(labels, np.array(["no", "yes", "no"]), proba)
    >>> round(score.summary()["accuracy"], 2)
    0.67
    """

    def __init__(self, classes: list[Any]) -> None:
        self.classes = list(classes)
        self.n = 0
        self._counts: Counter[tuple[str, str]] = Counter()
        self._logs = self._squares = 0.0
        self._with_proba = 0
        self._second = np.zeros((2, _BINS), np.int64)  # of two classes: the second and the first

    def add(
        self, y: NDArray[Any], predicted: NDArray[Any], proba: NDArray[Any] | None = None
    ) -> None:
        if not len(y):
            return
        self.n += len(y)
        self._counts.update(zip(map(str, y.tolist()), map(str, predicted.tolist()), strict=True))
        if proba is None:
            return
        place = {label: i for i, label in enumerate(self.classes)}
        index = np.array([place.get(label, -1) for label in y.tolist()])
        has_class = index >= 0
        own = np.zeros(len(y))
        own[has_class] = proba[np.flatnonzero(has_class), index[has_class]]
        self._with_proba += len(y)
        self._logs -= float(np.log(np.maximum(own, 1e-15)).sum())
        self._squares += float((proba**2).sum() - 2 * own.sum() + len(y))
        if len(self.classes) == 2:
            self._second += [_histogram(proba[index == place, 1]) for place in (1, 0)]

    def summary(self) -> dict[str, Any]:
        labels = [str(label) for label in self.classes]
        labels += sorted({name for pair in self._counts for name in pair} - set(labels))
        place = {label: i for i, label in enumerate(labels)}
        counts = np.zeros((len(labels), len(labels)), np.int64)
        for (true, predicted), n in self._counts.items():
            counts[place[true], place[predicted]] += n
        right, of_class, of_prediction = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
        seen = of_class > 0
        recall = right[seen] / of_class[seen]
        scores: dict[str, Any] = {
            "rows": self.n,
            "accuracy": float(right.sum() / self.n),
            "balanced_accuracy": float(recall.mean()),
            "most_frequent_class": float(of_class.max() / self.n),
        }
        if right.sum() <= of_class.max() < self.n:
            scores["no_better_than_guessing"] = True
        if self._with_proba:
            scores["log_loss"] = self._logs / self._with_proba
            # Of two classes, the squares for one of them count, as in scikit-learn.
            halves = 2 if len(self.classes) == 2 else 1
            scores["brier"] = self._squares / (halves * self._with_proba)
            if len(self.classes) == 2 and (self._second.sum(axis=1) > 0).all():
                scores["roc_auc"] = _area(self._second)
        scores["classes"] = {
            label: {
                "rows": int(of_class[i]),
                "precision": float(right[i] / of_prediction[i]) if of_prediction[i] else None,
                "recall": float(right[i] / of_class[i]) if of_class[i] else None,
            }
            for i, label in enumerate(labels)
        }
        scores["confusion"] = {"labels": labels, "counts": counts.tolist()}
        return scores


def _histogram(p: NDArray[Any]) -> NDArray[np.int64]:
    return np.bincount(np.minimum((p * _BINS).astype(int), _BINS - 1), minlength=_BINS)


def _area(counts: NDArray[np.int64]) -> float:
    """Return the area under the ROC curve, from counts by class; ties count half."""
    second, first = counts
    below = np.cumsum(first) - first
    return float((second * (below + first / 2)).sum() / (second.sum() * first.sum()))
