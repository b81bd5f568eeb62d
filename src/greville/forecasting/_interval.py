"""One prediction of several, and how far off it may be."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from math import ceil, exp, isnan, log, nan

# Errors count less by this factor with every sample: about fifty of them matter.
_RECENT = 0.98

# Nobody is believed who predicts more than so many times the largest change seen so far. Models
# of a series without noise fall from great heights when it changes its ways.
_LARGEST = 2.0

# How many times more likely the simpler is taken to be: persistence and the linear model than the
# first hidden layer, and that than the next. Where all err alike, the simple ones are right.
_CAUTION = 3.0

_LEAST_ERROR = 1e-300


class Trust:
    """Trust in those who have erred least of late: Gaussian errors of unknown size."""

    def __init__(self, n: int) -> None:
        self._prior = [-log(_CAUTION) * max(0, k - 1) for k in range(n)]
        self._squares = [0.0] * n
        self._count = 0.0
        self._largest = 0.0

    def saw(self, change: float) -> None:
        """How far the series has moved within the horizon."""
        self._largest = max(self._largest, abs(change))

    def held(self, predictions: list[float]) -> list[float]:
        """What is believed of the predicted changes."""
        limit = _LARGEST * self._largest
        return [min(max(p, -limit), limit) for p in predictions]

    def learn(self, errors: list[float]) -> None:
        pairs = zip(self._squares, errors, strict=True)
        self._squares = [_RECENT * square + error * error for square, error in pairs]
        self._count = _RECENT * self._count + 1

    def mixed(self, predictions: list[float]) -> float:
        n = max(self._count, 1.0)
        pairs = zip(self._prior, self._squares, strict=True)
        logs = [prior - n / 2 * log(max(square / n, _LEAST_ERROR)) for prior, square in pairs]
        highest = max(logs)
        shares = [exp(each - highest) for each in logs]
        return sum(s * p for s, p in zip(shares, predictions, strict=True)) / sum(shares)


class Band:
    """Half the width of an interval that misses as rarely as it says.

    A quantile of the last errors: conformal prediction, which asks nothing of their distribution.
    Which quantile is steered by how often the interval has missed (Gibbs & Candès 2021), so that
    it keeps its word when errors grow or shrink.
    """

    WINDOW = 500
    LEAST = 20  # errors, before anything is said
    STEP = 0.01

    def __init__(self, interval: float) -> None:
        self._rate = self._miss = 1 - interval
        self._recent: deque[float] = deque()
        self._sorted: list[float] = []

    def learn(self, size: float, half: float) -> None:
        """The size of an error, and the half width that was stated for it; NaN if none was."""
        if not isnan(half):
            self._miss += self.STEP * (self._rate - (size > half))
        insort(self._sorted, size)
        self._recent.append(size)
        if len(self._recent) > self.WINDOW:
            del self._sorted[bisect_left(self._sorted, self._recent.popleft())]

    def half(self) -> float:
        n = len(self._sorted)
        if n < self.LEAST:
            return nan
        rank = ceil((n + 1) * (1 - self._miss))
        if rank > n:  # more than has been seen: twice of it
            return 2 * self._sorted[-1]
        return self._sorted[max(rank, 1) - 1]
