"""Sums over rows and the ε at which they are read: given, or chosen from what was seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from .. import linalg
from ..backend import Array, Backend, eps
from ..fields import finite, flag, known, nothing, stored
from ..validation import check_switch
from ._checks import check_ridge
from ._derived import Value, derived, is_derived, replace, with_derived
from ._evidence import (
    Choice,
    Path,
    Statistics,
    choose_epsilon,
    leading_rows,
    log_evidence,
    takes_singular_values,
)
from ._gram import (
    Blocks,
    GramSums,
    add_rows,
    gram_of,
    kept_gram,
    largest_diagonal,
    learn_by_gram,
    precisions,
    with_gram,
)
from ._mean import Chunk, Mean
from ._qr import dense, innovate_rows, is_few, learn_rows
from ._rows import Counts, Rows, block_length
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

# The ε² from which on an error of the sums does not matter, as a multiple of that error.
_ABOVE_ERRORS = {"d": 1e8, "f": 1e2}

# The ε in use before any row could be learned from, when the weights are zero for any.
_BEFORE = 1e-3

# What copies of a row, or its weight, say beside it: little, as noise is copied too. But a target
# that is always the same is not all noise. It moves ε down by at most two factors of ten.
_PER_COPY, _MOST_OF_COPIES = 0.2, 1.0

# Rows that differ by less than so many times the rounding of their mean do not differ.
_STUCK = 64.0


@stored(check=check_ridge)
@dataclass(frozen=True, eq=False)
class Ridge(Value):
    """Sums over rows, and the ε at which they are read.

    A given ε is the prior of the sums: their R is the root that answers. Where it `chooses`, the
    sums have no prior, so that they may be singular and are never solved with, and the `root` at ε
    follows from them: it is no part of what is stored.

    Where such sums come from a difference or a Gram matrix, they have an error of the size of its
    rounding. They then contain a ridge of that size, which is known, as their prior; and `least` is
    the smallest ε at which the error does not matter. Both are absolute numbers, and small: after
    more rows they do not matter any more.
    """

    sums: Annotated[Sums, known(Sums)]
    epsilon: Annotated[float, finite]
    chooses: Annotated[bool, flag]
    least: Annotated[float, finite] = 0.0
    path: Annotated[Path | None, nothing | known(Path)] = None

    @classmethod
    def start(
        cls,
        b: Backend,
        n_hidden: int,
        n_outputs: int,
        dtype: Any,
        epsilon: float | None,
        *,
        tol: float | None = None,
        intercept: bool = False,
    ) -> Ridge:
        """The ridge before any row; without an ε it is chosen."""
        prior = 0.0 if epsilon is None else epsilon
        sums = Sums.start(b, n_hidden, n_outputs, dtype, prior, tol=tol, intercept=intercept)
        if epsilon is None:
            sums = replace(sums, different=np.empty(0))
        return cls(sums, _BEFORE if epsilon is None else prior, epsilon is None)

    backend = property(lambda self: self.sums.backend)
    n_hidden = property(lambda self: self.sums.n_hidden)
    dtype = property(lambda self: self.sums.dtype)
    mean = property(lambda self: self.sums.mean)
    count = property(lambda self: self.sums.count)

    @derived
    def root(self) -> Sums:
        """The root at ε."""
        return root_at(self.sums, self.epsilon) if self.chooses else self.sums

    def compact(self) -> Ridge:
        """The same without a root that followed the sums row by row; it is made again from them."""
        return replace(self, sums=self.sums.compact())

    def on(self, b: Backend) -> Ridge:
        """The same on another backend."""
        return replace(self, sums=self.sums.on(b))

    # Small changes

    def with_sums(self, sums: Sums) -> Ridge:
        """With other sums; a given ε is their prior."""
        return replace(self, sums=sums, epsilon=self.epsilon if self.chooses else sums.prior)

    def changed(self, change: Callable[[Sums], Sums]) -> Ridge:
        """With sums that were changed, and the root at ε in the same way if it is there."""
        new = self.with_sums(change(self.sums))
        if self.chooses and is_derived(self, "root"):
            with_derived(new, root=change(self.root))
        return new

    def faded(self, decay: float) -> Ridge:
        """The same with rows that count less, and a smaller ε."""
        if decay == 1.0:
            return self
        factor = float(np.sqrt(decay))
        new = self.changed(lambda sums: sums.faded(decay))
        vars(new).update(epsilon=self.epsilon * factor, least=self.least * factor)
        return new

    def noted(self, tally: Counts, mean: Mean | None, decay: float = 1.0) -> Ridge:
        """With more rows that count, and the mean after them; the old ones count less."""
        return self.changed(lambda sums: sums.tallied(tally, decay).around(mean))

    def around(self, mean: Mean | None) -> Ridge:
        """The same with another mean."""
        return self if mean is self.mean else self.changed(lambda sums: sums.around(mean))

    def with_outputs(self, n_outputs: int, old: Array) -> Ridge:
        """With more outputs, zero so far, the present ones at the indices `old`."""
        return self.changed(lambda sums: sums.with_outputs(n_outputs, old))

    def with_units(self, n_hidden: int, old: Array) -> Ridge:
        """With more hidden units, zero so far, the present ones at the indices `old`."""
        return self.with_sums(self.sums.with_units(n_hidden, old))

    def dense(self) -> Ridge:
        """The same without a basis, where its prior allows that."""
        sums = dense(self.sums, singular=self.chooses)
        return self if sums is self.sums else self.with_sums(sums)

    @property
    def slack(self) -> float:
        """How far the sum of squares of all rows may be off, after others were removed."""
        return self.n_hidden * (self.least**2 if self.chooses else self.sums.lost)


def root_at(sums: Sums, epsilon: float) -> Sums:
    """The root of sums with a ridge; that of the sums where they contain it already."""
    b, ridge = sums.backend, epsilon**2 - sums.prior**2
    if ridge <= 0:
        return replace(sums)
    if sums.basis is not None and not sums.rank:
        return replace(sums, prior=epsilon)
    if sums.basis is None:
        few = leading_rows(b, sums.R) if sums.count else 0
        if few <= sums.n_hidden / 4:
            R = b.identity(sums.n_hidden, sums.dtype, epsilon)
            zero = b.zeros(sums.Z.shape, sums.dtype)
            if not few:
                return replace(sums, R=R, Z=zero, prior=epsilon)
            R, Z, left = b.append_rows(R, zero, sums.R[:few, :], sums.Z[:few, :])
            return replace(sums, R=R, Z=Z, loss=sums.loss + left, prior=epsilon)
    R, Z, left = b.append_diagonal(sums.R, sums.Z, float(np.sqrt(ridge)), b.xp.zeros_like(sums.Z))
    return replace(sums, R=R, Z=Z, loss=sums.loss + left, prior=epsilon)


# Learning: the only place that chooses a route. Many rows at once go through the Gram matrix, one
# matrix product and one Cholesky factor, unless its condition number shows that too many digits
# would be lost: they are then read again, and go through a QR factorisation of [R; H], as few rows
# do. Rows that do not span the space yet extend a basis.


def learn(
    known: Ridge,
    chunk: Chunk,
    *,
    decay: float = 1.0,
    choice: Choice | None = None,
    rest: Chunk | None = None,
) -> Ridge:
    """R'R ← decay·R'R + H'H and R'Z ← decay·R'Z + H'Y, over all rows of a chunk.

    Parameters
    ----------
    known : Ridge
    chunk : Chunk
    decay : float
        What is left of the weight of all rows before.
    choice : Choice, optional
        Whether to choose ε after the chunk, and how.
    rest : Chunk, optional
        Rows that come after the choice.
    """
    if chunk.n == 0:
        return known
    b, n_hidden = known.backend, known.n_hidden
    tally = chunk.tally(known.sums.different)
    few = is_few(n_hidden, known.sums.rank + chunk.n)
    if known.sums.basis is not None and known.sums.rank and not few:
        known = known.dense()
    pays = gram_pays(known, chunk.n, choice)
    if pays:
        with b.few_threads(chunk.n * n_hidden**2):
            found = _learn_by_gram(known, chunk, tally, decay, choice, rest)
        if found is not None:
            return found
    if known.chooses and not few:
        known = known.dense()
    # A root at ε that is there already follows, if that costs less than to make it again.
    follow = known.chooses and not pays and choice is None and is_derived(known, "root")
    new = append_rows(known.faded(decay), chunk, follow=follow, few=few)
    new = new.noted(tally, chunk.after, decay)
    if choice is not None:
        new = choose(new, choice)
    return new if rest is None else learn(new, rest)


def accumulate(known: Ridge, chunk: Chunk) -> Ridge:
    """More rows in sums that are read later, at an ε which nobody knows yet.

    By a Gram matrix only if that loses no digits at any ε, zero included.
    """
    b = known.backend
    known = known if is_few(known.n_hidden, known.sums.rank + chunk.n) else known.dense()
    sums, few = known.sums, known.count < 2 * known.n_hidden
    pays = known.chooses and gram_pays(known, chunk.n, "thorough")
    if pays and (few or linalg.gram_is_safe(b, sums.R, known.dtype)):
        with b.few_threads(chunk.n * known.n_hidden**2):
            found = learn_by_gram(sums, chunk, chunk.n, np.dtype(np.float64), 1.0)
        if found is not None:
            new = found[0].tallied(chunk.tally(sums.different)).around(chunk.after)
            return known.with_sums(with_gram(new, found[1]))
    return learn(known, chunk)


def append_rows(known: Ridge, blocks: Blocks, *, follow: bool, few: bool = False) -> Ridge:
    """More rows by QR factorisations; with `follow` a root at a chosen ε gets them too."""
    sums, root = known.sums, known.root if follow else None
    for H, Y in blocks():
        sums = learn_rows(sums, H, Y, few=few)
        root = root and learn_rows(root, H, Y, few=few)
    new = known.with_sums(sums)
    return with_derived(new, root=root) if follow else new


def innovate(
    known: Ridge, H: Array, Y: Array, factor: Array, *, follow: bool = True
) -> tuple[Ridge, Array]:
    """Learn a few rows multiplied by their factors; the error of each before it was learned.

    Rows with a factor of zero are only predicted. `factor` is NumPy's. With `follow` a root at a
    chosen ε follows the sums; without it, it is made again when it is needed.
    """
    b, (n, n_hidden) = known.backend, H.shape
    few = is_few(n_hidden, known.sums.rank + n)
    known = known if few or known.sums.tol is not None else known.dense()
    errors = b.xp.empty_like(Y)
    for start, stop, counts in _runs(factor > 0):
        h, y = H[start:stop, :], Y[start:stop, :]
        if counts:
            f = b.asarray(factor[start:stop, None], known.dtype)
            known, found = _innovate(known, f * h, f * y, follow=follow, few=few)
            errors[start:stop, :] = found / f
        else:
            errors[start:stop, :] = y - b.matmul(h, known.root.weights)
    return known, errors


def _runs(flags: Array) -> Iterator[tuple[int, int, bool]]:
    """Where runs of equal flags start and stop, and the flag of each."""
    cuts = [0, *(np.flatnonzero(flags[1:] != flags[:-1]) + 1).tolist(), len(flags)]
    for start, stop in pairwise(cuts):
        if stop > start:
            yield start, stop, bool(flags[start])


def _innovate(known: Ridge, H: Array, Y: Array, *, follow: bool, few: bool) -> tuple[Ridge, Array]:
    root = known.root
    if not known.chooses:
        root, errors = innovate_rows(root, H, Y, few=few)
        return known.with_sums(root), errors
    b = known.backend
    with b.few_threads(0):
        sums = learn_rows(known.sums, H, Y, few=few)
        if not follow and root.basis is None:
            found = linalg.innovations(b, root.R, root.solved, H, Y)
            if found is not None:
                return known.with_sums(sums), found
        root, errors = innovate_rows(root, H, Y, few=few)
    return with_derived(known.with_sums(sums), root=root), errors


# Choosing ε


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


def choose(known: Ridge, choice: Choice) -> Ridge:
    """Choose ε from what the sums say now; as it is where it is given."""
    if not known.chooses:
        return known
    path = path_of(known.sums, choice, known.least)
    if path is None:  # nothing but zeros so far, or as far as rows count
        return known if known.epsilon >= _BEFORE else replace(known, epsilon=_BEFORE)
    new = replace(known, epsilon=path.chosen, path=path)
    same = path.chosen == max(known.epsilon, known.sums.prior) and is_derived(known, "root")
    return with_derived(new, root=known.root) if same else new


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


# The route through the Gram matrix


def gram_pays(known: Ridge, n_rows: int, choice: Choice | None) -> bool:
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


def _learn_by_gram(
    known: Ridge,
    chunk: Chunk,
    tally: Counts,
    decay: float,
    choice: Choice | None,
    rest: Chunk | None,
) -> Ridge | None:
    """The rows of a chunk by one Gram matrix; None where that loses too many digits."""
    for precision in precisions(known.dtype):
        if known.chooses:
            new = learn_chosen_by_gram(known, chunk, tally, precision, decay, choice, rest)
            if new is not None:
                return new
        else:
            found = learn_by_gram(known.sums, chunk, chunk.n, precision, decay)
            if found is not None:
                sums = found[0].tallied(tally, decay).around(chunk.after)
                return known.with_sums(with_gram(sums, found[1]))
    return None


def learn_chosen_by_gram(
    chosen: Ridge,
    chunk: Chunk,
    tally: Counts,
    precision: np.dtype[Any],
    decay: float,
    choice: Choice | None,
    rest: Chunk | None,
) -> Ridge | None:
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
    if rest is not None:
        more = rest.tally(after.sums.different)
        gram, R = add_rows(b, gram, rest), None
        assert gram is not None
        after = after.noted(more, rest.after)
    if R is None:
        R = b.root_with_ridge(gram.G, after.epsilon**2 - gram.prior**2)
    return None if R is None else chosen_from_gram(after, gram, R, choosing=choice is not None)


def _is_hopeless(chosen: Ridge, chunk: Chunk, gram: GramSums, n: int) -> bool:
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


def chosen_from_gram(
    chosen: Ridge, gram: GramSums, R: Array, *, choosing: bool = True
) -> Ridge | None:
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


def choose_by_gram(
    chosen: Ridge, gram: GramSums, choice: Choice
) -> tuple[Path, Array | None] | None:
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


def raised(chosen: Ridge, error: float) -> Ridge:
    """A ridge whose ε stays above what one more error of the sums, in H'H, can do."""
    least = np.sqrt(chosen.least**2 + _ABOVE_ERRORS[chosen.dtype.char] * error)
    return replace(chosen, least=float(least))


