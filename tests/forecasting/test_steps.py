"""Every step ahead, each from the last sample; seasons; and what the errors mean in words."""

import numpy as np
import pytest

from greville.forecasting import Forecaster, forecast
from greville.forecasting._season import find_season
from greville.forecasting._verdict import verdict


def airline(n=144, seed=0):
    """Monthly passengers: growth, and a season of a year that grows with it."""
    rng, k = np.random.default_rng(seed), np.arange(n)
    season = np.array([-20, -25, 0, -5, -5, 10, 22, 20, 5, -8, -22, -10]) / 100
    steps = np.cumsum(0.02 * rng.normal(size=n))
    return np.exp(4.8 + 0.01 * k + season[k % 12] + steps + 0.01 * rng.normal(size=n))


def test_every_step_is_predicted_from_the_last_sample():
    y = 50 + np.cumsum(np.random.default_rng(0).normal(size=100))
    changed = y.copy()
    changed[-6:] *= 3
    before, after = (forecast(each, horizon=7, hidden=30)[-7:] for each in (y, changed))
    assert before.step.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert before.index.tolist() == list(range(100, 107))
    assert (np.abs(after.prediction - before.prediction) > 10).all()
    assert (before.persistence == y[-1]).all()


@pytest.mark.full
def test_later_steps_have_wider_intervals():
    y = np.cumsum(np.random.default_rng(0).normal(size=900))
    rows = forecast(y, horizon=9)[-9:]
    width = rows.upper - rows.lower
    assert width[8] > 1.3 * width[3] > 1.8 * width[0] > 0


@pytest.mark.full
def test_the_coverage_of_each_step():
    """The same step of futures made one after the other."""
    horizon, y = 5, np.random.default_rng(0).normal(size=700)
    model = Forecaster(horizon=horizon, hidden=20)
    model.update(y[:200])
    inside = []
    for t in range(200, 700 - horizon):
        rows, target = model.future(), y[t : t + horizon]
        inside.append((rows.lower <= target) & (target <= rows.upper))
        model.update(y[t : t + 1])
    assert np.abs(np.mean(inside, axis=0) - 0.9).max() < 0.04


def test_the_errors_of_each_step():
    """Those of the futures that were really there, before their targets came."""
    n = 110
    y = np.cumsum(np.random.default_rng(0).normal(size=n))
    model, futures = Forecaster(horizon=3, hidden=20), []
    for t in range(n):
        model.update(y[t : t + 1])
        futures.append(model.future())
    whole = Forecaster(horizon=3, hidden=20)
    burn_in = whole.update(y).burn_in
    for errors in (model.errors_by_step(), whole.errors_by_step()):
        for k, found in enumerate(errors, 1):
            rows = [futures[i - k] for i in range(burn_in, n)]
            predicted = [row.prediction[k - 1] for row in rows]
            assert (found["step"], found["n"]) == (k, n - burn_in)
            want = np.mean(np.abs(np.array(predicted) - y[burn_in:]))
            assert found["mean_absolute"]["greville"] == pytest.approx(want)
            want = np.mean(np.abs(y[burn_in - k : n - k] - y[burn_in:]))
            assert found["mean_absolute"]["persistence"] == pytest.approx(want)


@pytest.mark.full
@pytest.mark.parametrize("horizon", [12, pytest.param(1, marks=pytest.mark.full)])
def test_a_year_of_months(horizon):
    model = Forecaster(horizon=horizon)
    summary = model.update(airline()).summary()
    assert model.season_ == 12
    assert summary["ratio"]["persistence"] < (0.35 if horizon == 1 else 0.7)
    ahead = model.future().prediction
    truth = airline(144 + horizon)[144:]
    assert np.abs(ahead / truth - 1).max() < 0.2


def test_more_steps_than_seasons_that_have_come():
    y = np.tile([5.0, 6, 7, 7, 8, 2, 1], 7)
    model = Forecaster(horizon=60)
    model.update(y)
    rows = model.future()
    assert model.season_ == 7
    assert np.isfinite(rows.prediction).all()


def test_lags_that_are_given_stay():
    model = Forecaster(10)
    model.update(airline())
    assert model.season_ is None


