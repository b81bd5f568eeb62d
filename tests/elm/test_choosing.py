"""The hidden layer that is chosen where none is passed."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from greville import ELMClassifier, ELMRegressor, Opium, OpiumLight, RandomLayer, TableLayer
from greville.elm.choosing import places_for_choosing


def steps(rng, n=600):
    """Edges and a line, in all kinds of units, with noise."""
    X = rng.normal(size=(n, 5)) * [1, 100, 1e-3, 1, 1] + [0, 500, 0, 0, 5]
    y = 2.0 * (X[:, 0] > 0.3) * (X[:, 1] > 480) + (X[:, 2] < 0) + 0.3 * X[:, 3]
    return X, y + 0.2 * rng.normal(size=n)


def lorenz(n):
    """A smooth map without noise."""
    x, rows = np.array([1.0, 1.0, 20.0]), []
    for _ in range(n):
        for _ in range(10):
            x = x + 0.002 * np.array(
                [10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]]
            )
        rows.append(x)
    return np.array(rows)


def test_units_that_see_few_inputs_for_tables(rng):
    X, y = steps(rng)
    model = ELMRegressor(random_state=0).fit(X[:400], y[:400])
    assert isinstance(model.hidden_, TableLayer)
    assert model.hidden_.random_state == 0
    before = ELMRegressor(model.hidden_.n_hidden_, random_state=0).fit(X[:400], y[:400])
    assert isinstance(before.hidden_, RandomLayer)
    error, error_before = (1 - m.score(X[400:], y[400:]) for m in (model, before))
    assert error < 0.8 * error_before


def test_units_that_see_all_inputs_for_smooth_maps_and_images():
    states = lorenz(700)
    model = ELMRegressor(random_state=0).fit(states[:-1], states[1:])
    dense = ELMRegressor(model.hidden_.n_hidden_, random_state=0).fit(states[:-1], states[1:])
    np.testing.assert_array_equal(model.hidden_.weights_, dense.hidden_.weights_)
    np.testing.assert_array_equal(model.predict(states), dense.predict(states))
    X, y = load_digits(return_X_y=True)
    assert isinstance(ELMClassifier(random_state=0).fit(X[:500], y[:500]).hidden_, RandomLayer)


def test_of_very_many_rows_the_most_useful_units_are_learned(rng):
    X = rng.normal(size=(5000, 20))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.tanh(X[:, 3]) * X[:, 4]
    model = ELMRegressor(random_state=0).prepare(X[:4000], y[:4000], n_rows=4_000_000)
    model.partial_fit(X[:4000], y[:4000])
    assert isinstance(model.hidden_, TableLayer)
    assert model.hidden_.n_hidden_ == 800
    drawn = ELMRegressor(TableLayer(800, random_state=0), standardize=True).fit(X[:4000], y[:4000])
    error, error_drawn = (1 - m.score(X[4000:], y[4000:]) for m in (model, drawn))
    assert error < 0.7 * error_drawn


def test_the_kind_does_not_depend_on_the_seed(rng):
    X, y = steps(rng, 100)
    kinds = {type(ELMRegressor(random_state=seed).fit(X, y).hidden_) for seed in range(5)}
    assert len(kinds) == 1


def test_explicit_layers_and_few_rows_stay_as_they_are(rng):
    X, y = steps(rng, 200)
    for model in (
        ELMRegressor(50).fit(X, y),
        ELMRegressor(solver=Opium(0.1)).fit(X, y),
        ELMRegressor(solver=OpiumLight()).fit(X, y),
        ELMRegressor().fit(X[:19], y[:19]),
        ELMRegressor().fit(np.hstack([X] * 21), y),  # 105 inputs
    ):
        assert isinstance(model.hidden_, RandomLayer)
    assert isinstance(ELMRegressor().fit(X, y).hidden_, TableLayer)


def test_rows_that_do_not_count_change_nothing(rng):
    X, y = steps(rng, 300)
    w = np.ones(300)
    w[200:], X[200:] = 0, 1e3 * X[200:]
    few = ELMRegressor(random_state=0).fit(X[:200], y[:200])
    weighted = ELMRegressor(random_state=0).fit(X, y, w)
    assert isinstance(few.hidden_, TableLayer)
    assert few.hidden_.n_hidden_ == weighted.hidden_.n_hidden_
    np.testing.assert_allclose(weighted.hidden_.weights_, few.hidden_.weights_, rtol=1e-9)
    np.testing.assert_allclose(weighted.predict(X[:50]), few.predict(X[:50]), rtol=1e-6)


def test_float32_and_sparse_rows(rng):
    X, y = steps(rng)
    model = ELMRegressor(random_state=0).fit(X, y)
    few = ELMRegressor(random_state=0).fit(X.astype(np.float32), y)
    assert isinstance(few.hidden_, TableLayer)
    assert few.predict(X[:5].astype(np.float32)).dtype == np.float32
    assert abs(few.score(X.astype(np.float32), y) - model.score(X, y)) < 0.01
    A = np.where(rng.uniform(size=X.shape) < 0.5, 0, X)
    dense, scattered = (ELMRegressor(random_state=0).fit(B, y) for B in (A, sparse.csr_array(A)))
    assert type(dense.hidden_) is type(scattered.hidden_)
    np.testing.assert_allclose(scattered.predict(A), dense.predict(A), rtol=1e-5, atol=1e-5)


@pytest.mark.full
def test_models_of_one_that_prepared_are_merged_and_unlearn(rng):
    X, y = steps(rng)
    first = ELMRegressor(random_state=0).prepare(X, y)
    assert isinstance(first.hidden_, TableLayer)
    here, there = (copy.copy(first).partial_fit(X[i::2], y[i::2]) for i in range(2))
    model = (here + there).choose()
    whole = ELMRegressor(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-6, atol=1e-8)
    less = copy.copy(whole).unlearn(X[:100], y[:100]).choose()
    rest = copy.copy(first).partial_fit(X[100:], y[100:]).choose()
    np.testing.assert_allclose(less.predict(X), rest.predict(X), rtol=1e-6, atol=1e-8)
    with pytest.raises(ValueError, match="other units|hidden layer is not"):
        _ = ELMRegressor().fit(X[:300], y[:300]) + ELMRegressor().fit(X[300:], y[300:])


def test_the_size_follows_the_rows_that_will_come(rng):
    X, y = steps(rng, 100)
    assert ELMRegressor().prepare(X, y).hidden_.n_hidden_ == 200
    assert ELMRegressor().prepare(X, y, n_rows=1_000).hidden_.n_hidden_ == 800
    assert ELMRegressor().prepare(X, y, n_rows=10_000).hidden_.n_hidden_ == 1600
    assert ELMRegressor().fit(X[:25], y[:25]).hidden_.n_hidden_ == 100


@pytest.mark.full
def test_labels_that_the_rows_do_not_have(rng):
    X, y = steps(rng, 3000)
    labels = np.where(y > 1, "high", "low")
    labels[7] = "rare"  # not among those that the layer is chosen from
    assert 7 not in places_for_choosing(3000)
    model = ELMClassifier(random_state=0).fit(X, labels)
    assert list(model.classes_) == ["high", "low", "rare"]
    assert isinstance(model.hidden_, TableLayer)
    assert model.score(X, labels) > 0.8


def test_rows_or_targets_that_do_not_differ(rng):
    X, y = steps(rng, 100)
    same = ELMRegressor(random_state=0).fit(np.ones((50, 3)), np.ones(50))
    assert isinstance(same.hidden_, RandomLayer)
    np.testing.assert_allclose(same.predict(np.ones((2, 3))), 1)
    constant = ELMRegressor(random_state=0).fit(X, np.full(100, 7.0))
    np.testing.assert_allclose(constant.predict(X), 7)
    noise = ELMRegressor(random_state=0).fit(np.ones((100, 3)), y)
    np.testing.assert_allclose(noise.predict(np.ones((1, 3))), y.mean(), rtol=1e-6)
    only = ELMClassifier(random_state=0).fit(X, np.full(100, "a"))
    assert list(only.predict(X[:2])) == ["a", "a"]
