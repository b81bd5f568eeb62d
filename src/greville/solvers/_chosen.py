"""Sums over rows whose ridge is chosen from what was seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from .. import linalg
from ..backend import Array, Backend, eps
from ..fields import finite, known, nothing, stored
from ._checks import check_chosen
from ._derived import Value, derived, is_derived, replace, with_derived
from ._evidence import Choice, Path, Sums, choose_epsilon, leading_rows, takes_singular_values
from ._gram import Blocks, GramSums, SummedChunk, add_rows, gram_of, largest_diagonal
from ._mean import Chunk, Mean
from ._qr import append, innovate_in_span
from ._state import LARGEST_LOSS, State

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


@stored(check=check_chosen)
@dataclass(frozen=True, eq=False)
class Chosen(Value):
    """Sums over rows without a ridge, and the ε that was last chosen from them.

    The sums are a `State` of the rows alone. It has no prior, so that it may be singular, and is
    never solved with; the `root` at ε follows from it. So ε is no part of what is stored.

    Where the sums come from a difference or a Gram matrix, they have an error of the size of its
    rounding. They then contain a ridge of that size, which is known, as their prior; and `least` is
    the smallest ε at which the error does not matter. Both are absolute numbers, and small: after
    more rows they do not matter any more.
    """

    sums: Annotated[State, known(State)]
    epsilon: Annotated[float, finite] = _BEFORE
    least: Annotated[float, finite] = 0.0
    path: Annotated[Path | None, nothing | known(Path)] = None

    @classmethod
    def start(
        cls, b: Backend, n_hidden: int, n_outputs: int, dtype: Any, *, intercept: bool = False
    ) -> Chosen:
        """Before any row."""
        empty = State.start(b, n_hidden, n_outputs, dtype, 0.0, intercept=intercept)
        R = b.zeros((n_hidden, n_hidden), dtype)
        Z = b.zeros((n_hidden, n_outputs), dtype)
        return cls(replace(empty, R=R, Z=Z, basis=None))

    backend = property(lambda self: self.sums.backend)
    n_hidden = property(lambda self: self.sums.n_hidden)
    dtype = property(lambda self: self.sums.dtype)
    mean = property(lambda self: self.sums.mean)
    count = property(lambda self: self.sums.count)

    @derived
    def root(self) -> State:
        """The root at ε."""
        sums, b = self.sums, self.backend
        ridge = self.epsilon**2 - sums.prior**2
        if ridge <= 0:
            return replace(sums)
        if sums.count == 0 and sums.prior == 0:  # no row so far
            R = b.with_ridge(b.zeros(sums.R.shape, self.dtype), self.epsilon, consume=True)
            return replace(sums, R=R, prior=self.epsilon)
        few = leading_rows(b, sums.R)
        if few <= self.n_hidden / 4:
            R = b.with_ridge(b.zeros(sums.R.shape, self.dtype), self.epsilon, consume=True)
            zero = b.zeros(sums.Z.shape, self.dtype)
            R, Z, left = b.append_rows(R, zero, sums.R[:few, :], sums.Z[:few, :])
        else:
            R, Z, left = b.append_diagonal(sums.R, sums.Z, float(np.sqrt(ridge)))
        return replace(sums, R=R, Z=Z, loss=sums.loss + left, prior=self.epsilon)

    @property
    def root_prior(self) -> float:
        """The prior of the root at ε."""
        return max(self.epsilon, self.sums.prior)

    def compact(self) -> Chosen:
        """Without a root that has followed the sums row by row: it is made again from them."""
        return replace(self)

    def on(self, b: Backend) -> Chosen:
        """The same on another backend."""
        return replace(self, sums=self.sums.on(b))

    # Small changes

    def faded(self, decay: float) -> Chosen:
        """Everything counts less, ε with it."""
        if decay == 1.0:
            return self
        root = float(np.sqrt(decay))
        new = replace(
            self,
            sums=self.sums.faded(decay),
            epsilon=self.epsilon * root,
            least=self.least * root,
        )
        return self._with_root_of(new, lambda state: state.faded(decay))

    def tallied(self, count: float, count_of_squares: float, decay: float = 1.0) -> Chosen:
        """With more rows that count; the old ones count less."""
        return self.noted(count, count_of_squares, self.mean, decay)

    def noted(
        self, count: float, count_of_squares: float, mean: Mean | None, decay: float = 1.0
    ) -> Chosen:
        """With more rows that count, and the mean after them."""

        def note(state: State) -> State:
            return state.tallied(count, count_of_squares, decay).around(mean)

        return self._with_root_of(replace(self, sums=note(self.sums)), note)

    def around(self, mean: Mean | None) -> Chosen:
        """With another mean; the same object where it is the same."""
        if mean is self.mean:
            return self
        new = replace(self, sums=self.sums.around(mean))
        return self._with_root_of(new, lambda state: state.around(mean))

    def with_outputs(self, n_outputs: int, old: Array) -> Chosen:
        """With more outputs, zero so far, the present ones at the indices `old`."""
        new = replace(self, sums=self.sums.with_outputs(n_outputs, old))
        return self._with_root_of(new, lambda state: state.with_outputs(n_outputs, old))

    def with_units(self, n_hidden: int, old: Array) -> Chosen:
        """With more hidden units, zero so far, the present ones at the indices `old`."""
        return replace(self, sums=self.sums.with_units(n_hidden, old))

    def _with_root_of(self, new: Chosen, change: Any) -> Chosen:
        """The new value, its root changed likewise if this one's is there."""
        return with_derived(new, root=change(self.root)) if is_derived(self, "root") else new

    def squares(self) -> tuple[float, Array]:
        """Sums of squares of all rows and, for each output, of all targets; around their means."""
        return self.sums.squares()

    @property
    def slack(self) -> float:
        """How far the sum of squares of all rows may be off."""
        return self.n_hidden * self.least**2

    @property
    def sums_of_means(self) -> tuple[float, Array]:
        """How many rows count beside the intercept, and what the means would add to |Y|²."""
        mean = self.mean
        if mean is None:
            return self.count, np.zeros(self.sums.Z.shape[1])
        of_means = mean.count * self.backend.to_numpy(mean.target) ** 2
        return max(self.count - 1, 0.0), of_means


