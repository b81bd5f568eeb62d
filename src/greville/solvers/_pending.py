"""Rows that are collected before they are learned together, as an immutable value.

A QR factorisation of one row costs nearly as much as one of thirty, and past a hundred there is
little to gain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from ..devices import empty_like
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
        """With some more rows, which are checked later if that means to wait for a device."""
        H, Y, sizes = rows.unchecked()
        n, stop, buffer = self.n, self.n + rows.n, self.buffer
        if buffer is None or not buffer.claim(n, stop):
            buffer = self._copied(stop, H.shape[1], Y.shape[1], H.dtype, like=H)
        buffer.H[n:stop], buffer.Y[n:stop] = H, Y
        if sizes is not None:
            with buffer.lock:
                buffer.started.append((n, stop, rows.check, sizes))
        if rows.weight is not None:
            buffer.weight[n:stop] = rows.weight
            buffer.weighted = True
        return Pending(buffer, stop)

    def rows(self) -> Rows:
        """All that can be learned, in the order they came.

        Raises
        ------
        ValueError
            The first time that a late check finds rows which cannot be. They are left out then.
        """
        buffer, n = self.buffer, self.n
        assert buffer is not None
        buffer.finish_checks(n)
        weight = buffer.weight[:n] if buffer.weighted else None
        refused = [part for part in buffer.refused if part.start < n]
        if not refused:
            return Rows.of(buffer.H[:n], buffer.Y[:n], weight)
        good = np.ones(n, bool)
        for part in refused:
            good[part] = False
        places = np.flatnonzero(good)
        return Rows.of(
            buffer.H[places], buffer.Y[places], None if weight is None else weight[places]
        )

    @property
    def n_refused(self) -> int:
        """How many of them were found to be of no use."""
        buffer = self.buffer
        refused = () if buffer is None else buffer.refused
        return sum(part.stop - part.start for part in refused if part.stop <= self.n)

    def _copied(
        self, stop: int, n_hidden: int, n_outputs: int, dtype: Any, like: Any = None
    ) -> _Buffer:
        """A new buffer with these rows and room for more, claimed up to `stop`."""
        old, n = self.buffer, self.n
        new = _Buffer(max(_ROOM, 2 * stop), n_hidden, n_outputs, dtype, like)
        if old is not None:
            new.H[:n], new.Y[:n], new.weight[:n] = old.H[:n], old.Y[:n], old.weight[:n]
            new.weighted = old.weighted
            with old.lock:
                new.started = [check for check in old.started if check[1] <= n]
                new.refused = [part for part in old.refused if part.stop <= n]
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
    """Room for rows; those up to `used` belong to a view and never change.

    Where `like` is a tensor, the rows are on its device. `started` has the checks whose results
    were not read yet, and `refused` the rows that did not pass.
    """

    __slots__ = (
        "H", "Y", "length", "lock", "refused", "started", "used", "weight", "weighted",
    )  # fmt: skip

    def __init__(
        self, length: int, n_hidden: int, n_outputs: int, dtype: Any, like: Any = None
    ) -> None:
        kind: Any = np.dtype(np.float32 if "float32" in str(dtype) else np.float64)
        shapes = (length, n_hidden), (length, n_outputs)
        if like is None or isinstance(like, np.ndarray):
            self.H, self.Y = (np.empty(shape, kind) for shape in shapes)
        else:
            self.H, self.Y = empty_like(like, *shapes)
        self.weight = np.ones(length, kind)
        self.weighted = False
        self.started: list[tuple[int, int, Any, Any]] = []
        self.refused: list[slice] = []
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

    def finish_checks(self, n: int) -> None:
        """Read the results of checks of the first n rows; a ValueError if some did not pass."""
        problem, n_refused = None, 0
        with self.lock:  # others wait for what is found
            started, self.started = self.started, [c for c in self.started if c[1] > n]
            for start, stop, check, sizes in started:
                if stop > n:
                    continue
                try:
                    check.finish(sizes)
                except ValueError as error:
                    self.refused.append(slice(start, stop))
                    n_refused += stop - start
                    problem = problem or error
        if problem is not None:
            raise ValueError(
                f"{problem} The numbers of short chunks on a device are looked at when the chunks "
                f"are learned together: the {n_refused} rows of the calls that passed such numbers "
                "were left out. Nothing of the call that raises this was learned."
            )
