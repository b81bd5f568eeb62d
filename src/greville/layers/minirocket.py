"""MiniRocket: how often fixed convolutions of a series exceed a bias."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from sklearn.utils import gen_batches

from .. import backend
from ..backend import Array, Backend
from ..compiled import proportions_kernel
from ..fields import array, count, nothing, require, within
from .protocol import Random, dense, dense_on, rows_apart, stored_features, working_dtype
from .series import SeriesLayer, dilated

# Where the three weights of a kernel are that are 2; the other six are -1.
KERNELS = np.array(list(combinations(range(9), 3)))

# Rows that biases and units are measured from.
_ROWS = 512

# A proportion that differs less than this between series says little more than noise. On seven
# problems of the UCR archive ridge on proportions in units of their standard deviation is 95.1 %
# right, with this 95.3, on proportions as they are 95.0.
_SOFTENING = 0.02

# Numbers of series that go through together: on a CPU, they stay in its cache.
_NUMBERS, _NUMBERS_ON_DEVICE = 1 << 15, 1 << 23


@stored_features(
    {
        "n_channels_": count,
        "centre_": array(1),
        "unit_": array(1),
        "dilations_": array(1, "i"),
        "n_biases_": array(1, "i"),
        "channels_": array(2, "b"),
        "bias_": array(1),
        "mean_": array(1),
        "spread_": array(1),
    }
)
@dataclass(eq=False, repr=False)
class MiniRocketLayer(SeriesLayer):
    """Features of time series: how often a convolution exceeds a bias, for 84 kernels, dilated.

    A kernel has nine weights, of which three are 2 and six are -1: all 84 of them are used, with up
    to 32 dilations. A unit is the proportion of time points at which the response of a kernel is
    above a bias, which is a quantile of the response to one of the first series. Of several
    channels a kernel sees the sum of some.

    Units are taken around their means and in units of their standard deviations on the first
    series, so that ridge treats them alike.

    Parameters
    ----------
    n_hidden : int, default=9996
        Number of units; rounded down to a multiple of 84, of which there is at least one.
    max_dilations : int, default=32
        The most dilations of a kernel.
    n_channels : int, optional
        How many channels a series has. By default as many as the X of `fit`, which is one where
        that is 2-d. Rows of a 2-d X have the channels one after the other.
    random_state : int, RandomState instance or None, default=None
        Seeds the choice of the series that biases come from, and of the channels of a kernel.

    Attributes
    ----------
    dilations_, n_biases_ : ndarray of int
        The dilations, and how many biases each kernel has with each of them.
    channels_ : ndarray of bool, shape (84 * n_dilations, n_channels)
        Which channels are added up for each kernel and dilation.
    bias_ : ndarray of shape (n_hidden,)
    mean_, spread_ : ndarray of shape (n_hidden,)
        What is subtracted from a proportion, and what it is then divided by.
    n_channels_, n_hidden_, n_features_in_ : int

    See Also
    --------
    greville.TimeSeriesClassifier : This layer and an exact ridge on its units.

    References
    ----------
    Dempster, Schmidt & Webb, "MiniRocket: a very fast (almost) deterministic transform for time
    series classification", KDD 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import MiniRocketLayer
    >>> X = np.random.default_rng(0).normal(size=(20, 3, 50))  # 20 series of 3 channels
    >>> MiniRocketLayer(1000, random_state=0).fit_transform(X).shape
    (20, 924)
    """

    n_hidden: Annotated[int, within(1, whole=True)] = 9996
    _: KW_ONLY
    max_dilations: Annotated[int, within(1, whole=True)] = 32
    n_channels: Annotated[int | None, nothing | within(1, whole=True)] = None
    random_state: Random = None

    def _fit(self, X: Any, y: Any, dtype: Any) -> None:
        X = dense(X)
        X = X[rows_apart(len(X), _ROWS)]
        random, per_kernel = self._random(), max(1, int(self.n_hidden) // len(KERNELS))
        self._measure(X)
        self.dilations_, self.n_biases_ = _dilations(
            self.length, per_kernel, int(self.max_dilations)
        )
        self.n_hidden_ = len(KERNELS) * per_kernel
        n_responses = len(KERNELS) * len(self.dilations_)
        self.channels_ = _channels(random, n_responses, self.n_channels_)
        self.bias_ = self._biases(X, random)
        self.mean_, self.spread_ = np.zeros(self.n_hidden_), np.ones(self.n_hidden_)
        proportions = self.activations(X)
        self.mean_ = proportions.mean(axis=0, dtype=np.float64)
        variance = proportions.var(axis=0, dtype=np.float64)
        self.spread_ = np.sqrt(variance + _SOFTENING**2)

    def _biases(self, X: Array, random: np.random.RandomState) -> Array:
        """Quantiles of the response of each kernel to one of the series."""
        b, biases = backend.get("scipy"), []
        order = (np.arange(1, self.n_hidden_ + 1) * (np.sqrt(5) + 1) / 2) % 1
        at = kernels = 0
        for dilation, size in zip(self.dilations_, self.n_biases_, strict=True):
            x = self._series(b, X[random.randint(len(X), size=len(KERNELS))], None)
            less, more = _parts(b, x, int(dilation))
            each = np.arange(len(KERNELS))
            responses = np.zeros((len(KERNELS), self.length), np.float32)
            for c, seen in enumerate(self.channels_[kernels : kernels + len(KERNELS)].T):
                response = less[c].T
                for place in KERNELS.T:
                    response = response + np.stack([more[g][c] for g in range(9)])[place, :, each]
                responses += np.where(seen[:, None], response, np.float32(0))
            kernels += len(KERNELS)
            quantiles = order[at : at + len(KERNELS) * size].reshape(len(KERNELS), size)
            biases.append(_quantiles(np.sort(responses, axis=1), quantiles).reshape(-1))
            at += quantiles.size
        return np.concatenate(biases).astype(np.float32)

    def activations_on(self, b: Backend, X: Any, shift: Array | None = None) -> Array:
        X, host = dense_on(b, X, None), b.has_kernels
        n, working = X.shape[0], b.dtype_of(X) if not host else working_dtype(X)
        bias, mean, spread = (
            b.asarray(A, np.float32) for A in (self.bias_, self.mean_, self.spread_)
        )
        H = b.xp.empty((n, self.n_hidden_), dtype=bias.dtype)
        kernel = proportions_kernel(n * self.length * self.n_hidden_) if host else None
        a_time = (_NUMBERS if host else _NUMBERS_ON_DEVICE) // self.length
        if kernel is not None:
            series = np.ascontiguousarray(self._series(b, X, shift).transpose(2, 0, 1))
            kernel(series, self.dilations_, self.n_biases_, self.channels_, bias, H)
        with np.errstate(over="ignore", invalid="ignore"):  # what is no number exceeds nothing
            for rows in () if kernel else gen_batches(n, max(1, a_time)):
                x = self._series(b, X[rows], shift)
                for units, proportions in self._proportions(b, x, bias):
                    H[rows, units] = proportions.T
        H -= mean
        H /= spread
        if host:
            return H.astype(working, copy=False)
        bad = 0 * b.xp.max(b.xp.abs(X), axis=1)[:, None]  # nan for rows that are not finite
        return b.asarray(H, working) + bad

    def _proportions(self, b: Backend, x: Array, bias: Array) -> Iterator[tuple[slice, Array]]:
        """Units, kernel by kernel, and their proportions of shape (n_units, n_cases)."""
        at = k = 0
        for j, (dilation, size) in enumerate(
            zip(self.dilations_.tolist(), self.n_biases_.tolist(), strict=True)
        ):
            less, more = _parts(b, x, dilation)
            for places in KERNELS.tolist():
                response: Any = None
                for c in np.flatnonzero(self.channels_[k]).tolist():
                    one = less[c]
                    for place in places:
                        one = one + more[place][c]
                    response = one if response is None else response + one
                inside = slice(*_inside(j, k, dilation, self.length))
                units = slice(at, at + size)
                above = response[None, inside] > bias[units, None, None]
                yield units, _mean(b, above)
                at, k = at + size, k + 1

    def _check_stored(self) -> None:
        super()._check_stored()
        dilations, sizes = self.dilations_, self.n_biases_
        require(len(dilations) == len(sizes) > 0, "the dilations do not fit")
        fits = (dilations >= 1).all() and (8 * dilations < self.length).all()
        require(fits, "a dilation is longer than the series")
        require((sizes >= 1).all() and sizes.max() < 1 << 24, "there are no biases")
        require(len(KERNELS) * int(sizes.sum()) == self.n_hidden_, "the biases do not fit the size")
        shape = len(KERNELS) * len(dilations), self.n_channels_
        require(self.channels_.shape == shape, "the kernels do not fit the channels")
        require(self.channels_.any(axis=1).all(), "a kernel sees no channel")
        for name in ("bias_", "mean_", "spread_"):
            fits = getattr(self, name).shape == (self.n_hidden_,)
            require(fits, f"{name} does not fit the size")
        require((self.spread_ > 0).all(), "spreads are not positive")
        require(self.bias_.dtype == np.float32, "biases are not float32")

    def _kind_of_units(self) -> str:
        channels = "" if self.n_channels_ == 1 else f" of {self.n_channels_} channels"
        return f"proportions, {len(KERNELS)} kernels x {len(self.dilations_)} dilations{channels}"


def _dilations(length: int, per_kernel: int, most: int) -> tuple[Array, Array]:
    """Return exponentially growing dilations, and the number of a kernel's units for each."""
    n = min(per_kernel, most)
    exponents = np.linspace(0, np.log2((length - 1) / 8), n)
    dilations, counts = np.unique((2**exponents).astype(np.int64), return_counts=True)
    sizes = counts * per_kernel // n
    left = per_kernel - int(sizes.sum())
    sizes += left // len(sizes) + (np.arange(len(sizes)) < left % len(sizes))
    return dilations, sizes.astype(np.int64)


