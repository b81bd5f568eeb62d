"""The operations that a backend provides, and the numbers it is tuned by.

A *root* of a symmetric positive definite G is an upper triangular R with R'R = G; its diagonal may
be negative. Z goes with it, R'Z = H'Y for rows H and targets Y. Of a Gram matrix only the upper
triangle is ever read or written.

Operations never change their arguments, except where they say that an argument is *consumed*: its
memory may then hold the result, and it must not be used again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

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
    record_units : units from which `prequential` uses a Gram matrix and two threads
    record_block : rows in one block of that, as a part of the units; least and most
    kept_gram_units : up to how many units a Gram matrix is kept from one long chunk for the next
    refined_units : units from which a float32 Gram matrix is refined before it is made in float64
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
    record_units: int = 128
    record_block: tuple[float, int, int] = (0.6, 160, 1024)
    kept_gram_units: int = 2048
    refined_units: int = 2048


class Kernels(NamedTuple):
    """Operations on single rows, with as little as possible around them.

    Attributes
    ----------
    gemv : alpha·Ax + beta·y, or A'x with ``trans=1``, for Fortran-ordered A
    shared : numbers in a matrix from which `gemv` may use several threads
    """

    gemv: Callable[..., Any]
    shared: int


class Backend(Protocol):
    """Arrays of one kind, and linear algebra on them."""

    name: str
    tuning: Tuning

    @property
    def xp(self) -> Any:
        """The namespace of the array API standard for these arrays."""

    def asarray(self, A: Any, dtype: Any = None) -> Array:
        """An array of this backend; no copy where it is one already. `dtype` is NumPy's."""

    def to_numpy(self, A: Array) -> Array:
        """The same numbers as a NumPy array; no copy where possible."""

    def copy(self, A: Array) -> Array:
        """The same numbers in memory of their own, laid out as by `zeros`."""

    def dtype_of(self, A: Array) -> np.dtype[Any]:
        """NumPy's name for the dtype of an array."""

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Zeros, laid out so that `add_gram` can work in place. `dtype` is NumPy's."""

    def few_threads(self, operations: float) -> AbstractContextManager[Any]:
        """A context for so many operations, on one thread if more would not be worth it."""

    def matmul(self, A: Array, B: Array) -> Array:
        """A @ B."""

    def column_squares(self, A: Array) -> Array:
        """The sums of squares of the columns, as a NumPy array of float64."""

    def row_squares(self, A: Array) -> Array:
        """The sums of squares of the rows, as a NumPy array of float64."""

    def largest(self, A: Array) -> Any:
        """The largest absolute value, as an array without dimensions; nan where there is one."""

    def running_sums(self, A: Array) -> Array:
        """The sums of the rows before the first, the second, ... row, and of all."""

    def add_gram(self, G: Array, H: Array, sign: float = 1.0) -> Array:
        """G + sign·H'H. G is consumed."""

    def with_ridge(self, G: Array, ridge: float, *, consume: bool = False) -> Array:
        """G + ridge·I; with `consume`, G is consumed."""

    def root_with_ridge(self, G: Array, ridge: float, spare: Array | None = None) -> Array | None:
        """The root of G + ridge·I, None where there is none. `spare`, as large, is consumed."""

    def root_and_solved(
        self,
        G: Array,
        C: Array,
        ridge: float = 0.0,
        spare: Array | None = None,
        *,
        consume: bool = False,
    ) -> tuple[Array, Array] | None:
        """The root R of G + ridge·I and R⁻ᵀC; None where there is none.

        `spare`, as large as G, is consumed, and with `consume` G itself.
        """

    def gram_of_root(self, R: Array) -> Array:
        """R'R."""

    def cholesky(self, G: Array) -> Array | None:
        """The root of G; None where there is none. G is consumed."""

    def solve(self, R: Array, B: Array, *, transposed: bool = False, unit: bool = False) -> Array:
        """R⁻¹B, or R⁻ᵀB; with `unit` the diagonal of R is taken as one.

        A zero on the diagonal gives inf or nan, never an exception.
        """

    def inverse_of_gram(self, R: Array) -> Array:
        """(R'R)⁻¹, or its pseudoinverse where R is singular."""

    def trace_of_inverse(self, R: Array) -> float:
        """The trace of (R'R)⁻¹; infinite where R is singular."""

    def condition(self, R: Array) -> float:
        """The condition number of R with its columns scaled to length one, within a factor of two.

        The units of the columns do not matter to a Cholesky factorisation.
        """

    def smallest_singular_value(self, R: Array) -> float:
        """Of a root, within a factor of two; infinite for one of size zero."""

    def append_rows(self, R: Array, Z: Array, H: Array, Y: Array) -> tuple[Array, Array, Array]:
        """The root of R'R + H'H, its right-hand side, and what is added to the loss (NumPy).

        From the QR factorisation of [[R, Z], [H, Y]]. The loss is the residual sum of squares of
        each output.
        """

    def append_diagonal(
        self, R: Array, Z: Array, d: float, targets: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """`append_rows` of the M rows d·I; without `targets` these are zero."""

    def triangularise(self, A: Array) -> Array:
        """The triangular factor of A = QR; upper trapezoidal if A is wide. A is consumed."""

    def root_of_identity_plus(self, Ft: Array) -> Array:
        """L' with LL' = I + FF', given F'. F' is consumed."""

    def svd(self, A: Array) -> tuple[Array, Array, Array]:
        """The thin singular value decomposition U, s, V'."""

    def orthogonal(self, A: Array) -> Array:
        """A square A made orthogonal; for normal numbers, in uniformly random directions."""

    def kernels(self, dtype: Any) -> Kernels | None:
        """Operations on single rows; None where there are none that are fast."""


def eps(dtype: Any) -> float:
    """The spacing of floating-point numbers at one."""
    return float(np.finfo(dtype).eps)


def threads_for_rows(b: Backend, n: int) -> AbstractContextManager[Any]:
    """A context for products of so many rows, on one thread where they are few."""
    return b.few_threads(0 if n < b.tuning.pending_rows else np.inf)


def longest_rows(dtype: Any) -> float:
    """The sum of squares of F up to which I + FF' keeps its digits."""
    return _LONGEST[np.dtype(dtype).char] / eps(dtype)
