"""The record of many rows at the speed of matrix products, on two cores.

`linalg.innovations` finds the errors of a block of rows from the root before it; learning the block
gives the next root. The two need nothing of each other, so they run side by side. And while the
rows are many, the next root is cheaper from a Gram matrix that is kept, one product and one
Cholesky factor, than from a QR factorisation, where that loses no digits that matter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import linalg
from ..backend import Array, Backend, eps, longest_rows
from ..threads import cores, one_thread
from ._chosen import Chosen, choose_by_gram, chosen_from_gram
from ._derived import replace
from ._gram import GramSums, gram_of
from ._learn import Exact
from ._mean import Progress, SequenceBlocks
from ._rows import Rows

# What eps·κ² may be for a root with condition number κ. The errors it causes, measured, are at
# most a hundredth of it.
_SAFE_TO_RECORD = 1e-9

# Roots that may be ahead of the errors that are found from them.
_AHEAD = 2


def block_of_rows(b: Backend, n_hidden: int) -> int:
    """How many rows to record at a time.

    Shorter blocks need more Cholesky factors of the Gram matrix, longer ones larger matrices of
    rows by rows. Measured for M = 500 in microseconds a row: 250 to 400 rows 25 to 28, 500 rows
    33; the QR factorisations took 50.
    """
    part, least, most = b.tuning.record_block
    return int(np.clip(part * n_hidden, least, most))


def attempts(known: Exact, n_rows: int) -> list[int]:
    """After how many of these rows to try again to record the rest here, and how many there are.

    Empty where that would never pay.
    """
    b, M = known.backend, known.n_hidden
    few = n_rows < 4 * block_of_rows(b, M) or b.tuning.record_units > M
    if few or known.dtype != np.float64:
        return []
    # A chosen ε is large enough from the beginning; a given one may be small next to few rows.
    first = b.tuning.svd_units_in_stream if isinstance(known, Chosen) else 2 * M
    return [stop for stop in (first, first + 2 * M) if stop < n_rows] + [n_rows]


def pays(known: Exact) -> bool:
    """Whether the state is one to begin with."""
    if not known.count > 0 or (isinstance(known, Chosen) and known.path is None):
        return False
    return known.root.basis is None and _is_safe(known.backend, known.root.R)


def _is_safe(b: Backend, R: Array) -> bool:
    return eps(b.dtype_of(R)) * b.condition(R) ** 2 <= _SAFE_TO_RECORD  # nan compares false


def record(
    known: Exact, rows: Rows, seen: int, next_choice: Callable[[int], int] | None
) -> tuple[Exact, Array] | int:
    """The state after all rows, and the prediction of each before it was learned.

    If digits were lost on the way, the number of the row where that was seen: the rows must then be
    learned in another way.

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
        return rows.n
    blocks = SequenceBlocks(b, rows, _parts(known, rows.n, seen, next_choice), known.mean)
    choices = None
    if isinstance(known, Chosen):
        assert next_choice is not None
        choices = _Choices(known, weight, seen, next_choice)
    found = _record(known, blocks(), choices)
    if found is None:
        return blocks.n_read
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
    if new is None or not _is_safe(b, R):
        return rows.n
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
        weight: Array,
        seen: int,
        next_choice: Callable[[int], int],
    ) -> None:
        self._known = known
        self._weight = weight
        self._seen = seen
        self._next_choice = next_choice
        self.path: Any = None

    def __call__(self, gram: GramSums, at: Progress) -> tuple[float, Array | None] | None:
        """The ridge to add to the sums from now on, and their root with it if it was found.

        None for the ridge there is; a ridge of nan if it cannot tell.
        """
        n = at.n_read
        if self._next_choice(self._seen + n - 1) != self._seen + n:
            return None
        count = float(self._weight[:n].sum())
        now = self._known.noted(count, count, at.mean)
        found = choose_by_gram(now, gram, "cheap")
        if found is None:
            return float("nan"), None
        self.path, root = found
        return self.path.chosen**2 - gram.prior**2, root


