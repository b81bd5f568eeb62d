"""Inputs of the predictors: lags of the series, and other columns, in units of their own."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import NamedTuple

import numpy as np

from ..linalg import Array

# The level of a series is an exponentially weighted mean over about this many samples.
_LEVEL_SAMPLES = 1000


class Features(NamedTuple):
    """A row for each time; the inputs are NaN before there are as many samples as they need."""

    seen: Array  # the series itself, NaN where it is missing
    now: Array  # the same, with what was expected in the place of what is missing
    relative: Array  # now, the earlier lags relative to it, the other inputs, and what is missing
    centred: Array  # the same, with now relative to the level of the series
    rules: Array  # changes by persistence and by the last season, (n, n_steps, n_rules)

    def from_time(self, k: int) -> Features:
        return Features(*(part[k:] for part in self))

    def then(self, more: Features) -> Features:
        return Features(*map(np.concatenate, zip(self, more, strict=True)))


class FeatureBuilder:
    """Makes features from a series that comes in pieces.

    Each column is measured from its first number, in units of its first change (rounded up to a
    power of two, so that the division is exact). Before the first change all numbers of a column
    are zero in any unit, so that the unit never has to be changed. The lags are differences from
    the current sample, so that a trend or a random walk does not lead out of the range that the
    models have learned.

    In the place of a missing sample stands what was expected then, in the place of another missing
    input its last value. One input says which share of the lags is missing, and one for each
    other column whether it is.

    All methods replace attributes and change none in place.

    Parameters
    ----------
    lags : sequence of int
        How many samples before the current one those to predict from are; the first is 0.
    season : int or None
        The number of samples after which the series repeats itself, roughly.
    horizon, n_inputs : int
    """

    def __init__(
        self, lags: Sequence[int], season: int | None, horizon: int, n_inputs: int
    ) -> None:
        self._lags = np.array(lags)
        self._n_steps = horizon
        steps = np.arange(1, horizon + 1)
        # One season, or as many as needed, before the current sample, and before the target.
        before = -(-steps // season) * season if season else np.zeros(horizon, int)
        self._season = (before, before - steps) if season else None
        reach = max(self._lags.max(), before.max())
        self._earlier = np.full(reach, np.nan)
        self._gaps = np.zeros(reach)
        self._last = np.full(1 + n_inputs, np.nan)
        self._origin = np.full(1 + n_inputs, np.nan)
        self.unit = np.zeros(1 + n_inputs)  # 0: not known yet
        self._level_sum, self._level_count = 0.0, 0.0

    @property
    def n_features(self) -> int:
        """The columns of `relative` and of `centred`."""
        return len(self._lags) + 1 + 2 * (len(self.unit) - 1)

    @property
    def n_rules(self) -> int:
        """The changes that are predicted without learning."""
        return 1 if self._season is None else 3

    def nothing(self, n: int) -> Features:
        """Features of n times before the first sample."""
        inputs = (self.n_features,)
        shapes = ((), (), inputs, inputs, (self._n_steps, self.n_rules))
        return Features(*(np.full((n, *shape), np.nan) for shape in shapes))

    def append(self, columns: Array, expected: float | None) -> Features:
        """The features at the times of these rows, which have the series in the first column.

        If `expected` is given, the first sample is missing and this is taken in its place; all
        others must be there, or all before them missing.
        """
        seen = self._in_units(columns)
        known = self._carried(seen)
        now = seen[:, 0].copy()
        if expected is not None:
            now[0] = (expected - self._origin[0]) / (self.unit[0] or 1.0)
        series = np.concatenate([self._earlier, now])
        gaps = np.concatenate([self._gaps, np.isnan(seen[:, 0])])
        times = len(self._earlier) + np.arange(len(now))
        at_lags = times[:, None] - self._lags
        relative = np.hstack(
            [
                series[at_lags],
                known[:, 1:],
                gaps[at_lags].mean(axis=1, keepdims=True),
                np.isnan(seen[:, 1:]),
            ]
        )
        relative[:, 1 : len(self._lags)] -= now[:, None]
        centred = relative.copy()
        centred[:, 0] -= self._levels(seen[:, 0])
        rules = self._rules(series, times, now, known[:, 0])
        self._earlier, self._gaps = series[len(now) :], gaps[len(now) :]
        for rows in (relative, centred):
            rows[~np.isfinite(rows).all(axis=1)] = np.nan
        rules[np.isnan(relative[:, 0])] = np.nan
        return Features(seen[:, 0], now, relative, centred, rules)

    def _rules(self, series: Array, times: Array, now: Array, last: Array) -> Array:
        """Persistence; and with a season, its value and its change of one season ago."""
        persistence = last - now
        if self._season is None:
            return np.repeat(persistence[:, None, None], self._n_steps, axis=1)
        before, target = self._season
        persistence = np.repeat(persistence[:, None], self._n_steps, axis=1)
        then, target_then = series[times[:, None] - before], series[times[:, None] - target]
        rules = np.stack([persistence, target_then - now[:, None], target_then - then], axis=2)
        return np.where(np.isnan(rules), persistence[:, :, None], rules)  # not yet a season ago

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

    def _carried(self, columns: Array) -> Array:
        """The last number of each column; before the first, zero for other inputs."""
        rows = np.vstack([self._last, columns])
        latest = np.maximum.accumulate(
            np.where(np.isfinite(rows), np.arange(len(rows))[:, None], 0), axis=0
        )
        carried = np.take_along_axis(rows, latest, axis=0)[1:]
        carried[:, 1:] = np.nan_to_num(carried[:, 1:])
        self._last = carried[-1].copy()
        return carried

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
