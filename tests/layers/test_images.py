"""Two stages for images: patches, contrasts on a grid with channels, and both together."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage, sparse
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

import greville
from greville import (
    ContrastLayer,
    ELMClassifier,
    FourierLayer,
    PatchLayer,
    RandomLayer,
    StackedLayer,
    image_layer,
)


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


@pytest.mark.parametrize("shape", [(1, 1), (4, 2, 3)])
def test_small_images(rng, shape):
    X, y = rng.normal(size=(60, int(np.prod(shape)))), np.arange(60) % 2
    for rows in (X, np.ones_like(X)):
        model = ELMClassifier(image_layer(shape, 30, n_filters=4), random_state=0).fit(rows, y)
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
