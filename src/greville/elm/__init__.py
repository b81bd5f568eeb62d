"""A hidden layer, or none, and a solver behind scikit-learn's API."""

from ._stored import CLASS_WEIGHT
from .capabilities import regularises
from .classifier import ELMClassifier
from .estimator import set_direct_inputs
from .linear import LinearClassifier, LinearRegressor
from .regressor import ELMRegressor
from .sizing import hidden_size, stream_size
from .starting import looks_at_rows
from .time_series import TimeSeriesClassifier, TimeSeriesRegressor

__all__ = [
    "CLASS_WEIGHT",
    "ELMClassifier",
    "ELMRegressor",
    "LinearClassifier",
    "LinearRegressor",
    "TimeSeriesClassifier",
    "TimeSeriesRegressor",
    "hidden_size",
    "looks_at_rows",
    "regularises",
    "set_direct_inputs",
    "stream_size",
]
