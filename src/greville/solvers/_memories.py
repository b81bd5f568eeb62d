"""Several memories at once: what ``alpha="auto"`` keeps, mixed by their recent errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backend import Array, Backend
from ..fields import Fields, array, each, finite, known, stored
from ..mixture import Mixture, mix
from ._checks import check_memories
from ._derived import replace
from ._forgetting import (
    MEMORIES,
    Fading,
    ForgettingAlgorithm,
    cannot_change_alpha,
    check_same_kind,
    memories_for,
)
from ._in_place import Filling
from ._rows import Rows
from .protocol import Algorithm, Shape
from .sums import Sums

# Rows that all memories record one after the other, before their predictions are mixed.
_ROWS_AT_ONCE = 2048

# Those of models in older files.
_MEMORIES_BEFORE = (1.0, 1.0003, 1.001, 1.003, 1.01, 1.03)

# Errors count less by this factor with every row: about twelve of them matter.
_MEMORY_ERROR_DECAY = 0.92

# How many times more likely a longer memory is taken to be than the next shorter one. So a shorter
# one is preferred when its recent errors are smaller; after a surprise, when all have been wrong,
# it is the longest, which moves least.
_LONGER_IS_LIKELIER = 100.0

# Memories with a smaller weight than this are left out of standard deviations.
_NEGLIGIBLE = 1e-6


def _to_fields(memories: Memories) -> Fields:
    """The prior and the decay of the mixture are constants."""
    mixture = memories.mixture
    return {"states": memories.states, "squares": mixture.squares, "count": mixture.count}


def _from_fields(cls: type[Memories], stored: Fields) -> Memories:
    start = _new_mixture(stored["squares"].shape[1], len(stored["states"]))
    mixture = replace(start, squares=stored["squares"], count=stored["count"])
    return cls(stored["states"], mixture)


@stored(
    parameters={"states": each(known(Fading), tuple), "squares": array(2), "count": finite},
    check=check_memories,
    to_fields=_to_fields,
    from_fields=_from_fields,
)
@dataclass(frozen=True, eq=False)
class Memories:
    """A state for each memory, and the weights of their predictions by recent errors."""

    states: tuple[Fading, ...]
    mixture: Mixture

    def compact(self) -> Memories:
        """The same without what can be computed from it."""
        return Memories(tuple(state.compact() for state in self.states), self.mixture)

    def on(self, b: Backend) -> Memories:
        """The same on another backend."""
        return Memories(tuple(state.on(b) for state in self.states), self.mixture)

    @property
    def alphas(self) -> tuple[float, ...]:
        """The alpha of each."""
        n = len(self.states)
        return MEMORIES[:n] if n <= len(MEMORIES) else _MEMORIES_BEFORE

    def best(self) -> int:
        """The memory with the largest weight."""
        return int(self.mixture.weights().argmax())


def _new_mixture(n_outputs: int, n_memories: int) -> Mixture:
    log_prior = -np.log(_LONGER_IS_LIKELIER) * np.arange(n_memories)
    return Mixture.start(log_prior, n_outputs, _MEMORY_ERROR_DECAY)


@dataclass(frozen=True)
class MemoriesAlgorithm(Algorithm):
    """The memories of `MEMORIES`, mixed by their recent errors."""

    epsilon: float | None
    floor: float | str | None
    intercept: bool = False

    def _members(self, alphas: tuple[float, ...]) -> list[ForgettingAlgorithm]:
        settings = self.epsilon, self.floor, self.intercept
        return [ForgettingAlgorithm(alpha, *settings, is_member=True) for alpha in alphas]

    def _members_of(self, state: Memories) -> list[ForgettingAlgorithm]:
        return self._members(state.alphas)

    def start(self, shape: Shape) -> Memories:
        alphas = memories_for(shape.n_hidden)
        states = tuple(member.start(shape) for member in self._members(alphas))
        return Memories(states, _new_mixture(shape.n_outputs, len(alphas)))

    def learn(self, shape: Shape, state: Memories, rows: Rows, seen: int) -> Memories:
        return self.record(shape, state, rows, seen)[0]

    def innovate(
        self, shape: Shape, state: Memories, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Memories, Array]:
        b, rows = shape.backend, Rows.of(H, Y, weight)
        runs = [
            member.record(shape, member_state, rows, seen)
            for member, member_state in zip(self._members_of(state), state.states, strict=True)
        ]
        errors = np.stack([b.to_numpy(Y - predicted) for _, predicted in runs])
        mixture, weights = state.mixture.update_many(errors, weight)
        states = tuple(member_state for member_state, _ in runs)
        return Memories(states, mixture), b.asarray(mix(weights[:-1], errors))

    def record_rows(self, shape: Shape, seen: int) -> int:
        return _ROWS_AT_ONCE  # which the members cut as they need it

    def filling(self, shape: Shape, state: Memories, seen: int) -> Filling | None:
        pairs = zip(self._members_of(state), state.states, strict=True)
        found = [member.filling(shape, own, seen) for member, own in pairs]
        fillings = [filling for filling in found if filling is not None]
        if len(fillings) < len(found):
            return None

        def join(states: list[Any], mixture: Mixture | None) -> Memories:
            assert mixture is not None
            return Memories(tuple(states), mixture)

        members = tuple(member for filling in fillings for member in filling.members)
        return Filling(members, min(filling.limit for filling in fillings), state.mixture, join)

    def with_due(self, shape: Shape, state: Memories, seen: int) -> Memories:
        pairs = zip(self._members_of(state), state.states, strict=True)
        states = tuple(member.with_due(shape, own, seen) for member, own in pairs)
        return replace(state, states=states)

    def with_outputs(self, shape: Shape, state: Memories, n_outputs: int, old: Array) -> Memories:
        states = [
            member.with_outputs(shape, member_state, n_outputs, old)
            for member, member_state in zip(self._members_of(state), state.states, strict=True)
        ]
        return Memories(tuple(states), state.mixture.with_outputs(n_outputs, old))

    def with_units(self, shape: Shape, state: Memories, n_hidden: int, old: Array) -> Memories:
        members = zip(self._members_of(state), state.states, strict=True)
        states = [member.with_units(shape, each, n_hidden, old) for member, each in members]
        return Memories(tuple(states), state.mixture)

    def weights(self, state: Memories) -> Array:
        parts = zip(state.mixture.weights(), state.states, strict=True)
        return sum(member.ridge.root.solution * float(p) for p, member in parts)

    def root(self, state: Memories) -> Sums:
        return state.states[state.best()].ridge.root

    def spread(self, state: Memories, H: Array) -> Array:
        parts = zip(state.mixture.weights(), state.states, strict=True)
        variance = sum(
            p * member.ridge.root.deviations(H).astype(np.float64) ** 2
            for p, member in parts
            if p > _NEGLIGIBLE
        )
        return np.sqrt(variance).astype(self.root(state).dtype)

    def check_continues(self, started: Algorithm) -> None:
        if not isinstance(started, MemoriesAlgorithm):
            raise ValueError(cannot_change_alpha("auto"))
        check_same_kind(self, started)
