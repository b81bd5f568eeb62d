"""The hidden part of a model, from X to H: inputs in learned units, through the layer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from pickle import PicklingError
from typing import Annotated, Any

import joblib
import numpy as np
from scipy import sparse

from ..backend import Array, Backend
from ..backend.scipy import DOT
from ..devices import place_of
from ..fields import (
    Kind,
    count,
    floating,
    instance_of,
    nothing,
    require,
    require_finite,
    storable,
    stored,
)
from ..layers import Layer, runs_on_device, takes_checked_rows
from ..validation import FLOATS, check_magnitude, check_one, largest_square
from .examples import Examples
from .units import Scaling

# Numbers of sparse rows that are made dense at a time, where they must be.
_DENSE_NUMBERS = 1 << 23


LAYER = Kind(
    "a layer that can be saved",
    lambda value: hasattr(value, "transform") and storable.holds(value),
    "use one of greville's layers, or transform X yourself and save a model of what comes out",
)


def _check_fields(hidden: HiddenMap) -> None:
    n = hidden.n_inputs - hidden.n_direct
    fits = n > 0 and getattr(hidden.layer, "n_features_in_", n) == n
    require(fits, "the layer has another number of inputs")
    hidden.scaling.check_length(n)


def _try_out(hidden: HiddenMap) -> None:
    zeros = np.zeros((1, hidden.n_inputs), hidden.dtype)
    require_finite(hidden.activations(zeros), "the output of the layer")


@stored(check=_check_fields, try_out=_try_out)
@dataclass(frozen=True, eq=False)
class HiddenMap:
    """Inputs in learned units, and the layer that makes activations of them; an immutable value.

    Attributes
    ----------
    scaling : Scaling
        The units of the inputs.
    layer : transformer or None
        Fitted. None where inputs are units themselves: a linear model.
    n_inputs : int
    dtype : numpy.dtype
        Of the activations.
    n_direct : int
        How many of the last inputs are units as they are, and go neither through the layer nor
        into other units.
    """

    scaling: Annotated[Scaling, instance_of(Scaling)]
    layer: Annotated[Any, nothing | LAYER]
    n_inputs: Annotated[int, count]
    dtype: Annotated[Any, floating]
    n_direct: Annotated[int, count] = 0

    def in_words(self, n_units: int) -> str:
        """The layer and how many units it has, for people."""
        layer, n_direct = self.layer, self.n_direct
        if layer is None:
            return "none, the inputs themselves"
        units = layer.units_in_words() if isinstance(layer, Layer) else f"{n_units - n_direct:,}"
        more = f", and {n_direct:,} inputs that are units themselves" if n_direct else ""
        return f"{type(layer).__name__}, units: {units}{more}"

    def n_units(self) -> int:
        """Number of units."""
        if self.layer is None:
            return self.n_inputs
        if runs_on_device(self.layer):
            return int(self.layer.n_hidden_) + self.n_direct
        zeros = np.zeros((1, self.n_inputs - self.n_direct), self.dtype)
        return int(self._activated(zeros).shape[1]) + self.n_direct

    def of_layer(self, rows: Examples) -> Examples:
        """Return the rows without the direct inputs: only those that go through the layer."""
        return rows._replace(X=rows.X[:, : self.n_inputs - self.n_direct])

    def with_direct(self, n: int) -> HiddenMap:
        """Add inputs that are units themselves, after those of the layer."""
        return replace(self, n_inputs=self.n_inputs - self.n_direct + n, n_direct=n)

    def activations(self, X: Any, weight: Array | None = None, b: Backend | None = None) -> Array:
        """Compute H for checked rows; a ValueError if H has numbers that cannot be learned.

        On the device of a backend, rows with numbers that are not finite become nan instead.
        """
        on_device = b is not None and not b.has_kernels and place_of(b) is not None
        inner, n = (X, 0) if not self.n_direct else (X[:, : -self.n_direct], self.n_direct)
        if b is not None and on_device:
            H = self._activated_on(b, inner)
            return b.xp.concat([H, b.asarray(_dense(X[:, -n:]), self.dtype)], axis=1) if n else H
        H = self._activated(inner)
        H = np.asarray(np.hstack([H, _dense(X[:, -n:])]) if n else H, dtype=self.dtype)
        H = H if H.flags.forc else np.ascontiguousarray(H)
        flat = H.reshape(-1, order="A")
        if weight is None and DOT[self.dtype](flat, flat) < largest_square(self.dtype):
            return H  # in one pass instead of two
        try:
            check_magnitude("X" if self.layer is None else "hidden.transform(X)", H, weight)
        except ValueError as error:
            raise ValueError(
                f"{error} X, as it was passed, has numbers from {X.min():.3g} to {X.max():.3g}."
            ) from None
        return H

    def _activated(self, X: Any) -> Any:
        """Compute what comes out of the layer for rows on the host, some of them at a time."""
        scaling, layer = self.scaling, self.layer
        if sparse.issparse(X) and scaling.centre is not None:
            if takes_checked_rows(layer):
                # In float64: what is far from the zeros loses digits there.
                return layer.activations(scaling.divided(X, np.float64), scaling.shift)
            length = max(1, _DENSE_NUMBERS // X.shape[1])
            if length < X.shape[0]:
                starts = range(0, X.shape[0], length)
                return np.concatenate([self._activated(X[k : k + length]) for k in starts])
        X = X if scaling.unit is None else scaling.apply(X, self.dtype)
        if layer is None:
            return _dense(X)
        if takes_checked_rows(layer):
            return layer.activations(X if X.dtype in FLOATS else X.astype(np.float64))
        return np.asarray(_dense(layer.transform(X)))

    def _activated_on(self, b: Backend, X: Any) -> Array:
        """Compute activations on a device; sparse rows stay sparse, if the layer can do so."""
        scaling, layer = self.scaling, self.layer
        if sparse.issparse(X):
            if not runs_on_device(layer):
                return b.asarray(self._activated(X), self.dtype)
            dtype = np.float64 if scaling.centre is not None else self.dtype
            X = scaling.divided(X, dtype) if scaling.unit is not None else X
            H = layer.activations_on(b, b.asarray(X.astype(dtype), dtype), scaling.shift)
            return b.asarray(H, self.dtype)
        X = b.asarray(X)
        for extreme in (b.xp.max, b.xp.min):  # nan in rows with infinity
            X = X + 0 * extreme(X, axis=1)[:, None]
        X = scaling.apply_on(b, X, self.dtype)
        if layer is None:
            return X
        on_device = runs_on_device(layer)
        H = layer.activations_on(b, X) if on_device else _dense(layer.transform(b.to_numpy(X)))
        return b.asarray(H, self.dtype)

    def activations_one(self, x: Any) -> Array:
        """Return the activations of one row in a new array; a ValueError if `x` is no row."""
        x, layer = self.checked_one(x), self.layer
        if layer is None or self.n_direct or not takes_checked_rows(layer):
            # which may return a part of x, or the same array every time
            return np.array(self.activations(x[None])[0], dtype=self.dtype, order="C")
        row = x if self.scaling.unit is None else self.scaling.apply(x[None], self.dtype)[0]
        h = np.ascontiguousarray(layer.activations_one(row), dtype=self.dtype)
        if not DOT[self.dtype](h, h) < largest_square(self.dtype):
            check_magnitude("hidden.transform(x)", h)
        return h

    def checked_one(self, x: Any) -> Array:
        """Convert one row of inputs to an array; a valid NumPy row is returned at once."""
        if (
            type(x) is np.ndarray
            and x.shape == (self.n_inputs,)
            and x.dtype == self.dtype
            and -inf < DOT[self.dtype](x, x) < inf
        ):
            return x
        return check_one(x, "x", self.n_inputs, FLOATS)


def _dense(H: Any) -> Any:
    return H.toarray() if sparse.issparse(H) else H


def is_same_transformer(a: Any, b: Any) -> bool:
    """Whether two fitted transformers do the same; how they were seeded does not matter."""
    if a is b or type(a) is not type(b):
        return a is b
    fitted = ({k: v for k, v in vars(t).items() if k != "random_state"} for t in (a, b))
    try:
        first, second = map(joblib.hash, fitted)
    except (TypeError, AttributeError, PicklingError):  # they cannot be compared
        return False
    return bool(first == second)
