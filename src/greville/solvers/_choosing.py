"""Choosing ε: from sums, or from a Gram matrix on the way there; and whether that route pays."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .. import linalg
from ..backend import Array, eps
from ._derived import replace, with_derived
from ._evidence import Choice, Path, Statistics, choose_epsilon, takes_singular_values
from ._gram import (
    GramSums,
    add_rows,
    gram_of,
    kept_gram,
    largest_diagonal,
    learn_by_gram,
    precisions,
    with_gram,
)
from ._mean import Chunk
from ._rows import Counts
from .sums import LARGEST_LOSS, Sums

# Sums that come from a Gram matrix have lost the digits of an ε below some limit. They are taken
# only if ε can still become so many times smaller.
_ROOM_BELOW = 10.0

# How many times as many rows as in the first block make it worth to look at that block first.
_MANY_MORE = 4

# What may be lost at most is one; where so much is expected, it will be more than that.
_SURELY_TOO_MUCH = 4.0

# From how many units this is found out, about.
_UNITS_TO_TRY = 1024

# What copies of a row, or its weight, say beside it: little, as noise is copied too. But a target
# that is always the same is not all noise. It moves ε down by at most two factors of ten.
_PER_COPY, _MOST_OF_COPIES = 0.2, 1.0

# Rows that differ by less than so many times the rounding of their mean do not differ.
_STUCK = 64.0


def statistics_of(sums: Sums) -> Statistics:
    """What the evidence needs to know of sums."""
    length = _length(sums, sums.squares()[0])
    count, of_means = _counts_and_means(sums)
    mean = sums.mean
    if mean is not None and length > 0:
        of_mean = float(sums.backend.column_squares(mean.row[None, :]).sum())
        rounding = _STUCK * eps(sums.dtype)
        if sums.squares()[0] <= rounding**2 * of_mean * sums.weight:
            length = 0.0
    return Statistics(
        sums.backend, count, sums.prior, length, of_means, R=sums.R, Z=sums.Z, loss=sums.loss
    )


def _length(sums: Sums, squares: float) -> float:
    """The mean square length of a row of weight one."""
    return max(squares, 0.0) / sums.weight if sums.weight > 0 else 0.0


def _counts_and_means(sums: Sums) -> tuple[float, Array]:
    """How many different rows count beside the intercept, and what the means would add to |Y|²."""
    mean, count = sums.mean, sums.n_different
    if count > 0:
        count += min(_PER_COPY * float(np.log(max(sums.weight / count, 1.0))), _MOST_OF_COPIES)
    if mean is None:
        return count, np.zeros(sums.Z.shape[1])
    of_means = mean.count * sums.backend.to_numpy(mean.target) ** 2
    return max(count - 1, 0.0), of_means


def path_of(sums: Sums, choice: Choice, least: float = 0.0) -> Path | None:
    """The evidence for each ε that is tried; None where the rows are zeros, or none."""
    statistics, b = statistics_of(sums), sums.backend
    if statistics.length == 0:
        return None
    with b.few_threads(0 if sums.n_hidden < b.tuning.wide else np.inf):
        smallest = max(sums.prior, _smallest_ridge(sums.dtype, statistics.length), least)
        return choose_epsilon(statistics, smallest, choice)[0]


def _smallest_ridge(dtype: np.dtype[Any], length: float) -> float:
    """The ε that the rounding of rows of this mean square length does not reach."""
    return eps(dtype) * float(np.sqrt(length)) / LARGEST_LOSS[dtype.char]


def gram_pays(known: Any, n_rows: int, choice: Choice | None) -> bool:
    """Whether so many rows are tall enough for the Gram matrix.

    M² operations a row against 2M² at half the speed, on one thread. Going from R to R'R and back
    costs (4/3)M³ more, and two estimates of the condition; from nothing to the first root M³/3.
    """
    b, n_hidden, sums = known.backend, known.n_hidden, known.sums
    if n_rows * n_hidden**2 < b.tuning.gram_operations or choice == "few rows":
        return False
    if known.chooses:
        fresh, ready = not sums.count, choice is not None or known.path is not None
    else:
        fresh = sums.basis is not None
        ready = not fresh or (sums.rank == 0 and sums.tol is None)
    of_first, of_wide, of_narrow = b.tuning.gram_rows
    least = of_first if fresh else of_wide if n_hidden >= b.tuning.wide else of_narrow
    if not ready or n_rows < least * n_hidden:
        return False
    # A Gram matrix that adds to an ill-conditioned R is ill-conditioned too, unless rows are many.
    if known.chooses or fresh or n_rows > 2 * n_hidden:
        return True
    if kept_gram(sums, known.dtype) is not None:  # which was safe when it was made
        return True
    return linalg.gram_is_safe(b, sums.R, known.dtype)


def learn_by_some_gram(
    known: Any,
    chunk: Chunk,
    tally: Counts,
    decay: float,
    choice: Choice | None,
) -> Any:
    """The rows of a chunk by one Gram matrix; None where that loses too many digits."""
    for precision in precisions(known.dtype):
        if known.chooses:
            new = learn_chosen_by_gram(known, chunk, tally, precision, decay, choice)
            if new is not None:
                return new
        else:
            found = learn_by_gram(known.sums, chunk, chunk.n, precision, decay)
            if found is not None:
                sums = found[0].tallied(tally, decay).around(chunk.after)
                return known.with_sums(with_gram(sums, found[1]))
    return None


def learn_chosen_by_gram(
    chosen: Any,
    chunk: Chunk,
    tally: Counts,
    precision: np.dtype[Any],
    decay: float,
    choice: Choice | None,
) -> Any:
    """Many rows by one Gram matrix, if at the ε that goes with it it loses no digits."""
    b = chosen.backend
    tries = choice is not None and precision != np.float64 and chosen.sums.count == 0
    gram = add_rows(
        b,
        gram_of(chosen.sums, precision, decay),
        chunk,
        hopeless=partial(_is_hopeless, chosen, chunk) if tries else None,
    )
    if gram is None or not largest_diagonal(b, gram.G) > 0:
        return None
    root_decay = float(np.sqrt(decay))
    after = replace(
        chosen,
        sums=chosen.sums.tallied(tally, decay).around(chunk.after),
        epsilon=root_decay * chosen.epsilon,
        least=root_decay * chosen.least,
    )
    R = None
    if choice is not None:
        found = choose_by_gram(after, gram, choice)
        if found is None:
            return None
        path, R = found
        after = replace(after, path=path, epsilon=path.chosen)
    if R is None:
        R = b.root_with_ridge(gram.G, after.epsilon**2 - gram.prior**2)
    return None if R is None else chosen_from_gram(after, gram, R, choosing=choice is not None)


def _is_hopeless(chosen: Any, chunk: Chunk, gram: GramSums, n: int) -> bool:
    """Whether the first rows say that all of them need more digits than the Gram matrix has.

    From some of the units, which is cheap. The matrix grows with rows and units, and ε hardly
    does: so does what is lost.
    """
    b, step, part = chosen.backend, max(1, chosen.n_hidden // _UNITS_TO_TRY), n / chunk.n
    if n < -(-chosen.n_hidden // step) or part * _MANY_MORE > 1:
        return False
    some = GramSums(b.copy(gram.G[::step, ::step]), gram.C[::step, :], gram.squares, gram.prior)
    all_rows = chunk.tally()
    tally = Counts(part * all_rows.n, part * all_rows.n_of_squares, part * all_rows.weight)
    found = choose_by_gram(replace(chosen, sums=chosen.sums.tallied(tally)), some, choice="cheap")
    if found is None:
        return True
    path, R = found
    if R is None:
        R = b.root_with_ridge(some.G, path.chosen**2 - gram.prior**2)
    if R is None:
        return True
    lost = linalg.gram_error(b, R, chosen.dtype, noisy=True) * step / part
    return not lost <= _SURELY_TOO_MUCH


def chosen_from_gram(chosen: Any, gram: GramSums, R: Array, *, choosing: bool = True) -> Any:
    """A ridge with other sums: a Gram matrix, which is consumed, and its root R at ε.

    None if at this ε the Gram matrix has lost too many digits.
    """
    b, dtype, epsilon = chosen.backend, chosen.dtype, chosen.epsilon
    lost = linalg.gram_error(b, R, dtype, noisy=True)
    if not lost <= 1:
        return None
    least = epsilon * float(np.sqrt(lost))
    if choosing and dtype == np.float64 and least * _ROOM_BELOW > epsilon:
        return None
    rounding = gram.G.shape[0] * eps(b.dtype_of(gram.G)) * largest_diagonal(b, gram.G)
    kept, small = float(np.hypot(gram.prior, np.sqrt(rounding))), None
    if kept <= epsilon:
        ridge = kept**2 - gram.prior**2
        small = b.cholesky(b.add_ridge(gram.G, ridge))
    if small is None:
        kept, small = epsilon, R
    states = []
    for root, prior in ((small, kept), (R, epsilon)):
        Z = b.solve(root, gram.C, transposed=True)
        loss = np.maximum(gram.squares - b.column_squares(Z), 0.0)
        parts = {"R": b.asarray(root, dtype), "Z": b.asarray(Z, dtype), "loss": loss}
        states.append(replace(chosen.sums, **parts, basis=None, prior=prior, lost=0.0))
    new = replace(chosen, sums=states[0], least=max(chosen.least, least))
    return with_derived(new, root=states[1])


def choose_by_gram(chosen: Any, gram: GramSums, choice: Choice) -> tuple[Path, Array | None] | None:
    """Choose ε from sums that are a Gram matrix, by the way that a root of this size would take.

    The counts and the mean are those of `chosen`. None if ε is too small for a Gram matrix; else
    the path, and the root if it was found on the way.
    """
    b, G = chosen.backend, gram.G
    count, of_means = _counts_and_means(chosen.sums)
    total = float(b.to_numpy(b.xp.linalg.diagonal(G)).sum(dtype=np.float64))
    length = _length(chosen.sums, total - G.shape[0] * gram.prior**2)
    # Below the rounding of its largest elements, the matrix has nothing to say.
    whole_curve = takes_singular_values(b, G.shape[0], choice)
    limit = eps(b.dtype_of(G)) * largest_diagonal(b, G)
    limit *= G.shape[0] if whole_curve else 1
    smallest = float(np.hypot(gram.prior, np.sqrt(limit)))
    if not whole_curve:
        sums = Statistics(b, count, gram.prior, length, of_means, gram=gram)
    else:
        R = b.root_with_ridge(G, limit)
        if R is None:
            return None
        Z = b.solve(R, gram.C, transposed=True)
        loss = np.maximum(gram.squares - b.column_squares(Z), 0.0)
        sums = Statistics(b, count, smallest, length, of_means, R=R, Z=Z, loss=loss)
    path, root = choose_epsilon(sums, max(smallest, chosen.least), choice)
    return None if path.chosen == path.epsilon[0] else (path, root)
