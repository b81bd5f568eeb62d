"""Triangular roots of Gram matrices: pure functions on a backend.

They solve, predict in order, remove rows, extend a basis, and say how many digits a Gram matrix
loses, which squares the condition number of its rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .backend import Array, Backend, eps

# How large eps·κ² may be for a root with condition number κ that comes from a Gram matrix, by the
# dtypes of the weights and of that matrix. At worst that much the Gram matrix adds to the relative
# error of the weights (a ninetieth of it on MNIST activations). What is too much in float32 is done
# again in float64, where 1e-4 is little next to the rounding of the result; what is too much there
# goes through a QR factorisation. How much is too much in float32 depends on the backend; wide
# layers stay there for longer, and are refined before they go to float64, which takes twice as
# long.
_SAFE = {"dd": 5e-9, "fd": 1e-4}
_SAFE_IF_WIDE = 0.3

# How much must be left in a direction after rows are removed, relative to rounding.
_LEAST_OVER_ROUNDING = 100

# The relative error that removing rows, or learning and removing some in one go, may add.
_LARGEST_SIGNED = {"d": 1e-9, "f": 1e-3}

# Two passes of Gram-Schmidt are enough unless the second shrank the vector this much again.
_REORTHOGONALISE = 0.7

# Rows of which so much is outside the span of those before them are orthonormalised together, and
# once: that multiplies rounding by no more than one over it. With a ridge all rows have pivots.
_FAR, _RIDGE = 0.1, 1e-4


# How many digits a Gram matrix loses


def gram_error(b: Backend, R: Array, dtype: Any, *, noisy: bool = False) -> float:
    """Return the rounding error of weights from R'R, as a fraction of the allowed error.

    Where the ridge was chosen by the noise (`noisy`), two digits are enough in float32.
    """
    kind = b.dtype_of(R)
    error = eps(kind) * b.condition(R) ** 2
    limit = (
        _SAFE_IF_WIDE if noisy and kind.char == "f" else _largest_error(b, R.shape[0], dtype, kind)
    )
    return error / limit if limit > 0 else np.inf


def gram_is_safe(b: Backend, R: Array, dtype: Any) -> bool:
    """Whether weights of a dtype that come from R'R in place of R keep enough digits."""
    return gram_error(b, R, dtype) <= 1  # nan compares false


def smallest_safe_ridge(b: Backend, G: Array, dtype: Any) -> float:
    """The least ridge in a Gram matrix of incomplete rank with which its root is safe."""
    kind = b.dtype_of(G)
    smallest = float(b.xp.min(b.xp.linalg.diagonal(G)))
    return eps(kind) / _largest_error(b, G.shape[0], dtype, kind) * smallest


def _largest_error(b: Backend, n_units: int, dtype: Any, kind: Any) -> float:
    kinds = np.dtype(dtype).char + kind.char
    if kinds != "ff":
        return _SAFE[kinds]
    return _SAFE_IF_WIDE if n_units >= b.tuning.refined_units else b.tuning.float32_gram


# Weights


def solve_weights(b: Backend, R: Array, Z: Array) -> Array:
    """R⁻¹Z, or where R is singular the least-squares solution of minimum norm."""
    W = b.solve(R, Z)
    return W if _finite(b, W) else ridge_by_svd(b, R, Z, 0.0)


def ridge_by_svd(b: Backend, H: Array, Y: Array, epsilon: float, digits: float = 1.0) -> Array:
    """The W that minimises |HW - Y|² + epsilon²|W|²; of minimum norm for epsilon = 0, eq. (4).

    Singular values count as zero then that are rounding, or up to `digits` times as large.
    """
    U, s, Vt = b.svd(H)
    values = b.to_numpy(s)
    if epsilon > 0:
        filters = values / np.hypot(values, epsilon) / np.hypot(values, epsilon)  # no overflow
    else:  # zero for what is rounding next to the largest, or too small to be inverted
        limits = np.finfo(values.dtype)
        rounding = digits * max(H.shape) * limits.eps
        smallest = max(rounding * values.max(initial=0.0), limits.tiny)
        filters = np.divide(1.0, values, out=np.zeros_like(values), where=values > smallest)
    return b.matmul(Vt.T * b.asarray(filters.astype(values.dtype)), b.matmul(U.T, Y))


