"""Prequential errors of a solver on a signal."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import RandomLayer
from ..backend import Array
from ..threads import one_thread

UNITS = 100  # hidden units for the paper's signals


def prequential_errors(solver: Any, X: Array, y: Array, seed: int) -> Array:
    """The error on every sample before it is learned, with the hidden layer of the paper."""
    with one_thread:
        H = RandomLayer(UNITS, random_state=seed).fit_transform(X)
        return y - solver.prequential(H, y)


def rms(errors: Array) -> float:
    return float(np.sqrt(np.mean(errors**2)))
