"""Layers that grow with the first rows of a stream: with one seed, and alike in every copy."""

import pickle

import numpy as np
import pytest

import greville
from greville import ELMClassifier, ELMRegressor


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(700, 3))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def saved_and_loaded(model, folder):
    greville.save(model, folder / "m.greville")
    return greville.load(folder / "m.greville")


def test_a_loaded_model_without_a_seed_grows_alike(rows, tmp_path):
    X, y = rows
    model = ELMClassifier().partial_fit(X[:100], y[:100])
    copies = [saved_and_loaded(model, tmp_path), pickle.loads(pickle.dumps(model))]
    for each in (model, *copies):
        each.partial_fit(X[100:], y[100:])
        assert each.hidden_.n_hidden_ == 200
        np.testing.assert_allclose(each.predict_proba(X), model.predict_proba(X), atol=1e-9)
    merged = model + copies[1]
    assert merged.n_samples_seen_ == 1400


def test_cutting_changes_nothing_with_a_random_state_object(rows):
    X, y = rows
    found = []
    for length in (700, 10):
        model = ELMClassifier(random_state=np.random.RandomState(0))
        for start in range(0, 700, length):
            model.partial_fit(X[start : start + length], y[start : start + length])
        found.append(model.predict_proba(X))
    np.testing.assert_allclose(*found, atol=1e-9)


def test_another_seed_counts_at_the_next_fit_only(rows):
    X, y = rows
    model, other = (ELMClassifier(random_state=0).partial_fit(X[:100], y[:100]) for _ in range(2))
    other.set_params(random_state=99)
    for each in (model, other):
        each.partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))


def test_a_loaded_model_that_has_grown_goes_on_to_the_bit(rng, tmp_path):
    """What loading tries out must not stay: it would change how the next rows are learned."""
    X = rng.normal(size=(1500, 3))
    y = X[:, 0] * X[:, 1]
    model = ELMRegressor(random_state=0).partial_fit(X[:1300], y[:1300])
    loaded = saved_and_loaded(model, tmp_path)
    for start in range(1300, 1500, 20):
        for each in (model, loaded):
            each.partial_fit(X[start : start + 20], y[start : start + 20])
    np.testing.assert_array_equal(model.predict(X), loaded.predict(X))
