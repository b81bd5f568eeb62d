"""OPIUM: the online pseudoinverse update method."""

from __future__ import annotations

from typing import Any

from ..validation import check_number, check_squares
from ._additive import AdditiveSolver
from ._root import Root


class Opium(AdditiveSolver):
    """OPIUM, eqs. (11)-(16) and (23)-(26): after every row the exact ridge solution of all rows.

    ``W = (H'H + epsilon²·I)⁻¹ H'Y``, recursive least squares. The paper updates θ, the inverse,
    which loses digits with every row; this updates a triangular root of θ⁻¹, which does not.

    Parameters
    ----------
    epsilon : float, default=1e-3
        The paper's ε, eq. (23): before any row, εI is mapped to zero. With 0 there is nothing to
        start from, and this is `Greville`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,) for 1-d targets
    theta_ : ndarray of shape (n_hidden, n_hidden)
    psi_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,)
    loss_ : ndarray of shape (n_outputs,), or float
    n_samples_seen_ : int
    n_features_in_ : int

    Notes
    -----
    M² operations a row for chunks of many rows, 2M² for short ones; reading the weights costs M²
    per output after short chunks. Memory is one M x M matrix, and one more while it learns. A
    sample weight w counts as w equal rows.

    References
    ----------
    van Schaik & Tapson, "Online and Adaptive Pseudoinverse Solutions for ELM Weights".

    Examples
    --------
    >>> import numpy as np
    >>> from greville import Opium
    >>> H = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = Opium(epsilon=1e-6)
    >>> for a in H:
    ...     _ = model.partial_fit([a], [a @ [1.0, 2.0, 3.0]])
    >>> model.coef_.round(6)
    array([1., 2., 3.])
    """

    def __init__(self, epsilon: float = 1e-3) -> None:
        self.epsilon = epsilon

    def _check_parameters(self) -> None:
        check_number("epsilon", self.epsilon, low=0)

    def _start(self, n_hidden: int, n_outputs: int, dtype: Any) -> Root:
        check_squares("epsilon", self.epsilon, dtype)
        return Root(n_hidden, n_outputs, float(self.epsilon), dtype)
