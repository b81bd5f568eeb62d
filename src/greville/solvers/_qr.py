"""Rows into a root by QR factorisations, and the basis while rows do not span the space."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from .. import linalg
from ..backend import Array
from ._derived import replace
from .sums import Sums, largest_safe_row

# Units from which few rows, fewer than a part of them, are kept in a basis. Smaller matrices take
# little memory, and kernels for single rows need them.
_WIDE, _FEW = 512, 4


def is_few(n_hidden: int, n_rows: int) -> bool:
    """Whether rows are so few that a basis of them is smaller than a matrix of all units."""
    return n_hidden >= _WIDE and _FEW * n_rows < n_hidden


def learn_rows(state: Sums, H: Array, Y: Array, *, few: bool = False) -> Sums:
    """The sums after some rows; with `few` their basis may stay."""
    state, stop = _prepared(state, H, few), 0
    with state.backend.few_threads(0):
        while stop < H.shape[0]:
            part, stop = _next_piece(state, stop, H.shape[0])
            state, T, _ = _in_coordinates(state, H[part, :])
            state = _without_full_basis(append(_grown(state, T.shape[1]), T, Y[part, :]))
    return state


def append(state: Sums, T: Array, Y: Array) -> Sums:
    """QR of [R; T] for rows in the coordinates of R."""
    R, Z, left = state.backend.append_rows(state.R, state.Z, T, Y)
    return replace(state, R=R, Z=Z, loss=state.loss + left)


def innovate_rows(state: Sums, H: Array, Y: Array, *, few: bool = False) -> tuple[Sums, Array]:
    """Learn a few rows; the error of each before it was learned."""
    errors, state, stop = state.backend.xp.empty_like(Y), _prepared(state, H, few), 0
    with state.backend.few_threads(0):
        while stop < H.shape[0]:
            part, stop = _next_piece(state, stop, H.shape[0])
            step = innovate_in_span if state.basis is None else _innovate_in_basis
            state, errors[part, :] = step(state, H[part, :], Y[part, :])
            state = _without_full_basis(state)
    return state, errors


def innovate_in_span(state: Sums, T: Array, Y: Array) -> tuple[Sums, Array]:
    """Errors of, and learning from, rows in the span of what R holds."""
    b = state.backend
    errors = linalg.innovations(b, state.R, state.solved, T, Y) if state.rank else Y
    if errors is not None:
        return append(state, T, Y), errors
    # R is singular to the last digit: one row after another.
    errors = b.xp.empty_like(Y)
    for i in range(T.shape[0]):
        row = slice(i, i + 1)
        errors[row, :] = Y[row, :] - b.matmul(T[row, :], state.solved)
        state = append(state, T[row, :], Y[row, :])
    return state, errors


def _innovate_in_basis(state: Sums, H: Array, Y: Array) -> tuple[Sums, Array]:
    """`innovate_in_span` for rows of which some have directions that the basis has not."""
    rank = state.rank
    state, T, new = _in_coordinates(state, H)
    errors, stop = state.backend.xp.empty_like(Y), 0
    for is_new, run in groupby(new):
        start, stop = stop, stop + len(list(run))
        rank += stop - start if is_new else 0
        step = _innovate_new if is_new else innovate_in_span
        state, errors[start:stop, :] = step(state, T[start:stop, :rank], Y[start:stop, :])
    return state, errors


def _innovate_new(state: Sums, T: Array, Y: Array) -> tuple[Sums, Array]:
    """Errors of, and learning from, rows each with a direction of its own, eqs. (16) and (20).

    With T = [A L], L lower triangular, and U'U = LL' + p²(I + AθA') for the prior p, these
    errors are in U⁻ᵀ(Y - AW), each divided by its U_kk. All numbers are of the size of the
    rows, also where p is so small that it is lost next to them.
    """
    b, xp, rank = state.backend, state.backend.xp, state.rank
    A, U = T[:, :rank], T[:, rank:].T
    left = Y - b.matmul(A, state.solved)
    if state.prior > 0:
        rows = [xp.eye(T.shape[0], dtype=T.dtype)]
        if rank:
            rows.append(b.solve(state.R, A.T, transposed=True))
        U = b.triangularise(xp.concat([U, state.prior * xp.concat(rows)]))
    errors = b.solve(U, left, transposed=True)
    state = append(_grown(state, T.shape[1]), T, Y)
    return state, xp.linalg.diagonal(U)[:, None] * errors


# While the rows do not span the whole space


def dense(sums: Sums, *, singular: bool) -> Sums:
    """Return sums without a basis, if the prior allows that or R may be `singular`."""
    if sums.basis is None or sums.tol is not None:
        return sums
    b, M, rank, n_outputs = sums.backend, sums.n_hidden, sums.rank, sums.Z.shape[1]
    if singular:
        R, Z = b.zeros((M, M), sums.dtype), b.zeros((M, n_outputs), sums.dtype)
        if rank:
            R[:rank, :], Z[:rank, :] = linalg.root_and_targets(
                b, b.matmul(sums.R, sums.basis), sums.Z
            )
        return replace(sums, R=R, Z=Z, basis=None)
    limit = largest_safe_row(sums.prior, sums.dtype)
    if not rank or not b.column_squares(sums.R).max() <= limit**2:
        return sums
    without = linalg.remove_diagonal(b, sums.R, sums.Z, sums.prior)
    if without is None:
        return sums
    R = b.identity(M, sums.dtype, sums.prior)
    zero = b.zeros((M, n_outputs), sums.dtype)
    R, Z, _ = b.append_rows(R, zero, b.matmul(without[0], sums.basis), without[1])
    squares = sums.loss + b.column_squares(sums.Z)
    loss = np.maximum(squares - b.column_squares(Z), 0.0)
    return replace(sums, R=R, Z=Z, loss=loss, basis=None, largest_row=limit)


def _prepared(state: Sums, H: Array, few: bool) -> Sums:
    """Return sums with or without a basis, as the next rows need.

    A prior p that is in R from the start loses digits as eps·|a|/p while the rows do not span
    the space. So at the first row, and when rows come that are too large for p.
    """
    b = state.backend
    settled = state.basis is None and state.largest_row == np.inf
    if settled or state.tol is not None or state.prior == 0:
        return state
    largest = float(b.xp.max(b.xp.abs(H))) if H.shape[0] else 0.0
    largest *= float(np.sqrt(state.n_hidden))
    if state.basis is None:
        return _returned_to_basis(state) if largest > state.largest_row else state
    if state.rank == 0 and largest > 0:  # zeros tell nothing
        limit = largest_safe_row(state.prior, state.dtype)
        if largest <= limit and not few:
            return replace(_grown(state, state.n_hidden), basis=None, largest_row=limit)
    return state


def _returned_to_basis(state: Sums) -> Sums:
    """Leave the directions in which R has nothing but the prior to a basis of the others."""
    b = state.backend
    U, s, Vt = b.svd(state.R)
    values = b.to_numpy(s)
    rounding = linalg.default_tol(state.n_hidden, state.dtype) * values[0]
    n_reached = int((values > np.hypot(state.prior, rounding) * (1 + 1e-3)).sum())
    if n_reached == len(values):
        return replace(state, largest_row=np.inf)
    return replace(
        state,
        basis=Vt[:n_reached, :],
        R=b.asarray(np.diag(values[:n_reached])),
        Z=b.matmul(U[:, :n_reached].T, state.Z),
        largest_row=np.inf,
    )


def _next_piece(state: Sums, start: int, n: int) -> tuple[slice, int]:
    """Return the slice of the next rows to learn at once, and its end; few with a basis."""
    tuning = state.backend.tuning
    stop = min(n, start + (tuning.qr_rows if state.basis is None else tuning.basis_rows))
    return slice(start, stop), stop


def _in_coordinates(state: Sums, H: Array) -> tuple[Sums, Array, Array]:
    """Return rows in coordinates of the basis, which grows, and a mask of new directions."""
    if state.basis is None:
        return state, H, np.zeros(H.shape[0], dtype=bool)
    tol = linalg.default_tol(state.n_hidden, state.dtype) if state.tol is None else state.tol
    basis, T, new = linalg.extend_basis(state.backend, state.basis, H, tol)
    return replace(state, basis=basis), T, new


def _grown(state: Sums, rank: int) -> Sums:
    """Extend R and Z for new directions, which so far have the prior alone."""
    n_spanned = state.rank
    if rank == n_spanned:
        return state
    b = state.backend
    R = b.identity(rank, state.dtype, state.prior)
    R[:n_spanned, :n_spanned] = state.R
    Z = b.zeros((rank, state.Z.shape[1]), state.dtype)
    Z[:n_spanned, :] = state.Z
    return replace(state, R=R, Z=Z)


def _without_full_basis(state: Sums) -> Sums:
    """Replace a full basis by the hidden units: a root of R·basis, and its Z."""
    if state.basis is None or state.rank < state.n_hidden:
        return state
    b = state.backend
    R, Z = linalg.root_and_targets(b, b.matmul(state.R, state.basis), state.Z)
    return replace(state, R=R, Z=Z, basis=None, largest_row=np.inf)
