"""The tuned backend: NumPy arrays, SciPy's BLAS and LAPACK.

Roots, right-hand sides and Gram matrices are Fortran-ordered, so that LAPACK works on them in
place. Rows of activations are C-ordered, and their transposes are what LAPACK wants; many rows that
a layer has made are Fortran-ordered.

Everything runs in SciPy's BLAS. NumPy's wheel carries a second one with a pool of spinning threads
of its own, and two such pools on the same cores slow each other down many times over.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from scipy import linalg as _scipy
from scipy.linalg import blas as _blas
from scipy.linalg import lapack as _lapack

from ..threads import one_thread
from .base import Array, Backend, Tuning

# Columns LAPACK eliminates at a time. Measured for 64 to 256 rows: on 500 to 4000 columns 16 to 64
# are within a tenth of each other, 8 and 128 up to twice as slow; on 100 columns 16 takes 114 µs,
# 32 takes 142.
_PANEL = 32
_NARROW, _NARROW_PANEL = 200, 16

# Rows of a diagonal matrix appended at a time. LAPACK can be told that they are triangular, and
# then takes ten times as long as with these blocks (M = 2000).
_DIAGONAL = 128

# Operations that are not worth a second thread: two wait for each other on a busy machine.
_ONE_THREAD = 1e9

# Units from which a root of a Gram matrix is worth a second thread. It is made in many short steps
# between which threads wait for each other: beside another load on both cores a root took 2 to 5 s
# on two threads and 0.02 s on one (M = 960), 0.6 to 6 s and 0.5 s (M = 4000). With nothing else
# running two threads save a third. (How busy the machine is must not decide: bits would depend on
# it.)
_THREADED_ROOT = 4096

# Columns from which a right-hand side that is stored row by row is solved for as it is.
_MANY = 512

# Numbers in a matrix from which OpenBLAS may use several threads for its product with a vector.
# (A triangular solve with one vector always runs on one.)
SHARED = 9216

DOT = {np.dtype("d"): _blas.ddot, np.dtype("f"): _blas.sdot}
GEMV = {np.dtype("d"): _blas.dgemv, np.dtype("f"): _blas.sgemv}


def _routine(module: Any, name: str, like: Array) -> Any:
    return getattr(module, ("d" if like.dtype.char == "d" else "s") + name)


class ScipyBackend(Backend):
    """NumPy arrays on SciPy's BLAS."""

    tuning = Tuning()
    has_kernels = True

    def __init__(self) -> None:
        super().__init__(np, "scipy")

    # Arrays

    def asarray(self, A: Any, dtype: Any = None) -> Array:
        return np.asarray(A, dtype=dtype)

    def copy(self, A: Array) -> Array:
        return A.copy(order="F")

    def dtype_of(self, A: Array) -> np.dtype[Any]:
        return A.dtype

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Array:
        return np.zeros(shape, dtype, order="F")

    def identity(self, n: int, dtype: Any, scale: float = 1.0) -> Array:
        return scale * np.eye(n, dtype=dtype, order="F")

    def few_threads(self, operations: float) -> AbstractContextManager[Any]:
        return one_thread if operations < _ONE_THREAD else nullcontext()

    # Products

    def matmul(self, A: Array, B: Array) -> Array:
        if 0 in A.shape or 0 in B.shape:
            return np.zeros((A.shape[0], B.shape[1]), A.dtype)
        if B.shape[1] == 1 and A.dtype == B.dtype:  # several times faster than a matrix product
            if A.flags.f_contiguous:
                return GEMV[A.dtype](1.0, A, B[:, 0])[:, None]
            return GEMV[A.dtype](1.0, A.T, B[:, 0], trans=1)[:, None]
        a, a_transposed = (A, 1) if A.flags.f_contiguous else (A.T, 0)
        b, b_transposed = (B, 1) if B.flags.f_contiguous else (B.T, 0)
        gemm = _routine(_blas, "gemm", A)
        return gemm(1.0, b, a, trans_a=b_transposed, trans_b=a_transposed).T  # (AB)' = B'A'

    def column_squares(self, A: Array) -> Array:
        return np.einsum("ij,ij->j", A, A, dtype=np.float64)

    def running_sums(self, A: Array) -> Array:
        return np.concat([np.zeros_like(A[:1]), np.cumsum(A, axis=0)])

    def add_gram(self, G: Array, H: Array, sign: float = 1.0) -> Array:
        syrk = _routine(_blas, "syrk", G)
        if H.flags.f_contiguous:
            return syrk(sign, H, trans=1, beta=1.0, c=G, overwrite_c=1)
        return syrk(sign, H.T, beta=1.0, c=G, overwrite_c=1)

    def add_ridge(self, G: Array, ridge: float) -> Array:
        G[np.diag_indices_from(G)] += G.dtype.type(ridge)
        return G

    # Roots

    def root_with_ridge(self, G: Array, ridge: float, spare: Array | None = None) -> Array | None:
        R = np.empty_like(G) if spare is None else spare
        np.copyto(R, G)
        return self.cholesky(self.add_ridge(R, ridge))

    def gram_of_root(self, R: Array) -> Array:
        # LAPACK multiplies L'L for a lower triangular L, in a third of the operations of a product
        # that knows of one triangle. R is one with its rows and columns in reverse order.
        L = R[::-1, ::-1].copy(order="F")
        with _threads_for_root(R):
            product, _ = _routine(_lapack, "lauum", R)(L, lower=1, overwrite_c=1)
        return product[::-1, ::-1].copy(order="F")

    def cholesky(self, G: Array) -> Array | None:
        with _threads_for_root(G):
            R, info = _routine(_lapack, "potrf", G)(G, lower=0, clean=1, overwrite_a=1)
        return R if info == 0 and np.isfinite(np.diagonal(R)).all() else None

    def solve(self, R: Array, B: Array, *, transposed: bool = False, unit: bool = False) -> Array:
        if 0 in B.shape:
            return B.copy(order="F")
        if B.shape[1] == 1:  # two to ten times as fast as for a matrix
            trsv = _routine(_blas, "trsv", R)
            return trsv(R, B[:, 0], trans=int(transposed), diag=int(unit))[:, None]
        trsm = _routine(_blas, "trsm", R)
        if B.flags.c_contiguous and B.shape[1] >= _MANY:  # (R⁻¹B)' = B'R⁻ᵀ, without a copy
            return trsm(1.0, R, B.T, side=1, trans_a=int(not transposed), diag=int(unit)).T
        return trsm(1.0, R, B, trans_a=int(transposed), diag=int(unit))

    def append_rows(self, R: Array, Z: Array, H: Array, Y: Array) -> tuple[Array, Array, Array]:
        if not len(R):
            return R, Z, self.column_squares(Y)
        with one_thread:
            new, Z, left = _appended(R.copy(order="F"), Z.copy(order="F"), H, Y)
        return new, Z, self.column_squares(left)

    def append_diagonal(
        self, R: Array, Z: Array, d: float, targets: Array
    ) -> tuple[Array, Array, Array]:
        # Row j touches only what lies below and to the right of the j-th diagonal element of R:
        # a third of the operations of M rows.
        n, R, Z = len(R), R.copy(order="F"), Z.copy(order="F")
        left = targets.copy()
        with self.few_threads(0 if n < self.tuning.wide else np.inf):
            for start in range(0, n, _DIAGONAL):
                stop = min(n, start + _DIAGONAL)
                rows = np.zeros((stop - start, n - start), R.dtype)
                np.fill_diagonal(rows, d)
                corner, below = R[start:, start:].copy(order="F"), Z[start:].copy(order="F")
                corner, below, left[start:stop] = _appended(corner, below, rows, left[start:stop])
                R[start:, start:], Z[start:] = corner, below
        return R, Z, self.column_squares(left)

    def triangularise(self, A: Array) -> Array:
        A = np.asfortranarray(A)
        R = _scipy.qr(A, mode="r", overwrite_a=True, check_finite=False)[0]
        return np.asfortranarray(R[: min(A.shape)])

    # General matrices

    def svd(self, A: Array) -> tuple[Array, Array, Array]:
        try:
            with _threads_for_root(A):
                return _scipy.svd(A, full_matrices=False, check_finite=False)
        except np.linalg.LinAlgError:  # slower, and always converges
            return _scipy.svd(A, full_matrices=False, check_finite=False, lapack_driver="gesvd")


