"""Distorted images against SciPy's own interpolation, and the stream of them."""

import itertools

import numpy as np
import pytest
from scipy import ndimage

from greville import augment

STILL = {"shift": 0, "rotation": 0, "zoom": 0, "shear": 0}


@pytest.fixture
def images(rng):
    return rng.uniform(size=(30, 7 * 9))


def test_nothing_moves_if_nothing_is_to_move(images):
    np.testing.assert_allclose(augment.distort(images, (7, 9), **STILL), images, atol=1e-12)


@pytest.mark.parametrize(
    "motion",
    [
        {"shift": 2.0},
        {"rotation": 40.0},
        {"zoom": 0.4},
        {"shear": 0.5},
        {"elastic": 1.0, "smoothness": 2.0},
        {"shift": 1.0, "rotation": 20.0, "zoom": 0.2, "shear": 0.3, "elastic": 0.5},
    ],
    ids=str,
)
def test_pixels_are_where_scipy_finds_them(images, motion, monkeypatch):
    positions = []
    interpolate = augment._interpolate
    monkeypatch.setattr(
        augment, "_interpolate", lambda *args: positions.append(args[2]) or interpolate(*args)
    )
    moved = augment.distort(images, (7, 9), **{**STILL, **motion}, random_state=0)
    [where] = positions
    for image, place, got in zip(images, where, moved, strict=True):
        expected = ndimage.map_coordinates(
            np.pad(image.reshape(7, 9), 3), place + 3, order=1, mode="constant"
        )
        np.testing.assert_allclose(got, expected, atol=1e-9)
    assert np.abs(moved - images).max() > 0.1
    assert len({tuple(row) for row in np.round(moved, 6)}) == 30


def test_motions_have_the_sizes_asked_for():
    random = np.random.RandomState(0)
    bends = augment._elastic_moves(200, (20, 20), 1.5, 3.0, random)
    assert np.sqrt(np.mean(bends**2)) == pytest.approx(1.5)
    grid = bends.reshape(200, 2, 20, 20)
    assert np.abs(np.diff(grid, axis=3)).mean() < 0.5
    still = augment._random_matrices(5, 0.0, 0.0, 0.0, random)
    np.testing.assert_array_equal(still, np.broadcast_to(np.eye(2), (5, 2, 2)))
    turned = augment._random_matrices(500, np.pi / 6, 0.0, 0.0, random)
    np.testing.assert_allclose(np.linalg.det(turned), 1)
    angles = np.arctan2(turned[:, 1, 0], turned[:, 0, 0])
    assert 0.45 < angles.max() <= np.pi / 6
    zoomed = augment._random_matrices(500, 0.0, 0.2, 0.0, random)
    assert np.exp(-0.2) <= zoomed[:, 0, 0].min() < 0.86
    assert zoomed[:, 1, 1].max() <= np.exp(0.2)
    dot = np.zeros((300, 21 * 21))
    dot[:, 10 * 21 + 10] = 1
    moved = augment.distort(dot, (21, 21), **{**STILL, "shift": 3.0}, random_state=0)
    centres = np.array([ndimage.center_of_mass(image.reshape(21, 21)) for image in moved])
    assert np.abs(centres - 10).max() <= 3.0
    assert np.abs(centres - 10).max() > 2.8


def test_seeds_and_dtypes(images):
    one, same = (augment.distort(images, (7, 9), random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, augment.distort(images, (7, 9), random_state=4))
    single = augment.distort(images.astype(np.float32), (7, 9), random_state=3)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, one, atol=1e-3)


def test_a_stream_shows_each_image_once_an_epoch(images):
    y = np.arange(30)
    chunks = list(augment.stream(images, y, (7, 9), epochs=2, chunk=8, random_state=0, **STILL))
    assert [len(labels) for _, labels in chunks] == [8, 8, 8, 6] * 2
    labels = np.concatenate([labels for _, labels in chunks])
    for epoch in (labels[:30], labels[30:]):
        assert sorted(epoch) == list(range(30))
    assert list(labels[:30]) != list(labels[30:])
    for X, rows in chunks:
        np.testing.assert_allclose(X, images[rows], atol=1e-12)
    endless = augment.stream(images, y, (7, 9), chunk=30)
    first, second = itertools.islice(endless, 2)
    assert not np.array_equal(first[0][np.argsort(first[1])], second[0][np.argsort(second[1])])


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"shape": (7, 8)}, "shape"),
        ({"shift": -1}, "shift"),
        ({"rotation": "x"}, "rotation"),
        ({"smoothness": 0}, "smoothness"),
        ({"random_state": "x"}, "random_state"),
        ({"X": [[np.nan] * 63]}, "X"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(images, options, name):
    with pytest.raises(ValueError, match=name):
        augment.distort(**{"X": images, "shape": (7, 9), **options})


def test_bad_streams(images):
    for options, name in (
        ({"y": [1]}, "y"),
        ({"chunk": 0}, "chunk"),
        ({"epochs": -1}, "epochs"),
    ):
        arguments = {"X": images, "y": np.arange(30), "shape": (7, 9), **options}
        with pytest.raises(ValueError, match=name):
            next(augment.stream(**arguments))
