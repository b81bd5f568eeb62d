"""A first stage for images: small filters made of patches, rectified, averaged over cells."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from .. import backend
from ..backend import Array, Backend
from ..fields import array, choice, finite, nothing, within
from .activations import activate
from .images import IMAGE, Image, image_of
from .protocol import Layer, Random, dense, dense_on, rows_apart, stored_layer

# Patches from which the filters are chosen, and images for the means of what comes out.
_PATCHES, _IMAGES = 100_000, 4096

# Numbers in the patches of images that are filtered together: on a CPU, they stay in its cache.
_NUMBERS, _NUMBERS_ON_DEVICE = 1 << 19, 1 << 28

# Added before the square root, which would make much of rounding errors near zero.
_SOFTENING = 1e-4

# "auto": the sides of patches and cells as parts of the image's, between these.
_PATCH, _SMALLEST_PATCH, _LARGEST_PATCH = 1 / 4, 3, 9
_CELL, _FEWEST_CELLS, _MOST_CELLS = 4, 4, 8


@stored_layer({"grid_": IMAGE, "centre_": array(1), "unit_": finite})
@dataclass(eq=False, repr=False)
class PatchLayer(Layer):
    """Responses of small filters, averaged over the cells of a grid: a first stage for images.

    The filters are patches of the images that `fit` sees, whitened and of length one, so that each
    looks for something that images really have. Each is applied at every pixel. A response r
    becomes max(0, r - threshold) and max(0, -r - threshold); what comes out is the square root of
    the mean of each over each cell, of order one.

    Use it before a `ContrastLayer` that sees rectangles of the grid; `greville.image_layer` does.

    Parameters
    ----------
    shape : tuple of two or three int
        The rows and columns of the images, and their channels, if they have more than one. X has a
        column for each pixel, row by row; the channels of a pixel lie beside each other.
    n_filters : int, default=32
    patch : int or "auto", default="auto"
        The side of a filter in pixels. "auto" is a quarter of the image's, from 3 to 9.
    grid : tuple of two int, optional
        The rows and columns of the grid. Without it, a cell has about 4 x 4 pixels, and the grid
        from 4 to 8 rows and columns.
    threshold : float, default=1.0
        What a response must exceed, in standard deviations of a whitened patch.
    smoothing : float, default=1.0
        What is added to the variance in every direction before whitening, in means of these
        variances. Less makes filters of finer details and more noise.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    weights_ : ndarray of shape (patch * patch * channels, n_filters)
    bias_ : ndarray of shape (n_filters,)
    grid_ : tuple of three int
        Rows, columns and channels of what comes out, which has a column for each, in this order.
    centre_ : ndarray of shape (n_hidden,)
        The means that are subtracted, each of its column.
    unit_ : float
        The number that all columns are then divided by: their standard deviation.
    n_hidden_ : int
    n_features_in_ : int

    References
    ----------
    Coates, Lee & Ng, "An analysis of single-layer networks in unsupervised feature learning",
    AISTATS 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greville import PatchLayer
    >>> X, y = load_digits(return_X_y=True)
    >>> layer = PatchLayer((8, 8), 16, random_state=0).fit(X)
    >>> layer.grid_, layer.transform(X[:3]).shape
    ((4, 4, 32), (3, 512))
    """

    shape: Annotated[tuple[int, ...], IMAGE]
    n_filters: Annotated[int, within(1, whole=True)] = 32
    _: KW_ONLY
    patch: Annotated[int | Literal["auto"], choice("auto") | within(1, whole=True)] = "auto"
    grid: Annotated[tuple[int, int] | None, nothing | IMAGE] = None
    threshold: Annotated[float, within(0)] = 1.0
    smoothing: Annotated[float, within(0, include_low=False)] = 1.0
    random_state: Random = None

    def check_parameters(self) -> None:
        image = image_of("shape", self.shape)
        super().check_parameters()
        if self.patch != "auto" and self.patch > min(image.sides):
            raise ValueError(f"patch={self.patch!r}: it is larger than an image; pass less.")
        if self.grid is not None:
            grid = image_of("grid", self.grid)
            if grid.channels > 1 or grid.rows > image.rows or grid.columns > image.columns:
                raise ValueError(
                    f"grid={self.grid!r}: pass two numbers, at most {image.rows} rows and "
                    f"{image.columns} columns."
                )

    def _fit(self, X: Any, y: Any, dtype: Any) -> None:
        image_of("shape", self.shape, X.shape[1])
        X, random, plan = dense(X), self._random(), self._plan
        patches = plan.sampled(X, random)
        mean = patches.mean(axis=0)
        filters = _whitened_filters(patches - mean, int(self.n_filters), self.smoothing, random)
        self.weights_ = np.ascontiguousarray(filters, dtype=dtype)
        self.bias_ = np.asarray(-(mean @ filters), dtype)
        self.grid_ = self.output_shape
        self.n_hidden_ = int(np.prod(self.grid_))
        self.centre_, self.unit_ = np.zeros(self.n_hidden_, dtype), 1.0
        some = X[rows_apart(len(X), _IMAGES)]
        features = self.activations(some.astype(dtype, copy=False))
        self.centre_ = features.mean(axis=0, dtype=np.float64).astype(dtype)
        self.unit_ = float(np.std(features - self.centre_, dtype=np.float64)) or 1.0

    @property
    def _plan(self) -> Plan:
        image = image_of("shape", self.shape)
        side, patch = min(image.sides), self.patch
        if isinstance(patch, str):
            odd = 2 * int(side * _PATCH / 2) + 1
            patch = min(max(odd, _SMALLEST_PATCH), _LARGEST_PATCH, side)
        if self.grid is not None:
            return Plan(image, int(patch), (int(self.grid[0]), int(self.grid[1])))
        rows, columns = (min(side, _cells(side)) for side in image.sides)
        return Plan(image, int(patch), (rows, columns))

    @property
    def output_shape(self) -> tuple[int, int, int]:
        """The rows, columns and channels of what comes out; known before `fit`."""
        return *self._plan.grid, 2 * int(self.n_filters)

    @property
    def _weights_shape(self) -> tuple[int, int]:
        return self._plan.patch_numbers, int(self.n_filters)

    def _kind_of_units(self) -> str:
        rows, columns, channels = self.grid_
        return f"{channels // 2:,} filters, averaged over {rows} x {columns} cells"

    def activations_on(self, b: Backend, X: Any, shift: Array | None = None) -> Array:
        X = dense_on(b, X, shift)
        dtype, plan, n = b.dtype_of(X), self._plan, int(self.n_filters)
        weights, above, below = (b.asarray(A) for A in self._filters(dtype))
        places, *averages = map(b.asarray, (plan.places(), *plan.averages(dtype)))
        features = b.xp.empty((X.shape[0], *self.grid_), dtype=X.dtype)
        a_time = (_NUMBERS if b.has_kernels else _NUMBERS_ON_DEVICE) // plan.numbers_of_patches
        with b.few_threads(0):  # two would wait for each other more than they work
            for part in gen_batches(X.shape[0], max(1, a_time)):
                patches = b.xp.take(X[part], places, axis=1).reshape(-1, plan.patch_numbers)
                responses = b.matmul(patches, weights)
                for sign, added, channels in ((1, above, slice(n)), (-1, below, slice(n, None))):
                    rectified = added + responses if sign > 0 else added - responses
                    activate("relu", rectified)
                    features[part][..., channels] = plan.averaged(rectified, *averages)
        H = features.reshape(X.shape[0], -1)
        H += _SOFTENING
        H = b.xp.sqrt(H)
        H -= b.asarray(self.centre_, dtype)
        H /= self.unit_
        return H

    def _filters(self, dtype: Any) -> tuple[Array, Array, Array]:
        """Return the filters, and the biases of their positive and their negative responses."""
        assert self.bias_ is not None
        above, below = self.bias_ - self.threshold, -self.bias_ - self.threshold
        return self.weights_.astype(dtype, copy=False), above.astype(dtype), below.astype(dtype)


class PatchSteps(NamedTuple):
    """The steps of a fitted `PatchLayer`, as arrays.

    The numbers at `places` make patches; their products with `weights`, plus `above` and, with
    minus the products, plus `below`, are rectified, averaged over the rows and columns of cells,
    softened by the root of their sum with `softening`, and brought to order one by `centre` and
    `unit`.
    """

    sides: tuple[int, int]
    places: Array
    weights: Array
    above: Array
    below: Array
    over_rows: Array
    over_columns: Array
    softening: float
    centre: Array
    unit: float


def patch_steps(layer: PatchLayer) -> PatchSteps:
    """Return the steps of a fitted layer, for programs in other languages.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greville import PatchLayer
    >>> from greville.layers import patch_steps
    >>> X = load_digits().data
    >>> patch_steps(PatchLayer((8, 8), 16, random_state=0).fit(X)).weights.shape
    (9, 16)
    """
    plan = layer._plan
    return PatchSteps(
        plan.image.sides,
        plan.places(),
        *layer._filters(np.float64),
        *plan.averages(np.float64),
        _SOFTENING,
        layer.centre_,
        layer.unit_,
    )


class Plan(NamedTuple):
    """The map from an image's numbers to the patch around each pixel, and to the cells."""

    image: Image
    patch: int
    grid: tuple[int, int]

    @property
    def patch_numbers(self) -> int:
        return self.patch * self.patch * self.image.channels

    def places(self) -> Array:
        """Return the indices in a row of X of each patch's numbers, patch by patch.

        Beyond the edges of the image, its last pixels go on.
        """
        _, columns, channels = self.image
        near = np.arange(self.patch) - self.patch // 2
        row, column = (
            np.clip(np.arange(side)[:, None] + near, 0, side - 1) for side in self.image.sides
        )
        pixels = row[:, None, :, None] * columns + column[None, :, None, :]
        places = pixels[..., None] * channels + np.arange(channels)
        return places.reshape(-1)

    def averages(self, dtype: Any) -> tuple[Array, Array]:
        """The matrices that average over the rows of each cell, and over its columns."""
        matrices = []
        for cells, side in zip(self.grid, self.image.sides, strict=True):
            inside = np.arange(side) * cells // side == np.arange(cells)[:, None]
            matrices.append((inside / inside.sum(axis=1, keepdims=True)).astype(dtype))
        return matrices[0], matrices[1]

    def averaged(self, responses: Array, over_rows: Array, over_columns: Array) -> Array:
        """Means over the cells of responses at every pixel, on any backend."""
        rows, columns, channels = *self.image.sides, responses.shape[1]
        means = over_rows @ responses.reshape(-1, rows, columns * channels)
        means = over_columns @ means.reshape(-1, columns, channels)
        return means.reshape(-1, *self.grid, channels)

    @property
    def numbers_of_patches(self) -> int:
        """Return the number of values in all patches of an image."""
        return self.image.rows * self.image.columns * self.patch_numbers

    def sampled(self, X: Array, random: np.random.RandomState) -> Array:
        """Random patches of these images, in float64."""
        places = self.places().reshape(-1, self.patch_numbers)
        image = random.randint(len(X), size=_PATCHES)
        pixel = random.randint(len(places), size=_PATCHES)
        return np.asarray(X[image[:, None], places[pixel]], np.float64)


def _cells(side: int) -> int:
    """Return the number of cells into which a side is cut."""
    return min(max(round(side / _CELL), _FEWEST_CELLS), _MOST_CELLS)


def _whitened_filters(
    patches: Array, n: int, smoothing: float, random: np.random.RandomState
) -> Array:
    """Patches, of mean zero, as filters of whitened ones, of shape (patch_numbers, n)."""
    b = backend.get("scipy")
    covariance = b.to_numpy(b.matmul(patches.T, patches)) / len(patches)
    directions, variances, _ = b.svd(covariance)
    level = smoothing * variances.mean() or 1.0
    whitening = (directions / np.sqrt(variances + level)) @ directions.T
    # Of the patches that vary more than most: filters of even areas would be much the same.
    spread = patches.var(axis=1)
    most = np.median(spread)
    varied = np.flatnonzero(spread > most if spread.max() > most else spread >= most)
    chosen = patches[random.choice(varied, n, replace=n > len(varied))] @ whitening
    lengths = np.sqrt(np.einsum("ij,ij->i", chosen, chosen))
    lengths[lengths == 0] = 1
    return whitening @ (chosen / lengths[:, None]).T
