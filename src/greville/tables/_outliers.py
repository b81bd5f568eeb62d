"""Numbers far from all others: those that stand for a gap, and those that are only extreme."""

from __future__ import annotations

import numpy as np

from ._values import Floats

# With fewer numbers, or fewer different ones, nothing is far from the others.
_LEAST_NUMBERS, _LEAST_DIFFERENT = 20, 10

# What is written for a gap: nines, and the ends of integer types.
_USUAL_GAPS = np.array(
    [sign * (10.0**k - 1) for k in range(2, 10) for sign in (-1, 1)]
    + [sign * x for x in (99.9, 99.99, 999.9, 999.99, 9999.9, 1e20, 1e30) for sign in (-1, 1)]
    + [-32768.0, -2147483648.0, -9223372036854775808.0]
)

# Distances to the nearest other number, in widths of all others, from which a number is a gap: a
# negative and a positive one of the usual ones, and one that is not.
_NEGATIVE, _POSITIVE, _UNUSUAL = 1.0, 3.0, 10.0

# The same for dates, where it is only said; and how often those that are not usual come.
FAR_DATE, _LEAST_TIMES = 0.5, 5

# The same for extremes.
_EXTREME = 10.0


def find_gaps(numbers: Floats, unusual: float = _UNUSUAL) -> tuple[float, ...]:
    """Return the numbers that repeat and are far from all others: they may stand for gaps.

    They are at least `unusual` widths of the others away from these, if not one of the usual ones.
    """
    if len(numbers) < _LEAST_NUMBERS:
        return ()
    usual = np.unique(numbers[np.isin(numbers, _USUAL_GAPS)])
    often, gaps = max(_LEAST_TIMES, 0.01 * len(numbers)), []
    ends = [end for end in (numbers.min(), numbers.max()) if (numbers == end).sum() >= often]
    for gap in np.unique([*usual, *ends]).tolist():
        count = int((numbers == gap).sum())
        others = numbers[(numbers != gap) & ~np.isin(numbers, [*usual, *ends])]
        least = unusual
        if gap in usual:
            least = _NEGATIVE if gap < 0 else _POSITIVE
        if count > 1 and _is_far(gap, others, least):
            gaps.append(gap)
    return tuple(gaps)


def _is_far(number: float, others: Floats, least: float) -> bool:
    """Whether a number is beyond all other numbers, by `least` times the width of these."""
    if len(np.unique(others)) < _LEAST_DIFFERENT:
        return False
    low, high = np.quantile(others, [0.01, 0.99])
    return not low <= number <= high and np.abs(others - number).min() >= least * (high - low)


def far_values(numbers: Floats) -> Floats:
    """Find numbers that are very far from all others; nan are passed over.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.tables import far_values
    >>> far_values(np.r_[np.arange(100.0), 1e12])
    array([1.e+12])
    """
    finite = numbers[np.isfinite(numbers)]
    limits = find_limits(finite)
    return finite[(finite < limits[0]) | (finite > limits[1])] if limits else finite[:0]


def find_limits(numbers: Floats) -> list[float]:
    """Return the limits of all numbers but a few extreme ones; an empty list without extremes.

    Extreme ones are at most a tenth at each end, behind a distance of ten widths of the others.
    The limits are a width of the others away from them.
    """
    if len(numbers) < _LEAST_NUMBERS:
        return []
    ordered = np.sort(numbers)
    low, high = np.quantile(ordered, [0.1, 0.9])
    if not low < high:
        return []
    most, has_high = _last_before_a_gap(ordered, low, high)
    least, has_low = _last_before_a_gap(-ordered[::-1], -high, -low)
    if not (has_high or has_low):
        return []
    width = most + least
    return [float(-least - width), float(most + width)]


def _last_before_a_gap(ordered: Floats, low: float, high: float) -> tuple[float, bool]:
    """Return the largest number that is not extreme, and whether any number is extreme."""
    tail = ordered[np.searchsorted(ordered, high) :]
    gaps = np.flatnonzero(np.diff(tail) > _EXTREME * (tail[:-1] - low))
    return (float(tail[gaps[0]]), True) if len(gaps) else (float(tail[-1]), False)
