"""A chunk of rows that is read block by block, and more than once if it must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..backend import Array, Backend


def block_length(b: Backend, n_hidden: int, dtype: Any) -> int:
    """How many rows of activations are made and learned at a time.

    Enough for matrix products to run at full speed, few enough to stay small next to an M x M
    matrix. Each block is one pass over that matrix, so large layers want larger ones: for M = 7840
    in float32, the Gram matrix of 138 thousand million operations a second with 32 MiB, 147 with
    128.
    """
    size, (least, most) = np.dtype(dtype).itemsize, b.tuning.block_bytes
    room = min(max(n_hidden**2 * size // 2, least), most)
    return max(256, room // (n_hidden * size))


class Rows:
    """n rows of activations and targets with their weights, made a block at a time.

    Parameters
    ----------
    n : int
        The number of rows.
    make : function
        ``make(start, stop)`` returns the (H, Y) of these rows: slices of arrays, or the output of
        a hidden layer. It is called again where a fast route fails and a safe one starts over.
    weight : ndarray of shape (n,), optional
        The sample weights.
    """

    def __init__(
        self,
        n: int,
        make: Callable[[int, int], tuple[Array, Array]],
        weight: Array | None = None,
    ) -> None:
        self.n = n
        self.make = make
        self.weight = weight

    @classmethod
    def of(cls, H: Array, Y: Array, weight: Array | None = None) -> Rows:
        """Rows that are there as arrays."""
        return cls(H.shape[0], lambda start, stop: (H[start:stop], Y[start:stop]), weight)

    @property
    def weights(self) -> Array:
        """The sample weights, ones where there are none."""
        return np.ones(self.n) if self.weight is None else self.weight

    def part(self, start: int, stop: int) -> Rows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[start:stop]
        return Rows(stop - start, lambda i, j: self.make(start + i, start + j), weight)

    def arrays(self) -> tuple[Array, Array, Array | None]:
        """The rows as arrays of their own."""
        H, Y = self.make(0, self.n)
        return H.copy(), Y.copy(), None if self.weight is None else self.weight.copy()

    def slices(self, length: int) -> Iterator[slice]:
        """Consecutive parts of at most so many rows."""
        for start in range(0, self.n, length):
            yield slice(start, min(start + length, self.n))

    def blocks(
        self, b: Backend, length: int, factor: Array | None = None
    ) -> Iterator[tuple[Array, Array]]:
        """Blocks on a backend, each row and its target multiplied by its factor (NumPy)."""
        for rows in self.slices(length):
            H, Y = (b.asarray(A) for A in self.make(rows.start, rows.stop))
            if factor is not None:
                f = b.asarray(factor[rows, None], b.dtype_of(H))
                H, Y = f * H, f * Y
            yield H, Y
            del H, Y  # before the next are made
