"""Weights that a seed gives again are not in files."""

import numpy as np
import pytest

import greville
from greville import ELMClassifier, RandomLayer
from greville.persistence import ModelFileError

from .models import forge, take_apart, there_and_back


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(200, 64))
    return X, X[:, 0] > 0


@pytest.mark.parametrize(("dtype", "bias"), [(np.float64, False), (np.float32, True)])
def test_the_same_weights_come_back(rows, dtype, bias, tmp_path):
    X = rows[0].astype(dtype)
    layer = RandomLayer(50, bias=bias, random_state=7).fit(X)
    loaded = there_and_back(layer, tmp_path)
    assert take_apart(tmp_path / "model.greville")[1] == {}
    np.testing.assert_array_equal(loaded.weights_, layer.weights_)
    np.testing.assert_array_equal(loaded.transform(X), layer.transform(X))
    assert loaded.weights_.dtype == dtype


@pytest.mark.parametrize("seed", [0, None])
def test_a_frozen_model_is_small(rows, seed, tmp_path):
    model = ELMClassifier(500, random_state=seed).fit(*rows).frozen()
    loaded = there_and_back(model, tmp_path)
    assert (tmp_path / "model.greville").stat().st_size < 20_000 < model.hidden_.weights_.nbytes
    np.testing.assert_array_equal(loaded.predict_proba(rows[0]), model.predict_proba(rows[0]))


@pytest.mark.parametrize("seed", [None, np.random.RandomState(0), 0], ids=str)
def test_weights_that_do_not_follow_from_a_number_are_stored(rows, seed, tmp_path):
    layer = RandomLayer(50, random_state=seed).fit(rows[0])
    layer.weights_[3, 2] = 9
    np.testing.assert_array_equal(there_and_back(layer, tmp_path).weights_, layer.weights_)


@pytest.mark.parametrize(
    "change",
    [
        {"n_hidden_": 1 << 40},
        {"n_features_in_": 1 << 30},
        {"random_state": None},
    ],
    ids=str,
)
def test_forged_sizes_and_seeds_are_refused(rows, change, tmp_path):
    path = tmp_path / "model.greville"
    greville.save(RandomLayer(50, random_state=0).fit(rows[0]), path)
    document, tensors = take_apart(path)
    document["model"]["object"]["fields"].update(change)
    forge(path, document, tensors)
    with pytest.raises(ModelFileError):
        greville.load(path)
