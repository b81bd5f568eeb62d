"""Checks of what a forecast is called with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from ..solvers import DynamicOpium, Opium
from ..validation import check_length, check_number, naming

# alpha="auto": one network that never forgets, and one that remembers about a hundred samples.
# Each network in between would take as long again, and gain a per cent or two.
_AUTO_ALPHAS = (1.0, 1.01)


def network_solvers(alpha: Any, solver: Any) -> list[Any]:
    """Make the solvers that learn the weights of each hidden layer."""
    auto = isinstance(alpha, str) and alpha == "auto"
    if solver is not None:
        if not auto:
            raise ValueError(f"alpha={alpha!r}, solver={solver!r}: pass one of them.")
        return [solver]
    if isinstance(alpha, str) and not auto:
        raise ValueError(f"alpha={alpha!r}: pass 'auto' or a number >= 1 and < 2.")
    if not auto:
        check_number("alpha", alpha, low=1, high=2)
    return [
        Opium(epsilon="auto", intercept=True) if each == 1 else DynamicOpium(each, epsilon="auto")
        for each in (_AUTO_ALPHAS if auto else (alpha,))
    ]


def as_columns(values: Any, inputs: Any, name: str = "values") -> Array:
    """The series and the inputs as columns of one array."""
    columns = _numbers(values, name, 1)[:, None]
    if inputs is None:
        return columns
    others = _numbers(inputs, "inputs", 2)
    check_length("inputs", len(others), len(columns))
    return np.hstack([columns, others])


def _numbers(values: Any, name: str, n_dimensions: int) -> Array:
    with naming(name):
        array = np.asarray(values, dtype=np.float64)
        if array.ndim != n_dimensions:
            shape = "(n_samples,)" if n_dimensions == 1 else "(n_samples, n_inputs)"
            raise ValueError(f"got an array of shape {array.shape}; pass one of shape {shape}.")
        if np.isinf(array).any():
            raise ValueError(
                "contains infinity; pass finite numbers, and NaN where one is missing."
            )
    return array
