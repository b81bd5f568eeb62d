"""Limits of this machine: products of large matrices, and reading memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from .measure import seconds


@dataclass(frozen=True)
class Machine:
    """Operations a second in float64 and float32, and bytes a second on one core."""

    gemm: dict[str, float]
    syrk: dict[str, float]
    bandwidth: float

    def product(self, operations: float, dtype: str = "float64") -> float:
        """Seconds for operations in matrix products."""
        return operations / self.gemm[dtype]

    def reading(self, numbers: float, dtype: str = "float64") -> float:
        """Seconds for reading numbers from memory once."""
        return numbers * np.dtype(dtype).itemsize / self.bandwidth


def measure(size: int = 3000) -> Machine:
    """The best of several tries of each."""
    gemm, syrk = {}, {}
    for name, letter in (("float64", "d"), ("float32", "s")):
        A = np.random.default_rng(0).normal(size=(size, size)).astype(name, order="F")
        C = np.zeros_like(A)
        multiply, square = getattr(blas, letter + "gemm"), getattr(blas, letter + "syrk")
        gemm[name] = 2 * size**3 / _best(lambda: multiply(1.0, A, A, c=C, overwrite_c=1))  # noqa: B023
        syrk[name] = size**3 / _best(lambda: square(1.0, A, c=C, overwrite_c=1))  # noqa: B023
    large = np.zeros(40_000_000)
    return Machine(gemm, syrk, large.nbytes / _best(large.sum))


def _best(work: Callable[[], object], tries: int = 5) -> float:
    work()
    return min(seconds(work) for _ in range(tries))
