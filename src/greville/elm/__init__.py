"""A hidden layer, or none, and a solver behind scikit-learn's API."""

from ._stored import CLASS_WEIGHT
from .capabilities import regularises
from .classifier import ELMClassifier
from .estimator import set_direct_inputs
from .linear import LinearClassifier, LinearRegressor
from .regressor import ELMRegressor
from .sizing import hidden_size, stream_size
from .starting import depends_on_rows
from .time_series import TimeSeriesClassifier, TimeSeriesRegressor

__all__ = [
    "CLASS_WEIGHT",
    "ELMClassifier",
    "ELMRegressor",
    "LinearClassifier",
    "LinearRegressor",
    "TimeSeriesClassifier",
    "TimeSeriesRegressor",
    "depends_on_rows",
    "hidden_size",
    "regularises",
    "set_direct_inputs",
    "stream_size",
]