# What the public operations of `Sums` need


def sums_of(X: Any, y: Any, sample_weight: Any, intercept: bool) -> Sums:
    """The sums over rows that users pass, by routes that lose no digits."""
    from .opium import Opium

    check_switch("intercept", intercept)
    solver = Opium("auto", bool(intercept))
    rows, fitted, flat = solver._checked_first(X, y, sample_weight)
    shape, start = fitted.shape, fitted.state
    chunk = Chunk(
        shape.backend, rows, block_length(shape.backend, shape.n_hidden, shape.dtype), start.mean
    )
    return replace(learn(start, chunk).sums, flat=flat)


def checked_matrix(sums: Sums, X: Any) -> Array:
    """Rows that users pass, on the backend of the sums."""
    return sums.backend.asarray(_solver_of(sums)._checked_rows(X, reset=False), sums.dtype)


def checked_rows(sums: Sums, X: Any, y: Any, sample_weight: Any) -> Rows:
    """Rows and targets that users pass."""
    rows: Rows = _solver_of(sums)._checked(X, y, sample_weight)
    return rows


def _solver_of(sums: Sums) -> Any:
    """A solver that has learned the rows of sums."""
    from .fitted import Fitted
    from .opium import Opium
    from .protocol import Shape

    solver = Opium("auto", sums.mean is not None)
    shape = Shape(sums.backend, sums.n_hidden, sums.Z.shape[1], sums.dtype)
    ridge = Ridge(sums, max(_BEFORE, sums.prior), True)
    return solver.restore(Fitted(solver.algorithm(), shape, ridge), flat=sums.flat)


def evidence_for(sums: Sums, epsilon: float) -> float:
    """The logarithm of the evidence for an ε."""
    return log_evidence(statistics_of(sums), root_at(sums, epsilon), epsilon)
