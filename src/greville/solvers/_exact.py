"""What the solvers on a triangular root share."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..linalg import Array, matmul, weights_after
from ..threads import one_thread
from ._base import OnlineSolver
from ._root import Root
from ._rows import Kept, Rows, block_length


class RootSolver(OnlineSolver):
    """A solver whose state is a `Root`; rows count in full and nothing is forgotten."""

    def _absorb(self, state: Any, rows: Rows, seen: int) -> Any:
        factor = None if rows.weight is None else np.sqrt(rows.weight)
        length = block_length(self.n_features_in_, self._dtype)
        state = state.copy()
        state.absorb(lambda: rows.blocks(length, factor), rows.n)
        return state

    def _innovate(
        self, state: Any, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Any, Array]:
        return self._innovated(state, H, Y, np.sqrt(weight))

    def _innovated(self, state: Any, H: Array, Y: Array, factor: Array) -> tuple[Any, Array]:
        """Learn rows multiplied by their factors; rows with a factor of zero are only predicted."""
        state, errors, stop = state.copy(), np.empty_like(Y), 0
        for counts, run in groupby(factor > 0):
            start, stop = stop, stop + len(list(run))
            h, y = H[start:stop], Y[start:stop]
            if counts:
                f = factor[start:stop, None].astype(H.dtype, copy=False)
                errors[start:stop] = state.innovations(f * h, f * y) / f
            else:
                errors[start:stop] = y - matmul(h, state.weights())
        return state, errors

    def _weights_after(self, state: Any, waiting: tuple[Kept, ...]) -> Array | None:
        if state.basis is not None:
            return None
        known = state.after
        if known is None or known[0] is not waiting:
            rows = Rows.joined(list(waiting))
            factor = self._factor(rows, self.n_samples_seen_ - rows.n)
            if factor is None:
                return None
            [(H, Y)] = rows.blocks(rows.n, factor)
            with one_thread:
                state.after = known = (waiting, weights_after(state.R, state.weights(), H, Y))
        return known[1]

    def _factor(self, rows: Rows, seen: int) -> Array | None:
        """What to multiply a few rows by so that the state as it is can take them, if it can."""
        return np.ones(rows.n) if rows.weight is None else np.sqrt(rows.weight)

    def _weights_of(self, state: Root) -> Array:
        return state.weights()

    def _with_outputs(self, state: Root, n_outputs: int, old: Array) -> Root:
        return state.with_outputs(n_outputs, old)

    def _root(self) -> Root:
        check_is_fitted(self)
        root: Root = self._flush()
        return root

    @property
    def theta_(self) -> Array:
        """The paper's θ, the (pseudo)inverse of H'H, of shape (n_hidden, n_hidden); eq. (11)."""
        return self._root().theta()

    @property
    def psi_(self) -> Array:
        """The paper's ψ, of shape (n_outputs, n_hidden) or (n_hidden,); eq. (26)."""
        psi = self._root().psi()
        return psi[0] if self._flat else psi

    @property
    def loss_(self) -> Array | float:
        """What the weights minimise, at its minimum: |Y - HW|² + |epsilon·W|², for each output."""
        loss = self._root().loss
        return float(loss[0]) if self._flat else loss.copy()
