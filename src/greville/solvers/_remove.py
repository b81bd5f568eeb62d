"""Rows taken away from a state, and states added."""

from __future__ import annotations

import numpy as np

from .. import linalg
from ..backend import Array, Backend, eps
from ._chosen import Chosen, pieces, raised
from ._derived import replace
from ._evidence import leading_rows
from ._learn import Exact, learn
from ._mean import Chunk, Mean
from ._qr import append
from ._rows import Rows, block_length
from ._state import State

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


def unlearn(known: Exact, rows: Rows) -> Exact:
    """The state without some rows.

    Raises
    ------
    ValueError
        If they cannot be removed.
    """
    known, count = _without(known, rows, around_mean=True), float(rows.weights.sum())
    return known.tallied(-count, -count)


def _without(known: Exact, rows: Rows, *, around_mean: bool) -> Exact:
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
        if isinstance(known, Chosen):
            rest: Exact | None = _remove_from_chosen(known, H, Y, least)
        else:
            rest = remove(known, H, Y, least)
        if rest is None:
            raise ValueError(_CANNOT_UNLEARN)
        known = rest.around(mean)
    return known


def check_same_rows(known: Exact, rows: Rows) -> None:
    """Raise a ValueError unless the sums of squares of these rows are those of all learned."""
    b, mean, n_outputs = known.backend, known.mean, known.root.Z.shape[1]
    start = None if mean is None else Mean.of_nothing(b, known.n_hidden, n_outputs)
    chunk = Chunk(b, rows, block_length(b, known.n_hidden, known.dtype), start)
    found = np.zeros(1 + n_outputs)
    for H, Y in chunk():
        found += np.append(b.column_squares(H).sum(), b.column_squares(Y))
    learned = np.append(*known.squares())
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


def remove(state: State, H: Array, Y: Array, least: float | None = None) -> State | None:
    """R'R ← R'R - H'H and R'Z ← R'Z - H'Y. None if that leaves no root.

    Or, given a `least`, if a row would leave less than that of what R'R has in its direction,
    or if the rounding of this and all earlier removals would matter to the weights.
    """
    b, T = state.backend, H
    if state.basis is not None:
        T = b.matmul(H, state.basis.T)
        outside = b.row_squares(H - b.matmul(T, state.basis))
        tol = linalg.default_tol(state.n_hidden, state.dtype)
        if (outside > tol**2 * b.row_squares(H)).any():
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
    state: State, new: tuple[Array, Array] | None, squares: Array, mean: Mean | None
) -> State | None:
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


def _remove_from_chosen(chosen: Chosen, H: Array, Y: Array, least: float) -> Chosen | None:
    """As `remove`; where too little is left of a direction, by a difference of sums."""
    b, sums = chosen.backend, chosen.sums
    if not bool(b.xp.any(sums.R != 0)):  # no row so far but zeros
        left = sums.loss - b.column_squares(Y)
        if bool(b.xp.any(H != 0)) or (left < -_ROUNDING_OF_TARGETS * sums.loss).any():
            return None
        return replace(chosen, sums=replace(sums, loss=np.maximum(left, 0.0)))
    removed = remove(sums, H, Y, least)
    if removed is not None:
        return raised(replace(chosen, sums=removed), _rounding_of_sums(b, H))
    found = _subtract(chosen, H, Y, 4 * _rounding_of_sums(b, sums.R))
    return None if found is None else raised(replace(chosen, sums=found[0]), found[1])


def _subtract(chosen: Chosen, H: Array, Y: Array, rounding: float) -> tuple[State, float] | None:
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


def merge(known: Exact, other: Exact) -> Exact | None:
    """A state that has learned the rows of both, from the same prior. None if it cannot."""
    if isinstance(known, Chosen):
        assert isinstance(other, Chosen)
        return merge_chosen(known, other)
    assert isinstance(other, State)
    b, state = known.backend, _with_rows_of(known, other)
    if state.prior == 0 or not other.rank:
        return state
    if other.basis is None:  # it has brought the prior with it, a second time
        squares = state.loss + b.column_squares(state.Z)
        new = linalg.remove_diagonal(b, state.R, state.Z, state.prior)
        return _replaced(state, new, squares, state.mean)
    prior = other.basis * state.prior
    return remove(state, prior, b.zeros((prior.shape[0], state.Z.shape[1]), state.dtype))


