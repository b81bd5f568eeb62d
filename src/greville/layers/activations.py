"""Activation functions by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from ..backend import Array

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
