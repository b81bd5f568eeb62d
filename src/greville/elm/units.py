"""Units that suit the hidden layer, for inputs and targets, and the columns they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from .. import backend
from ..backend import Array, Backend
from ..devices import backend_for, is_on_device, origin_of
from ..fields import array, nothing, require, stored

# Rows that are measured at a time, of an array and of a tensor.
_IN_CACHE, _ROWS = 256, 1 << 16

# With fewer rows than this, neither means nor the ranges of columns are judged.
_LEAST_ROWS_TO_JUDGE = 16

# The mean square length of a row after scaling. Weights uniform in ±0.5 then make sums with a
# standard deviation of 0.7: units neither linear nor saturated.
_SQUARE_LENGTH = 6.0


class Columns(NamedTuple):
    """Ranges, means and variances of the columns of some rows.

    Attributes
    ----------
    n : int
        How many rows were looked at.
    weight : float
        How much they count.
    low, high, mean : ndarray of shape (n_columns,)
    spread, size : ndarray of shape (n_columns,)
        The variances and the mean squares, in units of half the ranges.
    sparse : bool
    """

    n: int
    weight: float
    low: Array
    high: Array
    mean: Array
    spread: Array
    size: Array
    sparse: bool

    @classmethod
    def of(cls, X: Any, weight: Array | None) -> Columns:
        """Measure columns of rows, dense, sparse or on a device; without weights all count."""
        n = X.shape[0]
        count, share = float(n), np.full(n, 1 / n)
        if weight is not None:
            count = float(weight.sum(dtype=np.float64))
        if weight is not None and count:
            share, counts = weight.astype(np.float64) / count, np.flatnonzero(weight)
            X, share = (X, share) if len(counts) == n else (X[counts], share[counts])
        return cls(n, count, *_measured(X, share), sparse.issparse(X))

    @property
    def half(self) -> Array:
        """Half of each column's range."""
        return self.high / 2 - self.low / 2

    @property
    def std(self) -> Array:
        """The standard deviations."""
        return self.half * np.sqrt(self.spread)

    def are_of_order_one(self) -> bool:
        """Whether a hidden layer can take inputs as they are: pixels in [0, 1], around zero, ...

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


def _unit_of(half: Array) -> Array:
    return np.where(half > 0, half, 1.0)


def _measured(X: Any, share: Array) -> tuple[Array, Array, Array, Array, Array]:
    """The smallest and largest numbers, the means, the variances and the mean squares.

    The last two in units of half the range, so that no square overflows.
    """
    if sparse.issparse(X):
        low, high = (np.asarray(f(axis=0).toarray(), float).ravel() for f in (X.min, X.max))
        unit = _unit_of(high / 2 - low / 2)
        mean = share @ X.astype(np.float64)
        size = share @ (X @ sparse.diags_array(1 / unit)).power(2)
        return low, high, mean, np.maximum(size - (mean / unit) ** 2, 0.0), size
    on_device = is_on_device(X)
    b = backend_for(None, origin_of(X), 0) if on_device else backend.get("scipy")
    low, high = (b.to_numpy(f(X, axis=0)).astype(np.float64) for f in (b.xp.min, b.xp.max))
    w, unit = b.asarray(share[None, :]), b.asarray(_unit_of(high / 2 - low / 2))
    blocks = list(gen_batches(X.shape[0], _ROWS if on_device else _IN_CACHE))
    sums = spread = b.zeros((1, X.shape[1]), np.float64)
    for rows in blocks:
        sums = sums + b.matmul(w[:, rows], b.asarray(X[rows, :], np.float64))
    for rows in blocks:
        around = (b.asarray(X[rows, :], np.float64) - sums) / unit
        spread = spread + b.matmul(w[:, rows], around * around)
    mean, spread = (b.to_numpy(A)[0] for A in (sums, spread))
    return low, high, mean, spread, spread


def _check_fields(scaling: Scaling) -> None:
    unit = scaling.unit
    require(scaling.centre is None or unit is not None, "there is a centre without units")
    require(unit is None or bool((unit > 0).all()), "units are not positive")


@stored(check=_check_fields)
@dataclass(frozen=True, eq=False)
class Scaling:
    """(x - centre) / unit, column by column; None where numbers stay as they are."""

    centre: Annotated[Array | None, nothing | array(1)] = None
    unit: Annotated[Array | None, nothing | array(1)] = None

    @classmethod
    def of_inputs(cls, columns: Columns, *, always: bool, centre_sparse: bool = True) -> Scaling:
        """Columns around their means, by their ranges, and rows of a common mean length.

        By the range and not by the standard deviation: a pixel that is nearly always black is not
        worth more than the others. Without `always`, inputs of order one stay as they are. Sparse
        rows stay around zero, unless the layer can centre them without filling the zeros
        (`centre_sparse`).
        """
        half, mean = columns.half, columns.mean
        if not half.any() or (not always and columns.are_of_order_one()):
            return cls()
        unit = np.where(half > 0, half, np.where(mean != 0, np.abs(mean), 1.0))
        centre = None if columns.sparse and not centre_sparse else mean
        spread = columns.spread if centre is not None else columns.size
        length = float(spread[half > 0].sum())
        return cls(centre, unit * np.sqrt(length / _SQUARE_LENGTH))

    @classmethod
    def of_targets(cls, columns: Columns) -> Scaling:
        """Scale targets by round means and powers of ten, unless they are of order one already.

        Only rounding depends on it. So round numbers do, which other rows would give too.
        """
        mean, std = columns.mean, columns.std
        size = np.where(std > 0, std, np.where(mean != 0, np.abs(mean), 1.0))
        usual = (size > 1e-3) & (size < 1e3)
        if usual.all() and (np.abs(mean) <= 10 * size).all():
            return cls()
        order = 10 ** np.round(np.log10(size))
        return cls(100 * order * np.round(mean / (100 * order)), np.where(usual, 1.0, order))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scaling):
            return NotImplemented
        return is_same(self.centre, other.centre) and is_same(self.unit, other.unit)

    __hash__ = None  # type: ignore[assignment]

    def apply(self, X: Any, dtype: Any) -> Any:
        """Scale X to these units; sparse rows stay sparse unless there is a centre."""
        if self.unit is None:
            return X
        if sparse.issparse(X):
            if self.centre is None:
                return self.divided(X, dtype)
            X = X.toarray()
        X = X.astype(np.float64)
        if self.centre is not None:
            X -= self.centre
        X /= self.unit
        return X.astype(dtype, copy=False)

    def apply_on(self, b: Backend, X: Array, dtype: Any) -> Array:
        """Scale X, which is on the device of a backend, to these units."""
        if self.unit is None:
            return b.asarray(X, dtype)
        X = b.asarray(X, np.float64)
        if self.centre is not None:
            X = X - b.asarray(self.centre)
        return b.asarray(X / b.asarray(self.unit), dtype)

    def divided(self, X: Any, dtype: Any) -> Any:
        """Scale sparse rows to these units without centring; the caller subtracts `shift`."""
        assert self.unit is not None
        return (X @ sparse.diags_array(1 / self.unit)).tocsr().astype(dtype)

    @property
    def shift(self) -> Array | None:
        """The centre in these units."""
        return None if self.centre is None or self.unit is None else self.centre / self.unit

    def check_length(self, n: int) -> None:
        """Raise a FieldError unless this scaling is for n columns."""
        for part in (self.centre, self.unit):
            fits = part is None or (part.shape == (n,) and part.dtype == np.float64)
            require(fits, "units do not fit the columns")

    def undo(self, Y: Array) -> Array:
        """Convert scaled numbers back to the original units."""
        if self.unit is None or self.centre is None:
            return Y
        return (Y * self.unit + self.centre).astype(Y.dtype)

    def undo_spread(self, spread: Array) -> Array:
        """Convert scaled standard deviations back to the original units."""
        return spread if self.unit is None else (spread * self.unit).astype(spread.dtype)


def is_same(a: Array | None, b: Array | None) -> bool:
    """Whether two arrays are equal, or both None."""
    return a is b if a is None or b is None else np.array_equal(a, b)
