"""MiniRocket against the paper written out, and on every way to compute it."""

import os
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from greville import MiniRocketLayer, backend
from greville.compiled import use


def waves(rng, n, channels=1, length=50):
    return 3 + rng.normal(size=(n, channels, length)).cumsum(axis=2)


def responses(series, dilation, places):
    """A kernel with 2 at three of nine places and -1 at the others, beyond the series zeros."""
    padded = np.pad(series, 4 * dilation)
    weights = np.where(np.isin(np.arange(9), places), 2.0, -1.0)
    return np.array(
        [weights @ padded[t : t + 8 * dilation + 1 : dilation] for t in range(len(series))]
    )


def by_hand(layer, X):
    """The proportions of all units for each series, one after the other."""
    H = []
    for series in X:
        x = (series - layer.centre_[:, None]) / layer.unit_[:, None]
        row, k = [], 0
        for j, (dilation, size) in enumerate(zip(layer.dilations_, layer.n_biases_, strict=True)):
            for kernel, places in enumerate(combinations(range(9), 3)):
                response = responses(x[layer.channels_[k]].sum(axis=0), dilation, places)
                if (j + kernel) % 2:
                    response = response[4 * dilation : len(response) - 4 * dilation]
                for bias in layer.bias_[len(row) : len(row) + size]:
                    row.append((response > bias).mean())
                k += 1
        H.append(row)
    return np.array(H)


@pytest.mark.parametrize(("channels", "length"), [(1, 50), (12, 20)])
def test_the_paper_written_out(rng, channels, length):
    layer = MiniRocketLayer(700, max_dilations=5, random_state=0)
    layer.fit(waves(rng, 30, channels, length))
    X = waves(rng, 4, channels, length)
    want = (by_hand(layer, X) - layer.mean_) / layer.spread_
    with use(False):
        np.testing.assert_allclose(layer.transform(X), want, rtol=1e-4, atol=1e-4)


def test_biases_are_quantiles_of_a_response(rng):
    X = waves(rng, 1, length=40)
    layer = MiniRocketLayer(840, max_dilations=2, random_state=0).fit(X)
    x = (X[0, 0] - layer.centre_[0]) / layer.unit_[0]
    golden, at = (np.sqrt(5) + 1) / 2, 0
    for dilation, size in zip(layer.dilations_, layer.n_biases_, strict=True):
        for places in combinations(range(9), 3):
            quantiles = (np.arange(at + 1, at + size + 1) * golden) % 1
            want = np.quantile(responses(x, dilation, places), quantiles)
            np.testing.assert_allclose(layer.bias_[at : at + size], want, rtol=1e-4, atol=1e-5)
            at += size
    assert at == layer.n_hidden_ == 840


def test_units_of_the_first_series(rng):
    X = waves(rng, 200)
    H = MiniRocketLayer(840, random_state=0).fit_transform(X)
    np.testing.assert_allclose(H.mean(axis=0), 0, atol=1e-4)
    assert H.std(axis=0).max() <= 1
    assert np.median(H.std(axis=0)) > 0.9


@pytest.mark.parametrize(("channels", "length"), [(1, 300), (4, 65)])
def test_compiled_code_gives_the_same_bits(rng, channels, length, monkeypatch):
    pytest.importorskip("numba", reason="numba is not installed")
    monkeypatch.setattr("greville.compiled.on_demand._WORTH_LOADING", 0)
    X = waves(rng, 20, channels, length)
    layer = MiniRocketLayer(840, random_state=0).fit(X)
    X[3, 0, 5:9] = 1e300
    with use(True):
        compiled = layer.transform(X)
    with use(False):
        np.testing.assert_array_equal(compiled, layer.transform(X))


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tensors_give_the_same_numbers(rng, channels, dtype):
    pytest.importorskip("torch", reason="torch is not installed")
    b = backend.get("torch:" + os.environ.get("GREVILLE_DEVICE", "cpu"))
    X = waves(rng, 20, channels).astype(dtype)
    layer = MiniRocketLayer(840, random_state=0).fit(X)
    rows = X.reshape(len(X), -1)
    H = layer.activations_on(b, b.asarray(rows))
    np.testing.assert_allclose(b.to_numpy(H), layer.transform(X), rtol=1e-6, atol=1e-5)
    rows[2, 3] = np.nan
    H = b.to_numpy(layer.activations_on(b, b.asarray(rows)))
    assert np.isnan(H).any(axis=1).tolist() == [i == 2 for i in range(20)]


def test_flat_rows_sparse_rows_and_dtypes(rng):
    X = waves(rng, 40, 3)
    layer = MiniRocketLayer(840, random_state=0).fit(X)
    H = layer.transform(X)
    flat = MiniRocketLayer(840, n_channels=3, random_state=0).fit(X.reshape(40, -1))
    np.testing.assert_array_equal(flat.transform(X), H)
    np.testing.assert_array_equal(layer.transform(X.reshape(40, -1)), H)
    np.testing.assert_array_equal(layer.transform(sparse.csr_array(X.reshape(40, -1))), H)
    np.testing.assert_array_equal(layer.transform(X[::-1])[::-1], H)
    np.testing.assert_array_equal(layer.transform(X.tolist()), H)
    np.testing.assert_array_equal([layer.activations_one(x.ravel()) for x in X[:3]], H[:3])
    assert H.dtype == np.float64
    assert layer.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_array_equal(clone(layer).fit(X).transform(X), H)
    assert not np.array_equal(clone(layer).set_params(random_state=1).fit(X).transform(X), H)
    assert layer.get_feature_names_out()[-1] == "minirocketlayer839"


def test_far_from_zero_and_other_units_change_little(rng):
    X = waves(rng, 30)
    H = MiniRocketLayer(840, random_state=0).fit_transform(X)
    far = MiniRocketLayer(840, random_state=0).fit_transform(1e-9 * X + 1.0)
    assert (np.abs(far - H) > 1e-3).mean() < 1e-3


@pytest.mark.parametrize("length", [1, 9])
def test_short_and_constant_series(rng, length):
    for X in (waves(rng, 5, 2, length), np.zeros((5, 2, length)), np.ones((1, 1, length))):
        assert np.isfinite(MiniRocketLayer(168, random_state=0).fit_transform(X)).all()


def test_refusals(rng):
    X = waves(rng, 5, 2)
    layer = MiniRocketLayer(168, random_state=0).fit(X)
    with pytest.raises(ValueError, match="X: its series have 3 channels, and 2 are expected"):
        layer.transform(waves(rng, 5, 3))
    with pytest.raises(ValueError, match="has 120 features, but MiniRocketLayer is expecting 100"):
        layer.transform(waves(rng, 5, 2, 60))
    with pytest.raises(ValueError, match="X: its series differ in length"):
        layer.transform([[[1.0, 2.0]], [[1.0, 2.0, 3.0]]])
    with pytest.raises(ValueError, match="X: 100 columns are not those of 3 channels"):
        MiniRocketLayer(n_channels=3).fit(X.reshape(5, -1))
    bad = X.copy()
    bad[0, 0, 0] = np.nan
    before = layer.transform(X)
    for method in (layer.fit, layer.transform):
        with pytest.raises(ValueError, match="contains NaN"):
            method(bad)
    np.testing.assert_array_equal(layer.transform(X), before)
