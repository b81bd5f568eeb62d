"""The pseudoinverse by singular value decomposition: the reference for the others."""

from __future__ import annotations

from dataclasses import dataclass

from .. import linalg
from ..backend import Array
from ..fields import number
from ..validation import check_number
from ._mean import Chunk
from ._solver import Solver
from ._stored import stored_solver
from .protocol import Algorithm, Rows, Shape


@dataclass(frozen=True)
class BatchAlgorithm(Algorithm):
    """Least squares by SVD, whose state is W."""

    epsilon: float

    def start(self, shape: Shape) -> Array:
        return shape.backend.zeros((shape.n_hidden, shape.n_outputs), shape.dtype)

    def learn(self, shape: Shape, state: Array, rows: Rows, seen: int) -> Array:
        [(H, Y)] = Chunk(shape.backend, rows, rows.n, None)()
        return linalg.ridge_by_svd(shape.backend, H, Y, self.epsilon)  # eq. (4)

    def weights(self, state: Array) -> Array:
        return state


@stored_solver({"epsilon": number})
class Batch(Solver):
    """The pseudoinverse solution by SVD, eq. (4): ``W = pinv(H) @ Y``.

    With epsilon it is the pseudoinverse solution of [epsilon·I; H], ridge regression with penalty
    epsilon². It needs all rows at once and keeps none, so there is no `partial_fit`. Singular
    values below max(n, M)·eps times the largest count as zero.

    It is the paper's algorithm with the paper's defaults (no intercept, no ε); for a linear model
    of a table use `LinearRegressor`.

    Parameters
    ----------
    epsilon : float, default=0.0
        The paper's ε, eq. (23).
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
    O(n·M·min(n, M)) operations and O(n·M) memory. A sample
    weight multiplies the squared error of its row: it is the precision of that row.

    Examples
    --------
    >>> from greville import Batch
    >>> Batch().fit([[1.0, 0.0], [0.0, 2.0]], [3.0, 4.0]).coef_
    array([3., 2.])
    """

    def __init__(self, epsilon: float = 0.0, *, device: str | None = None) -> None:
        self.epsilon = epsilon
        self.device = device

    def algorithm(self) -> BatchAlgorithm:
        check_number("epsilon", self.epsilon, low=0)
        return BatchAlgorithm(float(self.epsilon))
