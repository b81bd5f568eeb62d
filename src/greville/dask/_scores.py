"""Scores of lazy predictions: sums of every block, joined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backend import Array
from ..validation import check_length, check_weights


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
        w = _weights(true, found, weight)
        if true.shape[1] != found.shape[1]:
            raise ValueError(f"y: it has {true.shape[1]} outputs, and the model {found.shape[1]}.")
        if not np.isfinite(true).all():
            raise ValueError("y: contains NaN or infinity; leave such rows out.")
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
        check_counts(self.count)
        varies = self.scatter > 0
        parts = np.where(self.left > 0, 0.0, 1.0)
        parts[varies] = 1 - self.left[varies] / self.scatter[varies]
        return float(parts.mean())


def count_right(predicted: Any, y: Any, weight: Any) -> Array:
    """How much the rows that are right count, and all."""
    found, true = np.asarray(predicted), np.asarray(y)
    true = true[:, 0] if true.ndim == 2 and true.shape[1] == 1 else true
    w = _weights(true, found, weight)
    if len(true) and (found.dtype.kind in "OUST") != (true.dtype.kind in "OUST"):
        raise ValueError(
            "y: its labels are of another type than the learned ones; pass labels of one type."
        )
    return np.array([w @ (found == true), w.sum()])


def check_counts(count: float) -> None:
    """Raise a ValueError if no row counts."""
    if not count > 0:
        raise ValueError("X: no row has a positive weight; there is nothing to compare.")


def _weights(true: Array, found: Array, weight: Any) -> Array:
    """The weights of rows, ones where there are none, if all lengths fit."""
    check_length("y", len(true), len(found))
    if weight is None or not len(true):
        return np.ones(len(true))
    checked = check_weights(np.asarray(weight), len(true), np.float64)
    assert checked is not None
    return checked


def _columns(A: Any) -> Array:
    A = np.asarray(A, np.float64)
    return A[:, None] if A.ndim == 1 else A
