"""OPIUM over a sliding window: exactly the last rows count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import backend, linalg
from ..backend import Array, Backend, eps
from ..fields import Fields, array, count, integer, known, number, require, stored
from ..validation import check_number, check_squares
from ._checks import check_window
from ._derived import Value
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


@dataclass(frozen=True, eq=False)
class WindowRows:
    """Rows and targets, both multiplied by the root of their weights, and these (NumPy)."""

    H: Array
    Y: Array
    weight: Array

    after = None

    @classmethod
    def of(cls, b: Backend, rows: Rows) -> WindowRows:
        """The last rows, in arrays of their own."""
        H, Y, weight = rows.arrays()
        H, Y = b.asarray(H), b.asarray(Y)
        if weight is None:
            return cls(H, Y, np.ones(rows.n))
        root = b.asarray(np.sqrt(weight)[:, None], b.dtype_of(H))
        return cls(root * H, root * Y, weight.astype(np.float64))

    # As a `Chunk` that is learned

    @property
    def n(self) -> int:
        return len(self.weight)

    def tally(self, before: Array | None = None) -> Counts:
        """How much the rows count."""
        return Counts.of(self.weight)

    def __call__(self) -> Any:
        return iter([(self.H, self.Y)])

    # Parts

    def part(self, start: int, stop: int | None) -> WindowRows:
        """Some of the rows."""
        rows = slice(start, self.n if stop is None else min(stop, self.n))
        return WindowRows(self.H[rows, :], self.Y[rows, :], self.weight[rows])

    @staticmethod
    def joined(b: Backend, chunks: list[WindowRows]) -> WindowRows:
        """Several as one."""
        return WindowRows(
            b.xp.concat([chunk.H for chunk in chunks]),
            b.xp.concat([chunk.Y for chunk in chunks]),
            np.concatenate([chunk.weight for chunk in chunks]),
        )


def _to_fields(window: Window) -> Fields:
    """The rows of all chunks in three arrays, and how many each has."""
    b, chunks = window.ridge.backend, list(window.kept)
    rows = WindowRows.joined(b, chunks) if chunks else None
    empty = np.empty((0, 0), window.ridge.dtype)
    return {
        "ridge": window.ridge,
        "rows": empty if rows is None else b.to_numpy(rows.H),
        "targets": empty if rows is None else b.to_numpy(rows.Y),
        "weights": np.empty(0) if rows is None else rows.weight,
        "lengths": np.array([chunk.n for chunk in chunks], np.int64),
        "removed": window.removed,
    }


def _from_fields(cls: type[Window], stored: Fields) -> Window:
    H, Y, weight, lengths = (stored[k] for k in ("rows", "targets", "weights", "lengths"))
    require(((lengths > 0) & (lengths < 1 << 40)).all(), "the window has impossible lengths")
    ends = np.cumsum(lengths)
    fits = len(H) == len(Y) == len(weight) == lengths.sum()
    require(fits, "the arrays of the window have different lengths")
    b = backend.default()
    rows = WindowRows(b.asarray(H), b.asarray(Y), weight)
    parts = zip((ends - lengths).tolist(), ends.tolist(), strict=True)
    kept = tuple(rows.part(start, stop) for start, stop in parts)
    return cls(stored["ridge"], kept, stored["removed"])


@stored(
    parameters={
        "ridge": known(Ridge),
        "rows": array(2),
        "targets": array(2),
        "weights": array(1),
        "lengths": array(1, "i"),
        "removed": count,
    },
    check=check_window,
    to_fields=_to_fields,
    from_fields=_from_fields,
)
@dataclass(frozen=True, eq=False)
class Window(Value):
    """Sums, the rows they are of, and how many were removed since they were computed."""

    ridge: Ridge
    kept: tuple[WindowRows, ...] = ()
    removed: int = 0

    def on(self, b: Backend) -> Window:
        """The same on another backend."""
        mine = self.ridge.backend
        kept = tuple(
            replace(rows, H=b.asarray(mine.to_numpy(rows.H)), Y=b.asarray(mine.to_numpy(rows.Y)))
            for rows in self.kept
        )
        return replace(self, ridge=self.ridge.on(b), kept=kept)


@dataclass(frozen=True)
class WindowAlgorithm(Algorithm):
    """New rows are added to a root and old ones removed from it."""

    window: int
    epsilon: float

    def start(self, shape: Shape) -> Window:
        check_squares("epsilon", self.epsilon, shape.dtype)
        size = (shape.backend, shape.n_hidden, shape.n_outputs, shape.dtype)
        return Window(Ridge.start(*size, self.epsilon))

    def learn(self, shape: Shape, state: Window, rows: Rows, seen: int) -> Window:
        b = shape.backend
        new = WindowRows.of(b, rows.part(max(0, rows.n - self.window), rows.n))
        gone, kept = _split(b, (*state.kept, new), self.window)
        removed = state.removed + gone.n
        if new.n == self.window or removed > self.window:
            return self._afresh(shape, kept)
        after: Any = learn(state.ridge, new)  # type: ignore[arg-type]
        if gone.n:
            after = None if after.sums.basis is not None else self._without(after, gone)
            if after is None:
                return self._afresh(shape, kept)
        return Window(after, kept, removed)

    def _without(self, ridge: Ridge, gone: WindowRows) -> Ridge | None:
        """Without rows; None if digits went with them."""
        b, least = ridge.backend, eps(ridge.dtype) ** _LEAST_LEFT_IN_WINDOW
        with b.few_threads(0):
            left = remove(ridge.sums, gone.H, gone.Y, least)
            if left is None or not linalg.signed_is_safe(b, left.R):
                return None
        return ridge.with_sums(left.tallied(gone.tally(), sign=-1))

    def _afresh(self, shape: Shape, kept: tuple[WindowRows, ...]) -> Window:
        rows: Any = WindowRows.joined(shape.backend, list(kept))
        return Window(learn(self.start(shape).ridge, rows), kept)

    def innovate(
        self, shape: Shape, state: Window, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Window, Array]:
        b, root = shape.backend, state.ridge.root
        rows = Rows.of(H, Y, weight)
        if root.basis is None and weight.all():
            new = WindowRows.of(b, rows)
            gone, _ = _split(b, (*state.kept, new), self.window)
            changes = _interleaved(b, new, gone)
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

    def record_rows(self, shape: Shape, seen: int) -> int:
        return min(super().record_rows(shape, seen), self.window)

    def with_outputs(self, shape: Shape, state: Window, n_outputs: int, old: Array) -> Window:
        kept = tuple(
            replace(chunk, Y=widened(shape.backend, chunk.Y, n_outputs, old))
            for chunk in state.kept
        )
        return replace(state, ridge=state.ridge.with_outputs(n_outputs, old), kept=kept)

    def with_units(self, shape: Shape, state: Window, n_hidden: int, old: Array) -> Window:
        kept = tuple(
            replace(chunk, H=widened(shape.backend, chunk.H, n_hidden, old)) for chunk in state.kept
        )
        return replace(state, ridge=state.ridge.with_units(n_hidden, old), kept=kept)

    # Reading

    def weights(self, state: Window) -> Array:
        return state.ridge.root.weights

    def root(self, state: Window) -> Sums:
        return state.ridge.root


def _check_length(solver: SlidingOpium) -> None:
    n = sum(rows.n for rows in solver.fitted_.state.kept)
    require(n <= solver.window, "the window has more rows than the solver's parameter says")


@stored_solver({"window": integer, "epsilon": number}, Window, check=_check_length)
class SlidingOpium(RootSolver):
    """OPIUM over the last rows: after every row the exact ridge solution of these alone.

    ``W = (H'H + epsilon²·I)⁻¹ H'Y`` for the last `window` rows. New rows are added to a Cholesky
    factor and old ones removed from it. Once per window it is computed again from the rows, so that
    rounding errors do not build up.

    It is the paper's algorithm on a window, with the paper's defaults (no intercept, ε = 1e-3); for
    a linear model of a table use `ELMRegressor` or `TableRegressor`.

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


def _split(
    b: Backend, chunks: tuple[WindowRows, ...], window: int
) -> tuple[WindowRows, tuple[WindowRows, ...]]:
    """The rows that have left the window, and the chunks that are left."""
    extra = sum(chunk.n for chunk in chunks) - window
    gone = [chunks[0].part(0, 0)]
    kept = list(chunks)
    while extra > 0:
        chunk = kept[0]
        gone.append(chunk.part(0, extra))
        kept[:1] = [chunk.part(extra, None)] if chunk.n > extra else []
        extra -= chunk.n
    return WindowRows.joined(b, gone), tuple(kept)


def _interleaved(b: Backend, new: WindowRows, gone: WindowRows) -> tuple[Array, Array, Array]:
    """Rows in the order in which they come and go, their targets, and 1 or -1 for each (NumPy).

    The last of the new rows each push one out; before that, the window was not full.
    """
    first = new.n - gone.n
    place = np.concatenate([np.arange(new.n), first + np.arange(gone.n) + 0.5])
    order = np.argsort(place)
    signs = np.concatenate([np.ones(new.n), -np.ones(gone.n)])[order]
    indices = b.xp.asarray(order)
    H, Y = (
        b.xp.take(b.xp.concat([mine, theirs]), indices, axis=0)
        for mine, theirs in ((new.H, gone.H), (new.Y, gone.Y))
    )
    return H, Y, signs
