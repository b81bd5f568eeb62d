"""Forecasts with a layer that remembers the series."""

import numpy as np
import pytest

from greville import LagLayer, RandomLayer, ReservoirLayer
from greville.forecasting import Forecaster, forecast


def series(n=700):
    """A sum of two sines, squared: what comes next follows from some samples before."""
    t = np.arange(n)
    return (np.sin(t / 7) + 0.7 * np.sin(t / 3.1)) ** 2


def predictions(values, cuts, **parameters):
    model = Forecaster(5, hidden=10, alpha=1, **parameters)
    parts = [model.update(piece) for piece in np.split(values, cuts)]
    return np.concatenate([part.prediction for part in parts]), model.future()


@pytest.mark.parametrize("horizon", [1, 2])
@pytest.mark.parametrize("layer", [ReservoirLayer(30), LagLayer(3)], ids=str)
def test_how_the_series_is_cut_changes_nothing(layer, horizon):
    values = series(400)
    values[[50, 130, 131, 300]] = np.nan
    whole, future = predictions(values, [], layer=layer, horizon=horizon)
    cut, other = predictions(values, [1, 99, 100, 101, 250], layer=layer, horizon=horizon)
    np.testing.assert_allclose(cut, whole, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(other.prediction, future.prediction, rtol=1e-5, atol=1e-6)
    assert np.isfinite(future.prediction).all()


def test_predictions_do_not_know_what_comes_later():
    values, later = series(400), series(400)
    later[300:] += 50.0
    layer = ReservoirLayer(30)
    first, second = (predictions(v, [300], layer=layer, horizon=2)[0] for v in (values, later))
    n = 300 - 5
    np.testing.assert_allclose(first[:n], second[:n], rtol=1e-9)


def test_a_reservoir_helps_where_it_should(rng):
    values = series() + 0.05 * rng.normal(size=700)
    errors = []
    for layer in (None, ReservoirLayer(100, leak=0.5)):
        found = forecast(values, lags=3, horizon=2, hidden=10, alpha=1, layer=layer)
        late = (found.index > 400) & np.isfinite(found.target)
        errors.append(np.abs(found.target - found.prediction)[late].mean())
    assert errors[1] < 0.8 * errors[0]


def test_other_inputs_and_a_failure_change_nothing(rng):
    values, inputs = series(300), rng.normal(size=(300, 2))
    model = Forecaster(3, hidden=10, alpha=1, layer=LagLayer(2))
    model.update(values[:200], inputs[:200])
    future = model.future().prediction
    with pytest.raises(ValueError, match="too far from the first"):
        model.update([1e300], inputs[:1])
    np.testing.assert_array_equal(model.future().prediction, future)
    model.update(values[200:], inputs[200:])


@pytest.mark.parametrize("layer", [5, "reservoir", RandomLayer(5), ReservoirLayer])
def test_layers_that_do_not_remember(layer):
    with pytest.raises(ValueError, match="layer="):
        Forecaster(layer=layer)
