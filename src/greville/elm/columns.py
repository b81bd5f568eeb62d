"""What must be known of all rows before the first is learned: ranges, means and variances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..backend import Array
from ..devices import backend_for, is_on_device, on_host, origin_of

# Rows that are measured at a time, of an array and of a tensor.
_IN_CACHE, _ROWS = 256, 1 << 16

# With fewer rows than this, neither means nor the ranges of columns are judged.
_LEAST_ROWS_TO_JUDGE = 16


@dataclass(frozen=True, eq=False)
class Columns:
    """Ranges, means and variances of the columns of some rows; an immutable value.

    Those of other rows can be joined to them, as if all had been measured together.

    Attributes
    ----------
    n : int
        How many rows were looked at.
    count : float
        How much they count.
    low, high, mean : ndarray of shape (n_columns,)
    spread, size : ndarray of shape (n_columns,)
        The variances and the mean squares, in units of half the ranges.
    sparse : bool
    """

    n: int
    count: float
    low: Array
    high: Array
    mean: Array
    spread: Array
    size: Array
    sparse: bool

    @classmethod
    def of(cls, X: Any, weight: Array | None) -> Columns:
        """Of rows, dense, sparse or on a device; all of them count if none has a weight."""
        counting, share = _counting(X, weight)
        count = float(X.shape[0] if weight is None else weight.sum(dtype=np.float64))
        return cls(X.shape[0], count, *_measured(counting, share), sparse.issparse(X))

    @property
    def half(self) -> Array:
        """Half of the ranges."""
        return self.high / 2 - self.low / 2

    def joined(self, other: Columns) -> Columns:
        """Of the rows of both."""
        if self.count == 0 or other.count == 0:  # rows without weight are measured, but alone
            some = other if other.count else self
            return replace(some, n=self.n + other.n)
        count = self.count + other.count
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        half = high / 2 - low / 2
        unit = np.where(half > 0, half, 1.0)
        mean = self.mean + other.count / count * (other.mean - self.mean)
        spread, size = np.zeros_like(mean), np.zeros_like(mean)
        for each in (self, other):
            share = each.count / count
            own = np.where(each.half > 0, each.half, 1.0) / unit
            spread += share * (each.spread * own**2 + ((each.mean - mean) / unit) ** 2)
            size += share * each.size * own**2
        is_sparse = self.sparse or other.sparse
        both = (spread, size) if is_sparse else (spread, spread)
        return Columns(self.n + other.n, count, low, high, mean, *both, is_sparse)

    def are_of_order_one(self) -> bool:
        """Whether a hidden layer can take them as they are: pixels in [0, 1], around zero, ...

        The largest number lies between 0.3 and 10, no column is far from zero next to its range,
        and none is in much smaller units than the others. A column that is nearly always the same,
        as the edge of an image, may have a smaller range.
        """
        half, mean = self.half, self.mean
        largest = float((np.abs(mean) + half).max())
        if not 0.3 <= largest <= 10:
            return False
        if self.n < _LEAST_ROWS_TO_JUDGE:
            return True
        varies = np.sqrt(self.spread) >= 0.15
        far = (np.abs(mean) > 3 * half) & varies & (half > 0)
        small = (half < 0.05 * half.max()) & varies & (half > 0)
        return not (far.any() or small.any())


def _counting(X: Any, weight: Array | None) -> tuple[Any, Array]:
    """The rows that count, and the share of each; all of them if none does."""
    n = X.shape[0]
    if weight is None or not weight.any():
        return X, np.full(n, 1 / n)
    share = weight.astype(np.float64) / weight.sum(dtype=np.float64)
    counts = np.flatnonzero(weight)
    return (X, share) if len(counts) == n else (X[counts], share[counts])


def _measured(X: Any, share: Array) -> tuple[Array, Array, Array, Array, Array]:
    """The smallest and largest numbers, the means, the variances and the mean squares.

    The last two in units of half the range, so that no square overflows.
    """
    if sparse.issparse(X):
        low, high = (np.asarray(f(axis=0).toarray(), float).ravel() for f in (X.min, X.max))
        half = high / 2 - low / 2
        mean, unit = share @ X.astype(np.float64), np.where(half > 0, half, 1.0)
        size = share @ (X @ sparse.diags_array(1 / unit)).power(2)
        return low, high, mean, np.maximum(size - (mean / unit) ** 2, 0.0), size
    if is_on_device(X):
        return _measured_on_device(X, share)
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    half = high / 2 - low / 2
    unit = np.where(half > 0, half, 1.0)
    blocks = [slice(start, start + _IN_CACHE) for start in range(0, len(X), _IN_CACHE)]
    mean = np.sum([share[rows] @ X[rows].astype(np.float64) for rows in blocks], axis=0)
    spread = np.zeros(X.shape[1])
    for rows in blocks:
        around = X[rows].astype(np.float64)
        around -= mean
        around /= unit
        around *= around
        spread += share[rows] @ around
    return low, high, mean, spread, spread


def _measured_on_device(X: Any, share: Array) -> tuple[Array, Array, Array, Array, Array]:
    """The same for a tensor, where it is."""
    b = backend_for(None, origin_of(X), 0)
    low, high = (b.to_numpy(f(X, axis=0)).astype(np.float64) for f in (b.xp.min, b.xp.max))
    half = high / 2 - low / 2
    w, unit = b.asarray(share[None, :]), b.asarray(np.where(half > 0, half, 1.0))
    mean = spread = b.zeros((1, X.shape[1]), np.float64)
    blocks = [slice(start, start + _ROWS) for start in range(0, X.shape[0], _ROWS)]
    for rows in blocks:
        mean = mean + b.matmul(w[:, rows], b.asarray(X[rows, :], np.float64))
    for rows in blocks:
        around = (b.asarray(X[rows, :], np.float64) - mean) / unit
        spread = spread + b.matmul(w[:, rows], around * around)
    found = b.to_numpy(spread)[0]
    return low, high, b.to_numpy(mean)[0], found, found


@dataclass(frozen=True, eq=False)
class Survey:
    """How many rows there are, in which ranges, and with which targets; an immutable value.

    Attributes
    ----------
    inputs : Columns
    targets : Targets
        The classes, or the number of outputs.
    outputs : Columns or None
        The ranges of targets that are numbers.
    names : tuple of str, or None
        Those of the columns, where they have any.
    """

    inputs: Columns
    targets: Any
    outputs: Columns | None
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, chunk: Any, targets: Any, names: Any = None) -> Survey:
        """Of checked rows."""
        outputs = None
        if not targets.calibrates:
            y = on_host(chunk.y) if is_on_device(chunk.y) else chunk.y
            outputs = Columns.of(y, chunk.weight)
        inputs = Columns.of(chunk.X, chunk.weight)
        return cls(inputs, targets, outputs, None if names is None else tuple(map(str, names)))

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.inputs.n

    @property
    def count(self) -> float:
        """How much they count."""
        return self.inputs.count

    def joined(self, other: Survey) -> Survey:
        """Of the rows of both; a ValueError if they cannot be rows of one model."""
        mine, theirs = len(self.inputs.low), len(other.inputs.low)
        if mine != theirs:
            raise ValueError(f"X: it has {theirs} columns, and that of the first {mine}.")
        if self.names != other.names:
            raise ValueError(
                f"X: its columns are {_listed(other.names)}, and those of the first "
                f"{_listed(self.names)}; pass the same columns in the same order."
            )
        if self.targets.dtype != other.targets.dtype:
            raise ValueError(
                f"X: its numbers are {other.targets.dtype}, and those of the first "
                f"{self.targets.dtype}; pass all of them in one dtype."
            )
        outputs = None
        if self.outputs is not None and other.outputs is not None:
            if self.targets.n_outputs != other.targets.n_outputs:
                raise ValueError(
                    f"y: it has {other.targets.n_outputs} outputs, and that of the first "
                    f"{self.targets.n_outputs}."
                )
            outputs = self.outputs.joined(other.outputs)
        return replace(
            self,
            inputs=self.inputs.joined(other.inputs),
            targets=self.targets.merged(other.targets),
            outputs=outputs,
        )


def _listed(names: tuple[str, ...] | None) -> str:
    if names is None:
        return "without names"
    shown = ", ".join(map(repr, names[:8]))
    return f"{shown}, ..." if len(names) > 8 else shown
