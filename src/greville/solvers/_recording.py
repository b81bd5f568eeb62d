"""The record of many rows at the speed of matrix products, on two cores.

`linalg.innovations` finds the errors of a block of rows from the root before it; learning the block
gives the next root. The two need nothing of each other, so they run side by side. And while the
rows are many, the next root is cheaper from a Gram matrix that is kept, one product and one
Cholesky factor, than from a QR factorisation, where that loses no digits that matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from .. import linalg, unlocked
from ..linalg import DOT, Array, column_squares
from ..threads import cores, one_thread
from ._root import GramSums, Root

# What eps·κ² may be for a root with condition number κ. The errors it causes, measured, are at
# most a hundredth of it.
_SAFE = 1e-9

# Units below which a QR factorisation is as fast.
_LEAST_UNITS = 128

# Rows at a time, as a part of the units. Shorter blocks need more Cholesky factors of the Gram
# matrix, longer ones larger matrices of rows by rows. Measured for M = 500 in microseconds a row:
# 250 to 400 rows 25 to 28, 500 rows 33; the QR factorisations took 50.
_BLOCK = 0.6
_LEAST_BLOCK, _MOST_BLOCK = 128, 1024


Choose = Callable[[Array, Array, Array], float | None]


def block_of_rows(n_hidden: int) -> int:
    return int(np.clip(_BLOCK * n_hidden, _LEAST_BLOCK, _MOST_BLOCK))


def may_pay(root: Any, n_rows: int) -> bool:
    """Whether so many more rows are better recorded here, now or later."""
    return (
        root.is_sum
        and root.Z.dtype == np.float64
        and root.n_hidden >= _LEAST_UNITS
        and n_rows >= 4 * block_of_rows(root.n_hidden)
        and unlocked.available()
    )


def pays(root: Any, n_rows: int) -> bool:
    """Whether they are now."""
    if not may_pay(root, n_rows):
        return False
    root.refresh()
    return root.basis is None and _is_safe(root)


def _is_safe(root: Root) -> bool:
    with one_thread:
        error = float(np.finfo(root.R.dtype).eps) * linalg.condition(root.R) ** 2
    return error <= _SAFE  # nan compares false


def record(
    root: Root, blocks: Iterator[tuple[Array, Array]], choose: Choose | None = None
) -> tuple[Root, Array] | None:
    """The root after all rows, and the prediction of each before it was learned.

    None if digits were lost on the way: the rows must then be learned in another way.

    Parameters
    ----------
    root : Root
    blocks : iterator of rows and targets
    choose : function, optional
        What ridge to add to the sums after a block, given H'H, H'Y and |Y|²: a number, None for
        the same as before, or nan where the Gram matrix cannot tell.
    """
    predicted = []
    with one_thread, _side_by_side() as submit:
        sums = root.gram_sums()
        G, C, squares, ridge, R = sums.G, sums.C, sums.squares, sums.ridge, root.R
        spare = [np.zeros_like(G) for _ in range(2)]  # roots lie in them by turns
        room = np.empty(0)
        for H, Y in blocks:
            following = submit(_learned, G, H, spare[0], ridge)
            if room.size < H.size:
                room = np.empty(H.size)
            found = _innovations(R, C, H, Y, room[: H.size].reshape(H.shape))
            C += linalg.matmul(H.T, Y)
            squares = squares + column_squares(Y)
            if not following() or found is None:
                return None
            predicted.append(Y - found)
            chosen = None if choose is None else choose(G, C, squares)
            if chosen is not None and chosen != ridge:
                ridge = chosen
                if not (ridge >= 0 and _rooted(G, spare[0], ridge)):  # nan compares false
                    return None
            R = spare[0]
            spare.reverse()
    other = root.after_gram(GramSums(G, C, squares, ridge), R)
    if other is None or not _is_safe(other):
        return None
    return other, np.concatenate(predicted)


def _learned(G: Array, H: Array, R: Array, ridge: float) -> bool:
    """G ← G + H'H, and its root with a ridge into R."""
    unlocked.add_gram(G, H)
    return _rooted(G, R, ridge)


def _rooted(G: Array, R: Array, ridge: float) -> bool:
    np.copyto(R, G)
    linalg.add_ridge(R, ridge)
    return unlocked.root_in_place(R)


def _innovations(R: Array, C: Array, H: Array, Y: Array, room: Array) -> Array | None:
    """`linalg.innovations` for short rows, without Python's lock; None where some are long."""
    np.copyto(room, H)
    Ft = room.T
    unlocked.solve_transposed_in_place(R, Ft)
    if not DOT[room.dtype](room.ravel(), room.ravel()) < linalg.longest_rows(room.dtype):
        return None
    Lt = np.eye(len(H), order="F")
    unlocked.add_gram_of_columns(Lt, Ft)
    unlocked.root_in_place(Lt)
    W = linalg.solve_root(R, linalg.solve_root(R, C, transposed=True))
    V = linalg.solve_root(Lt, Y - linalg.matmul(H, np.ascontiguousarray(W)), transposed=True)
    return np.diagonal(Lt)[:, None] * V


class _side_by_side:
    """A function that starts work in another thread, and returns one that waits for it."""

    def __init__(self) -> None:
        self._pool: Executor | None = ThreadPoolExecutor(1) if cores() > 1 else None

    def __enter__(self) -> Callable[..., Callable[[], Any]]:
        def submit(work: Callable[..., Any], *args: Any) -> Callable[[], Any]:
            if self._pool is None:
                return lambda: work(*args)
            future: Future[Any] = self._pool.submit(work, *args)
            return future.result

        return submit

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
