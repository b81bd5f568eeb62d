"""Forgetting: rows count less the older they are, and a floor keeps the root bounded."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Annotated, Any, Self

import numpy as np

from ..backend import Array
from ..fields import choice, finite, flag, nothing, require
from ..validation import check_squares, warn
from ._derived import replace, stored_value
from ._ridge import RidgeState
from ._state import Shape

# floor="auto", squared, as a part of the mean square activation. A larger one hides more of what
# the data say, a smaller one lets predictions overshoot more after a change; docs/forgetting.md
# shows both.
_AUTO_FLOOR = {"d": 1e-9, "f": 1e-6}

# The part of the floor that pulls the weights to zero; the rest holds them where they are. Without
# it, what directions that no row excites took up in a change would stay there for ever.
_LEAK = 0.1

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


@stored_value(_check_fading)
@dataclass(frozen=True, eq=False, kw_only=True)
class FadingState(RidgeState):
    """State of exponentially weighted recursive least squares, with the size of activations.

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

    rules = ("alpha", "floor", "given")
    fades = True

    @classmethod
    def start(cls, shape: Shape, *, epsilon: float | None, **settings: Any) -> Self:
        """The state before any row; without an ε it is chosen."""
        if epsilon is not None:
            check_squares("epsilon", epsilon, shape.dtype)
            if not isinstance(settings["floor"], str):
                check_squares("floor", settings["floor"] or 0.0, shape.dtype)
            epsilon = float(epsilon / np.sqrt(settings["alpha"]))
        return super().start(shape, epsilon=epsilon, **settings)

    def remembering(self, alpha: float) -> Self:
        """Return roughly the state that a shorter memory of the same rows would have.

        All rows, counting as much together as those that such a memory holds.
        """
        decay = min(1.0, 1.0 / ((alpha - 1.0) * max(self.count, 1.0)))
        new = replace(self.flushed(), alpha=alpha)
        new = replace(new, energy=decay * self.energy, excited=decay * self.excited)
        return new.faded(decay)

    # Learning

    def at_epsilon(self) -> Self:
        """Return a state that has the root at ε as its sums, chooses none, and has no floor."""
        return replace(super().at_epsilon(), floor=0.0, warned=True)

    def saw(self, energies: Array) -> Self:
        """Return the state after rows with squared lengths |a|²; derived values stay."""
        energies = energies[energies > 0]
        counts = self.keep ** np.arange(len(energies) - 1, -1, -1.0)
        faded, new = self.keep ** len(energies), self.counted(self.n_seen, self.pending)
        energy = faded * self.energy + float(counts @ energies)
        vars(new).update(energy=energy, excited=faded * self.excited + float(counts.sum()))
        return new

    @property
    def keep(self) -> float:
        """Forgetting factor: the share of a row's weight that stays after the next row."""
        return 2.0 - self.alpha

    @property
    def forgetting(self) -> str:
        """Describe what becomes of old rows."""
        if self.keep == 1:
            return super().forgetting
        half = log(0.5) / log(self.keep)
        return f"a row counts half as much after {half:,.0f} others (alpha={self.alpha:g})"

    def for_kernels(self) -> tuple[Any, ...] | None:
        if self.keep < 1 and not self._has_floor:  # it has to be watched
            return None
        return super().for_kernels()

    # The floor

    @property
    def _has_floor(self) -> bool:
        """Whether a floor is added; an ε that is chosen takes its place."""
        return self.chooses or (self.keep < 1 and self.floor is not None and self.floor != 0)

    @property
    def period(self) -> int:
        """The rows between two additions of the floor, or choices of ε, in half-lives of rows.

        A floor is added after one, and ε chosen after four. More of them in large layers, where
        that costs as much as many rows, up to ten.
        """
        if self.keep == 1 or not self._has_floor:
            return super().period
        of_floor, of_choice = _HALF_LIVES
        half = log(2) / -log(self.keep)
        least = half * (of_choice if self.chooses else of_floor)
        return max(1, int(min(max(self.n_hidden / 2, least), _MOST_HALF_LIVES * half)))

    def after_event(self) -> Self:
        """The state with the floor added or ε chosen, if due; a warning if directions are lost."""
        if not self._has_floor:
            return self._watched()
        if self.chooses:
            return super().after_event()
        if self.n_seen % self.period:
            return self
        floor = (1 - self.keep**self.period) * self._floor_squared
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
