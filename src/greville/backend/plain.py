"""The plain backend: any namespace of the array API standard, nothing in place, no SciPy.

It is exact and not fast. Backends for other devices start from it and replace what their libraries
do better.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from .protocol import Array, Tuning


class PlainBackend:
    """Array API arrays.

    Parameters
    ----------
    xp : namespace
        With the ``linalg`` extension of the standard.
    name : str
    device : object, optional
        Where arrays are made; the namespace's default without it.
    """

    tuning = Tuning(record_units=1 << 30, kept_gram_units=0)

    def __init__(self, xp: Any, name: str = "plain", device: Any = None) -> None:
        self.xp = xp
        self.name = name
        self.device = device

    def __reduce__(self) -> Any:
        from .registry import get

        return get, (self.name,)

    def __copy__(self) -> PlainBackend:
        return self

    def __deepcopy__(self, _: Any) -> PlainBackend:
        return self

    # Arrays

    def _dtype(self, dtype: Any) -> Any:
        return None if dtype is None else getattr(self.xp, np.dtype(dtype).name)

    def asarray(self, A: Any, dtype: Any = None) -> Array:
        return self.xp.asarray(A, dtype=self._dtype(dtype), device=self.device)

    def to_numpy(self, A: Array) -> Array:
        return np.asarray(A)

    def copy(self, A: Array) -> Array:
        return self.xp.asarray(A, copy=True)

    def dtype_of(self, A: Array) -> np.dtype[Any]:
        return np.dtype(np.float32 if A.dtype == self.xp.float32 else np.float64)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Array:
        return self.xp.zeros(shape, dtype=self._dtype(dtype), device=self.device)

    def few_threads(self, operations: float) -> AbstractContextManager[Any]:
        return nullcontext()

    def _eye(self, n: int, like: Array) -> Array:
        return self.xp.eye(n, dtype=like.dtype, device=self.device)

    # Products

    def matmul(self, A: Array, B: Array) -> Array:
        return self.xp.matmul(A, B)

    def column_squares(self, A: Array) -> Array:
        return self.to_numpy(self.xp.sum(A * A, axis=0, dtype=self.xp.float64))

    def row_squares(self, A: Array) -> Array:
        return self.to_numpy(self.xp.sum(A * A, axis=1, dtype=self.xp.float64))

    def largest(self, A: Array) -> Any:
        return self.xp.max(self.xp.abs(A))

    def running_sums(self, A: Array) -> Array:
        return self.xp.cumulative_sum(A, axis=0, include_initial=True)

    def add_gram(self, G: Array, H: Array, sign: float = 1.0) -> Array:
        return G + sign * self.xp.matmul(H.T, H)

    def with_ridge(self, G: Array, ridge: float, *, consume: bool = False) -> Array:
        return G + ridge * self._eye(G.shape[0], G)

    # Roots

    def root_with_ridge(self, G: Array, ridge: float, spare: Array | None = None) -> Array | None:
        return self.cholesky(self.with_ridge(G, ridge))

    def root_and_solved(
        self,
        G: Array,
        C: Array,
        ridge: float = 0.0,
        spare: Array | None = None,
        *,
        consume: bool = False,
    ) -> tuple[Array, Array] | None:
        R = self.root_with_ridge(G, ridge)
        return None if R is None else (R, self.solve(R, C, transposed=True))

    def gram_of_root(self, R: Array) -> Array:
        return self.xp.matmul(R.T, R)

    def cholesky(self, G: Array) -> Array | None:
        upper = self.xp.triu(G)
        symmetric = upper + self.xp.triu(G, k=1).T
        if not bool(self.xp.all(self.xp.isfinite(upper))):
            return None
        try:
            R = self.xp.linalg.cholesky(symmetric, upper=True)
        except (ValueError, RuntimeError):  # NumPy's LinAlgError is the first, torch's the second
            return None
        return R if bool(self.xp.all(self.xp.isfinite(R))) else None

    def solve(self, R: Array, B: Array, *, transposed: bool = False, unit: bool = False) -> Array:
        xp, n = self.xp, R.shape[0]
        A = xp.triu(R, k=1) + self._eye(n, R) if unit else R
        if transposed:  # with rows and columns in reverse order it is upper triangular again
            solved = self.solve(xp.flip(A.T), xp.flip(B, axis=0))
            return xp.flip(solved, axis=0)
        try:
            return xp.linalg.solve(A, B)  # by elimination, which finds nothing to eliminate
        except (ValueError, RuntimeError):  # a zero on the diagonal
            X = xp.zeros_like(B)
        with np.errstate(all="ignore"):
            for i in range(n - 1, -1, -1):
                row = B[i : i + 1, :] - xp.matmul(A[i : i + 1, i + 1 :], X[i + 1 :, :])
                X[i : i + 1, :] = row / A[i : i + 1, i : i + 1]
        return X

    def _inverse(self, R: Array) -> Array:
        return self.solve(R, self._eye(R.shape[0], R))

    def inverse_of_gram(self, R: Array) -> Array:
        inverse = self._inverse(R)
        if not bool(self.xp.all(self.xp.isfinite(inverse))):
            inverse = self.xp.linalg.pinv(R)
        return self.xp.matmul(inverse, inverse.T)

    def trace_of_inverse(self, R: Array) -> float:
        total = float(self.column_squares(self._inverse(R)).sum())
        return total if np.isfinite(total) else float("inf")

    def condition(self, R: Array) -> float:
        lengths = self.xp.sqrt(self.xp.sum(R * R, axis=0))
        with np.errstate(all="ignore"):
            scaled = R / lengths
            if not bool(self.xp.all(self.xp.isfinite(scaled))):
                return float("nan")
            s = self.to_numpy(self.xp.linalg.svdvals(scaled)).astype(float)
            return float(s[0] / s[-1])

    def smallest_singular_value(self, R: Array) -> float:
        if not R.shape[0]:
            return float("inf")
        return float(self.xp.min(self.xp.linalg.svdvals(R)))

    def append_rows(self, R: Array, Z: Array, H: Array, Y: Array) -> tuple[Array, Array, Array]:
        xp, n = self.xp, R.shape[0]
        both = xp.concat([xp.concat([R, Z], axis=1), xp.concat([H, Y], axis=1)])
        new = self.triangularise(both)
        # A right-hand side with fewer rows than outputs leaves a trapezoid: its rows all count.
        return new[:n, :n], new[:n, n:], self.column_squares(new[n:, n:])

    def append_diagonal(
        self, R: Array, Z: Array, d: float, targets: Array | None = None
    ) -> tuple[Array, Array, Array]:
        rows = d * self._eye(R.shape[0], R)
        return self.append_rows(R, Z, rows, self.xp.zeros_like(Z) if targets is None else targets)

    def triangularise(self, A: Array) -> Array:
        return self.xp.linalg.qr(A, mode="reduced")[1]

    def root_of_identity_plus(self, Ft: Array) -> Array:
        return self.triangularise(self.xp.concat([self._eye(Ft.shape[1], Ft), Ft]))

    # General matrices

    def svd(self, A: Array) -> tuple[Array, Array, Array]:
        U, s, Vt = self.xp.linalg.svd(A, full_matrices=False)
        return U, s, Vt

    def orthogonal(self, A: Array) -> Array:
        Q, R = self.xp.linalg.qr(A)
        ones = self.xp.ones_like(R[0, :])
        return Q * self.xp.where(self.xp.linalg.diagonal(R) < 0, -ones, ones)

    def kernels(self, dtype: Any) -> None:
        return None


def of_numpy() -> PlainBackend:
    """The plain backend on NumPy arrays, through array-api-compat."""
    import array_api_compat.numpy as xp

    return PlainBackend(xp)
