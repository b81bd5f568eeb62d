"""How many digits a Gram matrix loses, which squares the condition number of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array, Backend, eps

# How large eps·κ² may be for a root with condition number κ that comes from a Gram matrix, by the
# dtypes of the weights and of that matrix. At worst that much the Gram matrix adds to the relative
# error of the weights (a ninetieth of it on MNIST activations). What is too much in float32 is done
# again in float64, where 1e-4 is little next to the rounding of the result; what is too much there
# goes through a QR factorisation. How much is too much in float32 depends on the backend; wide
# layers stay there for longer, and are refined before they go to float64, which takes twice as
# long.
_SAFE = {"dd": 5e-9, "fd": 1e-4}
_SAFE_IF_WIDE = 0.3


def gram_error(b: Backend, R: Array, dtype: Any, *, noisy: bool = False) -> float:
    """The error of weights of a dtype that come from R'R, as a part of what is allowed.

    Where the ridge was chosen by the noise (`noisy`), two digits are enough in float32.
    """
    kind = b.dtype_of(R)
    error = eps(kind) * b.condition(R) ** 2
    limit = (
        _SAFE_IF_WIDE if noisy and kind.char == "f" else _largest_error(b, R.shape[0], dtype, kind)
    )
    return error / limit if limit > 0 else np.inf


def gram_is_safe(b: Backend, R: Array, dtype: Any) -> bool:
    """Whether weights of a dtype that come from R'R in place of R keep enough digits."""
    return gram_error(b, R, dtype) <= 1  # nan compares false


def smallest_safe_ridge(b: Backend, G: Array, dtype: Any) -> float:
    """The least ridge·I in G, whose rank is otherwise incomplete, with which its root is safe."""
    kind = b.dtype_of(G)
    smallest = float(b.xp.min(b.xp.linalg.diagonal(G)))
    return eps(kind) / _largest_error(b, G.shape[0], dtype, kind) * smallest


def _largest_error(b: Backend, n_units: int, dtype: Any, kind: Any) -> float:
    kinds = np.dtype(dtype).char + kind.char
    if kinds != "ff":
        return _SAFE[kinds]
    return _SAFE_IF_WIDE if n_units >= b.tuning.refined_units else b.tuning.float32_gram
