"""Two layers, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ..backend import Array, Backend
from ..devices import is_on_device, on_host
from ..fields import Kind, count, declaration_of, require, require_finite, stored, words
from .protocol import Layer

# Rows from which the second layer is made, and rows that go through both together.
_ROWS_TO_FIT, _ROWS_AT_ONCE = 10_000, 2048


LAYER = Kind(
    "a layer that can be saved",
    lambda value: isinstance(value, Layer) and declaration_of(type(value)) is not None,
    "use two of greville's layers",
)


def _check_fields(layer: StackedLayer) -> None:
    if not hasattr(layer, "first_"):
        return
    between = layer.second_.n_features_in_
    require(layer.n_features_in_ == layer.first_.n_features_in_, "the first layer does not fit")
    require(layer.first_.n_hidden_ == between, "the second layer does not fit the first")
    require(layer.second_.n_hidden_ == layer.n_hidden_, "the size is not the second layer's")


def _try_out(layer: StackedLayer) -> None:
    if hasattr(layer, "first_"):
        zeros = np.zeros((1, layer.n_features_in_))
        require_finite(layer.activations(zeros), "the output of the layer")


@stored(
    parameters={"first": LAYER, "second": LAYER},
    fitted={"n_features_in_": count, "n_hidden_": count, "first_": LAYER, "second_": LAYER},
    optional={"feature_names_in_": words},
    whole=True,
    check=_check_fields,
    try_out=_try_out,
)
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

    def __init__(self, first: Layer, second: Layer) -> None:
        self.first = first
        self.second = second

    @property
    def wants_order_one(self) -> bool:  # type: ignore[override]
        return bool(getattr(self.first, "wants_order_one", False))

    @property
    def n_hidden(self) -> Any:  # type: ignore[override]
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
        X = on_host(X) if is_on_device(X) else X
        self.first_ = clone(self.first).fit(X, y)
        some = (
            np.arange(min(X.shape[0], _ROWS_TO_FIT)) * X.shape[0] // min(X.shape[0], _ROWS_TO_FIT)
        )
        labels = None if y is None else np.asarray(y)[some]
        between = self.first_.activations(X[some].astype(dtype))
        self.second_ = clone(self.second).fit(between, labels)
        self.n_hidden_ = self.second_.n_hidden_

    def activations(self, X: Any, shift: Array | None = None) -> Array:
        n = X.shape[0]
        if n <= _ROWS_AT_ONCE:
            return self.second_.activations(self.first_.activations(X, shift))
        pieces = (X[start : start + _ROWS_AT_ONCE] for start in range(0, n, _ROWS_AT_ONCE))
        H = np.empty((n, self.n_hidden_), X.dtype)
        for start, piece in zip(range(0, n, _ROWS_AT_ONCE), pieces, strict=True):
            first = self.first_.activations(piece, shift)
            H[start : start + _ROWS_AT_ONCE] = self.second_.activations(first)
        return H

    def activations_on(self, b: Backend, X: Any, shift: Array | None = None) -> Array:
        return self.second_.activations_on(b, self.first_.activations_on(b, X, shift))

    def activations_one(self, x: Array) -> Array:
        return self.second_.activations_one(self.first_.activations_one(x))

    def _kind_of_units(self) -> str:
        parts = [f"{type(part).__name__} {part.units_in_words()}" for part in self.parts]
        return ", then ".join(parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        second = getattr(self.second, "__sklearn_tags__", None)
        if second is not None:
            tags.target_tags.required = second().target_tags.required
        return tags
