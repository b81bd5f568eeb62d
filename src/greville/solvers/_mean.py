"""An intercept without a column of ones: rows around their mean, which moves with every row.

Least squares with a free intercept is least squares on rows and targets around their means. The
scatter around a mean is itself a sum over rows: of those before it, of the new rows around their
own mean, and of one more row from one mean to the other (Chan, Golub & LeVeque). One row at a time
the same identity reads: row k around the mean of all before it, multiplied by √(n w / (n + w)) for
the n that they count and its own weight w. So a solver without an intercept that is given these
rows has one, and nothing depends on where zero is or on how rows are cut into calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ..backend import Array, Backend, eps
from ..devices import on_host
from ..fields import array, finite, require
from ._derived import Value, stored_value
from ._rows import Counts, Rows

# What is left of the count when all rows are unlearned may be this much rounding, as a part of it.
_NOTHING_LEFT = 1e-12

# Rows that tell how far columns spread.
_SOME = 64

# Numbers around a mean up to so many times its rounding are zero: columns that do not vary must
# not look as if they varied a little.
ZERO = 8.0


def _check_mean(mean: Mean) -> None:
    require(mean.count >= 0, "a mean has a negative count")
    dtypes = {on_host(A).dtype for A in (mean.row, mean.target)}
    require(dtypes == {np.dtype(np.float64)}, "a mean is not float64")


@stored_value(_check_mean)
@dataclass(frozen=True, eq=False)
class Mean(Value):
    """The weighted mean of all rows and of their targets, in float64, and the sum of weights."""

    arrays = ("row", "target")

    count: Annotated[float, finite]
    row: Annotated[Array, array(1)]
    target: Annotated[Array, array(1)]

    @classmethod
    def of_nothing(cls, b: Backend, n_hidden: int, n_outputs: int) -> Mean:
        """The mean before any row."""
        return cls(0.0, b.zeros((n_hidden,), np.float64), b.zeros((n_outputs,), np.float64))

    # Many rows: the order does not matter

    def add(
        self, b: Backend, H: Array, Y: Array, weight: Array | None
    ) -> tuple[Array, Array, Mean]:
        """Return what rows add to the scatter, as rows, and the mean after them."""
        dtype = b.dtype_of(H)
        w = np.ones(H.shape[0], dtype) if weight is None else weight.astype(dtype, copy=False)
        count = float(w.sum(dtype=np.float64))
        weights = b.asarray(np.append(w, w.dtype.type(0)))  # nothing for the row that is added
        (rows, row), (targets, target) = (_centred(b, A, weights, count) for A in (H, Y))
        if weight is not None:
            root = b.asarray(np.sqrt(w)[:, None])
            rows[:-1, :] *= root
            targets[:-1, :] *= root
        if count == 0:
            return rows[:-1, :], targets[:-1, :], self
        rows[-1:, :], targets[-1:, :], mean = self.step_to(b, Mean(count, row, target), dtype)
        return rows, targets, mean

    def without(self, b: Backend, other: Mean) -> Mean:
        """Return the mean without the rows of another mean."""
        left = self.count - other.count
        if left <= _NOTHING_LEFT * self.count:
            return Mean.of_nothing(b, self.row.shape[0], self.target.shape[0])
        moved = other.count / left
        return Mean(
            left,
            self.row + moved * (self.row - other.row),
            self.target + moved * (self.target - other.target),
        )

    def step_to(self, b: Backend, other: Mean, dtype: Any) -> tuple[Array, Array, Mean]:
        """Return the row and target that merging two scatters adds, and the common mean."""
        n, m = self.count, other.count
        size = float(np.sqrt(n / (n + m) * m)) if n > 0 and m > 0 else 0.0
        step = zero_rounding(b.xp, (other.row - self.row)[None, :], other.row, eps(dtype))
        target = other.target - self.target
        if n + m == 0:
            return b.asarray(size * step, dtype), b.asarray(size * target[None, :], dtype), self
        share = m / (n + m)
        mean = Mean(n + m, self.row + share * (other.row - self.row), self.target + share * target)
        return b.asarray(size * step, dtype), b.asarray(size * target[None, :], dtype), mean

    def faded(self, decay: float) -> Mean:
        """Return the mean of rows that count less."""
        return self if decay == 1.0 else Mean(self.count * decay, self.row, self.target)

    # One row after the other

    def follow(
        self, b: Backend, H: Array, Y: Array, weight: Array
    ) -> tuple[Array, Array, Array, Array, Mean]:
        """Rows that are learned one after the other, each around the mean of all before it.

        With their targets likewise, what to multiply each with, how much the rows before each
        count, and the mean after all. `weight`, factors and counts are NumPy's.
        """
        dtype, w = b.dtype_of(H), weight.astype(np.float64)
        counts = self.count + np.concatenate([[0.0], np.cumsum(w)])
        before, after = counts[:-1], counts[1:]
        rows, row = _running(b, H, self.row, self.count, w, counts)
        targets, target = _running(b, Y, self.target, self.count, w, counts)
        rows = zero_rounding(b.xp, rows, row, eps(dtype))
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(after > 0, np.sqrt(before * w / after), 0.0)
        mean = Mean(float(counts[-1]), row, target)
        return b.asarray(rows, dtype), b.asarray(targets, dtype), factor, before, mean

    # Reading

    def centred(self, b: Backend, H: Array) -> Array:
        """Rows around the mean."""
        return b.asarray(H - self.row, b.dtype_of(H))

    def constant(self, b: Backend, W: Array) -> Array:
        """The intercept that goes with the weights of the centred rows, as one row."""
        W = b.asarray(W, np.float64)
        return self.target[None, :] - b.matmul(self.row[None, :], W)

    def with_outputs(self, b: Backend, n_outputs: int, old: Array) -> Mean:
        """Return the mean with more outputs, zero so far, the present ones at the indices `old`."""
        return Mean(self.count, self.row, widened(b, self.target[None, :], n_outputs, old)[0, :])

    def with_units(self, b: Backend, n_hidden: int, old: Array) -> Mean:
        """Return the mean with more units, zero so far, the present ones at the indices `old`."""
        return Mean(self.count, widened(b, self.row[None, :], n_hidden, old)[0, :], self.target)


def widened(b: Backend, A: Array, n_outputs: int, old: Array) -> Array:
    """A with more columns: zeros, and the present ones at the indices `old`."""
    wide = b.zeros((A.shape[0], n_outputs), b.dtype_of(A))
    for i, place in enumerate(old):
        wide[:, int(place)] = A[:, i]
    return wide


class Chunk:
    """Rows as a root learns them: weighted, faded and, with an intercept, around their means.

    Every call reads the blocks again from the first row; `after` is then the mean after the last.

    Parameters
    ----------
    b : Backend
    rows : Rows
    length : int
        How many rows at a time.
    mean : Mean or None
        The mean before these rows.
    keep : float, optional
        What is left of a row's weight, and of the mean before, after the next row; `energies` are
        then the |a|² of the rows. By default rows do not fade.
    """

    def __init__(
        self,
        b: Backend,
        rows: Rows,
        length: int,
        mean: Mean | None,
        keep: float | None = None,
    ) -> None:
        self._b, self._rows, self._length = b, rows, length
        self.n = rows.n
        self.energies = np.zeros(0 if keep is None else rows.n)
        self._fading: Array | None = None
        self._weight = rows.weight
        if keep is not None:
            self._fading = keep ** np.arange(rows.n - 1, -1, -1.0)
            self._weight = self._fading * rows.weights
            mean = None if mean is None else mean.faded(keep**rows.n)
        self._before = self.after = mean
        self._counts: Counts | None = None

    def tally(self, before: Counts | None = None) -> Counts:
        """Count the rows of the chunk, once; `before` are the counts of the earlier rows."""
        if self._counts is None:
            fading = 1.0 if self._fading is None else self._fading
            self._counts = Counts.of(self._b, self._rows, fading, before)
        return self._counts

    def __call__(self) -> Iterator[tuple[Array, Array]]:
        b, mean, weight = self._b, self._before, self._weight
        for part in self._rows.slices(self._length):
            H, Y = (b.asarray(A) for A in self._rows.make(part.start, part.stop))
            if self._fading is not None:
                self.energies[part] = b.row_squares(H) * self._rows.weights[part]
            if mean is not None:
                H, Y, mean = mean.add(b, H, Y, None if weight is None else weight[part])
                self.after = mean
            elif weight is not None:
                f = b.asarray(np.sqrt(weight[part, None]), b.dtype_of(H))
                H, Y = f * H, f * Y
            yield H, Y
            del H, Y  # before the next are made


def _centred(b: Backend, A: Array, w: Array, count: float) -> tuple[Array, Array]:
    """Rows around their mean in an array with one row more, and that mean in float64.

    First around a mean with the rounding of its sum. The mean of what is left corrects it; the
    rows are corrected too, unless that is too small to matter next to their spread.
    """
    xp, dtype = b.xp, b.dtype_of(A)
    n, width = A.shape
    out = xp.empty((n + 1, width), dtype=A.dtype)
    if isinstance(A, np.ndarray) and A.flags.f_contiguous and not A.flags.c_contiguous:
        out = np.empty((width, n + 1), A.dtype).T  # laid out as A
    rows = out[:-1, :]
    if count == 0:
        rows[:, :] = A
        return out, b.zeros((width,), np.float64)
    origin = _weighted_sum(b, A, w[:-1]) / count
    if isinstance(A, np.ndarray):
        np.subtract(A, origin, out=rows)
    else:
        rows[:, :] = A - origin
    out[-1, :] = 0
    left = b.asarray(_weighted_sum(b, out, w), np.float64) / count
    some = b.asarray(rows[:: max(1, n // _SOME), :], np.float64)
    spread = xp.mean(some * some, axis=0)
    if bool(xp.any(left * left > 4 * eps(dtype) * spread)):
        rows -= b.asarray(left, dtype)
    mean = b.asarray(origin, np.float64) + left
    still = spread <= (ZERO * eps(dtype) * mean) ** 2
    if n == 1:  # all columns are still
        rows[:, :] = xp.where(still, zero_rounding(xp, rows, mean, eps(dtype)), rows)
        return out, mean
    for j in np.flatnonzero(b.to_numpy(still)).tolist():
        rows[:, j] = zero_rounding(xp, rows[:, j], mean[j], eps(dtype))
    return out, mean


def zero_rounding(xp: Any, rows: Array, mean: Array, eps: float) -> Array:
    """Rows with zeros for what is rounding in numbers around a mean."""
    rounding = xp.abs(rows) <= ZERO * eps * xp.abs(mean)
    return xp.where(rounding, xp.zeros_like(rows), rows) if bool(xp.any(rounding)) else rows


def _weighted_sum(b: Backend, A: Array, w: Array) -> Array:
    if A.shape[0] < _SOME:
        return b.matmul(w[None, :], A)[0, :]
    return b.matmul(A.T, w[:, None])[:, 0]


def _running(
    b: Backend, A: Array, mean: Array, count: float, w: Array, counts: Array
) -> tuple[Array, Array]:
    """Return each row minus the mean of all earlier rows, and the mean after the last row.

    Rows before any that counts stay as they are, around zero.
    """
    origin = mean if count > 0 else b.asarray(A[0, :], np.float64)
    rows = A - origin
    moved = b.running_sums(rows if (w == 1).all() else rows * b.asarray(w[:, None]))
    moved /= b.asarray(np.where(counts > 0, counts, 1.0)[:, None])
    rows -= moved[:-1, :]
    for i in np.flatnonzero(counts[:-1] == 0).tolist():
        rows[i, :] = b.asarray(A[i, :], np.float64)
    return rows, mean if counts[-1] == 0 else origin + moved[-1, :]
