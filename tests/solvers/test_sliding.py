"""OPIUM over a window of rows."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from greville import ELMClassifier, ELMRegressor, Opium, SlidingOpium

from .. import oracles
from ..every_pair import every_pair
from ..oracles import relative_error
from ..problems import learned, problem


@pytest.mark.everywhere
@every_pair(
    window=[1, 7, 50, 130, 1000],
    cuts=[[], [40, 41, 200], range(0, 400, 11), range(400)],
    epsilon=[0.3, 1e-3, 1e-12],
)
def test_the_last_rows_alone(rng, epsilon, window, cuts):
    H, Y = problem(rng, 400, 12)
    weight = rng.uniform(0.5, 2, size=400)
    model = SlidingOpium(window, epsilon)
    edges = sorted({0, 400, *cuts})
    for start, stop in pairwise(edges):
        model.partial_fit(H[start:stop], Y[start:stop], weight[start:stop])
        if stop in (41, 200, 399, 400):
            last = slice(max(0, stop - window), stop)
            want = ridge(H[last], Y[last], epsilon, weight[last])
            assert relative_error(model.coef_.T, want) < 1e-8
    assert model.n_samples_seen_ == 400
    last = slice(max(0, 400 - window), 400)
    fresh = SlidingOpium(window, epsilon).fit(H[last], Y[last], weight[last])
    np.testing.assert_allclose(model.loss_, fresh.loss_, rtol=1e-6, atol=1e-9)


def ridge(H, Y, epsilon, weight):
    root = np.sqrt(weight)[:, None]
    U, s, Vt = np.linalg.svd(root * H, full_matrices=False)
    return Vt.T * (s / (s**2 + epsilon**2)) @ U.T @ (root * Y)


@pytest.mark.everywhere
@every_pair(window=[1, 5, 40, 70, 1000], epsilon=[0.1, 1e-12], holes=[False, True])
def test_prequential_is_the_loop(rng, window, epsilon, holes):
    H, Y = problem(rng, 120, 10)
    weight = rng.uniform(0.5, 2, size=120)
    if holes:
        weight[rng.integers(0, 120, size=8)] = 0
    model = SlidingOpium(window, epsilon)
    loop, want = clone(model), np.zeros_like(Y)
    for k in range(120):
        if k:
            want[k] = loop.predict(H[k : k + 1])[0]
        loop.partial_fit(H[k : k + 1], Y[k : k + 1], weight[k : k + 1])
    got = np.vstack(
        [
            model.prequential(H[start : start + 60], Y[start : start + 60], weight[start:][:60])
            for start in (0, 60)
        ]
    )
    assert relative_error(got, want) < 1e-8
    assert relative_error(model.coef_, loop.coef_) < 1e-8


def test_no_drift(rng):
    """A window of 300 over 20,000 rows, against a batch solution at twenty times."""
    n, M, window = 20_000, 60, 300
    H = np.tanh(rng.normal(size=(n, 20)) @ rng.normal(size=(20, M)))
    Y = rng.normal(size=(n, 1))
    times = set(rng.integers(1, n // 100, size=20) * 100)
    model = SlidingOpium(window)
    for stop in range(100, n + 1, 100):
        model.partial_fit(H[stop - 100 : stop], Y[stop - 100 : stop])
        if stop in times:
            last = slice(max(0, stop - window), stop)
            want = oracles.pseudoinverse_weights(H[last], Y[last], 1e-3)
            assert relative_error(model.coef_.T, want) < 1e-8


@pytest.mark.everywhere
def test_float32(rng):
    H, Y = (a.astype(np.float32) for a in problem(rng, 3000, 30))
    model = learned(SlidingOpium(500, 0.1), H, Y, range(0, 3000, 64))
    assert model.coef_.dtype == np.float32
    want = oracles.pseudoinverse_weights(H[-500:], Y[-500:], 0.1)
    assert relative_error(model.coef_.T, want) < 1e-4


def test_in_the_estimators(rng):
    X = rng.normal(size=(500, 3))
    y = np.where(np.arange(500) < 250, X[:, 0], -X[:, 0])
    model = ELMRegressor(20, SlidingOpium(200), random_state=0)
    for start in range(0, 500, 10):
        model.partial_fit(X[start : start + 10], y[start : start + 10])
    want = ELMRegressor(20, Opium(), random_state=0).fit(X[-200:], y[-200:])
    assert np.allclose(model.predict(X), want.predict(X), atol=1e-7)
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[:5], y[:5])
    assert np.allclose(again.predict(X), model.partial_fit(X[:5], y[:5]).predict(X), atol=1e-10)


def test_classes_that_come_late(rng):
    X = rng.normal(size=(300, 3))
    y = np.repeat([0, 1, 2], 100)
    y[:100] = rng.integers(0, 2, size=100)
    model = ELMClassifier(15, SlidingOpium(150), random_state=0)
    for start in range(0, 300, 20):
        model.partial_fit(X[start : start + 20], y[start : start + 20])
    want = ELMClassifier(15, Opium(), random_state=0)
    want.partial_fit(X[-150:], y[-150:], classes=[0, 1, 2])
    assert relative_error(model.solver_.coef_, want.solver_.coef_) < 1e-8


@pytest.mark.parametrize("bad", [{"window": 0}, {"window": 2.5}, {"epsilon": -1}])
def test_bad_parameters(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        SlidingOpium(**bad).fit([[1.0], [2.0]], [1.0, 2.0])
