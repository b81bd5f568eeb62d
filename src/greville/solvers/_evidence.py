"""How much to regularise: the evidence for every ε, from the sums over rows alone.

Least squares with a ridge is the mean of a Gaussian posterior: targets with noise of variance σ²
around HW, weights with variance σ²/ε² around zero. What this model says about the targets as a
whole, with σ integrated out, is its evidence (marginal likelihood) for ε. It needs, for every ε,
the loss |Y - HW|² + ε²|W|² at its minimum and the determinant of H'H + ε²I, and no row again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import backend, linalg
from ..backend import Array, Backend, eps
from ..backend.scipy import root_of_largest
from ..fields import array, finite, require, stored

# Values of ε that are tried in every factor of ten. A grid, so that rounding does not move the
# choice.
STEPS = 8

# Where to look first for the ridge ε², as a part of the mean eigenvalue.
_START = 0.1

# Steps taken at once while looking for the top.
_STRIDE = 4

# A weak prior: the noise has a hundredth of the variance of the signal, with a standard deviation
# of two decades. Twenty rows outweigh it.
_TYPICAL = 0.01
_DECADES = 2.0


# The smallest number that has all its digits.
_TINY = float(np.finfo(float).tiny)

# Singular values up to so many times eps, for each unit, of the largest are rounding.
_REACHED = 50.0

# Copies are looked for among fewer rows than so many for each unit: more contradict each other.
_COPIES = 2

# Statistics of squares of targets up to so many times eps² of what they are next to are rounding.
_ROUNDING = 1e4


def _check_path(path: Path) -> None:
    fits = path.epsilon.shape == path.evidence.shape and len(path.epsilon)
    require(fits, "the path of epsilon has arrays of different lengths")


@stored(check=_check_path)
@dataclass(frozen=True)
class Path:
    """The curve behind a choice of ε; ``epsilon, evidence = model.path()`` takes it apart.

    Attributes
    ----------
    epsilon : ndarray of shape (n_tried,)
        The values tried, in increasing order.
    evidence : ndarray of shape (n_tried,)
        The logarithm of the evidence for each, the mean over the outputs, up to a constant.
    chosen : float

    Examples
    --------
    >>> import numpy as np
    >>> from greville import Opium
    >>> H = np.random.default_rng(0).normal(size=(50, 3))
    >>> path = Opium("auto").fit(H, H @ [1.0, 2.0, 3.0]).path()
    >>> epsilon, evidence = path
    >>> len(epsilon) == len(evidence)
    True
    """

    epsilon: Annotated[Array, array(1)]
    evidence: Annotated[Array, array(1)]
    chosen: Annotated[float, finite]

    def __iter__(self) -> Iterator[Array]:
        return iter((self.epsilon, self.evidence))


class GramSums(NamedTuple):
    """H'H + prior²I, of which the upper triangle counts, H'Y, and |Y|² (NumPy)."""

    G: Array
    C: Array
    squares: Array
    prior: float


@dataclass(frozen=True)
class Statistics:
    """Statistics of rows that the evidence needs, beside their root or Gram matrix.

    Attributes
    ----------
    b : the backend
    count : how many rows count, less one if there is an intercept
    length : mean square length of a row
    of_means : what the means of the targets would add to |Y|²; zero without an intercept
    copies : whether copies of rows may count more than once
    """

    b: Backend
    count: float
    length: float
    of_means: Array
    copies: bool = False

    @property
    def log_typical(self) -> float:
        """The logarithm of the ridge ε² around which the weak prior is."""
        return float(np.log10(_TYPICAL * max(self.length, _TINY)))

    def varying(self, squares: Array, eps: float) -> Array:
        """Mark the outputs that vary between rows by more than rounding."""
        return squares > _ROUNDING * eps**2 * (squares + self.of_means)

    def of_rank(self, rank: int, left: Array, squares: Array, digits: float) -> Statistics:
        """Count at most `rank` rows, if these leave nothing of the squares of targets but rounding.

        Each other row repeats what they say, target and all: a confirmation that there is no noise.
        """
        explained = bool((left <= _ROUNDING * digits * (squares + self.of_means)).all())
        return replace(self, count=min(self.count, float(rank))) if explained else self

    def evidence(self, k: Any, loss: Array, log_determinant: Any, n_units: int) -> Any:
        """The evidence at one place of the grid, or at several at once.

        `loss` is that of the outputs that vary, in its last axis, and the other the logarithm of
        |H'H + ε²I| over the units.
        """
        log_ridge = 2 * np.log(10) * k / STEPS
        unlikely = ((2 * k / STEPS - self.log_typical) / _DECADES) ** 2
        fit = self.count * np.log(loss).mean(axis=-1) if loss.shape[-1] else 0.0
        return -0.5 * (fit + log_determinant - n_units * log_ridge + unlikely)


def units_in_stream(b: Backend, n_rows: int) -> float:
    """Return the largest number of units for which the whole grid of ε is tried in a stream.

    From the singular values the whole curve follows, down to the smallest ε. They take five times
    as long as a Cholesky factor for each of a few ε (46 ms and 9 ms for M = 400): too long in a
    stream, which chooses often, but for small layers and few rows.
    """
    units = b.tuning.svd_units_in_stream
    return np.inf if n_rows <= units else units


def choose_epsilon(
    statistics: Statistics, sums: Any, smallest: float, most_units: float
) -> tuple[Path, Array | None]:
    """Choose the ε >= `smallest` with the largest evidence; return the curve and maybe a root.

    Parameters
    ----------
    statistics : Statistics
    sums : Sums or GramSums
    smallest : float
    most_units : float
        Up to how many units the whole grid is tried, by singular values.
    """
    b, by_gram = statistics.b, isinstance(sums, GramSums)
    n_rows = 0 if by_gram else linalg.leading_rows(b, sums.R)
    lowest = int(np.ceil(STEPS * np.log10(max(smallest, _TINY))))
    root = None
    if 0 < n_rows <= most_units:
        tried = _whole_curve(statistics, sums, n_rows, lowest)
        best = _top(tried)
    else:
        gram = sums if by_gram else _gram_of(b, sums)
        search = _Search(_of_rank(statistics, gram), gram)
        tried = search.run(lowest)
        best = _top(tried)
        if search.best_root and search.best_root[0] == best:
            root = search.best_root[1]
    kept = sorted(k for k in tried if np.isfinite(tried[k]))
    path = Path(np.array([value(k) for k in kept]), np.array([tried[k] for k in kept]), value(best))
    return path, root


def value(k: int) -> float:
    """The k-th ε of the grid."""
    return float(10.0 ** (k / STEPS))


def _top(tried: dict[int, float]) -> int:
    return max(sorted(tried), key=lambda k: tried[k])


def _gram_of(b: Backend, sums: Any) -> GramSums:
    G, C = b.gram_of_root(sums.R), b.matmul(sums.R.T, sums.Z)
    return GramSums(G, C, sums.loss + b.column_squares(sums.Z), sums.prior)


def _of_rank(statistics: Statistics, gram: GramSums) -> Statistics:
    """Count copies once, by a Cholesky factor that ends where nothing is left but rounding."""
    b, n_units = statistics.b, gram.G.shape[0]
    if not statistics.copies or statistics.count >= _COPIES * n_units:
        return statistics
    G, C, digit = b.to_numpy(gram.G), b.to_numpy(gram.C), eps(b.dtype_of(gram.G))
    tol = max(n_units * digit * float(G.diagonal().max()), 10 * gram.prior**2)
    places, R = root_of_largest(G, tol)
    host = backend.get("scipy")
    explained = host.column_squares(host.solve(R, C[places], transposed=True))
    return statistics.of_rank(len(places), gram.squares - explained, gram.squares, digit)


def _whole_curve(statistics: Statistics, sums: Any, n_rows: int, lowest: int) -> dict[int, float]:
    """The evidence at all places from `lowest` on, or the last 20 decades of them.

    With R = UsV' everything follows from s and U'Z. What is zero below `n_rows` is left out.
    """
    b, n_units = statistics.b, sums.R.shape[0]
    R, Z = (b.asarray(A[:n_rows, :], np.float64) for A in (sums.R, sums.Z))
    if n_rows < n_units:
        R = b.triangularise(R.T).T  # the same U and s, in fewer columns
    U, values, _ = b.svd(R)
    s, z = np.zeros(n_units), np.zeros((n_units, Z.shape[1]))
    s[:n_rows], z[:n_rows] = b.to_numpy(values) ** 2, b.to_numpy(b.matmul(U.T, Z)) ** 2
    loss = sums.loss + b.column_squares(sums.Z[n_rows:, :])
    squares, digit = loss + z.sum(axis=0), eps(b.dtype_of(sums.Z))
    if statistics.copies and statistics.count < _COPIES * n_units:
        size = float(np.sqrt(s.max(initial=0.0)))
        reached = np.sqrt(s) > max(_REACHED * n_units * digit * size, 10 * sums.prior)
        digits = max(digit**2, (sums.prior / size) ** 2) if size > 0 else 0.0
        left = loss + z[~reached].sum(axis=0)
        statistics = statistics.of_rank(int(reached.sum()), left, squares, digits)
    varying = statistics.varying(squares, digit)
    highest = STEPS * (0.5 * np.log10(100 * max(float(s.sum()), _TINY)))
    highest = max(highest, STEPS * (statistics.log_typical / 2 + 1))
    last = max(lowest, int(np.ceil(highest)))
    places = np.arange(max(lowest, last - 20 * STEPS), last + 1)
    more = np.maximum(10.0 ** (2 * places / STEPS) - sums.prior**2, 0.0)[:, None]
    both = s + more
    losses = loss[varying] + (more / both) @ np.ascontiguousarray(z[:, varying])
    losses = np.maximum(losses, digit**2 * squares[varying])
    evidences = statistics.evidence(places, losses, np.log(both).sum(axis=1), n_units)
    return dict(zip(places.tolist(), evidences.tolist(), strict=True))


class _Search:
    """A search for the best ε by Cholesky factors, uphill from a tenth of the mean eigenvalue.

    Not from the last choice: how rows are cut must not matter, and a call makes the last choice
    that was due and none before it.
    """

    def __init__(self, statistics: Statistics, gram: GramSums) -> None:
        self.statistics, self.gram = statistics, gram
        self.tried: dict[int, float] = {}
        self.best_root: tuple[int, Array] | None = None
        self.spare: Array | None = None  # memory for the next root

    def run(self, lowest: int) -> dict[int, float]:
        """Return the evidence at some places of the grid, including the best from `lowest` on."""
        b = self.statistics.b
        diagonal = b.to_numpy(b.xp.linalg.diagonal(self.gram.G))
        mean = float(diagonal.mean(dtype=np.float64))
        start = max(lowest, round(STEPS * 0.5 * np.log10(max(_START * mean, _TINY))))
        if self._climb(start, -_STRIDE, lowest) == start:
            self._climb(start, _STRIDE, lowest)
        self._at(self._top_of_parabola())
        return self.tried

    def _climb(self, start: int, step: int, lowest: int) -> int:
        """The best place of a walk uphill, which ends where the evidence falls."""
        best = k = start
        self._at(start)
        while k == best and k + step >= lowest:
            k += step
            if self._at(k) > self.tried[best]:
                best = k
        return best

    def _top_of_parabola(self) -> int:
        """Return the top of the parabola through the best value and its neighbours."""
        best = _top(self.tried)
        f = [self.tried.get(k, -np.inf) for k in (best - _STRIDE, best, best + _STRIDE)]
        if not np.isfinite(f).all() or f[0] + f[2] >= 2 * f[1]:
            return best
        return best + round(_STRIDE * 0.5 * (f[2] - f[0]) / (2 * f[1] - f[0] - f[2]))

    def _at(self, k: int) -> float:
        if k not in self.tried:
            self.tried[k] = self._computed(k)
        return self.tried[k]

    def _computed(self, k: int) -> float:
        b, gram = self.statistics.b, self.gram
        factor = b.root_and_solved(gram.G, gram.C, value(k) ** 2 - gram.prior**2, self.spare)
        if factor is None:
            self.spare = None
            return -np.inf
        root, solved = factor
        loss = gram.squares - b.column_squares(solved)
        evidence = _evidence_at(
            self.statistics, k, root, loss, gram.squares, eps(b.dtype_of(gram.G)), 1
        )
        if evidence > max(self.tried.values(), default=-np.inf):
            self.best_root, root = (k, root), self.best_root and self.best_root[1]
        self.spare = root
        return evidence


def _evidence_at(
    statistics: Statistics,
    k: float,
    R: Array,
    loss: Array,
    squares: Array,
    digit: float,
    power: int,
) -> float:
    """The evidence at one place, where R is the root; rounding leaves digit^power of squares."""
    b = statistics.b
    varying = statistics.varying(squares, digit)
    loss = np.maximum(loss, digit**power * squares)[varying]
    pivots = np.abs(b.to_numpy(b.xp.linalg.diagonal(R))).astype(np.float64)
    log_determinant = 2 * float(np.log(pivots).sum())
    return float(statistics.evidence(k, loss, log_determinant, R.shape[0]))


def log_evidence(statistics: Statistics, root: Any, epsilon: float) -> float:
    """The logarithm of the evidence for an ε, at which there is this root."""
    squares, k = root.loss + statistics.b.column_squares(root.Z), STEPS * np.log10(epsilon)
    return _evidence_at(statistics, k, root.R, root.loss, squares, eps(root.dtype), 2)
