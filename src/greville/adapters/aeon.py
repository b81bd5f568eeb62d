"""greville's models of time series as models of aeon: for its pipelines, checks and evaluation.

`greville.TimeSeriesClassifier` itself works in pipelines of scikit-learn and takes the same arrays;
these are for tools that ask for aeon's base classes.
"""

from __future__ import annotations

from typing import Any, ClassVar

try:
    from aeon.classification.base import BaseClassifier
    from aeon.regression.base import BaseRegressor
except ImportError as error:
    raise ImportError("greville.adapters.aeon needs aeon: pip install aeon.") from error

from ..backend import Array
from ..elm import TimeSeriesClassifier, TimeSeriesRegressor
from ..layers import MiniRocketLayer
from ..validation import Seed

__all__ = ["AeonClassifier", "AeonRegressor"]


class _Adapter:
    """The base of both models: the parameters, and a fitted model of greville."""

    _tags: ClassVar[Any] = {"capability:multivariate": True, "algorithm_type": "convolution"}
    _model: ClassVar[Any]

    def __init__(
        self, layer: Any = "minirocket", solver: Any = "opium", random_state: Seed = None
    ) -> None:
        self.layer = layer
        self.solver = solver
        self.random_state = random_state
        super().__init__()

    def _fit(self, X: Array, y: Array) -> Any:
        self.model_ = self._model(self.layer, self.solver, self.random_state).fit(X, y)
        return self

    def _predict(self, X: Array) -> Array:
        return self.model_.predict(X)

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:
        return {"layer": MiniRocketLayer(84)}


class AeonClassifier(_Adapter, BaseClassifier):
    """`greville.TimeSeriesClassifier` as a classifier of aeon.

    Parameters
    ----------
    layer, solver, random_state
        As in `greville.TimeSeriesClassifier`.

    Attributes
    ----------
    model_ : TimeSeriesClassifier
        The fitted model, which can go on learning.
    """

    _model = TimeSeriesClassifier

    def _predict_proba(self, X: Array) -> Array:
        return self.model_.predict_proba(X)


class AeonRegressor(_Adapter, BaseRegressor):
    """`greville.TimeSeriesRegressor` as a regressor of aeon.

    Parameters
    ----------
    layer, solver, random_state
        As in `greville.TimeSeriesRegressor`.

    Attributes
    ----------
    model_ : TimeSeriesRegressor
        The fitted model, which can go on learning.
    """

    _model = TimeSeriesRegressor
