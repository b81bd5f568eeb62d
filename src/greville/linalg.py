"""Triangular roots and the kernels that move them: the only door to BLAS and LAPACK.

A *root* of a symmetric positive definite G is an upper triangular R with R'R = G. Its diagonal may
be negative. Roots and what goes with them (Z, with R'Z = H'Y) are Fortran-ordered, so that LAPACK
works on them in place, and zero below the diagonal. Rows of activations are C-ordered, and their
transposes are what LAPACK wants.

Everything here runs in SciPy's BLAS. NumPy's wheel carries a second one with a pool of spinning
threads of its own, and two such pools on the same cores slow each other down many times over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as _scipy
from scipy.linalg import blas as _blas
from scipy.linalg import lapack as _lapack

Array = NDArray[Any]

# Columns LAPACK eliminates at a time. Measured for 64 to 256 rows: on 500 to 4000 columns 16 to 64
# are within a tenth of each other, 8 and 128 up to twice as slow; on 100 columns 16 takes 114 µs,
# 32 takes 142.
_PANEL = 32
_NARROW, _NARROW_PANEL = 200, 16

# Rows of a diagonal matrix appended at a time. LAPACK can be told that they are triangular, and
# then takes ten times as long as with these blocks (M = 2000).
_DIAGONAL = 128

# How large eps·κ² may be for a root with condition number κ that comes from a Gram matrix. At worst
# that much the Gram matrix adds to the relative error of the weights (a ninetieth of it on MNIST
# activations). What is too much in float32 is done again in float64, where 1e-4 is little next to
# the rounding of the result; what is too much there goes through a QR. Large layers stay in float32
# for longer, and are refined before they go to float64, which takes twice as long.
_SAFE = {"dd": 5e-9, "fd": 1e-4, "ff": 0.03}
_SAFE_IF_LARGE = 0.3
_LARGE = 2048

# How much must be left in a direction after rows are removed, next to rounding, to be believed.
_LEAST_LEFT = 100

# The relative error that removing rows, or learning and removing some in one go, may add.
_LARGEST_SIGNED = {"d": 1e-9, "f": 1e-3}

# The relative error that I + FF' in place of its root may add, for rows of F of any length.
_LONGEST = {"d": 2e-12, "f": 1e-5}

# Two passes of Gram-Schmidt are enough unless the second shrank the vector this much again.
_REORTHOGONALISE = 0.7


def _blas_routine(name: str, like: Array) -> Any:
    return getattr(_blas, ("d" if like.dtype.char == "d" else "s") + name)


def _lapack_routine(name: str, like: Array) -> Any:
    return getattr(_lapack, ("d" if like.dtype.char == "d" else "s") + name)


# Products with vectors, looked up once where every microsecond counts.
DOT = {np.dtype("d"): _blas.ddot, np.dtype("f"): _blas.sdot}
GEMV = {np.dtype("d"): _blas.dgemv, np.dtype("f"): _blas.sgemv}
TRSV = {np.dtype("d"): _blas.dtrsv, np.dtype("f"): _blas.strsv}


# Numbers in a matrix from which OpenBLAS may use several threads for its product with a vector.
# (A triangular solve with one vector always runs on one.)
SHARED = 9216


def matmul(A: Array, B: Array) -> Array:
    """A @ B, C-ordered, without a copy of either where they are contiguous in any order."""
    if 0 in A.shape or 0 in B.shape:
        return np.zeros((A.shape[0], B.shape[1]), A.dtype)
    if B.shape[1] == 1 and A.dtype == B.dtype:  # several times faster than a matrix product
        if A.flags.f_contiguous:
            return GEMV[A.dtype](1.0, A, B[:, 0])[:, None]
        return GEMV[A.dtype](1.0, A.T, B[:, 0], trans=1)[:, None]
    a, a_transposed = (A, 1) if A.flags.f_contiguous else (A.T, 0)
    b, b_transposed = (B, 1) if B.flags.f_contiguous else (B.T, 0)
    gemm = _blas_routine("gemm", A)
    return gemm(1.0, b, a, trans_a=b_transposed, trans_b=a_transposed).T  # (AB)' = B'A'


def matvec(A: Array, x: Array) -> Array:
    """A @ x for a Fortran-ordered A."""
    return GEMV[A.dtype](1.0, A, x)


def solve_root(R: Array, B: Array, *, transposed: bool = False) -> Array:
    """R⁻¹B, or R⁻ᵀB. A zero on the diagonal gives inf or nan, never an exception."""
    if 0 in B.shape:
        return B.copy(order="F")
    return _blas_routine("trsm", R)(1.0, R, B, trans_a=int(transposed))


def append_rows(R: Array, Z: Array, H: Array, Y: Array) -> Array:
    """Turn R, Z in place into the root of R'R + H'H and its right-hand side; return what is left.

    The QR factorisation of [[R, Z], [H, Y]]. The sum of squares of what is left, one column per
    output, is what these rows add to the residual sum of squares.
    """
    reflectors = np.array(H, order="F")  # a copy: overwritten by the Householder vectors
    tpqrt, tpmqrt = _lapack_routine("tpqrt", R), _lapack_routine("tpmqrt", R)
    panel = min(_PANEL if len(R) > _NARROW else _NARROW_PANEL, len(R))
    _, V, T, _ = tpqrt(0, panel, R, reflectors, overwrite_a=1, overwrite_b=1)
    _, left, _ = tpmqrt(0, V, T, Z, np.array(Y, order="F"), trans="T", overwrite_a=1, overwrite_b=1)
    return left


def append_diagonal(R: Array, Z: Array, d: float, targets: Array) -> Array:
    """`append_rows` of the M rows d·I, at a third of the price.

    Row j touches only what lies below and to the right of the j-th diagonal element of R.
    """
    n, left = R.shape[0], targets.copy()
    for start in range(0, n, _DIAGONAL):
        stop = min(n, start + _DIAGONAL)
        rows = np.zeros((stop - start, n - start), R.dtype)
        np.fill_diagonal(rows, d)
        corner, below = R[start:, start:].copy(order="F"), Z[start:].copy(order="F")
        left[start:stop] = append_rows(corner, below, rows, left[start:stop])
        R[start:, start:], Z[start:] = corner, below
    return left


def remove_rows(
    R: Array, Z: Array, H: Array, Y: Array, least: float | None = None
) -> tuple[Array, Array] | None:
    """The root of R'R - H'H and its right-hand side, in new arrays; None where there is none.

    With F = R⁻ᵀH' that is R'(I - FF')R. For LL' = I - F'F and K = (I + L')⁻¹ the matrix in the
    middle is C'C with C = I - FKF', whose inverse transposed is I + FKL⁻¹F'. So the root is the
    triangular factor of CR = R - FKH. Each row must leave L_kk² >= `least` of its direction.
    """
    if least is None:
        least = _LEAST_LEFT * len(R) * float(np.finfo(R.dtype).eps)
    F = solve_root(R, H.T, transposed=True)
    G = np.eye(len(H), dtype=R.dtype, order="F")
    G -= matmul(F.T, F)
    Lt = root_of_gram(G)  # nan and inf give None
    if Lt is None or np.diagonal(Lt).min() ** 2 < least:
        return None
    left = Z - matmul(F, Y)
    inner = solve_root(Lt, matmul(F.T, left), transposed=True)
    Lt[np.diag_indices_from(Lt)] += 1
    left += matmul(F, np.ascontiguousarray(solve_root(Lt, inner)))
    return root_and_targets(R - matmul(F, np.ascontiguousarray(solve_root(Lt, H))), left)


def remove_diagonal(R: Array, Z: Array, d: float) -> tuple[Array, Array] | None:
    """`remove_rows` of the M rows d·I with zero targets."""
    G = gram_of_root(R)
    G[np.diag_indices_from(G)] -= R.dtype.type(d) ** 2
    root = root_of_gram(G)
    if root is not None and gram_is_safe(root, R.dtype):
        return root, solve_root(root, matmul(R.T, Z), transposed=True)
    U, s, Vt = svd(R)
    if s[-1] <= d * (1 + _LEAST_LEFT * len(R) * np.finfo(R.dtype).eps):
        return None
    left = np.sqrt((s - d) * (s + d))[:, None]
    return root_and_targets(left * Vt, s[:, None] / left * matmul(U.T, Z))


def root_and_targets(A: Array, B: Array) -> tuple[Array, Array]:
    """R and Z with R'R = A'A and R'Z = A'B, for a square A."""
    both = triangularise(np.asfortranarray(np.hstack([A, B])))
    return np.asfortranarray(both[:, : A.shape[1]]), np.asfortranarray(both[:, A.shape[1] :])


def triangularise(A: Array) -> Array:
    """The triangular factor of A = QR, A overwritten; upper trapezoidal if A is wide."""
    return _scipy.qr(A, mode="r", overwrite_a=True, check_finite=False)[0]


def orthogonal(A: Array) -> Array:
    """A square A made orthogonal; for normal numbers, in uniformly random directions."""
    Q, R = _scipy.qr(A, check_finite=False)
    return Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)


def innovations(R: Array, W: Array, H: Array, Y: Array) -> Array | None:
    """Errors y - aW of every row, each before that row and after all before it were learned.

    With F = HR⁻¹ and LL' = I + FF', the vector L⁻¹(Y - HW) holds these errors, each divided by its
    L_kk. None where R is too close to singular for finite numbers.
    """
    Ft = solve_root(R, H.T, transposed=True)
    if not np.isfinite(Ft).all():
        return None
    Lt = _root_of_sum(Ft)
    V = solve_root(Lt, Y - matmul(H, W), transposed=True)
    errors = np.diagonal(Lt)[:, None] * V
    return errors if np.isfinite(errors).all() else None


def innovation_parts(R: Array, W: Array, H: Array, Y: Array) -> tuple[Array, Array, Array] | None:
    """What rows do one after the other, each before it is learned and after all before it were.

    For every row: a'θa; what it adds to the loss of each output; what it takes from trace(θ).
    """
    Ft = solve_root(R, H.T, transposed=True)
    if not np.isfinite(Ft).all():
        return None
    thetaH = solve_root(R, Ft)  # θH'
    Lt = _root_of_sum(Ft)
    V = solve_root(Lt, Y - matmul(H, W), transposed=True)
    taken = solve_root(Lt, thetaH.T, transposed=True)  # (LL')⁻¹ = L⁻ᵀL⁻¹ in Woodbury's formula
    parts = np.diagonal(Lt) ** 2 - 1, V**2, np.einsum("ij,ij->i", taken, taken)
    return parts if all(np.isfinite(part).all() for part in parts) else None


def trace_of_inverse(R: Array) -> float:
    """The trace of (R'R)⁻¹; infinite where R is singular."""
    inverse, info = _lapack_routine("trtri", R)(R, lower=0)
    return float(np.einsum("ij,ij->", inverse, inverse)) if info == 0 else float("inf")


def column_squares(A: Array) -> Array:
    """Sums of squares of the columns, in float64."""
    return np.einsum("ij,ij->j", A, A, dtype=np.float64)


def squared_lengths(R: Array, H: Array) -> Array:
    """a'(R'R)⁻¹a for every row a of H."""
    Ft = solve_root(R, H.T, transposed=True)
    return np.einsum("ij,ij->j", Ft, Ft)


def signed_weights_after(
    R: Array, W: Array, H: Array, Y: Array, signs: Array, condition: float
) -> Array | None:
    """W after rows of which some (sign 1) are learned and others (sign -1) removed.

    R, of this `condition`, and W stay as they are. None where too many digits would be lost.
    """
    Ft = solve_root(R, H.T, transposed=True)
    K = _signed_gram(Ft, signs)
    size = float(np.abs(K).sum(axis=0).max())
    factor, pivots, gain, info = _lapack_routine("sysv", R)(K, Y - matmul(H, W))
    if info != 0:
        return None
    reciprocal = float(_lapack_routine("sycon", R)(factor, pivots, size)[0])
    if not signed_error(condition, R.dtype) <= reciprocal * _LARGEST_SIGNED[R.dtype.char]:
        return None
    after = W + solve_root(R, matmul(Ft, np.ascontiguousarray(gain)))
    return np.ascontiguousarray(after) if np.isfinite(after).all() else None


def signed_error(condition: float, dtype: Any) -> float:
    """The relative error of weights from rows that come and go in one well-conditioned step."""
    return float(np.finfo(dtype).eps) * condition


def signed_is_safe(R: Array) -> bool:
    """Whether a root from which rows were removed has kept enough digits.

    What removing rounds is eps of the Gram matrix, and counts as much as κ² makes of it.
    """
    error = float(np.finfo(R.dtype).eps) * condition(R) ** 2
    return error <= _LARGEST_SIGNED[R.dtype.char]  # nan compares false


def _signed_gram(Ft: Array, signs: Array) -> Array:
    """D + FF' for the diagonal matrix D of signs."""
    K = matmul(Ft.T, Ft)
    K[np.diag_indices_from(K)] += signs
    return K


def signed_innovations(
    R: Array, W: Array, H: Array, Y: Array, signs: Array, condition: float
) -> Array | None:
    """`innovations` for rows of which some (sign 1) are learned and others (sign -1) removed.

    With D the signs and F = HR⁻¹, L⁻¹(Y - HW) holds the errors, for D + FF' = LD'L' with ones on
    the diagonal of L. None where D' has not the signs of D, so that a row cannot be removed, or
    where too many digits would be lost.
    """
    K = _signed_gram(solve_root(R, H.T, transposed=True), signs)
    errors = Y - matmul(H, W)
    lost = signed_error(condition, R.dtype) / _LARGEST_SIGNED[R.dtype.char]
    least = lost * float(np.abs(K).max())
    for i in range(len(K)):
        pivot = K[i, i]
        if not signs[i] * pivot > least:
            return None
        column = K[i + 1 :, i] / pivot
        K[i + 1 :, i + 1 :] -= column[:, None] * K[i, i + 1 :]
        errors[i + 1 :] -= column[:, None] * errors[i]
    return errors if np.isfinite(errors).all() else None


def _root_of_sum(Ft: Array) -> Array:
    """L' with LL' = I + FF', F' overwritten.

    By QR of [I; F'], unless the rows are so short that a Cholesky factor, which squares the
    condition, loses nothing; it takes a third of the time.
    """
    n = Ft.shape[1]
    if np.einsum("ij,ij->", Ft, Ft) < longest_rows(Ft.dtype):
        Lt = root_of_gram(gram_of_columns(Ft, np.eye(n, dtype=Ft.dtype, order="F")))
        assert Lt is not None  # I + FF' has no eigenvalue below one
        return Lt
    eye = np.eye(n, dtype=Ft.dtype, order="F")
    tpqrt = _lapack_routine("tpqrt", Ft)
    return tpqrt(0, min(_PANEL, n), eye, Ft, overwrite_a=1, overwrite_b=1)[0]


def longest_rows(dtype: Any) -> float:
    """The sum of squares of F up to which I + FF' keeps its digits."""
    return _LONGEST[np.dtype(dtype).char] / float(np.finfo(dtype).eps)


def gram_of_columns(F: Array, S: Array) -> Array:
    """S + F'F, the upper triangle only, in the memory of S."""
    return _blas_routine("syrk", F)(1.0, F, trans=1, beta=1.0, c=S, overwrite_c=1)


def gram_of_rows(H: Array) -> Array:
    """HH' of a few rows; only the lower triangle of the C-ordered result means anything."""
    return _blas_routine("syrk", H)(1.0, H.T, trans=1).T


def solve_unit_lower(L: Array, B: Array) -> Array:
    """L⁻¹B for a C-ordered L, of which only what lies below the diagonal is read."""
    return _blas_routine("trsm", L)(1.0, L.T, B, trans_a=1, diag=1)


def add_gram(G: Array, H: Array) -> None:
    """G += H'H, the upper triangle only, in place."""
    _blas_routine("syrk", G)(1.0, H.T, beta=1.0, c=G, overwrite_c=1)


def subtract_gram(G: Array, H: Array) -> None:
    """G -= H'H, the upper triangle only, in place."""
    _blas_routine("syrk", G)(-1.0, H.T, beta=1.0, c=G, overwrite_c=1)


def gram_of_root(R: Array) -> Array:
    """R'R in a new array, the upper triangle only.

    LAPACK multiplies L'L for a lower triangular L, in a third of the operations of a product that
    knows of one triangle. R is one with its rows and columns in reverse order.
    """
    L = R[::-1, ::-1].copy(order="F")
    product, _ = _lapack_routine("lauum", R)(L, lower=1, overwrite_c=1)
    return product[::-1, ::-1].copy(order="F")


def with_ridge(G: Array, ridge: float) -> Array:
    """G + ridge·I in a new array."""
    more = G.copy(order="F")
    add_ridge(more, ridge)
    return more


def add_ridge(G: Array, ridge: float) -> None:
    """The same in place."""
    G[np.diag_indices_from(G)] += G.dtype.type(ridge)


def root_of_gram(G: Array) -> Array | None:
    """The root of G, in G's memory; None where there is none."""
    R, info = _lapack_routine("potrf", G)(G, lower=0, clean=1, overwrite_a=1)
    return R if info == 0 and np.isfinite(np.diagonal(R)).all() else None


def rank_and_explained(G: Array, C: Array, ridge: float) -> tuple[int, Array]:
    """The rank of G to rounding, or above a ridge that it contains, and what C has there.

    By a Cholesky factor with pivots, which stops where nothing is left: the sums of squares of
    R⁻ᵀC, over the pivots, for each column of C = H'Y.
    """
    tol = max(len(G) * float(np.finfo(G.dtype).eps) * float(G.diagonal().max()), 10 * ridge)
    R, pivots, rank, _ = _lapack_routine("pstrf", G)(G, lower=0, tol=tol)
    R = np.asfortranarray(np.triu(R[:rank, :rank]))
    Z = solve_root(R, np.asfortranarray(C[pivots[:rank] - 1]), transposed=True)
    return int(rank), column_squares(Z)


def gram_is_safe(R: Array, dtype: Any, *, noisy: bool = False) -> bool:
    """Whether weights of a dtype that come from R'R in place of R keep enough digits.

    Of `noisy` ones, whose ridge was chosen by the noise, two digits are enough in float32.
    """
    return part_of_safe_error(R, dtype, noisy=noisy) <= 1  # nan compares false


def part_of_safe_error(R: Array, dtype: Any, *, noisy: bool = False) -> float:
    """What `gram_is_safe` compares, as a part of its limit."""
    error = float(np.finfo(R.dtype).eps) * condition(R) ** 2
    lenient = noisy and R.dtype.char == "f"
    limit = _SAFE_IF_LARGE if lenient else _largest_gram_error(R, dtype)
    return error / limit if limit > 0 else np.inf


def gram_can_be_refined(R: Array) -> bool:
    """Whether R'R, not safe as it is, is good enough for a step of iterative refinement."""
    return len(R) >= _LARGE and R.dtype.char == "f"


def smallest_safe_ridge(G: Array, dtype: Any) -> float:
    """The least ridge·I in G, whose rank is otherwise incomplete, with which its root is safe."""
    return float(np.finfo(G.dtype).eps / _largest_gram_error(G, dtype) * G.diagonal().min())


def _largest_gram_error(like: Array, dtype: Any) -> float:
    kinds = np.dtype(dtype).char + like.dtype.char
    return _SAFE_IF_LARGE if kinds == "ff" and len(like) >= _LARGE else _SAFE[kinds]


def condition(R: Array) -> float:
    """The condition number of a root with its columns scaled to length one.

    By eight steps of power iteration each way, 32M² operations; from below, and seldom by more
    than a factor of two. The units of the columns do not matter to a Cholesky factorisation.
    """
    start = np.random.RandomState(0).normal(size=len(R)).astype(R.dtype)
    product = 1.0
    with np.errstate(all="ignore"):
        d = np.sqrt(np.einsum("ij,ij->j", R, R))
        trmv, trsv = _blas_routine("trmv", R), _blas_routine("trsv", R)
        for routine, scale, order in ((trmv, 1 / d, (0, 1)), (trsv, d, (1, 0))):
            v = start
            for _ in range(8):
                v = routine(R, scale * _unit(v), trans=order[0])
                v = scale * routine(R, _unit(v), trans=order[1])
            product *= float(np.linalg.norm(v))
    return product


def smallest_singular_value(R: Array) -> float:
    """Of a root, by eight steps of power iteration; from above, seldom by more than two."""
    if not len(R):
        return float("inf")
    v = np.random.RandomState(0).normal(size=len(R)).astype(R.dtype)
    trsv = _blas_routine("trsv", R)
    with np.errstate(all="ignore"):
        for _ in range(8):
            v = trsv(R, trsv(R, _unit(v), trans=1))
        size = float(np.linalg.norm(v))
    return 1 / float(np.sqrt(size)) if size > 0 and np.isfinite(size) else 0.0


def _unit(v: Array) -> Array:
    return v / np.linalg.norm(v)


def inverse_of_root(R: Array) -> Array:
    """(R'R)⁻¹, or its pseudoinverse where R is singular."""
    inverse, info = _lapack_routine("potri", R)(R, lower=0)
    if info == 0 and np.isfinite(inverse).all():
        return inverse + np.triu(inverse, 1).T
    half = _scipy.pinv(R, check_finite=False)
    return matmul(half, half.T)


def solve_minimum_norm(R: Array, Z: Array) -> Array:
    """The least-squares solution of RW = Z of minimum norm, for an R that is singular."""
    U, s, Vt = svd(R)
    return matmul(Vt.T * _inverted(s, s.size), matmul(U.T, Z))


def svd(A: Array) -> tuple[Array, Array, Array]:
    """The thin SVD, by the slower and safer driver where the fast one does not converge."""
    try:
        return _scipy.svd(A, full_matrices=False, check_finite=False)
    except np.linalg.LinAlgError:
        return _scipy.svd(A, full_matrices=False, check_finite=False, lapack_driver="gesvd")


def ridge_by_svd(H: Array, Y: Array, epsilon: float) -> Array:
    """The W that minimises |HW - Y|² + epsilon²|W|²; of minimum norm for epsilon = 0, eq. (4)."""
    U, s, Vt = svd(H)
    if epsilon > 0:
        filters = s / np.hypot(s, epsilon) / np.hypot(s, epsilon)  # hypot: no overflow in s²
    else:
        filters = _inverted(s, max(H.shape))
    return matmul(Vt.T * filters, matmul(U.T, Y))


def _inverted(s: Array, size: int) -> Array:
    """1/s, and zero for what is rounding next to the largest or too small to be inverted."""
    limits = np.finfo(s.dtype)
    smallest = max(size * limits.eps * s.max(initial=0.0), limits.tiny)
    return np.divide(1.0, s, out=np.zeros_like(s), where=s > smallest)


def extend_basis(Q: Array, H: Array, tol: float) -> tuple[Array, Array, Array]:
    """Write the rows of H in an orthonormal basis of rows that grows where a row is new.

    Returns the basis Q', the coordinates T with H = TQ' and, per row, whether it was new: whether
    |c_k| > tol·|a_k| for the part c_k of a_k outside the span of all rows before it, eq. (10).
    """
    rank, n = Q.shape[0], H.shape[0]
    room = min(n, Q.shape[1] - rank)
    unit = np.abs(H).max(axis=1, keepdims=True, initial=0.0)
    unit[unit == 0] = 1
    C = H / unit  # no overflow in squares
    limit = tol**2 * _squares(C)
    T = np.zeros((n, rank + room), Q.dtype)
    for _ in range(2):  # classical Gram-Schmidt, twice: orthogonal to rounding
        t = matmul(C, Q.T)
        T[:, :rank] += t
        C -= matmul(t, Q)
    found = np.zeros((room, Q.shape[1]), Q.dtype)
    new = np.zeros(n, dtype=bool)
    k = 0
    for i in np.flatnonzero(_squares(C) > limit):
        c, along = C[i], T[i, rank : rank + k]
        before = _squares(c)
        for _ in range(2):
            t = _along(c, found[:k])
            c -= _along(t, found[:k].T)
            along += t
        after = _squares(c)
        if after < _REORTHOGONALISE**2 * before:
            t, t_found = _along(c, Q), _along(c, found[:k])
            c -= _along(t, Q.T) + _along(t_found, found[:k].T)
            T[i, :rank] += t
            along += t_found
            after = _squares(c)
        if k < room and after > limit[i]:
            T[i, rank + k] = np.sqrt(after)
            found[k] = c / np.sqrt(after)
            new[i] = True
            k += 1
    T = np.ascontiguousarray(T[:, : rank + k]) * unit
    return np.concatenate([Q, found[:k]]), T, new


def _along(c: Array, rows: Array) -> Array:
    return matmul(c[None], rows.T)[0]


def _squares(rows: Array) -> Any:
    """The sum of squares of each row."""
    return np.einsum("...j,...j->...", rows, rows)
