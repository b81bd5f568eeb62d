"""Forgetting: rows count less the older they are, and a floor keeps the root bounded."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Annotated, Any

import numpy as np

from ..backend import Array, Backend
from ..fields import finite, flag, known, stored
from ..validation import check_squares, warn
from ._checks import check_fading
from ._derived import Value, replace
from ._evidence import choice_in_stream
from ._exact import chunk_of, for_kernels, joined, last_choice, member_of, next_choice
from ._in_place import Filling, Learned
from ._ridge import Ridge, choose, innovate, learn
from ._rows import Counts, Rows
from .protocol import Algorithm, Shape
from .sums import Sums, spreads_in_order

# floor="auto", squared, as a part of the mean square activation. A larger one hides more of what
# the data say, a smaller one lets predictions overshoot more after a change; docs/forgetting.md
# shows both.
_AUTO_FLOOR = {"d": 1e-9, "f": 1e-6}

# The part of the floor that pulls the weights to zero; the rest holds them where they are. Without
# it, what directions that no row excites took up in a change would stay there for ever.
_LEAK = 0.1

# The factor by which rows of one prequential block may outgrow each other: (2 - alpha)^(-rows / 2).
_LARGEST_FACTOR = 1e3

# The values of alpha that alpha="auto" tries: no forgetting, and memories of 330 and 33 rows.
MEMORIES = (1.0, 1.003, 1.03)

# Memories of fewer rows than a twentieth of the units are left out: so few rows determine little,
# and cost as much as many.
_MOST_UNITS_PER_ROW = 20.0

# Half-lives of rows between two additions of the floor, and between two choices of ε, in which it
# fades as they do. With a choice after every half-life, after four and after ten, the errors of
# eight streams were the same to 0.4 %.
_HALF_LIVES = 1, 4
_HALF_LIVES_OF_MEMBER = 1, 10
_MOST_HALF_LIVES = 10

# More rows than there will be.
_NEVER = 1 << 62


def memories_for(n_hidden: int) -> tuple[float, ...]:
    """The values of alpha that are tried with so many units."""
    long = [alpha for alpha in MEMORIES if (alpha - 1) * n_hidden <= _MOST_UNITS_PER_ROW]
    return tuple(long)


@stored(check=check_fading)
@dataclass(frozen=True, eq=False)
class Fading(Value):
    """A root whose rows fade, and how large activations are, from the rows that had any.

    Attributes
    ----------
    ridge : Ridge
    energy : the sum of |a|², a row k such rows ago counting (2 - alpha)^k
    excited : the number of such rows, counted likewise
    warned : whether a warning was given that directions were forgotten
    """

    ridge: Annotated[Ridge, known(Ridge)]
    energy: Annotated[float, finite] = 0.0
    excited: Annotated[float, finite] = 0.0
    warned: Annotated[bool, flag] = False

    def saw(self, energies: Array, keep: float) -> Fading:
        """The state after rows with these |a|²."""
        energies = energies[energies > 0]
        counts = keep ** np.arange(len(energies) - 1, -1, -1.0)
        faded = keep ** len(energies)
        return replace(
            self,
            energy=faded * self.energy + float(counts @ energies),
            excited=faded * self.excited + float(counts.sum()),
        )

    def compact(self) -> Fading:
        """The same without what can be computed from it."""
        return replace(self, ridge=self.ridge.compact())

    def on(self, b: Backend) -> Fading:
        """The same on another backend."""
        return replace(self, ridge=self.ridge.on(b))


@dataclass(frozen=True)
class ForgettingAlgorithm(Algorithm):
    """Exponentially weighted recursive least squares.

    Attributes
    ----------
    alpha : the forgetting factor is 2 - alpha
    epsilon : the prior, or None where it is chosen
    floor : the size of the prior that is not forgotten, "auto" or None
    intercept : whether a constant is added, from means that fade as the rows do
    is_member : whether it is one of several memories
    """

    alpha: float
    epsilon: float | None
    floor: float | str | None
    intercept: bool = False
    is_member: bool = False

    def start(self, shape: Shape) -> Fading:
        size = (shape.backend, shape.n_hidden, shape.n_outputs, shape.dtype)
        prior = None
        if self.epsilon is not None:
            check_squares("epsilon", self.epsilon, shape.dtype)
            if not isinstance(self.floor, str):
                check_squares("floor", self.floor or 0.0, shape.dtype)
            prior = float(self.epsilon / np.sqrt(self.alpha))
        return Fading(Ridge.start(*size, prior, intercept=self.intercept))

    # Learning

    def learn(self, shape: Shape, state: Fading, rows: Rows, seen: int) -> Fading:
        stop = 0
        while stop < rows.n:
            start, stop = stop, rows.n
            if self.epsilon is None:  # the sums do not depend on choices before the last
                last = self._last_due(shape, seen + rows.n) - seen
                stop = last if start < last else rows.n
            elif self._has_floor:
                stop = min(stop, self._due(shape, seen + start) - seen)
            chunk = chunk_of(shape, rows.part(start, stop), state.ridge.mean, self.keep)
            ridge = learn(state.ridge, chunk, decay=self.keep**chunk.n)
            state = replace(state, ridge=ridge).saw(chunk.energies, self.keep)
            state = self._bounded(shape, state, seen + stop)
        return state

    def innovate(
        self, shape: Shape, state: Fading, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Fading, Array]:
        # Rows growing by the inverse of what old ones lose, and all of it scaled down at the end.
        n, decay, rows = len(weight), self.keep ** len(weight), Rows.of(H, Y, weight)
        energies = shape.backend.row_squares(H) * weight
        factor, mean = self._growth(weight), state.ridge.mean
        if mean is not None:
            H, Y, factor, _, _, mean = mean.follow(shape.backend, H, Y, factor**2)
            mean = mean.faded(decay)
        ridge, errors = innovate(state.ridge, H, Y, factor)
        counts = self.keep ** np.arange(n - 1, -1, -1.0)
        tally = Counts.of(weight, counts).with_rows(shape.backend, rows, ridge.sums.different)
        ridge = ridge.faded(decay).noted(tally, mean, decay)
        state = replace(state, ridge=ridge).saw(energies, self.keep)
        return self._bounded(shape, state, seen + n), errors

    def _growth(self, weight: Array) -> Array:
        """What to multiply the next rows by if nothing fades meanwhile."""
        return np.sqrt(weight / self.keep ** np.arange(1.0, len(weight) + 1))

    @property
    def keep(self) -> float:
        """What is left of a row's weight after the next: the forgetting factor."""
        return 2.0 - self.alpha

    def rows_until_next_event(self, shape: Shape, seen: int) -> int:
        longest = super().rows_until_next_event(shape, seen)
        if self.keep < 1:
            longest = min(longest, int(2 * log(_LARGEST_FACTOR) / -log(self.keep)))
        if self._has_floor:
            longest = min(longest, self._due(shape, seen) - seen)
        return max(1, longest)

    def filling(self, shape: Shape, state: Fading, seen: int) -> Filling | None:
        if self.keep < 1 and not self._has_floor:  # it has to be watched
            return None
        limit = self._due(shape, seen) - seen if self._has_floor else 1 << 30
        before = for_kernels(state.ridge)
        fading = {"keep": self.keep, "energy": state.energy, "excited": state.excited}

        def join(learned: Learned) -> Fading:
            ridge = joined(before, learned, self.keep)
            return replace(state, ridge=ridge, energy=learned.energy, excited=learned.excited)

        return Filling((replace(member_of(self, before, **fading), join=join),), limit)

    def with_due(self, shape: Shape, state: Fading, seen: int) -> Fading:
        return self._bounded(shape, state, seen)

    def with_outputs(self, shape: Shape, state: Fading, n_outputs: int, old: Array) -> Fading:
        return replace(state, ridge=state.ridge.with_outputs(n_outputs, old))

    def with_units(self, shape: Shape, state: Fading, n_hidden: int, old: Array) -> Fading:
        return replace(state, ridge=state.ridge.with_units(n_hidden, old))

    # The floor

    @property
    def _has_floor(self) -> bool:
        if self.epsilon is None:
            return True  # the ε that is chosen takes its place
        return self.keep < 1 and self.floor is not None and self.floor != 0

    def _period(self, shape: Shape) -> int:
        """The rows between two additions of the floor, or choices of ε, in half-lives of rows.

        A floor is added after one, and ε chosen after four. More of them in large layers, where
        that costs as much as many rows, up to ten. Of several memories it is due at the same rows,
        and less often.
        """
        if self.keep == 1:
            return _NEVER
        wanted = self._wanted_period(shape, self.keep)
        fastest = 2 - memories_for(shape.n_hidden)[-1]
        if self.is_member and fastest < 1:
            shortest = self._wanted_period(shape, fastest)
            return int(shortest * max(1, round(wanted / shortest)))
        return wanted

    def _wanted_period(self, shape: Shape, keep: float) -> int:
        of_floor, of_choice = _HALF_LIVES_OF_MEMBER if self.is_member else _HALF_LIVES
        half = log(2) / -log(keep)
        least = half * (of_choice if self.epsilon is None else of_floor)
        return max(1, int(min(max(shape.n_hidden / 2, least), _MOST_HALF_LIVES * half)))

    def _due(self, shape: Shape, seen: int) -> int:
        """The next row at which the floor is added, or ε chosen.

        ε is chosen once in a period and, as long as there are few rows, when `Opium` chooses.
        """
        period = self._period(shape)
        due = seen + period - seen % period
        return due if self.epsilon is not None else min(due, next_choice(seen, shape.n_hidden))

    def _last_due(self, shape: Shape, seen: int) -> int:
        """The last row up to `seen` at which ε was to be chosen."""
        return max(seen - seen % self._period(shape), last_choice(seen, shape.n_hidden))

    def _bounded(self, shape: Shape, state: Fading, seen: int) -> Fading:
        """The state with the floor added or ε chosen, if due; a warning if directions are lost."""
        ridge = state.ridge
        if not self._has_floor:
            return self._watched(state)
        if ridge.chooses:
            if self._last_due(shape, seen) != seen:
                return state
            choice = choice_in_stream(shape.backend, seen)
            return replace(state, ridge=choose(ridge, choice))
        if seen % self._period(shape):
            return state
        floor = (1 - self.keep ** self._period(shape)) * self._floor_squared(shape, state)
        return replace(state, ridge=ridge.with_sums(ridge.sums.regularised(floor, 1 - _LEAK)))

    def _floor_squared(self, shape: Shape, state: Fading) -> float:
        if not isinstance(self.floor, str):
            return float(self.floor or 0.0) ** 2
        if state.excited == 0:
            return float(self.epsilon or 0.0) ** 2  # nothing to measure by: as in the beginning
        mean_square = state.energy / (state.excited * shape.n_hidden)
        return _AUTO_FLOOR[shape.dtype.char] * mean_square

    def _watched(self, state: Fading) -> Fading:
        root = state.ridge.root
        if self.keep == 1 or not root.rank:
            return state
        b = root.backend
        pivots = np.abs(b.to_numpy(b.xp.linalg.diagonal(root.R)))
        if root.basis is not None and float(self.epsilon or 0.0) > 0:  # what no row has reached
            pivots = np.append(pivots, root.prior)
        limits = np.finfo(root.dtype)
        if pivots.min() < limits.tiny:
            raise FloatingPointError(
                "Without a floor, forgetting has gone on until the weight of directions that no "
                "row excites underflowed; pass floor='auto', or a smaller alpha."
            )
        if state.warned or not pivots.min() < limits.eps * pivots.max():
            return state
        warn(
            "Without a floor, directions that no row has excited for long now count less "
            "than rounding; predictions may jump when they are excited again. Pass "
            "floor='auto' to prevent it."
        )
        return replace(state, warned=True)

    # Reading

    def weights(self, state: Fading) -> Array:
        return state.ridge.root.solution

    def root(self, state: Fading) -> Sums:
        return state.ridge.root

    def spreads_in_order(
        self, shape: Shape, state: Fading, H: Array, Y: Array, weight: Array, seen: int
    ) -> Array:
        root, growth = state.ridge.root, self._growth(weight)
        if growth.all() and root.basis is None:
            spreads = spreads_in_order(root, H, Y, weight, growth)
            if spreads is not None:
                return spreads
        return super().spreads_in_order(shape, state, H, Y, weight, seen)

    def check_continues(self, started: Algorithm) -> None:
        if not isinstance(started, ForgettingAlgorithm):
            raise ValueError(cannot_change_alpha(self.alpha))
        check_same_kind(self, started)


def check_same_kind(new: Any, old: Any) -> None:
    """Raise a ValueError if ε is given in one and chosen in the other, or one has an intercept."""
    if (new.epsilon is None) != (old.epsilon is None):
        epsilon = "auto" if new.epsilon is None else new.epsilon
        raise ValueError(
            f"epsilon={epsilon!r}: a model that has started with a given epsilon cannot "
            "go on with 'auto', nor the other way round; call fit to start again."
        )
    if new.intercept != old.intercept:
        raise ValueError(
            f"intercept={new.intercept}: a model that has started cannot change between with and "
            "without intercept; call fit to start again."
        )


def cannot_change_alpha(alpha: Any) -> str:
    """The message for a model that goes on with another kind of alpha."""
    return (
        f"alpha={alpha!r}: a model that has started with a fixed alpha cannot go on "
        "with 'auto', nor the other way round; call fit to start again."
    )
