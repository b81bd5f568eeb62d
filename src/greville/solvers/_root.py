"""The state of the exact solvers: a triangular root of all that was seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import numpy as np

from .. import linalg
from ..linalg import Array
from ..threads import one_thread

# Rows tested for new directions together: the test of each reads what the others found.
_GROWTH = 64

Blocks = Callable[[], Iterator[tuple[Array, Array]]]


class Root:
    """R and Z with R'R = prior²I + H'H and R'Z = H'Y, so that the weights are W = R⁻¹Z.

    Without a prior the rows seen so far may span less than the whole space. Then R and Z are kept
    in coordinates of an orthonormal `basis` of that span, H = T·basis, which makes R invertible
    and W = basis'·R⁻¹Z the solution of minimum norm: Greville's method, eqs. (8)-(22), where
    I - basis'·basis is the paper's Φ. When the span is full the basis has done its work and goes.

    Methods change the object. A solver works on a `copy`, which shares the arrays until it writes,
    and keeps that in place of the original if all went well.

    Parameters
    ----------
    n_hidden, n_outputs : int
    prior : float
        The paper's ε: A_0 = εI maps to Y_0 = 0, eqs. (23)-(24).
    tol : float
        How small |c_k|/|a_k| is zero in eq. (10); used only without a prior.
    dtype : float32 or float64
    """

    def __init__(
        self, n_hidden: int, n_outputs: int, *, prior: float, tol: float, dtype: Any
    ) -> None:
        self.n_hidden = n_hidden
        self.tol = tol
        self.prior = prior
        self.basis = None if prior > 0 else np.empty((0, n_hidden), dtype)
        rank = n_hidden if prior > 0 else 0
        # None stands for prior·I: a first large chunk never needs that matrix of zeros.
        self.R: Array | None = None if prior > 0 else np.empty((0, 0), dtype, order="F")
        self.Z = np.zeros((rank, n_outputs), dtype, order="F")
        self.residual = np.zeros(n_outputs)  # sum of squares, the prior's share included
        self._weights: Array | None = None
        self._shared = False

    def copy(self) -> Root:
        other = object.__new__(Root)
        vars(other).update(vars(self))
        other._shared = True
        return other

    @property
    def rank(self) -> int:
        return len(self.Z)

    # Learning

    def absorb(
        self, blocks: Blocks, n_rows: int, *, decay: float = 1.0, ridge: float = 0.0
    ) -> None:
        """R'R ← decay·R'R + ridge·I + H'H and R'Z ← decay·R'Z + H'Y, over all blocks of rows.

        Tall chunks go through the Gram matrix, one matrix product and one Cholesky. Short ones,
        and tall ones whose Gram matrix has lost too many digits, go through a QR of [R; H].
        """
        if self._gram_pays(n_rows) and self._absorb_by_gram(blocks, n_rows, decay, ridge):
            return
        self._scale(decay)
        for H, Y in blocks():
            self.append(H, Y)
        if ridge > 0:
            self._lift(ridge)

    def append(self, H: Array, Y: Array) -> None:
        """Learn rows by QR."""
        self._own()
        with one_thread:
            for start, stop in self._pieces(len(H)):
                rows = H[start:stop]
                if self.basis is not None:
                    rows, _ = self._coordinates(rows)
                    self._grow(rows.shape[1])
                self._append(rows, Y[start:stop])
                self._leave_basis_if_full()

    def innovations(self, H: Array, Y: Array) -> Array:
        """Learn a few rows; return the error of each before it was learned."""
        errors = np.empty_like(Y)
        with one_thread:
            self._own()
            for start, stop in self._pieces(len(H)):
                innovate = self._innovate if self.basis is None else self._innovate_in_basis
                errors[start:stop] = innovate(H[start:stop], Y[start:stop])
                self._leave_basis_if_full()
        return errors

    def _pieces(self, n: int) -> Iterator[tuple[int, int]]:
        """Short pieces while there is a basis to grow, then all the rest."""
        stop = 0
        while stop < n:
            start, stop = stop, n if self.basis is None else min(n, stop + _GROWTH)
            yield start, stop

    def _innovate_in_basis(self, H: Array, Y: Array) -> Array:
        """The same in runs of rows that are new, and that are not."""
        T, new = self._coordinates(H)
        errors = np.empty_like(Y)
        stop = 0
        for is_new, run in groupby(new):
            start, stop = stop, stop + len(list(run))
            rank = self.rank + (stop - start if is_new else 0)
            coordinates = np.ascontiguousarray(T[start:stop, :rank])
            innovate = self._innovate_new if is_new else self._innovate
            errors[start:stop] = innovate(coordinates, Y[start:stop])
        return errors

    def _innovate(self, H: Array, Y: Array) -> Array:
        """Errors of, and learning from, rows that lie in the span of what R holds."""
        assert self.R is not None
        W = self._solve()
        errors = linalg.innovations(self.R, W, H, Y) if self.rank else Y
        if errors is not None:
            self._append(H, Y)
            return errors
        # R is singular to the last digit: no shortcut, one row after another.
        errors = np.empty_like(Y)
        for i in range(len(H)):
            errors[i] = Y[i] - linalg.matmul(H[i : i + 1], self._solve())[0]
            self._append(H[i : i + 1], Y[i : i + 1])
        return errors

    def _innovate_new(self, T: Array, Y: Array) -> Array:
        """The same for rows of which each has a direction of its own, eqs. (16) and (20).

        With T = [A L], L lower triangular, W gains the rows L⁻¹(Y - AW); the others stay.
        """
        A, L = T[:, : self.rank], T[:, self.rank :]
        left = Y - linalg.matmul(A, self._solve())
        gained = linalg.solve_root(np.asfortranarray(L.T), left, transposed=True)
        self._grow(T.shape[1])
        self._append(T, Y)
        return np.diagonal(L)[:, None] * gained

    def _append(self, H: Array, Y: Array) -> None:
        assert self.R is not None
        if self.rank:
            Y = linalg.append_rows(self.R, self.Z, H, Y)
        self.residual = self.residual + _squares(Y)
        self._weights = None

    def _scale(self, decay: float) -> None:
        if decay == 1.0:
            return
        self._own()
        assert self.R is not None
        root = self.R.dtype.type(np.sqrt(decay))
        self.R *= root
        self.Z *= root
        self.residual = self.residual * decay
        self._weights = None

    def _lift(self, ridge: float) -> None:
        self._own()
        d = float(np.sqrt(ridge))
        if self.basis is not None:  # d·I spans everything
            eye = d * np.eye(self.n_hidden, dtype=self.Z.dtype)
            zeros = np.zeros((self.n_hidden, self.Z.shape[1]), self.Z.dtype)
            self._leave_basis(np.concatenate([eye, zeros], axis=1))
            return
        assert self.R is not None
        with one_thread:
            left = linalg.append_diagonal(self.R, self.Z, d)
        self.residual = self.residual + _squares(left)
        self._weights = None

    def _own(self) -> None:
        """Make R and Z this object's own before they are written to."""
        if self.R is None:
            self.R = np.zeros((self.n_hidden, self.n_hidden), self.Z.dtype, order="F")
            np.fill_diagonal(self.R, self.prior)
            self.Z = self.Z.copy(order="F")
        elif self._shared:
            self.R = self.R.copy(order="F")
            self.Z = self.Z.copy(order="F")
        self._shared = False

    # The route through the Gram matrix

    def _gram_pays(self, n_rows: int) -> bool:
        # M² operations a row against 2M² at less than half the speed; going from R to R'R and back
        # costs (4/3)M³ more, from the prior to its root M³/3.
        if self.R is None:
            return 8 * n_rows >= self.n_hidden
        if self.basis is not None:
            return self.rank == 0 and n_rows >= self.n_hidden
        return 2 * n_rows >= self.n_hidden

    def _absorb_by_gram(self, blocks: Blocks, n_rows: int, decay: float, ridge: float) -> bool:
        dtype = self.Z.dtype
        if self.R is None or self.basis is not None:
            G = np.zeros((self.n_hidden, self.n_hidden), dtype, order="F")
            C = np.zeros((self.n_hidden, self.Z.shape[1]), dtype)
            ridge += decay * self.prior**2
        else:
            G = linalg.gram_of_root(self.R)
            C = linalg.matmul(self.R.T, self.Z)
            G *= dtype.type(decay)
            C *= dtype.type(decay)
        squares = decay * (self.residual + _squares(self.Z))
        G[np.diag_indices_from(G)] += dtype.type(ridge)
        short = self.R is None and n_rows < self.n_hidden
        for H, Y in blocks():
            linalg.add_gram(G, H)
            if short and not linalg.gram_may_have_root(G, ridge):
                return False
            C += linalg.matmul(H.T, Y)
            squares = squares + _squares(Y)
        R = linalg.root_of_gram(G)
        if R is None:
            return False
        Z = linalg.solve_root(R, C, transposed=True)
        if not np.isfinite(Z).all():
            return False
        self.R, self.Z, self.basis = R, Z, None
        self.residual = np.maximum(squares - _squares(Z), 0.0)
        self._weights, self._shared = None, False
        return True

    # While the rows do not span the whole space

    def _coordinates(self, H: Array) -> tuple[Array, Array]:
        """Rows in the basis, which grows with them, and which of them are new."""
        assert self.basis is not None
        self.basis, T, new = linalg.extend_basis(self.basis, H, self.tol)
        return T, new

    def _grow(self, rank: int) -> None:
        """Room for new directions: R and Z grow by zeros."""
        assert self.R is not None
        more = rank - self.rank
        if more:
            self.R = np.asfortranarray(np.pad(self.R, (0, more)))
            self.Z = np.asfortranarray(np.pad(self.Z, ((0, more), (0, 0))))

    def _leave_basis_if_full(self) -> None:
        if self.basis is not None and self.rank == self.n_hidden:
            self._leave_basis(None)

    def _leave_basis(self, more: Array | None) -> None:
        """From coordinates back to hidden units: a root of [R·basis; more], Z along with it."""
        assert self.basis is not None
        assert self.R is not None
        n = self.n_hidden
        both = np.concatenate([linalg.matmul(self.R, self.basis), self.Z], axis=1)
        if more is not None:
            both = np.concatenate([both, more])
        squares = self.residual + _squares(self.Z)
        both = linalg.triangularise(np.asfortranarray(both))
        self.R = np.asfortranarray(both[:n, :n])
        self.Z = np.asfortranarray(both[:n, n:])
        self.residual = np.maximum(squares - _squares(self.Z), 0.0)
        self.basis = None
        self._weights = None

    # Reading

    def weights(self) -> Array:
        """W, of shape (n_hidden, n_outputs), eq. (25)."""
        if self._weights is None:
            W = self._solve()
            self._weights = W if self.basis is None else linalg.matmul(self.basis.T, W)
        return self._weights

    def _solve(self) -> Array:
        """R⁻¹Z, in the basis where there is one."""
        if self.R is None or self.rank == 0:
            return np.zeros_like(self.Z, order="C")
        W = linalg.solve_root(self.R, self.Z)
        if not np.isfinite(W).all():
            W = linalg.solve_minimum_norm(self.R, self.Z)
        return np.ascontiguousarray(W)

    def theta(self) -> Array:
        """The paper's θ = (R'R)⁺, eq. (11)."""
        if self.R is None:
            return np.eye(self.n_hidden, dtype=self.Z.dtype) / self.Z.dtype.type(self.prior) ** 2
        if self.basis is None:
            return linalg.inverse_of_root(self.R)
        half = linalg.solve_root(self.R, self.basis, transposed=True)  # θ = half'·half
        return linalg.matmul(half.T, half)

    def psi(self) -> Array:
        """The paper's ψ = (R'Z)', of shape (n_outputs, n_hidden), eq. (26)."""
        if self.R is None:
            return np.zeros((self.Z.shape[1], self.n_hidden), self.Z.dtype)
        psi = linalg.matmul(self.Z.T, self.R)
        return psi if self.basis is None else linalg.matmul(psi, self.basis)

    # Outputs that were not there from the start

    def with_outputs(self, n_outputs: int, old: Array) -> Root:
        """A copy with more outputs, the present ones at the indices `old`.

        An output that has been zero so far has zeros in Z: exactly what it would have had.
        """
        other = self.copy()
        other.Z = np.zeros((self.rank, n_outputs), self.Z.dtype, order="F")
        other.Z[:, old] = self.Z
        other.residual = np.zeros(n_outputs)
        other.residual[old] = self.residual
        other._weights = None
        return other


def _squares(Y: Array) -> Array:
    """Sums of squares of the columns, in float64."""
    return np.einsum("ij,ij->j", Y, Y, dtype=np.float64)
