"""How good predictions are: sums over batches, and some of the rows for pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Rows that are kept for pictures, and the places probabilities are counted in.
_KEPT = 4000
_BINS = 4096


class RegressionScore:
    """Errors of numbers.

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
        self._sums = np.zeros(6)  # of e, |e|, e², y, y² around the first y; rows within 1.645 std
        self._origin: float | None = None
        self._with_std = 0
        self.sample = _Sample()

    def add(
        self, y: NDArray[Any], predicted: NDArray[Any], std: NDArray[Any] | None = None
    ) -> None:
        if not len(y):
            return
        if self._origin is None:
            self._origin = float(y[0])
        error, level = predicted - y, y - self._origin
        self.n += len(y)
        within = 0
        if std is not None:
            within = int((np.abs(error) <= 1.6449 * std).sum())
            self._with_std += len(y)
        size = np.abs(error)
        parts = (error.sum(), size.sum(), error @ error, level.sum(), level @ level, within)
        self._sums += np.array(parts, dtype=np.float64)
        self.sample.add(np.column_stack([y, predicted]))

    def join(self, other: RegressionScore) -> None:
        """Count the rows that another has counted."""
        if other._origin is None:
            return
        if self._origin is None:
            self._origin = other._origin
        sums, moved = other._sums.copy(), other._origin - self._origin
        sums[4] += 2 * moved * sums[3] + other.n * moved**2
        sums[3] += other.n * moved
        self._sums += sums
        self.n += other.n
        self._with_std += other._with_std
        self.sample.join(other.sample)

    def summary(self) -> dict[str, Any]:
        bias, mae, mse = self._sums[:3] / self.n
        mean, square = self._sums[3:5] / self.n
        variance = square - mean**2
        found = {
            "rows": self.n,
            "rmse": float(np.sqrt(mse)),
            "mae": float(mae),
            "bias": float(bias),
            "r2": float(1 - mse / variance) if variance > 0 else None,
            "target_std": float(np.sqrt(max(variance, 0.0))),
        }
        if mse >= (1 - 1e-9) * variance > 0:
            found["no_better_than_guessing"] = True
        if self._with_std:
            found["within_90_percent_interval"] = float(self._sums[5] / self._with_std)
        return found


