"""The median of the latest samples."""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np

from ..backend import Array

# How many samples it is the median of.
_WINDOW = 100


class RunningMedian:
    """The median of the latest samples, after each of them.

    Where a series is the same most of the time, and for the rest far away, no other value has
    a smaller mean absolute error. All methods replace attributes and change none in place.
    """

    def __init__(self) -> None:
        self._latest: list[float] = []
        self._sorted: list[float] = []

    def advance(self, values: Array) -> Array:
        """Return the median after each new sample; all samples are finite."""
        latest, ordered, medians = self._latest.copy(), self._sorted.copy(), []
        for value in values.tolist():
            latest.append(value)
            insort(ordered, value)
            if len(latest) > _WINDOW:
                del ordered[bisect_left(ordered, latest[-1 - _WINDOW])]
            n = len(ordered)
            medians.append((ordered[n // 2] + ordered[(n - 1) // 2]) / 2)
        self._latest, self._sorted = latest[-_WINDOW:], ordered
        return np.array(medians)
