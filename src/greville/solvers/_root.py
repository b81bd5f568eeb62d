"""The state of the exact solvers: a triangular root of all that was seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Self

import numpy as np

from .. import linalg
from ..linalg import Array, column_squares
from ..threads import one_thread
from ._mean import Mean
from ._spread import Spread

# Rows tested for new directions together: the test of each reads what the others found.
_GROWTH = 64

# A root that starts from a prior p loses digits as eps·|a|/p while rows a do not span the whole
# space. Where that is more than this, it starts from nothing and grows with the rows instead.
LARGEST_LOSS = {"d": 1e-9, "f": 1e-2}

# How long a step of refinement may be, as a fraction of W: what it leaves is about its square.
_LONGEST_STEP = 0.02

# Operations that are not worth a second thread: two get in each other's way on a busy machine.
SMALL = 1e9

# Operations below which the two estimates of the condition cost more than the Gram route saves.
_SMALL_GRAM = 1e7

# Roots of this size are not worth a second thread where they are factorised over and over.
ONE_THREAD = 1024

# The error of the weights that removing rows may cause, as a part of them.
_LARGEST_LOST = {"d": 1e-7, "f": 3e-2}

# How negative, next to what it is a difference of, rounding may make a sum of squares.
_LARGEST_DEFICIT = {"d": 1e-9, "f": 1e-3}

Blocks = Callable[[], Iterator[tuple[Array, Array]]]


@dataclass(frozen=True)
class GramSums:
    """H'H, of which the upper triangle counts, H'Y and |Y|², and the ridge to add before a root."""

    G: Array
    C: Array
    squares: Array
    ridge: float


class Root(Spread):
    """R and Z with R'R = prior²I + H'H and R'Z = H'Y, so that the weights are W = R⁻¹Z.

    Without a prior, or with one so small that it would drown in rounding, R and Z are kept in
    coordinates of an orthonormal `basis` of the rows seen so far, H = T·basis, until these span
    the whole space. W = basis'·R⁻¹Z then has no part outside that span: without a prior it is the
    solution of minimum norm, Greville's method, eqs. (8)-(22), where I - basis'·basis is the
    paper's Φ.

    Methods change the object. A solver works on a `copy`, which shares the arrays until it writes,
    and keeps that in place of the original if all went well.

    Parameters
    ----------
    n_hidden, n_outputs : int
    prior : float
        The paper's ε: A_0 = εI maps to Y_0 = 0, eqs. (23)-(24).
    dtype : float32 or float64
    tol : float, optional
        Up to which |c_k|/|a_k| a row depends on those before it, eq. (10).
    intercept : bool
        Whether rows come around their `mean`, which goes with them: H and Y above are then the
        centred rows and targets.
    """

    is_sum = True  # whether every row counts in full, for ever

    def __init__(
        self,
        n_hidden: int,
        n_outputs: int,
        prior: float,
        dtype: Any,
        tol: float | None = None,
        *,
        intercept: bool = False,
    ) -> None:
        self.n_hidden = n_hidden
        self.prior = prior  # what R'R has, squared, in directions that no row has reached
        self.tol = tol
        self.basis: Array | None = np.empty((0, n_hidden), dtype)
        self.R: Array = np.empty((0, 0), dtype, order="F")
        self.Z: Array = np.empty((0, n_outputs), dtype, order="F")
        self.loss = np.zeros(n_outputs)  # |Y - HW|² + prior²|W|², for each output
        self.count = 0.0  # how many rows count, and the same with the square of what each counts
        self.count_of_squares = 0.0
        self.mean = Mean.of_nothing(n_hidden, n_outputs) if intercept else None
        self.largest_row = np.inf  # up to which size of rows the prior in R loses no digits
        self.lost = 0.0  # the error of R'R from all rows that were removed
        self._weights: Array | None = None
        self._trace: float | None = None
        self._shared = False

    def copy(self) -> Self:
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._shared = True
        return other

    # Learning

    def absorb(self, blocks: Blocks, n_rows: int, *, decay: float = 1.0) -> Any:
        """R'R ← decay·R'R + H'H and R'Z ← decay·R'Z + H'Y, over all blocks of rows.

        Tall chunks go through the Gram matrix, one matrix product and one Cholesky. Short ones,
        and tall ones whose Gram matrix has lost too many digits, go through a QR of [R; H].
        """
        if n_rows == 0:
            return
        with one_thread if n_rows * self.n_hidden**2 < SMALL else nullcontext():
            if self._gram_pays(n_rows):
                for precision in dict.fromkeys((self.Z.dtype, np.dtype(np.float64))):
                    if self._absorb_by_gram(blocks, n_rows, decay, precision):
                        return
        self.fade(decay)
        for H, Y in blocks():
            self._begin(H)
            with one_thread:
                for start, stop in self._pieces(len(H)):
                    self._append(self._coordinates(H[start:stop])[0], Y[start:stop])
                    self._leave_basis_if_full()

    def innovations(self, H: Array, Y: Array) -> Array:
        """Learn a few rows; return the error of each before it was learned."""
        errors = np.empty_like(Y)
        self._begin(H)
        with one_thread:
            for start, stop in self._pieces(len(H)):
                rows = slice(start, stop)
                innovate = self._innovate if self.basis is None else self._innovate_in_basis
                errors[rows] = innovate(H[rows], Y[rows])
                self._leave_basis_if_full()
        return errors

    def fade(self, decay: float) -> None:
        """R'R ← decay·R'R and R'Z ← decay·R'Z: everything counts less, the weights stay."""
        if decay == 1.0:
            return
        self._own()
        root = self.R.dtype.type(np.sqrt(decay))
        self.R *= root
        self.Z *= root
        self.prior *= float(np.sqrt(decay))
        self.largest_row = np.inf  # rows that fade have a floor instead
        self.lost *= decay
        self.loss = self.loss * decay
        self._trace = None

    def hold(self, ridge: float, pull: float) -> None:
        """R'R ← R'R + ridge·I and R'Z ← R'Z + ridge·pull·W: whatever comes, W moves less."""
        if ridge == 0.0:
            return
        self._own()
        d = float(np.sqrt(ridge))
        if self.rank:
            targets = self._solve() * self.R.dtype.type(d * pull)
            with one_thread:
                left = linalg.append_diagonal(self.R, self.Z, d, targets)
            self.loss = self.loss + column_squares(left)
        self.prior = float(np.hypot(self.prior, d))
        self._weights = self._trace = None

    def remove(self, H: Array, Y: Array, least: float | None = None) -> bool:
        """R'R ← R'R - H'H and R'Z ← R'Z - H'Y. False, and no change, if that leaves no root.

        Or, given a `least`, if a row would leave less than that of what R'R has in its direction,
        or if the rounding of this and all earlier removals would matter to the weights.
        """
        T = H
        if self.basis is not None:
            T = linalg.matmul(H, self.basis.T)
            outside = column_squares((H - linalg.matmul(T, self.basis)).T)
            if (outside > default_tol(self.n_hidden, H.dtype) ** 2 * column_squares(H.T)).any():
                return False
        squares = self.loss + column_squares(self.Z) - column_squares(Y)
        with one_thread if self.rank < ONE_THREAD else nullcontext():
            new = linalg.remove_rows(self.R, self.Z, T, Y, least)
            if new is None:
                return False
            smallest = np.inf if least is None else linalg.smallest_singular_value(new[0])
        lost = self.lost + rounding_of_sums(T)
        if not lost <= _LARGEST_LOST[self.Z.dtype.char] * smallest**2:
            return False
        if not self._replace(new, squares, self.mean):
            return False
        self.lost = lost
        return True

    def merge(self, other: Root) -> bool:
        """Learn the rows that another root has learned, from the same prior. False as above."""
        rows = other.R if other.basis is None else linalg.matmul(other.R, other.basis)
        blocks = [(np.ascontiguousarray(rows), np.ascontiguousarray(other.Z)), *self._step(other)]
        blocks = [block for block in blocks if len(block[0])]
        self.absorb(lambda: iter(blocks), sum(len(block[0]) for block in blocks))
        self.loss = self.loss + other.loss
        self.lost += other.lost
        self.count += other.count
        self.count_of_squares += other.count_of_squares
        if self.prior == 0 or not other.rank:
            return True
        if other.basis is None:  # it has brought the prior with it, a second time
            squares = self.loss + column_squares(self.Z)
            new = linalg.remove_diagonal(self.R, self.Z, self.prior)
            return self._replace(new, squares, self.mean)
        prior = other.basis * self.R.dtype.type(self.prior)
        return self.remove(prior, np.zeros((len(prior), self.Z.shape[1]), prior.dtype))

    def _step(self, other: Root) -> list[tuple[Array, Array]]:
        """The row between the two means, where there is an intercept; the mean becomes common."""
        if self.mean is None or other.mean is None:
            return []
        row, target, self.mean = self.mean.step_to(other.mean, self.Z.dtype)
        return [(row, target)]

    def _replace(
        self, new: tuple[Array, Array] | None, squares: Array, mean: Mean | None = None
    ) -> bool:
        """Put another R and Z in place; `squares` are the sums of squares of all targets.

        False, and no change, if they leave less than nothing. A mean far from zero has made the
        targets around it less exact.
        """
        if new is None:
            return False
        R, Z = new
        loss = squares - column_squares(Z)
        size = squares + column_squares(self.Z)
        if mean is not None:
            size = size + mean.count * mean.target**2
        if (loss < -_LARGEST_DEFICIT[Z.dtype.char] * size).any():
            return False
        self.R, self.Z, self.loss = R, Z, np.maximum(loss, 0.0)
        self._weights = self._trace = None
        self._shared = False
        return True

    def _append(self, T: Array, Y: Array) -> None:
        """QR of [R; T] for rows in the coordinates of R."""
        if self.rank:
            Y = linalg.append_rows(self.R, self.Z, T, Y)
        self.loss = self.loss + column_squares(Y)
        self._weights = self._trace = None

    def _innovate(self, T: Array, Y: Array) -> Array:
        """Errors of, and learning from, rows in the span of what R holds."""
        errors = linalg.innovations(self.R, self._solve(), T, Y) if self.rank else Y
        if errors is not None:
            self._append(T, Y)
            return errors
        # R is singular to the last digit: no shortcut, one row after another.
        errors = np.empty_like(Y)
        for i in range(len(T)):
            errors[i] = Y[i] - linalg.matmul(T[i : i + 1], self._solve())[0]
            self._append(T[i : i + 1], Y[i : i + 1])
        return errors

    def _innovate_in_basis(self, H: Array, Y: Array) -> Array:
        """The same in runs of rows that have new directions, and that have none."""
        rank = self.rank
        T, new = self._coordinates(H, grow=False)
        errors = np.empty_like(Y)
        stop = 0
        for is_new, run in groupby(new):
            start, stop = stop, stop + len(list(run))
            rank += stop - start if is_new else 0
            rows = np.ascontiguousarray(T[start:stop, :rank])
            innovate = self._innovate_new if is_new else self._innovate
            errors[start:stop] = innovate(rows, Y[start:stop])
        return errors

    def _innovate_new(self, T: Array, Y: Array) -> Array:
        """Errors of, and learning from, rows each with a direction of its own, eqs. (16) and (20).

        With T = [A L], L lower triangular, and U'U = LL' + p²(I + AθA') for the prior p, these
        errors are in U⁻ᵀ(Y - AW), each divided by its U_kk. All numbers are of the size of the
        rows, also where p is so small that it drowns next to them.
        """
        A, L = T[:, : self.rank], T[:, self.rank :]
        left = Y - linalg.matmul(A, self._solve())
        U = np.asfortranarray(L.T)
        if self.prior > 0:
            rows = [np.eye(len(T), dtype=U.dtype)]
            if self.rank:
                rows.append(linalg.solve_root(self.R, A.T, transposed=True))
            stacked = np.concatenate([U, U.dtype.type(self.prior) * np.concatenate(rows)])
            U = np.asfortranarray(linalg.triangularise(np.asfortranarray(stacked))[: len(T)])
        errors = linalg.solve_root(U, left, transposed=True)
        self._grow(T.shape[1])
        self._append(T, Y)
        return np.diagonal(U)[:, None] * errors

    def _begin(self, H: Array) -> None:
        """Make R and Z this object's own, and choose whether a basis is needed for these rows.

        A prior p that is in R from the start loses digits as eps·|a|/p while the rows do not span
        the space. So at the first row, and when rows come that are too large for p.
        """
        self._own()
        if self.tol is not None or self.prior == 0:
            return
        largest = _largest(H) * float(np.sqrt(self.n_hidden))
        if self.basis is None:
            if largest > self.largest_row:
                self._return_to_basis()
        elif self.rank == 0 and largest > 0:  # zeros tell nothing
            limit = LARGEST_LOSS[H.dtype.char] / float(np.finfo(H.dtype).eps) * self.prior
            if largest <= limit:
                self._grow(self.n_hidden)
                self.basis = None
                self.largest_row = limit

    def _return_to_basis(self) -> None:
        """Leave the directions in which R has nothing but the prior to a basis of the others."""
        self.largest_row = np.inf
        U, s, Vt = linalg.svd(self.R)
        rounding = default_tol(self.n_hidden, s.dtype) * s[0]
        reached = s > np.hypot(self.prior, rounding) * (1 + 1e-3)
        if reached.all():
            return
        self.basis = np.ascontiguousarray(Vt[reached])
        self.R = np.asfortranarray(np.diag(s[reached]))
        self.Z = np.asfortranarray(linalg.matmul(np.ascontiguousarray(U[:, reached].T), self.Z))
        self._weights = self._trace = None

    def _own(self) -> None:
        if self._shared:
            self.R = self.R.copy(order="F")
            self.Z = self.Z.copy(order="F")
            self._shared = False

    # The route through the Gram matrix

    def _gram_pays(self, n_rows: int) -> bool:
        # M² operations a row against 2M² at half the speed. Going from R to R'R and back costs
        # (4/3)M³ more, and two estimates of the condition; from the prior to its root M³/3. A Gram
        # matrix that adds to an ill-conditioned R is ill-conditioned too, unless rows are many.
        if n_rows * self.n_hidden**2 < _SMALL_GRAM:
            return False
        if self.basis is not None:
            return self.rank == 0 and self.tol is None and 8 * n_rows >= self.n_hidden
        if n_rows < (self.n_hidden / 2 if self.n_hidden >= ONE_THREAD else self.n_hidden):
            return False
        return n_rows > 2 * self.n_hidden or linalg.gram_is_safe(self.R, self.R.dtype)

    def _absorb_by_gram(
        self, blocks: Blocks, n_rows: int, decay: float, precision: np.dtype[Any]
    ) -> bool:
        dtype = self.Z.dtype
        ridge = 0.0
        if self.basis is not None:
            G = np.zeros((self.n_hidden, self.n_hidden), precision, order="F")
            C = np.zeros((self.n_hidden, self.Z.shape[1]), precision)
            ridge = decay * self.prior**2
            G[np.diag_indices_from(G)] = precision.type(ridge)
        else:
            R, Z = self.R.astype(precision, copy=False), self.Z.astype(precision, copy=False)
            C = linalg.matmul(R.T, Z)
            G = linalg.gram_of_root(R)
            G *= precision.type(decay)
            C *= precision.type(decay)
        squares = decay * (self.loss + column_squares(self.Z))
        incomplete = self.basis is not None and n_rows < self.n_hidden
        for rows, targets in blocks():
            H, Y = rows.astype(precision, copy=False), targets.astype(precision, copy=False)
            linalg.add_gram(G, H)
            if incomplete and ridge < linalg.smallest_safe_ridge(G, dtype):
                return False
            C += linalg.matmul(H.T, Y)
            squares = squares + column_squares(Y)
            del rows, targets, H, Y  # one block at a time
        root = linalg.root_of_gram(G)
        if root is None:
            return False
        Z = linalg.solve_root(root, C, transposed=True)
        if not linalg.gram_is_safe(root, dtype):
            step = self._refinement(root, Z, blocks, decay, ridge)
            if step is None:
                return False
            Z += step
        self.loss = np.maximum(squares - column_squares(Z), 0.0)
        self.R, self.Z = root.astype(dtype, copy=False), Z.astype(dtype, copy=False)
        if incomplete:
            limit = LARGEST_LOSS[dtype.char] / float(np.finfo(dtype).eps) * self.prior
            self.largest_row = limit if decay == 1.0 else np.inf
        self.basis = None
        self.prior *= float(np.sqrt(decay))
        self._weights = self._trace = None
        self._shared = False
        return True

    def _refinement(
        self, root: Array, Z: Array, blocks: Blocks, decay: float, ridge: float
    ) -> Array | None:
        """What to add to Z so that W = root⁻¹Z loses the error of the Gram matrix behind root.

        One Newton step, with the gradient H'(Y - HW) from the rows themselves. Its length is the
        error that W had; the square of that is about what it leaves. None where that is too much.
        """
        if not linalg.gram_can_be_refined(root):
            return None
        W = np.ascontiguousarray(linalg.solve_root(root, Z))
        gradient = W * W.dtype.type(-ridge)
        if self.basis is None:
            left = self.Z - linalg.matmul(self.R, W)
            gradient += W.dtype.type(decay) * linalg.matmul(self.R.T, left)
        for H, Y in blocks():
            gradient += linalg.matmul(H.T, Y - linalg.matmul(H, W))
            del H, Y
        step = linalg.solve_root(root, gradient, transposed=True)
        change = linalg.solve_root(root, step)
        small = column_squares(change) <= _LONGEST_STEP**2 * column_squares(W)  # nan compares false
        return step if small.all() else None

    def squares(self) -> tuple[float, Array]:
        """Sums of squares of all rows and, for each output, of all targets; around their means."""
        total = float(column_squares(self.R).sum()) - self.rank * self.prior**2
        return max(total, 0.0), self.loss + column_squares(self.Z)

    @property
    def slack(self) -> float:
        """How far the sum of squares of all rows may be off, after others were removed."""
        return self.n_hidden * self.lost

    def gram_sums(self) -> GramSums:
        """What R and Z are roots of, in new arrays."""
        squares = self.loss + column_squares(self.Z)
        return GramSums(linalg.gram_of_root(self.R), linalg.matmul(self.R.T, self.Z), squares, 0.0)

    def after_gram(self, sums: GramSums, R: Array) -> Self | None:
        """A copy that has learned more rows, given their sums and the root of these."""
        other = self.copy()
        other.R, other.Z = R, linalg.solve_root(R, sums.C, transposed=True)
        other.loss = np.maximum(sums.squares - column_squares(other.Z), 0.0)
        other._weights = other._trace = None
        other._shared = False
        return other

    # While the rows do not span the whole space

    def _pieces(self, n: int) -> Iterator[tuple[int, int]]:
        """Short pieces while there is a basis to grow, then all the rest."""
        stop = 0
        while stop < n:
            start, stop = stop, n if self.basis is None else min(n, stop + _GROWTH)
            yield start, stop

    def _coordinates(self, H: Array, *, grow: bool = True) -> tuple[Array, Array]:
        """Rows in the basis, which grows with them, and which of them are new."""
        if self.basis is None:
            return H, np.zeros(len(H), dtype=bool)
        tol = default_tol(self.n_hidden, H.dtype) if self.tol is None else self.tol
        self.basis, T, new = linalg.extend_basis(self.basis, H, tol)
        if grow:
            self._grow(len(self.basis))
        return T, new

    def _grow(self, rank: int) -> None:
        """Room for new directions, in which so far there was the prior alone."""
        if rank == self.rank:
            return
        known, self.R, self.Z = self.rank, _padded(self.R, rank, rank), _padded(self.Z, rank)
        np.fill_diagonal(self.R[known:, known:], self.prior)

    def _leave_basis_if_full(self) -> None:
        """From coordinates back to hidden units: a root of R·basis, and Z along with it."""
        if self.basis is None or self.rank < self.n_hidden:
            return
        self.R, self.Z = linalg.root_and_targets(linalg.matmul(self.R, self.basis), self.Z)
        self.basis = None
        self.largest_row = np.inf

    @property
    def is_prior_alone(self) -> bool:
        """Whether it has not seen a row, and R would be the prior."""
        return self.basis is not None and self.rank == 0 and self.tol is None and self.prior > 0

    # Reading

    def refresh(self) -> None:
        """See to it that R and Z are there."""

    def weights(self) -> Array:
        """W, of shape (n_hidden, n_outputs), eq. (25)."""
        weights = self._weights
        if weights is None:
            W = self._solve()
            weights = W if self.basis is None else linalg.matmul(self.basis.T, W)
            self._weights = weights
        return weights

    def solution(self) -> Array:
        """W and, where there is an intercept, above it a row for that."""
        return with_intercept(self.weights(), self.mean)

    def _solve(self) -> Array:
        """R⁻¹Z, in the basis where there is one."""
        W = linalg.solve_root(self.R, self.Z)
        if not np.isfinite(W).all():
            W = linalg.solve_minimum_norm(self.R, self.Z)
        return np.ascontiguousarray(W)

    def theta(self) -> Array:
        """The paper's θ = (R'R)⁺, eq. (11)."""
        if self.basis is None:
            return linalg.inverse_of_root(self.R)
        half = linalg.solve_root(self.R, self.basis, transposed=True)
        theta = linalg.matmul(half.T, half)
        if self.prior > 0:
            theta += self.phi() / self.R.dtype.type(self.prior) ** 2
        return theta

    def phi(self) -> Array:
        """The paper's Φ, the projection on what no row has reached, eq. (19)."""
        if self.basis is None:
            return np.zeros((self.n_hidden, self.n_hidden), self.R.dtype)
        return np.eye(self.n_hidden, dtype=self.R.dtype) - linalg.matmul(self.basis.T, self.basis)

    def psi(self) -> Array:
        """The paper's ψ = (R'Z)', of shape (n_outputs, n_hidden), eq. (26)."""
        psi = linalg.matmul(self.Z.T, self.R)
        psi = psi if self.basis is None else linalg.matmul(psi, self.basis)
        mean = self.mean
        if mean is not None:  # of the rows themselves, not around their mean
            psi = psi + mean.count * np.multiply.outer(mean.target, mean.row).astype(psi.dtype)
        return psi

    # Outputs that were not there from the start

    def with_outputs(self, n_outputs: int, old: Array) -> Self:
        """A copy with more outputs, the present ones at the indices `old`.

        An output that has been zero so far has zeros in Z: exactly what it would have had.
        """
        other = self.copy()
        other.Z = np.zeros((self.rank, n_outputs), self.Z.dtype, order="F")
        other.Z[:, old] = self.Z
        other.loss = np.zeros(n_outputs)
        other.loss[old] = self.loss
        if self.mean is not None:
            other.mean = self.mean.with_outputs(n_outputs, old)
        other._weights = None
        return other