# Learning


def append_to_chosen(chosen: Chosen, blocks: Blocks, *, follow: bool) -> Chosen:
    """More rows by QR factorisations; with `follow` the root at ε gets them too."""
    sums, root = chosen.sums, chosen.root if follow else None
    for H, Y in blocks():
        for part in pieces(chosen.backend, H.shape[0]):
            sums = append(sums, H[part, :], Y[part, :])
            root = root and append(root, H[part, :], Y[part, :])
    new = replace(chosen, sums=sums)
    return with_derived(new, root=root) if follow else new


def pieces(b: Backend, n: int) -> Iterator[slice]:
    """Parts of n rows that a QR factorisation takes at once."""
    length = b.tuning.qr_rows
    for start in range(0, n, length):
        yield slice(start, min(n, start + length))


def innovate_chosen(chosen: Chosen, H: Array, Y: Array, *, follow: bool) -> tuple[Chosen, Array]:
    """Learn a few rows; the error of each before it was learned.

    With `follow` the root at ε gets them too.
    """
    b, root = chosen.backend, chosen.root
    with b.few_threads(0):
        sums = append(chosen.sums, H, Y)
        errors = None if follow else linalg.innovations(b, root.R, root.solved, H, Y)
        if errors is not None:
            return replace(chosen, sums=sums), errors
        root, errors = innovate_in_span(root, H, Y)
    return with_derived(replace(chosen, sums=sums), root=root), errors


def choose(chosen: Chosen, choice: Choice) -> Chosen:
    """Choose ε from what the sums say now."""
    sums, b = chosen.sums, chosen.backend
    length = _length(chosen, float(b.column_squares(sums.R).sum()), sums.prior)
    if length == 0:  # nothing but zeros so far, or as far as rows count
        return chosen if chosen.epsilon >= _BEFORE else replace(chosen, epsilon=_BEFORE)
    count, of_means = chosen.sums_of_means
    described = Sums(b, count, sums.prior, length, of_means, R=sums.R, Z=sums.Z, loss=sums.loss)
    with b.few_threads(0 if chosen.n_hidden < b.tuning.wide else np.inf):
        smallest = max(sums.prior, _smallest_ridge(chosen.dtype, length), chosen.least)
        path, _ = choose_epsilon(described, smallest, choice)
    new = replace(chosen, epsilon=path.chosen, path=path)
    same = path.chosen == chosen.root_prior and is_derived(chosen, "root")
    return with_derived(new, root=chosen.root) if same else new


def _length(chosen: Chosen, total: float, prior: float) -> float:
    """The mean square length of a row."""
    total -= chosen.n_hidden * prior**2
    return max(total, 0.0) / chosen.count if chosen.count > 0 else 0.0