def _channels(random: np.random.RandomState, n: int, n_channels: int) -> Array:
    """For each of n responses, which channels it sees: one, or a few of at most nine."""
    most = np.log2(min(n_channels, 9) + 1)
    how_many = (2 ** random.uniform(0, most, size=n)).astype(int)
    ranks = random.uniform(size=(n, n_channels)).argsort(axis=1).argsort(axis=1)
    return ranks < how_many[:, None]


def _parts(b: Backend, x: Array, dilation: int) -> tuple[Array, list[Array]]:
    """Return the part shared by all kernels, -1 at nine places, and 3 times the series at each.

    They are added up in an order that is the same on all backends, so that the same series exceed
    a bias everywhere.
    """
    total, *others = dilated(b, x, dilation)
    for other in others:
        total = total + other
    return -total, dilated(b, 3 * x, dilation)


def _inside(j: int, k: int, dilation: int, length: int) -> tuple[int, int]:
    """Return the bounds of responses that count: every other kernel leaves out the edges."""
    edge = 4 * dilation if (j + k) % 2 else 0
    return edge, length - edge


def _mean(b: Backend, above: Array) -> Array:
    """The mean over the second axis, in float32."""
    n = above.shape[1]
    if isinstance(above, np.ndarray):  # sums of bytes, which do not overflow: a third of the time
        pieces = (above[:, start : start + 255] for start in range(0, n, 255))
        counts = sum(
            np.add.reduce(piece.view(np.uint8), axis=1, dtype=np.uint8).astype(np.float32)
            for piece in pieces
        )
        return counts / np.float32(n)
    return b.asarray(b.xp.sum(above, axis=1), np.float32) / n


def _quantiles(ordered: Array, quantiles: Array) -> Array:
    """Return quantiles of each row of sorted numbers, by linear interpolation."""
    place = quantiles * (ordered.shape[1] - 1)
    below = np.floor(place).astype(int)
    low = np.take_along_axis(ordered, below, axis=1).astype(np.float64)
    high = np.take_along_axis(ordered, np.minimum(below + 1, ordered.shape[1] - 1), axis=1)
    return low + (place - below) * (high - low)
