"""Sums over rows as a Gram matrix: one matrix product for many rows, where digits allow it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import linalg
from ..backend import Array, Backend
from ._derived import replace, with_derived
from .sums import Sums, largest_safe_row

# How long a step of refinement may be, as a fraction of W: what it leaves is about its square.
_LONGEST_STEP = 0.02

# The name under which a state keeps a Gram matrix.
_KEPT = "_gram"

Blocks = Callable[[], Iterator[tuple[Array, Array]]]


@dataclass(frozen=True)
class GramSums:
    """H'H + prior²I, of which the upper triangle counts, H'Y, and |Y|² (NumPy)."""

    G: Array
    C: Array
    squares: Array
    prior: float


def largest_diagonal(b: Backend, G: Array) -> float:
    """The largest diagonal element."""
    return float(b.xp.max(b.xp.linalg.diagonal(G)))


def precisions(dtype: np.dtype[Any]) -> list[np.dtype[Any]]:
    """The dtypes in which to try a Gram matrix."""
    return list(dict.fromkeys((dtype, np.dtype(np.float64))))


def gram_of(state: Sums, precision: Any, decay: float = 1.0) -> GramSums:
    """What R and Z are roots of, multiplied by `decay`; the memory of the result is its own."""
    b = state.backend
    squares = decay * (state.loss + b.column_squares(state.Z))
    prior = float(np.sqrt(decay)) * state.prior
    if state.basis is not None or (state.count == 0 and state.prior == 0):  # no row so far
        G = b.zeros((state.n_hidden, state.n_hidden), precision)
        C = b.zeros((state.n_hidden, state.Z.shape[1]), precision)
        return GramSums(b.add_ridge(G, prior**2), C, squares, prior)
    R, Z = b.asarray(state.R, precision), b.asarray(state.Z, precision)
    kept = kept_gram(state, precision)
    G = b.gram_of_root(R) if kept is None else b.copy(kept)
    C = b.matmul(R.T, Z)
    if decay != 1.0:
        G *= decay
        C = C * decay
    return GramSums(G, C, squares, prior)


def add_rows(
    b: Backend,
    sums: GramSums,
    blocks: Blocks,
    stop: Callable[[Array], bool] | None = None,
    hopeless: Callable[[GramSums, int], bool] | None = None,
) -> GramSums | None:
    """The sums with more rows; `sums` is consumed.

    None if `stop` says so of G after a block, or `hopeless` of all sums and the number of rows
    after the first.
    """
    G, C, squares = sums.G, sums.C, sums.squares
    precision = b.dtype_of(G)
    for rows, targets in blocks():
        H, Y = b.asarray(rows, precision), b.asarray(targets, precision)
        G = b.add_gram(G, H)
        if stop is not None and stop(G):
            return None
        C = C + b.matmul(H.T, Y)
        squares = squares + b.column_squares(targets)
        if hopeless is not None and hopeless(GramSums(G, C, squares, sums.prior), H.shape[0]):
            return None
        hopeless = None
        del rows, targets, H, Y  # one block at a time
    return GramSums(G, C, squares, sums.prior)


def kept_gram(state: Sums, precision: Any) -> Array | None:
    """The Gram matrix that R is the Cholesky factor of, if it was kept."""
    gram: Array | None = vars(state).get(_KEPT)
    return gram if gram is not None and state.backend.dtype_of(gram) == precision else None


def with_gram(state: Sums, gram: Array | None) -> Sums:
    """Sums that remember the Gram matrix of which R is the Cholesky factor."""
    return state if gram is None else with_derived(state, **{_KEPT: gram})


def learn_by_gram(
    state: Sums, blocks: Blocks, n_rows: int, precision: np.dtype[Any], decay: float
) -> tuple[Sums, Array | None] | None:
    """The state after many rows, by a Cholesky factor, and the Gram matrix if it is kept.

    None where too many digits were lost.
    """
    b, dtype = state.backend, state.dtype
    incomplete = state.basis is not None and n_rows < state.n_hidden
    ridge = decay * state.prior**2 if state.basis is not None else 0.0

    def loses_the_prior(G: Array) -> bool:
        return ridge < linalg.smallest_safe_ridge(b, G, dtype)

    sums = add_rows(
        b, gram_of(state, precision, decay), blocks, loses_the_prior if incomplete else None
    )
    if sums is None:
        return None
    keeps = state.n_hidden <= b.tuning.kept_gram_units and precision == dtype
    kept = sums.G if keeps else None  # there may be more chunks
    found = b.root_and_solved(sums.G, sums.C, spare=None if keeps else sums.G)
    if found is None:
        return None
    R, Z = found
    if not linalg.gram_is_safe(b, R, dtype):
        step = _refinement(state, R, Z, blocks, decay, ridge)
        if step is None:
            return None
        Z, kept = Z + step, None
    largest = np.inf
    if incomplete and decay == 1.0:
        largest = largest_safe_row(state.prior, dtype)
    elif state.basis is None:
        largest = state.largest_row
    new = replace(
        state,
        R=b.asarray(R, dtype),
        Z=b.asarray(Z, dtype),
        loss=np.maximum(sums.squares - b.column_squares(Z), 0.0),
        basis=None,
        prior=sums.prior,
        largest_row=largest,
    )
    return new, kept


def _refinement(
    state: Sums, R: Array, Z: Array, blocks: Blocks, decay: float, ridge: float
) -> Array | None:
    """What to add to Z so that W = R⁻¹Z loses the error of the Gram matrix behind R.

    One Newton step, with the gradient H'(Y - HW) from the rows themselves. Its length is the
    error that W had; the square of that is about what it leaves. None where that is too much.
    """
    b = state.backend
    if R.shape[0] < b.tuning.refined_units or b.dtype_of(R) != np.float32:
        return None
    W = b.solve(R, Z)
    gradient = W * -ridge
    if state.basis is None:
        left = state.Z - b.matmul(state.R, W)
        gradient = gradient + decay * b.matmul(state.R.T, left)
    for H, Y in blocks():
        gradient = gradient + b.matmul(H.T, Y - b.matmul(H, W))
        del H, Y
    step = b.solve(R, gradient, transposed=True)
    change = b.column_squares(b.solve(R, step))
    small = change <= _LONGEST_STEP**2 * b.column_squares(W)  # nan compares false
    return step if small.all() else None
