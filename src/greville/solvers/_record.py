"""The record of many rows at the speed of matrix products.

`linalg.innovations` finds the errors of a block of rows from the root before it; learning the block
gives the next root. While the rows are many, the next root is cheaper from a Gram matrix that is
kept, one product and one Cholesky factor, than from a QR factorisation, where that loses no digits
that matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import linalg
from ..backend import Array, Backend, eps
from ._derived import replace
from ._gram import GramSums, gram_of
from ._mean import Progress, SequenceBlocks
from ._ridge import Ridge, choose_by_gram, chosen_from_gram
from ._rows import Counts, Rows

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


def attempts(known: Ridge, n_rows: int) -> list[int]:
    """After how many of these rows to try again to record the rest here, and how many there are.

    Empty where that would never pay.
    """
    b, M = known.backend, known.n_hidden
    few = n_rows < 4 * block_of_rows(b, M) or b.tuning.record_units > M
    if few or known.dtype != np.float64:
        return []
    # A chosen ε is large enough from the beginning; a given one may be small next to few rows.
    first = b.tuning.svd_units_in_stream if known.chooses else 2 * M
    return [stop for stop in (first, first + 2 * M) if stop < n_rows] + [n_rows]


def pays(known: Ridge) -> bool:
    """Whether the state is one to begin with."""
    if not known.count > 0 or (known.chooses and known.path is None):
        return False
    return known.root.basis is None and _is_safe(known.backend, known.root.R)


def _is_safe(b: Backend, R: Array) -> bool:
    return eps(b.dtype_of(R)) * b.condition(R) ** 2 <= _SAFE_TO_RECORD  # nan compares false


def record(
    known: Ridge, rows: Rows, seen: int, next_choice: Callable[[int], int] | None
) -> tuple[Ridge, Array] | int:
    """The state after all rows, and the prediction of each before it was learned.

    If digits were lost on the way, the number of the row where that was seen: the rows must then be
    learned in another way.

    Parameters
    ----------
    known : Ridge
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
    if known.chooses:
        assert next_choice is not None
        choices = _Choices(known, weight, seen, next_choice)
    found = _record(known, blocks(), choices)
    if found is None:
        return blocks.n_read
    gram, R, ridge, predicted = found
    tally = Counts.of(weight).with_rows(b, rows, known.sums.different)
    if known.chooses:
        assert choices is not None
        after = known.noted(tally, blocks.after)
        epsilon = float(np.sqrt(ridge + gram.prior**2))
        after = replace(after, epsilon=epsilon, path=choices.path or known.path)
        new: Ridge | None = chosen_from_gram(after, gram, R)
    else:
        Z = b.solve(R, gram.C, transposed=True)
        loss = np.maximum(gram.squares - b.column_squares(Z), 0.0)
        sums = replace(known.sums, R=R, Z=Z, loss=loss)
        new = known.with_sums(sums).noted(tally, blocks.after)
    if new is None or not _is_safe(b, R):
        return rows.n
    return new, blocks.undo(predicted)


def _parts(
    known: Ridge, n: int, seen: int, next_choice: Callable[[int], int] | None
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
        known: Ridge,
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
        now = self._known.noted(Counts.of(self._weight[:n]), at.mean)  # many are different by now
        found = choose_by_gram(now, gram, "cheap")
        if found is None:
            return float("nan"), None
        self.path, root = found
        return self.path.chosen**2 - gram.prior**2, root


def _record(
    known: Ridge, blocks: Iterator[tuple[Array, Array, Progress]], choose: _Choices | None
) -> tuple[GramSums, Array, float, Array] | None:
    """The sums after all rows, their root, the ridge in it that is not in them, and predictions.

    It goes from root to root; the errors of a block are found from the root before it.
    """
    b, predicted, check = known.backend, [], 2 * known.n_hidden
    gram = gram_of(known.sums, np.float64)
    R, ridge = known.root.R, max(known.root.prior**2 - gram.prior**2, 0.0)
    for H, Y, progress in blocks:
        W = b.solve(R, b.solve(R, gram.C, transposed=True))
        errors = linalg.innovations(b, R, W, H, Y)
        if errors is None:
            return None
        predicted.append(Y - errors)
        C, squares = gram.C + b.matmul(H.T, Y), gram.squares + b.column_squares(Y)
        gram, root = GramSums(b.add_gram(gram.G, H), C, squares, gram.prior), None
        chosen = None if choose is None else choose(gram, progress)
        if chosen is not None and chosen[0] != ridge:
            ridge, root = chosen
            if not ridge >= 0:  # nan
                return None
        R = b.root_with_ridge(gram.G, ridge) if root is None else root
        if R is None:
            return None
        if progress.n_read >= check:
            check *= 2
            if not _is_safe(b, R):
                return None
    return gram, R, ridge, b.xp.concat(predicted)
