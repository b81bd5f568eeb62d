"""What each kind of predictor is in a forecast for, on series that need it; copies go on alike.

A predictor that is taken out of the mixture fails one of these.
"""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

import greville
from greville import ELMRegressor
from greville.forecasting import Forecast, Forecaster, forecast
from greville.forecasting._learner import FIRST_ROWS
from greville.forecasting._result import RESULT_COLUMNS


def lorenz(n, step=0.02):
    """The first coordinate of the Lorenz system."""

    def change(v):
        return np.array([10 * (v[1] - v[0]), v[0] * (28 - v[2]) - v[1], v[0] * v[1] - 8 / 3 * v[2]])

    v, samples = np.ones(3), []
    for _ in range(500 + n):
        k1 = change(v)
        k2 = change(v + step / 2 * k1)
        k3 = change(v + step / 2 * k2)
        k4 = change(v + step * k3)
        v = v + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        samples.append(v[0])
    return np.array(samples[500:])


@pytest.mark.full
def test_a_series_without_noise():
    """As good as our own estimator on the same lags with as many units: below -100 dB."""
    y = lorenz(2000)
    found = forecast(y)[:-1]
    lags = np.lib.stride_tricks.sliding_window_view(y[:-1], 10)
    alone = ELMRegressor(200, random_state=0).prequential(lags, y[10:]) - y[10:]
    level, own = (
        20 * np.log10(np.sqrt(np.mean(errors[1000:] ** 2)) / y.std())
        for errors in (found.prediction - found.target, alone)
    )
    assert level < -100
    assert level < own + 6


@pytest.mark.full
def test_a_season_that_grows_with_the_series():
    """The change one season ago, of a season that doubles, is not enough."""
    rng, k = np.random.default_rng(0), np.arange(240)
    y = np.exp(3 + 0.012 * k + 0.5 * np.sin(2 * np.pi * k / 12) + 0.03 * rng.normal(size=240))
    errors = forecast(y, horizon=12).summary()["mean_absolute"]
    assert errors["greville"] < 0.6 * errors["seasonal"]
    assert errors["greville"] < 0.97 * errors["linear"]


@pytest.mark.full
@pytest.mark.parametrize("horizon", [1, pytest.param(12, marks=pytest.mark.full)])
def test_a_meter_with_outliers(horizon):
    """Nothing most of the time, and now and then very much: squares would follow the outliers."""
    rng = np.random.default_rng(3)
    y = np.abs(rng.normal(size=600)) * 0.1 + 2 + np.sin(np.arange(600) / 40)
    y[rng.integers(0, 600, size=12)] = 300.0
    errors = forecast(y, horizon=horizon).summary()["mean_absolute"]
    assert errors["greville"] < 1.05 * min(errors["persistence"], errors["linear"])


def test_the_last_season_repeated():
    y = np.tile([5.0, 6, 7, 7, 8, 2, 1], 20) + 0.1 * np.random.default_rng(0).normal(size=140)
    for horizon in (1, 9):
        model = Forecaster(horizon=horizon, hidden=20)
        found = Forecast.concatenated([model.update(y), model.future()])
        assert model.season_ == 7
        for row in range(40, len(found)):
            i, step = found.index[row], found.step[row]
            expected = y[i - 7 * -(-step // 7)]
            assert found.seasonal[row] == pytest.approx(expected, abs=1e-12)
    early = found.index - found.step < 31  # before a season was looked for
    assert early.any()
    assert np.array_equal(found.seasonal[early], found.persistence[early])
    errors = found.summary()["mean_absolute"]
    assert errors["seasonal"] < 0.2 * errors["persistence"]
    assert "repeating the last season" in found.summary()["verdict"]
    by_step = model.errors_by_step()[8]["mean_absolute"]
    assert by_step["seasonal"] == pytest.approx(errors["seasonal"])


@pytest.mark.full
def test_the_median_of_what_is_mostly_nothing():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(600) < 0.08, rng.exponential(size=600), 0.0)
    errors = forecast(y, horizon=4).summary()["mean_absolute"]
    assert errors["greville"] < 0.8 * min(errors["persistence"], errors["linear"])


@pytest.mark.full
def test_numbers_that_stop_being_positive():
    """The curve is left at the next look; what comes between is learned all the same."""
    k = np.arange(300)
    y = 3 + np.sin(2 * np.pi * k / 12) - 0.02 * k
    model = Forecaster()
    found = model.update(y)
    assert y[200] < 0 < y[64]
    assert np.isfinite(found.prediction).all()
    assert np.abs(found.prediction - found.target)[-30:].max() < 0.05


class Remembering(TransformerMixin, BaseEstimator):
    """Units at rows it was fitted to; it notes how many these were."""

    fitted_to: list = []  # noqa: RUF012

    def fit(self, X, y=None):
        self.fitted_to.append(len(X))
        self.centres_ = np.array(X[:: max(1, len(X) // 20)])
        self.width_ = np.std(X) + 1e-9
        return self

    def transform(self, X):
        distances = ((X[:, None] - self.centres_) ** 2).sum(axis=2)
        return np.exp(-distances / (2 * self.width_**2 * X.shape[1]))


@pytest.mark.parametrize("horizon", [1, pytest.param(3, marks=pytest.mark.full)])
def test_a_transformer_is_fitted_to_the_first_rows(horizon):
    y = 5 + np.sin(np.arange(180) / 4) + 0.1 * np.random.default_rng(0).normal(size=180)
    Remembering.fitted_to.clear()
    settings = {"lags": 6, "horizon": horizon, "hidden": Remembering()}
    whole = forecast(y, **settings)
    assert Remembering.fitted_to == [FIRST_ROWS] * 3  # two networks, and one from raw lags
    model, parts = Forecaster(**settings), []
    for piece in np.split(y, [1, 50, 51, 105, 107, 108, 109, 110, 150]):
        parts.append(model.update(piece))
    cut = Forecast.concatenated([*parts, model.future()])
    for name in RESULT_COLUMNS:
        np.testing.assert_allclose(getattr(cut, name), getattr(whole, name), rtol=0, atol=1e-8)


@pytest.mark.parametrize("horizon", [1, pytest.param(4, marks=pytest.mark.full)])
def test_a_copy_goes_on_alike(horizon):
    """To rounding: a copy has learned the rows that were still collected in the other."""
    rng, k = np.random.default_rng(0), np.arange(150)
    y = 5 + np.sin(2 * np.pi * k / 12) + 0.1 * rng.normal(size=150)
    model = Forecaster(horizon=horizon, hidden=30)
    model.update(y[:90])
    copies = copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    want, *found = (each.update(y[90:]) for each in (model, *copies))
    for name in RESULT_COLUMNS:
        for each in found:
            np.testing.assert_allclose(getattr(each, name), getattr(want, name), rtol=0, atol=1e-10)


def test_forecasters_are_no_model_files(tmp_path):
    with pytest.raises((TypeError, ValueError), match="Forecaster"):
        greville.save(Forecaster(), tmp_path / "model.greville")


@pytest.mark.full
def test_pending_work_does_not_grow():
    """What is kept after 5000 samples is as large as after 4200."""
    y = np.random.default_rng(0).normal(size=5000)
    model, sizes = Forecaster(hidden=10), []
    for piece in np.split(y, [4200]):
        model.update(piece)
        sizes.append(len(pickle.dumps(model)))
    assert sizes[1] < 1.1 * sizes[0]
