"""What the exact solvers have learned: a triangular root of all rows, as an immutable value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from .. import linalg
from ..backend import Array, Backend, eps
from ..devices import origin_of
from ..fields import array, count, finite, flag, instance_of, nothing, number, require
from ..validation import check_number, check_switch
from ._derived import Value, derived, replace, stored_value, with_derived
from ._mean import Mean, widened
from ._rows import Counts, Rows, block_length

if TYPE_CHECKING:
    from ._evidence import Path

# A root that starts from a prior p loses digits as eps·|a|/p while rows a do not span the whole
# space. Where that is more than this, it starts from nothing and grows with the rows instead.
LARGEST_LOSS = {"d": 1e-9, "f": 1e-2}

# What must be left of a row's leverage, so that leaving the row out keeps digits.
_LEAST_LEFT_OUT = {"d": 1e-10, "f": 1e-3}

# How many times as large as its rounding singular values of a root may be that come from sums.
_DIGITS_OF_SUMS = 20.0

# The part of the rows that the weights must leave, so that the noise can be told.
_LEAST_LEFT = 1e-8


# Numbers in a row, or in the weights, for which a file need not have an array of that size.
_MAX_STATE_NUMBERS = 1 << 23

# Larger sizes have squares that are not finite.
MAX_SIZE = 1e150


def _check_sums(sums: Sums) -> None:
    b, M, (rank, n_outputs) = sums.backend, sums.n_hidden, sums.Z.shape
    require(M >= 1, "a state has no units")
    alike = b.dtype_of(sums.R) == sums.dtype and sums.dtype.char in "fd"
    require(alike, "the dtypes of a state differ")
    require(sums.R.shape == (rank, rank) and n_outputs >= 1, "the shapes of a state do not agree")
    if sums.basis is None:
        require(rank == M, "a state has another rank than units, and no basis")
    else:
        fits = sums.basis.shape == (rank, M) and b.dtype_of(sums.basis) == sums.dtype
        require(fits and rank <= M, "the basis of a state does not fit it")
    fits = sums.loss.shape == (n_outputs,) and sums.loss.dtype == np.float64
    require(fits, "the loss of a state does not fit it")
    sizes = (sums.prior, sums.largest_row, sums.lost)
    require(min(sizes) >= 0 and bool((sums.loss >= 0).all()), "a state has a negative size")
    arrays = [sums.R, sums.Z]
    if sums.mean is not None:
        fits = sums.mean.row.shape == (M,) and sums.mean.target.shape == (n_outputs,)
        require(fits, "the mean of a state does not fit it")
        arrays += [sums.mean.row[None, :], sums.mean.target[None, :]]
    squares = sum(float(b.column_squares(A).sum()) for A in arrays)
    fits = squares < np.finfo(sums.dtype).max and max(sums.prior, sums.count) < MAX_SIZE
    require(fits, "the numbers of a state are too large")
    wide = M * (n_outputs + 4) > _MAX_STATE_NUMBERS + rank * (rank + M + n_outputs)
    require(not wide, "a state is too wide")


@stored_value(_check_sums, whole=True)
@dataclass(frozen=True, eq=False)
class Sums(Value):
    """Sums over rows: all that least squares needs to know of them.

    ``Sums.of(X, y)`` makes one; ``+`` adds rows, ``-`` takes them away, a number times it lets them
    count less, and `solve` gives the weights for any ε. It is a value: nothing changes it.

    It keeps R and Z with R'R = prior²I + H'H and R'Z = H'Y, so that W = R⁻¹Z. Without a prior, or
    with one so small that it would be lost in rounding, and for few rows of many units, R and Z are
    in coordinates of an orthonormal `basis` of the rows seen so far, H = T·basis, until these span
    the whole space. W = basis'·R⁻¹Z then has no part outside that span: without a prior it is the
    solution of minimum norm, Greville's method, eqs. (8)-(22), where I - basis'·basis is the
    paper's Φ.

    Attributes
    ----------
    backend : Backend
    n_hidden : int
    prior : float
        The paper's ε: A_0 = εI maps to Y_0 = 0, eqs. (23)-(24). What R'R has, squared, in
        directions that no row has reached.
    R, Z : arrays of shape (rank, rank) and (rank, n_outputs)
    basis : array of shape (rank, n_hidden), or None
    loss : ndarray of shape (n_outputs,)
        ``|Y - HW|² + prior²|W|²`` for each output.
    tally : Counts
        How much the rows count.
    mean : Mean or None
        Where there is an intercept: H and Y above are then the centred rows and targets.
    tol : float, optional
        Up to which ``|c_k|/|a_k|`` a row depends on those before it, eq. (10).
    largest_row : float
        Up to which size of rows the prior in R loses no digits.
    lost : float
        The error of R'R from all rows that were removed.
    flat : bool
        Whether the targets are 1-d.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import Sums
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=300)
    >>> first, second = Sums.of(X[:200], y[:200]), Sums.of(X[200:], y[200:])
    >>> (first + second).solve(1e-3).round(1)
    array([1., 2., 3.])
    >>> bool(np.allclose((first + second - second).solve(1e-3), first.solve(1e-3)))
    True
    """

    backend: Backend
    n_hidden: Annotated[int, count]
    prior: Annotated[float, finite]
    R: Annotated[Array, array(2)]
    Z: Annotated[Array, array(2)]
    basis: Annotated[Array | None, nothing | array(2)]
    loss: Annotated[Array, array(1)]
    tally: Annotated[Counts, instance_of(Counts)]
    mean: Annotated[Mean | None, nothing | instance_of(Mean)] = None
    tol: Annotated[float | None, nothing | finite] = None
    largest_row: Annotated[float, number] = np.inf
    lost: Annotated[float, finite] = 0.0
    flat: Annotated[bool, flag] = False

    arrays = ("R", "Z", "basis", "mean")

    # The public operations

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None, *, intercept: bool = False) -> Sums:
        """The sums over some rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_units)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
            The precision of each row: one over the variance of its noise, up to a factor.
        intercept : bool, default=False
            Whether to take rows and targets around their means, so that a constant is added to
            predictions which is not regularised.
        """
        from .opium import Opium

        check_switch("intercept", intercept)
        solver = Opium("auto", bool(intercept))
        rows, state, flat = solver._checked_first(X, y, sample_weight)
        return replace(state.accumulator().learn_all(rows).sums, flat=flat)

    def __add__(self, other: Any) -> Sums:
        """The sums over the rows of both: merging, learning more rows, a cluster."""
        if isinstance(other, int) and other == 0:  # as in sum()
            return self
        if not isinstance(other, Sums):
            return NotImplemented
        from ._remove import added

        return added(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Sums:
        """The sums over the rows that are not among the others: unlearning, a window that moves.

        Raises
        ------
        ValueError
            If the others are not among these rows.
        """
        if not isinstance(other, Sums):
            return NotImplemented
        from ._remove import subtracted

        return subtracted(self, other)

    def __mul__(self, factor: Any) -> Sums:
        """Multiply the weight of all rows by a factor: forgetting."""
        if isinstance(factor, bool) or not isinstance(factor, (int, float, np.number)):
            return NotImplemented
        if not 0 < factor < np.inf:
            raise ValueError(f"factor={factor!r}: sums are multiplied by a number > 0.")
        decay, none = float(factor), Counts(different=np.empty(0))
        mean = None if self.mean is None else self.mean.faded(decay)
        return self.faded(decay).tallied(none, decay).around(mean)

    __rmul__ = __mul__

    def solve(self, epsilon: float | None = None) -> Array:
        """The weights that minimise ``|XW - y|² + epsilon²|W|²``; for zero, of minimum norm.

        Parameters
        ----------
        epsilon : float, optional
            Default: what `choose` gives.

        Returns
        -------
        W : ndarray of shape (n_units,) or (n_units, n_outputs)
        """
        return self._shaped(self.backend.to_numpy(self._root(epsilon).weights))

    def intercept(self, epsilon: float | None = None) -> Any:
        """The constant that goes with `solve`: zero for sums without an intercept."""
        b, root = self.backend, self._root(epsilon)
        constant = np.zeros((1, root.Z.shape[1]))
        if root.mean is not None:
            constant = b.to_numpy(root.mean.constant(b, root.weights))
        return self._shaped(constant.astype(self.dtype))[0]

    def predict(self, X: Any, epsilon: float | None = None) -> Array:
        """XW and the intercept, for rows of shape (n_samples, n_units)."""
        predicted = predictions(self.backend, self._checked_rows(X), self._root(epsilon).solution)
        return origin_of(X).answer(self._shaped(predicted))

    def spread(self, X: Any, epsilon: float | None = None) -> Array:
        """The standard deviation of a new target at each row; of the shape of predictions.

        That of the noise, estimated from the residuals, and that of the weights. Infinite while the
        weights explain every row.
        """
        deviations = self._root(epsilon).deviations(self._checked_rows(X))
        return origin_of(X).answer(self._shaped(deviations))

    def leave_one_out(
        self, X: Any, y: Any, epsilon: float | None = None, sample_weight: Any = None
    ) -> Array:
        """Predict rows of the sums, each as if that row alone were not in the sums.

        The weights are those that the rows have in the sums.
        """
        rows = self._solver._checked(X, y, sample_weight)
        return origin_of(X).answer(self._shaped(self._root(epsilon).leave_out(rows)))

    def evidence(self, epsilon: float) -> float:
        """The logarithm of the evidence (marginal likelihood) for ε, up to a constant."""
        from ._evidence import log_evidence
        from ._gram import statistics_of

        check_number("epsilon", epsilon, low=0, include_low=False)
        epsilon = float(epsilon)
        return log_evidence(statistics_of(self), root_at(self, epsilon), epsilon)

    def path(self) -> Path:
        """The evidence for each ε that `choose` tries."""
        from ._gram import path_of

        path, _ = path_of(self, self.backend.tuning.svd_units)
        if path is None:
            raise ValueError("there is no path: the rows do not differ; add more rows.")
        return path

    def choose(self) -> float:
        """The ε with the largest evidence, among eight in each factor of ten."""
        return self.path().chosen

    @property
    def n_rows(self) -> float:
        """Number of rows that count; a faded row counts in part."""
        return self.tally.n

    count = n_rows

    def __repr__(self) -> str:
        kind = ", around their mean" if self.mean is not None else ""
        return (
            f"<Sums over {self.count:g} rows{kind}: {self.n_hidden} units, "
            f"{self.Z.shape[1]} outputs, {self.dtype}>"
        )

    def _root(self, epsilon: float | None) -> Sums:
        if epsilon is None:
            epsilon = self.choose()
        check_number("epsilon", epsilon, low=0)
        root = root_at(self, float(epsilon))
        if epsilon == 0 and root.rank:  # of minimum norm, whatever the rank
            solved = linalg.ridge_by_svd(self.backend, root.R, root.Z, 0.0, _DIGITS_OF_SUMS)
            with_derived(root, solved=solved)
        return root

    @property
    def _solver(self) -> Any:
        """A solver that has learned these rows, which checks others."""
        from ._ridge import RidgeState
        from .opium import Opium

        solver = Opium("auto", self.mean is not None)
        return solver.restore(RidgeState.of(self), flat=self.flat)

    def _checked_rows(self, X: Any) -> Array:
        return self.backend.asarray(self._solver._checked_rows(X, reset=False), self.dtype)

    def _shaped(self, A: Array) -> Array:
        """Outputs in the last axis, in the shape of the targets."""
        return A[:, 0] if self.flat else A

    # Inside

    @classmethod
    def start(
        cls,
        b: Backend,
        n_hidden: int,
        n_outputs: int,
        dtype: Any,
        prior: float,
        *,
        tol: float | None = None,
        intercept: bool = False,
    ) -> Sums:
        """The sums before any row."""
        return cls(
            b,
            n_hidden,
            prior,
            b.zeros((0, 0), dtype),
            b.zeros((0, n_outputs), dtype),
            b.zeros((0, n_hidden), dtype),
            np.zeros(n_outputs),
            Counts(),
            mean=Mean.of_nothing(b, n_hidden, n_outputs) if intercept else None,
            tol=tol,
        )

    def leave_out(self, rows: Rows) -> Array:
        """Predict learned rows, each as if that row alone had not been learned."""
        b, parts, W = self.backend, [], self.solution
        for chunk in rows.slices(block_length(b, self.n_hidden, self.dtype)):
            H, Y = (b.asarray(A) for A in rows.make(chunk.start, chunk.stop))
            weight = 1.0 if rows.weight is None else rows.weight[chunk]
            own = weight * self.leverages(H)
            if (own > 1 - _LEAST_LEFT_OUT[self.dtype.char]).any():
                raise ValueError(
                    "X: a row determines its own prediction, or was never learned; without it the "
                    "weights are not determined well enough to be predicted from. A larger epsilon "
                    "helps, and float64 where X is float32."
                )
            errors = Y - predictions(b, H, W)
            parts.append(Y - errors / b.asarray((1 - own)[:, None], self.dtype))
        return b.xp.concat(parts)

    @property
    def rank(self) -> int:
        """The number of rows of the root R."""
        return int(self.R.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.backend.dtype_of(self.Z)

    # Small changes

    def faded(self, decay: float) -> Sums:
        """R'R ← decay·R'R and R'Z ← decay·R'Z: everything counts less, the weights stay."""
        if decay == 1.0:
            return self
        root = float(np.sqrt(decay))
        return replace(
            self,
            R=self.R * root,
            Z=self.Z * root,
            prior=self.prior * root,
            largest_row=np.inf,  # rows that fade have a floor instead
            lost=self.lost * decay,
            loss=self.loss * decay,
        )

    def tallied(self, tally: Counts, decay: float = 1.0, sign: float = 1.0) -> Sums:
        """Count more rows, or fewer; the old ones count less."""
        return replace(self, tally=self.tally.plus(tally, decay, sign))

    def around(self, mean: Mean | None) -> Sums:
        """Return the sums around another mean."""
        return self if mean is self.mean else replace(self, mean=mean)

    def regularised(self, ridge: float, pull: float) -> Sums:
        """R'R ← R'R + ridge·I and R'Z ← R'Z + ridge·pull·W: a ridge centred on pull·W."""
        if ridge == 0.0:
            return self
        d = float(np.sqrt(ridge))
        prior = float(np.hypot(self.prior, d))
        if not self.rank:
            return replace(self, prior=prior)
        R, Z, left = self.backend.append_diagonal(self.R, self.Z, d, self.solved * (d * pull))
        return replace(self, R=R, Z=Z, loss=self.loss + left, prior=prior)

    def with_outputs(self, n_outputs: int, old: Array) -> Sums:
        """Return sums with more outputs, the present ones at the indices `old`.

        An output that has been zero so far has zeros in Z: exactly what it would have had.
        """
        b, mean = self.backend, self.mean
        loss = np.zeros(n_outputs)
        loss[old] = self.loss
        if mean is not None:
            mean = mean.with_outputs(b, n_outputs, old)
        return replace(self, Z=widened(b, self.Z, n_outputs, old), loss=loss, mean=mean)

    def with_units(self, n_hidden: int, old: Array) -> Sums:
        """Return sums with more units, the present ones at the indices `old`, in the same order.

        A unit that has been zero so far has nothing but the prior in R, and zero in Z.
        """
        b, mean, basis, R, Z = self.backend, self.mean, self.basis, self.R, self.Z
        if mean is not None:
            mean = mean.with_units(b, n_hidden, old)
        if basis is not None:
            basis = widened(b, basis, n_hidden, old)
        else:
            wide = np.zeros((n_hidden, n_hidden), self.dtype, order="F")
            np.fill_diagonal(wide, self.prior)
            wide[np.ix_(old, old)] = b.to_numpy(R)
            R, Z = b.asarray(wide), widened(b, Z.T, n_hidden, old).T
            Z = b.asarray(np.asfortranarray(b.to_numpy(Z)))
        return replace(self, n_hidden=n_hidden, R=R, Z=Z, basis=basis, mean=mean)

    # What follows from it

    @derived
    def solved(self) -> Array:
        """R⁻¹Z, in the basis where there is one."""
        return linalg.solve_weights(self.backend, self.R, self.Z)

    @derived
    def weights(self) -> Array:
        """W, of shape (n_hidden, n_outputs), eq. (25)."""
        W: Array = self.solved
        return W if self.basis is None else self.backend.matmul(self.basis.T, W)

    @derived
    def solution(self) -> Array:
        """W and, where there is an intercept, above it a row for that."""
        b, W = self.backend, self.weights
        if self.mean is None:
            return W
        return b.xp.concat([b.asarray(self.mean.constant(b, W), self.dtype), W])

    @derived
    def trace(self) -> float:
        """The trace of θ over the directions that rows have reached."""
        b = self.backend
        inverse = b.solve(self.R, b.identity(self.rank, self.dtype))
        trace = float(b.column_squares(inverse).sum())
        return trace if np.isfinite(trace) else np.inf

    @derived
    def condition(self) -> float:
        """The condition number of R, its columns scaled to length one."""
        return self.backend.condition(self.R)

    def theta(self) -> Array:
        """The paper's θ = (R'R)⁺, eq. (11)."""
        b = self.backend
        if self.basis is None:
            inverse = linalg.solve_weights(b, self.R, b.identity(self.rank, self.dtype))
            return b.matmul(inverse, inverse.T)
        half = b.solve(self.R, self.basis, transposed=True)
        theta = b.matmul(half.T, half)
        return theta + self.phi() / self.prior**2 if self.prior > 0 else theta

    def phi(self) -> Array:
        """The paper's Φ, the projection on what no row has reached, eq. (19)."""
        b = self.backend
        if self.basis is None:
            return b.zeros((self.n_hidden, self.n_hidden), self.dtype)
        return b.xp.eye(self.n_hidden, dtype=self.R.dtype) - b.matmul(self.basis.T, self.basis)

    def psi(self) -> Array:
        """The paper's ψ = (R'Z)', of shape (n_outputs, n_hidden), eq. (26)."""
        b, mean = self.backend, self.mean
        psi = b.matmul(self.Z.T, self.R)
        psi = psi if self.basis is None else b.matmul(psi, self.basis)
        if mean is not None:  # of the rows themselves, not around their mean
            psi = psi + b.asarray(mean.count * mean.target[:, None] * mean.row[None, :], self.dtype)
        return psi

    def squares(self) -> tuple[float, Array]:
        """Sums of squares of all rows and, for each output, of all targets; around their means."""
        b = self.backend
        total = float(b.column_squares(self.R).sum()) - self.rank * self.prior**2
        return max(total, 0.0), self.loss + b.column_squares(self.Z)

    @property
    def slack(self) -> float:
        """Return the possible error in the sum of squares of all rows, after rows were removed."""
        return self.n_hidden * self.lost

    # How sure it is

    def noise(self) -> Array:
        """The variance of what the weights leave unexplained in a row of weight one, per output.

        The loss over the rows that count, less those that the weights used up: the trace of
        Hθ H', which is the number of weights where the prior is small.
        """
        used = self.rank - self.prior**2 * self.trace if self.rank else 0.0
        used += self.mean is not None  # the intercept
        return noise_variance(self.loss, self.count, self.tally.redundancy * used)

    def deviations(self, H: Array) -> Array:
        """The standard deviation of a new target for each row and output, as a NumPy array."""
        lengths = self.leverages(H) if self.rank or self.prior > 0 else np.zeros(H.shape[0])
        n, weight, redundancy = self.count, self.tally.weight, self.tally.redundancy
        own = n / weight if weight > 0 else 1.0  # of a row of the usual weight
        with np.errstate(invalid="ignore"):  # infinity times zero, before any row
            variance = (own + redundancy * lengths)[:, None] * self.noise()
        return np.sqrt(variance).astype(self.dtype)

    def leverages(self, H: Array) -> Array:
        """a'θa for every row; around the mean, and one over the count, with an intercept."""
        b, mean = self.backend, self.mean
        added = 0.0
        if mean is not None:
            H, added = mean.centred(b, H), 1 / mean.count if mean.count > 0 else np.inf
        if self.basis is None:
            return linalg.leverages(b, self.R, H) + added
        T = b.matmul(H, self.basis.T)
        lengths = np.zeros(H.shape[0]) + added
        if self.rank:
            lengths += linalg.leverages(b, self.R, T)
        if self.prior > 0:
            lengths += b.row_squares(H - b.matmul(T, self.basis)) / self.prior**2
        return lengths


