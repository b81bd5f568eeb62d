"""Dynamic OPIUM: rows count less the older they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from ..backend import Array
from ..fields import choice, flag, nothing, number
from ..validation import check_number
from ._forgetting import FadingState
from ._memories import MemoriesState
from ._solver import Capabilities, Solver, checked_epsilon
from ._stored import stored_solver

_FADING = Capabilities(tells_spread=True, chooses_epsilon=True)
_OF_MEMORIES = replace(_FADING, adds=True, removes=True)


@stored_solver(
    {
        "alpha": choice("auto") | number,
        "epsilon": choice("auto") | number,
        "floor": nothing | choice("auto") | number,
        "intercept": flag,
    },
    FadingState,
    MemoriesState,
)
class DynamicOpium(Solver):
    """Dynamic OPIUM, eqs. (29)-(33): exact recursive least squares that forgets.

    A row that came k rows ago has the weight (2 - alpha)^k: exponentially weighted recursive least
    squares with the forgetting factor 2 - alpha, started from θ_0⁻¹ = epsilon²·I / alpha.

    The paper's rule also forgets the ridge: in directions that no row excites, θ grows without
    bound, and the solution is lost. The `floor` prevents this. Each time the old rows have lost
    half of their weight, half of floor²·I is added to θ⁻¹ again, around the present weights. So
    θ⁻¹ stays above a part of floor² in every direction, and the weights stay bounded. Where the
    data determine the weights, the floor has little effect.

    It is the paper's algorithm with the paper's defaults (no intercept, ε = 1e-3), but for the
    floor; for a linear model of a table use `LinearRegressor`.

    Parameters
    ----------
    alpha : float or "auto", default=1.003
        The paper's α, in [1, 2). With 1, nothing is forgotten and this is `Opium`. "auto" keeps
        two memories at once, for α = 1 and 1.003, and weights them by their errors on about the
        last twenty rows; a row takes about twice as long. `unlearn` and `merge` are then exact for
        the memory of all rows, from which the other begins anew.
    epsilon : float or "auto", default=1e-3
        The paper's ε, eq. (23). "auto" chooses the ridge with the largest evidence for the rows
        with their present weights, instead of a floor: at first when `Opium` does, and at least
        once in four half-lives (or M/2 rows, up to ten half-lives). Until the next choice it
        fades like the rows. The estimators use "auto".
    floor : float, "auto" or None, default="auto"
        The size of the prior that is not forgotten, in units of the activations. "auto" is
        3e-5 times the root mean square of the activations as they come, in float32 1e-3 times.
        None is the paper's rule: it warns when directions have been forgotten, and raises a
        FloatingPointError before numbers underflow.
    intercept : bool, default=False
        Whether to add a constant to the predictions, which is not regularised: rows and targets
        are taken around means that forget as the rows do. The estimators use it.
    device : str, optional
        Where to learn NumPy arrays: "cuda", another device of torch, or "auto" for a GPU if the
        model is large enough; see docs/devices.md. Default: where the rows are.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,) for 1-d targets
    intercept_ : ndarray of shape (n_outputs,), or float
    theta_ : ndarray of shape (n_hidden, n_hidden)
    psi_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,)
    loss_ : ndarray of shape (n_outputs,), or float
    alpha_ : float
        The α in use; for "auto" the mean over its memories.
    epsilon_ : float
        What is left of ε; for "auto" the ridge in use.
    n_samples_seen_ : int
    n_features_in_ : int

    Notes
    -----
    With ``alpha="auto"``, `theta_`, `psi_` and `loss_` are those of the memory trusted most.

    Cost as for `Opium`, and with a floor (2/3)M³ operations more once per half-life, h = log(2) /
    -log(2 - alpha) rows, or once in M/2 rows where that is longer, up to 10·h. Time is counted in
    rows: a sample weight multiplies the squared error of its row and does not make time pass
    faster; a row of weight zero is a step of time in which nothing is learned.

    References
    ----------
    van Schaik & Tapson, "Online and Adaptive Pseudoinverse Solutions for ELM Weights".

    Examples
    --------
    >>> import numpy as np
    >>> from greville import DynamicOpium
    >>> H = np.random.default_rng(0).normal(size=(2000, 3))
    >>> model = DynamicOpium(alpha=1.01)
    >>> _ = model.partial_fit(H[:1000], H[:1000] @ [1.0, 2.0, 3.0])
    >>> _ = model.partial_fit(H[1000:], H[1000:] @ [3.0, 2.0, 1.0])  # the rule changes
    >>> model.coef_.round(3)
    array([3., 2., 1.])
    """

    def __init__(
        self,
        alpha: float | Literal["auto"] = 1.003,
        epsilon: float | Literal["auto"] = 1e-3,
        floor: float | Literal["auto"] | None = "auto",
        intercept: bool = False,
        *,
        device: str | None = None,
    ) -> None:
        self.alpha = alpha
        self.epsilon = epsilon
        self.floor = floor
        self.intercept = intercept
        self.device = device

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        """A memory of all rows can add and remove rows; one that fades cannot."""
        return _OF_MEMORIES if isinstance(self.alpha, str) else _FADING

    def settings(self) -> dict[str, Any]:
        settings = checked_epsilon(self.epsilon, self.intercept)
        alpha, floor = self.alpha, self.floor
        if alpha != "auto":
            message = f"alpha={alpha!r}: pass 'auto' or a number >= 1 and < 2."
            if isinstance(alpha, str):
                raise ValueError(message)
            check_number("alpha", alpha, low=1, high=2)
            alpha = float(alpha)
        if isinstance(floor, str):
            if floor != "auto":
                raise ValueError(f"floor={floor!r}: pass 'auto', None or a number >= 0.")
        elif floor is not None:
            check_number("floor", floor, low=0)
            floor = float(floor)
        return {**settings, "alpha": alpha, "floor": floor, "given": settings["epsilon"] or 0.0}

    @property
    def state_class(self) -> Any:
        return MemoriesState if isinstance(self.alpha, str) else FadingState

    @property
    def alpha_(self) -> float:
        """The alpha in use; for "auto" the mean of those that are tried, by their weights."""
        state = self._flushed()
        if isinstance(state, MemoriesState):
            return float(state.mixture.weights() @ [member.alpha for member in state.members])
        return self._best_alpha

    @property
    def theta_(self) -> Array:
        """The paper's θ, equation (30)."""
        return super().theta_ / self._dtype.type(self._best_alpha)

    @property
    def psi_(self) -> Array:
        """The paper's ψ, equation (29)."""
        return super().psi_ * self._dtype.type(self._best_alpha)

    @property
    def _best_alpha(self) -> float:
        """The alpha of the root from which θ and ψ are read."""
        state = self._flushed()
        best = state.members[state.best] if isinstance(state, MemoriesState) else state
        return float(best.alpha)
