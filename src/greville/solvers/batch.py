"""The pseudoinverse by singular value decomposition: the reference for the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from sklearn.utils.metaestimators import available_if

from .. import linalg
from ..fields import finite, number
from ..validation import check_number
from ._derived import replace
from ._mean import Chunk
from ._rows import Rows
from ._solver import Capabilities, Solver
from ._state import WeightsState, stored_weights
from ._stored import stored_solver


@stored_weights
@dataclass(frozen=True, eq=False, kw_only=True)
class BatchState(WeightsState):
    """The weights that least squares by SVD has found."""

    epsilon: Annotated[float, finite]

    def in_words(self, n_seen: int) -> dict[str, str]:
        return {"epsilon": f"{self.epsilon:.4g}", "forgetting": "none: all rows count alike"}

    def added(self, rows: Rows) -> Self:
        [(H, Y)] = Chunk(self.backend, rows, rows.n, None)()
        return replace(self, W=linalg.ridge_by_svd(self.backend, H, Y, self.epsilon))  # eq. (4)


@stored_solver({"epsilon": number}, BatchState)
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

    capabilities: ClassVar[Capabilities] = Capabilities(online=False)
    state_class: Any = BatchState

    def __init__(self, epsilon: float = 0.0, *, device: str | None = None) -> None:
        self.epsilon = epsilon
        self.device = device

    learn_one: Any = available_if(lambda _: False)(Solver.learn_one)  # it is not there

    def settings(self) -> dict[str, Any]:
        check_number("epsilon", self.epsilon, low=0)
        return {"epsilon": float(self.epsilon)}
