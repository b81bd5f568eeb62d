"""A hidden layer and a solver behind scikit-learn's API."""

from .capabilities import regularises
from .classifier import ELMClassifier
from .fitted import FittedELM
from .regressor import ELMRegressor
from .sizing import hidden_size, stream_size
from .warmup import Warmup

__all__ = [
    "ELMClassifier",
    "ELMRegressor",
    "FittedELM",
    "Warmup",
    "hidden_size",
    "regularises",
    "stream_size",
]
