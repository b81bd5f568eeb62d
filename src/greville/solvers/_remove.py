"""Rows taken away from a state, and states added."""

from __future__ import annotations

import numpy as np

from .. import linalg
from ..backend import Array, Backend, eps
from ._derived import replace
from ._evidence import leading_rows
from ._gram import learn_by_gram
from ._mean import Chunk, Mean
from ._qr import is_few, learn_rows
from ._ridge import Ridge, raised
from ._rows import Counts, Rows, block_length
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


def unlearn(known: Ridge, rows: Rows) -> Ridge:
    """The state without some rows.

    Raises
    ------
    ValueError
        If they cannot be removed.
    """
    return _tallied(_without(known, rows, around_mean=True), Counts.of(rows.weights))


def _tallied(known: Ridge, gone: Counts) -> Ridge:
    """With fewer rows that count."""
    return known.changed(lambda sums: sums.tallied(gone, sign=-1))


def _without(known: Ridge, rows: Rows, *, around_mean: bool) -> Ridge:
    """The state without some rows, which are around the mean already or are to be."""
    b, least = known.backend, eps(known.dtype) ** _LEAST_LEFT
    for part in rows.slices(int(np.clip(known.n_hidden, b.tuning.pending_rows, _MOST_REMOVED))):
        H, Y = (b.asarray(A) for A in rows.make(part.start, part.stop))
        weight, mean = None if rows.weight is None else rows.weight[part], known.mean
        if mean is not None and around_mean:
            H, Y, mean = mean.remove(b, H, Y, weight)
        elif weight is not None:
            root = b.asarray(np.sqrt(weight)[:, None], known.dtype)
            H, Y = root * H, root * Y
        if known.chooses:
            known = _remove_from_chosen(known, H, Y, least).around(mean)
        else:
            left = remove(known.sums, H, Y, least)
            if left is None:
                raise ValueError(_CANNOT_UNLEARN)
            known = known.with_sums(left.around(mean))
    return known


def check_same_rows(known: Ridge, rows: Rows) -> None:
    """Raise a ValueError unless the sums of squares of these rows are those of all learned."""
    b, mean, n_outputs = known.backend, known.mean, known.sums.Z.shape[1]
    start = None if mean is None else Mean.of_nothing(b, known.n_hidden, n_outputs)
    chunk = Chunk(b, rows, block_length(b, known.n_hidden, known.dtype), start)
    found = np.zeros(1 + n_outputs)
    for H, Y in chunk():
        found += np.append(b.column_squares(H).sum(), b.column_squares(Y))
    learned = np.append(*known.sums.squares())
    alike = _ALIKE[known.dtype.char]
    slack = alike * np.maximum(found, learned)
    slack[0] += known.slack
    if mean is not None:
        after = chunk.after or mean
        (row, target), (new_row, new_target) = (
            (b.to_numpy(m.row), b.to_numpy(m.target)) for m in (mean, after)
        )
        sizes = mean.count * np.append(row @ row, target**2)
        slack += alike * sizes
        moved = new_row - row, new_target - target
        steps = mean.count * np.append(moved[0] @ moved[0], moved[1] ** 2)
        if (steps > alike**2 * (sizes + np.maximum(found, learned)) + alike * slack).any():
            raise ValueError(_CANNOT_UNLEARN)
    if (np.abs(found - learned) > slack).any():
        raise ValueError(_CANNOT_UNLEARN)


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
    """The error that sums of squares have after those of rows H were taken from them."""
    return eps(b.dtype_of(H)) * float(b.column_squares(H).max(initial=0.0))


