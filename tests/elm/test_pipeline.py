"""The estimators: layer plus solver, in blocks."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

from greville import (
    Batch,
    ELMClassifier,
    ELMRegressor,
    Opium,
    OpiumLight,
    RandomLayer,
)

from ..oracles import opium_light, pseudoinverse_weights, relative_error
from .problems import SOLVERS, classification, regression


def test_the_regressor_is_layer_plus_solver(rng):
    X, Y = regression(rng)
    model = ELMRegressor(30, Opium(0.2), random_state=5).fit(X, Y)
    H = RandomLayer(30, bias=True, random_state=5).fit_transform(X)
    W = pseudoinverse_weights(H, Y, 0.2)
    assert relative_error(model.solver_.coef_.T, W) < 1e-11
    assert relative_error(model.predict(X), H @ W) < 1e-11
    assert model.n_samples_seen_ == 300
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize(
    "solver", ["opium", "greville", "light", "dynamic", "batch", Opium(0.5), Batch(0.1)]
)
def test_solvers_by_name_and_as_objects(rng, solver):
    X, y = regression(rng, outputs=1)
    model = ELMRegressor(20, solver, random_state=0).fit(X, y[:, 0])
    assert model.score(X, y[:, 0]) > 0.5
    assert hasattr(model, "partial_fit") == ("atch" not in str(solver))
    assert hasattr(model, "prequential") == ("atch" not in str(solver))


@pytest.mark.parametrize(
    "hidden",
    ["auto", 15, np.int64(15), RandomLayer(15, bias=True), RBFSampler(n_components=15), PCA(3)],
)
def test_any_transformer_may_be_the_hidden_layer(rng, hidden):
    X, y = regression(rng)
    model = ELMRegressor(hidden, random_state=3).fit(X, y)
    again = ELMRegressor(hidden, random_state=3).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    assert model.score(X, y) > (-1 if isinstance(hidden, (PCA, RBFSampler)) else 0.8)


def test_a_seed_reaches_a_layer_that_has_none(rng):
    X, y = regression(rng)
    by_number = ELMRegressor(15, random_state=3).fit(X, y)
    by_layer = ELMRegressor(RandomLayer(15), random_state=3).fit(X, y)
    own = ELMRegressor(RandomLayer(15, random_state=4), random_state=3).fit(X, y)
    np.testing.assert_array_equal(by_number.hidden_.weights_, by_layer.hidden_.weights_)
    assert not np.array_equal(by_number.hidden_.weights_, own.hidden_.weights_)


def test_transformers_may_return_sparse_and_frames(rng):
    X, y = rng.integers(0, 3, size=(100, 2)), rng.normal(size=100)
    dense = ELMRegressor(OneHotEncoder(sparse_output=False)).fit(X, y)
    np.testing.assert_allclose(ELMRegressor(OneHotEncoder()).fit(X, y).predict(X), dense.predict(X))
    frames = ELMRegressor(PolynomialFeatures(2).set_output(transform="pandas")).fit(X, y)
    plain = ELMRegressor(PolynomialFeatures(2)).fit(X, y)
    np.testing.assert_allclose(frames.predict(X), plain.predict(X))


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("make_sparse", [False, True])
def test_blocks_and_cuts_change_nothing(rng, small_blocks, solver, make_sparse):
    X, Y = regression(rng, n=700)
    X = sparse.csr_array(X * (X > 0.5)) if make_sparse else X
    whole = ELMRegressor(25, solver, random_state=0).fit(X, Y)
    cut = ELMRegressor(25, solver, random_state=0)
    for start in range(0, 700, 90):
        cut.partial_fit(X[start : start + 90], Y[start : start + 90])
    assert relative_error(cut.solver_.coef_, whole.solver_.coef_) < 1e-9
    small_blocks()
    blocks = ELMRegressor(25, solver, random_state=0).fit(X, Y)
    assert relative_error(blocks.solver_.coef_, whole.solver_.coef_) < 1e-9
    np.testing.assert_allclose(blocks.predict(X), whole.predict(X), atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_fit_holds_no_more_than_blocks_of_activations(rng, small_blocks, dtype):
    small_blocks()
    X, y = rng.integers(0, 255, size=(20_000, 5)).astype(dtype), rng.normal(size=20_000)
    model = ELMRegressor(100, random_state=0)
    model.fit(X[:300], y[:300])
    tracemalloc.start()
    model.fit(X, y)
    model.predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    activations = 20_000 * 100 * (4 if dtype == np.float32 else 8)
    assert peak < activations / 8


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_fit_forgets_and_partial_fit_goes_on(rng, solver):
    X, Y = regression(rng)
    model = ELMRegressor(12, solver, random_state=0).fit(X[:100], Y[:100] + 5)
    model.fit(X, Y)
    fresh = ELMRegressor(12, solver, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.solver_.coef_, fresh.solver_.coef_)
    model.partial_fit(X, Y)
    assert model.n_samples_seen_ == 600


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_prequential_is_predict_then_partial_fit(rng, solver):
    X, Y = regression(rng, n=150)
    record = ELMRegressor(12, solver, random_state=0).partial_fit(X[:10], Y[:10])
    loop = ELMRegressor(12, solver, random_state=0).partial_fit(X[:10], Y[:10])
    slowly = []
    for k in range(10, 150):
        slowly.append(loop.predict(X[k : k + 1])[0])
        loop.partial_fit(X[k : k + 1], Y[k : k + 1])
    assert relative_error(record.prequential(X[10:], Y[10:]), np.array(slowly)) < 1e-9
    assert relative_error(record.solver_.coef_, loop.solver_.coef_) < 1e-9


def test_prequential_of_a_new_regressor_starts_at_zero(rng):
    X, Y = regression(rng, n=20)
    predicted = ELMRegressor(12, random_state=0).prequential(X, Y)
    np.testing.assert_allclose(predicted[0], [0.0, 0.0], atol=1e-14)
    assert predicted[5:].any()


def test_float32_all_the_way(rng):
    X, y = classification(rng)
    X = X.astype(np.float32)
    model = ELMClassifier(30, random_state=0).fit(X, y)
    assert model.solver_.coef_.dtype == np.float32
    assert model.decision_function(X).dtype == np.float32
    assert model.predict_proba(X).dtype == np.float32
    regressor = ELMRegressor(PCA(3)).fit(X, y)
    assert regressor.predict(X).dtype == np.float32


def test_sample_weight_reaches_the_solver(rng):
    X, y = classification(rng)
    weight = rng.integers(0, 3, size=300)
    weighted = ELMClassifier(20, random_state=0).fit(X, y, sample_weight=weight)
    chunks = ELMClassifier(20, Opium(weighted.epsilon_, intercept=True), random_state=0)
    chunks.partial_fit(X[:50], y[:50], sample_weight=weight[:50])
    chunks.partial_fit(X[50:], y[50:], sample_weight=weight[50:])
    repeated = ELMClassifier(20, random_state=0)
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    for model in (weighted, chunks):
        assert relative_error(model.solver_.coef_, repeated.solver_.coef_) < 1e-10


def test_light_learns_in_the_order_of_the_rows(rng):
    X, Y = regression(rng)
    model = ELMRegressor(12, OpiumLight(0.5), random_state=0).fit(X, Y)
    W, _ = opium_light(model.hidden_.transform(X), Y, 0.5)
    assert relative_error(model.solver_.coef_.T, W) < 1e-12


def test_data_frames(rng):
    X, y = regression(rng, outputs=1)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = ELMRegressor(12, random_state=0).fit(frame, pd.Series(y[:, 0]))
    np.testing.assert_array_equal(model.feature_names_in_, list("abcd"))
    np.testing.assert_array_equal(
        model.predict(frame), ELMRegressor(12, random_state=0).fit(X, y[:, 0]).predict(X)
    )
