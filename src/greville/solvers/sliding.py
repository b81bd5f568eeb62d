"""OPIUM over a sliding window: exactly the last rows count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from .. import linalg
from ..backend import Array, eps
from ..fields import array, count, integer, number, require
from ..validation import check_number
from ._derived import replace, stored_value
from ._mean import widened
from ._remove import remove
from ._ridge import RidgeState, learn
from ._rows import Counts, Rows
from ._solver import Capabilities, Solver
from ._state import Shape
from ._stored import stored_solver

# Where removing rows leaves less than eps to this power in some direction, as it does in windows
# shorter than the rows are wide, too many digits would go: the root is computed again instead.
_LEAST_LEFT_IN_WINDOW = 0.3


def _check_window(state: WindowState) -> None:
    b, n = state.backend, len(state.weight)
    require(state.mean is None and not state.chooses, "the state of a window has a mean")
    fits = state.H.shape == (n, state.n_hidden) and state.Y.shape == (n, state.n_outputs)
    fits = fits and b.dtype_of(state.H) == b.dtype_of(state.Y) == state.dtype
    require(fits, "the rows of the window have another shape or dtype than the state")
    fits = state.weight.dtype == np.float64 and bool((state.weight >= 0).all())
    require(fits, "the weights of the window are negative or not float64")
    require(n <= state.window, "the window has more rows than the solver's parameter says")


@stored_value(_check_window)
@dataclass(frozen=True, eq=False, kw_only=True)
class WindowState(RidgeState):
    """Sums over a window, its rows, and the number of rows removed since the sums were made."""

    window: Annotated[int, count]
    H: Annotated[Array, array(2)]
    Y: Annotated[Array, array(2)]
    weight: Annotated[Array, array(1)]
    removed: Annotated[int, count] = 0

    arrays = ("sums", "H", "Y")
    rules = ("window",)

    @classmethod
    def start(cls, shape: Shape, **settings: Any) -> Self:
        """The state before any row."""
        b, dtype, n = shape.backend, shape.dtype, (shape.n_hidden, shape.n_outputs)
        H, Y = (b.zeros((0, width), dtype) for width in n)
        return super().start(shape, H=H, Y=Y, weight=np.empty(0), **settings)

    @property
    def forgetting(self) -> str:
        """Describe what becomes of old rows."""
        return f"only the last {self.window:,} rows count"

    def added(self, rows: Rows) -> Self:
        last = rows.part(max(0, rows.n - self.window), rows.n)
        n_kept, H, Y, weight = len(self.weight), *self._with(last)
        n_gone = max(0, len(weight) - self.window)
        gone = Rows.of(H[:n_gone, :], Y[:n_gone, :], weight[:n_gone])
        new = Rows.of(H[n_kept:, :], Y[n_kept:, :], weight[n_kept:])
        removed = self.removed + n_gone
        kept = replace(self, H=H[n_gone:, :], Y=Y[n_gone:, :], weight=weight[n_gone:])
        if new.n == self.window or removed > self.window:
            return kept._afresh()
        after: Any = learn(replace(kept, removed=removed), self.chunk(new))
        if n_gone:
            after = None if after.sums.basis is not None else after._without_rows(gone)
        return kept._afresh() if after is None else after

    def added_by_fit(self, rows: Rows) -> Self:
        return self.added(rows)

    def _with(self, rows: Rows) -> tuple[Array, Array, Array]:
        """The rows of the window and more, in arrays of their own, and their weights."""
        b = self.backend
        parts = [(self.H, self.Y), tuple(b.asarray(A) for A in rows.make(0, rows.n))]
        H, Y = (b.xp.concat(list(column)) for column in zip(*parts, strict=True))
        return H, Y, np.concatenate([self.weight, rows.weights.astype(np.float64)])

    def _without_rows(self, gone: Rows) -> Self | None:
        """Remove rows from the sums; None if digits went with them."""
        b, least = self.backend, eps(self.dtype) ** _LEAST_LEFT_IN_WINDOW
        H, Y = self._scaled(*gone.make(0, gone.n), gone.weights)
        with b.few_threads(0):
            left = remove(self.sums, H, Y, least)
            if left is None or not linalg.signed_is_safe(b, left.R):
                return None
        return self.with_sums(left.tallied(Counts.of(b, gone), sign=-1))

    def _scaled(self, H: Array, Y: Array, weight: Array) -> tuple[Array, Array]:
        """Rows and targets, multiplied by the root of their weights."""
        root = self.backend.asarray(np.sqrt(weight)[:, None], self.dtype)
        return root * H, root * Y

    def _afresh(self) -> Any:
        """Compute the sums from the rows again."""
        start = replace(self, sums=self.emptied().sums, removed=0)
        return learn(start, start.chunk(Rows.of(self.H, self.Y, self.weight)))

    def innovated(self, H: Array, Y: Array, weight: Array) -> tuple[Self, Array]:
        b, root, rows = self.backend, self.root, Rows.of(H, Y, weight)
        if root.basis is None and weight.all():
            changes = self._changes(rows)
            with b.few_threads(0):
                errors = linalg.signed_innovations(
                    b, root.R, root.weights, *changes, root.condition
                )
            if errors is not None:
                learned = np.flatnonzero(changes[2] > 0)
                scaled = b.to_numpy(errors)[learned] / np.sqrt(weight)[:, None]
                return self.added(rows), b.asarray(scaled, self.dtype)
        errors, state = b.xp.empty_like(Y), self
        for i in range(rows.n):
            one = slice(i, i + 1)
            errors[one, :] = Y[one, :] - b.matmul(H[one, :], state.root.weights)
            state = state.added(rows.part(i, i + 1))
        return state, errors

    def _changes(self, new: Rows) -> tuple[Array, Array, Array]:
        """Rows in the order in which they come and go, their targets, and 1 or -1 for each (NumPy).

        The last of the new rows each push one out; before that, the window was not full.
        """
        b, (H, Y, weight) = self.backend, self._with(new)
        n = len(weight)
        came, gone = np.arange(len(self.weight), n), np.arange(max(0, n - self.window))
        place = np.concatenate([came, n - len(gone) + gone + 0.5])
        order = np.argsort(place)
        signs = np.concatenate([np.ones(len(came)), -np.ones(len(gone))])[order]
        indices = b.xp.asarray(np.concatenate([came, gone])[order])
        H, Y = (b.xp.take(A, indices, axis=0) for A in self._scaled(H, Y, weight))
        return H, Y, signs

    def record_rows(self) -> int:
        return min(super().record_rows(), self.window)

    def for_kernels(self) -> None:
        return None

    def spreads_in_order(self, H: Array, Y: Array, weight: Array) -> Array:
        return super(RidgeState, self).spreads_in_order(H, Y, weight)

    def with_outputs(self, n_outputs: int, old: Array) -> Self:
        new = super().with_outputs(n_outputs, old)
        return replace(new, Y=widened(new.backend, new.Y, n_outputs, old))

    def with_units(self, n_hidden: int, old: Array) -> Self:
        new = super().with_units(n_hidden, old)
        return replace(new, H=widened(new.backend, new.H, n_hidden, old))


@stored_solver({"window": integer, "epsilon": number}, WindowState)
class SlidingOpium(Solver):
    """OPIUM over the last rows: after every row the exact ridge solution of these alone.

    ``W = (H'H + epsilon²·I)⁻¹ H'Y`` for the last `window` rows. New rows are added to a Cholesky
    factor and old ones removed from it. Once per window it is computed again from the rows, so that
    rounding errors do not build up.

    It is the paper's algorithm on a window, with the paper's defaults (no intercept, ε = 1e-3); for
    a linear model of a table use `LinearRegressor`.

    Parameters
    ----------
    window : int, default=1000
        How many rows count.
    epsilon : float, default=1e-3
        The paper's ε, eq. (23).
    device : str, optional
        Where to learn NumPy arrays: "cuda", another device of torch, or "auto" for a GPU if the
        model is large enough; see docs/devices.md. Default: where the rows are.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,) for 1-d targets
    theta_ : ndarray of shape (n_hidden, n_hidden)
    psi_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,)
    loss_ : ndarray of shape (n_outputs,), or float
    n_samples_seen_ : int
        All rows, also those that have left the window.
    n_features_in_ : int

    Notes
    -----
    About 6M² + (4/3)M³/128 operations a row. Memory is the window, ``window`` x M numbers, and two
    M x M matrices. Where epsilon is smaller than the rounding of the activations, the
    factor is computed again every time.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import SlidingOpium
    >>> H = np.random.default_rng(0).normal(size=(300, 3))
    >>> model = SlidingOpium(window=100, epsilon=1e-6)
    >>> _ = model.partial_fit(H[:150], H[:150] @ [1.0, 2.0, 3.0])
    >>> _ = model.partial_fit(H[150:], H[150:] @ [3.0, 2.0, 1.0])  # the rule changes
    >>> model.coef_.round(6)
    array([3., 2., 1.])
    """

    capabilities: ClassVar[Capabilities] = Capabilities(tells_spread=True)
    state_class: Any = WindowState

    def __init__(
        self, window: int = 1000, epsilon: float = 1e-3, *, device: str | None = None
    ) -> None:
        self.window = window
        self.epsilon = epsilon
        self.device = device

    def settings(self) -> dict[str, Any]:
        check_number("window", self.window, low=1, whole=True)
        check_number("epsilon", self.epsilon, low=0)
        return {"window": int(self.window), "epsilon": float(self.epsilon)}
