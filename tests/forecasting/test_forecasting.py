"""Forecasts are those of a plain loop, and depend neither on later samples nor on how they come.

And: gaps, intervals, units, what is never worse than simple predictors, pictures, and errors that
name the argument and change nothing.
"""

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer

from greville import Opium
from greville.datasets import ecg, sine_switch
from greville.forecasting import Forecast, Forecaster, forecast
from greville.forecasting._result import RESULT_COLUMNS

from .plain_loop import plain_loop

PREDICTED = [name for name in RESULT_COLUMNS if name not in ("index", "step", "target")]


def wavy(n, seed=0, noise=0.3):
    k = np.arange(n)
    return 5 + np.sin(k / 4) + 0.01 * k + noise * np.random.default_rng(seed).normal(size=n)


def with_gaps(series):
    series = series.copy()
    series[[3, 40, 41]] = np.nan
    series[55:65] = np.nan
    return series


@pytest.fixture(scope="module")
def by_default():
    return forecast(wavy(130), hidden=40)


@pytest.mark.parametrize(
    ("horizon", "case"),
    [
        (1, "both"),
        (7, "both"),
        pytest.param(2, "gaps", marks=pytest.mark.full),
        pytest.param(3, "inputs", marks=pytest.mark.full),
    ],
)
def test_agrees_with_a_plain_loop(horizon, case):
    n, inputs = 90, None
    y = wavy(n)
    if case != "gaps":
        inputs = np.random.default_rng(1).integers(-2, 3, size=(n, 2)) * 1.0
        inputs[0] = 0, 0
        inputs[1] = 0.9, 0.9  # the unit is one
        inputs[47, 1] = np.nan
        y[2:] += inputs[1:-1, 0] - inputs[:-2, 1]
        y[49] = y[48]
    if case != "inputs":
        y = with_gaps(y)
    expected = plain_loop(y, 6, horizon, inputs)
    found = forecast(y, lags=6, horizon=horizon, inputs=inputs)
    assert np.array_equal(found.index, np.arange(5 + horizon, n + horizon))
    assert np.array_equal(found.target, [*y[5 + horizon :], *[np.nan] * horizon], equal_nan=True)
    assert np.array_equal(found.step, [*[horizon] * (n - 5 - horizon), *range(1, horizon + 1)])
    for name in PREDICTED:
        record = [expected[i - horizon][name][-1] for i in range(5 + horizon, n)]
        values = [*record, *expected[-1][name]]
        np.testing.assert_allclose(getattr(found, name), values, rtol=0, atol=1e-7, err_msg=name)


def one_by_one(y, inputs, horizon):
    model = Forecaster(horizon=horizon, hidden=30)
    parts = [model.update(y[k : k + 1], inputs[k : k + 1]) for k in range(len(y))]
    return Forecast.concatenated([*parts, model.future()])


def in_one(y, inputs, horizon):
    return forecast(y, inputs=inputs, horizon=horizon, hidden=30)


@pytest.mark.parametrize(
    ("horizon", "run", "change"),
    [
        (1, one_by_one, 70),
        (1, in_one, 70),
        (7, in_one, 70),
        pytest.param(1, in_one, 13, marks=pytest.mark.full),
        pytest.param(2, in_one, 13, marks=pytest.mark.full),
    ],
)
def test_no_target_is_used_before_it_is_known(horizon, run, change):
    n = 90
    y, inputs = wavy(n), np.random.default_rng(2).normal(size=(n, 1))
    y = with_gaps(y) if change > 13 else y
    before = run(y, inputs, horizon)
    rng = np.random.default_rng(3)
    y[change:] = 1e3 * rng.normal(size=n - change)
    inputs[change:] = 1e3 * rng.normal(size=(n - change, 1))
    after = run(y, inputs, horizon)
    same = before.index < change + horizon
    assert same.sum() > 3
    for name in PREDICTED:
        first, second = getattr(before, name)[same], getattr(after, name)[same]
        if horizon == 1 and run is in_one:  # in blocks, rounded relative to their largest numbers
            np.testing.assert_allclose(first, second, rtol=0, atol=1e-10, err_msg=name)
        else:
            assert first.tobytes() == second.tobytes(), name
    assert not np.array_equal(before.prediction[~same], after.prediction[~same])


