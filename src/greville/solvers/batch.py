"""The pseudoinverse by singular value decomposition: the yardstick of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..linalg import Array, ridge_by_svd
from ..validation import check_number
from ._base import Solver
from ._rows import Rows


class Batch(Solver):
    """The pseudoinverse solution by SVD, eq. (4): ``W = pinv(H) @ Y``.

    With epsilon it is the pseudoinverse solution of [epsilon·I; H], ridge regression with penalty
    epsilon². It needs all rows at once and keeps none, so there is no `partial_fit`. Singular
    values below max(n, M)·eps times the largest count as zero.

    Parameters
    ----------
    epsilon : float, default=0.0
        The paper's ε, eq. (23).

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,) for 1-d targets
    n_samples_seen_ : int
    n_features_in_ : int

    Notes
    -----
    O(n·M·min(n, M)) operations and O(n·M) memory. A sample weight w counts as w equal rows.

    Examples
    --------
    >>> from greville import Batch
    >>> Batch().fit([[1.0, 0.0], [0.0, 2.0]], [3.0, 4.0]).coef_
    array([3., 2.])
    """

    def __init__(self, epsilon: float = 0.0) -> None:
        self.epsilon = epsilon

    def _check_parameters(self) -> None:
        check_number("epsilon", self.epsilon, low=0)

    def _start(self, n_hidden: int, n_outputs: int, dtype: Any) -> Array:
        return np.zeros((n_hidden, n_outputs), dtype)

    def _absorb(self, state: Array, rows: Rows, seen: int) -> Array:
        factor = None if rows.weight is None else np.sqrt(rows.weight)
        [(H, Y)] = rows.blocks(rows.n, factor)
        return ridge_by_svd(H, Y, float(self.epsilon))  # eq. (4)

    def _weights_of(self, state: Array) -> Array:
        return state
