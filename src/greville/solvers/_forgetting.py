"""Forgetting: rows count less the older they are, and a floor keeps the root bounded."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Annotated, Any, Self

import numpy as np

from ..backend import Array
from ..fields import choice, finite, flag, nothing, require, stored
from ..validation import check_squares, warn
from ._derived import replace
from ._evidence import choice_in_stream
from ._in_place import Learned
from ._mean import Chunk
from ._ridge import RidgeState, innovate, last_choice, learn, next_choice
from ._rows import Counts, Rows, block_length
from ._state import Shape

# floor="auto", squared, as a part of the mean square activation. A larger one hides more of what
# the data say, a smaller one lets predictions overshoot more after a change; docs/forgetting.md
# shows both.
_AUTO_FLOOR = {"d": 1e-9, "f": 1e-6}

# The part of the floor that pulls the weights to zero; the rest holds them where they are. Without
# it, what directions that no row excites took up in a change would stay there for ever.
_LEAK = 0.1

# The factor by which rows of one prequential block may outgrow each other: (2 - alpha)^(-rows / 2).
_LARGEST_FACTOR = 1e3

# The values of alpha that alpha="auto" tries: no forgetting, and a memory of 330 rows. With a third
# one, of 33 rows, errors on streams without memory were the same to 1 %, at one and a half times
# the time.
MEMORIES = (1.0, 1.003)

# Half-lives of rows between two additions of the floor, and between two choices of ε, in which it
# fades as they do. With a choice after every half-life, after four and after ten, the errors of
# eight streams were the same to 0.4 %.
_HALF_LIVES = 1, 4
_MOST_HALF_LIVES = 10


def _check_fading(state: FadingState) -> None:
    require(min(state.energy, state.excited) >= 0, "a state that fades has a negative size")


@stored(derived=("pending",), check=_check_fading)
@dataclass(frozen=True, eq=False, kw_only=True)
class FadingState(RidgeState):
    """Exponentially weighted recursive least squares, and how large activations are.

    Attributes
    ----------
    alpha : the forgetting factor is 2 - alpha
    floor : the size of the prior that is not forgotten, "auto" or None
    given : the ε before any row; zero where it is chosen
    energy : the sum of |a|² of the rows that had any, a row k such rows ago counting (2 - alpha)^k
    excited : the number of such rows, counted likewise
    warned : whether a warning was given that directions were forgotten
    """

    alpha: Annotated[float, finite]
    floor: Annotated[float | str | None, nothing | choice("auto") | finite]
    given: Annotated[float, finite]
    energy: Annotated[float, finite] = 0.0
    excited: Annotated[float, finite] = 0.0
    warned: Annotated[bool, flag] = False

    @classmethod
    def start(cls, shape: Shape, *, epsilon: float | None, **settings: Any) -> Self:
        """The state before any row; without an ε it is chosen."""
        given, floor = epsilon or 0.0, settings["floor"]
        if epsilon is not None:
            check_squares("epsilon", epsilon, shape.dtype)
            if not isinstance(floor, str):
                check_squares("floor", floor or 0.0, shape.dtype)
            epsilon = float(epsilon / np.sqrt(settings["alpha"]))
        return super().start(shape, epsilon=epsilon, given=given, **settings)

    def continued(self, settings: Any) -> Self:
        if isinstance(settings["alpha"], str):
            raise ValueError(cannot_change_alpha("auto"))
        epsilon, intercept = settings["epsilon"], settings["intercept"]
        if (epsilon is None) != self.chooses:
            raise ValueError(
                f"epsilon={'auto' if epsilon is None else epsilon!r}: a model that has started "
                "with a given epsilon cannot go on with 'auto', nor the other way round; call fit "
                "to start again."
            )
        if intercept != (self.mean is not None):
            raise ValueError(
                f"intercept={intercept}: a model that has started cannot change between with and "
                "without intercept; call fit to start again."
            )
        rules = {"alpha": settings["alpha"], "floor": settings["floor"], "given": epsilon or 0.0}
        same = (self.alpha, self.floor, self.given) == tuple(rules.values())
        return self if same else replace(self.flushed(), **rules)

    def remembering(self, alpha: float) -> Self:
        """What this state, which forgets nothing, would know with a shorter memory, roughly.

        All rows, counting as much together as those that such a memory holds.
        """
        decay = min(1.0, 1.0 / ((alpha - 1.0) * max(self.count, 1.0)))
        new = replace(self.flushed(), alpha=alpha)
        new = replace(new, energy=decay * self.energy, excited=decay * self.excited)
        return new.faded(decay)

    # Learning

    def added(self, rows: Rows) -> Self:
        state, stop, first = self, 0, self.n_seen
        while stop < rows.n:
            start, stop = stop, rows.n
            if self.chooses:  # the sums do not depend on choices before the last
                last = self._last_due(first + rows.n) - first
                stop = last if start < last else rows.n
            elif self._has_floor:
                stop = min(stop, self._due(first + start) - first)
            chunk = state.chunk(rows.part(start, stop))
            state = learn(state, chunk, decay=self.keep**chunk.n)._saw(chunk.energies)
            state = state.counted(first + stop).after_event()
        return state

    def added_by_fit(self, rows: Rows) -> Self:
        return self.added(rows)

    def innovated(self, H: Array, Y: Array, weight: Array) -> tuple[Self, Array]:
        # Rows growing by the inverse of what old ones lose, and all of it scaled down at the end.
        b, n, rows = self.backend, len(weight), Rows.of(H, Y, weight)
        decay, energies = self.keep**n, b.row_squares(H) * weight
        factor, mean = self.growth(weight), self.mean
        if mean is not None:
            H, Y, factor, _, _, mean = mean.follow(b, H, Y, factor**2)
            mean = mean.faded(decay)
        state, errors = innovate(self, H, Y, factor)
        counts = self.keep ** np.arange(n - 1, -1, -1.0)
        tally = Counts.of(weight, counts).with_rows(b, rows, self.different)
        state = state.faded(decay).noted(tally, mean, decay)._saw(energies)
        return state.counted(self.n_seen + n).after_event(), errors

    def _saw(self, energies: Array) -> Self:
        """The state after rows with these |a|²; what is computed from it stays."""
        energies = energies[energies > 0]
        counts = self.keep ** np.arange(len(energies) - 1, -1, -1.0)
        faded, new = self.keep ** len(energies), self.counted(self.n_seen, self.pending)
        energy = faded * self.energy + float(counts @ energies)
        vars(new).update(energy=energy, excited=faded * self.excited + float(counts.sum()))
        return new

    def growth(self, weight: Array) -> Array:
        return np.sqrt(weight / self.keep ** np.arange(1.0, len(weight) + 1))

    @property
    def keep(self) -> float:
        """What is left of a row's weight after the next: the forgetting factor."""
        return 2.0 - self.alpha

    def rows_until_event(self) -> int:
        longest = 1 << 30
        if self.keep < 1:
            longest = int(2 * log(_LARGEST_FACTOR) / -log(self.keep))
        if self._has_floor:
            longest = min(longest, self._due(self.n_seen) - self.n_seen)
        return max(1, longest)

    def for_kernels(self) -> tuple[Any, ...] | None:
        if self.keep < 1 and not self._has_floor:  # it has to be watched
            return None
        return super().for_kernels()

    def with_learned(self, learned: Learned) -> Self:
        H, _ = learned.rows.make(0, learned.n)
        return super().with_learned(learned)._saw(self.backend.row_squares(H))

    def chunk(self, rows: Rows) -> Chunk:
        b = self.backend
        return Chunk(b, rows, block_length(b, self.n_hidden, self.dtype), self.mean, self.keep)

    # The floor

    @property
    def _has_floor(self) -> bool:
        """Whether a floor is added; an ε that is chosen takes its place."""
        return self.chooses or (self.keep < 1 and self.floor is not None and self.floor != 0)

    @property
    def _period(self) -> int:
        """The rows between two additions of the floor, or choices of ε, in half-lives of rows.

        A floor is added after one, and ε chosen after four. More of them in large layers, where
        that costs as much as many rows, up to ten.
        """
        if self.keep == 1:
            return 1 << 62
        of_floor, of_choice = _HALF_LIVES
        half = log(2) / -log(self.keep)
        least = half * (of_choice if self.chooses else of_floor)
        return max(1, int(min(max(self.n_hidden / 2, least), _MOST_HALF_LIVES * half)))

    def _due(self, seen: int) -> int:
        """The next row at which the floor is added, or ε chosen.

        ε is chosen once in a period and, as long as there are few rows, when `Opium` chooses.
        """
        due = seen + self._period - seen % self._period
        return min(due, next_choice(seen, self.n_hidden)) if self.chooses else due

    def _last_due(self, seen: int) -> int:
        """The last row up to `seen` at which ε was to be chosen."""
        return max(seen - seen % self._period, last_choice(seen, self.n_hidden))

    def after_event(self) -> Self:
        """The state with the floor added or ε chosen, if due; a warning if directions are lost."""
        if not self._has_floor:
            return self._watched()
        if self.chooses:
            due = self._last_due(self.n_seen) == self.n_seen
            return self.chosen(choice_in_stream(self.backend, self.n_seen)) if due else self
        if self.n_seen % self._period:
            return self
        floor = (1 - self.keep**self._period) * self._floor_squared
        return self.with_sums(self.sums.regularised(floor, 1 - _LEAK))

    @property
    def _floor_squared(self) -> float:
        if not isinstance(self.floor, str):
            return float(self.floor or 0.0) ** 2
        if self.excited == 0:
            return self.given**2  # nothing to measure by: as in the beginning
        return _AUTO_FLOOR[self.dtype.char] * self.energy / (self.excited * self.n_hidden)

    def _watched(self) -> Self:
        root = self.root
        if self.keep == 1 or not root.rank:
            return self
        b = root.backend
        pivots = np.abs(b.to_numpy(b.xp.linalg.diagonal(root.R)))
        if root.basis is not None and self.given > 0:  # what no row has reached
            pivots = np.append(pivots, root.prior)
        limits = np.finfo(root.dtype)
        if pivots.min() < limits.tiny:
            raise FloatingPointError(
                "Without a floor, forgetting has gone on until the weight of directions that no "
                "row excites underflowed; pass floor='auto', or a smaller alpha."
            )
        if self.warned or not pivots.min() < limits.eps * pivots.max():
            return self
        warn(
            "Without a floor, directions that no row has excited for long now count less "
            "than rounding; predictions may jump when they are excited again. Pass "
            "floor='auto' to prevent it."
        )
        return replace(self, warned=True)


def cannot_change_alpha(alpha: Any) -> str:
    """The message for a model that goes on with another kind of alpha."""
    return (
        f"alpha={alpha!r}: a model that has started with a fixed alpha cannot go on "
        "with 'auto', nor the other way round; call fit to start again."
    )