def _replaced(
    state: Sums, new: tuple[Array, Array] | None, squares: Array, mean: Mean | None
) -> Sums | None:
    """With another R and Z; `squares` are the sums of squares of all targets.

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


def _remove_from_chosen(chosen: Ridge, H: Array, Y: Array, least: float) -> Ridge:
    """As `remove`; where too little is left of a direction, by a difference of sums."""
    b, sums = chosen.backend, chosen.sums
    if not sums.rank or not bool(b.xp.any(sums.R != 0)):  # no row so far but zeros
        left = sums.loss - b.column_squares(Y)
        if bool(b.xp.any(H != 0)) or (left < -_ROUNDING_OF_TARGETS * sums.loss).any():
            raise ValueError(_CANNOT_UNLEARN)
        return chosen.with_sums(replace(sums, loss=np.maximum(left, 0.0)))
    removed = remove(sums, H, Y, least)
    if removed is not None:
        return raised(chosen.with_sums(removed), _rounding_of_sums(b, H))
    T = _coordinates(sums, H)
    found = None if T is None else _subtract(chosen, T, Y, 4 * _rounding_of_sums(b, sums.R))
    if found is None:
        raise ValueError(_CANNOT_UNLEARN)
    return raised(chosen.with_sums(found[0]), found[1])


def _coordinates(sums: Sums, H: Array) -> Array | None:
    """Rows in the coordinates of the sums; None if they are not in the span of the basis."""
    if sums.basis is None:
        return H
    b = sums.backend
    T = b.matmul(H, sums.basis.T)
    outside = b.row_squares(H - b.matmul(T, sums.basis))
    tol = linalg.default_tol(sums.n_hidden, sums.dtype)
    return None if (outside > tol**2 * b.row_squares(H)).any() else T


def _subtract(chosen: Ridge, H: Array, Y: Array, rounding: float) -> tuple[Sums, float] | None:
    """The sums less those of some rows, in float64, with a ridge as large as its rounding.

    Returns them and the ridge; None if what is left is no sum of squares to rounding.
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


def merge(known: Ridge, other: Ridge) -> Ridge | None:
    """The ridge that has learned the rows of both, from one prior or without; None if it cannot."""
    b, merged, theirs = known.backend, join(known, other), other.sums
    state = merged.sums
    if known.chooses or state.prior == 0 or theirs.prior == 0 or not theirs.rank:
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


def join(known: Ridge, other: Ridge, *, by_gram: bool = False) -> Ridge:
    """The ridge that has learned the rows of another, and its prior; ε stays as it is.

    With `by_gram`, roots of wide layers are joined by a Gram matrix if that loses no digits.
    """
    b, mean, before = known.backend, known.mean, known.sums
    if not before.count and before.prior == 0 and before.tol == other.sums.tol:
        different = None if before.different is None else other.sums.different
        return replace(known.with_sums(replace(other.sums, different=different)), least=other.least)
    theirs = without_zeros(other.sums)
    few = is_few(known.n_hidden, known.sums.rank + theirs.rank + 1)
    blocks = [(_rows_of(theirs), theirs.Z)] if theirs.rank else []
    if mean is not None and theirs.mean is not None:
        row, target, mean = mean.step_to(b, theirs.mean, known.dtype)
        blocks.append((row, target))
    sums = (known if few else known.dense()).sums
    wide, found = known.n_hidden >= b.tuning.wide, None
    with b.few_threads(np.inf if wide else 0):
        pays = by_gram and known.chooses and wide and theirs.rank == known.n_hidden
        if pays and linalg.gram_is_safe(b, theirs.R, known.dtype):
            double = np.dtype(np.float64)
            found = learn_by_gram(sums, lambda: iter(blocks), theirs.rank, double, 1.0)
        if found is not None:
            sums = found[0]
        else:
            for H, Y in blocks:
                sums = learn_rows(sums, H, Y, few=few)
    sums = replace(
        sums.tallied(theirs.tally).around(mean),
        loss=sums.loss + theirs.loss,
        lost=sums.lost + theirs.lost,
    )
    if not known.chooses:
        return known.with_sums(sums)
    sums = replace(sums, prior=float(np.hypot(sums.prior, theirs.prior)))
    return replace(known, sums=sums, least=float(np.hypot(known.least, other.least)))


def _rows_of(sums: Sums) -> Array:
    """R as rows of all units."""
    return sums.R if sums.basis is None else sums.backend.matmul(sums.R, sums.basis)


def without_zeros(sums: Sums) -> Sums:
    """Sums without the rows of R that are zero, since no row has reached them."""
    if sums.basis is not None or sums.prior > 0:
        return sums
    n = leading_rows(sums.backend, sums.R) if sums.count else 0
    left = sums.backend.column_squares(sums.Z[n:, :])
    return replace(sums, R=sums.R[:n, :], Z=sums.Z[:n, :], loss=sums.loss + left)


