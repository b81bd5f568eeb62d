"""An orthonormal basis of rows that do not span the whole space yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array, Backend, eps

# Two passes of Gram-Schmidt are enough unless the second shrank the vector this much again.
_REORTHOGONALISE = 0.7


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
    found = xp.zeros_like(C[:room, :])
    T = xp.concat([along, xp.zeros_like(found[:, :1].T * unit)], axis=1)
    new = np.zeros(n, dtype=bool)
    k = 0
    for i in np.flatnonzero(b.row_squares(C) > limit).tolist():
        known = found[:k, :]
        before = b.row_squares(C[i : i + 1, :])[0]
        t, c = _project(b, C[i : i + 1, :], known)
        after = b.row_squares(c)[0]
        if after < _REORTHOGONALISE**2 * before:
            in_Q, in_found = b.matmul(c, Q.T), b.matmul(c, known.T)
            c = c - b.matmul(in_Q, Q) - b.matmul(in_found, known)
            T[i : i + 1, :rank] += in_Q
            t = t + in_found
            after = b.row_squares(c)[0]
        T[i : i + 1, rank : rank + k] += t
        if k < room and after > limit[i]:
            T[i, rank + k] = float(np.sqrt(after))
            found[k : k + 1, :] = c / float(np.sqrt(after))
            new[i] = True
            k += 1
    return xp.concat([Q, found[:k, :]]), T[:, : rank + k] * unit, new


def _project(b: Backend, C: Array, Q: Array) -> tuple[Array, Array]:
    """The coordinates of rows in Q and what is outside, by Gram-Schmidt twice: to rounding."""
    t = b.matmul(C, Q.T)
    C = C - b.matmul(t, Q)
    again = b.matmul(C, Q.T)
    return t + again, C - b.matmul(again, Q)