@pytest.mark.full
@pytest.mark.parametrize("horizon", [1, pytest.param(7, marks=pytest.mark.full)])
def test_future_predictions_do_not_change_when_their_targets_come(horizon):
    y = with_gaps(wavy(90))
    whole = forecast(y, horizon=horizon, hidden=30)
    for end in (11, 60, 80):  # before most gaps, in one, and after them
        for missing in (False, True) if end == 60 else (False,):
            seen = y.copy() if missing else y[:end].copy()
            seen[end:] = np.nan
            part = forecast(seen, horizon=horizon, hidden=30)
            n, last = max(0, end - part.index[0]), end + horizon - 1 - whole.index[0]
            for name in PREDICTED:
                found, expected = getattr(part, name), getattr(whole, name)
                np.testing.assert_allclose(found[:n], expected[:n], rtol=0, atol=1e-8)
                if not missing:  # the last row is so many steps ahead as all before the end
                    np.testing.assert_allclose(found[-1], expected[last], rtol=0, atol=1e-8)


PIECES, SINGLY = [1, 2, 2, 9, 50, 58], range(1, 90)


@pytest.mark.parametrize(
    ("horizon", "ends"),
    [
        pytest.param(1, SINGLY, id="1-singly"),
        pytest.param(3, PIECES, id="3-pieces"),
        pytest.param(1, PIECES, id="1-pieces", marks=pytest.mark.full),
        pytest.param(3, SINGLY, id="3-singly", marks=pytest.mark.full),
    ],
)
def test_how_the_series_is_cut_changes_nothing(horizon, ends):
    y, inputs = with_gaps(wavy(90)), np.random.default_rng(2).normal(size=(90, 2))
    whole = in_one(y, inputs, horizon)
    model, parts = Forecaster(horizon=horizon, hidden=30), []
    for part, other in zip(np.split(y, ends), np.split(inputs, ends), strict=True):
        parts.append(model.update(part, other))
        assert len(model.future()) == horizon or model.n_samples_seen_ < 9 + horizon
    cut = Forecast.concatenated([*parts, model.future()])
    assert model.n_samples_seen_ == 90
    for name in RESULT_COLUMNS:
        np.testing.assert_allclose(
            getattr(cut, name), getattr(whole, name), rtol=0, atol=1e-8, err_msg=name
        )


def test_a_long_series_is_taken_in_chunks_and_reports_progress(monkeypatch):
    monkeypatch.setattr("greville.forecasting._forecast._CHUNK", 200)
    y, amounts = wavy(500), []

    class Advance:
        def __init__(self, what, total):
            amounts.append(total)

        def __enter__(self):
            return amounts.append

        def __exit__(self, *_):
            pass

    found = forecast(y, lags=2, alpha=1, hidden=5, progress=Advance)
    assert amounts == [500, 200, 200, 100]
    whole = Forecaster(2, alpha=1, hidden=5).update(y)
    np.testing.assert_allclose(whole.prediction, found.prediction[:-1], atol=1e-8)


@pytest.mark.parametrize("horizon", [2, pytest.param(1, marks=pytest.mark.full)])
def test_missing_samples(horizon):
    n = 200
    y = with_gaps(wavy(n))
    found = forecast(y, lags=4, horizon=horizon, hidden=40)
    assert np.isfinite(found.prediction).all()
    assert np.isfinite(found.linear).all()
    last_known = [y[: i + 1][np.isfinite(y[: i + 1])][-1] for i in range(n)]
    made_at = found.index - found.step
    assert np.array_equal(found.persistence, np.array(last_known)[made_at])
    assert np.isnan(found.target).sum() == horizon + np.isnan(y[3 + horizon :]).sum()
    assert found.summary()["n"] == np.isfinite(found.target)[found.index >= found.burn_in].sum()
    assert found.summary()["ratio"]["persistence"] < 1
    with pytest.raises(ValueError, match="series: it has no values"):
        forecast(np.full(50, np.nan))