class ClassificationScore:
    """Errors of labels, and of their probabilities.

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
        self._counts: dict[tuple[Any, Any], int] = {}
        self._logs = self._squares = 0.0
        self._with_proba = 0
        self._places = np.zeros((2, _BINS), np.int64)  # right and wrong, by the probability claimed
        self._second = np.zeros((2, _BINS), np.int64)  # of two classes: the second and the first

    def add(
        self, y: NDArray[Any], predicted: NDArray[Any], proba: NDArray[Any] | None = None
    ) -> None:
        if not len(y):
            return
        self.n += len(y)
        pairs, counts = np.unique(
            np.array([str(v) for v in y] + [str(v) for v in predicted]).reshape(2, -1),
            axis=1,
            return_counts=True,
        )
        for (a, b), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
            self._counts[a, b] = self._counts.get((a, b), 0) + count
        if proba is None:
            return
        place = {label: i for i, label in enumerate(self.classes)}
        index = np.array([place.get(label, -1) for label in y.tolist()])
        known = index >= 0
        own = np.zeros(len(y))
        own[known] = proba[np.flatnonzero(known), index[known]]
        self._with_proba += len(y)
        self._logs -= float(np.log(np.maximum(own, 1e-15)).sum())
        self._squares += float((proba**2).sum() - 2 * own.sum() + len(y))
        claimed = proba.max(axis=1)
        right = proba.argmax(axis=1) == index
        for row, chosen in enumerate((right, ~right)):
            self._places[row] += _histogram(claimed[chosen])
        if len(self.classes) == 2:
            for row, chosen in enumerate((index == 1, index == 0)):
                self._second[row] += _histogram(proba[chosen, 1])

    def join(self, other: ClassificationScore) -> None:
        """Count the rows that another has counted."""
        self.n += other.n
        for pair, count in other._counts.items():
            self._counts[pair] = self._counts.get(pair, 0) + count
        self._logs += other._logs
        self._squares += other._squares
        self._with_proba += other._with_proba
        self._places = self._places + other._places
        self._second = self._second + other._second

    def matrix(self) -> tuple[list[str], NDArray[np.int64]]:
        """The labels, and how often rows of each were taken for each."""
        labels = [str(label) for label in self.classes]
        labels += sorted({name for pair in self._counts for name in pair} - set(labels))
        place = {label: i for i, label in enumerate(labels)}
        counts = np.zeros((len(labels), len(labels)), np.int64)
        for (a, b), count in self._counts.items():
            counts[place[a], place[b]] += count
        return labels, counts

    def calibration(self, n_bins: int = 10) -> list[tuple[float, float, int]]:
        """Mean probability claimed, share that was right, and rows, in groups of equal size."""
        total = self._places.sum(axis=0)
        middles = (np.arange(_BINS) + 0.5) / _BINS
        edges = np.searchsorted(np.cumsum(total), np.linspace(0, total.sum(), n_bins + 1)[1:-1])
        groups = [g for g in np.split(np.arange(_BINS), edges) if len(g) and total[g].sum()]
        return [
            (
                float(total[g] @ middles[g] / total[g].sum()),
                float(self._places[0, g].sum() / total[g].sum()),
                int(total[g].sum()),
            )
            for g in groups
        ]

    def summary(self) -> dict[str, Any]:
        labels, counts = self.matrix()
        right, of_class, of_prediction = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
        seen = of_class > 0
        recall = right[seen] / of_class[seen]
        found: dict[str, Any] = {
            "rows": self.n,
            "accuracy": float(right.sum() / self.n),
            "balanced_accuracy": float(recall.mean()),
            "most_frequent_class": float(of_class.max() / self.n),
        }
        if right.sum() <= of_class.max() < self.n:
            found["no_better_than_guessing"] = True
        if self._with_proba:
            found["log_loss"] = self._logs / self._with_proba
            # Of two classes, the squares for one of them count, as in scikit-learn.
            halves = 2 if len(self.classes) == 2 else 1
            found["brier"] = self._squares / (halves * self._with_proba)
            if len(self.classes) == 2 and (self._second.sum(axis=1) > 0).all():
                found["roc_auc"] = _area(self._second)
        found["classes"] = {
            label: {
                "rows": int(of_class[i]),
                "precision": float(right[i] / of_prediction[i]) if of_prediction[i] else None,
                "recall": float(right[i] / of_class[i]) if of_class[i] else None,
            }
            for i, label in enumerate(labels)
        }
        found["confusion"] = {"labels": labels, "counts": counts.tolist()}
        return found


class _Sample:
    """Rows at equal distances, twice as far apart whenever there are too many."""

    def __init__(self) -> None:
        self.rows: list[NDArray[Any]] = []
        self._every, self._seen = 1, 0

    def add(self, rows: NDArray[Any]) -> None:
        first = -self._seen % self._every
        self.rows.extend(rows[first :: self._every])
        self._seen += len(rows)
        while len(self.rows) > _KEPT:
            self.rows = self.rows[::2]
            self._every *= 2

    def join(self, other: _Sample) -> None:
        """With the rows of another, at the larger of both distances."""
        while self._every < other._every:
            self.rows, self._every = self.rows[::2], 2 * self._every
        step = self._every // other._every
        self.rows.extend(other.rows[::step])
        self._seen += other._seen
        while len(self.rows) > _KEPT:
            self.rows, self._every = self.rows[::2], 2 * self._every


def _histogram(p: NDArray[Any]) -> NDArray[np.int64]:
    return np.bincount(np.minimum((p * _BINS).astype(int), _BINS - 1), minlength=_BINS)


def _area(counts: NDArray[np.int64]) -> float:
    """The share of pairs in which the second class has the larger probability; ties count half."""
    second, first = counts
    below = np.cumsum(first) - first
    return float((second * (below + first / 2)).sum() / (second.sum() * first.sum()))