def orthogonal(A: Array) -> Array:
    """A square A made orthogonal; for normal numbers, in uniformly random directions."""
    Q, R = _scipy.qr(A, check_finite=False)
    return Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)


def root_of_largest(G: Array, tol: float) -> tuple[Array, Array]:
    """The places of rows and columns of G, largest pivots first, and their root.

    It ends where no pivot is larger than `tol`: what is left follows from these.
    """
    with _threads_for_root(G):
        R, order, rank, _ = _routine(_lapack, "pstrf", G)(G, tol=tol)
    return order[:rank] - 1, np.triu(R[:rank, :rank])


def _threads_for_root(A: Array) -> AbstractContextManager[Any]:
    """A context for LAPACK routines of many short steps on a matrix of this size."""
    return one_thread if min(A.shape) < _THREADED_ROOT else nullcontext()


def _appended(R: Array, Z: Array, H: Array, Y: Array) -> tuple[Array, Array, Array]:
    """R and Z, overwritten, after rows; and what these leave of Y."""
    reflectors = np.array(H, order="F")  # a copy: overwritten by the Householder vectors
    tpqrt, tpmqrt = _routine(_lapack, "tpqrt", R), _routine(_lapack, "tpmqrt", R)
    panel = min(_PANEL if len(R) > _NARROW else _NARROW_PANEL, len(R))
    R, V, T, _ = tpqrt(0, panel, R, reflectors, overwrite_a=1, overwrite_b=1)
    left = np.array(Y, order="F")
    Z, left, _ = tpmqrt(0, V, T, Z, left, trans="T", overwrite_a=1, overwrite_b=1)
    return R, Z, left
