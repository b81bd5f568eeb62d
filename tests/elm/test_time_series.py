"""Models of time series: shapes of X, and all that the estimators can."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import greville
from greville import (
    ELMClassifier,
    LinearClassifier,
    MiniRocketLayer,
    Opium,
    RandomLayer,
    TimeSeriesClassifier,
    TimeSeriesRegressor,
)

LAYER = MiniRocketLayer(420)


def waves(rng, n, channels=2, length=60):
    """Sines of random phase, in three periods."""
    y = np.arange(n) % 3
    phase = rng.uniform(0, 6, size=(n, channels, 1))
    X = np.sin(np.arange(length) / (3 + y)[:, None, None] + phase)
    return X + 0.3 * rng.normal(size=X.shape), np.array(["a", "b", "c"])[y]


def classifier(**parameters):
    return TimeSeriesClassifier(LAYER, random_state=0, **parameters)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("channels", [1, 2])
def test_kinds_of_waves_are_told_apart(rng, channels, dtype):
    X, y = waves(rng, 300, channels)
    X = X.astype(dtype)
    model = classifier().fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.97
    probabilities = model.predict_proba(X[200:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert model.n_channels_ == channels
    assert model.hidden_.n_channels_ == channels
    flat = X.reshape(len(X), -1)
    np.testing.assert_array_equal(model.predict_proba(flat[200:]), probabilities)


def test_it_is_the_layer_and_the_readout(rng):
    X, y = waves(rng, 200)
    layer = clone(LAYER).set_params(random_state=0).fit(X[:100])
    readout = ELMClassifier(None, standardize=False).fit(layer.transform(X[:100]), y[:100])
    model = classifier().fit(X[:100], y[:100])
    want = readout.decision_function(layer.transform(X[100:]))
    np.testing.assert_allclose(model.decision_function(X[100:]), want, rtol=1e-6, atol=1e-8)
    default = TimeSeriesClassifier(random_state=0).fit(X[:30], y[:30])
    assert default.hidden_.n_hidden_ == 9996


def test_a_stream_is_a_fit(rng):
    X, y = waves(rng, 300)
    model = classifier(solver=Opium(1.0, intercept=True))
    whole = clone(model).prepare(X[:50], y[:50]).partial_fit(X, y)
    stream = clone(model).prepare(X[:50], y[:50])
    predicted = stream.prequential(X[:200], y[:200])
    assert np.mean(predicted[50:] == y[50:200]) > 0.9
    for x, label in zip(X[200:203], y[200:203], strict=True):
        assert stream.predict_one(x) == stream.predict(x[None])[0]
        stream.learn_one(x, label)
    stream.partial_fit(X[203:], y[203:])
    want = whole.decision_function(X)
    np.testing.assert_allclose(stream.decision_function(X), want, atol=1e-7)
    single = clone(model).learn_one(X[0], y[0]).learn_one(X[1], y[1])
    assert single.n_channels_ == 2
    assert single.predict_one(X[1]) == y[1]


def test_classes_that_come_later_and_rows_that_go(rng):
    X, y = waves(rng, 300)
    late = np.argsort(y == "c", kind="stable")
    X, y = X[late], y[late]
    model = classifier().partial_fit(X[:200], y[:200])
    assert model.classes_.tolist() == ["a", "b"]
    model.partial_fit(X[200:], y[200:])
    assert model.score(X, y) > 0.97
    kept = np.ones(300, bool)
    kept[:40] = False
    model = classifier(solver=Opium(1.0, intercept=True)).prepare(X, y).partial_fit(X, y)
    less = clone(model).prepare(X, y).partial_fit(X[kept], y[kept])
    model.unlearn(X[~kept], y[~kept])
    np.testing.assert_allclose(model.decision_function(X), less.decision_function(X), atol=1e-6)


def test_merged_copied_and_stored(rng, tmp_path):
    X, y = waves(rng, 200)
    start = classifier(solver=Opium(1.0, intercept=True)).prepare(X[:50], y[:50])
    parts = [pickle.loads(pickle.dumps(start)) for _ in range(2)]
    parts[0].partial_fit(X[:90], y[:90])
    parts[1].partial_fit(X[90:], y[90:])
    whole = pickle.loads(pickle.dumps(start)).partial_fit(X, y)
    want = whole.decision_function(X)
    np.testing.assert_allclose(sum(parts).decision_function(X), want, atol=1e-7)
    for model in (whole, TimeSeriesRegressor(LAYER).fit(X, np.arange(200.0)), classifier()):
        greville.save(model, tmp_path / "model.greville")
        again = greville.load(tmp_path / "model.greville")
        assert type(again) is type(model)
        if hasattr(model, "n_channels_"):
            np.testing.assert_array_equal(again.predict(X), model.predict(X))
            again.partial_fit(X[:5], again.predict(X[:5]))


def test_numbers(rng):
    t, period = np.arange(60), rng.uniform(4, 8, size=400)
    X = np.sin(t / period[:, None] + rng.uniform(0, 6, size=(400, 1)))
    y = 1000 + 50 * period
    model = TimeSeriesRegressor(LAYER, random_state=0).fit(X[:300], y[:300])
    predicted, std = model.predict(X[300:], return_std=True)
    assert model.score(X[300:], y[300:]) > 0.9
    assert 0.75 < np.mean(np.abs(predicted - y[300:]) < 1.64 * std) <= 1
    both = TimeSeriesRegressor(LAYER, random_state=0).fit(X, np.c_[y, -y])
    assert both.predict(X).shape == (400, 2)


def test_other_layers_and_tools_of_scikit_learn(rng):
    X, y = waves(rng, 120, 1)
    model = TimeSeriesClassifier(RandomLayer(50), random_state=0).fit(X, y)
    assert model.hidden_.n_hidden_ == 50
    assert cross_val_score(classifier(), X, y, cv=3).min() > 0.9
    pipeline = make_pipeline(StandardScaler(), classifier()).fit(X[:, 0], y)
    assert pipeline.score(X[:, 0], y) > 0.97
    pipeline = make_pipeline(clone(LAYER), LinearClassifier()).fit(X, y)
    assert pipeline.score(X, y) > 0.97
    assert classifier().get_params()["layer__n_hidden"] == 420
    assert model.summary()["hidden layer"] == "RandomLayer, units: 50 (tanh)"


def test_refusals_leave_the_model_as_it_was(rng):
    X, y = waves(rng, 60)
    model = classifier().fit(X, y)
    want = model.decision_function(X)
    bad = X.copy()
    bad[0, 0, 0] = np.inf
    for method, rows, message in (
        (model.partial_fit, X[:, :1], "X: its series have 1 channels, and 2 are expected"),
        (model.fit, [[[1.0]], [[1.0, 2.0]]], "X: its series differ in length"),
        (model.partial_fit, X[:, :, :50], "has 100 features"),
        (model.fit, bad, "infinity"),
        (model.fit, np.where(np.isinf(bad), np.nan, bad), "NaN. A series has no gaps: fill"),
    ):
        with pytest.raises(ValueError, match=message):
            method(rows, y[: len(rows)])
    np.testing.assert_array_equal(model.decision_function(X), want)
    for layer in (7, "rocket", RandomLayer):
        with pytest.raises(ValueError, match="layer="):
            TimeSeriesClassifier(layer).fit(X, y)
    with pytest.raises(ValueError, match="n_channels"):
        TimeSeriesClassifier(MiniRocketLayer(n_channels=0)).fit(X, y)
