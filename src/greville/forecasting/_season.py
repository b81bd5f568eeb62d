"""Lags chosen from the series itself: the latest samples, and those one season ago."""

from __future__ import annotations

import numpy as np

from ..linalg import Array

# lags="auto": the latest samples, and after how many samples a season is looked for.
RECENT_LAGS = 10
LOOKS = tuple(2**k for k in range(5, 13))  # 32, 64, ..., 4096

# A season must have been seen so many times and leave no more than this part of the squared
# differences between samples that are about as far apart; more, if it was seen more often in a
# series that is not short.
_TIMES_SEEN, _MOST_LEFT = 2.5, 0.5
_OFTEN_SEEN, _MOST_LEFT_OFTEN, _NOT_SHORT = 4.0, 0.65, 200

# It must be no worse to predict from than so many times the difference between samples as far apart
# as the horizon; or, seen more often, its change must be better than no change.
_MOST_WORSE = 2.0

# Of lags that leave about as little as the best one the shortest, and of those that the best one is
# a multiple of also those that leave more: not a multiple of the season.
_ABOUT, _ABOUT_IF_MULTIPLE, _ABOUT_ZERO = 1.15, 2.5, 0.02

# A multiple of a season may be so far off: a year is not quite 52 weeks.
_MULTIPLE_WITHIN = 0.02

# The most lags of one season.
_MOST_LAGS = 60


def find_season(series: Array, horizon: int) -> int | None:
    """The number of samples after which a series repeats itself; None if it does not.

    Samples one season apart differ less than those that are half a season nearer or farther. The
    mean squared difference d(k) of samples k apart is, but for a constant, the negative
    autocorrelation where that exists. Of a random walk, which has none but looks periodic for a
    while, it grows in proportion to k: its mean from k/2 to 3k/2 is d(k) itself.

    Parameters
    ----------
    series : ndarray of shape (n,)
        NaN where a sample is missing.
    horizon : int
        How many samples ahead the season is to predict.
    """
    n = len(series)
    longest, known = int(n / _TIMES_SEEN), np.isfinite(series)
    if known.sum() < n / 2:
        return None
    times = np.arange(n)
    y = series / (np.abs(series[known]).max() or 1.0)
    y = y - np.polyval(np.polyfit(times[known], y[known], 1), times)
    d = np.array([_mean_square(y[k:] - y[: n - k]) for k in range(3 * longest // 2 + 1)])
    left = np.ones(longest + 1)
    for k in range(2, longest + 1):
        around = np.nanmean(d[(k + 1) // 2 : 3 * k // 2 + 1])
        if d[k] <= np.nanmin(d[k - 1 : k + 2]) and around > 0:
            left[k] = d[k] / around
    lags = np.arange(longest + 1)
    often = (lags <= n / _OFTEN_SEEN) & (n >= _NOT_SHORT)
    found = lags[left < np.where(often, _MOST_LEFT_OFTEN, _MOST_LEFT)]
    if not len(found):
        return None
    best = int(found[left[found].argmin()])
    season = _shortest(found, left[found], best, left[best])
    changes = np.diff(y)
    by_change = _mean_square(changes[season:] - changes[:-season])
    useful = d[season] <= _MOST_WORSE * np.nanmax(d[1 : horizon + 1]) or (
        by_change <= d[1] and season <= n / _OFTEN_SEEN
    )
    return season if useful else None


def _shortest(lags: Array, left: Array, best: int, least: float) -> int:
    """The shortest of the lags that are about as good as the best one."""
    away = np.abs(best - np.round(best / lags) * lags)
    divides = away <= max(1.0, _MULTIPLE_WITHIN * best)
    factor = np.where(divides, _ABOUT_IF_MULTIPLE, _ABOUT)
    return int(lags[left <= np.maximum(factor * least, least + _ABOUT_ZERO)].min())


def _mean_square(differences: Array) -> float:
    known = differences[np.isfinite(differences)]
    return float(known @ known / len(known)) if len(known) else np.nan


def choose_lags(season: int | None, horizon: int) -> tuple[int, ...]:
    """How many samples before the current one those to predict from are."""
    lags = set(range(RECENT_LAGS))
    if season is not None:
        around = np.arange(max(season - horizon, 0), season + 1)
        some = np.linspace(0, len(around) - 1, min(len(around), _MOST_LAGS)).round().astype(int)
        lags |= set(around[some].tolist())
    return tuple(sorted(lags))
