"""A chunk of rows that is read block by block, and more than once if it must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..linalg import Array

# Bytes in one block of activations: enough rows for the matrix products to run at full speed
# (from 256 on, at any width measured), few enough to stay small next to an M x M matrix.
BLOCK_BYTES = 1 << 25

# Fewer rows than this are not worth a second thread, and wait for others before they are learned:
# a QR of one row costs nearly as much as one of thirty, and past a hundred there is little to gain.
FEW = 128

# Up to so many waiting rows do not have to be learned when the weights are wanted: these are then
# found from the old root and the rows, in two passes over the root where a QR makes many.
VERY_FEW = 32


def block_length(n_hidden: int, dtype: Any) -> int:
    """How many rows of activations are made and learned at a time."""
    return max(256, BLOCK_BYTES // (n_hidden * np.dtype(dtype).itemsize))


Kept = tuple[Array, Array, Array | None]


class Rows:
    """n rows of activations and targets with their weights, made a block at a time.

    `make(start, stop)` returns the (H, Y) of these rows: slices of arrays, or a hidden layer at
    work. It is called again where a fast route fails and a safe one starts over.
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
        return cls(len(H), lambda start, stop: (H[start:stop], Y[start:stop]), weight)

    @classmethod
    def joined(cls, chunks: list[Kept]) -> Rows:
        """Rows kept earlier, in the order they came."""
        H, Y, weights = (list(arrays) for arrays in zip(*chunks, strict=True))
        if all(w is None for w in weights):
            return cls.of(np.concatenate(H), np.concatenate(Y))
        filled = [np.ones(len(h), h.dtype) if w is None else w for h, _, w in chunks]
        return cls.of(np.concatenate(H), np.concatenate(Y), np.concatenate(filled))

    def part(self, start: int, stop: int) -> Rows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[start:stop]
        return Rows(stop - start, lambda i, j: self.make(start + i, start + j), weight)

    def keep(self) -> Kept:
        """The rows as arrays of their own."""
        H, Y = self.make(0, self.n)
        return H.copy(), Y.copy(), None if self.weight is None else self.weight.copy()

    def slices(self, length: int) -> Iterator[slice]:
        for start in range(0, self.n, length):
            yield slice(start, min(start + length, self.n))

    def blocks(self, length: int, factor: Array | None = None) -> Iterator[tuple[Array, Array]]:
        """Blocks of rows, each row and its target multiplied by its factor."""
        for rows in self.slices(length):
            H, Y = self.make(rows.start, rows.stop)
            if factor is not None:
                f = factor[rows, None].astype(H.dtype, copy=False)
                H, Y = f * H, f * Y
            yield H, Y
