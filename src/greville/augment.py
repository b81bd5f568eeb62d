"""Random distortions of images, for models that learn online.

Such a model learns each row once and keeps none. So it can be trained on a stream of images that
are shifted, rotated, stretched and bent in another way in every epoch, without storing them.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d
from sklearn.utils import check_array, check_random_state

from .backend import Array
from .validation import check_length, check_number, naming

# Images distorted at a time: enough to share the cost of a call, few enough for the cache.
_BATCH = 256


def distort(
    X: Any,
    shape: tuple[int, int],
    *,
    shift: float = 1.5,
    rotation: float = 12.0,
    zoom: float = 0.15,
    shear: float = 0.2,
    elastic: float = 0.0,
    smoothness: float = 6.0,
    random_state: Any = None,
) -> Array:
    """Shift, rotate, zoom, shear and bend each image at random.

    Values between pixels are interpolated; outside the image they are zero. The defaults suit
    digits of 28 x 28 pixels.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_pixels)
        Images, each row by row.
    shape : tuple of two int
        Their rows and columns.
    shift : float, default=1.5
        The largest shift along each axis, in pixels.
    rotation : float, default=12.0
        The largest angle, in degrees.
    zoom : float, default=0.15
        The largest logarithm of the zoom, along each axis on its own.
    shear : float, default=0.2
        The largest shift of a row, in columns, per row from the centre.
    elastic : float, default=0.0
        The root mean square of the additional movements of single pixels along each axis, in
        pixels.
    smoothness : float, default=6.0
        The standard deviation, in pixels, of the Gaussian filter that smooths these movements.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, n_pixels)
        float32 for float32 input, else float64.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greville import augment
    >>> X, y = load_digits(return_X_y=True)
    >>> augment.distort(X, (8, 8), shift=0.5, random_state=0).shape
    (1797, 64)
    """
    X = _check_images(X, shape)
    for name, value in (
        ("shift", shift),
        ("rotation", rotation),
        ("zoom", zoom),
        ("shear", shear),
        ("elastic", elastic),
    ):
        check_number(name, value, low=0)
    check_number("smoothness", smoothness, low=0, include_low=False)
    with naming("random_state"):
        random = check_random_state(random_state)
    distorted = np.empty_like(X)
    for start in range(0, len(X), _BATCH):
        images = X[start : start + _BATCH]
        n = len(images)
        matrices = _random_matrices(n, np.deg2rad(rotation), zoom, shear, random)
        moves = shift * _uniform(random, (n, 2))
        positions = _source_positions(shape, matrices.astype(X.dtype), moves.astype(X.dtype))
        if elastic > 0:
            positions += _elastic_moves(n, shape, elastic, smoothness, random).astype(X.dtype)
        distorted[start : start + n] = _interpolate(images, shape, positions)
    return distorted


def stream(
    X: Any,
    y: Any,
    shape: tuple[int, int],
    *,
    epochs: int | None = None,
    chunk: int = 4096,
    random_state: Any = None,
    **distortions: float,
) -> Iterator[tuple[Array, Array]]:
    """Distorted images and their labels in chunks, epoch after epoch, in random order.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_pixels)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    shape : tuple of two int
        The rows and columns of an image.
    epochs : int, optional
        How often each image is returned; without it, the stream does not end.
    chunk : int, default=4096
        Images in a chunk.
    random_state : int, RandomState instance or None, default=None
    **distortions
        As in `distort`.

    Yields
    ------
    X, y : ndarrays

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greville import ELMClassifier, RandomLayer, augment
    >>> X, y = load_digits(return_X_y=True)
    >>> X = X / 16
    >>> model = ELMClassifier(RandomLayer(300), random_state=0).fit(X[:1500], y[:1500])
    >>> for X_more, y_more in augment.stream(
    ...     X[:1500], y[:1500], (8, 8), epochs=2, shift=0.5, random_state=0
    ... ):
    ...     _ = model.partial_fit(X_more, y_more)
    >>> model.n_samples_seen_
    4500
    """
    X, y = _check_images(X, shape), np.asarray(y)
    check_length("y", len(y), len(X))
    check_number("chunk", chunk, low=1, whole=True)
    if epochs is not None:
        check_number("epochs", epochs, low=0, whole=True)
    with naming("random_state"):
        random = check_random_state(random_state)
    epoch = 0
    while epochs is None or epoch < epochs:
        order = random.permutation(len(X))
        for start in range(0, len(X), chunk):
            rows = order[start : start + chunk]
            yield distort(X[rows], shape, random_state=random, **distortions), y[rows]
        epoch += 1


def _check_images(X: Any, shape: Any) -> Array:
    with naming("X"):
        X = check_array(X, dtype=(np.float64, np.float32), order="C", input_name="X")
    pair = isinstance(shape, (tuple, list)) and len(shape) == 2
    sides = pair and all(isinstance(side, Integral) and int(side) > 0 for side in shape)
    if not sides or shape[0] * shape[1] != X.shape[1]:
        raise ValueError(
            f"shape={shape!r}: X has {X.shape[1]} columns; pass the rows and columns of an image "
            "with that many pixels."
        )
    return X


def _uniform(random: np.random.RandomState, size: Any) -> Array:
    return random.uniform(-1, 1, size=size)


def _random_matrices(
    n: int, angle: float, zoom: float, shear: float, random: np.random.RandomState
) -> Array:
    """For each image, the matrix from positions in the new image to positions in the old one."""
    angles = angle * _uniform(random, n)
    scale = np.exp(zoom * _uniform(random, (n, 2)))
    slope = shear * _uniform(random, n)
    cos, sin = np.cos(angles), np.sin(angles)
    matrices = np.array([[cos, -sin], [sin + slope, cos]])  # row, column
    return np.moveaxis(matrices, -1, 0) * scale[:, :, None]


def _source_positions(shape: tuple[int, int], matrices: Array, moves: Array) -> Array:
    """The position in the old image of each pixel of the new one, of shape (n, 2, n_pixels)."""
    centre = (np.array(shape, moves.dtype) - 1) / 2
    grid = np.indices(shape, dtype=moves.dtype).reshape(2, -1) - centre[:, None]
    return matrices @ grid + (centre + moves)[:, :, None]


def _elastic_moves(
    n: int, shape: tuple[int, int], size: float, smoothness: float, random: np.random.RandomState
) -> Array:
    """Smooth random movements of the pixels, of shape (n, 2, n_pixels)."""
    moves = random.normal(size=(n, 2, *shape))
    for axis in (2, 3):
        moves = gaussian_filter1d(moves, smoothness, axis=axis, mode="wrap")
    moves *= size / np.sqrt(np.mean(moves**2))
    return moves.reshape(n, 2, -1)


def _interpolate(images: Array, shape: tuple[int, int], positions: Array) -> Array:
    """The images at these positions, by bilinear interpolation."""
    height, width = shape
    padded = np.pad(images.reshape(-1, height, width), ((0, 0), (1, 2), (1, 2)))
    flat = padded.reshape(len(images), -1)
    row = np.clip(positions[:, 0] + 1, 0, height + 1)  # the padding is zero
    column = np.clip(positions[:, 1] + 1, 0, width + 1)
    top, left = row.astype(np.intp), column.astype(np.intp)
    down, right = row - top, column - left
    corner = top * (width + 3) + left
    upper, lower = (
        np.take_along_axis(flat, corner + step, 1) * (1 - right)
        + np.take_along_axis(flat, corner + step + 1, 1) * right
        for step in (0, width + 3)
    )
    return upper * (1 - down) + lower * down