@pytest.mark.full
def test_a_gap_is_filled_by_what_was_expected():
    """A season goes on in a gap of twenty samples, and so does what is predicted in it."""
    k = np.arange(250)
    y = np.sin(2 * np.pi * k / 12)
    y[220:240] = np.nan
    found = forecast(y, horizon=3)
    in_gap = (found.index >= 225) & (found.index < 240)
    expected = np.sin(2 * np.pi * found.index[in_gap] / 12)
    assert np.abs(found.prediction[in_gap] - expected).max() < 0.1
    assert np.abs(found.persistence[in_gap] - expected).max() > 0.5


def test_no_gap_leads_away_from_what_was_seen():
    y = np.concatenate([1.05 ** np.arange(100), np.full(200, np.nan), [100.0]])
    found = forecast(y, hidden=40)
    assert np.abs(found.prediction).max() < 200


def test_large_errors_are_said_in_plain_numbers():
    said = forecast(1e5 * np.random.default_rng(0).normal(size=200), lags=5, hidden=10)
    verdict = said.summary()["verdict"]
    assert "persistence (" in verdict
    assert "e+0" not in verdict


@pytest.mark.full
def test_the_electrocardiogram():
    """The paper's own use: far better than persistence, and better than a linear model.

    The whole of it is in tests/cli/test_forecast.py.
    """
    summary = forecast(ecg(3000)[1]).summary()
    assert summary["ratio"]["persistence"] < 0.4
    assert summary["ratio"]["linear"] < 0.9
    assert abs(summary["coverage"] - 0.9) < 0.02
    assert "% smaller than that of persistence" in summary["verdict"]


@pytest.mark.parametrize(
    ("name", "interval"),
    [
        ("louder", 0.8),
        pytest.param("noise", 0.5, marks=pytest.mark.full),
        pytest.param("sine", 0.9, marks=pytest.mark.full),
        pytest.param("noise", 0.9, marks=pytest.mark.full),
    ],
)
def test_coverage_of_the_interval(name, interval):
    rng = np.random.default_rng(0)
    series = {
        "sine": sine_switch(2500)[1],
        "noise": rng.normal(size=1500),
        "louder": rng.normal(size=1500) * np.linspace(1, 20, 1500),
    }[name]
    found = forecast(series, interval=interval, lags=10, hidden=50)
    assert abs(found.summary()["coverage"] - interval) < 0.03
    assert np.isnan(found.lower[:20]).all()
    assert np.isfinite(found.lower[21:]).all()


