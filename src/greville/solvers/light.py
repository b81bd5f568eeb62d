"""OPIUM light: θ is replaced by a multiple of the identity and never computed."""

from __future__ import annotations

from dataclasses import dataclass

from ..backend import Array
from ..fields import number
from ..validation import check_number
from ._in_place import Filling, Member
from ._mean import widened
from ._solver import OnlineSolver
from ._stored import stored_solver
from .protocol import Algorithm, Rows, Shape


@dataclass(frozen=True)
class LightAlgorithm(Algorithm):
    """OPIUM light, whose state is W."""

    gain: float

    def start(self, shape: Shape) -> Array:
        return shape.backend.zeros((shape.n_hidden, shape.n_outputs), shape.dtype)

    def learn(self, shape: Shape, state: Array, rows: Rows, seen: int) -> Array:
        return self.record(shape, state, rows, seen)[0]

    def innovate(
        self, shape: Shape, state: Array, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Array, Array]:
        # Of e_k = y_k - a_k·W_0 - sum over j < k of (a_k·a_j) e_j / d_j, with d_j the denominator
        # of (27), all the e_k are the solution of one triangular system; then (28) for all rows.
        b, n = shape.backend, H.shape[0]
        S = b.add_gram(b.zeros((n, n), shape.dtype), H.T)
        squares = b.to_numpy(b.xp.linalg.diagonal(S))
        per_d = b.asarray((weight / (1 / self.gain + weight * squares))[:, None], shape.dtype)
        errors = b.solve(S * per_d, Y - b.matmul(H, state), transposed=True, unit=True)
        return state + b.matmul(H.T, per_d * errors), errors

    def filling(self, shape: Shape, state: Array, seen: int) -> Filling:
        return Filling((Member(self, lambda learned: learned.W, W=state, gain=self.gain),))

    def with_outputs(self, shape: Shape, state: Array, n_outputs: int, old: Array) -> Array:
        return widened(shape.backend, state, n_outputs, old)

    def with_units(self, shape: Shape, state: Array, n_hidden: int, old: Array) -> Array:
        return widened(shape.backend, state.T, n_hidden, old).T

    def weights(self, state: Array) -> Array:
        return state


@stored_solver({"gain": number})
class OpiumLight(OnlineSolver):
    """OPIUM light, eqs. (27)-(28): θ = gain·I. Not exact, and very fast.

    ``W += a'(y - aW) / (1/gain + a·a)`` for each row in turn, known elsewhere as normalised least
    mean squares. Unlike with the other solvers the order of the rows matters.

    It is the paper's algorithm with the paper's defaults (no intercept, gain = 1); for a linear
    model of a table use `LinearRegressor`.

    Parameters
    ----------
    gain : float, default=1.0
        The paper's g.
    device : str, optional
        Where to learn NumPy arrays: "cuda", another device of torch, or "auto" for a GPU if the
        model is large enough; see docs/devices.md. Default: where the rows are.

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

    def __init__(self, gain: float = 1.0, *, device: str | None = None) -> None:
        self.gain = gain
        self.device = device

    def algorithm(self) -> LightAlgorithm:
        check_number("gain", self.gain, low=0, high=1e15, include_low=False)
        return LightAlgorithm(float(self.gain))
