"""Prediction intervals with a stated coverage."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from math import ceil, isnan, nan

import numpy as np

from ..backend import Array


class AdaptiveInterval:
    """The half width of an interval around a prediction that holds a stated part of the targets.

    A quantile of the latest absolute errors: conformal prediction, which assumes nothing about
    their distribution. Its level is adjusted after each target, up if the interval missed it and
    down if not (Gibbs & Candès 2021), so that the coverage is right also while errors grow or
    shrink.
    """

    WINDOW = 500  # errors kept
    MIN_ERRORS = 20  # before the first interval
    STEP = 0.02
    BEYOND = 10.0  # how fast it grows past the largest error kept

    def __init__(self, coverage: float) -> None:
        self._miss_rate = self._level = 1 - coverage
        self._recent: deque[float] = deque()
        self._sorted: list[float] = []

    def copy(self) -> AdaptiveInterval:
        other = AdaptiveInterval(0.0)
        other._miss_rate, other._level = self._miss_rate, self._level
        other._recent, other._sorted = self._recent.copy(), self._sorted.copy()
        return other

    def advance(self, errors: Array, stated: Array, steps: int) -> tuple[AdaptiveInterval, Array]:
        """Return the interval after some errors, and the half width after each error.

        Parameters
        ----------
        errors : ndarray of shape (n,)
            Absolute errors, one after the other; NaN where none is known.
        stated : ndarray of shape (steps,)
            The half widths stated for the first of them. Those of the others follow here.
        steps : int
            How many errors later the half width is judged that is stated after an error.
        """
        after, half_widths = self.copy(), stated.tolist()
        for k, error in enumerate(errors.tolist()):
            if not isnan(error):
                after.learn(error, half_widths[k])
            half_widths.append(after.half_width())
        return after, np.array(half_widths[steps:])

    def learn(self, error: float, half_width: float) -> None:
        """Learn an absolute error and the half width stated before it; NaN if none was stated."""
        if not isnan(half_width):
            self._level += self.STEP * (self._miss_rate - (error > half_width))
        insort(self._sorted, error)
        self._recent.append(error)
        if len(self._recent) > self.WINDOW:
            del self._sorted[bisect_left(self._sorted, self._recent.popleft())]

    def half_width(self) -> float:
        """Return half the width of the next interval; NaN while there are too few errors."""
        n = len(self._sorted)
        if n < self.MIN_ERRORS:
            return nan
        rank = ceil((n + 1) * (1 - self._level))
        if rank > n:  # a larger error than any in the window, the more the more were missed
            return max(1.0, 1 - self.BEYOND * self._level) * self._sorted[-1]
        return self._sorted[max(rank, 1) - 1]
