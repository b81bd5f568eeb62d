"""Weights alone: a model that has learned, and only predicts from now on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..backend import Array
from .protocol import Algorithm, Rows, Shape
from .sums import Sums

ONLY_WEIGHTS = (
    "this model is frozen: it has only the weights to predict with; use the model that it was made "
    "from."
)


@dataclass(frozen=True)
class Frozen(Algorithm):
    """Predicts with weights that another algorithm has found; they are its state."""

    def start(self, shape: Shape) -> Array:
        return shape.backend.zeros((shape.n_hidden, shape.n_outputs), shape.dtype)

    def learn(self, shape: Shape, state: Any, rows: Rows, seen: int) -> Any:
        raise ValueError(ONLY_WEIGHTS)

    def weights(self, state: Any) -> Array:
        return state

    def root(self, state: Any) -> Sums:
        raise ValueError(ONLY_WEIGHTS)

    def leave_out(self, shape: Shape, state: Any, rows: Rows) -> Array:
        raise ValueError(ONLY_WEIGHTS)
