"""The recursion of the paper, line by line as it is printed, to compare with.

It updates θ itself, and loses digits with every sample; the solvers update a Cholesky factor.
"""

from __future__ import annotations

import numpy as np

from ..backend import Array


def printed_opium(H: Array, y: Array, epsilon: float, alpha: float = 1.0) -> tuple[Array, Array]:
    """The final weights, and the error on every row before it was learned; y is 1-d.

    Eqs. (31)-(33), which for α = 1 are eqs. (12), (15) and (16). From the first error on that is
    not finite, all errors are infinity.
    """
    errors = np.full(len(y), np.inf)
    W = np.zeros(H.shape[1])  # (24)
    theta = np.eye(H.shape[1]) / epsilon**2  # (23), (11)
    with np.errstate(over="ignore", invalid="ignore"):
        for k, a in enumerate(H):
            theta_a = theta @ a
            b = theta_a / ((2 - alpha) / alpha + a @ theta_a)  # (33)
            error = y[k] - W @ a
            if not np.isfinite(error):
                break
            W += error * b  # (32)
            theta -= np.outer(theta_a, b)
            theta /= 2 - alpha  # (31)
            errors[k] = error
    return W, errors
