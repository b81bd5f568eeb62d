"""Rows that are collected before they are learned together, as an immutable value.

A QR factorisation of one row costs nearly as much as one of thirty, and past a hundred there is
little to gain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from ..threads import new_lock
from ._rows import Rows

# Rows for which a new buffer has room.
_ROOM = 256


class Pending:
    """The first n rows of a buffer.

    Several such views may share a buffer. Only the longest view may append in place, behind its
    last row, where no other view reads; any other copies its rows into a new buffer first.
    """

    __slots__ = ("buffer", "n")

    def __init__(self, buffer: _Buffer | None = None, n: int = 0) -> None:
        self.buffer = buffer
        self.n = n

    def with_one(self, h: Array, y: Any) -> Pending:
        """With one more row."""
        n, buffer, free = self.n, self.buffer, False
        if buffer is not None:
            with buffer.lock:
                free = buffer.used == n < buffer.length
                if free:
                    buffer.used = n + 1
        if buffer is None or not free:
            buffer = self._copied(n + 1, len(h), np.size(y), h.dtype)
        buffer.H[n] = h
        buffer.Y[n] = y
        return Pending(buffer, n + 1)

    def with_rows(self, rows: Rows) -> Pending:
        """With some more rows."""
        H, Y = rows.make(0, rows.n)
        n, stop, buffer = self.n, self.n + rows.n, self.buffer
        if buffer is None or not buffer.claim(n, stop):
            buffer = self._copied(stop, H.shape[1], Y.shape[1], H.dtype)
        buffer.H[n:stop], buffer.Y[n:stop] = H, Y
        if rows.weight is not None:
            buffer.weight[n:stop] = rows.weight
            buffer.weighted = True
        return Pending(buffer, stop)

    def rows(self) -> Rows:
        """All of them, in the order they came."""
        buffer, n = self.buffer, self.n
        assert buffer is not None
        weight = buffer.weight[:n] if buffer.weighted else None
        return Rows.of(buffer.H[:n], buffer.Y[:n], weight)

    def _copied(self, stop: int, n_hidden: int, n_outputs: int, dtype: Any) -> _Buffer:
        """A new buffer with these rows and room for more, claimed up to `stop`."""
        new, old, n = _Buffer(max(_ROOM, 2 * stop), n_hidden, n_outputs, dtype), self.buffer, self.n
        if old is not None:
            new.H[:n], new.Y[:n], new.weight[:n] = old.H[:n], old.Y[:n], old.weight[:n]
            new.weighted = old.weighted
        new.claim(0, stop)
        return new

    def __reduce__(self) -> Any:
        if self.buffer is None or not self.n:
            return Pending, ()
        rows = self.rows()
        return _remade, rows.arrays()


def _remade(H: Array, Y: Array, weight: Array | None) -> Pending:
    return Pending().with_rows(Rows.of(H, Y, weight))


class _Buffer:
    """Room for rows; those up to `used` belong to a view and never change."""

    __slots__ = ("H", "Y", "length", "lock", "used", "weight", "weighted")

    def __init__(self, length: int, n_hidden: int, n_outputs: int, dtype: Any) -> None:
        self.H = np.empty((length, n_hidden), dtype)
        self.Y = np.empty((length, n_outputs), dtype)
        self.weight = np.ones(length, dtype)
        self.weighted = False
        self.length = length
        self.used = 0
        self.lock = new_lock()

    def claim(self, start: int, stop: int) -> bool:
        """Take the rows from start to stop, if they are free and there."""
        with self.lock:
            if self.used != start or stop > self.length:
                return False
            self.used = stop
            return True
