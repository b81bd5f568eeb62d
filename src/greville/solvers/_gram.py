"""Many rows at once through a Gram matrix, where digits allow it, and ε chosen on the way.

One matrix product and one Cholesky factor, for the price of half a QR factorisation or less. What
loses too many digits is done again in float64, where it was float32, or by a QR factorisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import linalg
from ..backend import Array, Backend, eps
from ._derived import replace, with_derived
from ._evidence import GramSums, Path, Statistics, choose_epsilon
from ._mean import Chunk
from .sums import LARGEST_LOSS, Sums, largest_safe_row

# How long a step of refinement may be, as a fraction of W: what it leaves is about its square.
_LONGEST_STEP = 0.02

# The name under which sums keep the Gram matrix that R is the Cholesky factor of.
_KEPT = "_gram"

# Sums that come from a Gram matrix have lost the digits of an ε below some limit. They are taken
# only if ε can still become so many times smaller.
_ROOM_BELOW = 10.0

# What copies of a row, or its weight, say beside it: little, as noise is copied too. But a target
# that is always the same is not all noise. It moves ε down by at most two factors of ten.
_PER_COPY, _MOST_OF_COPIES = 0.2, 1.0

# Rows that differ by less than so many times the rounding of their mean do not differ.
_STUCK = 64.0

# The part of the squares of targets that a loss is which is found as a difference.
_LEAST_LOSS = {"d": 1e-5, "f": 1e-2}

Blocks = Callable[[], Iterator[tuple[Array, Array]]]


# The evidence of sums


def statistics_of(sums: Sums, squares: float | None = None) -> Statistics:
    """Return the statistics of sums; `squares` are those of all rows, if sums do not have them."""
    b, mean, count, weight = sums.backend, sums.mean, sums.tally.n_different, sums.tally.weight
    squares = sums.squares()[0] if squares is None else squares
    length = max(squares, 0.0) / weight if weight > 0 else 0.0
    if count > 0:
        count += min(_PER_COPY * float(np.log(max(weight / count, 1.0))), _MOST_OF_COPIES)
    copies = sums.tally.different is None
    if mean is None:
        return Statistics(b, count, length, np.zeros(sums.Z.shape[1]), copies)
    rounding = (_STUCK * eps(sums.dtype)) ** 2 * float(b.column_squares(mean.row[None, :]).sum())
    if squares <= rounding * weight:
        length = 0.0
    of_means = mean.count * b.to_numpy(mean.target) ** 2
    return Statistics(b, max(count - 1, 0.0), length, of_means, copies)


def path_of(sums: Sums, most_units: float, least: float = 0.0) -> tuple[Path | None, Sums | None]:
    """The evidence for each ε that is tried, and the root at the best if it was found on the way.

    No path where the rows are zeros, or none; no root where a Cholesky factor loses digits.
    """
    statistics, b = statistics_of(sums), sums.backend
    if statistics.length == 0:
        return None, None
    # The ε that the rounding of rows of this mean square length does not reach
    rounding = eps(sums.dtype) * float(np.sqrt(statistics.length)) / LARGEST_LOSS[sums.dtype.char]
    with b.few_threads(0 if sums.n_hidden < b.tuning.wide else np.inf):
        smallest = max(sums.prior, rounding, least)
        path, R = choose_epsilon(statistics, sums, smallest, most_units)
        if R is None or sums.basis is not None or not linalg.gram_is_safe(b, R, sums.dtype):
            return path, None
        Z = b.solve(R, b.matmul(sums.R.T, sums.Z), transposed=True)
    squares = sums.loss + b.column_squares(sums.Z)
    loss = squares - b.column_squares(Z)
    if (loss < _LEAST_LOSS[sums.dtype.char] * squares).any():  # a difference without digits
        return path, None
    return path, replace(sums, R=R, Z=Z, loss=loss, prior=path.chosen)


# The Gram matrix


def gram_of(sums: Sums, precision: Any, decay: float = 1.0) -> GramSums:
    """Return R'R and R'Z, multiplied by `decay`, in new arrays."""
    b, prior = sums.backend, float(np.sqrt(decay)) * sums.prior
    squares = decay * (sums.loss + b.column_squares(sums.Z))
    if sums.basis is not None or (sums.count == 0 and sums.prior == 0):  # no row so far
        G = b.zeros((sums.n_hidden, sums.n_hidden), precision)
        C = b.zeros((sums.n_hidden, sums.Z.shape[1]), precision)
        return GramSums(b.add_ridge(G, prior**2), C, squares, prior)
    R, Z, kept = b.asarray(sums.R, precision), b.asarray(sums.Z, precision), _kept(sums, precision)
    G, C = b.gram_of_root(R) if kept is None else b.copy(kept), b.matmul(R.T, Z)
    if decay != 1.0:
        G *= decay
        C = C * decay
    return GramSums(G, C, squares, prior)


def _with_rows(b: Backend, gram: GramSums, blocks: Blocks) -> GramSums:
    """The sums with more rows; they are consumed."""
    G, C, squares = gram.G, gram.C, gram.squares
    precision = b.dtype_of(G)
    for rows, targets in blocks():
        H, Y = b.asarray(rows, precision), b.asarray(targets, precision)
        G = b.add_gram(G, H)
        C = C + b.matmul(H.T, Y)
        squares = squares + b.column_squares(targets)
        del rows, targets, H, Y  # one block at a time
    return GramSums(G, C, squares, gram.prior)


def _largest_diagonal(b: Backend, G: Array) -> float:
    return float(b.xp.max(b.xp.linalg.diagonal(G)))


def _kept(sums: Sums, precision: Any) -> Array | None:
    """Return the Gram matrix of which R is the Cholesky factor, if one was kept."""
    gram: Array | None = vars(sums).get(_KEPT)
    return gram if gram is not None and sums.backend.dtype_of(gram) == precision else None


# Learning


def gram_pays(ridge: Any, n_rows: int, most_units: float | None) -> bool:
    """Whether the Gram matrix is faster for so many rows.

    M² operations a row against 2M² at half the speed, on one thread. Going from R to R'R and back
    costs (4/3)M³ more, and two estimates of the condition; from nothing to the first root M³/3.
    """
    b, n_hidden, sums = ridge.backend, ridge.n_hidden, ridge.sums
    if n_rows * n_hidden**2 < b.tuning.gram_operations or most_units == np.inf:
        return False
    if ridge.chooses:
        fresh, ready = not sums.count, most_units is not None or ridge.path is not None
    else:
        fresh = sums.basis is not None
        ready = not fresh or (sums.rank == 0 and sums.tol is None)
    of_first, of_wide, of_narrow = b.tuning.gram_rows
    least = of_first if fresh else of_wide if n_hidden >= b.tuning.wide else of_narrow
    if not ready or n_rows < least * n_hidden:
        return False
    # A Gram matrix that adds to an ill-conditioned R is ill-conditioned too, unless rows are many.
    if ridge.chooses or fresh or n_rows > 2 * n_hidden:
        return True
    if _kept(sums, ridge.dtype) is not None:  # which was safe when it was made
        return True
    return linalg.gram_is_safe(b, sums.R, ridge.dtype)


def learned_by_gram(ridge: Any, chunk: Chunk, decay: float, most_units: float | None) -> Any:
    """Learn a chunk by one Gram matrix; None if too many digits are lost."""
    for precision in dict.fromkeys((ridge.dtype, np.dtype(np.float64))):
        if ridge.chooses:
            new = _learned_and_chosen(ridge, chunk, precision, decay, most_units)
            if new is not None:
                return new
            continue
        sums = sums_by_gram(ridge.sums, chunk, chunk.n, precision, decay)
        if sums is not None:
            return ridge.with_sums(after_chunk(sums, chunk, decay))
    return None


def after_chunk(sums: Sums, chunk: Chunk, decay: float = 1.0) -> Sums:
    """Count the rows of a chunk in sums that have them already, and set the mean."""
    new = sums.tallied(chunk.tally(sums.tally), decay).around(chunk.after)
    return with_derived(new, **{_KEPT: vars(sums).get(_KEPT)})


def sums_by_gram(
    sums: Sums, blocks: Blocks, n_rows: int, precision: np.dtype[Any], decay: float = 1.0
) -> Sums | None:
    """The sums with many rows, by a Cholesky factor; None where too many digits were lost."""
    b, dtype = sums.backend, sums.dtype
    incomplete = sums.basis is not None and n_rows < sums.n_hidden
    ridge = decay * sums.prior**2 if sums.basis is not None else 0.0
    gram = _with_rows(b, gram_of(sums, precision, decay), blocks)
    if incomplete and ridge < linalg.smallest_safe_ridge(b, gram.G, dtype):
        return None
    keeps = sums.n_hidden <= b.tuning.kept_gram_units and precision == dtype
    kept = gram.G if keeps else None  # there may be more chunks
    solved = b.root_and_solved(gram.G, gram.C, spare=None if keeps else gram.G)
    if solved is None:
        return None
    R, Z = solved
    if not linalg.gram_is_safe(b, R, dtype):
        step = _refinement(sums, R, Z, blocks, decay, ridge)
        if step is None:
            return None
        Z, kept = Z + step, None
    largest = np.inf
    if incomplete and decay == 1.0:
        largest = largest_safe_row(sums.prior, dtype)
    elif sums.basis is None:
        largest = sums.largest_row
    changes = {"prior": gram.prior, "largest_row": largest}
    return with_derived(_with_root(sums, gram, R, Z, **changes), **{_KEPT: kept})


def _with_root(sums: Sums, gram: GramSums, R: Array, Z: Array, **changes: Any) -> Sums:
    """The sums with another root, and the loss that it leaves."""
    b, dtype = sums.backend, sums.dtype
    loss = np.maximum(gram.squares - b.column_squares(Z), 0.0)
    root = {"R": b.asarray(R, dtype), "Z": b.asarray(Z, dtype), "loss": loss, "basis": None}
    return replace(sums, **root, **changes)


def _refinement(
    sums: Sums, R: Array, Z: Array, blocks: Blocks, decay: float, ridge: float
) -> Array | None:
    """Return what to add to Z so that W = R⁻¹Z loses the error of the Gram matrix behind R.

    One Newton step, with the gradient H'(Y - HW) from the rows themselves. Its length is the
    error that W had; the square of that is about what it leaves. None where that is too much.
    """
    b = sums.backend
    if R.shape[0] < b.tuning.refined_units or b.dtype_of(R) != np.float32:
        return None
    W = b.solve(R, Z)
    gradient = W * -ridge
    if sums.basis is None:
        left = sums.Z - b.matmul(sums.R, W)
        gradient = gradient + decay * b.matmul(sums.R.T, left)
    for H, Y in blocks():
        gradient = gradient + b.matmul(H.T, Y - b.matmul(H, W))
        del H, Y
    step = b.solve(R, gradient, transposed=True)
    change = b.column_squares(b.solve(R, step))
    small = change <= _LONGEST_STEP**2 * b.column_squares(W)  # nan compares false
    return step if small.all() else None


# Learning and choosing ε


def _learned_and_chosen(
    ridge: Any, chunk: Chunk, precision: np.dtype[Any], decay: float, most_units: float | None
) -> Any:
    """Many rows by one Gram matrix, if at the ε that goes with it it loses no digits."""
    b, factor = ridge.backend, float(np.sqrt(decay))
    gram = _with_rows(b, gram_of(ridge.sums, precision, decay), chunk)
    if not _largest_diagonal(b, gram.G) > 0:
        return None
    after = replace(
        ridge,
        sums=after_chunk(ridge.sums, chunk, decay),
        epsilon=factor * ridge.epsilon,
        least=factor * ridge.least,
    )
    R = None
    if most_units is not None:
        path, R = _path_by_gram(after, gram, most_units)
        if path is None:
            return None
        after = replace(after, path=path, epsilon=path.chosen)
    if R is None:
        R = b.root_with_ridge(gram.G, after.epsilon**2 - gram.prior**2)
    return None if R is None else _from_gram(after, gram, R, choosing=most_units is not None)


def _from_gram(ridge: Any, gram: GramSums, R: Array, *, choosing: bool) -> Any:
    """A state with other sums: a Gram matrix, which is consumed, and its root R at ε.

    None if at this ε the Gram matrix has lost too many digits.
    """
    b, dtype, epsilon = ridge.backend, ridge.dtype, ridge.epsilon
    lost = linalg.gram_error(b, R, dtype, noisy=True)
    if not lost <= 1:
        return None
    least = epsilon * float(np.sqrt(lost))
    if choosing and dtype == np.float64 and least * _ROOM_BELOW > epsilon:
        return None
    rounding = gram.G.shape[0] * eps(b.dtype_of(gram.G)) * _largest_diagonal(b, gram.G)
    kept, small = float(np.hypot(gram.prior, np.sqrt(rounding))), None
    if kept <= epsilon:
        small = b.cholesky(b.add_ridge(gram.G, kept**2 - gram.prior**2))
    if small is None:
        kept, small = epsilon, R
    sums, at_epsilon = (
        _with_root(ridge.sums, gram, A, b.solve(A, gram.C, transposed=True), prior=prior, lost=0.0)
        for A, prior in ((small, kept), (R, epsilon))
    )
    new = replace(ridge, sums=sums, least=max(ridge.least, least))
    return with_derived(new, root=at_epsilon)


def _path_by_gram(
    ridge: Any, gram: GramSums, most_units: float
) -> tuple[Path | None, Array | None]:
    """Choose ε from sums that are a Gram matrix, by the way that a root of this size would take.

    The counts and the mean are those of `ridge`. None if ε is too small for a Gram matrix; else
    the path, and the root if it was found on the way.
    """
    b, G = ridge.backend, gram.G
    total = float(b.to_numpy(b.xp.linalg.diagonal(G)).sum(dtype=np.float64))
    statistics = statistics_of(ridge.sums, total - G.shape[0] * gram.prior**2)
    if statistics.length == 0:
        return None, None
    # Below the rounding of its largest elements, the matrix has nothing to say.
    whole_curve = G.shape[0] <= most_units
    limit = eps(b.dtype_of(G)) * _largest_diagonal(b, G) * (G.shape[0] if whole_curve else 1)
    smallest = float(np.hypot(gram.prior, np.sqrt(limit)))
    sums: Any = gram
    if whole_curve:
        R = b.root_with_ridge(G, limit)
        if R is None:
            return None, None
        Z = b.solve(R, gram.C, transposed=True)
        sums = _with_root(ridge.sums, gram, R, Z, prior=smallest)
    path, root = choose_epsilon(statistics, sums, max(smallest, ridge.least), most_units)
    return (None, None) if path.chosen == path.epsilon[0] else (path, root)