def common_series(n=800):
    """Series of the kinds that people have."""
    rng = np.random.default_rng(1)
    k, noise = np.arange(n), rng.normal(size=n)
    ar = np.zeros(n)
    for i in range(2, n):
        ar[i] = 1.6 * ar[i - 1] - 0.8 * ar[i - 2] + noise[i]
    return {
        "trend and season": 0.05 * k + 3 * np.sin(2 * np.pi * k / 24) + 0.5 * noise,
        "random walk": np.cumsum(noise),
        "autoregressive": ar,
        "white noise": noise,
        "intermittent": np.where(rng.random(n) < 0.05, 5 * rng.exponential(size=n), 0.0),
        "steps": np.repeat(rng.normal(size=n // 100), 100),
    }


@pytest.mark.parametrize(
    ("name", "horizon"),
    [
        ("random walk", 1),
        *(
            pytest.param(name, horizon, marks=pytest.mark.full)
            for name, horizon in [
                ("trend and season", 1),
                ("autoregressive", 1),
                ("white noise", 1),
                ("intermittent", 1),
                ("steps", 1),
                ("intermittent", 4),
                ("random walk", 4),
            ]
        ),
    ],
)
def test_never_much_worse_than_simpler_predictors(name, horizon):
    summary = forecast(common_series()[name], horizon=horizon).summary()
    assert max(summary["ratio"].values()) < 1.05


@pytest.fixture(scope="module")
def of_order_one():
    """A series, and the summary of its forecast."""
    y = common_series(200)["autoregressive"]
    return y, forecast(y, hidden=40).summary()


@pytest.mark.full
@pytest.mark.parametrize(
    ("offset", "unit"),
    [
        (-3e9, 1e4),
        *(
            pytest.param(*units, marks=pytest.mark.full)
            for units in ((1e6, 1.0), (0.0, 1e-7), (0.0, 1e-200))
        ),
    ],
)
def test_units_do_not_matter(offset, unit, of_order_one):
    y, expected = of_order_one
    found = forecast(offset + unit * y, hidden=40).summary()
    for name in ("persistence", "linear"):
        assert found["ratio"][name] == pytest.approx(expected["ratio"][name], rel=0.01)
    assert found["coverage"] == pytest.approx(expected["coverage"], abs=0.02)


def test_a_series_that_does_not_change():
    found = forecast(np.full(200, 1e6 + 0.1))
    assert (found.prediction == 1e6 + 0.1).all()
    assert (found.upper[30:] == found.lower[30:]).all()
    summary = found.summary()
    assert summary["coverage"] == 1
    assert summary["ratio"] == {"persistence": 1, "seasonal": 1, "linear": 1}
    assert summary["verdict"].startswith("Nothing to predict")


@pytest.mark.full
@pytest.mark.parametrize(
    "settings",
    [
        {"alpha": 1.003, "random_state": 3},
        {"lags": 30, "horizon": 3, "solver": Opium(0.1), "hidden": 30},
        *(
            pytest.param(settings, marks=pytest.mark.full)
            for settings in (
                {"alpha": 1},
                {"alpha": 1.003},
                {"solver": "dynamic"},
                {"solver": Opium(0.1)},
                {"random_state": 3},
                {"lags": 1},
            )
        ),
    ],
    ids=str,
)
def test_settings_change_the_predictions(settings, by_default):
    found = forecast(wavy(130), **{"hidden": 40, **settings})
    assert found.summary()["ratio"]["persistence"] < 1
    assert not np.array_equal(found.prediction, by_default.prediction)


@pytest.mark.full
def test_inputs_are_learned_in_any_units():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=300)
    y = np.zeros(300)
    y[1:] = inputs[:-1] + 0.1 * rng.normal(size=299)
    for unit in (1e-9, 1e9):
        summary = forecast(y, lags=3, inputs=unit * inputs[:, None]).summary()
        assert summary["rms"]["linear"] < 0.12
        assert summary["rms"]["greville"] < 0.13


def test_a_summary_by_hand():
    n = np.arange(100.0)
    rows = Forecast(n.astype(int), n, n + 1, n - 1, n + 0.5, n - 2, n + 4, 3, 1, 0.9)
    summary = rows.summary()
    assert rows.burn_in == 26
    assert summary["n"] == 74
    assert summary["rms"] == {"greville": 1, "persistence": 2, "seasonal": 2, "linear": 4}
    assert summary["mean_absolute"] == summary["rms"]
    assert summary["ratio"] == {"persistence": 0.5, "seasonal": 0.5, "linear": 0.25}
    assert summary["coverage"] == 1
    assert summary["verdict"] == (
        "The mean absolute error is 50 % smaller than that of persistence (1 against 2) and 75 % "
        "smaller than that of a linear predictor (4)."
    )


@pytest.mark.parametrize(
    "series",
    [
        pytest.param(wavy(560), id="long"),
        pytest.param(with_gaps(wavy(300)), id="gaps", marks=pytest.mark.full),
        pytest.param(np.ones(60), id="constant", marks=pytest.mark.full),
        pytest.param(wavy(12), id="one row", marks=pytest.mark.full),
    ],
)
def test_the_picture(series, tmp_path):
    figure = forecast(series, lags=10, horizon=2, hidden=20).plot(tmp_path / "forecast.png")
    assert (tmp_path / "forecast.png").stat().st_size > 10_000
    assert len(figure.axes) == (3 if len(series) > 500 else 2)
    names = [text.get_text() for text in figure.axes[-1].get_legend().get_texts()]
    assert [name.split(",")[0] for name in names] == ["greville", "linear", "persistence"]


def test_no_picture_of_nothing():
    with pytest.raises(ValueError, match="^plot: there is no row"):
        Forecaster().update([1.0, 2.0]).plot()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lags": 0}, "^lags=0: "),
        ({"horizon": 1.5}, "^horizon=1.5: "),
        ({"interval": 1}, "^interval=1: "),
        ({"alpha": "fast"}, "^alpha='fast': pass 'auto' or a number"),
        ({"alpha": 2}, "^alpha=2: "),
        ({"alpha": 1.1, "solver": "opium"}, "^alpha=1.1, solver='opium': pass one of them"),
        ({"solver": "batch"}, "^solver='batch': it does not learn online"),
        ({"solver": "magic"}, "^solver='magic': "),
        ({"hidden": 0}, "^hidden=0: "),
        ({"lags": 101}, "^series, lags=101: 100 samples are fewer"),
        ({"inputs": np.zeros(100)}, r"^inputs: got an array of shape \(100,\)"),
        ({"inputs": np.zeros((9, 1))}, "^inputs: inconsistent numbers of samples"),
    ],
)
def test_invalid_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        forecast(wavy(100), **settings)


