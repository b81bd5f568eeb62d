"""Targets: how they become what the solver learns, and its outputs targets again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from ..backend import Array
from ..backend.scipy import DOT
from ..devices import backend_for, is_on_device, origin_of
from ..fields import count, flag, floating, instance_of, require, stored
from ..validation import (
    check_magnitude,
    check_one_target,
    check_representable,
    largest_square,
)
from .units import Columns, Scaling


class Targets:
    """Targets of an estimator: their kind and units, as an immutable value.

    A class of targets also has `encode(y)`, a function that makes rows of outputs of any slice of
    y; `encode_one(y)`, one target as the solver wants it, or None for a label that is new;
    `decode_one(output)`, what to return for the outputs of one row; `merged(other)`, what is known
    to either of two models; and `check_rows(y)`, a FieldError unless y, from a file, are such
    targets.

    Attributes
    ----------
    n_outputs : int
        Of the solver.
    scaling : Scaling
        The units of the targets.
    dtype : numpy.dtype
    calibrates : bool
        Whether outputs become probabilities, whose sharpness is learned.
    several : bool
        Whether a row may have several labels.
    """

    calibrates: ClassVar[bool] = False
    several: ClassVar[bool] = False

    n_outputs: int
    scaling: Scaling
    dtype: Any

    def weighted(self, y: Array, weight: Array | None) -> Array | None:
        """Return the row weights, multiplied by the weights of the labels if there are any."""
        return weight

    def outputs_of(self, before: Any) -> Array:
        """Return the indices of the outputs that earlier targets with fewer outputs had."""
        return np.arange(before.n_outputs)

    def measured(self, columns: Columns | None) -> Self:
        """Return targets with units from measured columns; None for no units."""
        return self


def _check_fields(targets: NumericTargets) -> None:
    n = targets.n_outputs
    require(n >= 1 and (n == 1 or not targets.flat), "1-d targets have several outputs")
    targets.scaling.check_length(n)


@stored(derived=("limit", "_unit"), check=_check_fields)
@dataclass(frozen=True, eq=False)
class NumericTargets(Targets):
    """Numbers, in units of their own; `flat` where y has one dimension."""

    n_outputs: Annotated[int, count]
    flat: Annotated[bool, flag]
    dtype: Annotated[Any, floating]
    scaling: Annotated[Scaling, instance_of(Scaling)] = field(default_factory=Scaling)
    limit: float = field(init=False)  # of the square of a target
    _unit: tuple[float, float] = field(init=False)  # and the centre, of targets of one number

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", largest_square(self.dtype))
        unit, centre = self.scaling.unit, self.scaling.centre
        one = (1.0, 0.0)
        if unit is not None and centre is not None:
            one = float(unit[0]), float(centre[0])
        object.__setattr__(self, "_unit", one)

    def encode(self, y: Array) -> Callable[[slice], Array]:
        if type(y) is not np.ndarray and is_on_device(y):  # where they are checked later
            b = backend_for(None, origin_of(y), 0)
            limit, wide = 0.1 * float(np.finfo(self.dtype).max), b.asarray(y, np.float64)
            infinity = b.xp.ones_like(wide) * float("inf")
            wide = b.xp.where(b.xp.abs(wide) > limit, infinity, wide)
            moved = self.scaling.apply_on(b, wide, self.dtype)
            return lambda rows: moved[rows, :]
        scaled = y if y.dtype == self.dtype and self.scaling.unit is None else self._scaled(y)
        flat = scaled.reshape(-1)
        if not DOT[self.dtype](flat, flat) < self.limit:
            check_magnitude("y", scaled, passed=y)
        return scaled.__getitem__

    def _scaled(self, y: Array) -> Array:
        with np.errstate(over="ignore"):
            scaled: Array = self.scaling.apply(y, self.dtype).astype(self.dtype, copy=False)
        return scaled

    def encode_one(self, y: Any) -> Any:
        if self.flat and isinstance(y, float) and y * y < self.limit:
            unit, centre = self._unit
            return (y - centre) / unit
        y = check_one_target(y, "y", self.n_outputs, self.flat, np.float64)
        check_representable("y", np.atleast_1d(y), self.dtype)
        scaled = self._scaled(np.reshape(y, (1, -1)))[0]
        check_magnitude("y", scaled, passed=np.atleast_1d(y))
        return scaled[0] if self.n_outputs == 1 else scaled

    def decode_one(self, output: Any) -> Any:
        if self.flat:
            unit, centre = self._unit
            return self.dtype.type(output * unit + centre)
        return self.scaling.undo(np.reshape(output, (1, -1)).astype(self.dtype))[0]

    def merged(self, other: Self) -> Self:
        return self

    def check_rows(self, y: Array) -> None:
        require(y.ndim == 2 and y.shape[1] == self.n_outputs, "the first targets do not fit")

    def shaped(self, Y: Array) -> Array:
        """Rows of outputs in the shape of the targets."""
        return Y[:, 0] if self.flat else Y

    def measured(self, columns: Columns | None) -> Self:
        return replace(self, scaling=Scaling() if columns is None else Scaling.of_targets(columns))
