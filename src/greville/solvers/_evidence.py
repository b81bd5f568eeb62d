"""How much to regularise: the evidence for every ε, from the sums over rows alone.

Least squares with a ridge is the mean of a Gaussian posterior: targets with noise of variance σ²
around HW, weights with variance σ²/ε² around zero. What this model says about the targets as a
whole, with σ integrated out, is its evidence (marginal likelihood) for ε. It needs, for every ε,
the loss |Y - HW|² + ε²|W|² at its minimum and the determinant of H'H + ε²I, and no row again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from .. import linalg
from ..backend import Array, Backend, eps
from ..fields import array, finite, stored
from ._checks import check_path
from ._gram import GramSums

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

# Statistics of squares of targets up to so many times eps² of what they are next to are rounding.
_ROUNDING = 1e4


@stored(check=check_path)
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

    def plot(self, ax: object = None) -> object:
        """Draw the curve and the choice; needs matplotlib, ``pip install 'greville[plot]'``.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        ax : matplotlib Axes
        """
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(figsize=(6, 3.5), layout="constrained").subplots()
        below = self.evidence.max() - self.evidence
        ax.plot(self.epsilon, -below, "o-", color="#1f5fa8", markersize=4)  # type: ignore[attr-defined]
        ax.axvline(self.chosen, color="#c8452c", linestyle="--")  # type: ignore[attr-defined]
        ax.set(  # type: ignore[attr-defined]
            xscale="log",
            xlabel="ε",
            ylabel="log evidence, below the best",
            title=f"chosen: ε = {self.chosen:.3g}",
        )
        return ax


@dataclass(frozen=True)
class Statistics:
    """What the evidence needs to know of the rows, whatever it is computed from.

    Attributes
    ----------
    b : the backend
    count : how many rows count, less one if there is an intercept
    prior : the ridge that is in them already, as an ε
    length : mean square length of a row
    of_means : what the means of the targets would add to |Y|²; zero without an intercept
    R, Z, loss : the root, its right-hand side and what it leaves
    gram : or the Gram matrix, H'Y and |Y|²
    """

    b: Backend
    count: float
    prior: float
    length: float
    of_means: Array
    R: Array | None = None
    Z: Array | None = None
    loss: Array | None = None
    gram: GramSums | None = None


# How to choose: once and with care; among many choices, in a stream; or there after a few rows.
Choice = Literal["thorough", "cheap", "few rows"]


def choice_in_stream(b: Backend, n_rows: int) -> Choice:
    """How carefully to choose ε after so many rows of a stream."""
    return "few rows" if n_rows <= b.tuning.svd_units_in_stream else "cheap"


def takes_singular_values(b: Backend, n_hidden: int, choice: Choice) -> bool:
    """Whether to compute the evidence of the whole grid, from singular values.

    From the singular values the whole curve follows, down to the smallest ε. They take five times
    as long as a Cholesky factor for each of a few ε (46 ms and 9 ms for M = 400): too long in a
    stream, which chooses often, but for small layers and few rows.
    """
    if choice == "few rows":
        return True
    return n_hidden <= (b.tuning.svd_units_in_stream if choice == "cheap" else b.tuning.svd_units)


def choose_epsilon(sums: Statistics, smallest: float, choice: Choice) -> tuple[Path, Array | None]:
    """The ε >= smallest with the largest evidence and the curve behind it; maybe its root."""
    curve: _Curve
    n_rows = 0 if sums.R is None else linalg.leading_rows(sums.b, sums.R)
    if n_rows and takes_singular_values(sums.b, n_rows, choice):
        curve = _BySingularValues(sums, n_rows)
    else:
        curve = _ByCholesky(sums)
    lowest = int(np.ceil(STEPS * np.log10(max(smallest, _TINY))))
    tried = curve.search(lowest)
    best = max(sorted(tried), key=lambda k: tried[k])
    kept = sorted(k for k in tried if np.isfinite(tried[k]))
    path = Path(np.array([value(k) for k in kept]), np.array([tried[k] for k in kept]), value(best))
    return path, curve.root_at(best)


def value(k: int) -> float:
    """The k-th ε of the grid."""
    return float(10.0 ** (k / STEPS))


class _Curve(ABC):
    """The evidence as a function of the place in the grid."""

    def __init__(self, sums: Statistics, n_units: int) -> None:
        self.sums = sums
        self.n_units = n_units
        self.count = sums.count
        length = max(sums.length, _TINY)
        self.typical = float(np.log10(_TYPICAL * length))

    def varying(self, squares: Array, eps: float) -> Array:
        """Which outputs are not the same in all rows, to rounding."""
        return squares > _ROUNDING * eps**2 * (squares + self.sums.of_means)

    def evidence(self, k: Any, loss: Array, log_determinant: Any) -> Any:
        """The evidence at one place of the grid, or at several at once.

        `loss` is that of the outputs that vary, in its last axis, and the other the logarithm of
        |H'H + ε²I| over the units.
        """
        log_ridge = 2 * np.log(10) * k / STEPS
        unlikely = ((2 * k / STEPS - self.typical) / _DECADES) ** 2
        fit = self.count * np.log(loss).mean(axis=-1) if loss.shape[-1] else 0.0
        return -0.5 * (fit + log_determinant - self.n_units * log_ridge + unlikely)

    @abstractmethod
    def search(self, lowest: int) -> dict[int, float]:
        """The evidence at some places, the best from `lowest` on among them."""

    def root_at(self, k: int) -> Array | None:
        """The root of the sums at one place, if it was found on the way."""
        return None


class _BySingularValues(_Curve):
    """R = UsV': everything follows from s and U'Z. What is zero below `n_rows` is left out."""

    def __init__(self, sums: Statistics, n_rows: int) -> None:
        assert sums.R is not None
        assert sums.Z is not None
        assert sums.loss is not None
        super().__init__(sums, sums.R.shape[0])
        b, digit = sums.b, eps(sums.b.dtype_of(sums.Z))
        R, Z = (b.asarray(A[:n_rows, :], np.float64) for A in (sums.R, sums.Z))
        if n_rows < self.n_units:
            R = b.triangularise(R.T).T  # the same U and s, in fewer columns
        U, values, _ = b.svd(R)
        s, z = np.zeros(self.n_units), np.zeros((self.n_units, Z.shape[1]))
        s[:n_rows], z[:n_rows] = b.to_numpy(values), b.to_numpy(b.matmul(U.T, Z)) ** 2
        loss = sums.loss + b.column_squares(sums.Z[n_rows:, :])
        squares = loss + z.sum(axis=0)
        varying = self.varying(squares, digit)
        self.s, self.loss = s**2, loss[varying]
        self.z = np.ascontiguousarray(z[:, varying])
        self.least = digit**2 * squares[varying]

    def search(self, lowest: int) -> dict[int, float]:
        highest = STEPS * (0.5 * np.log10(100 * max(float(self.s.sum()), _TINY)))
        last = max(lowest, int(np.ceil(max(highest, STEPS * (self.typical / 2 + 1)))))
        first = max(lowest, last - 20 * STEPS)
        places = np.arange(first, last + 1)
        more = np.maximum(10.0 ** (2 * places / STEPS) - self.sums.prior**2, 0.0)[:, None]
        both = self.s + more
        losses = np.maximum(self.loss + (more / both) @ self.z, self.least)
        found = self.evidence(places, losses, np.log(both).sum(axis=1))
        return dict(zip(places.tolist(), found.tolist(), strict=True))


class _ByCholesky(_Curve):
    """A Cholesky factor of H'H + ε²I for each ε, and uphill from a tenth of the mean eigenvalue.

    Not from the last choice: how rows are cut must not matter, and a call makes the last choice
    that was due and none before it.
    """

    def __init__(self, sums: Statistics) -> None:
        b, gram = sums.b, sums.gram
        if gram is None:
            assert sums.R is not None
            assert sums.Z is not None
            assert sums.loss is not None
            G, C = b.gram_of_root(sums.R), b.matmul(sums.R.T, sums.Z)
            gram = GramSums(G, C, sums.loss + b.column_squares(sums.Z), sums.prior)
        super().__init__(sums, gram.G.shape[0])
        self.gram = gram
        self.eps = eps(b.dtype_of(gram.G))
        self.known: dict[int, float] = {}
        self.best_root: tuple[int, Array] | None = None
        self.spare: Array | None = None  # memory for the next root

    def root_at(self, k: int) -> Array | None:
        return self.best_root[1] if self.best_root and self.best_root[0] == k else None

    def search(self, lowest: int) -> dict[int, float]:
        diagonal = self.sums.b.to_numpy(self.sums.b.xp.linalg.diagonal(self.gram.G))
        mean = float(diagonal.mean(dtype=np.float64))
        start = max(lowest, round(STEPS * 0.5 * np.log10(max(_START * mean, _TINY))))
        if self._climb(start, -_STRIDE, lowest) == start:
            self._climb(start, _STRIDE, lowest)
        self._at(self._top_of_parabola())
        return self.known

    def _climb(self, start: int, step: int, lowest: int) -> int:
        """The best place of a walk uphill, which ends where the evidence falls."""
        best = k = start
        self._at(start)
        while k == best and k + step >= lowest:
            k += step
            if self._at(k) > self.known[best]:
                best = k
        return best

    def _top_of_parabola(self) -> int:
        """Where the parabola through the best value and its neighbours has its top."""
        best = max(sorted(self.known), key=lambda k: self.known[k])
        left, right = best - _STRIDE, best + _STRIDE
        f = [self.known.get(k, -np.inf) for k in (left, best, right)]
        if not np.isfinite(f).all() or f[0] + f[2] >= 2 * f[1]:
            return best
        return best + round(_STRIDE * 0.5 * (f[2] - f[0]) / (2 * f[1] - f[0] - f[2]))

    def _at(self, k: int) -> float:
        if k not in self.known:
            self.known[k] = self._computed(k)
        return self.known[k]

    def _computed(self, k: int) -> float:
        b, gram = self.sums.b, self.gram
        ridge = value(k) ** 2 - self.sums.prior**2
        found = b.root_and_solved(gram.G, gram.C, ridge, self.spare)
        if found is None:
            self.spare = None
            return -np.inf
        root, solved = found
        explained = b.column_squares(solved)
        least = self.eps * gram.squares  # what rounding may leave
        varying = self.varying(gram.squares, self.eps)
        loss = np.maximum(gram.squares - explained, least)[varying]
        pivots = np.abs(b.to_numpy(b.xp.linalg.diagonal(root))).astype(np.float64)
        evidence = float(self.evidence(k, loss, 2 * float(np.log(pivots).sum())))
        if evidence > max(self.known.values(), default=-np.inf):
            self.best_root, root = (k, root), self.best_root and self.best_root[1]
        self.spare = root
        return evidence


class _AtRoot(_Curve):
    """The evidence at one ε, from the root there."""

    def search(self, lowest: int) -> dict[int, float]:
        raise NotImplementedError


def log_evidence(sums: Statistics, root: Any, epsilon: float) -> float:
    """The logarithm of the evidence for an ε, at which there is this root."""
    b, curve = sums.b, _AtRoot(sums, root.rank)
    squares = root.loss + b.column_squares(root.Z)
    varying = curve.varying(squares, eps(root.dtype))
    loss = np.maximum(root.loss, eps(root.dtype) ** 2 * squares)[varying]
    pivots = np.abs(b.to_numpy(b.xp.linalg.diagonal(root.R))).astype(np.float64)
    return float(curve.evidence(STEPS * np.log10(epsilon), loss, 2 * float(np.log(pivots).sum())))