def leading_rows(b: Backend, R: Array) -> int:
    """Count the rows of R that are more than rounding: at first, as many as were learned."""
    squares = b.row_squares(R)
    used = np.flatnonzero(squares > (eps(b.dtype_of(R)) ** 2) * squares.max())
    return int(used[-1]) + 1 if used.size else 1


def root_and_targets(b: Backend, A: Array, B: Array) -> tuple[Array, Array]:
    """R and Z with R'R = A'A and R'Z = A'B, for a square A."""
    n = A.shape[1]
    both = b.triangularise(b.xp.concat([A, B], axis=1))
    return both[:, :n], both[:, n:]


def leverages(b: Backend, R: Array, H: Array) -> Array:
    """a'(R'R)⁻¹a for every row a of H, as a NumPy array."""
    return b.column_squares(b.solve(R, H.T, transposed=True))


# Rows one after the other


def innovations(b: Backend, R: Array, W: Array, H: Array, Y: Array) -> Array | None:
    """Return the prediction error of every row, made after all earlier rows and before that row.

    With F = HR⁻¹ and LL' = I + FF', the vector L⁻¹(Y - HW) holds these errors, each divided by its
    L_kk. None where R is too close to singular for finite numbers.
    """
    Ft = b.solve(R, H.T, transposed=True)
    if not _finite(b, Ft):
        return None
    Lt = b.root_of_identity_plus(Ft)
    V = b.solve(Lt, Y - b.matmul(H, W), transposed=True)
    errors = _diagonal(b, Lt)[:, None] * V
    return errors if _finite(b, errors) else None


def innovation_parts(
    b: Backend, R: Array, W: Array, H: Array, Y: Array
) -> tuple[Array, Array, Array] | None:
    """Return what each row changes, when rows are learned one after the other.

    For every row, as NumPy arrays: a'θa; what it adds to the loss of each output; what it takes
    from trace(θ).
    """
    Ft = b.solve(R, H.T, transposed=True)
    if not _finite(b, Ft):
        return None
    theta_H = b.solve(R, Ft)  # θH'
    Lt = b.root_of_identity_plus(Ft)
    V = b.to_numpy(b.solve(Lt, Y - b.matmul(H, W), transposed=True)).astype(np.float64)
    taken = b.solve(Lt, theta_H.T, transposed=True)  # (LL')⁻¹ = L⁻ᵀL⁻¹ in Woodbury's formula
    diagonal = b.to_numpy(_diagonal(b, Lt)).astype(np.float64)
    parts = diagonal**2 - 1, V**2, b.row_squares(taken)
    return parts if all(np.isfinite(part).all() for part in parts) else None


# Removing


def remove_rows(
    b: Backend, R: Array, Z: Array, H: Array, Y: Array, least: float | None = None
) -> tuple[Array, Array] | None:
    """The root of R'R - H'H and its right-hand side; None where there is none.

    With F = R⁻ᵀH' that is R'(I - FF')R. For LL' = I - F'F and K = (I + L')⁻¹ the matrix in the
    middle is C'C with C = I - FKF', whose inverse transposed is I + FKL⁻¹F'. So the root is the
    triangular factor of CR = R - FKH. Each row must leave L_kk² >= `least` of its direction.
    """
    if least is None:
        least = _LEAST_OVER_ROUNDING * R.shape[0] * eps(b.dtype_of(R))
    F = b.solve(R, H.T, transposed=True)
    eye = b.identity(H.shape[0], b.dtype_of(R))
    Lt = b.cholesky(eye - b.matmul(F.T, F))  # nan and inf give None
    if Lt is None or float(b.xp.min(_diagonal(b, Lt))) ** 2 < least:
        return None
    left = Z - b.matmul(F, Y)
    inner = b.solve(Lt, b.matmul(F.T, left), transposed=True)
    Lt = Lt + eye
    left = left + b.matmul(F, b.solve(Lt, inner))
    return root_and_targets(b, R - b.matmul(F, b.solve(Lt, H)), left)


