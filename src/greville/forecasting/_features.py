"""What is known at each time, as rows for the models."""

from __future__ import annotations

from math import isnan
from typing import NamedTuple

import numpy as np

from ..linalg import Array

# The level of a series is a mean over about so many samples.
_LEVEL = 1000


class Known(NamedTuple):
    """What is known at some times, a row for each; NaN where anything is missing."""

    now: Array  # the series itself
    plain: Array  # now, how far back the lags lie from it, and the other inputs
    levelled: Array  # the same, with now around the level of the series


class Past:
    """The end of a series, and the units of its numbers.

    Columns are counted from their first number, in units of their first change. Before there is
    a change they are zero in any units, so that nothing has to be learned again. What the models
    then see are differences: a trend or a random walk does not lead them out of what they know.
    """

    def __init__(self, lags: int, n_inputs: int) -> None:
        self._before = np.full(lags - 1, np.nan)
        self._origin = np.full(1 + n_inputs, np.nan)
        self.unit = np.zeros(1 + n_inputs)  # 0: not known yet
        self._sum, self._count = 0.0, 0.0

    def advance(self, columns: Array) -> Known:
        """What is known with these rows, the series in the first column, and with all before."""
        columns = self._in_units(columns)
        now = columns[:, 0]
        series = np.concatenate([self._before, now])
        lags = len(self._before) + 1
        windows = np.lib.stride_tricks.sliding_window_view(series, lags)[:, ::-1]
        plain = np.hstack([windows, columns[:, 1:]])
        plain[:, 1:lags] -= now[:, None]
        levelled = plain.copy()
        levelled[:, 0] -= self._levels(now)
        self._before = series[len(now) :]
        for rows in (plain, levelled):
            rows[~np.isfinite(rows).all(axis=1)] = np.nan
        return Known(now, plain, levelled)

    def _in_units(self, columns: Array) -> Array:
        origin, unit = self._origin.copy(), self.unit.copy()
        for j in range(columns.shape[1]):
            column = columns[np.isfinite(columns[:, j]), j]
            if np.isnan(origin[j]) and len(column):
                origin[j] = column[0]
            changes = np.abs(column - origin[j])
            if unit[j] == 0 and changes.any():
                unit[j] = 2.0 ** np.frexp(changes[changes > 0][0])[1]  # dividing by it is exact
        self._origin, self.unit = origin, unit
        return (columns - origin) / np.where(unit > 0, unit, 1.0)

    def _levels(self, now: Array) -> Array:
        """At each time, a mean in which old samples fade; a missing one changes nothing."""
        keep, total, count = 1 - 1 / _LEVEL, self._sum, self._count
        levels = []
        for value in now.tolist():
            if not isnan(value):
                total, count = keep * total + value, keep * count + 1
            levels.append(total / count if count else 0.0)
        self._sum, self._count = total, count
        return np.array(levels)
