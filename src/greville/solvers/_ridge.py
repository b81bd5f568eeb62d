"""Sums over rows and the ε at which they are read: given, or chosen from what was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, Self

import numpy as np

from .. import linalg
from ..backend import Array, Backend
from ..fields import finite, flag, known, nothing, require, stored
from ..validation import check_squares
from ._checks import MAX_SIZE
from ._choosing import gram_pays, learn_by_some_gram, path_of
from ._derived import derived, is_derived, replace, with_derived
from ._evidence import Choice, Path, choice_in_stream
from ._gram import Blocks, learn_by_gram, with_gram
from ._in_place import Learned
from ._mean import Chunk, Mean
from ._qr import dense, innovate_rows, is_few, learn_rows
from ._remove import leave, merge
from ._rows import Counts, Rows, block_length
from ._state import Shape, State
from .sums import Sums, root_at, spreads_in_order

# The ε in use before any row could be learned from, when the weights are zero for any.
_BEFORE = 1e-3

# The ε² from which on an error of the sums does not matter, as a multiple of that error.
_ABOVE_ERRORS = {"d": 1e8, "f": 1e2}


def _check_ridge(ridge: RidgeState) -> None:
    sums, epsilon = ridge.sums, ridge.epsilon
    fits = sums.prior <= epsilon < MAX_SIZE and 0 <= ridge.least < MAX_SIZE
    fits = fits and (epsilon > 0 if ridge.chooses else epsilon == sums.prior)
    require(fits, "a state has an impossible epsilon")


@stored(derived=("pending",), check=_check_ridge)
@dataclass(frozen=True, eq=False, kw_only=True)
class RidgeState(State):
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
        shape: Shape,
        *,
        epsilon: float | None,
        tol: float | None = None,
        intercept: bool = False,
        **settings: Any,
    ) -> Self:
        """The state before any row; without an ε it is chosen."""
        check_squares("epsilon", epsilon or 0.0, shape.dtype)
        size = shape.backend, shape.n_hidden, shape.n_outputs, shape.dtype
        sums = Sums.start(*size, epsilon or 0.0, tol=tol, intercept=intercept)
        if epsilon is None:
            sums = replace(sums, different=np.empty(0))
        used = _BEFORE if epsilon is None else epsilon
        return cls(sums=sums, epsilon=used, chooses=epsilon is None, **settings)

    @classmethod
    def of(cls, sums: Sums) -> RidgeState:
        """A state with these sums that could choose ε."""
        return RidgeState(sums=sums, epsilon=max(sums.prior, _BEFORE), chooses=True)

    backend = property(lambda self: self.sums.backend)
    n_hidden = property(lambda self: self.sums.n_hidden)
    mean = property(lambda self: self.sums.mean)
    count = property(lambda self: self.sums.count)
    solution = property(lambda self: self.root.solution)

    @derived
    def shape(self) -> Shape:
        """The size and kind of what is learned."""
        sums = self.sums
        return Shape(sums.backend, sums.n_hidden, int(sums.Z.shape[1]), sums.dtype)

    @derived
    def root(self) -> Sums:
        """The root at ε."""
        return root_at(self.sums, self.epsilon) if self.chooses else self.sums

    def compact(self) -> Self:
        """The same without a root that followed the sums row by row; it is made again from them."""
        base = self.flushed()
        return replace(base, sums=replace(base.sums))

    def on(self, b: Backend) -> Self:
        """The same on another backend, with no row pending."""
        base = self.flushed()
        return replace(base, sums=base.sums.on(b))

    def continued(self, settings: Any) -> Self:
        epsilon, intercept = settings["epsilon"], settings.get("intercept", False)
        if (epsilon is None, intercept) != (self.chooses, self.mean is not None):
            raise ValueError(
                "epsilon, intercept: a model that has started cannot change between a given and a "
                "chosen epsilon, nor with and without intercept; call fit to start again."
            )
        return self

    # Small changes

    def with_sums(self, sums: Sums) -> Self:
        """With other sums; a given ε is their prior."""
        return replace(self, sums=sums, epsilon=self.epsilon if self.chooses else sums.prior)

    def changed(self, change: Callable[[Sums], Sums]) -> Self:
        """With sums that were changed, and the root at ε in the same way if it is there."""
        new = self.with_sums(change(self.sums))
        if self.chooses and is_derived(self, "root"):
            with_derived(new, root=change(self.root))
        return new

    def faded(self, decay: float) -> Self:
        """The same with rows that count less, and a smaller ε."""
        if decay == 1.0:
            return self
        factor = float(np.sqrt(decay))
        new = self.changed(lambda sums: sums.faded(decay))
        vars(new).update(epsilon=self.epsilon * factor, least=self.least * factor)
        return new

    def noted(self, tally: Counts, mean: Mean | None, decay: float = 1.0) -> Self:
        """With more rows that count, and the mean after them; the old ones count less."""
        return self.changed(lambda sums: sums.tallied(tally, decay).around(mean))

    def with_outputs(self, n_outputs: int, old: Array) -> Self:
        """With more outputs, zero so far, the present ones at the indices `old`."""
        return self.flushed().changed(lambda sums: sums.with_outputs(n_outputs, old))

    def with_units(self, n_hidden: int, old: Array) -> Self:
        """With more hidden units, zero so far, the present ones at the indices `old`, ascending."""
        base = self.flushed()
        return base.with_sums(base.sums.with_units(n_hidden, old))

    def dense(self) -> Self:
        """The same without a basis, where its prior allows that."""
        sums = dense(self.sums, singular=self.chooses)
        return self if sums is self.sums else self.with_sums(sums)

    @property
    def slack(self) -> float:
        """How far the sum of squares of all rows may be off, after others were removed."""
        return self.n_hidden * (self.least**2 if self.chooses else self.sums.lost)

    def raised(self, error: float) -> Self:
        """With an ε that stays above what one more error of the sums, in H'H, can do."""
        least = np.sqrt(self.least**2 + _ABOVE_ERRORS[self.dtype.char] * error)
        return replace(self, least=float(least))

    def chosen(self, choice: Choice = "thorough") -> Self:
        """With an ε chosen from what the sums say now; as it is where it is given."""
        base = self.flushed()
        if not base.chooses:
            return base
        path = path_of(base.sums, choice, base.least)
        if path is None:  # nothing but zeros so far, or as far as rows count
            return base if base.epsilon >= _BEFORE else replace(base, epsilon=_BEFORE)
        new = replace(base, epsilon=path.chosen, path=path)
        same = path.chosen == max(base.epsilon, base.sums.prior) and is_derived(base, "root")
        return with_derived(new, root=base.root) if same else new

    # Rows

    def added(self, rows: Rows) -> Self:
        if not self.chooses:
            return learn(self, self.chunk(rows))
        due = last_choice(self.n_seen + rows.n, self.n_hidden) - self.n_seen
        if due <= 0:
            return learn(self, self.chunk(rows))
        choice = choice_in_stream(self.backend, self.n_seen + due)
        new = learn(self, self.chunk(rows.part(0, due)), choice=choice)
        return learn(new, new.chunk(rows.part(due, rows.n)))

    def added_by_fit(self, rows: Rows) -> Self:
        return learn(self, self.chunk(rows), choice="thorough" if self.chooses else None)

    def innovated(self, H: Array, Y: Array, weight: Array) -> tuple[Self, Array]:
        mean, factor, rows = self.mean, np.sqrt(weight), Rows.of(H, Y, weight)
        if mean is not None:
            H, Y, factor, _, _, mean = mean.follow(self.backend, H, Y, weight)
        seen = self.n_seen + len(weight)
        due = self.chooses and last_choice(seen, self.n_hidden) == seen
        state, errors = innovate(self, H, Y, factor, follow=not due)
        state = state.noted(Counts.of(weight).with_rows(self.backend, rows, self.different), mean)
        return (state.chosen(choice_in_stream(self.backend, seen)) if due else state), errors

    def rows_until_event(self) -> int:
        if not self.chooses:
            return super().rows_until_event()
        return next_choice(self.n_seen, self.n_hidden) - self.n_seen

    def after_event(self) -> Self:
        if not self.chooses or last_choice(self.n_seen, self.n_hidden) != self.n_seen:
            return self
        return self.chosen(choice_in_stream(self.backend, self.n_seen))

    def leave_out(self, rows: Rows) -> Array:
        """Predictions (NumPy) for rows that were learned, each as if it alone had not been."""
        return self.backend.to_numpy(self.flushed().root.leave_out(rows))

    def spreads_in_order(self, H: Array, Y: Array, weight: Array) -> Array:
        if weight.all() and self.root.basis is None:
            spreads = spreads_in_order(self.root, H, Y, weight, self.growth(weight))
            if spreads is not None:
                return spreads
        return super().spreads_in_order(H, Y, weight)

    def growth(self, weight: Array) -> Array:
        """What to multiply the next rows by if nothing fades meanwhile."""
        return np.sqrt(weight)

    @property
    def different(self) -> Array | None:
        """Fingerprints of the different rows, where these are few."""
        return self.sums.different

    def chunk(self, rows: Rows) -> Chunk:
        """Rows as they are learned after those so far."""
        b = self.backend
        return Chunk(b, rows, block_length(b, self.n_hidden, self.dtype), self.mean)

    # Single rows by compiled kernels

    def for_kernels(self) -> tuple[Any, ...] | None:
        """This state, in the form that kernels need; None while it has few rows of many units."""
        new = self if is_few(self.n_hidden, self.sums.rank) else self.dense()
        return (new,)

    def with_learned(self, learned: Learned) -> Self:
        chunk, decay = self.chunk(learned.rows), self.keep**learned.n
        if self.chooses:
            new: Self = learn(self, chunk, decay=decay)
        else:
            for _ in chunk():  # for the mean after them
                pass
            new = self.faded(decay).noted(chunk.tally(), chunk.after, decay)
        root = self.root.faded(decay).with_tally(new.sums.tally).around(new.mean)
        root = replace(root, R=learned.R, Z=learned.Z, loss=learned.loss)
        return with_derived(new, root=root) if self.chooses else new.with_sums(root)

    # Sums over rows

    def unlearn(self, rows: Rows) -> Self:
        """The state without some learned rows; a ValueError if they cannot be removed."""
        return self.without(self.accumulator().learn_now(rows))

    def without(self, sums: RidgeState) -> Self:
        """The state without the rows of an accumulation; a ValueError if they cannot be removed."""
        base, theirs = self.flushed(), sums.flushed().on(self.backend)
        if theirs.n_seen > base.n_seen:
            raise ValueError(
                f"got {theirs.n_seen} rows to unlearn, but only {base.n_seen} were learned."
            )
        with base.shape.memory():
            left = leave(base, theirs, everything=theirs.n_seen == base.n_seen)
        return (
            base.emptied() if left is None else left.chosen().counted(base.n_seen - theirs.n_seen)
        )

    def emptied(self) -> Self:
        """The same before any row."""
        epsilon = None if self.chooses else self.epsilon
        tol, intercept = self.sums.tol, self.mean is not None
        start = RidgeState.start(self.shape, epsilon=epsilon, tol=tol, intercept=intercept)
        changes = {"sums": start.sums, "epsilon": start.epsilon, "least": 0.0, "path": None}
        return replace(self, **changes, n_seen=0, pending=())

    def merge(self, other: RidgeState) -> Self:
        """The value with the rows of another one; a ValueError if they do not go together."""
        for name, mine, theirs in (
            ("dtype", self.dtype, other.dtype),
            ("number of hidden units", self.shape.n_hidden, other.shape.n_hidden),
            ("number of outputs", self.n_outputs, other.n_outputs),
        ):
            if mine != theirs:
                raise ValueError(
                    f"other: its {name} is {theirs}, that of this model {mine}; only models that "
                    "were started alike can be merged."
                )
        other.check_learns()
        base, other = self.flushed(), other.flushed().on(self.backend)
        merged = merge(base, other, by_gram=isinstance(base, RowSums))
        if merged is None:
            raise ValueError("other: the two models cannot be merged; a larger epsilon helps.")
        return merged.chosen().counted(base.n_seen + other.n_seen)

    def accumulator(self) -> RowSums:
        """A value of the same size without rows, which only adds up those that come.

        `merge` learns all of them as if they had come in one `fit`, and `without` unlearns them.
        """
        self.check_learns()
        epsilon = 0.0 if not self.chooses and self.epsilon == 0 else None
        tol, intercept = self.sums.tol, self.mean is not None
        return RowSums.start(self.shape, epsilon=epsilon, tol=tol, intercept=intercept)


