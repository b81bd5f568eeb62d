"""The record of many rows at the speed of matrix products, on two cores.

`linalg.innovations` finds the errors of a block of rows from the root before it; learning the block
gives the next root. The two need nothing of each other, so they run side by side. And while the
rows are many, the next root is cheaper from a Gram matrix that is kept, one product and one
Cholesky factor, than from a QR factorisation, where that loses no digits that matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..backend import Array, Backend, eps, longest_rows
from ..threads import cores, one_thread
from ._chosen import Chosen, choose_by_gram, chosen_from_gram
from ._derived import replace
from ._gram import GramSums, gram_of
from ._learn import Exact
from ._mean import SequenceBlocks
from ._rows import Rows
from ._state import State

# What eps·κ² may be for a root with condition number κ. The errors it causes, measured, are at
# most a hundredth of it.
_SAFE_TO_RECORD = 1e-9


def block_of_rows(b: Backend, n_hidden: int) -> int:
    """How many rows to record at a time.

    Shorter blocks need more Cholesky factors of the Gram matrix, longer ones larger matrices of
    rows by rows. Measured for M = 500 in microseconds a row: 250 to 400 rows 25 to 28, 500 rows
    33; the QR factorisations took 50.
    """
    part, least, most = b.tuning.record_block
    return int(np.clip(part * n_hidden, least, most))


def may_pay(known: Exact, n_rows: int) -> bool:
    """Whether so many more rows are better recorded here, now or later."""
    b = known.backend
    return (
        known.dtype == np.float64
        and known.n_hidden >= b.tuning.record_units
        and n_rows >= 4 * block_of_rows(b, known.n_hidden)
        and b.parallel is not None
    )


def pays(known: Exact, n_rows: int) -> bool:
    """Whether they are now."""
    if not may_pay(known, n_rows) or not known.count > 0:
        return False
    return known.root.basis is None and _is_safe(known.root)


def _is_safe(root: State) -> bool:
    return eps(root.dtype) * root.condition**2 <= _SAFE_TO_RECORD  # nan compares false


def record(
    known: Exact, rows: Rows, seen: int, next_choice: Callable[[int], int] | None
) -> tuple[Exact, Array] | None:
    """The state after all rows, and the prediction of each before it was learned.

    None if digits were lost on the way: the rows must then be learned in another way.

    Parameters
    ----------
    known : State or Chosen
        For which it pays.
    rows : Rows
    seen : int
        How many rows came before them.
    next_choice : function, optional
        After how many rows ε is next chosen, given how many were seen.
    """
    b, weight = known.backend, rows.weights
    if not weight.all() or (known.mean is not None and not known.mean.count > 0):
        return None
    blocks = SequenceBlocks(b, rows, _parts(known, rows.n, seen, next_choice), known.mean)
    choices = None
    if isinstance(known, Chosen):
        assert next_choice is not None
        choices = _Choices(known, blocks, weight, seen, next_choice)
    found = _record(known, blocks(), choices)
    if found is None:
        return None
    gram, R, ridge, predicted = found
    count = float(weight.sum())
    if isinstance(known, Chosen):
        assert choices is not None
        after = known.noted(count, count, blocks.after)
        epsilon = float(np.sqrt(ridge + gram.prior**2))
        after = replace(after, epsilon=epsilon, path=choices.path or known.path)
        new: Exact | None = chosen_from_gram(after, gram, R)
    else:
        Z = b.solve(R, gram.C, transposed=True)
        loss = np.maximum(gram.squares - b.column_squares(Z), 0.0)
        new = replace(known, R=R, Z=Z, loss=loss).tallied(count, count).around(blocks.after)
    if new is None or not _is_safe(new.root):
        return None
    return new, blocks.undo(predicted)


def _parts(
    known: Exact, n: int, seen: int, next_choice: Callable[[int], int] | None
) -> Iterator[slice]:
    """Blocks of the next n rows, as long as pays, that end where ε is to be chosen."""
    length, stop = block_of_rows(known.backend, known.n_hidden), 0
    while stop < n:
        start = stop
        until = length if next_choice is None else next_choice(seen + start) - seen - start
        stop = min(n, start + min(length, until))
        yield slice(start, stop)


class _Choices:
    """Chooses ε after those blocks of a record at whose end it is due; `path` is the last."""

    def __init__(
        self,
        known: Chosen,
        blocks: SequenceBlocks,
        weight: Array,
        seen: int,
        next_choice: Callable[[int], int],
    ) -> None:
        self._known = known
        self._blocks = blocks
        self._weight = weight
        self._seen = seen
        self._next_choice = next_choice
        self.path: Any = None

    def __call__(self, gram: GramSums) -> float | None:
        """The ridge to add to the sums from now on; None for the same, nan if it cannot tell."""
        n = self._blocks.n_read
        if self._next_choice(self._seen + n - 1) != self._seen + n:
            return None
        count = float(self._weight[:n].sum())
        found = choose_by_gram(
            self._known.noted(count, count, self._blocks.after), gram, cheap=True
        )
        if found is None:
            return float("nan")
        self.path = found[0]
        return self.path.chosen**2 - gram.prior**2


def _record(
    known: Exact, blocks: Iterator[tuple[Array, Array]], choose: _Choices | None
) -> tuple[GramSums, Array, float, Array] | None:
    """The sums after all rows, their root, the ridge in it that is not in them, and predictions."""
    b, parallel, predicted = known.backend, known.backend.parallel, []
    R = known.root.R
    with one_thread, _side_by_side() as submit:
        gram = gram_of(known.sums if isinstance(known, Chosen) else known, np.float64)
        G, C, squares = gram.G, gram.C, gram.squares
        ridge = max(known.root.prior**2 - gram.prior**2, 0.0)
        spare = [np.zeros_like(G) for _ in range(2)]  # for the roots, in turn
        room = np.empty(0)
        for H, Y in blocks:
            following = submit(_learned, parallel, G, H, spare[0], ridge)
            if room.size < H.size:
                room = np.empty(H.size)
            found = _innovations(b, R, C, H, Y, room[: H.size].reshape(H.shape))
            C = C + b.matmul(H.T, Y)
            squares = squares + b.column_squares(Y)
            if not following() or found is None:
                return None
            predicted.append(Y - found)
            gram = GramSums(G, C, squares, gram.prior)
            chosen = None if choose is None else choose(gram)
            if chosen is not None and chosen != ridge:
                ridge = chosen
                if not (ridge >= 0 and _rooted(parallel, G, spare[0], ridge)):  # nan: false
                    return None
            R = spare[0]
            spare.reverse()
    return gram, R, ridge, np.concatenate(predicted)


def _learned(parallel: Any, G: Array, H: Array, R: Array, ridge: float) -> bool:
    """G ← G + H'H, and its root with a ridge into R."""
    parallel.add_gram(G, H)
    return _rooted(parallel, G, R, ridge)


