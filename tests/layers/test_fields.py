"""Layers whose weights fit the data: fields, contrasts, classes, Fourier features."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from greville import ClassLayer, ContrastLayer, ELMClassifier, FourierLayer, ReceptiveFieldLayer

SHAPE = (9, 12)
LAYERS = [
    ReceptiveFieldLayer(SHAPE, 50, border=1, random_state=0),
    ContrastLayer(50, receptive_fields=SHAPE, border=1, random_state=0),
    ClassLayer(50, receptive_fields=SHAPE, border=1, random_state=0),
    ContrastLayer(50, random_state=0),
    ClassLayer(200, random_state=0),
    FourierLayer(51, random_state=0),
]


@pytest.fixture
def images(rng):
    y = np.repeat(["cross", "dot", "ring"], 20)
    means = {name: rng.uniform(size=108) for name in np.unique(y)}
    return np.array([means[name] for name in y]) + 0.3 * rng.normal(size=(60, 108)), y


@pytest.mark.parametrize("layer", LAYERS, ids=repr)
def test_a_layer_is_fixed_by_its_seed_and_the_first_samples(images, layer):
    X, y = images
    H = layer.fit(X, y).transform(X)
    assert H.shape == (60, layer.n_hidden_)
    assert np.isfinite(H).all()
    np.testing.assert_array_equal(H, pickle.loads(pickle.dumps(layer)).transform(X))
    np.testing.assert_array_equal(H, layer.fit(X, y).transform(X))
    np.testing.assert_allclose(layer.transform(sparse.csr_array(X)), H, atol=1e-12)
    f32 = layer.fit(X.astype(np.float32), y).transform(X.astype(np.float32))
    assert f32.dtype == np.float32
    np.testing.assert_allclose(f32, H, atol=1e-4)
    model = ELMClassifier(layer).fit(X, y)
    assert model.score(X, y) > 0.95
    stream = ELMClassifier(layer).partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    assert stream.score(X, y) > 0.9
    assert len(layer.get_feature_names_out()) == layer.n_hidden_


def fields_of(layer):
    """The rows and columns each unit sees: lowest, highest, and how many pixels."""
    seen = layer.weights_.T.reshape(-1, *SHAPE) != 0
    for unit in seen:
        rows, columns = np.flatnonzero(unit.any(axis=1)), np.flatnonzero(unit.any(axis=0))
        yield rows[0], rows[-1], columns[0], columns[-1], unit


@pytest.mark.parametrize("layer", LAYERS[:3], ids=repr)
def test_fields_are_rectangles_within_the_border(images, layer):
    X, y = images
    layer.fit(X, y)
    areas = []
    for top, bottom, left, right, unit in fields_of(layer):
        assert unit[top : bottom + 1, left : right + 1].all()
        assert top >= 1
        assert bottom <= 7
        assert left >= 1
        assert right <= 10
        areas.append(unit.sum())
    assert min(areas) >= 10
    assert len(set(areas)) > 5
    lengths = np.linalg.norm(layer.weights_, axis=0)
    np.testing.assert_allclose(lengths, layer.scale)


def test_contrasts_are_differences_of_samples_of_different_classes(rng):
    X = rng.normal(size=(12, 4))
    y = np.repeat([0, 1, 2], 4)
    layer = ContrastLayer(40, candidates=1, scale=1.0, random_state=0).fit(X, y)
    differences = (X[:, None] - X)[y[:, None] != y]
    differences /= np.linalg.norm(differences, axis=1, keepdims=True)
    for unit in layer.weights_.T:
        assert np.abs(differences - unit).sum(axis=1).min() < 1e-12
    few = ContrastLayer(40, candidates=1, scale=1.0, random_state=0).fit(X, y)
    many = ContrastLayer(40, candidates=30, scale=1.0, random_state=0).fit(X, y)
    assert not np.array_equal(few.weights_, many.weights_)


def test_class_units_are_sums_of_samples_of_one_class(rng):
    X = rng.normal(size=(6, 4))
    y = np.repeat(["a", "b"], 3)
    layer = ClassLayer(20, random_state=0).fit(X, y)
    signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
    for i, unit in enumerate(layer.weights_.T):
        sums = signs @ X[y == ("a", "b")[i % 2]]
        sums /= np.linalg.norm(sums, axis=1, keepdims=True)
        assert np.abs(sums - unit).sum(axis=1).min() < 1e-12


def test_a_field_without_anything_in_it_gets_random_weights():
    X, y = np.zeros((10, 108)), np.repeat([0, 1], 5)
    X[5:, 50] = 1
    layer = ContrastLayer(60, receptive_fields=SHAPE, border=0, random_state=0).fit(X, y)
    np.testing.assert_allclose(np.linalg.norm(layer.weights_, axis=0), 1)


@pytest.mark.parametrize("orthogonal", [False, True])
def test_fourier_features_make_a_gaussian_kernel(rng, orthogonal):
    X = rng.normal(size=(30, 5))
    layer = FourierLayer(6000, gamma=0.2, orthogonal=orthogonal, random_state=0)
    H = layer.fit_transform(X)
    kernel = np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2))
    assert np.abs(H @ H.T / 3000 - kernel).max() < 0.08
    assert layer.gamma_ == 0.2


def test_the_width_of_the_kernel_follows_the_data(rng):
    X = rng.normal(size=(100, 4))
    assert FourierLayer(10).fit(X).gamma_ == pytest.approx(1 / (4 * X.var()))
    assert FourierLayer(10).fit(100 * X).gamma_ == pytest.approx(1e-4 / (4 * X.var()))
    assert FourierLayer(10).fit(sparse.csr_array(X)).gamma_ == pytest.approx(1 / (4 * X.var()))
    assert FourierLayer(10).fit(np.ones((5, 4))).gamma_ == 0.25


@pytest.mark.parametrize("layer", [ContrastLayer(5), ClassLayer(5)], ids=repr)
def test_samples_of_classes_are_needed(images, layer, rng):
    X, _ = images
    for y in (None, np.zeros(60), rng.normal(size=60)):
        with pytest.raises(ValueError, match="y"):
            layer.fit(X, y)
