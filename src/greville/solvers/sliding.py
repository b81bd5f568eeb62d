"""OPIUM over a window: the last rows count in full, all others not at all."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .. import linalg
from ..linalg import Array
from ..threads import one_thread
from ..validation import check_number, check_squares
from ._base import OnlineSolver
from ._exact import RootSolver
from ._root import Root
from ._rows import Held, Rows, Waiting

# Where removing rows leaves less than eps to this power in some direction, as it does in windows
# shorter than the rows are wide, too many digits would go: the root is made afresh instead.
_LEAST_LEFT = 0.3

# Rows that wait may be this many when the weights are wanted; more are learned first.
_MOST_WAITING = 32

# Rows and targets, both multiplied by the root of their weights, and these.
Chunk = tuple[Array, Array, Array]


class WindowRoot(Root):
    """A root, the rows it was made of, and how many have been removed since it was made afresh."""

    is_sum = False
    kept: tuple[Chunk, ...] = ()
    removed = 0
    after: tuple[Waiting, Array | None] | None = None  # rows that wait, and the weights after them
    known_condition: float | None = None

    def copy(self) -> Self:
        other = super().copy()
        other.after = other.known_condition = None
        return other

    def remove_safely(self, H: Array, Y: Array) -> bool:
        """Remove rows; False if digits went with them, and it is to be made afresh."""
        least = float(np.finfo(H.dtype).eps) ** _LEAST_LEFT
        with one_thread:
            return self.remove(H, Y, least) and linalg.signed_is_safe(self.R)

    def condition(self) -> float:
        """The condition number of R."""
        known = self.known_condition
        if known is None:
            with one_thread:
                self.known_condition = known = linalg.condition(self.R)
        return known

    def with_outputs(self, n_outputs: int, old: Array) -> Self:
        other = super().with_outputs(n_outputs, old)
        kept = []
        for H, Y, weight in self.kept:
            wider = np.zeros((len(Y), n_outputs), Y.dtype)
            wider[:, old] = Y
            kept.append((H, wider, weight))
        other.kept = tuple(kept)
        return other


class SlidingOpium(RootSolver):
    """OPIUM over the last rows: after every row the exact ridge solution of these alone.

    ``W = (H'H + epsilon²·I)⁻¹ H'Y`` for the last `window` rows. New rows are added to a triangular
    root and old ones removed from it; once per window it is made afresh from the rows, so that
    rounding errors do not add up.

    Parameters
    ----------
    window : int, default=1000
        How many rows count.
    epsilon : float, default=1e-3
        The paper's ε, eq. (23).

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,) for 1-d targets
    theta_ : ndarray of shape (n_hidden, n_hidden)
    psi_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,)
    loss_ : ndarray of shape (n_outputs,), or float
    n_samples_seen_ : int
        All rows, also those that do not count any more.
    n_features_in_ : int

    Notes
    -----
    About 6M² + (4/3)M³/128 operations a row. Memory is the window, ``window`` x M numbers, and two
    M x M matrices. Where epsilon is so small that it drowns in the rounding of the activations, the
    root is made afresh every time.

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

    def __init__(self, window: int = 1000, epsilon: float = 1e-3) -> None:
        self.window = window
        self.epsilon = epsilon

    def _check_parameters(self) -> None:
        check_number("window", self.window, low=1, whole=True)
        check_number("epsilon", self.epsilon, low=0)

    def _start(self, n_hidden: int, n_outputs: int, dtype: Any) -> WindowRoot:
        check_squares("epsilon", self.epsilon, dtype)
        return WindowRoot(n_hidden, n_outputs, float(self.epsilon), dtype)

    def _absorb(self, state: WindowRoot, rows: Rows, seen: int) -> WindowRoot:
        new = _chunk(rows.part(max(0, rows.n - self.window), rows.n))
        gone, kept = _split((*state.kept, new), self.window)
        state = state.copy()
        state.kept, state.removed = kept, state.removed + len(gone[0])
        if len(new[0]) == self.window or state.removed > self.window:
            return self._afresh(state)
        state.absorb(lambda: iter([new[:2]]), len(new[0]))
        if len(gone[0]) and not (state.basis is None and state.remove_safely(*gone[:2])):
            return self._afresh(state)
        state.tally(np.concatenate([new[2], -gone[2]]))
        return state

    def _afresh(self, old: WindowRoot) -> WindowRoot:
        state = self._start(self.n_features_in_, self._n_outputs, self._dtype)
        state.absorb(lambda: ((H, Y) for H, Y, _ in old.kept), sum(len(c[0]) for c in old.kept))
        for _, _, weight in old.kept:
            state.tally(weight)
        state.kept = old.kept
        return state

    def _innovate(
        self, state: WindowRoot, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[WindowRoot, Array]:
        rows = Rows.of(H, Y, weight)
        if state.basis is None and weight.all():
            new = _chunk(rows)
            gone, _ = _split((*state.kept, new), self.window)
            changes = _interleaved(new, gone)
            with one_thread:
                errors = linalg.signed_innovations(
                    state.R, state.weights(), *changes, state.condition()
                )
            if errors is not None:
                root = np.sqrt(weight)[:, None]
                return self._absorb(state, rows, seen), errors[changes[2] > 0] / root
        errors = np.empty_like(Y)
        for i in range(rows.n):
            errors[i] = Y[i] - linalg.matmul(H[i : i + 1], state.weights())[0]
            state = self._absorb(state, rows.part(i, i + 1), seen + i)
        return state, errors

    def _weights_after(self, held: Held) -> Array | None:
        state, waiting = held
        if state.basis is not None or waiting.n > self.window or waiting.n > _MOST_WAITING:
            return None
        known = state.after
        if known is None or known[0] is not waiting:
            new = _chunk(waiting.rows())
            gone, _ = _split((*state.kept, new), self.window)
            changes = _interleaved(new, gone)
            with one_thread:
                after = linalg.signed_weights_after(
                    state.R, state.weights(), *changes, state.condition()
                )
            state.after = known = (waiting, after)
        return known[1]

    def _look_ahead(self, held: Held) -> None:
        return None  # rows also go

    def _predict_one(self, h: Array) -> Any:
        return OnlineSolver._predict_one(self, h)

    def _growth(self, weight: Array) -> None:
        return None  # rows also go

    def _record_length(self, seen: int) -> int:
        return min(super()._record_length(seen), self.window)


def _chunk(rows: Rows) -> Chunk:
    """Rows as arrays of their own, multiplied by the roots of their weights."""
    H, Y, weight = rows.keep()
    if weight is None:
        return H, Y, np.ones(len(H), H.dtype)
    root = np.sqrt(weight)[:, None].astype(H.dtype, copy=False)
    return root * H, root * Y, weight


def _split(chunks: tuple[Chunk, ...], window: int) -> tuple[Chunk, tuple[Chunk, ...]]:
    """The rows that have left the window, and the chunks that are left."""
    extra = sum(len(chunk[0]) for chunk in chunks) - window
    gone = [_rows(chunks[0], 0, 0)]
    kept = list(chunks)
    while extra > 0:
        chunk = kept[0]
        gone.append(_rows(chunk, 0, extra))
        kept[:1] = [_rows(chunk, extra, None)] if len(chunk[0]) > extra else []
        extra -= len(chunk[0])
    H, Y, weight = (np.concatenate([chunk[i] for chunk in gone]) for i in range(3))
    return (H, Y, weight), tuple(kept)


def _rows(chunk: Chunk, start: int, stop: int | None) -> Chunk:
    H, Y, weight = chunk
    return H[start:stop], Y[start:stop], weight[start:stop]


def _interleaved(new: Chunk, gone: Chunk) -> tuple[Array, Array, Array]:
    """Rows in the order in which they come and go, their targets, and 1 or -1 for each.

    The last of the new rows each push one out; before that, the window was not full.
    """
    first = len(new[0]) - len(gone[0])
    place = np.concatenate([np.arange(len(new[0])), first + np.arange(len(gone[0])) + 0.5])
    order = np.argsort(place)
    signs = np.concatenate([np.ones(len(new[0])), -np.ones(len(gone[0]))])[order]
    H, Y = (np.concatenate([new[i], gone[i]])[order] for i in range(2))
    return H, Y, signs.astype(H.dtype)
