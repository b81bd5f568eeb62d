"""The layer for tables: what its units are, and that they are what `fit` to columns makes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from greville import ELMRegressor, TableLayer
from greville.layers import ColumnSummary, matrix_of, runs_on_device


def skewed(rng, n=300):
    """Columns in all kinds of units, one of which never changes."""
    return np.column_stack(
        [rng.normal(size=n), rng.exponential(size=n) ** 2, rng.integers(0, 2, n), np.full(n, 3.0)]
    )


def parts(layer):
    smooth = slice(0, layer.n_tanh_)
    bent = slice(layer.n_tanh_, layer.n_tanh_ + layer.n_relu_)
    return smooth, bent, slice(bent.stop, layer.n_hidden_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tanh_relu_and_the_inputs_themselves(rng, dtype):
    X = skewed(rng).astype(dtype)
    layer = TableLayer(60, random_state=1).fit(X)
    H, A = layer.transform(X), X.astype(float) @ layer.weights_ + layer.bias_
    smooth, bent, direct = parts(layer)
    tolerance = 1e-12 if dtype is np.float64 else 1e-3
    np.testing.assert_allclose(H[:, smooth], np.tanh(A[:, smooth]) / 4, atol=tolerance)
    np.testing.assert_allclose(
        H[:, bent], np.where(A > 0, A, 0)[:, bent], rtol=tolerance, atol=10 * tolerance
    )
    np.testing.assert_array_equal(H[:, direct], X / 4)
    assert H.dtype == layer.weights_.dtype == layer.bias_.dtype == dtype
    assert H.shape == (300, 60)


def test_a_quarter_sees_all_inputs_and_the_others_one_to_three(rng):
    X = rng.normal(size=(50, 8))
    layer = TableLayer(200, random_state=0).fit(X)
    seen = (layer.weights_ != 0).sum(axis=0)
    assert (seen == 8).sum() == 48  # a quarter of 192
    assert (seen[-8:] == 1).all()
    few = seen[48:192]
    assert set(few.tolist()) == {1, 2, 3}
    assert np.bincount(few)[1:].min() > 30
    assert layer.n_relu_ == 72


def test_columns_that_never_change_are_not_looked_at(rng):
    layer = TableLayer(100, random_state=0).fit(skewed(rng))
    few = layer.weights_[:, 24:96]
    assert (few[3] == 0).all()
    assert (few[:3] != 0).any(axis=1).all()
    assert np.isfinite(TableLayer(20).fit_transform(np.ones((5, 2)))).all()


def test_from_columns_as_from_rows(rng):
    X = skewed(rng)
    columns = ColumnSummary(X.mean(axis=0), X.std(axis=0), X.min(axis=0), X.max(axis=0))
    layer = TableLayer(40, random_state=0)
    made = clone(layer).fit_to_columns(columns, np.float64)
    np.testing.assert_array_equal(made.weights_, layer.fit(X).weights_)
    np.testing.assert_array_equal(made.bias_, layer.bias_)
    assert made.n_features_in_ == 4
    with pytest.raises(ValueError, match="n_hidden"):
        TableLayer(0).fit_to_columns(columns, np.float64)


def test_sparse_rows_have_the_units_of_dense_ones():
    X = sparse.random(80, 12, density=0.3, random_state=0, format="csr")
    layer, dense = (TableLayer(70, random_state=0).fit(A) for A in (X, X.toarray()))
    np.testing.assert_allclose(layer.weights_, dense.weights_, rtol=1e-10)
    np.testing.assert_allclose(layer.transform(X), dense.transform(X.toarray()), atol=1e-12)


def test_it_goes_wherever_layers_go(rng):
    X = rng.normal(size=(400, 3)) * [1, 100, 0.01]
    y = np.abs(X[:, 0]) + (X[:, 1] > 30)
    layer = TableLayer(120, random_state=0)
    model = ELMRegressor(layer).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.9
    assert runs_on_device(model.hidden_)
    one = [model.predict_one(x) for x in X[300:310]]
    np.testing.assert_allclose(one, model.predict(X[300:310]), rtol=1e-9)
    found = matrix_of(layer.fit(X))
    assert found.weights is layer.weights_
    assert (found.n_tanh, found.n_relu) == (layer.n_tanh_, layer.n_relu_)


@pytest.mark.parametrize("constant", [0.1, 1e6 + 0.1, -3e-7])
def test_the_rounding_of_a_constant_column_is_no_spread(rng, constant):
    X = np.column_stack([rng.normal(size=(300, 3)), np.full(300, constant)])
    layer = TableLayer(50, random_state=0).fit(X)
    assert np.abs(layer.weights_).max() < 100