def join(known: Exact, sums: Exact) -> Exact:
    """A state that has learned the rows of sums without a prior."""
    if isinstance(known, Chosen):
        assert isinstance(sums, Chosen)
        return merge_chosen(known, sums)
    return _with_rows_of(known, _without_zeros(sums))


def _without_zeros(known: Exact) -> State:
    """Sums without the rows of R that are zero, since no row has reached them."""
    if isinstance(known, State):
        return known
    sums = known.sums
    n = leading_rows(sums.backend, sums.R) if sums.count else 0
    left = sums.backend.column_squares(sums.Z[n:, :])
    return replace(sums, R=sums.R[:n, :], Z=sums.Z[:n, :], loss=sums.loss + left)


def _with_rows_of(known: State, other: State) -> State:
    """A state that has learned the rows of another, and of its prior."""
    b, mean = known.backend, known.mean
    rows = other.R if other.basis is None else b.matmul(other.R, other.basis)
    blocks = [(rows, other.Z)]
    if mean is not None and other.mean is not None:
        row, target, mean = mean.step_to(b, other.mean, known.dtype)
        blocks.append((row, target))
    blocks = [block for block in blocks if block[0].shape[0]]
    chunk = _Merged(blocks, other, mean)
    state = learn(known, chunk)  # type: ignore[arg-type]
    assert isinstance(state, State)
    if not chunk.n:
        state = state.tallied(other.count, other.count_of_squares).around(mean)
    return replace(state, loss=state.loss + other.loss, lost=state.lost + other.lost)


def leave(known: Exact, sums: Exact, *, everything: bool) -> Exact | None:
    """A state without the rows of sums that have no prior; None where that is `everything`.

    Raises
    ------
    ValueError
        If they cannot be removed.
    """
    b, mean, theirs = known.backend, known.mean, _without_zeros(sums)
    if everything:
        _check_same_sums(known, theirs)
        return None
    if theirs.count >= known.count - _LARGEST_DEFICIT["d"] * known.count:
        raise ValueError(_CANNOT_UNLEARN)
    rows = theirs.R if theirs.basis is None else b.matmul(theirs.R, theirs.basis)
    blocks = [(rows, theirs.Z)]
    if mean is not None and theirs.mean is not None:
        mean = mean.without(b, theirs.mean)
        blocks.append(mean.step_to(b, theirs.mean, known.dtype)[:2])
    # What the targets have that no weight explains: rows of zeros, one for each output.
    left = np.diag(np.sqrt(theirs.loss)).astype(known.dtype)
    blocks.append((b.zeros((len(left), known.n_hidden), known.dtype), b.asarray(left)))
    H, Y = (b.xp.concat(list(part)) for part in zip(*blocks, strict=True))
    without = _without(known, Rows.of(H, Y), around_mean=False)
    return without.around(mean).tallied(-theirs.count, -theirs.count_of_squares)


def _check_same_sums(known: Exact, other: State) -> None:
    """Raise a ValueError unless these sums have the squares of all rows that were learned."""
    total, of_targets = known.squares()
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


class _Merged:
    """The rows of another state's root, as a `Chunk`."""

    def __init__(self, blocks: list[tuple[Array, Array]], other: State, after: Mean | None) -> None:
        self._blocks = blocks
        self.n = sum(block[0].shape[0] for block in blocks)
        self.count, self.count_of_squares = other.count, other.count_of_squares
        self.after = after

    def __call__(self) -> object:
        return iter(self._blocks)


def merge_chosen(mine: Chosen, other: Chosen) -> Chosen:
    """Sums over the rows of both; ε stays that of the first."""
    b, sums, theirs = mine.backend, mine.sums, other.sums
    mean, blocks = sums.mean, [(theirs.R, theirs.Z)] if theirs.count else []
    if mean is not None and theirs.mean is not None:
        row, target, mean = mean.step_to(b, theirs.mean, mine.dtype)
        blocks.append((row, target))
    with b.few_threads(0 if mine.n_hidden < b.tuning.wide else np.inf):
        for H, Y in blocks:
            for part in pieces(b, H.shape[0]):
                sums = append(sums, H[part, :], Y[part, :])
    sums = replace(
        sums.tallied(theirs.count, theirs.count_of_squares).around(mean),
        loss=sums.loss + theirs.loss,
        prior=float(np.hypot(sums.prior, theirs.prior)),
    )
    return replace(mine, sums=sums, least=float(np.hypot(mine.least, other.least)))
