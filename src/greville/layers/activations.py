"""Activation functions by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from ..backend import Array
from ..devices import is_on_device

Activation = str | Callable[[Array], Array]


def _relu(H: Array, out: Array) -> Array:
    return np.maximum(H, 0, out=out)


def _hard_limit(H: Array, out: Array) -> Array:
    return np.greater_equal(H, 0, out=out, casting="unsafe")


def _identity(H: Array, out: Array) -> Array:
    return out


# Each works in place, f(H, out=H): the layer never holds a second array of H's size.
ACTIVATIONS: dict[str, Callable[..., Array]] = {
    "tanh": np.tanh,
    "sigmoid": expit,
    "relu": _relu,
    "sin": np.sin,
    "cos": np.cos,
    "hard-limit": _hard_limit,
    "identity": _identity,
}


def check_activation(activation: Activation) -> None:
    """Raise a ValueError unless it is a function or the name of one."""
    known = isinstance(activation, str) and activation in ACTIVATIONS
    if not (callable(activation) or known):
        names = ", ".join(map(repr, ACTIVATIONS))
        raise ValueError(f"activation={activation!r}: choose one of {names}, or pass a function.")


# The same for tensors.
_ON_DEVICE: dict[str, Callable[..., Any]] = {
    "tanh": lambda H: H.tanh_(),
    "sigmoid": lambda H: H.sigmoid_(),
    "relu": lambda H: H.relu_(),
    "sin": lambda H: H.sin_(),
    "cos": lambda H: H.cos_(),
    "hard-limit": lambda H: (H >= 0).to(H.dtype) + 0 * H,  # nan stays nan
    "identity": lambda H: H,
}


def activate_on_device(activation: Activation, H: Any) -> Any:
    """`activate` for a tensor; a function is called with it."""
    if not callable(activation):
        return _ON_DEVICE[activation](H)
    try:
        activated: Any = activation(H)
    except TypeError as error:
        raise ValueError(
            f"activation: on a device it is called with tensors, which it does not take ({error}); "
            "pass a function of torch, or the name of one of ours."
        ) from error
    shape = getattr(activated, "shape", None)
    if not is_on_device(activated) or shape != H.shape:
        raise ValueError(
            f"activation: it returned {type(activated).__name__} of shape {shape} for a tensor of "
            f"shape {tuple(H.shape)}; it must return a tensor of that shape on the same device."
        )
    return activated.to(H.dtype)


def activate(activation: Activation, H: Array) -> Array:
    """f(H), element by element; H may be overwritten."""
    if not callable(activation):
        return ACTIVATIONS[activation](H, out=H)
    activated = np.asarray(activation(H))
    if activated.shape != H.shape:
        raise ValueError(
            f"activation: it returned shape {activated.shape} for input of shape {H.shape}; "
            "it must keep the shape."
        )
    return activated.astype(H.dtype, copy=False)
