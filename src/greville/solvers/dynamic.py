"""Dynamic OPIUM: rows count less the older they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..linalg import Array
from ..validation import check_number, check_squares
from ._exact import RootSolver
from ._root import Root
from ._rows import Rows

_AUTO_FLOOR = {"d": 1e-6, "f": 1e-3}

# The factor by which rows of one prequential block may outgrow each other: (2 - alpha)^(-rows / 2).
_LARGEST_FACTOR = 1e3


class DynamicOpium(RootSolver):
    """Dynamic OPIUM, eqs. (29)-(33): exact recursive least squares that forgets.

    A row k rows ago counts (2 - alpha)^k: exponentially weighted recursive least squares with
    forgetting factor 2 - alpha, started from θ_0⁻¹ = epsilon²·I / alpha.

    The paper's rule also forgets what keeps θ finite: in directions that no row excites, θ grows
    until nothing is left of the solution. The `floor` prevents it. Each time the old rows have
    lost half their weight, half of floor²·I is added to θ⁻¹ again, so that in every direction, at
    any time after the first such addition, θ⁻¹ is at least floor²/4.

    Parameters
    ----------
    alpha : float, default=1.003
        The paper's α, in [1, 2). With 1, nothing is forgotten and this is `Opium`.
    epsilon : float, default=1e-3
        The paper's ε, eq. (23).
    floor : float, "auto" or None, default="auto"
        The size of the prior that is not forgotten, in units of the activations. None is the
        paper's rule to the letter. "auto" is 1e-6 in float64 and 1e-3 in float32.

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
    Cost as for `Opium`, and with a floor (2/3)M³ operations more once per half-life,
    log(2) / -log(2 - alpha) rows. Time is counted in rows: a sample weight multiplies the squared
    error of its row and does not make time pass faster; a row of weight zero is a step of time in
    which nothing is learned.

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
        alpha: float = 1.003,
        epsilon: float = 1e-3,
        floor: float | str | None = "auto",
    ) -> None:
        self.alpha = alpha
        self.epsilon = epsilon
        self.floor = floor

    def _check_parameters(self) -> None:
        check_number("alpha", self.alpha, low=1, high=2)
        check_number("epsilon", self.epsilon, low=0)
        if isinstance(self.floor, str) and self.floor != "auto":
            raise ValueError(f"floor={self.floor!r}: pass 'auto', None or a number >= 0.")
        if not (self.floor is None or isinstance(self.floor, str)):
            check_number("floor", self.floor, low=0)

    def _start(self, n_hidden: int, n_outputs: int, dtype: Any) -> Root:
        check_squares("epsilon", self.epsilon, dtype)
        if not isinstance(self.floor, str):
            check_squares("floor", self.floor or 0.0, dtype)
        return Root(n_hidden, n_outputs, float(self.epsilon / np.sqrt(self.alpha)), dtype)

    def _absorb(self, state: Root, rows: Rows, seen: int) -> Root:
        age = np.arange(rows.n - 1, -1, -1)
        weight = self._decay(age)
        if rows.weight is not None:
            weight = weight * rows.weight
        return self._absorbed(
            state,
            rows,
            np.sqrt(weight),
            decay=self._decay(rows.n),
            ridge=self._ridge(seen, rows.n),
        )

    def _innovate(
        self, state: Root, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Root, Array]:
        # Rows growing by the inverse of what old ones lose, and all of it scaled down at the end.
        n = len(H)
        factor = np.sqrt(weight / self._decay(np.arange(1, n + 1)))
        state, errors = self._innovated(state, H, Y, factor)
        state.fade(self._decay(n), self._ridge(seen, n))
        return state, errors

    def _factor(self, rows: Rows, seen: int) -> Array | None:
        if rows.n > self._record_length(seen) or self._ridge(seen, rows.n) > 0:
            return None
        weight = 1.0 if rows.weight is None else rows.weight
        return np.sqrt(weight / self._decay(np.arange(1, rows.n + 1)))

    def _record_length(self, seen: int) -> int:
        longest = super()._record_length(seen)
        if self.alpha > 1:
            longest = min(longest, int(2 * np.log(_LARGEST_FACTOR) / -np.log(2 - self.alpha)))
            longest = min(longest, self._period - seen % self._period)
        return max(1, longest)

    def _decay(self, n_rows: Any) -> Any:
        return (2.0 - self.alpha) ** n_rows

    @property
    def _period(self) -> int:
        """The rows between two additions of the floor: those in which the old lose half."""
        return max(1, int(np.log(2) / -np.log(2 - self.alpha)))

    def _ridge(self, seen: int, n: int) -> float:
        """What the floor adds to θ⁻¹ between row `seen` and row `seen + n`, as it stands then."""
        floor = _AUTO_FLOOR[self._dtype.char] if self.floor == "auto" else float(self.floor or 0)
        if floor == 0 or self.alpha == 1:
            return 0.0
        period = self._period
        due = np.arange(seen - seen % period + period, seen + n + 1, period)
        return floor**2 * (1 - self._decay(period)) * float(self._decay(seen + n - due).sum())

    @property
    def theta_(self) -> Array:
        """The paper's θ, of shape (n_hidden, n_hidden); eq. (30)."""
        return super().theta_ / self._dtype.type(self.alpha)

    @property
    def psi_(self) -> Array:
        """The paper's ψ, of shape (n_outputs, n_hidden) or (n_hidden,); eq. (29)."""
        return super().psi_ * self._dtype.type(self.alpha)
