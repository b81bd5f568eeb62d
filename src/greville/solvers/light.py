"""OPIUM light: θ is taken for a multiple of the identity and never computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..linalg import DOT, Array, gram_of_rows, matmul, solve_unit_lower
from ..validation import check_number
from ._base import OnlineSolver
from ._rows import Rows, Waiting


class OpiumLight(OnlineSolver):
    """OPIUM light, eqs. (27)-(28): θ = gain·I. Not exact, and very fast.

    ``W += a'(y - aW) / (1/gain + a·a)`` for each row in turn, known elsewhere as normalised least
    mean squares. Unlike with the other solvers the order of the rows matters.

    Parameters
    ----------
    gain : float, default=1.0
        The paper's g.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,) for 1-d targets
    n_samples_seen_ : int
    n_features_in_ : int

    Notes
    -----
    O(M) operations and memory for each output, a row. A sample weight w multiplies the gain for
    its row, W += a'(y - aW) / (1/(gain·w) + a·a): the row scaled by sqrt(w). It is not the same as
    the row w times over.

    References
    ----------
    van Schaik & Tapson, "Online and Adaptive Pseudoinverse Solutions for ELM Weights".

    Examples
    --------
    >>> from greville import OpiumLight
    >>> OpiumLight(gain=1.0).partial_fit([[1.0, 0.0]], [2.0]).coef_
    array([1., 0.])
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def _check_parameters(self) -> None:
        check_number("gain", self.gain, low=0, high=1e15, include_low=False)

    def _start(self, n_hidden: int, n_outputs: int, dtype: Any) -> Array:
        return np.zeros((n_hidden, n_outputs), dtype)

    def _absorb(self, state: Array, rows: Rows, seen: int) -> Array:
        weight = np.ones(rows.n, self._dtype) if rows.weight is None else rows.weight
        for block in rows.slices(self._record_length(seen)):
            H, Y = rows.make(block.start, block.stop)
            state, _ = self._innovate(state, H, Y, weight[block], seen)
        return state

    def _innovate(
        self, state: Array, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Array, Array]:
        # Of e_k = y_k - a_k·W_0 - sum over j < k of (a_k·a_j) e_j / d_j, with d_j the denominator
        # of (27), all the e_k are the solution of one triangular system; then (28) for all rows.
        S = gram_of_rows(H)
        per_d = weight / (1 / self.gain + weight * S.diagonal())
        errors = solve_unit_lower(S * per_d, Y - matmul(H, state))
        return state + matmul(H.T, per_d[:, None] * errors), errors

    def _learn_one(self, h: Array, y: Any) -> None:
        held, seen = self._held, self.n_samples_seen_
        try:
            if type(self.gain) is not float or not 0 < self.gain < 1e15:
                self._check_parameters()  # somebody may have set others since
            W = self._flush() if held[1].n else held[0]
            dot = DOT[self._dtype]
            per_d = 1 / (1 / self.gain + dot(h, h))  # eq. (27)
            if W.shape[1] == 1:
                new = W + (per_d * (y - dot(h, W[:, 0])) * h)[:, None]  # eq. (28)
            else:
                new = W + np.multiply.outer(h, per_d * (y - h @ W))
            self._held = (new, Waiting())
            self.n_samples_seen_ = seen + 1
        except BaseException:
            self._held, self.n_samples_seen_ = held, seen
            raise

    def _predict_one(self, h: Array) -> Any:
        W, waiting = self._held
        if waiting.n or W.shape[1] > 1:
            return super()._predict_one(h)
        return DOT[self._dtype](h, W[:, 0])

    def _weights_of(self, state: Array) -> Array:
        return state

    def _with_outputs(self, state: Array, n_outputs: int, old: Array) -> Array:
        more = np.zeros((len(state), n_outputs), state.dtype)
        more[:, old] = state
        return more
