"""What the rules and the weights of a forecast are made of, against plain loops."""

import numpy as np
import pytest

from greville.forecasting._curve import Curve
from greville.forecasting._median import RunningMedian
from greville.forecasting._smoothing import Smoothing
from greville.forecasting._trust import Trust


def growing(n=120, seed=0):
    """A season of seven that grows with its series."""
    rng, k = np.random.default_rng(seed), np.arange(n)
    return np.exp(2 + 0.01 * k + 0.4 * np.sin(2 * np.pi * k / 7) + 0.05 * rng.normal(size=n))


def plain_smoothing(y, known, m, h, curve, unit, origin):
    """Winters's recursions for one setting after the other; forecasts in units of the series."""
    runs, sizes = [], []
    for on_curve in (False, True) if curve else (False,):
        z = curve.apply(y) if on_curve else (y - origin) / unit
        for gain in (0.02, 0.1, 0.25, 0.5, 0.75, 1.0):
            for share, damping in ((0, 0), (0.02, 0.98), (0.02, 1), (0.1, 0.95)):
                for follows in (0.0, 0.1, 0.3, 0.6, 1.0):
                    ahead, errors = {}, {}
                    one, two = z[:m].mean(), z[m : 2 * m].mean()
                    slope = (two - one) / m
                    level, trend = two + slope * (m - 1) / 2, slope if damping else 0.0
                    season = [
                        (z[i] - one + z[m + i] - two) / 2 - slope * (i - (m - 1) / 2)
                        for i in range(m)
                    ]
                    for t in range(2 * m - 1, len(y)):
                        if t >= 2 * m:
                            error = z[t] - (level + damping * trend + season[t % m])
                            errors[t] = abs((y[t] - origin) / unit - ahead[t - 1][0])
                            level += damping * trend + gain * error
                            trend = damping * trend + gain * share * error
                            season[t % m] += follows * (1 - 0.9 * gain) * error
                        ahead[t], at, slope_now = [], level, trend
                        for k in range(1, h + 1):
                            slope_now *= damping
                            at += slope_now
                            value = at + season[(t + k) % m]
                            if on_curve:
                                value = (float(curve.invert(np.array(value))) - origin) / unit
                            ahead[t].append(value)
                    runs.append(ahead)
                    sizes.append(errors)
    predicted, total, count = np.full((len(y), h), np.nan), np.zeros(len(runs)), 0.0
    for t in range(2 * m - 1, len(y)):
        if t >= 2 * m and known[t]:
            total = 0.99 * total + np.array([errors[t] for errors in sizes])
            count = 0.99 * count + 1
        logs = -count * np.log(np.maximum(total / max(count, 1e-300), 1e-300))
        weights = np.exp(logs - logs.max())
        weights[weights <= 1e-3] = 0
        values = np.array([ahead[t] for ahead in runs])
        predicted[t] = weights @ values / weights.sum()
    return predicted


@pytest.mark.parametrize("curved", [False, True])
def test_smoothing_agrees_with_plain_recursions(curved):
    y, known = growing(60), np.ones(60, bool)
    known[[20, 40, 41]] = False
    curve = Curve.fitted(y) if curved else None
    origin, unit = y[0], 0.5
    found = Smoothing(7, 3, curve).advance((y - origin) / unit, known, origin, unit)
    expected = plain_smoothing(y, known, 7, 3, curve, unit, origin)
    assert np.isnan(found[:13]).all()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("season", [None, 7])
def test_pieces_change_no_bit(season):
    y, known = growing(), np.ones(120, bool)
    known[[50, 51]] = False
    curve = Curve.fitted(y)
    whole = Smoothing(season, 4, curve).advance(y, known, 0.0, 1.0)
    model, median = Smoothing(season, 4, curve), RunningMedian()
    parts, medians = [], []
    for cut in np.split(np.arange(120), [1, 2, 9, 14, 15, 60]):
        parts.append(model.advance(y[cut], known[cut], 0.0, 1.0))
        medians.append(median.advance(y[cut]))
    assert np.concatenate(parts).tobytes() == whole.tobytes()
    assert np.concatenate(medians).tobytes() == RunningMedian().advance(y).tobytes()


def test_a_season_that_grows_is_followed():
    y = growing(200)
    ahead = Smoothing(7, 7, Curve.fitted(y)).advance(y, np.ones(200, bool), 0.0, 1.0)
    errors = [np.abs(ahead[t] - y[t + 1 : t + 8]).mean() for t in range(100, 193)]
    repeated = [np.abs(y[t - 6 : t + 1] - y[t + 1 : t + 8]).mean() for t in range(100, 193)]
    assert np.mean(errors) < 0.7 * np.mean(repeated)


def test_the_median_is_that_of_the_last_hundred():
    y = np.random.default_rng(0).normal(size=250)
    expected = [np.median(y[max(0, t - 99) : t + 1]) for t in range(250)]
    np.testing.assert_array_equal(RunningMedian().advance(y), expected)


def test_a_curve_and_back():
    y = np.array([0.5, 3.0, 400.0, np.nan, 2.0])
    curve = Curve.fitted(y)
    np.testing.assert_allclose(curve.invert(curve.apply(y)), y, rtol=1e-12)
    below = np.array([0.0, -3.0])  # they may come later
    np.testing.assert_allclose(curve.invert(curve.apply(below)), below, atol=1e-12)
    assert np.isfinite(curve.invert(np.array([1e9, -1e9]))).all()
    # A factor is a distance on it.
    first, second = (np.diff(curve.apply(np.array([v, 2 * v]))) for v in (2.0, 200.0))
    assert first == pytest.approx(second, rel=0.03)


@pytest.mark.parametrize("series", [[1.0, 0.0], [1.0, -2.0], [2.0, 2.0], [np.nan]])
def test_no_curve_without_positive_numbers_that_change(series):
    assert Curve.fitted(np.array(series)) is None


def test_trust_by_hand():
    trust, weights = Trust.start(np.log([1.0, 0.5])).update_many(
        np.array([[2.0, 1.0], [9.0, 9.0], [4.0, 1.0]]), np.array([1.0, 0.0, 0.5])
    )
    sums, count = 0.99 * np.array([2.0, 1.0]) + 0.5 * np.array([4.0, 1.0]), 0.99 + 0.5
    expected = np.array([1.0, 0.5]) * (sums / count) ** (-count / 4)
    np.testing.assert_allclose(weights[2], expected / expected.sum(), rtol=1e-12)
    first = np.array([1.0, 0.5]) * np.array([2.0, 1.0]) ** -0.25
    np.testing.assert_allclose(weights[:2], [first / first.sum()] * 2, rtol=1e-12)
    np.testing.assert_allclose(trust.sums, sums)


def test_one_outlier_does_not_decide():
    """The first is better 99 times of 100, and once far off: by squares, the second would win."""
    errors = np.tile([1.0, 2.0], (100, 1))
    errors[60] = 40.0, 20.0
    assert (errors**2).mean(axis=0)[0] > (errors**2).mean(axis=0)[1]
    _, weights = Trust.start(np.zeros(2)).update_many(errors, np.ones(100))
    assert weights[-1, 0] > 0.9
