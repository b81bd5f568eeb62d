"""Inputs of the predictors: lags of the series, and other columns, in units of their own."""

from __future__ import annotations

from math import isnan
from typing import NamedTuple

import numpy as np

from ..linalg import Array

# The level of a series is an exponentially weighted mean over about this many samples.
_LEVEL_SAMPLES = 1000


class Features(NamedTuple):
    """A row for each time; all of it NaN where a lag or an input is missing."""

    now: Array  # the series itself, of shape (n,)
    relative: Array  # now, the earlier lags relative to it, and the other inputs
    centred: Array  # the same, with now relative to the level of the series


class FeatureBuilder:
    """Makes features from a series that comes in pieces.

    Each column is measured from its first number, in units of its first change (rounded up to a
    power of two, so that the division is exact). Before the first change all numbers of a column
    are zero in any unit, so that the unit never has to be changed. The lags are differences from
    the current sample, so that a trend or a random walk does not lead out of the range that the
    models have learned.

    All methods replace attributes and change none in place.
    """

    def __init__(self, lags: int, n_inputs: int) -> None:
        self._earlier = np.full(lags - 1, np.nan)
        self._origin = np.full(1 + n_inputs, np.nan)
        self.unit = np.zeros(1 + n_inputs)  # 0: not known yet
        self._level_sum, self._level_count = 0.0, 0.0

    def append(self, columns: Array) -> Features:
        """The features at the times of these rows, which have the series in the first column."""
        columns = self._in_units(columns)
        now = columns[:, 0]
        series = np.concatenate([self._earlier, now])
        lags = len(self._earlier) + 1
        windows = np.lib.stride_tricks.sliding_window_view(series, lags)[:, ::-1]
        relative = np.hstack([windows, columns[:, 1:]])
        relative[:, 1:lags] -= now[:, None]
        centred = relative.copy()
        centred[:, 0] -= self._levels(now)
        self._earlier = series[len(now) :]
        for rows in (relative, centred):
            rows[~np.isfinite(rows).all(axis=1)] = np.nan
        return Features(now, relative, centred)

    def _in_units(self, columns: Array) -> Array:
        origin, unit = self._origin.copy(), self.unit.copy()
        for j in range(columns.shape[1]):
            column = columns[np.isfinite(columns[:, j]), j]
            if np.isnan(origin[j]) and len(column):
                origin[j] = column[0]
            changes = np.abs(column - origin[j])
            if unit[j] == 0 and changes.any():
                unit[j] = 2.0 ** np.frexp(changes[changes > 0][0])[1]
        self._origin, self.unit = origin, unit
        return (columns - origin) / np.where(unit > 0, unit, 1.0)

    def _levels(self, now: Array) -> Array:
        """The level at each time; a missing sample does not change it."""
        keep, total, count = 1 - 1 / _LEVEL_SAMPLES, self._level_sum, self._level_count
        levels = []
        for value in now.tolist():
            if not isnan(value):
                total, count = keep * total + value, keep * count + 1
            levels.append(total / count if count else 0.0)
        self._level_sum, self._level_count = total, count
        return np.array(levels)
