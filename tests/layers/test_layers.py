"""The hidden layer against eq. (2) written out."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from greville import (
    ContrastLayer,
    FourierLayer,
    MiniRocketLayer,
    PatchLayer,
    RandomLayer,
    ReceptiveFieldLayer,
    StackedLayer,
    image_layer,
)

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


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.coo_array])
def test_sparse_input(rng, kind):
    X = sparse.random(50, 20, density=0.2, random_state=0).toarray()
    layer = RandomLayer(bias=True, random_state=0).fit(kind(X))
    H = layer.transform(kind(X))
    assert isinstance(H, np.ndarray)
    np.testing.assert_allclose(H, layer.transform(X), rtol=1e-12, atol=1e-14)
    assert layer.transform(kind(X.astype(np.float32))).dtype == np.float32


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


def test_the_scale_of_the_weights():
    scale = 3.0
    X = np.zeros((1, 100))
    uniform = RandomLayer(500, scale=scale, random_state=0).fit(X).weights_
    normal = RandomLayer(500, weights="normal", scale=scale, random_state=0).fit(X).weights_
    assert scale * 0.999 < np.abs(uniform).max() <= scale
    assert abs(uniform.std() / scale - 1 / np.sqrt(3)) < 0.01
    assert abs(normal.std() / scale - 1) < 0.01
    assert abs(normal.mean()) < 0.01 * scale


@pytest.mark.parametrize("activation", ["tanh", "relu", "hard-limit"])
def test_transform_makes_one_array(rng, activation):
    X = rng.normal(size=(4000, 4))
    layer = RandomLayer(500, activation=activation, bias=True, random_state=0).fit(X)
    layer.transform(X[:10])
    tracemalloc.start()
    H = layer.transform(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.1 * H.nbytes


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomLayer(0), "n_hidden=0: pass 'auto' or a whole number >= 1"),
        (lambda: RandomLayer(True), "n_hidden=True"),
        (lambda: RandomLayer(weights="cauchy"), "weights='cauchy'.*'uniform' or 'normal'"),
        (lambda: RandomLayer(weights=np.ones(3)), "weights=array"),
        (lambda: RandomLayer(scale=1e308), "scale=1e"),
        (lambda: RandomLayer(scale=float("nan")), "scale=nan"),
        (lambda: RandomLayer(bias="no"), "bias='no'.*True or False"),
        (lambda: RandomLayer(activation="softmax"), "activation='softmax'.*'tanh'"),
        (lambda: RandomLayer(activation=lambda a: a[:, :1]), "activation: it returned ndarray"),
        (lambda: RandomLayer(random_state="seed"), "random_state='seed'"),
        (lambda: FourierLayer(gamma="no"), "gamma='no': pass 'scale' or a number > 0"),
        (lambda: ReceptiveFieldLayer((10, 10)), "shape"),
        (lambda: ReceptiveFieldLayer((8, 8.0)), "shape"),
        (lambda: ReceptiveFieldLayer((8, 8), border=4), "border"),
        (lambda: ReceptiveFieldLayer((8, 8), border=1, min_area=100), "min_area"),
        (lambda: ContrastLayer(receptive_fields=(4, 8)), "receptive_fields"),
        (lambda: ContrastLayer(candidates=0), "candidates"),
        (lambda: PatchLayer((8, 8, 2)), "shape"),
        (lambda: PatchLayer((8, 8), patch=9), "patch=9: it is larger than an image"),
        (lambda: PatchLayer((8, 8), grid=(9, 2)), "grid"),
        (lambda: image_layer((8, 8), 0), "n_hidden"),
        (lambda: StackedLayer(RandomLayer(5), "second"), "second"),
        (lambda: MiniRocketLayer(max_dilations=1.5), "max_dilations"),
    ],
)
def test_bad_parameters_are_named(rng, make, message):
    X, y = rng.normal(size=(20, 64)), np.arange(20) % 2
    with pytest.raises(ValueError, match=message):
        make().fit(X, y).transform(X)


def test_a_failed_fit_leaves_the_layer_as_it_was(rng):
    X = rng.normal(size=(4, 3))
    layer = RandomLayer(5, random_state=0).fit(X)
    before = layer.transform(X)
    with pytest.raises(ValueError, match="X: Input X contains NaN"):
        layer.fit(np.full((4, 6), np.nan))
    np.testing.assert_array_equal(layer.transform(X), before)
