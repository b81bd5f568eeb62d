"""What a solver does on a signal, sample by sample."""

from __future__ import annotations

from typing import Any

from .. import RandomLayer
from ..linalg import Array
from ..threads import one_thread

UNITS = 100  # hidden units for the paper's signals


def recorded_errors(solver: Any, X: Array, y: Array, seed: int) -> Array:
    """The error on every sample, predicted before it is learned, through the paper's layer."""
    with one_thread:
        H = RandomLayer(UNITS, random_state=seed).fit_transform(X)
        return y - solver.prequential(H, y)
