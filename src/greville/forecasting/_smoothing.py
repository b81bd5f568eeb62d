"""Exponential smoothing with many settings at once, weighted by their errors one step ahead."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..backend import Array
from ._curve import Curve

# How fast the level follows; how much of that the trend does, and what is left of it after a step;
# and how fast the season follows.
_LEVELS = (0.02, 0.1, 0.25, 0.5, 0.75, 1.0)
_TRENDS = ((0.0, 0.0), (0.02, 0.98), (0.02, 1.0), (0.1, 0.95))
_SEASONS = (0.0, 0.1, 0.3, 0.6, 1.0)

# The season follows what the level leaves of an error: nearly nothing where that takes all of it.
_LEVEL_FIRST = 0.9

# Settings are weighted by about their last 1 / (1 - 0.99) = 100 errors.
_DECAY = 0.99

# Settings of less than this part of the largest weight are left out.
_LEAST = 1e-3


class Smoothing:
    """Holt's and Winters's exponential smoothing, with and without trend and season.

    Each setting has a level, a trend that may fade, and a season. They are run beside each other,
    on the series and, where there is a curve, on that too (where seasons that grow with the series
    do not grow). What is predicted is their mean, weighted by the likelihood of their errors one
    step ahead, taken to have a Laplace distribution. Nothing is fitted, so that it predicts after
    two seasons.

    All methods replace attributes and change none in place.

    Parameters
    ----------
    season : int or None
    n_steps : int
    curve : Curve or None
    """

    def __init__(self, season: int | None, n_steps: int, curve: Curve | None) -> None:
        curved = (False,) if curve is None else (False, True)
        seasons = (0.0,) if season is None else _SEASONS
        settings = [
            (gain, gain * share, damping, follows * (1 - _LEVEL_FIRST * gain), on_curve)
            for on_curve, gain, (share, damping), follows in product(
                curved, _LEVELS, _TRENDS, seasons
            )
        ]
        self._gains = np.array(settings).T[:4]  # of level, trend; its damping; of the season
        self._on_curve = np.array([each[-1] for each in settings])
        self._season, self._curve = season or 1, curve
        self._steps = np.arange(1, n_steps + 1)
        self._reach = np.cumsum(self._gains[2] ** self._steps[:, None], axis=0)  # of a trend
        self._seasons = np.empty((0, len(settings)))
        self._n_seen = 0
        self._errors, self._count = np.zeros(len(settings)), 0.0
        self._level = self._trend = np.zeros(len(settings))
        self._pattern = np.zeros((self._season, len(settings)))

    def advance(self, values: Array, observed: Array, origin: float, unit: float) -> Array:
        """Return the predictions after each sample, of shape (n, n_steps).

        NaN until the first two seasons have come.

        Parameters
        ----------
        values : ndarray of shape (n,)
            Finite, in units of the series and measured from its origin.
        observed : ndarray of shape (n,)
            Whether each of them was seen, and not only expected.
        origin, unit : float
            The curve is that of ``origin + unit * values``.
        """
        scaled = np.repeat(values[:, None], len(self._on_curve), axis=1)
        if self._curve is not None:
            scaled[:, self._on_curve] = self._curve.apply(origin + unit * values)[:, None]

        def straight(z: Array, on_curve: Array) -> Array:
            """Convert values on the curve to units of the series."""
            if self._curve is None:
                return z
            return np.where(on_curve, (self._curve.invert(z) - origin) / unit, z)

        gain, trend_gain, damping, season_gain = self._gains
        level, trend, pattern = self._level, self._trend, self._pattern.copy()
        errors, count = self._errors, self._count
        n_first = 1 if self._season == 1 else 2 * self._season
        start = np.vstack([self._seasons, scaled[: max(0, n_first - self._n_seen)]])
        predicted = np.full((len(values), len(self._steps)), np.nan)
        for k in range(max(0, n_first - 1 - self._n_seen), len(values)):
            t = self._n_seen + k
            if t == n_first - 1:
                level, trend, pattern = self._begin(start)
            else:
                slot = t % self._season
                expected = level + damping * trend + pattern[slot]
                error = scaled[k] - expected
                level = level + damping * trend + gain * error
                trend = damping * trend + trend_gain * error
                pattern[slot] += season_gain * error
                if observed[k]:
                    sizes = np.abs(values[k] - straight(expected, self._on_curve))
                    errors, count = _DECAY * errors + sizes, _DECAY * count + 1
            weights = _weights(errors, count)
            kept = np.flatnonzero(weights > _LEAST * weights.max())
            ahead = level[kept] + self._reach[:, kept] * trend[kept]
            ahead += pattern[np.ix_((t + self._steps) % self._season, kept)]
            weights = weights[kept] / weights[kept].sum()
            predicted[k] = straight(ahead, self._on_curve[kept]) @ weights
        self._level, self._trend, self._pattern = level, trend, pattern
        self._errors, self._count = errors, count
        self._n_seen += len(values)
        self._seasons = start[: 0 if self._n_seen >= n_first else None]
        return predicted

    def _begin(self, start: Array) -> tuple[Array, Array, Array]:
        """Level, trend and season after the first sample, or the first two seasons."""
        m = self._season
        if m == 1:
            return start[0], np.zeros(start.shape[1]), np.zeros((1, start.shape[1]))
        means = start[:m].mean(axis=0), start[m:].mean(axis=0)
        trend = (means[1] - means[0]) / m
        from_middle = np.arange(m)[:, None] - (m - 1) / 2
        pattern = (start[:m] - means[0] + start[m:] - means[1]) / 2 - from_middle * trend
        has_trend = self._gains[2] > 0
        return means[1] + trend * (m - 1) / 2, np.where(has_trend, trend, 0.0), pattern


def _weights(errors: Array, count: float) -> Array:
    """Weights proportional to the likelihood of errors with a Laplace distribution."""
    tiny = np.finfo(float).tiny
    logs = -count * np.log(np.maximum(errors / max(count, tiny), tiny))
    return np.exp(logs - logs.max())
