"""A chunk of rows that is read block by block, and more than once if it must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..linalg import Array

# Bytes in one block of activations: enough rows for the matrix products to run at full speed, few
# enough to stay small next to an M x M matrix. Each block is one pass over that matrix, so large
# layers want larger ones: for M = 7840 in float32, `syrk` does 138 thousand million operations a
# second with 32 MiB, 147 with 128.
_LEAST_BYTES, _MOST_BYTES = 1 << 25, 1 << 27

# Fewer rows than this are not worth a second thread, and wait for others before they are learned:
# a QR of one row costs nearly as much as one of thirty, and past a hundred there is little to gain.
FEW = 128


def block_length(n_hidden: int, dtype: Any) -> int:
    """How many rows of activations are made and learned at a time."""
    size = np.dtype(dtype).itemsize
    room = min(max(n_hidden**2 * size // 2, _LEAST_BYTES), _MOST_BYTES)
    return max(256, room // (n_hidden * size))


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

    def part(self, start: int, stop: int) -> Rows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[start:stop]
        return Rows(stop - start, lambda i, j: self.make(start + i, start + j), weight)

    def keep(self) -> tuple[Array, Array, Array | None]:
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
            del H, Y  # before the next are made


class Waiting:
    """Rows that wait to be learned together: a value, which never changes.

    The rows of several such values may lie in one store. Who has the last of them claims the place
    behind it, where nobody else looks, and fills it; whoever has fewer makes a store of its own.
    """

    __slots__ = ("n", "store")

    def __init__(self, store: _Store | None = None, n: int = 0) -> None:
        self.store = store
        self.n = n

    def with_one(self, h: Array, y: Any) -> Waiting:
        """And one more row."""
        store, n = self.store, self.n
        if store is None or n == store.length or store.used != n:
            store = self._copied(n + 1, len(h), np.size(y), h.dtype)
        store.used = n + 1  # claimed: no other thread runs between the test above and this
        store.H[n] = h
        store.Y[n] = y
        return Waiting(store, n + 1)

    def with_rows(self, rows: Rows) -> Waiting:
        """And some more rows."""
        H, Y = rows.make(0, rows.n)
        store, n, stop = self.store, self.n, self.n + rows.n
        if store is None or stop > store.length or store.used != n:
            store = self._copied(stop, H.shape[1], Y.shape[1], H.dtype)
        store.used = stop
        store.H[n:stop], store.Y[n:stop] = H, Y
        if rows.weight is not None:
            store.weight[n:stop] = rows.weight
            store.weighted = True
        return Waiting(store, stop)

    def rows(self) -> Rows:
        """All of them, in the order they came."""
        assert self.store is not None
        H, Y, weight = self.store.part(self.n)
        return Rows.of(H, Y, weight if self.store.weighted else None)

    def _copied(self, n_rows: int, n_hidden: int, n_outputs: int, dtype: Any) -> _Store:
        """A store of its own, with room for so many rows and more."""
        new, n = _Store(max(2 * FEW, 2 * n_rows), n_hidden, n_outputs, dtype), self.n
        if self.store is not None:
            new.H[:n], new.Y[:n], new.weight[:n] = self.store.part(n)
            new.weighted = self.store.weighted
        return new

    def __reduce__(self) -> Any:
        return _restored, (self.store and (*self.store.part(self.n), self.store.weighted),)


class _Store:
    __slots__ = ("H", "Y", "length", "used", "weight", "weighted")

    def __init__(self, length: int, n_hidden: int, n_outputs: int, dtype: Any) -> None:
        self.length = length
        self.H = np.empty((length, n_hidden), dtype)
        self.Y = np.empty((length, n_outputs), dtype)
        self.weight = np.ones(length, dtype)
        self.weighted = False
        self.used = 0

    def part(self, n: int) -> tuple[Array, Array, Array]:
        return self.H[:n], self.Y[:n], self.weight[:n]


def _restored(kept: tuple[Array, Array, Array, bool] | None) -> Waiting:
    if kept is None:
        return Waiting()
    H, Y, weight, weighted = kept
    return Waiting().with_rows(Rows.of(H, Y, weight if weighted else None))


# What a solver holds: its state, and the rows that wait.
Held = tuple[Any, Waiting]
