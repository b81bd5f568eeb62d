"""Sums over rows that another solver learns."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from ._ridge import RowSums
from ._solver import Capabilities, Solver


class Accumulator(Solver):
    """Rows that are only added up: what a worker of a cluster makes of its own.

    It learns and merges as other solvers do, and does not predict: `merge` of a fitted value
    learns all of its rows, and `without` unlearns them.

    Parameters
    ----------
    epsilon : None or 0.0
        None for solvers with a ridge, which is applied when the sums are read.
    tol : float, optional
        For solvers without: up to which ``|c_k|/|a_k|`` a row depends on those before it, eq. (10).
    intercept : bool, default=False
        Whether rows and targets are taken around their means.
    device : str, optional

    Examples
    --------
    >>> import numpy as np
    >>> from greville import Opium
    >>> from greville.solvers import Accumulator
    >>> H, y = np.eye(4), np.arange(4.0)
    >>> first, second = (Accumulator().fit(H[i::2], y[i::2]) for i in range(2))
    >>> whole = Opium(1e-3).start(4, 1, float).fitted_.merge((first + second).fitted_)
    >>> abs(whole.weights()[:, 0]).round(3)
    array([0., 1., 2., 3.])
    """

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, tells_spread=True)
    state_class: Any = RowSums

    def __init__(
        self,
        epsilon: float | None = None,
        tol: float | None = None,
        intercept: bool = False,
        *,
        device: str | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.intercept = intercept
        self.device = device

    @classmethod
    def for_solver(cls, solver: Any, device: str | None = None) -> Self:
        """An accumulator whose rows a solver can learn."""
        settings = solver.settings()
        epsilon = 0.0 if settings["epsilon"] == 0 else None
        return cls(epsilon, settings.get("tol"), settings.get("intercept", False), device=device)

    def settings(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "tol": self.tol, "intercept": self.intercept}
