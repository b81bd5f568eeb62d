"""Units in which inputs and targets suit the hidden layer, measured from rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from ..backend import Array, Backend
from ..fields import array, nothing, require, stored
from .columns import Columns

# The mean square length of a row after scaling. Weights uniform in ±0.5 then make sums with a
# standard deviation of 0.7: units neither linear nor saturated.
_SQUARE_LENGTH = 6.0


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
            return cls(None, None)
        unit = np.where(half > 0, half, np.where(mean != 0, np.abs(mean), 1.0))
        centre = None if columns.sparse and not centre_sparse else mean
        spread = columns.spread if centre is not None else columns.size
        length = float(spread[half > 0].sum())
        return cls(centre, unit * np.sqrt(length / _SQUARE_LENGTH))

    @classmethod
    def of_targets(cls, columns: Columns) -> Scaling:
        """Near their means and by the order of their deviations, unless they are of order one.

        Only rounding depends on it. So round numbers do, which other rows would give too.
        """
        mean, std = columns.mean, columns.half * np.sqrt(columns.spread)
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