def _record(
    known: Exact, blocks: Iterator[tuple[Array, Array, Progress]], choose: _Choices | None
) -> tuple[GramSums, Array, float, Array] | None:
    """The sums after all rows, their root, the ridge in it that is not in them, and predictions.

    It goes from root to root; the errors of a block are found from the root before it.
    """
    b, predicted = known.backend, []
    with _work_of(b) as work:
        gram = gram_of(known.sums if isinstance(known, Chosen) else known, np.float64)
        R, ridge = known.root.R, max(known.root.prior**2 - gram.prior**2, 0.0)
        waiting: deque[tuple[Callable[[], Array | None], Array, Array]] = deque()

        def collect() -> bool:
            errors, Y, used = waiting.popleft()
            found = errors()
            if found is None:
                return False
            predicted.append(Y - found)
            if used is not known.root.R:
                work.free(used)
            return True

        check = 2 * known.n_hidden
        for H, Y, progress in blocks:
            waiting.append((work.innovations(R, gram.C, H, Y), Y, R))
            G = work.add_gram(gram.G, H)
            C, squares = gram.C + b.matmul(H.T, Y), gram.squares + b.column_squares(Y)
            gram, root = GramSums(G, C, squares, gram.prior), None
            chosen = None if choose is None else choose(gram, progress)
            if chosen is not None and chosen[0] != ridge:
                ridge, root = chosen
                if not ridge >= 0:  # nan
                    return None
            if len(waiting) > _AHEAD and not collect():
                return None
            R = work.root(gram.G, ridge) if root is None else root
            if R is None:
                return None
            if progress.n_read >= check:
                check *= 2
                if not _is_safe(b, R):
                    return None
        while waiting:
            if not collect():
                return None
    return gram, R, ridge, b.xp.concat(predicted)


class _InTurn:
    """The steps of a record, one after the other, on any backend."""

    def __init__(self, b: Backend) -> None:
        self._b = b

    def innovations(self, R: Array, C: Array, H: Array, Y: Array) -> Callable[[], Array | None]:
        """The errors of rows, each before it is learned, from a root and H'Y before them."""
        b = self._b
        W = b.solve(R, b.solve(R, C, transposed=True))
        errors = linalg.innovations(b, R, W, H, Y)
        return lambda: errors

    def add_gram(self, G: Array, H: Array) -> Array:
        """G + H'H. G is consumed."""
        return self._b.add_gram(G, H)

    def root(self, G: Array, ridge: float) -> Array | None:
        """The root of G + ridge·I; None where there is none."""
        return self._b.root_with_ridge(G, ridge)

    def free(self, R: Array) -> None:
        """Take back a root that is not needed any more."""


class _SideBySide(_InTurn):
    """The same with errors found in another thread, without Python's lock, in memory of its own."""

    def __init__(self, b: Backend, submit: Callable[..., Callable[[], Any]]) -> None:
        super().__init__(b)
        self._submit = submit
        self._spare: list[Array] = []
        self._numbers = np.empty(0)

    def innovations(self, R: Array, C: Array, H: Array, Y: Array) -> Callable[[], Array | None]:
        return self._submit(self._innovations, R, C, H, Y)

    def _innovations(self, R: Array, C: Array, H: Array, Y: Array) -> Array | None:
        """`linalg.innovations` for short rows; None where some are long."""
        b, parallel, F = self._b, self._b.parallel, self._copied(H)
        Ft = F.T
        parallel.solve_transposed_in_place(R, Ft)
        if not float(b.column_squares(F).sum()) < longest_rows(F.dtype):
            return None
        Lt = np.eye(len(H), order="F")
        parallel.add_gram_of_columns(Lt, Ft)
        parallel.root_in_place(Lt)
        W = b.solve(R, b.solve(R, C, transposed=True))
        V = b.solve(Lt, Y - b.matmul(H, W), transposed=True)
        return np.diagonal(Lt)[:, None] * V

    def _copied(self, A: Array) -> Array:
        """A copy of A, until the next."""
        if self._numbers.size < A.size:
            self._numbers = np.empty(A.size)
        place = self._numbers[: A.size].reshape(A.shape)
        np.copyto(place, A)
        return place

    def add_gram(self, G: Array, H: Array) -> Array:
        self._b.parallel.add_gram(G, H)
        return G

    def root(self, G: Array, ridge: float) -> Array | None:
        R = self._spare.pop() if self._spare else np.zeros_like(G)
        np.copyto(R, G)
        R[np.diag_indices_from(R)] += ridge
        return R if self._b.parallel.root_in_place(R) else None

    def free(self, R: Array) -> None:
        if len(self._spare) <= _AHEAD:
            self._spare.append(R)


@contextmanager
def _work_of(b: Backend) -> Iterator[_InTurn]:
    """How a backend does these steps."""
    if b.parallel is None:
        yield _InTurn(b)
        return
    with one_thread, _side_by_side() as submit:
        yield _SideBySide(b, submit)


@contextmanager
def _side_by_side() -> Iterator[Callable[..., Callable[[], Any]]]:
    """A function that starts work in another thread, and returns one that waits for it."""
    if cores() == 1:
        yield lambda work, *args: lambda: work(*args)
        return
    with ThreadPoolExecutor(1) as pool:
        yield lambda work, *args: pool.submit(work, *args).result
