"""OPIUM over a sliding window: exactly the last rows count."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

import numpy as np

from .. import backend, linalg
from ..backend import Array, Backend, eps
from ..fields import Fields, array, count, integer, known, number, require, stored
from ..validation import check_number, check_squares
from ._checks import check_window
from ._derived import Value, replace
from ._exact import chunk_of
from ._mean import widened
from ._remove import remove
from ._ridge import Ridge, learn
from ._root_solver import RootSolver
from ._rows import Counts, Rows
from ._stored import stored_solver
from .protocol import Algorithm, Shape
from .sums import Sums

# Where removing rows leaves less than eps to this power in some direction, as it does in windows
# shorter than the rows are wide, too many digits would go: the root is computed again instead.
_LEAST_LEFT_IN_WINDOW = 0.3


def _to_fields(window: Window) -> Fields:
    """The arrays in files are NumPy's, whatever the backend."""
    b = window.ridge.backend
    found = {f.name: getattr(window, f.name) for f in fields(window)}
    return found | {"H": b.to_numpy(window.H), "Y": b.to_numpy(window.Y)}


def _from_fields(cls: type[Window], stored: Fields) -> Window:
    b = backend.default()
    return cls(**{**stored, "H": b.asarray(stored["H"]), "Y": b.asarray(stored["Y"])})


@stored(check=check_window, to_fields=_to_fields, from_fields=_from_fields)
@dataclass(frozen=True, eq=False)
class Window(Value):
    """Sums, the rows they are of, and how many were removed since they were computed."""

    ridge: Annotated[Ridge, known(Ridge)]
    H: Annotated[Array, array(2)]
    Y: Annotated[Array, array(2)]
    weight: Annotated[Array, array(1)]
    removed: Annotated[int, count] = 0

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.weight)

    def part(self, start: int, stop: int) -> Window:
        """The same sums, and some of the rows."""
        rows = slice(start, stop)
        return replace(self, H=self.H[rows, :], Y=self.Y[rows, :], weight=self.weight[rows])

    @property
    def rows(self) -> Rows:
        """The rows with their weights."""
        return Rows.of(self.H, self.Y, self.weight)

    def scaled(self) -> tuple[Array, Array]:
        """Rows and targets, multiplied by the root of their weights."""
        b = self.ridge.backend
        root = b.asarray(np.sqrt(self.weight)[:, None], self.ridge.dtype)
        return root * self.H, root * self.Y

    def with_rows(self, rows: Rows) -> Window:
        """The same sums, and more rows, in arrays of their own."""
        b = self.ridge.backend
        parts = [(self.H, self.Y), tuple(b.asarray(A) for A in rows.make(0, rows.n))]
        H, Y = (b.xp.concat(list(column)) for column in zip(*parts, strict=True))
        weight = np.concatenate([self.weight, rows.weights.astype(np.float64)])
        return replace(self, H=H, Y=Y, weight=weight)

    def on(self, b: Backend) -> Window:
        """The same on another backend."""
        H, Y = (b.asarray(self.ridge.backend.to_numpy(A)) for A in (self.H, self.Y))
        return replace(self, ridge=self.ridge.on(b), H=H, Y=Y)


