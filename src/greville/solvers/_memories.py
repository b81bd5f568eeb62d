"""Several memories at once: what ``alpha="auto"`` keeps, mixed by their recent errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..backend import Array, Backend
from ..fields import Fields, array, each, finite, instance_of, require, stored
from ..mixture import Mixture, mix
from ._derived import replace
from ._forgetting import MEMORIES, FadingState
from ._rows import Rows
from ._state import Shape, State

# Rows that all memories record one after the other, before their predictions are mixed.
_ROWS_AT_ONCE = 2048

# Errors count less by this factor with every row: about twenty of them matter.
_MEMORY_ERROR_DECAY = 0.95

# How many times more likely a longer memory is taken to be than the next shorter one. So a shorter
# one is preferred when its recent errors are smaller; after a surprise, when all have been wrong,
# it is the longest, which moves least.
_LONGER_IS_LIKELIER = 100.0

# Memories with a smaller weight than this are left out of standard deviations.
_NEGLIGIBLE = 1e-6


def _to_fields(state: MemoriesState) -> Fields:
    """The prior and the decay of the mixture are constants."""
    mixture = state.mixture
    fields = {"squares": mixture.squares, "count": mixture.count}
    return fields | {"members": state.members, "n_seen": state.n_seen}


def _from_fields(cls: type[MemoriesState], stored: Fields) -> MemoriesState:
    squares, members = stored["squares"], stored["members"]
    start = _new_mixture(squares.shape[1])
    mixture = replace(start, squares=squares, count=stored["count"])
    return cls(members=members, mixture=mixture, n_seen=stored["n_seen"])


def _check_memories(state: MemoriesState) -> None:
    require(state.members, "the mixture has no states")
    sizes = {(m.n_hidden, m.n_outputs, m.dtype) for m in state.members}
    require(len(sizes) == 1, "the states of the mixture do not agree")
    alphas = tuple(member.alpha for member in state.members)
    require(alphas == MEMORIES, "the mixture has other memories")
    squares = state.mixture.squares
    fits = squares.shape == (len(MEMORIES), state.n_outputs) and squares.dtype == np.float64
    fits = fits and bool((squares >= 0).all()) and state.mixture.count >= 0
    require(fits, "the errors of the mixture do not fit it")


def _new_mixture(n_outputs: int) -> Mixture:
    log_prior = -np.log(_LONGER_IS_LIKELIER) * np.arange(len(MEMORIES))
    return Mixture.start(log_prior, n_outputs, _MEMORY_ERROR_DECAY)


@stored(
    parameters={
        "members": each(instance_of(FadingState), tuple),
        "squares": array(2),
        "count": finite,
        "n_seen": finite,
    },
    check=_check_memories,
    to_fields=_to_fields,
    from_fields=_from_fields,
)
@dataclass(frozen=True, eq=False, kw_only=True)
class MemoriesState(State):
    """A state for each memory, and the weights of their predictions by recent errors."""

    members: tuple[FadingState, ...]
    mixture: Mixture

    @classmethod
    def start(cls, shape: Shape, *, alpha: Any, **settings: Any) -> Self:
        """The state before any row; alpha is "auto"."""
        members = tuple(FadingState.start(shape, alpha=each, **settings) for each in MEMORIES)
        return cls(members=members, mixture=_new_mixture(shape.n_outputs))

    shape = property(lambda self: self.members[0].shape)
    root = property(lambda self: self.members[self.best].root)

    @property
    def best(self) -> int:
        """The memory with the largest weight."""
        return int(self.mixture.weights().argmax())

    def _each(self, change: Any) -> Self:
        """The state with all members changed."""
        base = self.flushed()
        return replace(base, members=tuple(map(change, base.members)))

    def compact(self) -> Self:
        return self._each(lambda member: member.compact())

    def on(self, b: Backend) -> Self:
        """Move the memories to another backend, with no row pending."""
        return self._each(lambda member: member.on(b))

    def fits(self, settings: Any) -> bool:
        auto = isinstance(settings["alpha"], str)
        return auto and all(m.fits({**settings, "alpha": m.alpha}) for m in self.members)

    def innovated(self, H: Array, Y: Array, weight: Array) -> tuple[Self, Array]:
        b, rows = self.shape.backend, Rows.of(H, Y, weight)
        runs = [member.record(rows) for member in self.members]
        errors = np.stack([b.to_numpy(Y - predicted) for _, [predicted] in runs])
        mixture, weights = self.mixture.update_many(errors, weight)
        new = replace(self, members=tuple(member for member, _ in runs), mixture=mixture)
        return new, b.asarray(mix(weights[:-1], errors))

    def record_rows(self) -> int:
        return _ROWS_AT_ONCE  # which the members cut as they need it

    def in_words(self, n_seen: int) -> dict[str, str]:
        return {"forgetting": "chosen by recent errors (alpha='auto')"}

    def rows_until_event(self) -> int:
        return min(member.rows_until_event() for member in self.members)

    def for_kernels(self) -> tuple[Any, ...] | None:
        kernels = [member.for_kernels() for member in self.members]
        return None if None in kernels else tuple(member for (member,) in kernels)  # type: ignore[misc]

    def rejoined(self, members: list[Any], mixture: Any) -> Self:
        return replace(self, members=tuple(members), mixture=mixture)

    def after_event(self) -> Self:
        members = (member.counted(self.n_seen).after_event() for member in self.members)
        return replace(self, members=tuple(members))

    def with_outputs(self, n_outputs: int, old: Array) -> Self:
        """Return memories with more outputs, zero so far, the present ones at the indices `old`."""
        new = self._each(lambda member: member.with_outputs(n_outputs, old))
        return replace(new, mixture=new.mixture.with_outputs(n_outputs, old))

    def with_units(self, n_hidden: int, old: Array) -> Self:
        """Return memories with more units, zero so far, the present ones at ascending `old`."""
        return self._each(lambda member: member.with_units(n_hidden, old))

    # Sums over rows: those of the memory of all rows, from which the others begin anew

    def accumulator(self) -> Any:
        """Return an empty value that adds up rows, for `merge` and `without`."""
        return self.members[0].accumulator()

    def unlearn(self, rows: Rows) -> Self:
        """Return the state without some learned rows; a ValueError if that is impossible."""
        return self.without(self.accumulator().learn_now(rows))

    def without(self, sums: Any) -> Self:
        """Return the state without an accumulator's rows; a ValueError if that is impossible."""
        return self._anew(self.flushed().members[0].without(sums))

    def merge(self, other: Any) -> Self:
        """Merge the rows of another state into this one; a ValueError if that is impossible."""
        theirs = other.flushed().members[0] if isinstance(other, MemoriesState) else other
        return self._anew(self.flushed().members[0].merge(theirs))

    def emptied(self) -> Self:
        """Return the memories before any row."""
        return self._anew(self.members[0].emptied())

    def _anew(self, longest: FadingState) -> Self:
        """Replace the memory of all rows, and begin the shorter ones from it."""
        shorter = [longest.remembering(alpha) for alpha in MEMORIES[1:]]
        mixture = _new_mixture(self.n_outputs)
        new = replace(self, members=(longest, *shorter), mixture=mixture)
        return new.counted(longest.n_seen)

    @property
    def solution(self) -> Array:
        parts = zip(self.mixture.weights(), self.members, strict=True)
        return sum(member.root.solution * float(p) for p, member in parts)

    def spread(self, H: Array) -> Array:
        base = self.flushed()
        H = base.shape.backend.asarray(H)
        parts = zip(base.mixture.weights(), base.members, strict=True)
        variance = sum(
            p * member.root.deviations(H).astype(np.float64) ** 2
            for p, member in parts
            if p > _NEGLIGIBLE
        )
        return np.sqrt(variance).astype(base.dtype)
