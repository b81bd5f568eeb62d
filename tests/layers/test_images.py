"""Two stages for images: patches, contrasts on a grid with channels, and both together."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage, sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import greville
from greville import (
    ContrastLayer,
    ELMClassifier,
    FourierLayer,
    PatchLayer,
    RandomLayer,
    ReceptiveFieldLayer,
    StackedLayer,
    image_layer,
)
from greville.layers.bands import bands_of


def responses(layer, image):
    """What comes out of a PatchLayer for one image, filter by filter and cell by cell."""
    rows, columns, n_filters = layer.grid_[0], layer.grid_[1], layer.n_filters
    channels = image.shape[2]
    side = round(np.sqrt(len(layer.weights_) / channels))
    out = np.empty(layer.grid_)
    for k in range(n_filters):
        window = layer.weights_[:, k].reshape(side, side, channels)
        # An even window has its centre after the middle, in both.
        r = layer.bias_[k] + sum(
            ndimage.correlate(image[:, :, c], window[:, :, c], mode="nearest")
            for c in range(channels)
        )
        for sign in (0, 1):
            rectified = np.maximum(0, (-r if sign else r) - layer.threshold)
            for i in range(rows):
                for j in range(columns):
                    cell = rectified[
                        -(-i * image.shape[0] // rows) : -(-(i + 1) * image.shape[0] // rows),
                        -(-j * image.shape[1] // columns) : -(-(j + 1) * image.shape[1] // columns),
                    ]
                    out[i, j, k + sign * n_filters] = cell.mean()
    return (np.sqrt(out.reshape(-1) + 1e-4) - layer.centre_) / layer.unit_


@pytest.mark.parametrize(
    ("shape", "parameters"),
    [
        ((8, 8), {}),
        ((9, 12), {"patch": 4, "threshold": 0.2}),
        ((11, 6, 3), {"grid": (3, 4), "smoothing": 0.1}),
        ((5, 30, 2), {"patch": 5, "grid": (1, 7)}),
        ((3, 3), {"patch": 1}),
    ],
)
def test_patches_filter_by_filter_and_cell_by_cell(rng, shape, parameters):
    X = rng.gamma(1.0, size=(40, int(np.prod(shape))))
    layer = PatchLayer(shape, 6, random_state=0, **parameters).fit(X)
    H = layer.transform(X)
    assert H.shape == (40, int(np.prod(layer.grid_))) == (40, layer.n_hidden_)
    images = X.reshape(40, *shape[:2], *(shape[2:] or (1,)))
    expected = np.array([responses(layer, image) for image in images])
    np.testing.assert_allclose(H, expected, atol=1e-10)
    np.testing.assert_allclose(H.mean(axis=0), 0, atol=1e-10)
    assert H.std() == pytest.approx(1)


def test_filters_are_whitened_patches(rng):
    """With the whitening undone, each is a direction of length one; responses have variance one."""
    X = ndimage.gaussian_filter(rng.normal(size=(300, 16, 16)), (0, 1, 1)).reshape(300, -1)
    layer = PatchLayer((16, 16), 40, patch=3, smoothing=1e-6, random_state=0).fit(X)
    windows = np.lib.stride_tricks.sliding_window_view(X.reshape(300, 16, 16), (3, 3), axis=(1, 2))
    patches = windows.reshape(-1, 9)
    r = patches @ layer.weights_ + layer.bias_
    np.testing.assert_allclose(r.std(axis=0), 1, rtol=0.1)
    np.testing.assert_allclose(r.mean(axis=0), 0, atol=0.1)


def test_neither_brightness_nor_contrast_matters(rng):
    X = rng.gamma(1.0, size=(60, 100))
    H = PatchLayer((10, 10), 8, random_state=0).fit_transform(X)
    other = PatchLayer((10, 10), 8, random_state=0).fit_transform(255 * X + 10)
    np.testing.assert_allclose(other, H, atol=1e-8)


def test_images_without_anything_in_them():
    X = np.ones((10, 64))
    assert np.isfinite(PatchLayer((8, 8), 4, random_state=0).fit_transform(X)).all()
    y = np.arange(10) % 2
    model = ELMClassifier(image_layer((8, 8), 20, n_filters=4), random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (2, 3), (4, 2, 3), (1, 3), (3, 1), (2, 28)])
def test_small_images(rng, shape):
    X, y = rng.normal(size=(60, int(np.prod(shape)))), np.arange(60) % 2
    model = ELMClassifier(image_layer(shape, 30, n_filters=4), random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def colours(rng, n, shape=(10, 12, 3)):
    """Bars that are upright or not, and red or green: four classes."""
    y = np.arange(n) % 4
    images = 0.2 * rng.normal(size=(n, *shape))
    for image, label in zip(images, y, strict=True):
        at = rng.integers(2, 8)
        where = np.s_[:, at : at + 2] if label % 2 else np.s_[at : at + 2, :]
        image[where][..., label // 2] += 1
    return images.reshape(n, -1), y


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_colours_and_other_sizes(rng, dtype):
    X, y = colours(rng, 600)
    X = X.astype(dtype)
    model = ELMClassifier(image_layer((10, 12, 3), 300), random_state=0).fit(X[:400], y[:400])
    assert model.hidden_.transform(X[:2]).dtype == dtype
    assert model.score(X[400:], y[400:]) > 0.97


@pytest.mark.full
def test_digits_are_told_apart_better_than_by_one_stage():
    X, y = load_digits(return_X_y=True)

    def error(layer):
        scores = [
            ELMClassifier(clone(layer), random_state=seed).fit(X[:1200], y[:1200])
            for seed in range(3)
        ]
        return np.mean([1 - model.score(X[1200:], y[1200:]) for model in scores])

    one = error(ContrastLayer(500, receptive_fields=(8, 8), border=0, scale=1 / 16))
    assert error(image_layer((8, 8), 500)) < min(one, 0.04)


def test_cutting_single_rows_and_sparse_rows_change_nothing(rng):
    X, y = colours(rng, 300)
    layer = image_layer((10, 12, 3), 250, random_state=0).fit(X, y)
    H = layer.transform(X)
    pieces = np.concatenate([layer.transform(X[a:b]) for a, b in pairwise((0, 1, 18, 300))])
    np.testing.assert_allclose(pieces, H, atol=1e-10)
    ones = np.array([layer.activations_one(x) for x in X[:20]])
    np.testing.assert_allclose(ones, H[:20], atol=1e-10)
    np.testing.assert_allclose(layer.transform(sparse.csr_array(X)), H, atol=1e-10)
    many = np.tile(X, (10, 1))
    np.testing.assert_allclose(layer.transform(many), np.tile(H, (10, 1)), atol=1e-10)


def test_saved_merged_unlearned_and_learned_in_chunks(rng, tmp_path):
    X, y = colours(rng, 400)
    start = ELMClassifier(image_layer((10, 12, 3), 150), greville.Opium(0.1), random_state=0)
    start.prepare(X, y)
    a, b = (pickle.loads(pickle.dumps(start)) for _ in range(2))
    a.partial_fit(X[:250], y[:250])
    b.partial_fit(X[250:], y[250:])
    whole = pickle.loads(pickle.dumps(start)).partial_fit(X, y)
    greville.save(b, tmp_path / "b.greville")
    merged = a.merge(greville.load(tmp_path / "b.greville"))
    np.testing.assert_allclose(merged.decision_function(X), whole.decision_function(X), atol=1e-8)
    alone = pickle.loads(pickle.dumps(start)).partial_fit(X[:250], y[:250])
    left = merged.unlearn(X[250:], y[250:])
    np.testing.assert_allclose(left.decision_function(X), alone.decision_function(X), atol=1e-6)
    assert {*y} == {left.predict_one(x) for x in X[:20]}


@pytest.mark.full
def test_parameters_of_both_stages_can_be_searched():
    X, y = load_digits(return_X_y=True)
    model = ELMClassifier(image_layer((8, 8), 100), random_state=0)
    grid = {"hidden__first__threshold": [0.5, 1.0], "hidden__second__n_hidden": [50, 100]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X[:400], y[:400])
    assert search.best_params_["hidden__second__n_hidden"] == 100


def test_a_pipeline_of_both_stages():
    X, y = load_digits(return_X_y=True)
    first = PatchLayer((8, 8), random_state=0)
    contrasts = ContrastLayer(
        200, receptive_fields=first.output_shape, border=0, min_area=4, scale=0.1
    )
    pipeline = make_pipeline(first, ELMClassifier(contrasts, random_state=0))
    pipeline.fit(X[:1200], y[:1200])
    assert pipeline.score(X[1200:], y[1200:]) > 0.93


def test_three_stages(rng, tmp_path):
    X = rng.normal(size=(200, 5))
    layer = StackedLayer(
        RandomLayer(20, random_state=0),
        StackedLayer(RandomLayer(30, random_state=1), FourierLayer(40, random_state=2)),
    ).fit(X)
    expected = X
    for stage in (layer.first_, *layer.second_.parts):
        expected = stage.transform(expected)
    np.testing.assert_allclose(layer.transform(X), expected, atol=1e-12)
    greville.save(layer, tmp_path / "layer.greville")
    loaded = greville.load(tmp_path / "layer.greville")
    np.testing.assert_array_equal(loaded.transform(X), layer.transform(X))


@pytest.mark.parametrize("shape", [(28, 28), (7, 7, 8), (40, 6)])
def test_fields_are_multiplied_in_bands(rng, shape):
    X = rng.normal(size=(50, int(np.prod(shape))))
    layer = ReceptiveFieldLayer(shape, 2000, border=0, min_area=2, random_state=0).fit(X)
    bands = bands_of(layer.weights_)
    outside = layer.weights_ != 0
    for inputs, units in bands:
        outside[inputs, units] = False
    assert not outside.any()
    covered = np.concatenate([np.arange(2000)[units] for _, units in bands])
    np.testing.assert_array_equal(covered, np.arange(2000))
    size = sum((i.stop - i.start) * (u.stop - u.start) for i, u in bands)
    assert size < 0.8 * layer.weights_.size
    np.testing.assert_allclose(layer.transform(X), np.tanh(X @ layer.weights_), atol=1e-12)


def test_bands_of_weights_that_have_none(rng):
    assert bands_of(rng.normal(size=(10, 500))) is None
    assert bands_of(rng.permuted(np.eye(300), axis=1)) is None
    bands = bands_of(np.zeros((10, 500)))
    assert [(inputs.stop - inputs.start, units) for inputs, units in bands] == [(0, slice(0, 500))]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: PatchLayer((9, 9)), "shape"),
        (lambda: PatchLayer((8, 8, 2)), "shape"),
        (lambda: PatchLayer((8,)), "shape"),
        (lambda: PatchLayer((8, True)), "shape"),
        (lambda: PatchLayer((8, 8), 0), "n_filters"),
        (lambda: PatchLayer((8, 8), patch=9), "patch"),
        (lambda: PatchLayer((8, 8), patch="no"), "patch"),
        (lambda: PatchLayer((8, 8), grid=(9, 2)), "grid"),
        (lambda: PatchLayer((8, 8), grid=(2, 2, 2)), "grid"),
        (lambda: PatchLayer((8, 8), threshold=-1), "threshold"),
        (lambda: PatchLayer((8, 8), smoothing=0), "smoothing"),
        (lambda: image_layer((8, 8), 0), "n_hidden"),
        (lambda: image_layer("8"), "shape"),
        (lambda: StackedLayer(RandomLayer(5), "second"), "second"),
        (lambda: ContrastLayer(receptive_fields=(4, 8)), "receptive_fields"),
    ],
)
def test_bad_parameters_are_named(rng, make, name):
    X, y = rng.normal(size=(20, 64)), np.arange(20) % 2
    with pytest.raises(ValueError, match=name):
        make().fit(X, y)
