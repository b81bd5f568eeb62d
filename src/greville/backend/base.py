"""Arrays and linear algebra for any namespace of the array API standard, and what tunes them.

A *root* of a symmetric positive definite G is an upper triangular R with R'R = G; its diagonal may
be negative. Z goes with it, R'Z = H'Y for rows H and targets Y. Of a Gram matrix only the upper
triangle is ever read or written.

Operations never change their arguments, except where they say that an argument is *consumed*: its
memory may then hold the result, and it must not be used again.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# The relative error that I + FF' in place of its root may add, for rows of F of any length.
_LONGEST = {"d": 2e-12, "f": 1e-5}


@dataclass(frozen=True)
class Tuning:
    """Sizes at which one way becomes faster than another.

    Attributes
    ----------
    pending_rows : chunks of fewer rows are collected until there are so many
    basis_rows : rows tested for new directions together
    qr_rows : rows that a QR factorisation takes at a time
    gram_operations : operations from which a Gram matrix may be faster than a QR factorisation
    float32_gram : what eps·κ² may be for a Gram matrix in float32, of few units
    gram_rows : rows from which it is, as a part of the units: for the first rows of all, for
        others in layers that are wide, and in others
    wide : units from which a QR factorisation is slow next to matrix products
    block_bytes : least and most bytes in one block of activations
    block_multiple : the number of its rows is a multiple of this
    block_share : its bytes as a part of those of a matrix of units by units, between these
    svd_units, svd_units_in_stream : up to how many units ε is chosen by singular values, when it
        is chosen once and when it is chosen often
    record_rows : rows whose prequential errors are found together. The work grows by 2·rows·M a
        row, the price of one round of calls is shared by all of them
    kept_gram_units : up to how many units a Gram matrix is kept from one long chunk for the next
    refined_units : units from which a float32 Gram matrix is refined before it is made in float64
    power_steps : steps of power iteration for a condition number
    """

    pending_rows: int = 128
    basis_rows: int = 64
    qr_rows: int = 256
    gram_operations: float = 1e7
    float32_gram: float = 0.03
    gram_rows: tuple[float, float, float] = (1 / 8, 1 / 4, 1.0)
    wide: int = 1024
    block_bytes: tuple[int, int] = (1 << 25, 1 << 27)
    block_multiple: int = 1
    block_share: float = 0.5
    svd_units: int = 400
    svd_units_in_stream: int = 96
    record_rows: int = 128
    kept_gram_units: int = 2048
    refined_units: int = 2048
    power_steps: int = 8


class Backend:
    """Arrays of one kind, and linear algebra on them: exact and not fast.

    Backends of other libraries are derived from it, and replace what these do better.

    Parameters
    ----------
    xp : namespace
        With the ``linalg`` extension of the array API standard.
    name : str
        Under which the backend is registered.
    device : object, optional
        Where arrays are made; the namespace's default without it.
    """

    tuning = Tuning(kept_gram_units=0)
    has_kernels = False  # whether compiled kernels may learn single rows of its arrays

    def __init__(self, xp: Any, name: str, device: Any = None) -> None:
        self.xp = xp
        self.name = name
        self.device = device

    def __reduce__(self) -> Any:
        from .registry import get

        return get, (self.name,)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: Any) -> Self:
        return self

    # Arrays

    def _dtype(self, dtype: Any) -> Any:
        return None if dtype is None else getattr(self.xp, np.dtype(dtype).name)

    def asarray(self, A: Any, dtype: Any = None) -> Array:
        """An array of this backend; no copy where it is one already. `dtype` is NumPy's."""
        return self.xp.asarray(A, dtype=self._dtype(dtype), device=self.device)

    def to_numpy(self, A: Array) -> Array:
        """Return the numbers of an array as a NumPy array, without a copy where possible."""
        return np.asarray(A)

    def copy(self, A: Array) -> Array:
        """Copy an array into memory of its own, laid out as by `zeros`."""
        return self.xp.asarray(A, copy=True)

    def dtype_of(self, A: Array) -> np.dtype[Any]:
        """NumPy's name for the dtype of an array."""
        return np.dtype(np.float32 if A.dtype == self.xp.float32 else np.float64)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Zeros, laid out so that `add_gram` can work in place. `dtype` is NumPy's."""
        return self.xp.zeros(shape, dtype=self._dtype(dtype), device=self.device)

    def identity(self, n: int, dtype: Any, scale: float = 1.0) -> Array:
        """scale·I, of n rows, laid out as by `zeros`."""
        return scale * self.xp.eye(n, dtype=self._dtype(dtype), device=self.device)

    def few_threads(self, operations: float) -> AbstractContextManager[Any]:
        """A context for so many operations, on one thread if more would not be worth it."""
        return nullcontext()

    # Products

    def matmul(self, A: Array, B: Array) -> Array:
        """A @ B."""
        return self.xp.matmul(A, B)

    def column_squares(self, A: Array) -> Array:
        """The sums of squares of the columns, as a NumPy array of float64."""
        squares = self.xp.sum(A * A, axis=0, dtype=self._dtype(np.float64))
        return self.to_numpy(squares).astype(np.float64, copy=False)

    def row_squares(self, A: Array) -> Array:
        """The sums of squares of the rows, as a NumPy array of float64."""
        return self.column_squares(A.T)

    def running_sums(self, A: Array) -> Array:
        """The sums of the rows before the first, the second, ... row, and of all."""
        n, xp = A.shape[0], self.xp
        return xp.matmul(xp.tril(xp.ones((n + 1, n), dtype=A.dtype), k=-1), A)

    def add_gram(self, G: Array, H: Array, sign: float = 1.0) -> Array:
        """G + sign·H'H. G is consumed."""
        return G + sign * self.xp.matmul(H.T, H)

    def add_ridge(self, G: Array, ridge: float) -> Array:
        """G + ridge·I. G is consumed."""
        return G + self.identity(G.shape[0], self.dtype_of(G), ridge)

    # Roots

    def cholesky(self, G: Array) -> Array | None:
        """The root of G; None where there is none. G is consumed."""
        upper = self.xp.triu(G)
        symmetric = upper + self.xp.triu(G, k=1).T
        if not bool(self.xp.all(self.xp.isfinite(upper))):
            return None
        try:
            R = self.xp.linalg.cholesky(symmetric, upper=True)
        except (ValueError, RuntimeError):  # NumPy's LinAlgError is the first, torch's the second
            return None
        return R if bool(self.xp.all(self.xp.isfinite(R))) else None

    def root_with_ridge(self, G: Array, ridge: float, spare: Array | None = None) -> Array | None:
        """The root of G + ridge·I, None where there is none.

        `spare`, as large as G or G itself, is consumed.
        """
        return self.cholesky(self.add_ridge(self.copy(G), ridge))

    def root_and_solved(
        self, G: Array, C: Array, ridge: float = 0.0, spare: Array | None = None
    ) -> tuple[Array, Array] | None:
        """The root R of G + ridge·I, as by `root_with_ridge`, and R⁻ᵀC, or None."""
        R = self.root_with_ridge(G, ridge, spare)
        return None if R is None else (R, self.solve(R, C, transposed=True))

    def gram_of_root(self, R: Array) -> Array:
        """Return R'R, the Gram matrix of a root."""
        return self.add_gram(self.zeros(R.shape, self.dtype_of(R)), R)

    def solve(self, R: Array, B: Array, *, transposed: bool = False, unit: bool = False) -> Array:
        """R⁻¹B, or R⁻ᵀB; with `unit` the diagonal of R is taken as one.

        A zero on the diagonal gives inf or nan, never an exception.
        """
        A = self.xp.triu(R, k=1) + self.identity(R.shape[0], self.dtype_of(R)) if unit else R
        if transposed:  # with rows and columns in reverse order it is upper triangular again
            return self.xp.flip(self.solve(self.xp.flip(A.T), self.xp.flip(B, axis=0)), axis=0)
        try:
            return self.xp.linalg.solve(A, B)  # by elimination, which finds nothing to eliminate
        except (ValueError, RuntimeError):  # a zero on the diagonal
            return B * float("nan")

    def condition(self, R: Array) -> float:
        """The condition number of R with its columns scaled to length one, within a factor of two.

        The units of the columns do not matter to a Cholesky factorisation.
        """
        # Some steps of power iteration each way; from below.
        v = w = self._direction(R)
        with np.errstate(all="ignore"), self.few_threads(0):
            lengths = self.asarray(np.sqrt(self.column_squares(R))[:, None], self.dtype_of(R))
            for _ in range(self.tuning.power_steps):
                v = self._unit(self.matmul(R, self._unit(v) / lengths))
                v = self.matmul(R.T, v) / lengths
                w = self._unit(self.solve(R, lengths * self._unit(w), transposed=True))
                w = lengths * self.solve(R, w)
            return float(self.xp.linalg.vector_norm(v) * self.xp.linalg.vector_norm(w))

    def smallest_singular_value(self, R: Array) -> float:
        """The smallest singular value of a root, within a factor of two; inf for one of size 0."""
        if not R.shape[0]:
            return float("inf")
        v = self._direction(R)
        with np.errstate(all="ignore"), self.few_threads(0):
            for _ in range(self.tuning.power_steps):
                v = self.solve(R, self.solve(R, self._unit(v), transposed=True))
            size = float(self.xp.linalg.vector_norm(v))
        return 1 / float(np.sqrt(size)) if 0 < size < float("inf") else 0.0

    def _direction(self, R: Array) -> Array:
        """A vector to start power iteration from, the same for all matrices of this size."""
        return self.asarray(np.random.RandomState(0).normal(size=(R.shape[0], 1)), self.dtype_of(R))

    def _unit(self, v: Array) -> Array:
        return v / self.xp.linalg.vector_norm(v)

    def append_rows(self, R: Array, Z: Array, H: Array, Y: Array) -> tuple[Array, Array, Array]:
        """Return the root of R'R + H'H, its right-hand side, and the increase of the loss (NumPy).

        From the QR factorisation of [[R, Z], [H, Y]]. The loss is the residual sum of squares of
        each output.
        """
        xp, n = self.xp, R.shape[0]
        if not n:
            return R, Z, self.column_squares(Y)
        both = xp.concat([xp.concat([R, Z], axis=1), xp.concat([H, Y], axis=1)])
        new = self.triangularise(both)
        # A right-hand side with fewer rows than outputs leaves a trapezoid: its rows all count.
        return new[:n, :n], new[:n, n:], self.column_squares(new[n:, n:])

    def append_diagonal(
        self, R: Array, Z: Array, d: float, targets: Array
    ) -> tuple[Array, Array, Array]:
        """`append_rows` of the M rows d·I and their targets."""
        return self.append_rows(R, Z, self.identity(R.shape[0], self.dtype_of(R), d), targets)

    def triangularise(self, A: Array) -> Array:
        """The triangular factor of A = QR; upper trapezoidal if A is wide. A is consumed."""
        return self.xp.linalg.qr(A, mode="reduced")[1]

    def root_of_identity_plus(self, Ft: Array) -> Array:
        """L' with LL' = I + FF', given F'.

        By QR of [I; F'], unless the rows are so short that a Cholesky factor, which squares the
        condition, loses nothing; it takes a third of the time.
        """
        dtype = self.dtype_of(Ft)
        eye = self.identity(Ft.shape[1], dtype)
        if self.column_squares(Ft).sum() < _LONGEST[dtype.char] / eps(dtype):
            Lt = self.cholesky(self.add_gram(eye, Ft))
            assert Lt is not None  # I + FF' has no eigenvalue below one
            return Lt
        return self.triangularise(self.xp.concat([eye, Ft]))

    # General matrices

    def svd(self, A: Array) -> tuple[Array, Array, Array]:
        """The thin singular value decomposition U, s, V'."""
        U, s, Vt = self.xp.linalg.svd(A, full_matrices=False)
        return U, s, Vt


def eps(dtype: Any) -> float:
    """The spacing of floating-point numbers at one."""
    return float(np.finfo(dtype).eps)


def threads_for_rows(b: Backend, n: int) -> AbstractContextManager[Any]:
    """A context for products of so many rows, on one thread where they are few."""
    return b.few_threads(0 if n < b.tuning.pending_rows else np.inf)