def root_at(sums: Sums, epsilon: float) -> Sums:
    """The root of sums with a ridge; that of the sums where they contain it already."""
    b, ridge = sums.backend, epsilon**2 - sums.prior**2
    if ridge <= 0:
        return replace(sums)
    if sums.basis is not None and not sums.rank:
        return replace(sums, prior=epsilon)
    if sums.basis is None:
        few = linalg.leading_rows(b, sums.R) if sums.count else 0
        if few <= sums.n_hidden / 4:
            R = b.identity(sums.n_hidden, sums.dtype, epsilon)
            zero = b.zeros(sums.Z.shape, sums.dtype)
            if not few:
                return replace(sums, R=R, Z=zero, prior=epsilon)
            R, Z, left = b.append_rows(R, zero, sums.R[:few, :], sums.Z[:few, :])
            return replace(sums, R=R, Z=Z, loss=sums.loss + left, prior=epsilon)
    R, Z, left = b.append_diagonal(sums.R, sums.Z, float(np.sqrt(ridge)), b.xp.zeros_like(sums.Z))
    return replace(sums, R=R, Z=Z, loss=sums.loss + left, prior=epsilon)


def predictions(b: Backend, H: Array, W: Array) -> Array:
    """HW, and the intercept where W has a row for it."""
    if W.shape[0] == H.shape[1]:
        return b.matmul(H, W)
    return b.matmul(H, W[1:, :]) + W[:1, :]


