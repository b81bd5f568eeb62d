"""Inputs of the predictors: lags of the series, and other columns, in units of their own."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from ..backend import Array
from ._curve import Curve
from ._layer_states import LayerStates
from ._median import RunningMedian
from ._smoothing import Smoothing

# The level of a series is an exponentially weighted mean over about this many samples.
_LEVEL_SAMPLES = 1000

# The latest errors of smoothing from which its next ones are predicted, besides those a season ago,
# and the latest differences from the last season; of a longer season also those around it.
_RECENT = 10
_AROUND = 2


class Features(NamedTuple):
    """Features of a series, a row for each time; NaN before there are enough samples."""

    seen: Array  # the series itself, NaN where it is missing
    now: Array  # the same, with what was expected in the place of what is missing
    relative: Array  # now, the earlier lags relative to it, the other inputs, and what is missing
    centred: Array  # the same, with now relative to the level of the series
    raw: Array  # the same, with all lags as they are
    rules: Array  # changes that are predicted without learning, (n, n_steps, n_rules)
    curved: Array  # seen, on the curve if there is one
    bent: Array  # the latest lags on the curve, as `relative`; empty without one
    seasonal: Array  # on the curve, differences from the last season; empty without one
    last_season: Array  # on the curve, what was one season before each target, (n, n_steps)
    errors: Array  # on the curve, the latest errors of smoothing
    smoothed: Array  # on the curve, its forecasts, (n, n_steps)
    states: Array  # what the layer makes of the series; empty without one

    @property
    def latest(self) -> Array:
        """The latest sample on the curve, in a column."""
        return self.bent[:, :1]

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
    curve : Curve or None
        The scale on which a linear model and smoothing see the series too.
    horizon, n_inputs : int
    layer : LayerStates or None
    """

    def __init__(
        self,
        lags: Sequence[int],
        season: int | None,
        curve: Curve | None,
        horizon: int,
        n_inputs: int,
        layer: LayerStates | None = None,
    ) -> None:
        self._layer = layer
        self._lags, self._curve = np.array(lags), curve
        self._n_steps = horizon
        steps = np.arange(1, horizon + 1)
        # One season, or as many as needed, before the current sample, and before the target.
        before = -(-steps // season) * season if season else np.zeros(horizon, int)
        self._season = (before, before - steps) if season else None
        self._bent_lags = np.arange(0 if curve is None else _RECENT)
        self._seasonal_lags, self._error_lags = _own_lags(season)
        self._smoothing, self._median = Smoothing(season, horizon, curve), RunningMedian()
        seasonal_reach = max([*self._seasonal_lags, 0]) + (season or 0)
        reach = max(self._lags.max(), before.max(), seasonal_reach, len(self._bent_lags))
        self._earlier = np.full(reach, np.nan)
        self._gaps = np.zeros(reach)
        self._latest_errors = np.full(self._error_lags.max(), np.nan)
        self._smoothed_next = np.nan
        self._last = np.full(1 + n_inputs, np.nan)
        self._origin = np.full(1 + n_inputs, np.nan)
        self.unit = np.zeros(1 + n_inputs)  # 0: not known yet
        self._level_sum, self._level_count = 0.0, 0.0

    def stateful_parts(self) -> list[Any]:
        """The objects whose attributes are replaced."""
        layer = [] if self._layer is None else self._layer.stateful_parts()
        return [self, self._smoothing, self._median, *layer]

    @property
    def n_features(self) -> int:
        """Number of columns of `relative`, which is that of `centred` too."""
        return len(self._lags) + 1 + 2 * (len(self.unit) - 1)

    @property
    def n_rules(self) -> int:
        """Number of changes that are predicted without learning."""
        return 3 if self._season is None else 5

    @property
    def has_season(self) -> bool:
        return self._season is not None

    def nothing(self, n: int) -> Features:
        """Features of n times before the first sample."""
        inputs, steps = (self.n_features,), (self._n_steps,)
        bent, seasonal, errors = (
            (len(lags),) for lags in (self._bent_lags, self._seasonal_lags, self._error_lags)
        )
        rules = (self._n_steps, self.n_rules)
        states = (0 if self._layer is None else self._layer.n_features,)
        shapes = (
            *((), (), inputs, inputs, inputs, rules, (), bent, seasonal, steps, errors, steps),
            states,
        )
        return Features(*(np.full((n, *shape), np.nan) for shape in shapes))

    def append(self, columns: Array, expected: float | None) -> Features:
        """The features at the times of these rows, which have the series in the first column.

        If `expected` is given, the first sample is missing and this is taken in its place; all
        others must be there, or all before them missing.
        """
        seen = self._in_units(columns)
        carried = self._carried(seen)
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
                carried[:, 1:],
                gaps[at_lags].mean(axis=1, keepdims=True),
                np.isnan(seen[:, 1:]),
            ]
        )
        raw = relative.copy()
        relative[:, 1 : len(self._lags)] -= now[:, None]
        centred = relative.copy()
        centred[:, 0] -= self._levels(seen[:, 0])
        smoothed, median = self._smooth(now, np.isfinite(seen[:, 0]))
        rules = self._rules(series, times, now, carried[:, 0], median, smoothed)
        on_curve = self.to_curve(series)
        bent = on_curve[times[:, None] - self._bent_lags]
        bent[:, 1:] -= bent[:, :1]
        seasonal, last_season = self._seasonal(on_curve, times)
        smoothed = self.to_curve(smoothed)
        errors = self._errors(on_curve[len(self._earlier) :], smoothed)
        curved = np.where(np.isnan(seen[:, 0]), np.nan, on_curve[len(self._earlier) :])
        self._earlier, self._gaps = series[len(now) :], gaps[len(now) :]
        for rows in (relative, centred, raw, bent, seasonal, errors):
            rows[~np.isfinite(rows).all(axis=1)] = np.nan
        rules[np.isnan(relative[:, 0])] = np.nan
        states = np.empty((len(now), 0))
        if self._layer is not None:
            states = self._layer.advance(np.column_stack([now, carried[:, 1:]]))
        return Features(
            seen[:, 0], now, relative, centred, raw, rules, curved, bent, seasonal, last_season,
            errors, smoothed, states,
        )  # fmt: skip

    def to_curve(self, values: Array) -> Array:
        """Convert units of the series to those of the curve, if there is one."""
        if self._curve is None:
            return values
        return self._curve.apply(self._origin[0] + (self.unit[0] or 1.0) * values)

    def from_curve(self, values: Array) -> Array:
        if self._curve is None:
            return values
        return (self._curve.invert(values) - self._origin[0]) / (self.unit[0] or 1.0)

    def _smooth(self, now: Array, observed: Array) -> tuple[Array, Array]:
        """Forecasts by smoothing, and the running median, from the first number on."""
        smoothed, median = np.full((len(now), self._n_steps), np.nan), np.full(len(now), np.nan)
        there = np.isfinite(now)
        smoothed[there] = self._smoothing.advance(
            now[there], observed[there], self._origin[0], self.unit[0] or 1.0
        )
        median[there] = self._median.advance(now[there])
        return smoothed, median

    def _errors(self, on_curve: Array, smoothed: Array) -> Array:
        """The latest errors of smoothing one step ahead, at each time."""
        expected = np.concatenate([[self._smoothed_next], smoothed[:-1, 0]])
        errors = np.concatenate([self._latest_errors, on_curve - expected])
        times = len(self._latest_errors) + np.arange(len(on_curve))
        self._smoothed_next = smoothed[-1, 0]
        self._latest_errors = errors[len(on_curve) :]
        return errors[times[:, None] - self._error_lags]

    def _seasonal(self, on_curve: Array, times: Array) -> tuple[Array, Array]:
        """Return seasonal differences, and the samples one season before each target."""
        if self._season is None:
            return np.empty((len(times), 0)), np.full((len(times), self._n_steps), np.nan)
        before, target = self._season
        lags = times[:, None] - self._seasonal_lags
        rows = on_curve[lags] - on_curve[lags - before[0]]
        return rows, on_curve[times[:, None] - target]

    def _rules(
        self,
        series: Array,
        times: Array,
        now: Array,
        last: Array,
        median: Array,
        smoothed: Array,
    ) -> Array:
        """Return the rules' changes: persistence, seasonal value and change, median, smoothing."""
        persistence, to_median = (
            np.repeat((each - now)[:, None], self._n_steps, axis=1) for each in (last, median)
        )
        rules = [persistence]
        if self._season is not None:
            before, target = self._season
            then, target_then = series[times[:, None] - before], series[times[:, None] - target]
            rules += [target_then - now[:, None], target_then - then]
        rules += [to_median, smoothed - now[:, None]]
        changes = np.stack(rules, axis=2)
        # Not yet a season ago.
        return np.where(np.isnan(changes), persistence[:, :, None], changes)

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


def _own_lags(season: int | None) -> tuple[Array, Array]:
    """The lags of differences from the last season, and of the errors of smoothing."""
    if season is None:
        return np.arange(0), np.arange(_RECENT)
    seasonal = {*range(_RECENT), *range(season - _AROUND, season + 1)}
    if season <= _RECENT:
        seasonal = {*range(season + _AROUND)}
    errors = sorted({*range(_RECENT), season - 1, season})
    return np.array(sorted(seasonal)), np.array(errors)