class RowSums(RidgeState):
    """Sums over rows without an ε, for a state that learns all of them with `merge`."""

    def added(self, rows: Rows) -> Self:
        return accumulate(self, self.chunk(rows))

    def added_by_fit(self, rows: Rows) -> Self:
        return self.added(rows)

    def rows_until_event(self) -> int:
        return 1 << 30

    def chosen(self, choice: Choice = "thorough") -> Self:
        return self.flushed()

    @property
    def solution(self) -> Array:
        raise ValueError("these are sums over rows, not a fitted model; merge them into one.")


@lru_cache(maxsize=64)
def _choices(seen: int, n_hidden: int) -> tuple[int, int]:
    """The last row up to `seen` at which ε was to be chosen, and the next.

    After half as many rows again; from M rows on after M/2, which take about half as long to learn
    as a choice takes; later with every third.
    """
    last, following = 0, 1
    while following <= seen:
        last = following
        following += max(1, last // 3, min(last // 2, n_hidden // 2))
    return last, following


def last_choice(seen: int, n_hidden: int) -> int:
    """The last row up to `seen` at which ε was to be chosen."""
    return _choices(seen, n_hidden)[0]


def next_choice(seen: int, n_hidden: int) -> int:
    """The first row after `seen` at which ε is to be chosen."""
    return _choices(seen, n_hidden)[1]


# Learning: the only place that chooses a route. Many rows at once go through the Gram matrix, one
# matrix product and one Cholesky factor, unless its condition number shows that too many digits
# would be lost: they are then read again, and go through a QR factorisation of [R; H], as few rows
# do. Rows that do not span the space yet extend a basis.


def learn(
    known: RidgeState, chunk: Chunk, *, decay: float = 1.0, choice: Choice | None = None
) -> Any:
    """R'R ← decay·R'R + H'H and R'Z ← decay·R'Z + H'Y, over all rows of a chunk.

    Parameters
    ----------
    known : RidgeState
    chunk : Chunk
    decay : float
        What is left of the weight of all rows before.
    choice : Choice, optional
        Whether to choose ε after the chunk, and how.
    """
    if chunk.n == 0:
        return known
    b, n_hidden = known.backend, known.n_hidden
    tally = chunk.tally(known.different)
    few = is_few(n_hidden, known.sums.rank + chunk.n)
    if known.sums.basis is not None and known.sums.rank and not few:
        known = known.dense()
    pays = gram_pays(known, chunk.n, choice)
    if pays:
        with b.few_threads(chunk.n * n_hidden**2):
            found = learn_by_some_gram(known, chunk, tally, decay, choice)
        if found is not None:
            return found
    if known.chooses and not few:
        known = known.dense()
    # A root at ε that is there already follows, if that costs less than to make it again.
    follow = known.chooses and not pays and choice is None and is_derived(known, "root")
    new = append_rows(known.faded(decay), chunk, follow=follow, few=few)
    new = new.noted(tally, chunk.after, decay)
    return new if choice is None else new.chosen(choice)


def accumulate(known: RowSums, chunk: Chunk) -> Any:
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


def append_rows(known: RidgeState, blocks: Blocks, *, follow: bool, few: bool = False) -> Any:
    """More rows by QR factorisations; with `follow` a root at a chosen ε gets them too."""
    sums, root = known.sums, known.root if follow else None
    for H, Y in blocks():
        sums = learn_rows(sums, H, Y, few=few)
        root = root and learn_rows(root, H, Y, few=few)
    new = known.with_sums(sums)
    return with_derived(new, root=root) if follow else new


def innovate(
    known: RidgeState, H: Array, Y: Array, factor: Array, *, follow: bool = True
) -> tuple[Any, Array]:
    """Learn a few rows multiplied by their factors; the error of each before it was learned.

    Rows with a factor of zero are only predicted. `factor` is NumPy's. With `follow` a root at a
    chosen ε follows the sums; without it, it is made again when it is needed.
    """
    b, (n, n_hidden) = known.backend, H.shape
    few = is_few(n_hidden, known.sums.rank + n)
    known = known if few or known.sums.tol is not None else known.dense()
    errors, counts = b.xp.empty_like(Y), factor > 0
    cuts = [0, *(np.flatnonzero(counts[1:] != counts[:-1]) + 1).tolist(), n]
    for start, stop in pairwise(cuts):
        h, y = H[start:stop, :], Y[start:stop, :]
        if counts[start]:
            f = b.asarray(factor[start:stop, None], known.dtype)
            known, found = _innovate(known, f * h, f * y, follow=follow, few=few)
            errors[start:stop, :] = found / f
        else:
            errors[start:stop, :] = y - b.matmul(h, known.root.weights)
    return known, errors


def _innovate(
    known: RidgeState, H: Array, Y: Array, *, follow: bool, few: bool
) -> tuple[RidgeState, Array]:
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
