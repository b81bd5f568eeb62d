"""The hidden layer against eq. (2) written out."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from greville import RandomLayer

FORMULAS = {
    "tanh": np.tanh,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "relu": lambda a: np.where(a > 0, a, 0),
    "sin": np.sin,
    "cos": np.cos,
    "hard-limit": lambda a: np.where(a >= 0, 1.0, 0.0),
    "identity": lambda a: a,
    np.arctan: np.arctan,
}


@pytest.mark.parametrize("activation", FORMULAS, ids=str)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equation_2(rng, activation, bias, dtype):
    X = rng.normal(0.5, 2.0, size=(40, 6)).astype(dtype)
    X[0] = 0
    layer = RandomLayer(30, activation=activation, bias=bias, random_state=1).fit(X)
    H = layer.transform(X)
    want = np.empty((40, 30))
    for t in range(40):
        for j in range(30):
            a = sum(layer.weights_[i, j] * X[t, i] for i in range(6))
            want[t, j] = FORMULAS[activation](a + (layer.bias_[j] if bias else 0))
    assert H.dtype == dtype
    assert (layer.bias_ is not None) == bias
    np.testing.assert_allclose(H, want, atol=1e-12 if dtype == np.float64 else 2e-5)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_input(rng, kind):
    X = sparse.random(50, 20, density=0.2, random_state=0).toarray()
    layer = RandomLayer(bias=True, random_state=0).fit(kind(X))
    H = layer.transform(kind(X))
    assert isinstance(H, np.ndarray)
    np.testing.assert_allclose(H, layer.transform(X), rtol=1e-12, atol=1e-14)
    assert layer.transform(kind(X.astype(np.float32))).dtype == np.float32


def test_auto_is_ten_times_the_inputs(rng):
    layer = RandomLayer().fit(rng.normal(size=(3, 7)))
    assert layer.n_hidden_ == 70
    assert layer.weights_.shape == (7, 70)
    assert layer.get_feature_names_out()[-1] == "randomlayer69"


def test_the_same_seed_gives_the_same_units(rng):
    X = rng.normal(size=(3, 5))
    layer = RandomLayer(40, random_state=7).fit(X)
    single = RandomLayer(40, random_state=7).fit(X.astype(np.float32))
    np.testing.assert_array_equal(clone(layer).fit(X).weights_, layer.weights_)
    np.testing.assert_array_equal(single.weights_, layer.weights_.astype(np.float32))
    np.testing.assert_array_equal(
        RandomLayer(10, random_state=7).fit(X).weights_, layer.weights_[:, :10]
    )
    np.testing.assert_array_equal(
        RandomLayer(40, bias=True, random_state=7).fit(X).weights_, layer.weights_
    )
    assert not np.array_equal(RandomLayer(40, random_state=8).fit(X).weights_, layer.weights_)
    # These numbers are the same on every platform: RandomState's stream is frozen.
    np.testing.assert_allclose(layer.weights_[:3, 0], [-0.42369171, 0.27991879, -0.06159077], 1e-7)


@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_the_scale_of_the_weights(scale):
    X = np.zeros((1, 100))
    uniform = RandomLayer(500, scale=scale, random_state=0).fit(X).weights_
    normal = RandomLayer(500, weights="normal", scale=scale, random_state=0).fit(X).weights_
    assert scale * 0.999 < np.abs(uniform).max() <= scale
    assert abs(uniform.std() / scale - 1 / np.sqrt(3)) < 0.01
    assert abs(normal.std() / scale - 1) < 0.01
    assert abs(normal.mean()) < 0.01 * scale


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu", "hard-limit", "identity", "cos"])
@pytest.mark.parametrize("order", "CF")
def test_transform_makes_one_array(rng, activation, order):
    X = np.array(rng.normal(size=(4000, 4)), order=order)
    layer = RandomLayer(500, activation=activation, bias=True, random_state=0).fit(X)
    layer.transform(X[:10])
    tracemalloc.start()
    H = layer.transform(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.1 * H.nbytes


def test_a_data_frame_in_and_out(rng):
    X = pd.DataFrame(rng.normal(size=(5, 2)), columns=["a", "b"])
    layer = RandomLayer(3, random_state=0).set_output(transform="pandas").fit(X)
    assert list(layer.feature_names_in_) == ["a", "b"]
    assert list(layer.transform(X).columns) == ["randomlayer0", "randomlayer1", "randomlayer2"]
    with pytest.raises(ValueError, match="X: The feature names"):
        layer.transform(X[["b", "a"]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_hidden": 0}, "n_hidden=0"),
        ({"n_hidden": 2.5}, "n_hidden=2.5"),
        ({"n_hidden": "many"}, "n_hidden='many'"),
        ({"n_hidden": True}, "n_hidden=True"),
        ({"weights": "cauchy"}, "weights='cauchy'.*'uniform' or 'normal'"),
        ({"weights": np.ones(3)}, "weights=array"),
        ({"scale": 0}, "scale=0"),
        ({"scale": 1e308}, "scale=1e"),
        ({"bias": "no"}, "bias='no'.*True or False"),
        ({"activation": ["tanh"]}, "activation=.*choose one of"),
        ({"random_state": "seed"}, "random_state.*seed"),
        ({"scale": float("nan")}, "scale=nan"),
        ({"scale": float("inf")}, "scale=inf"),
        ({"activation": "softmax"}, "activation='softmax'.*'tanh'"),
        ({"activation": lambda a: a[:, :1]}, "activation: it returned ndarray of shape"),
    ],
)
def test_bad_parameters(rng, parameters, message):
    X = rng.normal(size=(4, 3))
    with pytest.raises(ValueError, match=message):
        RandomLayer(**parameters).fit_transform(X)


def test_a_failed_fit_leaves_the_layer_as_it_was(rng):
    X = rng.normal(size=(4, 3))
    layer = RandomLayer(5, random_state=0).fit(X)
    before = layer.transform(X)
    with pytest.raises(ValueError, match="X: Input X contains NaN"):
        layer.fit(np.full((4, 6), np.nan))
    np.testing.assert_array_equal(layer.transform(X), before)


def test_a_layer_that_is_drawn_again_has_weights_of_its_own():
    X = np.ones((1, 30), np.float32)
    first, kinds = RandomLayer(300, bias=True, random_state=5).fit(X), ("uniform", "normal")
    want = {
        kind: RandomLayer(300, weights=kind, random_state=np.random.RandomState(5)).fit(X)
        for kind in kinds
    }
    first.weights_ *= 2
    first.bias_ *= 2
    for kind in (*kinds, "uniform"):
        again = RandomLayer(300, weights=kind, bias=True, random_state=5).fit(X)
        np.testing.assert_array_equal(again.weights_, want[kind].weights_)
    np.testing.assert_array_equal(2 * again.bias_, first.bias_)
