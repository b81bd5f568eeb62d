"""Activation functions by name, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from ..backend import Array
from ..devices import is_tensor

Activation = str | Callable[[Array], Array]


class Curve(NamedTuple):
    """An activation in place for NumPy, ``f(H, out=H)``, and for tensors; and its derivative."""

    numpy: Callable[..., Array]
    torch: Callable[[Any], Any]
    slope: Callable[[Array], Array]


ACTIVATIONS: dict[str, Curve] = {
    "tanh": Curve(np.tanh, lambda H: H.tanh_(), lambda H: 1 - np.tanh(H) ** 2),
    "sigmoid": Curve(expit, lambda H: H.sigmoid_(), lambda H: expit(H) * expit(-H)),
    "relu": Curve(
        lambda H, out: np.maximum(H, 0, out=out),
        lambda H: H.relu_(),
        lambda H: (H > 0).astype(H.dtype),
    ),
    "sin": Curve(np.sin, lambda H: H.sin_(), np.cos),
    "cos": Curve(np.cos, lambda H: H.cos_(), lambda H: -np.sin(H)),
    "hard-limit": Curve(
        lambda H, out: np.greater_equal(H, 0, out=out, casting="unsafe"),
        lambda H: (H >= 0).to(H.dtype) + 0 * H,  # nan stays nan
        np.zeros_like,
    ),
    "identity": Curve(lambda H, out: out, lambda H: H, np.ones_like),
}


def check_activation(activation: Activation) -> None:
    """Raise a ValueError unless it is a function or the name of one."""
    named = isinstance(activation, str) and activation in ACTIVATIONS
    if not (callable(activation) or named):
        names = ", ".join(map(repr, ACTIVATIONS))
        raise ValueError(f"activation={activation!r}: choose one of {names}, or pass a function.")


def activate(activation: Activation, H: Any) -> Any:
    """f(H), element by element, for an array or a tensor; H may be overwritten."""
    on_device = type(H) is not np.ndarray and is_tensor(H)
    if not callable(activation):
        curve = ACTIVATIONS[activation]
        return curve.torch(H) if on_device else curve.numpy(H, out=H)
    try:
        activated: Any = activation(H)
    except TypeError as error:
        if not on_device:
            raise
        raise ValueError(
            f"activation: on a device it is called with tensors, which it does not take ({error}); "
            "pass a function of torch, or the name of one of ours."
        ) from error
    activated = activated if on_device else np.asarray(activated)
    shape = getattr(activated, "shape", None)
    if is_tensor(activated) != on_device or shape != H.shape:
        raise ValueError(
            f"activation: it returned {type(activated).__name__} of shape {shape} for input of "
            f"shape {tuple(H.shape)}; it must return as many numbers, on the same device."
        )
    return activated.to(H.dtype) if on_device else activated.astype(H.dtype, copy=False)
