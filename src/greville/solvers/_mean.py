"""An intercept without a column of ones: rows around their mean, which moves with every row.

Least squares with a free intercept is least squares on rows and targets around their means. The
scatter around a mean is itself a sum over rows: of those before it, of the new rows around their
own mean, and of one more row from one mean to the other (Chan, Golub & LeVeque). One row at a time
the same identity reads: row k around the mean of all before it, multiplied by √(n w / (n + w)) for
the n that they count and its own weight w. So a solver without an intercept that is given these
rows has one, and nothing depends on where zero is or on how rows are cut into calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..linalg import Array, matmul, matvec
from ._rows import Rows

# What is left of the count when all rows are unlearned may be this much rounding, as a part of it.
_NOTHING_LEFT = 1e-12

# Rows that tell how far columns spread.
_SOME = 64

# Numbers around a mean up to so many times its rounding are zero: columns that do not vary must
# not look as if they varied a little.
_ZERO = 8.0


@dataclass(frozen=True, eq=False)
class Mean:
    """The weighted mean of all rows and of their targets, in float64, and how much they count."""

    count: float
    row: Array
    target: Array

    @classmethod
    def of_nothing(cls, n_hidden: int, n_outputs: int) -> Mean:
        return cls(0.0, np.zeros(n_hidden), np.zeros(n_outputs))

    # Many rows: the order does not matter

    def add(self, H: Array, Y: Array, weight: Array | None) -> tuple[Array, Array, Mean]:
        """What rows add to the scatter, as rows of their own, and the mean after them."""
        *scatter, count, row, target = _around_own_mean(H, Y, weight)
        if count == 0:
            return scatter[0][:-1], scatter[1][:-1], self
        return *self._joined(scatter, count, row, target), self.merged(count, row, target)

    def remove(self, H: Array, Y: Array, weight: Array | None) -> tuple[Array, Array, Mean]:
        """What rows take from the scatter, as rows of their own, and the mean without them."""
        *scatter, count, row, target = _around_own_mean(H, Y, weight)
        left = self.count - count
        if left <= _NOTHING_LEFT * self.count:
            rest = Mean.of_nothing(len(row), len(target))
        else:
            moved = count / left
            rest = Mean(
                left,
                self.row + moved * (self.row - row),
                self.target + moved * (self.target - target),
            )
        return *rest._joined(scatter, count, row, target), rest

    def step_to(self, other: Mean, dtype: Any) -> tuple[Array, Array, Mean]:
        """The one row that merging two scatters adds, its target, and the common mean."""
        size, eps = _size_of_step(self.count, other.count), float(np.finfo(dtype).eps)
        step = (other.row - self.row)[None]
        zero_rounding(step, self.row, eps)
        return (
            (size * step).astype(dtype),
            (size * (other.target - self.target)[None]).astype(dtype),
            self.merged(other.count, other.row, other.target),
        )

    def merged(self, count: float, row: Array, target: Array) -> Mean:
        """The mean after rows of another mean."""
        total = self.count + count
        if total == 0:
            return self
        share = count / total
        return Mean(
            total, self.row + share * (row - self.row), self.target + share * (target - self.target)
        )

    def _joined(
        self, scatter: list[Array], count: float, row: Array, target: Array
    ) -> tuple[Array, Array]:
        """A scatter, with the row from this mean to its mean in the last place."""
        rows, targets = scatter
        size, step = _size_of_step(self.count, count), row - self.row
        zero_rounding(step, row, float(np.finfo(rows.dtype).eps))
        rows[-1], targets[-1] = size * step, size * (target - self.target)
        return rows, targets

    # One row after the other

    def follow(
        self, H: Array, Y: Array, weight: Array
    ) -> tuple[Array, Array, Array, Array, Array, Mean]:
        """Rows and targets, each around the mean of all before it, and what goes with them.

        Returns the rows and targets, the factor to multiply each with, how much the rows before
        it count, the means of the targets before it, and the mean after all.
        """
        dtype, w = H.dtype, weight.astype(np.float64)
        counts = self.count + np.concatenate([[0.0], np.cumsum(w)])
        before, after = counts[:-1], counts[1:]
        rows, means = _running(H, self.row, self.count, w, counts)
        targets, target_means = _running(Y, self.target, self.count, w, counts)
        zero_rounding(rows, means[-1], float(np.finfo(dtype).eps))
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(after > 0, np.sqrt(before * w / after), 0.0)
        last = Mean(float(counts[-1]), means[-1], target_means[-1])
        return (
            np.ascontiguousarray(rows, dtype),
            np.ascontiguousarray(targets, dtype),
            factor,
            before,
            target_means[:-1],
            last,
        )

    # Reading

    def centred(self, H: Array) -> Array:
        """Rows around the mean."""
        return np.subtract(H, self.row, dtype=np.float64).astype(H.dtype, copy=False)

    def constant(self, W: Array) -> Array:
        """The intercept that goes with the weights of the centred rows."""
        return self.target - self.row @ W

    def with_outputs(self, n_outputs: int, old: Array) -> Mean:
        target = np.zeros(n_outputs)
        target[old] = self.target
        return Mean(self.count, self.row, target)


class RowBlocks:
    """Blocks of rows as a root learns them: weighted and, with an intercept, around their means.

    Every call reads the rows again from the first; `after` is then the mean after the last.

    Parameters
    ----------
    rows : Rows
    length : int
        How many rows at a time.
    start : Mean, RowBlocks or None
        The mean before these rows, or the blocks that come before them.
    """

    def __init__(self, rows: Rows, length: int, start: Mean | RowBlocks | None) -> None:
        self._rows = rows
        self._length = length
        self._start = start
        self.after: Mean | None = None

    def __call__(self) -> Iterator[tuple[Array, Array]]:
        mean = self._start.after if isinstance(self._start, RowBlocks) else self._start
        rows, weight = self._rows, self._rows.weight
        if mean is None:
            factor = None if weight is None else np.sqrt(weight)
            yield from rows.blocks(self._length, factor)
            return
        for part in rows.slices(self._length):
            H, Y = rows.make(part.start, part.stop)
            H, Y, mean = mean.add(H, Y, None if weight is None else weight[part])
            self.after = mean
            yield H, Y
            del H, Y  # before the next are made


class Followed:
    """Blocks of rows for a record: each row weighted, and around the mean of all before it.

    All rows must count, and some must have come before them where there is an intercept. After
    the blocks were read, `after` is the mean after the last row; `n_read` counts rows.
    """

    def __init__(self, rows: Rows, parts: Iterable[slice], mean: Mean | None) -> None:
        self._rows = rows
        self._parts = parts
        self._factors: list[Array] = []
        self._targets: list[Array] = []
        self.n_read = 0
        self.after = mean

    def __call__(self) -> Iterator[tuple[Array, Array]]:
        for part in self._parts:
            H, Y = self._rows.make(part.start, part.stop)
            weight = None if self._rows.weight is None else self._rows.weight[part]
            factor = None if weight is None else np.sqrt(weight)
            if self.after is not None:
                weight = np.ones(len(H)) if weight is None else weight
                H, Y, factor, _, targets, self.after = self.after.follow(H, Y, weight)
                self._targets.append(targets)
            if factor is not None:
                f = factor[:, None].astype(H.dtype, copy=False)
                H, Y = f * H, f * Y
                self._factors.append(f)
            self.n_read = part.stop
            yield H, Y
            del H, Y

    def undone(self, predicted: Array) -> Array:
        """Predictions for these rows as predictions for the rows as they came."""
        if self._factors:
            predicted = predicted / np.concatenate(self._factors)
        if self._targets:
            predicted = predicted + np.concatenate(self._targets).astype(predicted.dtype)
        return predicted


def _size_of_step(n: float, m: float) -> float:
    return float(np.sqrt(n / (n + m) * m)) if n > 0 and m > 0 else 0.0


def _around_own_mean(
    H: Array, Y: Array, weight: Array | None
) -> tuple[Array, Array, float, Array, Array]:
    """Weighted rows and targets around their mean, with room for one more; their count and mean."""
    w = np.ones(len(H), H.dtype) if weight is None else weight.astype(H.dtype, copy=False)
    count = float(w.sum(dtype=np.float64))
    (rows, row), (targets, target) = (_centred(A, w, count) for A in (H, Y))
    if weight is not None:
        root = np.sqrt(w)[:, None]
        rows[:-1] *= root
        targets[:-1] *= root
    return rows, targets, count, row, target


def _centred(A: Array, w: Array, count: float) -> tuple[Array, Array]:
    """Rows around their mean in an array with one row more, and that mean in float64.

    First around a mean with the rounding of its sum. The mean of what is left corrects it; the
    rows are corrected too, unless that is too small to matter next to their spread.
    """
    out = np.empty((len(A) + 1, A.shape[1]), A.dtype)
    rows = out[:-1]
    if count == 0:
        rows[:] = A
        return out, np.zeros(A.shape[1])
    first = _weighted_sum(A, w) / A.dtype.type(count)
    np.subtract(A, first, out=rows)
    left = _weighted_sum(rows, w).astype(np.float64) / count
    eps, some = float(np.finfo(A.dtype).eps), rows[:: max(1, len(rows) // _SOME)]
    spread = np.mean(some.astype(np.float64) ** 2, axis=0)
    if (left**2 > 4 * eps * spread).any():
        rows -= left.astype(A.dtype)
    mean = first.astype(np.float64) + left
    still = spread <= (_ZERO * eps * mean) ** 2
    if still.any():
        part = rows[:, still]
        zero_rounding(part, mean[still], eps)
        rows[:, still] = part
    return out, mean


def zero_rounding(rows: Array, mean: Array, eps: float) -> None:
    """Set to zero, in place, what is rounding in numbers around a mean."""
    rows[np.abs(rows) <= _ZERO * eps * np.abs(mean)] = 0


def _weighted_sum(A: Array, w: Array) -> Array:
    return matmul(w[None], A)[0] if len(A) < _SOME else matvec(A.T, w)


def _running(A: Array, mean: Array, count: float, w: Array, counts: Array) -> tuple[Array, Array]:
    """Rows around the mean of all before each, and that mean before the first, second, ... row.

    Rows before any that counts stay as they are, around zero.
    """
    origin = mean if count > 0 else A[0].astype(np.float64)
    rows = A - origin
    moved = np.zeros((len(A) + 1, A.shape[1]))
    np.cumsum(rows * w[:, None], axis=0, out=moved[1:])
    moved /= np.where(counts > 0, counts, 1.0)[:, None]
    rows = rows - moved[:-1]
    means = origin + moved
    if count == 0:
        nothing = counts == 0
        means[nothing] = mean
        rows[nothing[:-1]] = A[nothing[:-1]]
    return rows, means
