"""Sums over rows and the ε at which they are read: given, or chosen from what was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import log
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from .. import linalg
from ..backend import Array
from ..fields import finite, flag, instance_of, nothing, require
from ..validation import check_squares
from ._derived import derived, is_derived, replace, stored_value, with_derived
from ._evidence import Path, units_in_stream
from ._gram import after_chunk, gram_pays, learned_by_gram, path_of, sums_by_gram
from ._in_place import Learned
from ._mean import Chunk, Mean
from ._qr import dense, innovate_rows, is_few, learn_rows
from ._remove import check_alike, leave, merge
from ._rows import Counts, Rows, block_length
from ._state import Shape, State
from .sums import MAX_SIZE, Sums, root_at, spreads_in_order

# The ε in use before any row could be learned from, when the weights are zero for any.
_BEFORE = 1e-3

# The ε² from which on an error of the sums does not matter, as a multiple of that error.
_ABOVE_ERRORS = {"d": 1e8, "f": 1e2}

# The factor by which rows of one prequential block may outgrow each other: keep^(-rows / 2).
_LARGEST_FACTOR = 1e3

# More rows than there will be.
_NEVER = 1 << 62


def _check_ridge(ridge: RidgeState) -> None:
    sums, epsilon = ridge.sums, ridge.epsilon
    fits = sums.prior <= epsilon < MAX_SIZE and 0 <= ridge.least < MAX_SIZE
    fits = fits and (epsilon > 0 if ridge.chooses else epsilon == sums.prior)
    require(fits, "a state has an impossible epsilon")


@stored_value(_check_ridge)
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

    sums: Annotated[Sums, instance_of(Sums)]
    epsilon: Annotated[float, finite]
    chooses: Annotated[bool, flag]
    least: Annotated[float, finite] = 0.0
    path: Annotated[Path | None, nothing | instance_of(Path)] = None

    arrays: ClassVar[tuple[str, ...]] = ("sums",)
    fades: ClassVar[bool] = False  # whether rows may count less the older they are
    forgetting: ClassVar[Any] = "none: all rows count alike"

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
            sums = replace(sums, tally=Counts(different=np.empty(0)))
        used = _BEFORE if epsilon is None else epsilon
        return cls(sums=sums, epsilon=used, chooses=epsilon is None, **settings)

    @classmethod
    def of(cls, sums: Sums) -> RidgeState:
        """Make a state that chooses ε from given sums."""
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
        """Drop the root that followed the sums row by row; it is made again from them."""
        base = self.flushed()
        return replace(base, sums=replace(base.sums))

    def fits(self, settings: Any) -> bool:
        epsilon, intercept = settings["epsilon"], settings.get("intercept", False)
        mine = (self.chooses, self.mean is not None, self.sums.tol)
        same = mine == (epsilon is None, intercept, settings.get("tol"))
        epsilon_fits = self.chooses or self.fades or epsilon == self.epsilon
        return same and epsilon_fits and super().fits(settings)

    # Small changes

    def with_sums(self, sums: Sums) -> Self:
        """Return a state with other sums; a given ε is their prior."""
        return replace(self, sums=sums, epsilon=self.epsilon if self.chooses else sums.prior)

    def changed(self, change: Callable[[Sums], Sums]) -> Self:
        """Change the sums, and the cached root at ε in the same way."""
        new = self.with_sums(change(self.sums))
        if self.chooses and is_derived(self, "root"):
            with_derived(new, root=change(self.root))
        return new

    def faded(self, decay: float) -> Self:
        """Fade the rows, which count less, and make ε smaller."""
        if decay == 1.0:
            return self
        factor = float(np.sqrt(decay))
        new = self.changed(lambda sums: sums.faded(decay))
        vars(new).update(epsilon=self.epsilon * factor, least=self.least * factor)
        return new

    def noted(self, tally: Counts, mean: Mean | None, decay: float = 1.0) -> Self:
        """Count more rows, and take the mean after them; the old ones count less."""
        return self.changed(lambda sums: sums.tallied(tally, decay).around(mean))

    def with_outputs(self, n_outputs: int, old: Array) -> Self:
        """Return a state with more outputs, zero so far, the present ones at the indices `old`."""
        return self.flushed().changed(lambda sums: sums.with_outputs(n_outputs, old))

    def with_units(self, n_hidden: int, old: Array) -> Self:
        """Return a state with more units, zero so far, the present ones at ascending `old`."""
        base = self.flushed()
        return base.with_sums(base.sums.with_units(n_hidden, old))

    def dense(self) -> Self:
        """Return the state without a basis, if its prior allows that."""
        sums = dense(self.sums, singular=self.chooses)
        return self if sums is self.sums else self.with_sums(sums)

    @property
    def slack(self) -> float:
        """Return the possible error in the sum of squares of all rows, after rows were removed."""
        return self.n_hidden * (self.least**2 if self.chooses else self.sums.lost)

    def raised(self, error: float) -> Self:
        """Raise the smallest ε above the effect of one more rounding error in H'H."""
        least = np.sqrt(self.least**2 + _ABOVE_ERRORS[self.dtype.char] * error)
        return replace(self, least=float(least))

    def chosen(self, most_units: float | None = None) -> Self:
        """Choose ε from what the sums say now; a given ε stays as it is.

        The whole grid is tried up to so many units: by default as many as `fit` does.
        """
        base, tuning = self.flushed(), self.shape.backend.tuning
        if not base.chooses:
            return base
        path, root = path_of(base.sums, most_units or tuning.svd_units, base.least)
        if path is None:  # nothing but zeros so far, or as far as rows count
            return base if base.epsilon >= _BEFORE else replace(base, epsilon=_BEFORE)
        if path.chosen == max(base.epsilon, base.sums.prior) and is_derived(base, "root"):
            root = base.root
        new = replace(base, epsilon=path.chosen, path=path)
        return new if root is None else with_derived(new, root=root)

    # Rows

    def added(self, rows: Rows) -> Self:
        state, stop, n_before = self, 0, self.n_seen
        while stop < rows.n:
            start, stop = stop, rows.n
            if self.chooses:  # the sums do not depend on choices before the last
                last = self.last_event(n_before + rows.n) - n_before
                stop, choice = (last, True) if start < last else (rows.n, False)
            else:
                stop, choice = min(stop, self.next_event(n_before + start) - n_before), False
            chunk = state.chunk(rows.part(start, stop))
            most = units_in_stream(state.backend, n_before + stop) if choice else None
            state = learn(state, chunk, decay=self.keep**chunk.n, most_units=most)
            state = state.saw(chunk.energies).counted(n_before + stop)
            state = state if self.chooses else state.after_event()
        return state

    def added_by_fit(self, rows: Rows) -> Self:
        if self.keep < 1:
            return self.added(rows)
        most = self.backend.tuning.svd_units if self.chooses else None
        return learn(self, self.chunk(rows), most_units=most)

    def _recorded(self, rows: Rows, spread: bool = False) -> tuple[Self, list[Array]]:
        """Record rows; where ε is chosen, its root follows them, and the sums learn them after."""
        if not self.chooses:
            return super()._recorded(rows, spread)
        length = block_length(self.backend, self.n_hidden, self.dtype)
        state, stop, parts = self, 0, list[list[Array]]()
        while stop < rows.n:
            event = state.next_event(state.n_seen)
            start, stop = stop, min(rows.n, stop + length, stop + event - state.n_seen)
            part = rows.part(start, stop)
            part = Rows.of(*part.make(0, part.n), part.weight)  # activations are made once
            follower, predicted = state.at_epsilon()._recorded(part, spread)
            parts.append(predicted)
            state = replace(state).learn_now(part)
            if state.n_seen < event:
                with_derived(state, root=follower.sums)
        predictions, *spreads = zip(*parts, strict=True)
        answers = [self.backend.xp.concat(list(predictions)), *map(np.concatenate, spreads)]
        return state, answers

    def at_epsilon(self) -> Self:
        """Return a state that has the root at ε as its sums, and chooses none."""
        return replace(self, sums=self.root, epsilon=self.root.prior, chooses=False)

    def innovated(self, H: Array, Y: Array, weight: Array) -> tuple[Self, Array]:
        # Rows growing by the inverse of what old ones lose, and all of it scaled down at the end.
        b, n, rows = self.backend, len(weight), Rows.of(H, Y, weight)
        decay, factor, mean = self.keep**n, self.growth(weight), self.mean
        energies = b.row_squares(H) * weight if self.fades else weight
        if mean is not None:
            H, Y, factor, _, mean = mean.follow(b, H, Y, factor**2)
            mean = mean.faded(decay)
        sums, errors = innovate(self.sums, H, Y, factor)
        fading = self.keep ** np.arange(n - 1, -1, -1.0)
        tally = Counts.of(b, rows, fading, self.sums.tally)
        state = self.with_sums(sums).faded(decay).noted(tally, mean, decay).saw(energies)
        return state.counted(self.n_seen + n).after_event(), errors

    def saw(self, energies: Array) -> Self:
        """Return the state after rows with squared lengths |a|², which matter where rows fade."""
        return self

    def growth(self, weight: Array) -> Array:
        """Return the factors of the next rows that make up for old rows not fading meanwhile."""
        return np.sqrt(weight / self.keep ** np.arange(1.0, len(weight) + 1))

    # Events: ε is chosen, or a floor is added

    @property
    def period(self) -> int:
        """Number of rows between two events, beside those of the first rows."""
        return _NEVER

    def next_event(self, seen: int) -> int:
        """The first row after `seen` with an event.

        ε is chosen once in a period and, as long as there are few rows, when `Opium` chooses.
        """
        boundary = seen + self.period - seen % self.period
        return min(boundary, _choices(seen, self.n_hidden)[1]) if self.chooses else boundary

    def last_event(self, seen: int) -> int:
        """The last row up to `seen` at which ε was to be chosen."""
        return max(seen - seen % self.period, _choices(seen, self.n_hidden)[0])

    def rows_until_event(self) -> int:
        longest = self.next_event(self.n_seen) - self.n_seen
        if self.keep < 1:
            longest = min(longest, int(2 * log(_LARGEST_FACTOR) / -log(self.keep)))
        return max(1, longest)

    def after_event(self) -> Self:
        """Return the state after a choice of ε, if one is due."""
        if not self.chooses or self.last_event(self.n_seen) != self.n_seen:
            return self
        return self.chosen(units_in_stream(self.backend, self.n_seen))

    # Reading

    def leave_out(self, rows: Rows) -> Array:
        """Predict learned rows, each as if that row alone had not been learned (NumPy)."""
        return self.backend.to_numpy(self.flushed().root.leave_out(rows))

    def spreads_in_order(self, H: Array, Y: Array, weight: Array) -> Array:
        if weight.all() and self.root.basis is None:
            spreads = spreads_in_order(self.root, H, Y, weight, self.growth(weight))
            if spreads is not None:
                return spreads
        return super().spreads_in_order(H, Y, weight)

    def chunk(self, rows: Rows) -> Chunk:
        """Return rows as a chunk: weighted, faded and centred, after the rows learned so far."""
        b = self.backend
        keep = self.keep if self.fades else None
        return Chunk(b, rows, block_length(b, self.n_hidden, self.dtype), self.mean, keep)

    def in_words(self, n_seen: int) -> dict[str, str]:
        base = self._flushed if is_derived(self, "_flushed") else self
        waiting = n_seen - base.n_seen + base.n_pending
        chooses = self.chooses and n_seen >= self.next_event(n_seen - waiting)
        if waiting and (self.fades or chooses):  # ε changes when these are learned
            return {"forgetting": self.forgetting}
        epsilon = max(base.epsilon, base.sums.prior)
        chosen = ", chosen from the rows" if self.chooses else ""
        shown = {"epsilon": f"{epsilon:.4g}{chosen}"} if epsilon else {}
        return shown | {"forgetting": self.forgetting}

    # Single rows by compiled kernels

    def for_kernels(self) -> tuple[Any, ...] | None:
        """Return this state in the form that kernels need; None while few rows have many units."""
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
        root = replace(
            self.root.faded(decay),
            R=learned.R,
            Z=learned.Z,
            loss=learned.loss,
            tally=new.sums.tally,
            mean=new.mean,
        )
        new = with_derived(new, root=root) if self.chooses else new.with_sums(root)
        return new.saw(chunk.energies)

    # Sums over rows

    def unlearn(self, rows: Rows) -> Self:
        """Return the state without some learned rows; a ValueError if that is impossible."""
        return self.without(self.accumulator().learn_now(rows))

    def without(self, sums: RidgeState) -> Self:
        """Return the state without an accumulator's rows; a ValueError if that is impossible."""
        base, theirs = self.flushed(), sums.flushed().on(self.backend)
        if theirs.n_seen > base.n_seen:
            raise ValueError(
                f"got {theirs.n_seen} rows to unlearn, but only {base.n_seen} were learned."
            )
        left = leave(base, theirs, everything=theirs.n_seen == base.n_seen)
        return (
            base.emptied() if left is None else left.chosen().counted(base.n_seen - theirs.n_seen)
        )

    def emptied(self) -> Self:
        """Return the state before any row."""
        epsilon = None if self.chooses else self.epsilon
        tol, intercept = self.sums.tol, self.mean is not None
        start = RidgeState.start(self.shape, epsilon=epsilon, tol=tol, intercept=intercept)
        changes = {"sums": start.sums, "epsilon": start.epsilon, "least": 0.0, "path": None}
        return replace(self, **changes, n_seen=0, pending=())

    def merge(self, other: RidgeState) -> Self:
        """Merge the rows of another state into this one; a ValueError if that is impossible."""
        other.check_learns()
        check_alike(self.sums, other.sums)
        base, other = self.flushed(), other.flushed().on(self.backend)
        merged = merge(base, other)
        if merged is None:
            raise ValueError("other: the two models cannot be merged; a larger epsilon helps.")
        return merged.chosen().counted(base.n_seen + other.n_seen)

    def accumulator(self) -> RowSums:
        """Return an empty value of the same size, which only adds up rows.

        `merge` learns all of them as if they had come in one `fit`, and `without` unlearns them.
        """
        self.check_learns()
        epsilon = None if self.chooses else self.epsilon
        tol, intercept = self.sums.tol, self.mean is not None
        return RowSums.start(self.shape, epsilon=epsilon, tol=tol, intercept=intercept)


