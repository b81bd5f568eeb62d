"""Several memories side by side, and trust in those that have erred least of late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..linalg import Array

# The values of alpha that are tried: no forgetting at all, and memories of 3,300 to 33 rows.
MEMORIES = (1.0, 1.0003, 1.001, 1.003, 1.01, 1.03)

# Errors count less by this factor with every row: about twelve of them matter.
_RECENT = 0.92

# How many times more likely a longer memory is taken to be than the next shorter one. So a shorter
# one is trusted when it has been better of late; after a surprise, when all have been wrong, it is
# the longest, which moves least.
_CAUTION = 20.0


class Bank:
    """A root for each memory, and the recent squares of the errors each made on each output."""

    is_sum = False  # not every row counts in full

    def __init__(self, roots: Sequence[Any], squares: Array, count: float) -> None:
        self.roots = tuple(roots)
        self.squares = squares
        self.count = count

    @classmethod
    def start(cls, roots: Sequence[Any], n_outputs: int) -> Bank:
        return cls(roots, np.zeros((len(roots), n_outputs)), 0.0)

    def trust(self) -> Array:
        """The probability of each memory: Gaussian errors of unknown size, and a cautious prior."""
        prior = -np.log(_CAUTION) * np.arange(len(self.roots))
        if self.count == 0:
            return _shares(prior)
        sizes = np.log(np.maximum(self.squares / self.count, np.finfo(float).tiny))
        return _shares(prior - self.count / 2 * sizes.sum(axis=1))

    def mixed(self, roots: Sequence[Any], errors: Array, weight: Array) -> tuple[Bank, Array]:
        """The bank after some rows, and the errors of its predictions, given those of each memory.

        `errors` has the shape (memories, rows, outputs).
        """
        bank, mixture = self, np.empty_like(errors[0])
        for i, w in enumerate(weight):
            mixture[i] = np.tensordot(bank.trust(), errors[:, i], 1)
            if w > 0:
                squares = _RECENT * bank.squares + w * errors[:, i].astype(np.float64) ** 2
                bank = Bank(roots, squares, _RECENT * bank.count + w)
        return Bank(roots, bank.squares, bank.count), mixture

    def solution(self) -> Array:
        """The weights of all memories, mixed by trust."""
        parts = zip(self.trust(), self.roots, strict=True)
        return sum(root.weights() * root.Z.dtype.type(p) for p, root in parts)

    def spread(self, H: Array) -> Array:
        """The standard deviation of a new target for each row and output."""
        parts = [(p, root) for p, root in zip(self.trust(), self.roots, strict=True) if p > 1e-6]
        variance = sum(p * root.spread(H).astype(np.float64) ** 2 for p, root in parts)
        return np.sqrt(variance).astype(H.dtype)

    @property
    def best(self) -> Any:
        """The root of the memory that is trusted most."""
        return self.roots[int(self.trust().argmax())]

    def with_outputs(self, n_outputs: int, old: Array) -> Bank:
        squares = np.zeros((len(self.roots), n_outputs))
        squares[:, old] = self.squares
        roots = [root.with_outputs(n_outputs, old) for root in self.roots]
        return Bank(roots, squares, self.count)


def _shares(logarithms: Array) -> Array:
    p = np.exp(logarithms - logarithms.max())
    return p / p.sum()