@dataclass(frozen=True)
class WindowAlgorithm(Algorithm):
    """New rows are added to a root and old ones removed from it."""

    window: int
    epsilon: float

    def start(self, shape: Shape) -> Window:
        check_squares("epsilon", self.epsilon, shape.dtype)
        b, M, L, dtype = shape.backend, shape.n_hidden, shape.n_outputs, shape.dtype
        ridge = Ridge.start(b, M, L, dtype, self.epsilon)
        return Window(ridge, b.zeros((0, M), dtype), b.zeros((0, L), dtype), np.empty(0))

    def learn(self, shape: Shape, state: Window, rows: Rows, seen: int) -> Window:
        last = rows.part(max(0, rows.n - self.window), rows.n)
        all_rows = state.with_rows(last)
        n_gone = max(0, all_rows.n - self.window)
        gone, kept = all_rows.part(0, n_gone), all_rows.part(n_gone, all_rows.n)
        new, removed = all_rows.part(state.n, all_rows.n), state.removed + n_gone
        if new.n == self.window or removed > self.window:
            return self._afresh(shape, kept)
        after: Ridge | None = learn(state.ridge, chunk_of(shape, new.rows, None))
        if n_gone and after is not None:
            after = None if after.sums.basis is not None else self._without(after, gone)
            if after is None:
                return self._afresh(shape, kept)
        return replace(kept, ridge=after, removed=removed)

    def _without(self, ridge: Ridge, gone: Window) -> Ridge | None:
        """Without rows; None if digits went with them."""
        b, least = ridge.backend, eps(ridge.dtype) ** _LEAST_LEFT_IN_WINDOW
        with b.few_threads(0):
            left = remove(ridge.sums, *gone.scaled(), least)
            if left is None or not linalg.signed_is_safe(b, left.R):
                return None
        return ridge.with_sums(left.tallied(Counts.of(gone.weight), sign=-1))

    def _afresh(self, shape: Shape, kept: Window) -> Window:
        ridge = learn(self.start(shape).ridge, chunk_of(shape, kept.rows, None))
        return replace(kept, ridge=ridge, removed=0)

    def innovate(
        self, shape: Shape, state: Window, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Window, Array]:
        b, root, rows = shape.backend, state.ridge.root, Rows.of(H, Y, weight)
        if root.basis is None and weight.all():
            changes = self._changes(b, state, rows)
            with b.few_threads(0):
                errors = linalg.signed_innovations(
                    b, root.R, root.weights, *changes, root.condition
                )
            if errors is not None:
                learned = np.flatnonzero(changes[2] > 0)
                found = b.to_numpy(errors)[learned] / np.sqrt(weight)[:, None]
                return self.learn(shape, state, rows, seen), b.asarray(found, shape.dtype)
        errors = b.xp.empty_like(Y)
        for i in range(rows.n):
            one = slice(i, i + 1)
            errors[one, :] = Y[one, :] - b.matmul(H[one, :], state.ridge.root.weights)
            state = self.learn(shape, state, rows.part(i, i + 1), seen + i)
        return state, errors

    def _changes(self, b: Backend, state: Window, new: Rows) -> tuple[Array, Array, Array]:
        """Rows in the order in which they come and go, their targets, and 1 or -1 for each (NumPy).

        The last of the new rows each push one out; before that, the window was not full.
        """
        rows = state.with_rows(new)
        came, gone = np.arange(state.n, rows.n), np.arange(max(0, rows.n - self.window))
        place = np.concatenate([came, rows.n - len(gone) + gone + 0.5])
        order = np.argsort(place)
        signs = np.concatenate([np.ones(len(came)), -np.ones(len(gone))])[order]
        indices = b.xp.asarray(np.concatenate([came, gone])[order])
        H, Y = (b.xp.take(A, indices, axis=0) for A in rows.scaled())
        return H, Y, signs

    def record_rows(self, shape: Shape, seen: int) -> int:
        return min(super().record_rows(shape, seen), self.window)

    def with_outputs(self, shape: Shape, state: Window, n_outputs: int, old: Array) -> Window:
        Y = widened(shape.backend, state.Y, n_outputs, old)
        return replace(state, ridge=state.ridge.with_outputs(n_outputs, old), Y=Y)

    def with_units(self, shape: Shape, state: Window, n_hidden: int, old: Array) -> Window:
        H = widened(shape.backend, state.H, n_hidden, old)
        return replace(state, ridge=state.ridge.with_units(n_hidden, old), H=H)

    # Reading

    def weights(self, state: Window) -> Array:
        return state.ridge.root.weights

    def root(self, state: Window) -> Sums:
        return state.ridge.root


def _check_length(solver: SlidingOpium) -> None:
    n = solver.fitted_.state.n
    require(n <= solver.window, "the window has more rows than the solver's parameter says")


@stored_solver({"window": integer, "epsilon": number}, Window, check=_check_length)
class SlidingOpium(RootSolver):
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

    def __init__(
        self, window: int = 1000, epsilon: float = 1e-3, *, device: str | None = None
    ) -> None:
        self.window = window
        self.epsilon = epsilon
        self.device = device

    def algorithm(self) -> WindowAlgorithm:
        check_number("window", self.window, low=1, whole=True)
        check_number("epsilon", self.epsilon, low=0)
        return WindowAlgorithm(int(self.window), float(self.epsilon))
