"""Two layers, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import gen_batches

from ..backend import Array, Backend
from ..devices import on_host
from ..fields import Kind, declaration_of, require
from .protocol import Layer, rows_apart, stored_features

# Rows from which the second layer is made, and rows that go through both together.
_ROWS_TO_FIT, _ROWS_AT_ONCE = 10_000, 2048


LAYER = Kind(
    "a layer that can be saved",
    lambda value: isinstance(value, Layer) and declaration_of(type(value)) is not None,
    "use two of greville's layers",
)


@stored_features({"first_": LAYER, "second_": LAYER})
@dataclass(eq=False, repr=False)
class StackedLayer(Layer):
    """Two layers, one after the other: the second gets what comes out of the first.

    Parameters
    ----------
    first, second : Layer
        Layers of greville. For more than two, one of them is a `StackedLayer`.

    Attributes
    ----------
    first_, second_ : Layer
        The fitted layers. The second is fitted to at most 10,000 rows.
    n_hidden_ : int
    n_features_in_ : int

    See Also
    --------
    image_layer : Two stages for images.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import FourierLayer, RandomLayer, StackedLayer
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> layer = StackedLayer(RandomLayer(20, random_state=0), FourierLayer(50, random_state=0))
    >>> layer.fit_transform(X).shape
    (100, 50)
    """

    first: Annotated[Layer, LAYER]
    second: Annotated[Layer, LAYER]

    @property
    def wants_order_one(self) -> bool:  # type: ignore[override]
        return bool(getattr(self.first, "wants_order_one", False))

    @property
    def n_hidden(self) -> Any:
        return getattr(self.second, "n_hidden", "auto")

    @property
    def parts(self) -> tuple[Layer, ...]:  # type: ignore[override]
        return self.first_, self.second_

    def check_parameters(self) -> None:
        for name in ("first", "second"):
            layer = getattr(self, name)
            if not isinstance(layer, Layer):
                raise ValueError(f"{name}={layer!r}: pass one of greville's layers.")
            layer.check_parameters()

    def _fit(self, X: Any, y: Any, dtype: Any) -> None:
        # On the host, wherever X is, so that the weights have the same bits everywhere.
        X = X if sparse.issparse(X) else on_host(X)
        self.first_ = clone(self.first).fit(X, y)
        some = rows_apart(X.shape[0], _ROWS_TO_FIT)
        between = self.first_.activations(X[some].astype(dtype))
        self.second_ = clone(self.second).fit(between, None if y is None else np.asarray(y)[some])
        self.n_hidden_ = self.second_.n_hidden_

    def activations_on(self, b: Backend, X: Any, shift: Array | None = None) -> Array:
        if not b.has_kernels:
            return self.second_.activations_on(b, self.first_.activations_on(b, X, shift))
        H = np.empty((X.shape[0], self.n_hidden_), X.dtype)
        for rows in gen_batches(X.shape[0], _ROWS_AT_ONCE):
            H[rows] = self.second_.activations(self.first_.activations(X[rows], shift))
        return H

    def _check_stored(self) -> None:
        between = self.second_.n_features_in_
        require(self.n_features_in_ == self.first_.n_features_in_, "the first layer does not fit")
        require(self.first_.n_hidden_ == between, "the second layer does not fit the first")
        require(self.second_.n_hidden_ == self.n_hidden_, "the size is not the second layer's")

    def _kind_of_units(self) -> str:
        parts = [f"{type(part).__name__} {part.units_in_words()}" for part in self.parts]
        return ", then ".join(parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        second = getattr(self.second, "__sklearn_tags__", None)
        if second is not None:
            tags.target_tags.required = second().target_tags.required
        return tags