def test_invalid_series():
    with pytest.raises(ValueError, match=r"^series: got an array of shape \(5, 2\)"):
        forecast(np.zeros((5, 2)))
    with pytest.raises(ValueError, match="^series: contains infinity"):
        forecast([1.0] * 20 + [np.inf])
    with pytest.raises(ValueError, match="^series: "):
        forecast(["much", "more"])


@pytest.mark.parametrize("horizon", [1, pytest.param(3, marks=pytest.mark.full)])
def test_an_error_leaves_everything_as_it_was(horizon):
    failing, weights = [], np.random.default_rng(0).normal(size=(11, 40))

    def activations(X):
        if failing and not failing.pop():
            raise ZeroDivisionError
        return np.tanh(X @ weights)

    hidden, y = FunctionTransformer(activations), wavy(220)
    model, other = (Forecaster(10, horizon, hidden=hidden) for _ in range(2))
    model.update(y[:150])
    other.update(y[:150])
    with pytest.raises(ValueError, match="^inputs: got 1 columns"):
        model.update(y[:3], np.zeros((3, 1)))
    with pytest.raises(ValueError, match="^values, inputs: the largest"):
        model.update([*y[150:200], 1e200])
    for calls in (0, 1, 2):
        failing[:] = [False, *[True] * calls]  # the last of them first
        with pytest.raises(ZeroDivisionError):
            model.update(y[150:200])
    after, expected = model.update(y[150:]), other.update(y[150:])
    for name in RESULT_COLUMNS:
        np.testing.assert_array_equal(getattr(after, name), getattr(expected, name))


def test_the_picture_names_the_series():
    figure = forecast(np.sin(np.arange(60.0) / 5), hidden=10).plot(name="load")
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels.count("load") >= 1
    assert "greville" not in labels
    assert "load" in {text.get_text() for text in figure.axes[-2].get_legend().get_texts()}
