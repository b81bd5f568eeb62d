"""Lags chosen from the series itself: the latest samples, and those one season ago."""

from __future__ import annotations

import numpy as np

from ..backend import Array

# lags="auto": the latest samples, and after how many samples a season is looked for.
RECENT_LAGS = 10
LOOKS = tuple(2**k for k in range(5, 13))  # 32, 64, ..., 4096

# A season must have been seen so many times and leave no more than this part of the squared
# differences between samples that are about as far apart.
_TIMES_SEEN, _MOST_LEFT = 2.5, 0.5

# More, if it was seen so often in so many samples: of the series, and of its changes, among which
# a season shows more clearly.
_MOST_LEFT_OFTEN, _IN_LEVELS, _IN_CHANGES = 0.65, (4.0, 200), (8.0, 64)

# The changes of noise are alike two samples apart, since neighbours are not: that is no season.
_SHORTEST = 3

# It must be no worse to predict from than so many times the difference between samples as far apart
# as the horizon; or, seen so often, its change must be better than no change.
_MOST_WORSE, _OFTEN_SEEN = 2.0, 4.0

# Of lags that leave about as little as the best one the shortest. A multiple of the season that was
# seen less than so often may by chance leave much less than the season.
_ABOUT, _ABOUT_ZERO = 1.15, 0.02
_OFTEN_ENOUGH, _ABOUT_SELDOM = 6.0, 2.5

# A season, or a multiple of it, may be so far off: a year is not quite 52 weeks.
_WITHIN = 0.02

# Where changes do not leave less than this part one season apart it may be a cycle that is now
# longer and now shorter, as that of the sunspots: it must have been seen so often.
_SHOWN, _CYCLES_SEEN = 0.8, 8.0

# The most lags of one season.
_MOST_LAGS = 60


def find_season(series: Array, horizon: int) -> int | None:
    """The number of samples after which a series repeats itself; None if it does not.

    Samples one season apart differ less than those that are half a season nearer or farther. The
    mean squared difference d(k) of samples k apart is, but for a constant, the negative
    autocorrelation where that exists. Of a random walk, which has none but looks periodic for a
    while, it grows in proportion to k: its mean from k/2 to 3k/2 is d(k) itself. First it is looked
    for in the changes: there it shows also where the level of the series wanders about.

    Parameters
    ----------
    series : ndarray of shape (n,)
        NaN where a sample is missing.
    horizon : int
        How many samples ahead the season is to predict.
    """
    n = len(series)
    observed = np.isfinite(series)
    if observed.sum() < n / 2:
        return None
    times = np.arange(n)
    y = series / (np.abs(series[observed]).max() or 1.0)
    y = y - np.polyval(np.polyfit(times[observed], y[observed], 1), times)
    changes = np.diff(y)
    in_changes = _find(_left(changes, int(n / _OFTEN_SEEN))[1], n, _IN_CHANGES)
    if in_changes is not None:
        return in_changes
    d, left = _left(y, int(n / _TIMES_SEEN))
    season = _find(left, n, _IN_LEVELS)
    if season is None:
        return None
    d_changes, width = _distances(changes, 3 * season // 2), max(1, round(_WITHIN * season))
    around = _finite(d_changes[(season + 1) // 2 :])
    near = _finite(d_changes[season - width : season + width + 1])
    shown = len(near) > 0 and near.min() < _SHOWN * around.mean()
    if not shown and season > n / _CYCLES_SEEN:
        return None
    by_change = d_changes[season]
    useful = d[season] <= _MOST_WORSE * _finite(d[1 : horizon + 1]).max(initial=0.0) or (
        by_change <= d[1] and season <= n / _OFTEN_SEEN
    )
    return season if useful else None


def _distances(y: Array, longest: int) -> Array:
    """The mean squared difference d(k) of samples k apart."""
    n = len(y)
    return np.array([_mean_square(y[k:] - y[: n - k]) for k in range(longest + 1)])


def _left(y: Array, longest: int) -> tuple[Array, Array]:
    """Return d(k), and d(k) over the mean of d around k; 1 where d has no minimum at k."""
    d = _distances(y, 3 * longest // 2)
    left = np.ones(longest + 1)
    for k in range(2, longest + 1):
        if d[k] <= _finite(d[k - 1 : k + 2]).min(initial=np.inf):
            around = _finite(d[(k + 1) // 2 : 3 * k // 2 + 1]).mean()
            left[k] = d[k] / around if around > 0 else 1.0
    return d, left


def _find(left: Array, n: int, when: tuple[float, int]) -> int | None:
    """Find the season from the share of d left at each lag; None without a season.

    The shortest of the lags that leave about as little as the best one. Of lags that the best one
    is a multiple of this takes less, if the best one was seen a few times alone.
    """
    seen, not_short = when
    lags = np.arange(len(left))
    often = (lags >= _SHORTEST) & (lags <= n / seen) & (n >= not_short)
    repeats = left < np.where(often, _MOST_LEFT_OFTEN, _MOST_LEFT)
    if not repeats.any():
        return None
    best = int(lags[repeats][left[repeats].argmin()])
    shorter = lags[(left < _MOST_LEFT_OFTEN) & (lags <= best)]
    off = np.abs(best - np.round(best / shorter) * shorter)
    divides = off <= max(1.0, _WITHIN * best)
    tolerance = _ABOUT if best <= n / _OFTEN_ENOUGH else _ABOUT_SELDOM
    limit = np.maximum(np.where(divides, tolerance, _ABOUT) * left[best], left[best] + _ABOUT_ZERO)
    return int(shorter[left[shorter] <= limit].min())


def _finite(values: Array) -> Array:
    return values[np.isfinite(values)]


def _mean_square(differences: Array) -> float:
    finite = _finite(differences)
    return float(finite @ finite / len(finite)) if len(finite) else np.nan


def choose_lags(season: int | None, horizon: int) -> tuple[int, ...]:
    """Choose the lags to predict from: numbers of samples before the current one."""
    lags = set(range(RECENT_LAGS))
    if season is not None:
        around = np.arange(max(season - horizon, 0), season + 1)
        some = np.linspace(0, len(around) - 1, min(len(around), _MOST_LAGS)).round().astype(int)
        lags |= set(around[some].tolist())
    return tuple(sorted(lags))