def leave(known: Ridge, sums: Ridge, *, everything: bool) -> Ridge | None:
    """A state without the rows of sums that have no prior; None where that is `everything`.

    Raises
    ------
    ValueError
        If they cannot be removed.
    """
    b, mean, theirs = known.backend, known.mean, without_zeros(sums.sums)
    if everything:
        _check_same_sums(known, theirs)
        return None
    if theirs.count >= known.count - _LARGEST_DEFICIT["d"] * known.count:
        raise ValueError(_CANNOT_UNLEARN)
    blocks = [(_rows_of(theirs), theirs.Z)]
    if mean is not None and theirs.mean is not None:
        mean = mean.without(b, theirs.mean)
        blocks.append(mean.step_to(b, theirs.mean, known.dtype)[:2])
    # What the targets have that no weight explains: rows of zeros, one for each output.
    left = np.diag(np.sqrt(theirs.loss)).astype(known.dtype)
    blocks.append((b.zeros((len(left), known.n_hidden), known.dtype), b.asarray(left)))
    H, Y = (b.xp.concat(list(part)) for part in zip(*blocks, strict=True))
    without = _without(known, Rows.of(H, Y), around_mean=False)
    return _tallied(without.around(mean), theirs.tally)


def _check_same_sums(known: Ridge, other: Sums) -> None:
    """Raise a ValueError unless these sums have the squares of all rows that were learned."""
    total, of_targets = known.sums.squares()
    theirs = float(known.backend.column_squares(other.R).sum())
    squares = other.loss + known.backend.column_squares(other.Z)
    alike = _ALIKE[known.dtype.char]
    slack = alike * max(total, theirs) + known.slack
    same = abs(total - theirs) <= slack
    scale = np.maximum(of_targets, squares)
    if known.mean is not None and other.mean is not None:
        b = known.backend
        (row, target), (their_row, their_target) = (
            (b.to_numpy(m.row), b.to_numpy(m.target)) for m in (known.mean, other.mean)
        )
        scale = scale + known.mean.count * target**2
        same &= bool(np.abs(row - their_row).max() <= alike * (np.abs(row).max() + 1e-300))
        same &= bool((np.abs(target - their_target) <= alike * np.sqrt(scale)).all())
    if not same or (np.abs(of_targets - squares) > alike * scale).any():
        raise ValueError(_CANNOT_UNLEARN)


# The operators of `Sums`


def added(mine: Sums, theirs: Sums) -> Sums:
    """The sums over the rows of both."""
    _check_alike(mine, theirs)
    return join(_singular(mine), _singular(theirs)).sums


def subtracted(mine: Sums, theirs: Sums) -> Sums:
    """The sums over the rows that are not among the others."""
    _check_alike(mine, theirs)
    everything = abs(mine.count - theirs.count) <= _LARGEST_DEFICIT["d"] * mine.count
    left = leave(_singular(mine), _singular(theirs), everything=everything)
    if left is not None:
        return left.sums
    b, n_outputs = mine.backend, mine.Z.shape[1]
    intercept = mine.mean is not None
    start = Ridge.start(b, mine.n_hidden, n_outputs, mine.dtype, None, intercept=intercept)
    return replace(start.sums, flat=mine.flat)


def _singular(sums: Sums) -> Ridge:
    """Sums as a model that could choose ε."""
    return Ridge(sums, max(sums.prior, 1.0), True)


def _check_alike(mine: Sums, theirs: Sums) -> None:
    """Raise a ValueError unless two sums are over rows of one kind."""
    for name, first, second in (
        ("number of units", mine.n_hidden, theirs.n_hidden),
        ("number of outputs", mine.Z.shape[1], theirs.Z.shape[1]),
        ("dtype", mine.dtype, theirs.dtype),
        ("intercept", mine.mean is not None, theirs.mean is not None),
        ("dimension of the targets", 2 - mine.flat, 2 - theirs.flat),
    ):
        if first != second:
            raise ValueError(
                f"the {name} of the two sums is {first} and {second}; only sums over rows of one "
                "kind can be added or subtracted."
            )
