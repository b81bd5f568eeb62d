"""Scores of lazy predictions: sums of every block, joined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backend import Array
from ..validation import check_length


@dataclass(frozen=True)
class Errors:
    """How much rows count, the means and scatter of their targets, and their squared errors."""

    count: float
    mean: Array
    scatter: Array
    left: Array

    @classmethod
    def of(cls, predicted: Any, y: Any, weight: Any) -> Errors:
        """Of one block."""
        true, found = (_columns(A) for A in (y, predicted))
        check_length("y", len(true), len(found))
        w = np.ones(len(true)) if weight is None else np.asarray(weight, np.float64)
        count, size = float(w.sum()), true.shape[1]
        mean = w @ true / count if count else np.zeros(size)
        return cls(count, mean, w @ (true - mean) ** 2, w @ (true - found) ** 2)

    def joined(self, other: Errors) -> Errors:
        count = self.count + other.count
        if not count:
            return self
        step, share = other.mean - self.mean, other.count / count
        scatter = self.scatter + other.scatter + self.count * share * step**2
        return Errors(count, self.mean + share * step, scatter, self.left + other.left)

    def r2(self) -> float:
        """The mean over the outputs; 1 or 0 where targets do not vary, as scikit-learn has it."""
        varies = self.scatter > 0
        parts = np.where(self.left > 0, 0.0, 1.0)
        parts[varies] = 1 - self.left[varies] / self.scatter[varies]
        return float(parts.mean())


def count_right(predicted: Any, y: Any, weight: Any) -> Array:
    """How much the rows that are right count, and all."""
    right = np.asarray(predicted) == np.asarray(y)
    check_length("y", len(np.asarray(y)), len(np.asarray(predicted)))
    w = np.ones(len(right)) if weight is None else np.asarray(weight, np.float64)
    return np.array([w @ right, w.sum()])


def _columns(A: Any) -> Array:
    A = np.asarray(A, np.float64)
    return A[:, None] if A.ndim == 1 else A