def _smallest_ridge(dtype: np.dtype[Any], length: float) -> float:
    """The ε that the rounding of rows of this mean square length does not reach."""
    return eps(dtype) * float(np.sqrt(length)) / LARGEST_LOSS[dtype.char]


# The route through the Gram matrix


def learn_chosen_by_gram(
    chosen: Chosen,
    chunk: Chunk | SummedChunk,
    precision: np.dtype[Any],
    decay: float,
    choice: Choice | None,
    rest: Chunk | None,
) -> Chosen | None:
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
        sums=chosen.sums.tallied(chunk.count, chunk.count_of_squares, decay).around(chunk.after),
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
        gram, R = add_rows(b, gram, rest), None
        assert gram is not None
        after = after.noted(rest.count, rest.count_of_squares, rest.after)
    if R is None:
        R = b.root_with_ridge(gram.G, after.epsilon**2 - gram.prior**2)
    return None if R is None else chosen_from_gram(after, gram, R, choosing=choice is not None)


def _is_hopeless(chosen: Chosen, chunk: Chunk | SummedChunk, gram: GramSums, n: int) -> bool:
    """Whether the first rows say that all of them need more digits than the Gram matrix has.

    From some of the units, which is cheap. The matrix grows with rows and units, and ε hardly
    does: so does what is lost.
    """
    b, step = chosen.backend, max(1, chosen.n_hidden // _UNITS_TO_TRY)
    some = GramSums(b.copy(gram.G[::step, ::step]), gram.C[::step, :], gram.squares, gram.prior)
    part = n / chunk.n
    if n < some.G.shape[0] or part * _MANY_MORE > 1:
        return False
    counts = part * chunk.count, part * chunk.count_of_squares
    found = choose_by_gram(
        replace(chosen, sums=chosen.sums.tallied(*counts, 1.0)), some, choice="cheap"
    )
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
    chosen: Chosen, gram: GramSums, R: Array, *, choosing: bool = True
) -> Chosen | None:
    """With other sums, given as a Gram matrix, which is consumed, and its root R at ε.

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
        small = b.cholesky(b.with_ridge(gram.G, ridge, consume=True))
    if small is None:
        kept, small = epsilon, R
    states = []
    for root, prior in ((small, kept), (R, epsilon)):
        Z = b.solve(root, gram.C, transposed=True)
        loss = np.maximum(gram.squares - b.column_squares(Z), 0.0)
        parts = {"R": b.asarray(root, dtype), "Z": b.asarray(Z, dtype), "loss": loss}
        states.append(replace(chosen.sums, **parts, prior=prior, lost=0.0))
    new = replace(chosen, sums=states[0], least=max(chosen.least, least))
    return with_derived(new, root=states[1])


def choose_by_gram(
    chosen: Chosen, gram: GramSums, choice: Choice
) -> tuple[Path, Array | None] | None:
    """Choose ε from sums that are a Gram matrix, by the way that a root of this size would take.

    The counts and the mean are those of `chosen`. None if ε is too small for a Gram matrix; else
    the path, and the root if it was found on the way.
    """
    b, G = chosen.backend, gram.G
    count, of_means = chosen.sums_of_means
    total = float(b.to_numpy(b.xp.linalg.diagonal(G)).sum(dtype=np.float64))
    length = _length(chosen, total, gram.prior)
    # Below the rounding of its largest elements, the matrix has nothing to say.
    whole_curve = takes_singular_values(b, G.shape[0], choice)
    limit = eps(b.dtype_of(G)) * largest_diagonal(b, G)
    limit *= G.shape[0] if whole_curve else 1
    smallest = float(np.hypot(gram.prior, np.sqrt(limit)))
    if not whole_curve:
        sums = Sums(b, count, gram.prior, length, of_means, gram=gram)
    else:
        R = b.root_with_ridge(G, limit)
        if R is None:
            return None
        Z = b.solve(R, gram.C, transposed=True)
        loss = np.maximum(gram.squares - b.column_squares(Z), 0.0)
        sums = Sums(b, count, smallest, length, of_means, R=R, Z=Z, loss=loss)
    path, root = choose_epsilon(sums, max(smallest, chosen.least), choice)
    return None if path.chosen == path.epsilon[0] else (path, root)


def raised(chosen: Chosen, error: float) -> Chosen:
    """With ε kept above what one more error of the sums, in H'H, can do."""
    least = np.sqrt(chosen.least**2 + _ABOVE_ERRORS[chosen.dtype.char] * error)
    return replace(chosen, least=float(least))
