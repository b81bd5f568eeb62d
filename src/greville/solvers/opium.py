"""OPIUM: the online pseudoinverse update method."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from ..fields import choice, flag, number
from ._ridge import RidgeState
from ._solver import Capabilities, Solver, checked_epsilon
from ._stored import stored_solver


@stored_solver({"epsilon": choice("auto") | number, "intercept": flag}, RidgeState)
class Opium(Solver):
    """OPIUM, eqs. (11)-(16) and (23)-(26): after every row the exact ridge solution of all rows.

    ``W = (H'H + epsilon²·I)⁻¹ H'Y``, recursive least squares. The paper updates θ, the inverse,
    which loses digits with every row. This updates a Cholesky factor of θ⁻¹, so that rounding
    errors do not build up.

    It is the paper's algorithm with the paper's defaults (no intercept, ε = 1e-3); for a linear
    model of a table use `LinearRegressor`.

    Parameters
    ----------
    epsilon : float or "auto", default=1e-3
        The paper's ε, eq. (23): before any row, εI is mapped to zero. With 0 there is nothing to
        start from, and this is `Greville`. "auto" chooses the ε with the largest evidence
        (marginal likelihood): at the end of `fit`, `merge` and `unlearn` from all rows, in a
        stream at fixed row counts, about 1.5 times apart (later 1.33), so that the chunk size
        changes nothing.
    intercept : bool, default=False
        Whether to add a constant to the predictions, which is not regularised.
    device : str, optional
        Where to learn NumPy arrays: "cuda", another device of torch, or "auto" for a GPU if the
        model is large enough; see docs/devices.md. Default: where the rows are.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,) for 1-d targets
    intercept_ : ndarray of shape (n_outputs,), or float
    epsilon_ : float
        The ε in use; the weights are exactly those of this ε and all rows.
    theta_ : ndarray of shape (n_hidden, n_hidden)
    psi_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,)
    loss_ : ndarray of shape (n_outputs,), or float
    n_samples_seen_ : int
    n_features_in_ : int

    Notes
    -----
    M² operations a row for chunks of many rows, 2M² for short ones; reading the weights costs M²
    per output after short chunks. Memory is one M x M matrix, and one more while it learns. A
    sample weight multiplies the squared error of its row: it is the precision of that row.

    ``epsilon="auto"`` keeps two M x M matrices, and follows short chunks at twice the price. A
    choice at the end of `fit` costs about five Cholesky factors, and for up to 400 units a singular
    value decomposition, five times as much. An intercept costs a few operations a number: rows are
    taken around their mean, which moves with every row.

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

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=True, tells_spread=True, chooses_epsilon=True, leaves_out=True
    )

    state_class: Any = RidgeState

    def __init__(
        self,
        epsilon: float | Literal["auto"] = 1e-3,
        intercept: bool = False,
        *,
        device: str | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.intercept = intercept
        self.device = device

    def settings(self) -> dict[str, Any]:
        return checked_epsilon(self.epsilon, self.intercept)