class RowSums(RidgeState):
    """Sums over rows without an ε, for a state that learns all of them with `merge`."""

    @classmethod
    def start(cls, shape: Shape, **settings: Any) -> Self:
        """The sums before any row; without a ridge, which is applied when they are read."""
        names = {"tol": settings.get("tol"), "intercept": settings.get("intercept", False)}
        return super().start(shape, epsilon=0.0 if settings["epsilon"] == 0 else None, **names)

    def fits(self, settings: Any) -> bool:
        return True

    def added(self, rows: Rows) -> Self:
        """Add rows to sums whose ε is chosen later.

        By a Gram matrix only if that loses no digits at any ε, zero included.
        """
        b, n_hidden, chunk = self.backend, self.n_hidden, self.chunk(rows)
        base = self if is_few(n_hidden, self.sums.rank + chunk.n) else self.dense()
        sums, few = base.sums, base.count < 2 * n_hidden
        pays = base.chooses and gram_pays(base, chunk.n, 0.0)
        if pays and (few or linalg.gram_is_safe(b, sums.R, base.dtype)):
            with b.few_threads(chunk.n * n_hidden**2):
                new = sums_by_gram(sums, chunk, chunk.n, np.dtype(np.float64))
            if new is not None:
                return base.with_sums(after_chunk(new, chunk))
        return learn(base, chunk)

    def added_by_fit(self, rows: Rows) -> Self:
        return self.added(rows)

    def next_event(self, seen: int) -> int:
        return seen + _NEVER

    def chosen(self, most_units: float | None = None) -> Self:
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


