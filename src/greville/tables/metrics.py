"""How good predictions are: sums over batches, and some of the rows for pictures."""

from __future__ import annotations

from collections import Counter
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
        self._sums = np.zeros(5)  # of e, |e| and e²; rows with std, and of them within 1.645 std
        self._mean = self._spread = 0.0  # of y: its mean, and the squares around that
        self.sample = _Sample()

    def add(
        self, y: NDArray[Any], predicted: NDArray[Any], std: NDArray[Any] | None = None
    ) -> None:
        if not len(y):
            return
        error = predicted - y
        within = (0, 0) if std is None else (len(y), (np.abs(error) <= 1.6449 * std).sum())
        sums = np.array([error.sum(), np.abs(error).sum(), error @ error, *within], np.float64)
        mean = y[0] + (y - y[0]).mean()  # exact where all are the same
        self._count(len(y), sums, float(mean), float(((y - mean) ** 2).sum()))
        self.sample.add(np.column_stack([y, predicted]))

    def join(self, other: RegressionScore) -> None:
        """Count the rows that another has counted."""
        if other.n:
            self._count(other.n, other._sums, other._mean, other._spread)
            self.sample.join(other.sample)

    def _count(self, n: int, sums: NDArray[np.float64], mean: float, spread: float) -> None:
        """Count n more rows."""
        step, total = mean - self._mean, self.n + n
        self._spread += spread + step**2 * self.n * n / total
        self._mean += step * n / total
        self._sums = self._sums + sums
        self.n = total

    def summary(self) -> dict[str, Any]:
        bias, mae, mse = (self._sums[:3] / self.n).tolist()
        variance = self._spread / self.n
        found = {
            "rows": self.n,
            "rmse": mse**0.5,
            "mae": mae,
            "bias": bias,
            "r2": 1 - mse / variance if variance > 0 else None,
            "target_std": variance**0.5,
        }
        if mse >= (1 - 1e-9) * variance > 0:
            found["no_better_than_guessing"] = True
        if self._sums[3]:
            found["within_90_percent_interval"] = float(self._sums[4] / self._sums[3])
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
        self._counts: Counter[tuple[str, str]] = Counter()
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
        self._counts.update(zip(map(str, y.tolist()), map(str, predicted.tolist()), strict=True))
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
        self._places += [_histogram(claimed[chosen]) for chosen in (right, ~right)]
        if len(self.classes) == 2:
            self._second += [_histogram(proba[index == place, 1]) for place in (1, 0)]

    def join(self, other: ClassificationScore) -> None:
        """Count the rows that another has counted."""
        self.n += other.n
        self._counts.update(other._counts)
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
        self.rows.extend(rows[-self._seen % self._every :: self._every])
        self._seen += len(rows)
        self._thin()

    def join(self, other: _Sample) -> None:
        """With the rows of another, at the larger of both distances."""
        self._thin(other._every)
        self.rows.extend(other.rows[:: self._every // other._every])
        self._seen += other._seen
        self._thin()

    def _thin(self, every: int = 1) -> None:
        while len(self.rows) > _KEPT or self._every < every:
            self.rows, self._every = self.rows[::2], 2 * self._every


def _histogram(p: NDArray[Any]) -> NDArray[np.int64]:
    return np.bincount(np.minimum((p * _BINS).astype(int), _BINS - 1), minlength=_BINS)


def _area(counts: NDArray[np.int64]) -> float:
    """The share of pairs in which the second class has the larger probability; ties count half."""
    second, first = counts
    below = np.cumsum(first) - first
    return float((second * (below + first / 2)).sum() / (second.sum() * first.sum()))
