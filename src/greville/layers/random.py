"""Units with random weights: X → H, eqs. (1)-(2)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np

from ..backend import Array
from ..fields import (
    NEVER_STORED,
    Fields,
    array,
    choice,
    count,
    flag,
    floating,
    may_be_left_out,
    require,
)
from ..validation import check_memory
from .protocol import AnyActivation, Layer, Length, Random, Size, stored_layer

# Units that are drawn and transposed together, while they are in the cache.
_UNITS_AT_ONCE = 128

# Up to how many weights a file does without, if they follow from the seed.
_MOST_DRAWN = 1 << 23


def _to_fields(layer: RandomLayer) -> Fields:
    """Return the fields for a file; weights that follow from the seed are stored as a dtype."""
    fields = {k: v for k, v in dict(vars(layer)).items() if k not in NEVER_STORED}
    if hasattr(layer, "weights_") and _follow_from_seed(layer):
        dtype, bias = layer.weights_.dtype, layer.bias_
        again, bias_again = layer._drawn(layer.n_features_in_, layer.n_hidden_, dtype)
        same = bias is None if bias_again is None else np.array_equal(bias_again, bias)  # type: ignore[arg-type]
        if same and np.array_equal(again, layer.weights_) and may_be_left_out(again.size):
            fields |= {"weights_": dtype, "bias_": None}
    return fields


def _from_fields(cls: type[RandomLayer], fields: Fields) -> RandomLayer:
    layer: Any = object.__new__(cls)
    vars(layer).update(fields)
    dtype = fields.get("weights_")
    if isinstance(dtype, np.dtype):
        layer.check_parameters()
        n = layer.n_features_in_ * layer.n_hidden_
        fits = n > 0 and _follow_from_seed(layer) and may_be_left_out(n)
        require(fits, "the weights of the layer do not follow from its seed")
        layer.weights_, layer.bias_ = layer._drawn(layer.n_features_in_, layer.n_hidden_, dtype)
    return layer


def _follow_from_seed(layer: RandomLayer) -> bool:
    """Whether the seed gives the same weights on every machine, in a short time."""
    usual = layer.weights == "uniform" and count.holds(layer.random_state)
    return usual and layer.n_features_in_ * layer.n_hidden_ <= _MOST_DRAWN


@stored_layer(weights=array(2) | floating, to_fields=_to_fields, from_fields=_from_fields)
@dataclass(eq=False, repr=False)
class RandomLayer(Layer):
    """A hidden layer with random, fixed input weights: ``H = f(X @ weights_ + bias_)``.

    Eqs. (1)-(2) of the paper. Fitting looks at the number of columns of X and at nothing else.

    Parameters
    ----------
    n_hidden : int or "auto", default="auto"
        Number of hidden units M. "auto" is 10 times the number of inputs, the paper's rule.
    weights : {"uniform", "normal"}, default="uniform"
        How the input weights are drawn.
    scale : float, default=0.5
        The weights are uniform in [-scale, scale], or normal with this standard deviation.
    activation : str or callable, default="tanh"
        "tanh", "sigmoid", "relu", "sin", "cos", "hard-limit" (1 where the input is >= 0, else 0),
        "identity", or a function of an array that returns an array of the same shape; it may
        work in place.
    bias : bool, default=False
        Whether units have a bias, drawn like a weight from an input that is always one.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw. The same seed gives the same units everywhere, in float32 and float64 (up
        to rounding), with or without bias; the weights of a smaller layer are the beginning of
        those of a larger one.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_hidden)
    bias_ : ndarray of shape (n_hidden,), or None
    n_hidden_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X had column names

    References
    ----------
    van Schaik & Tapson, "Online and Adaptive Pseudoinverse Solutions for ELM Weights".

    Examples
    --------
    >>> import numpy as np
    >>> from greville import RandomLayer
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> RandomLayer(random_state=0).fit_transform(X).shape
    (5, 30)
    """

    n_hidden: Size = "auto"
    _: KW_ONLY
    weights: Annotated[str, choice("uniform", "normal")] = "uniform"
    scale: Length = 0.5
    activation: AnyActivation = "tanh"
    bias: Annotated[bool, flag] = False
    random_state: Random = None

    def _set_weights(self, X: Any, y: Any, dtype: Any) -> None:
        check_memory(
            f"n_hidden={self.n_hidden!r} for {X.shape[1]:,} columns",
            16.0 * X.shape[1] * self.n_hidden_,
            "pass fewer units or fewer columns.",
        )
        self.weights_, self.bias_ = self._drawn(X.shape[1], self.n_hidden_, dtype)

    def _drawn(self, n_inputs: int, n_units: int, dtype: Any) -> tuple[Array, Array | None]:
        """Draw random weights and biases.

        Unit by unit, in float64: what a unit is depends neither on how many follow nor on dtype.
        """
        random, normal = self._random(), self.weights == "normal"
        draw = random.normal if normal else random.uniform
        spread = (0.0, self.scale) if normal else (-self.scale, self.scale)
        weights = np.empty((n_inputs, n_units), dtype)
        for start in range(0, n_units, _UNITS_AT_ONCE):
            stop = min(start + _UNITS_AT_ONCE, n_units)
            weights[:, start:stop] = draw(*spread, size=(stop - start, n_inputs)).T
        return weights, draw(*spread, size=n_units).astype(dtype) if self.bias else None
