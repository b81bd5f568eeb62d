"""Sums over rows that are learned later, all at once: what is done on many machines at a time.

To learn rows costs a factorisation at the end. Here rows are only added up, and sums of different
rows are added to each other, in any order and on any machine; then one model learns them, as if all
of their rows had come in one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backend import Array, Backend
from ._derived import replace
from ._gram import GramSums, SummedChunk, add_rows
from ._mean import Chunk, Mean, widened
from ._qr import is_few
from ._remove import join, leave, merge
from ._ridge import Ridge, append_rows, learn_sums
from ._rows import Counts, Rows, block_length
from .protocol import Algorithm, Shape


@dataclass(frozen=True, eq=False)
class RowSums:
    """H'H, H'Y and |Y|² of some rows, around their mean where there is an intercept, in float64."""

    backend: Backend
    gram: GramSums
    tally: Counts
    n: int
    mean: Mean | None

    @classmethod
    def of_nothing(cls, shape: Shape, intercept: bool) -> RowSums:
        b, m, k = shape.backend, shape.n_hidden, shape.n_outputs
        G, C = (b.zeros(size, np.float64) for size in ((m, m), (m, k)))
        mean = Mean.of_nothing(b, m, k) if intercept else None
        return cls(b, GramSums(G, C, np.zeros(k), 0.0), Counts(different=np.empty(0)), 0, mean)

    def with_rows(self, shape: Shape, rows: Rows) -> RowSums:
        b, gram = self.backend, self.gram
        chunk = Chunk(b, rows, block_length(b, shape.n_hidden, shape.dtype), self.mean)
        copied = replace(gram, G=b.copy(gram.G))  # the sums before these rows stay as they are
        with b.few_threads(rows.n * shape.n_hidden**2):
            added = add_rows(b, copied, chunk)
        assert added is not None
        mean = chunk.after if chunk.after is not None else self.mean
        tally = self.tally.plus(chunk.tally(self.tally.different))
        return RowSums(b, added, tally, self.n + rows.n, mean)

    def merged(self, other: RowSums) -> RowSums:
        b = self.backend
        chunk = SummedChunk(b, other.gram, other.tally, other.n, other.mean, self.mean)
        gram = add_rows(b, replace(self.gram, G=b.copy(self.gram.G)), chunk)
        assert gram is not None
        return RowSums(b, gram, self.tally.plus(other.tally), self.n + other.n, chunk.after)

    def with_outputs(self, n_outputs: int, old: Array) -> RowSums:
        b, mean, squares = self.backend, self.mean, np.zeros(n_outputs)
        squares[old] = self.gram.squares
        gram = replace(self.gram, C=widened(b, self.gram.C, n_outputs, old), squares=squares)
        return replace(
            self, gram=gram, mean=None if mean is None else mean.with_outputs(b, n_outputs, old)
        )

    def with_units(self, n_hidden: int, old: Array) -> RowSums:
        b, mean, places = self.backend, self.mean, np.asarray(old)
        G = np.zeros((n_hidden, n_hidden), order="F")
        G[np.ix_(places, places)] = b.to_numpy(self.gram.G)
        C = np.zeros((n_hidden, self.gram.C.shape[1]), order="F")
        C[places] = b.to_numpy(self.gram.C)
        gram = replace(self.gram, G=b.copy(b.asarray(G)), C=b.asarray(C))
        return replace(
            self, gram=gram, mean=None if mean is None else mean.with_units(b, n_hidden, old)
        )

    def on(self, b: Backend) -> RowSums:
        """The same on another backend."""
        mine, mean = self.backend, self.mean

        def moved(A: Array) -> Array:
            return b.copy(b.asarray(mine.to_numpy(A)))

        gram = replace(self.gram, G=moved(self.gram.G), C=moved(self.gram.C))
        if mean is not None:
            mean = replace(mean, row=moved(mean.row), target=moved(mean.target))
        return replace(self, backend=b, gram=gram, mean=mean)


Gathered = RowSums | Ridge


@dataclass(frozen=True)
class Gathering(Algorithm):
    """Adds rows up for a model that learns them later.

    Attributes
    ----------
    intercept : whether rows are added up around their mean
    by_gram : whether by Gram matrices; they are fast, but do not suit every data set. Otherwise
        by QR factorisations, which lose no digits.
    tol : eq. (10), for a model without a prior, which must know what the rows span
    has_prior : whether the model has one
    """

    intercept: bool
    by_gram: bool
    tol: float | None = None
    has_prior: bool = True

    def start(self, shape: Shape) -> Gathered:
        if self.by_gram:
            return RowSums.of_nothing(shape, self.intercept)
        size = shape.backend, shape.n_hidden, shape.n_outputs, shape.dtype
        epsilon = None if self.has_prior else 0.0
        return Ridge.start(*size, epsilon, tol=self.tol, intercept=self.intercept)

    def learn(self, shape: Shape, state: Any, rows: Rows, seen: int) -> Gathered:
        if isinstance(state, RowSums):
            return state.with_rows(shape, rows)
        b = shape.backend
        chunk = Chunk(b, rows, block_length(b, shape.n_hidden, shape.dtype), state.mean)
        few = is_few(shape.n_hidden, state.sums.rank + rows.n)
        state = state if few or not state.chooses else state.dense()
        new = append_rows(state, chunk, follow=False, few=few)
        mean = chunk.after if chunk.after is not None else state.mean
        return new.noted(chunk.tally(state.sums.different), mean)

    def merge(self, state: Any, other: Any) -> Gathered | None:
        return state.merged(other) if isinstance(state, RowSums) else merge(state, other)

    def with_outputs(self, shape: Shape, state: Any, n_outputs: int, old: Array) -> Any:
        return state.with_outputs(n_outputs, old)

    def with_units(self, shape: Shape, state: Any, n_hidden: int, old: Array) -> Any:
        return state.with_units(n_hidden, old)

    def weights(self, state: Any) -> Array:
        raise ValueError(
            "these are sums over rows, not a fitted model; call `join` on a model to learn them."
        )


def joined_sums(known: Any, gathered: Gathered, *, choosing: bool) -> Any:
    """A state that has learned rows that were gathered.

    None if their Gram matrix has lost too many digits: they are then to be gathered without one.
    """
    if not isinstance(gathered, RowSums):
        return join(known, gathered)
    b = known.backend
    chunk = SummedChunk(b, gathered.gram, gathered.tally, gathered.n, gathered.mean, known.mean)
    return learn_sums(known, chunk, "thorough" if choosing else None)


def without_sums(known: Any, gathered: Gathered, *, everything: bool) -> Any:
    """A state without rows that were gathered, None if these are `everything`.

    Raises
    ------
    ValueError
        If they cannot be removed.
    """
    assert not isinstance(gathered, RowSums)
    return leave(known, gathered, everything=everything)