@pytest.mark.full
def test_a_season_is_chosen_from_what_has_come():
    """One that appears later changes nothing of what was predicted before it."""
    rng, k = np.random.default_rng(0), np.arange(160)
    quiet = 0.3 * rng.normal(size=160)
    loud = quiet + np.where(k >= 50, 5 * np.sin(2 * np.pi * k / 12), 0.0)
    models = [Forecaster(horizon=4, hidden=30), Forecaster(horizon=4, hidden=30)]
    first, second = (model.update(y) for model, y in zip(models, (quiet, loud), strict=True))
    assert (models[0].season_, models[1].season_) == (None, 12)
    made_before = first.index - 4 < 50
    for name in ("prediction", "lower", "upper", "linear"):
        a, b = getattr(first, name)[made_before], getattr(second, name)[made_before]
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    ("series", "season"),
    [
        (lambda k, e: 10 + 3 * np.sin(2 * np.pi * k / 24) + 0.5 * e, 24),
        (lambda k, e: np.array([5, 6, 7, 7, 8, 2, 1])[k % 7] + 0.7 * e, 7),
        (lambda k, e: 0.05 * k + 2 * (k % 12 == 11) + 0.3 * e, 12),
        (lambda k, e: np.where(e > 1.2, np.nan, np.sin(2 * np.pi * k / 30)), 30),
        (lambda k, e: 20 * np.sin(2 * np.pi * k / 12) + 10 * e, 12),
        (lambda k, e: np.cumsum(e) + np.array([3, 1, 0, 2, 1, -4, -3])[k % 7], 7),
        (lambda k, e: np.exp(0.02 * k + 0.3 * np.sin(2 * np.pi * k / 12) + 0.05 * e), 12),
        (lambda k, e: np.sin(2 * np.pi * k / 24) + 0.6 * np.sin(2 * np.pi * k / 12) + 0.2 * e, 24),
        (lambda k, e: np.cumsum(e), None),
        (lambda k, e: e, None),
        (lambda k, e: k + 0.1 * e, None),
        (lambda k, e: np.ones(len(k)), None),
        (lambda k, e: np.full(len(k), np.nan), None),
    ],
    ids=[
        "day",
        "week",
        "december",
        "gaps",
        "no multiple",
        "wandering",
        "growing",
        "not a half",
        "random walk",
        "noise",
        "trend",
        "constant",
        "nothing",
    ],
)
def test_seasons(series, season):
    k = np.arange(256)
    e = np.random.default_rng(1).normal(size=256)
    assert find_season(series(k, e) * 1.0, 1) == season


@pytest.mark.parametrize("horizon", [1, pytest.param(12, marks=pytest.mark.full)])
def test_seasons_where_no_change_is_known(horizon):
    """Every second sample is missing: its neighbours differ by nothing that is known."""
    y = 5 + np.sin(2 * np.pi * np.arange(140) / 12)
    y[1::2] = np.nan
    assert find_season(y, horizon) in (12, None)
    model = Forecaster(horizon=horizon, hidden=20)
    found = model.update(y)
    assert np.isfinite(found.prediction).all()


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        (
            (0.84, 0.92, 0.84),
            "The mean absolute error is 9 % smaller than that of persistence (0.84 against 0.92) "
            "and as large as that of a linear predictor. A linear predictor is as good.",
        ),
        (
            (1.1, 1.0, 2.0),
            "The mean absolute error is 10 % larger than that of persistence (1.1 against 1) and "
            "45 % smaller than that of a linear predictor (2). Repeating the last value is better.",
        ),
        (
            (3.0, 1.0, 3.02),
            "The mean absolute error is 3 times that of persistence (3 against 1) and as large as "
            "that of a linear predictor. Repeating the last value is better.",
        ),
        (
            (0.1, 0.0, 0.2),
            "The mean absolute error is 0.1, while that of persistence is zero, and 50 % smaller "
            "than that of a linear predictor (0.2). Repeating the last value is better.",
        ),
        (
            (1.0, 2.0, 1.5, 0.5),
            "The mean absolute error is 50 % smaller than that of persistence (1 against 2), 2 "
            "times that of repeating the last season (0.5) and 33 % smaller than that of a linear "
            "predictor (1.5). Repeating the last season is better.",
        ),
        ((0.0, 0.0, 0.0), "Nothing to predict: the series does not change."),
    ],
)
def test_the_verdict_in_words(errors, words):
    names = ("greville", "persistence", "linear", "seasonal")
    named = dict(zip(names, errors, strict=False))
    assert verdict(named, 100, 40) == words


def test_lags_and_horizons_that_cannot_be():
    with pytest.raises(ValueError, match="^lags='many': pass 'auto' or a number"):
        Forecaster("many")
    with pytest.raises(ValueError, match="^horizon=1001: pass at most 1000"):
        Forecaster(horizon=1001)