def with_intercept(W: Array, mean: Mean | None) -> Array:
    """Weights of centred rows, with a row for the intercept first; W itself without a mean."""
    if mean is None:
        return W
    both = np.empty((len(W) + 1, W.shape[1]), W.dtype)
    both[0], both[1:] = mean.constant(W), W
    return both


def rounding_of_sums(H: Array) -> float:
    """The error that sums of squares have after those of rows H were taken from them."""
    return float(np.finfo(H.dtype).eps) * float(column_squares(H).max(initial=0.0))


def default_tol(n_hidden: int, dtype: Any) -> float:
    """|c_k|/|a_k| that rounding alone can leave in eq. (10).

    Measured for dependent rows of matrices with condition numbers up to 1e12: at most 16 eps for
    5 columns, 230 for 40, 140 for 200 and 2400 for 500.
    """
    return 10 * n_hidden * float(np.finfo(dtype).eps)


def _largest(H: Array) -> float:
    """The largest number in H, whatever its sign."""
    return float(max(H.max(initial=0.0), -H.min(initial=0.0)))


def _padded(A: Array, n_rows: int, n_columns: int | None = None) -> Array:
    """A with zeros below and to the right."""
    shape = (n_rows, A.shape[1] if n_columns is None else n_columns)
    larger = np.zeros(shape, A.dtype, order="F")
    larger[: A.shape[0], : A.shape[1]] = A
    return larger
