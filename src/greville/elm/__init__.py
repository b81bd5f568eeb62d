"""A hidden layer and a solver behind scikit-learn's API."""

from ._merging import emptied
from .classifier import ELMClassifier
from .regressor import ELMRegressor
from .sizing import hidden_size
from .warmup import Warmup

__all__ = ["ELMClassifier", "ELMRegressor", "Warmup", "emptied", "hidden_size"]
