"""Units in which inputs and targets suit the hidden layer, measured from rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from ..backend import Array, Backend
from ..devices import backend_for, is_on_device, origin_of
from ..fields import array, nothing, require, stored

# The mean square length of a row after scaling. Weights uniform in ±0.5 then make sums with a
# standard deviation of 0.7: units neither linear nor saturated.
_SQUARE_LENGTH = 6.0

# Rows of a tensor that are measured at a time.
_ROWS = 1 << 16

# With fewer rows than this, neither means nor the ranges of columns are judged.
_LEAST_ROWS_TO_JUDGE = 16


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
    def of_inputs(
        cls, X: Any, weight: Array | None, *, always: bool, centre_sparse: bool = True
    ) -> Scaling:
        """Columns around their means, by their ranges, and rows of a common mean length.

        By the range and not by the standard deviation: a pixel that is nearly always black is not
        worth more than the others. Without `always`, inputs of order one stay as they are. Sparse
        rows stay around zero, unless the layer can centre them without filling the zeros
        (`centre_sparse`).
        """
        half, mean, spread, size = _columns(*_counting(X, weight))
        if not half.any() or (not always and _is_of_order_one(X, half, mean, spread)):
            return cls(None, None)
        unit = np.where(half > 0, half, np.where(mean != 0, np.abs(mean), 1.0))
        centre = None if sparse.issparse(X) and not centre_sparse else mean
        length = float((spread if centre is not None else size)[half > 0].sum())
        return cls(centre, unit * np.sqrt(length / _SQUARE_LENGTH))

    @classmethod
    def of_targets(cls, Y: Array, weight: Array | None) -> Scaling:
        """Near their means and by the order of their deviations, unless they are of order one.

        Only rounding depends on it. So round numbers do, which other rows would give too.
        """
        Y, share = _counting(Y, weight)
        mean = share @ Y
        std = np.sqrt(share @ (Y - mean) ** 2)
        size = np.where(std > 0, std, np.where(mean != 0, np.abs(mean), 1.0))
        usual = (size > 1e-3) & (size < 1e3)
        if usual.all() and (np.abs(mean) <= 10 * size).all():
            return cls(None, None)
        order = 10 ** np.round(np.log10(size))
        return cls(100 * order * np.round(mean / (100 * order)), np.where(usual, 1.0, order))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scaling):
            return NotImplemented
        return _equal(self.centre, other.centre) and _equal(self.unit, other.unit)

    __hash__ = None  # type: ignore[assignment]

    def apply(self, X: Any, dtype: Any) -> Any:
        """X in these units; sparse rows stay sparse unless there is a centre."""
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
        """X, which is on the device of a backend, in these units."""
        if self.unit is None:
            return b.asarray(X, dtype)
        X = b.asarray(X, np.float64)
        if self.centre is not None:
            X = X - b.asarray(self.centre)
        return b.asarray(X / b.asarray(self.unit), dtype)

    def divided(self, X: Any, dtype: Any) -> Any:
        """Sparse rows in these units, but not around the centre: `shift` is to be subtracted."""
        assert self.unit is not None
        return (X @ sparse.diags_array(1 / self.unit)).tocsr().astype(dtype)

    @property
    def shift(self) -> Array | None:
        """The centre in these units."""
        return None if self.centre is None or self.unit is None else self.centre / self.unit

    def check_length(self, n: int) -> None:
        """Raise a FieldError unless it is one for n columns."""
        for part in (self.centre, self.unit):
            fits = part is None or (part.shape == (n,) and part.dtype == np.float64)
            require(fits, "units do not fit the columns")

    def undo(self, Y: Array) -> Array:
        """Numbers in these units as they were before."""
        if self.unit is None or self.centre is None:
            return Y
        return (Y * self.unit + self.centre).astype(Y.dtype)

    def undo_spread(self, spread: Array) -> Array:
        """Standard deviations in these units as they were before."""
        return spread if self.unit is None else (spread * self.unit).astype(spread.dtype)


def _equal(a: Array | None, b: Array | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)


def _counting(X: Any, weight: Array | None) -> tuple[Any, Array]:
    """The rows that count, and the share of each; all of them if none does."""
    n = X.shape[0]
    if weight is None or not weight.any():
        return X, np.full(n, 1 / n)
    share = weight.astype(np.float64) / weight.sum(dtype=np.float64)
    counts = np.flatnonzero(weight)
    return (X, share) if len(counts) == n else (X[counts], share[counts])


def _columns(X: Any, share: Array) -> tuple[Array, Array, Array, Array]:
    """Of each column: half of the range, the mean, the variance and the mean square.

    The last two in units of half the range, so that no square overflows.
    """
    if sparse.issparse(X):
        low, high = (np.asarray(f(axis=0).toarray(), float).ravel() for f in (X.min, X.max))
        half = high / 2 - low / 2
        mean, unit = share @ X.astype(np.float64), np.where(half > 0, half, 1.0)
        size = share @ (X @ sparse.diags_array(1 / unit)).power(2)
        return half, mean, np.maximum(size - (mean / unit) ** 2, 0.0), size
    if is_on_device(X):
        return _columns_on_device(X, share)
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    half = high / 2 - low / 2
    unit = np.where(half > 0, half, 1.0)
    blocks = [slice(start, start + 4096) for start in range(0, len(X), 4096)]
    mean = np.sum([share[rows] @ X[rows].astype(np.float64) for rows in blocks], axis=0)
    spread = np.zeros(X.shape[1])
    for rows in blocks:
        spread += share[rows] @ ((X[rows].astype(np.float64) - mean) / unit) ** 2
    return half, mean, spread, spread


def _columns_on_device(X: Any, share: Array) -> tuple[Array, Array, Array, Array]:
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
    return half, b.to_numpy(mean)[0], found, found


def _is_of_order_one(X: Any, half: Array, mean: Array, variance: Array) -> bool:
    """Whether a hidden layer can take X as it is: pixels in [0, 1], numbers around zero, ...

    The largest number lies between 0.3 and 10, no column is far from zero next to its range, and
    none is in much smaller units than the others. A column that is nearly always the same, as
    the edge of an image, may have a smaller range.
    """
    largest = float((np.abs(mean) + half).max())
    if not 0.3 <= largest <= 10:
        return False
    if X.shape[0] < _LEAST_ROWS_TO_JUDGE:
        return True
    varies = np.sqrt(variance) >= 0.15
    far = (np.abs(mean) > 3 * half) & varies & (half > 0)
    small = (half < 0.05 * half.max()) & varies & (half > 0)
    return not (far.any() or small.any())