def _rooted(parallel: Any, G: Array, R: Array, ridge: float) -> bool:
    np.copyto(R, G)
    R[np.diag_indices_from(R)] += ridge
    return parallel.root_in_place(R)


def _innovations(b: Backend, R: Array, C: Array, H: Array, Y: Array, room: Array) -> Array | None:
    """`linalg.innovations` for short rows, without Python's lock; None where some are long."""
    np.copyto(room, H)
    Ft, parallel = room.T, b.parallel
    parallel.solve_transposed_in_place(R, Ft)
    if not float(b.column_squares(room).sum()) < longest_rows(room.dtype):
        return None
    Lt = np.eye(len(H), order="F")
    parallel.add_gram_of_columns(Lt, Ft)
    parallel.root_in_place(Lt)
    W = b.solve(R, b.solve(R, C, transposed=True))
    V = b.solve(Lt, Y - b.matmul(H, W), transposed=True)
    return np.diagonal(Lt)[:, None] * V


@contextmanager
def _side_by_side() -> Iterator[Callable[..., Callable[[], Any]]]:
    """A function that starts work in another thread, and returns one that waits for it."""
    if cores() == 1:
        yield lambda work, *args: lambda: work(*args)
        return
    with ThreadPoolExecutor(1) as pool:
        yield lambda work, *args: pool.submit(work, *args).result