def remove_diagonal(b: Backend, R: Array, Z: Array, d: float) -> tuple[Array, Array] | None:
    """`remove_rows` of the M rows d·I with zero targets."""
    dtype = b.dtype_of(R)
    root = b.cholesky(b.add_ridge(b.gram_of_root(R), -(d**2)))
    if root is not None and gram_is_safe(b, root, dtype):
        return root, b.solve(root, b.matmul(R.T, Z), transposed=True)
    U, s, Vt = b.svd(R)
    values = b.to_numpy(s)
    if values[-1] <= d * (1 + _LEAST_OVER_ROUNDING * len(values) * eps(dtype)):
        return None
    left = np.sqrt((values - d) * (values + d))[:, None].astype(dtype)
    scale = b.asarray((values[:, None] / left).astype(dtype))
    return root_and_targets(b, b.asarray(left) * Vt, scale * b.matmul(U.T, Z))


# Rows that are learned and rows that are removed, in one step


def signed_innovations(
    b: Backend, R: Array, W: Array, H: Array, Y: Array, signs: Array, condition: float
) -> Array | None:
    """`innovations` for rows of which some (sign 1) are learned and others (sign -1) removed.

    With D the signs and F = HR⁻¹, L⁻¹(Y - HW) holds the errors, for D + FF' = LD'L' with ones on
    the diagonal of L. None where D' has not the signs of D, so that a row cannot be removed, or
    where too many digits would be lost.
    """
    Ft = b.solve(R, H.T, transposed=True)
    K = b.to_numpy(b.matmul(Ft.T, Ft)).copy()
    K[np.diag_indices_from(K)] += signs
    errors = b.to_numpy(Y - b.matmul(H, W)).copy()
    lost = eps(K.dtype) * condition / _LARGEST_SIGNED[K.dtype.char]
    least = lost * float(np.abs(K).max())
    for i in range(len(K)):
        pivot = K[i, i]
        if not signs[i] * pivot > least:
            return None
        column = K[i + 1 :, i] / pivot
        K[i + 1 :, i + 1 :] -= column[:, None] * K[i, i + 1 :]
        errors[i + 1 :] -= column[:, None] * errors[i]
    return b.asarray(errors) if np.isfinite(errors).all() else None


def signed_is_safe(b: Backend, R: Array) -> bool:
    """Whether a root from which rows were removed has kept enough digits.

    What removing rounds is eps of the Gram matrix, and counts as much as κ² makes of it.
    """
    dtype = b.dtype_of(R)
    return eps(dtype) * b.condition(R) ** 2 <= _LARGEST_SIGNED[dtype.char]  # nan compares false


def default_tol(n_hidden: int, dtype: Any) -> float:
    """|c_k|/|a_k| that rounding alone can leave in eq. (10).

    Measured for dependent rows of matrices with condition numbers up to 1e12: at most 16 eps for
    5 columns, 230 for 40, 140 for 200 and 2400 for 500.
    """
    return 10 * n_hidden * eps(dtype)