def noise_variance(loss: Array, count: Any, used: Any) -> Array:
    """loss / (count - used); infinite while the weights use up all rows."""
    left = np.asarray(count - used)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(left > _LEAST_LEFT * np.asarray(count), loss / left, np.inf)


def largest_safe_row(prior: float, dtype: Any) -> float:
    """The size of rows up to which a root may start from this prior."""
    return LARGEST_LOSS[np.dtype(dtype).char] / eps(dtype) * prior


def spreads_in_order(root: Sums, H: Array, Y: Array, weight: Array, factor: Array) -> Array | None:
    """Return the standard deviation of each row's prediction, after all earlier rows.

    `factor` is what the rows are multiplied by if nothing fades meanwhile; it and `weight` are
    NumPy's. None where R is too close to singular for finite numbers, or there is no mean yet.
    """
    b = root.backend
    scale, of_mean = factor, np.zeros(len(factor))
    if root.mean is not None:
        H, Y, scale, before, _ = root.mean.follow(b, H, Y, factor**2)
        if not scale.all():
            return None
        of_mean = 1 / before
    f = b.asarray(scale[:, None], root.dtype)
    with b.few_threads(0):
        parts = linalg.innovation_parts(b, root.R, root.weights, f * H, f * Y)
    if parts is None:
        return None
    # Nothing fades within the block; what comes later counts more.
    lengths, losses, taken = parts
    counts = factor**2 / weight
    loss = root.loss + _before(losses)
    count = root.count + _before(counts)
    squares = root.tally.n_of_squares + _before(counts**2)
    total = root.tally.weight + _before(factor**2)
    redundancy = np.divide(squares, count, out=np.ones_like(count), where=count > 0)
    own = np.divide(count, total, out=np.ones_like(count), where=total > 0)
    later = np.append(1.0, counts[:-1])  # 1/λ^(k-1): as rows count then
    redundancy /= later
    used = root.rank - root.prior**2 * (root.trace - _before(taken))
    used += root.mean is not None  # the intercept
    noise = noise_variance(
        loss / later[:, None], (count / later)[:, None], (redundancy * used)[:, None]
    )
    lengths = (lengths / scale**2 + of_mean) * later
    with np.errstate(invalid="ignore"):
        variance = (own + redundancy * lengths)[:, None] * noise
    return np.sqrt(variance).astype(root.dtype)


def _before(values: Array) -> Array:
    """Return, for each value, the sum of all values before it."""
    sums = np.cumsum(values, axis=0)
    return np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])
