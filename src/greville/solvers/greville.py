"""Greville's method: the Moore-Penrose solution after every row, without any ε."""

from __future__ import annotations

from typing import Any, ClassVar

from ..backend import Array
from ..fields import nothing, number
from ..validation import check_number
from ._ridge import RidgeState
from ._solver import Capabilities, Solver
from ._stored import stored_solver


@stored_solver({"tol": nothing | number}, RidgeState)
class Greville(Solver):
    """Greville's method, eqs. (5)-(22): after every row exactly ``pinv(H) @ Y``.

    The minimum-norm least-squares solution of all rows so far: while there are fewer rows than
    hidden units, at the point where there are as many, and beyond; for repeated rows, zero rows
    and rows that depend on others.

    Where the paper keeps θ and Φ, this keeps an orthonormal basis of the rows seen (Φ is the
    projection on what is outside it) and a Cholesky factor in coordinates of that basis.

    It is the paper's algorithm with the paper's defaults (no intercept, no ε); for a linear model
    of a table use `LinearRegressor`.

    Parameters
    ----------
    tol : float, optional
        The test of eq. (10): row a_k depends on the rows before it if the part c_k of it outside
        their span has ``|c_k| <= tol·|a_k|``. Default: 10·n_hidden·eps, what rounding may
        leave. Raise it where rows carry noise in directions that should not count.
    device : str, optional
        Where to learn NumPy arrays: "cuda", another device of torch, or "auto" for a GPU if the
        model is large enough; see docs/devices.md. Default: where the rows are.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,) for 1-d targets
    rank_ : int
        Number of linearly independent rows so far.
    theta_ : ndarray of shape (n_hidden, n_hidden)
    phi_ : ndarray of shape (n_hidden, n_hidden)
    psi_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,)
    loss_ : ndarray of shape (n_outputs,), or float
    n_samples_seen_ : int
    n_features_in_ : int

    Notes
    -----
    O(M·rank) operations a row. A sample
    weight multiplies the squared error of its row: it is the precision of that row.

    References
    ----------
    T. N. E. Greville, "Some applications of the pseudoinverse of a matrix", SIAM Review 2 (1960).

    Examples
    --------
    >>> from greville import Greville
    >>> model = Greville().partial_fit([[1.0, 1.0]], [2.0])
    >>> model.coef_  # one row, two unknowns: the solution of smallest norm
    array([1., 1.])
    >>> model.partial_fit([[1.0, -1.0]], [4.0]).coef_
    array([ 3., -1.])
    """

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, tells_spread=True)
    state_class: Any = RidgeState

    def __init__(self, tol: float | None = None, *, device: str | None = None) -> None:
        self.tol = tol
        self.device = device

    def settings(self) -> dict[str, Any]:
        if self.tol is not None:
            check_number("tol", self.tol, low=0, high=1)
        return {"epsilon": 0.0, "tol": self.tol}

    @property
    def rank_(self) -> int:
        """Number of linearly independent rows so far."""
        return self._root.rank

    @property
    def phi_(self) -> Array:
        """The paper's Φ = I - AA⁺, equation (19)."""
        return self._root.backend.to_numpy(self._root.phi())
