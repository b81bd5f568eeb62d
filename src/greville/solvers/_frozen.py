"""Weights alone: a model that has learned, and only predicts from now on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..backend import Array
from .protocol import Algorithm, Rows, Shape


@dataclass(frozen=True)
class Frozen(Algorithm):
    """Predicts with weights that another algorithm has found; they are its state."""

    def start(self, shape: Shape) -> Array:
        return shape.backend.zeros((shape.n_hidden, shape.n_outputs), shape.dtype)

    def learn(self, shape: Shape, state: Any, rows: Rows, seen: int) -> Any:
        raise ValueError(
            "this model has only its weights and cannot learn; use the model that it was made from."
        )

    def weights(self, state: Any) -> Array:
        return state