def extend_basis(b: Backend, Q: Array, H: Array, tol: float) -> tuple[Array, Array, Array]:
    """Write the rows of H in an orthonormal basis of rows that grows where a row is new.

    Returns the basis Q', the coordinates T with H = TQ' and, per row, whether it was new (NumPy):
    whether |c_k| > tol·|a_k| for the part c_k of a_k outside the span of all rows before it,
    eq. (10).
    """
    xp, rank, n = b.xp, Q.shape[0], H.shape[0]
    room = min(n, Q.shape[1] - rank)
    unit = xp.max(xp.abs(H), axis=1, keepdims=True)
    unit = xp.where(unit == 0, xp.ones_like(unit), unit)
    C = H / unit  # no overflow in squares
    limit = tol**2 * b.row_squares(C)
    along, C = _project(b, C, Q)
    directions = xp.zeros_like(C[:room, :])
    T = xp.concat([along, xp.zeros_like(directions[:, :1].T * unit)], axis=1)
    new = np.zeros(n, dtype=bool)
    k, rows = 0, np.flatnonzero(b.row_squares(C) > limit)
    for run in _runs(b, C, rows, limit):
        spanned, part = directions[:k, :], slice(run[0], run[-1] + 1)
        if len(run) > 1 and k + len(run) <= room:
            t, c = _project(b, C[part, :], spanned)
            both = _orthonormal(b, c)
            if both is not None:
                T[part, rank : rank + k] += t
                T[part, rank + k : rank + k + len(run)], directions[k : k + len(run), :] = both
                new[part] = True
                k += len(run)
                continue
        for i in run:
            spanned = directions[:k, :]
            before = b.row_squares(C[i : i + 1, :])[0]
            t, c = _project(b, C[i : i + 1, :], spanned)
            after = b.row_squares(c)[0]
            if after < _REORTHOGONALISE**2 * before:
                in_Q, in_spanned = b.matmul(c, Q.T), b.matmul(c, spanned.T)
                c = c - b.matmul(in_Q, Q) - b.matmul(in_spanned, spanned)
                T[i : i + 1, :rank] += in_Q
                t = t + in_spanned
                after = b.row_squares(c)[0]
            T[i : i + 1, rank : rank + k] += t
            if k < room and after > limit[i]:
                T[i, rank + k] = float(np.sqrt(after))
                directions[k : k + 1, :] = c / float(np.sqrt(after))
                new[i] = True
                k += 1
    return xp.concat([Q, directions[:k, :]]), T[:, : rank + k] * unit, new


def _runs(b: Backend, C: Array, rows: Array, limit: Array) -> list[list[int]]:
    """Cut the places of rows into runs that follow each other and are far from dependent.

    The others are runs of one row. What is left of a row after those before it is a pivot of the
    products of rows of length one, which a small ridge keeps from failing.
    """
    if len(rows) < 2:
        return [rows.tolist()] if len(rows) else []
    D = C if len(rows) == C.shape[0] else b.xp.take(C, b.asarray(rows), axis=0)
    lengths = np.sqrt(b.row_squares(D))
    D = D / b.asarray(lengths[:, None], b.dtype_of(C))
    root = b.cholesky(b.add_ridge(b.matmul(D, D.T).T, _RIDGE))
    far = np.zeros(len(rows), dtype=bool)
    if root is not None:
        pivots = np.abs(b.to_numpy(_diagonal(b, root)))
        far = (pivots > _FAR) & (0.5 * (pivots * lengths) ** 2 > limit[rows])
    follows = far[1:] & far[:-1] & (np.diff(rows) == 1)
    return [run.tolist() for run in np.split(rows, np.flatnonzero(~follows) + 1)]


def _orthonormal(b: Backend, C: Array) -> tuple[Array, Array] | None:
    """L and F with C = LF and FF' = I, by two Cholesky factors; None for dependent rows."""
    L = b.identity(C.shape[0], b.dtype_of(C))
    for last in (False, True):
        G = b.matmul(C, C.T)
        if last and not float(b.xp.max(b.xp.abs(G - b.identity(G.shape[0], b.dtype_of(G))))) < 0.1:
            return None
        U = b.cholesky(G.T)
        if U is None:
            return None
        L, C = b.matmul(L, U.T), b.solve(U, C, transposed=True)
    return L, C


def _project(b: Backend, C: Array, Q: Array) -> tuple[Array, Array]:
    """The coordinates of rows in Q and what is outside, by Gram-Schmidt, twice where it matters.

    What is outside keeps a part in Q of about the rounding of the row itself.
    """
    t = b.matmul(C, Q.T)
    if not Q.shape[0]:
        return t, C
    left = C - b.matmul(t, Q)
    if (b.row_squares(left) > _FAR**2 * b.row_squares(C)).all():
        return t, left
    again = b.matmul(left, Q.T)
    return t + again, left - b.matmul(again, Q)


def _diagonal(b: Backend, A: Array) -> Array:
    return b.xp.linalg.diagonal(A)


def _finite(b: Backend, A: Array) -> Any:
    return bool(b.xp.all(b.xp.isfinite(A)))