# Learning: the only place that chooses a route. Many rows at once go through the Gram matrix, one
# matrix product and one Cholesky factor, unless its condition number shows that too many digits
# would be lost: they are then read again, and go through a QR factorisation of [R; H], as few rows
# do. Rows that do not span the space yet extend a basis.


def learn(ridge: Any, chunk: Chunk, *, decay: float = 1.0, most_units: float | None = None) -> Any:
    """R'R ← decay·R'R + H'H and R'Z ← decay·R'Z + H'Y, over all rows of a chunk.

    Parameters
    ----------
    ridge : RidgeState
    chunk : Chunk
    decay : float
        What is left of the weight of all rows before.
    most_units : float, optional
        To choose ε after the chunk, among the whole grid up to so many units.
    """
    if chunk.n == 0:
        return ridge
    b, n_hidden = ridge.backend, ridge.n_hidden
    chunk.tally(ridge.sums.tally)  # before all rows are read, since it may read the first
    few = is_few(n_hidden, ridge.sums.rank + chunk.n)
    if ridge.sums.basis is not None and ridge.sums.rank and not few:
        ridge = ridge.dense()
    pays = gram_pays(ridge, chunk.n, most_units)
    if pays:
        with b.few_threads(chunk.n * n_hidden**2):
            new = learned_by_gram(ridge, chunk, decay, most_units)
        if new is not None:
            return new
    if ridge.chooses and not few:
        ridge = ridge.dense()
    # A root at ε that is there already follows, if that costs less than to make it again.
    follow = ridge.chooses and not pays and most_units is None and is_derived(ridge, "root")
    faded = ridge.faded(decay)
    sums, root = faded.sums, faded.root if follow else None
    for H, Y in chunk():
        sums = learn_rows(sums, H, Y, few=few)
        root = root and learn_rows(root, H, Y, few=few)
    new = faded.with_sums(sums)
    new = with_derived(new, root=root) if follow else new
    new = new.noted(chunk.tally(ridge.sums.tally), chunk.after, decay)
    return new if most_units is None else new.chosen(most_units)


def innovate(sums: Sums, H: Array, Y: Array, factor: Array) -> tuple[Sums, Array]:
    """Learn a few rows multiplied by their factors; the error of each before it was learned.

    Rows with a factor of zero are only predicted. `factor` is NumPy's.
    """
    b, (n, n_hidden) = sums.backend, H.shape
    few = is_few(n_hidden, sums.rank + n)
    sums = sums if few else dense(sums, singular=False)
    errors, counts = b.xp.empty_like(Y), factor > 0
    cuts = [0, *(np.flatnonzero(counts[1:] != counts[:-1]) + 1).tolist(), n]
    for start, stop in pairwise(cuts):
        h, y = H[start:stop, :], Y[start:stop, :]
        if counts[start]:
            f = b.asarray(factor[start:stop, None], sums.dtype)
            sums, innovations = innovate_rows(sums, f * h, f * y, few=few)
            errors[start:stop, :] = innovations / f
        else:
            errors[start:stop, :] = y - b.matmul(h, sums.weights)
    return sums, errors
