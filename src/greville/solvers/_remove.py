"""Rows taken away from a state, and states added."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import linalg
from ..backend import Array, Backend, eps
from ._derived import replace
from ._gram import sums_by_gram
from ._mean import Mean
from ._qr import is_few, learn_rows
from .sums import Sums

# Rows removed together: as many as there are weights, since each time costs a factorisation, but
# not so many that the eigenvalues of rows x rows cost more than that.
_MOST_REMOVED = 1024

# What removing a row must leave of its direction, as a power of eps. The relative error of
# the weights, measured, is about three times eps over what is left: 1e-8 at this limit in float64.
_LEAST_LEFT = 0.46

# How far the sums of squares of all rows may be from what was learned, when all are unlearned.
_ALIKE = {"d": 1e-6, "f": 1e-2}

# The error of the weights that removing rows may cause, as a part of them.
_LARGEST_LOST = {"d": 1e-7, "f": 3e-2}

# How negative, next to what it is a difference of, rounding may make a sum of squares.
_LARGEST_DEFICIT = {"d": 1e-9, "f": 1e-3}

# How much less than nothing rounding may leave of the squares of targets.
_ROUNDING_OF_TARGETS = 1e-6

_CANNOT_UNLEARN = (
    "these rows cannot be unlearned: either some of them, or their targets or weights, were not "
    "learned like this, or the rows that are left do not determine the weights any more (a larger "
    "epsilon helps). The model is as it was."
)


def remove(state: Sums, H: Array, Y: Array, least: float | None = None) -> Sums | None:
    """R'R ← R'R - H'H and R'Z ← R'Z - H'Y. None if that leaves no root.

    Or, given a `least`, if a row would leave less than that of what R'R has in its direction,
    or if the rounding of this and all earlier removals would matter to the weights.
    """
    b, T = state.backend, _coordinates(state, H)
    if T is None:
        return None
    squares = state.loss + b.column_squares(state.Z) - b.column_squares(Y)
    with b.few_threads(0 if state.rank < b.tuning.wide else np.inf):
        new = linalg.remove_rows(b, state.R, state.Z, T, Y, least)
        if new is None:
            return None
        smallest = np.inf if least is None else b.smallest_singular_value(new[0])
    lost = state.lost + _rounding_of_sums(b, T)
    if not lost <= _LARGEST_LOST[state.dtype.char] * smallest**2:
        return None
    left = _replaced(state, new, squares, state.mean)
    return None if left is None else replace(left, lost=lost)


def _rounding_of_sums(b: Backend, H: Array) -> float:
    """Return the rounding error of sums of squares after rows H were removed."""
    return eps(b.dtype_of(H)) * float(b.column_squares(H).max(initial=0.0))


def _replaced(
    state: Sums, new: tuple[Array, Array] | None, squares: Array, mean: Mean | None
) -> Sums | None:
    """Replace R and Z in a state; `squares` are the sums of squares of all targets.

    None if they leave less than nothing. A mean far from zero has made the targets around it less
    exact.
    """
    if new is None:
        return None
    b, (R, Z) = state.backend, new
    loss = squares - b.column_squares(Z)
    size = squares + b.column_squares(state.Z)
    if mean is not None:
        size = size + mean.count * b.to_numpy(mean.target) ** 2
    if (loss < -_LARGEST_DEFICIT[state.dtype.char] * size).any():
        return None
    return replace(state, R=R, Z=Z, loss=np.maximum(loss, 0.0))


def _remove_from_chosen(chosen: Any, H: Array, Y: Array, least: float) -> Any:
    """Remove rows where ε is chosen: by a difference of sums if too little of a direction stays."""
    b, sums = chosen.backend, chosen.sums
    if not sums.rank or not bool(b.xp.any(sums.R != 0)):  # no row so far but zeros
        left = sums.loss - b.column_squares(Y)
        if bool(b.xp.any(H != 0)) or (left < -_ROUNDING_OF_TARGETS * sums.loss).any():
            raise ValueError(_CANNOT_UNLEARN)
        return chosen.with_sums(replace(sums, loss=np.maximum(left, 0.0)))
    removed = remove(sums, H, Y, least)
    if removed is not None:
        return chosen.with_sums(removed).raised(_rounding_of_sums(b, H))
    T = _coordinates(sums, H)
    fewer = None if T is None else _subtract(chosen, T, Y, 4 * _rounding_of_sums(b, sums.R))
    if fewer is None:
        raise ValueError(_CANNOT_UNLEARN)
    return chosen.with_sums(fewer[0]).raised(fewer[1])


def _coordinates(sums: Sums, H: Array) -> Array | None:
    """Rows in the coordinates of the sums; None if they are not in the span of the basis."""
    if sums.basis is None:
        return H
    b = sums.backend
    T = b.matmul(H, sums.basis.T)
    outside = b.row_squares(H - b.matmul(T, sums.basis))
    tol = linalg.default_tol(sums.n_hidden, sums.dtype)
    return None if (outside > tol**2 * b.row_squares(H)).any() else T


def _subtract(chosen: Any, H: Array, Y: Array, rounding: float) -> tuple[Sums, float] | None:
    """Subtract the sums of some rows in float64; a ridge as large as the rounding is added.

    Returns the new sums and the ridge; None if the difference is no sum of squares to rounding.
    """
    b, sums, dtype = chosen.backend, chosen.sums, chosen.dtype
    R, Z, T, targets = (b.asarray(A, np.float64) for A in (sums.R, sums.Z, H, Y))
    C = b.matmul(R.T, Z) - b.matmul(T.T, targets)
    squares = sums.loss + b.column_squares(sums.Z) - b.column_squares(Y)
    G = b.add_gram(b.gram_of_root(R), T, -1.0)
    for ridge in (rounding, G.shape[0] * rounding):
        root = b.root_with_ridge(G, ridge)
        if root is None:
            continue
        new = b.solve(root, C, transposed=True)
        parts = b.asarray(root, dtype), b.asarray(new, dtype)
        left = _replaced(sums, parts, squares, sums.mean)
        if left is not None:
            return replace(left, prior=float(np.hypot(sums.prior, np.sqrt(ridge)))), ridge
    return None


def merge(own: Any, other: Any) -> Any:
    """Merge two states with the same prior, or without one; None if there is no root."""
    b, merged, theirs = own.backend, join(own, other), other.sums
    state = merged.sums
    if own.chooses or state.prior == 0 or theirs.prior == 0 or not theirs.rank:
        return merged
    if theirs.basis is None:  # it has brought the prior with it, a second time
        squares = state.loss + b.column_squares(state.Z)
        new = linalg.remove_diagonal(b, state.R, state.Z, state.prior)
        left = _replaced(state, new, squares, state.mean)
    else:
        prior = theirs.basis * state.prior
        zero = b.zeros((prior.shape[0], state.Z.shape[1]), state.dtype)
        left = remove(state, prior, zero)
    return None if left is None else merged.with_sums(left)


def join(own: Any, other: Any) -> Any:
    """Merge the rows and the prior of another state into a state; ε stays as it is.

    Roots of wide layers are joined by a Gram matrix if that loses no digits at any ε.
    """
    b, mean, before = own.backend, own.mean, own.sums
    if not before.count and before.prior == 0 and before.tol == other.sums.tol:
        sums = replace(other.sums, tally=before.tally.plus(other.sums.tally))
        return replace(own.with_sums(sums), least=other.least)
    theirs = without_zeros(other.sums)
    few = is_few(own.n_hidden, own.sums.rank + theirs.rank + 1)
    blocks = [(_rows_of(theirs), theirs.Z)] if theirs.rank else []
    if mean is not None and theirs.mean is not None:
        row, target, mean = mean.step_to(b, theirs.mean, own.dtype)
        blocks.append((row, target))
    sums = (own if few else own.dense()).sums
    wide, merged = own.n_hidden >= b.tuning.wide, None
    with b.few_threads(np.inf if wide else 0):
        pays = own.chooses and wide and theirs.rank == own.n_hidden
        if pays and linalg.gram_is_safe(b, theirs.R, own.dtype):
            double = np.dtype(np.float64)
            merged = sums_by_gram(sums, lambda: iter(blocks), theirs.rank, double)
        for H, Y in blocks if merged is None else ():
            sums = learn_rows(sums, H, Y, few=few)
        sums = sums if merged is None else merged
    sums = replace(
        sums.tallied(theirs.tally).around(mean),
        loss=sums.loss + theirs.loss,
        lost=sums.lost + theirs.lost,
    )
    if not own.chooses:
        return own.with_sums(sums)
    sums = replace(sums, prior=float(np.hypot(sums.prior, theirs.prior)))
    return replace(own, sums=sums, least=float(np.hypot(own.least, other.least)))


def _rows_of(sums: Sums) -> Array:
    """Return the root R as rows over all units, without a basis."""
    return sums.R if sums.basis is None else sums.backend.matmul(sums.R, sums.basis)


def without_zeros(sums: Sums) -> Sums:
    """Sums without the rows of R that are zero, since no row has reached them."""
    if sums.basis is not None or sums.prior > 0:
        return sums
    n = linalg.leading_rows(sums.backend, sums.R) if sums.count else 0
    left = sums.backend.column_squares(sums.Z[n:, :])
    return replace(sums, R=sums.R[:n, :], Z=sums.Z[:n, :], loss=sums.loss + left)


def leave(own: Any, sums: Any, *, everything: bool) -> Any:
    """Return a state without the rows of other sums; None if these are `everything`.

    Raises
    ------
    ValueError
        If they cannot be removed.
    """
    b, mean, theirs = own.backend, own.mean, without_zeros(sums.sums)
    if everything:
        _check_same_sums(own, theirs)
        return None
    if theirs.count >= own.count - _LARGEST_DEFICIT["d"] * own.count:
        raise ValueError(_CANNOT_UNLEARN)
    blocks = [(_rows_of(theirs), theirs.Z)]
    if mean is not None and theirs.mean is not None:
        mean = mean.without(b, theirs.mean)
        blocks.append(mean.step_to(b, theirs.mean, own.dtype)[:2])
    # What the targets have that no weight explains: rows of zeros, one for each output.
    left = np.diag(np.sqrt(theirs.loss)).astype(own.dtype)
    blocks.append((b.zeros((len(left), own.n_hidden), own.dtype), b.asarray(left)))
    H, Y = (b.xp.concat(list(part)) for part in zip(*blocks, strict=True))
    least = eps(own.dtype) ** _LEAST_LEFT
    length = int(np.clip(own.n_hidden, b.tuning.pending_rows, _MOST_REMOVED))
    for start in range(0, H.shape[0], length):
        rows = slice(start, min(start + length, H.shape[0]))
        if own.chooses:
            own = _remove_from_chosen(own, H[rows, :], Y[rows, :], least)
            continue
        fewer = remove(own.sums, H[rows, :], Y[rows, :], least)
        if fewer is None:
            raise ValueError(_CANNOT_UNLEARN)
        own = own.with_sums(fewer)
    return own.changed(lambda sums: sums.around(mean).tallied(theirs.tally, sign=-1))


def _check_same_sums(own: Any, other: Sums) -> None:
    """Raise a ValueError unless these sums have the squares of all rows that were learned."""
    b, alike = own.backend, _ALIKE[own.dtype.char]
    learned, other_squares = (np.append(*sums.squares()) for sums in (own.sums, other))
    largest = np.maximum(other_squares, learned)
    slack = alike * largest
    slack[0] += own.slack
    steps = np.zeros_like(slack)
    if own.mean is not None and other.mean is not None:
        (row, target), (new_row, new_target) = (
            (b.to_numpy(m.row), b.to_numpy(m.target)) for m in (own.mean, other.mean)
        )
        sizes = own.mean.count * np.append(row @ row, target**2)
        slack += alike * sizes
        row, target = new_row - row, new_target - target
        steps = own.mean.count * np.append(row @ row, target**2)
        steps -= alike**2 * (sizes + largest) + alike * slack
    if (steps > 0).any() or (np.abs(other_squares - learned) > slack).any():
        raise ValueError(_CANNOT_UNLEARN)


# The operators of `Sums`


def added(mine: Sums, theirs: Sums) -> Sums:
    """The sums over the rows of both."""
    from ._ridge import RidgeState

    check_alike(mine, theirs)
    return join(RidgeState.of(mine), RidgeState.of(theirs)).sums


def subtracted(mine: Sums, theirs: Sums) -> Sums:
    """The sums over the rows that are not among the others."""
    from ._ridge import RidgeState

    check_alike(mine, theirs)
    everything = abs(mine.count - theirs.count) <= _LARGEST_DEFICIT["d"] * mine.count
    left = leave(RidgeState.of(mine), RidgeState.of(theirs), everything=everything)
    if left is not None:
        return left.sums
    return replace(RidgeState.of(mine).emptied().sums, flat=mine.flat)


def check_alike(mine: Sums, theirs: Sums) -> None:
    """Raise a ValueError unless two sums, or models of them, are over rows of one kind."""
    for name, first, second in (
        ("number of units", mine.n_hidden, theirs.n_hidden),
        ("number of outputs", mine.Z.shape[1], theirs.Z.shape[1]),
        ("dtype", mine.dtype, theirs.dtype),
        ("intercept", mine.mean is not None, theirs.mean is not None),
        ("dimension of the targets", 2 - mine.flat, 2 - theirs.flat),
    ):
        if first != second:
            raise ValueError(
                f"other: its {name} is {second}, that of the first {first}; only sums and models "
                "that were started alike can be added, merged or subtracted."
            )
