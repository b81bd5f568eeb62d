"""Lags and products of lags: a reservoir without a reservoir."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import comb
from typing import Annotated

import numpy as np

from ..backend import Array
from ..fields import array, require, within
from ..validation import check_memory
from .protocol import stored_features
from .sequence import SequenceLayer


@stored_features({"state_": array(2)})
@dataclass(eq=False, repr=False)
class LagLayer(SequenceLayer):
    """The latest rows, and the products of their numbers: nonlinear vector autoregression.

    It is called the next generation of reservoirs, since a reservoir with a linear readout is such
    a model, and this one has nothing random and few parameters. Before the first row all are zero.

    Parameters
    ----------
    lags : int, default=2
        How many rows: the last one, and those before it.
    stride : int, default=1
        How many rows lie from one of them to the next.
    order : int, default=2
        Products of up to so many numbers; 1 has the numbers alone.

    Attributes
    ----------
    state_ : ndarray of shape ((lags - 1) * stride, n_features)
        The rows before the next, with which `advance` goes on.
    n_hidden_, n_features_in_ : int

    References
    ----------
    Gauthier, Bollt, Griffith & Barbosa, "Next generation reservoir computing", Nature
    Communications 12, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import LagLayer
    >>> LagLayer(2).fit_transform([[1.0], [2.0], [5.0]])  # now, before, and their products
    array([[ 1.,  0.,  1.,  0.,  0.],
           [ 2.,  1.,  4.,  2.,  1.],
           [ 5.,  2., 25., 10.,  4.]])
    """

    lags: Annotated[int, within(1, whole=True)] = 2
    _: KW_ONLY
    stride: Annotated[int, within(1, whole=True)] = 1
    order: Annotated[int, within(1, whole=True)] = 2

    def _size(self, n_features: int) -> int:
        n = int(self.lags) * n_features
        return sum(comb(n + k - 1, k) for k in range(1, int(self.order) + 1))

    def _set_weights(self, n_features: int) -> None:
        size = self._size(n_features)
        check_memory(
            f"lags={self.lags!r} and order={self.order!r} for {n_features:,} columns",
            64.0 * size,
            "pass fewer of them.",
        )
        self.n_hidden_ = size

    def _initial_state(self) -> Array:
        return np.zeros(((int(self.lags) - 1) * int(self.stride), self.n_features_in_))

    def _follow(self, X: Array, state: Array) -> tuple[Array, Array]:
        rows = np.concatenate([state, X])
        before, n = len(state), len(X)
        starts = [before - k * int(self.stride) for k in range(int(self.lags))]
        numbers = np.hstack([rows[start : start + n] for start in starts])
        H, width = np.empty((n, self.n_hidden_)), numbers.shape[1]
        H[:, :width] = numbers
        start, at = 0, width
        with np.errstate(over="ignore"):
            for k in range(1, int(self.order)):
                products, start = H[:, start:at], at
                for i in range(width):  # with all products of the numbers from this one on
                    last = products[:, -comb(width - i + k - 1, k) :]
                    part = slice(at, at + last.shape[1])
                    np.multiply(numbers[:, i : i + 1], last, out=H[:, part])
                    at = part.stop
        return H, rows[n:]

    def _check_stored(self) -> None:
        fits = self.n_hidden_ == self._size(self.n_features_in_)
        require(fits, "the units are not as many as the parameters say")
        super()._check_stored()
