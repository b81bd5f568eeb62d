"""A hidden layer and a solver behind scikit-learn's API."""

from .classifier import ELMClassifier
from .fitted import FittedELM
from .regressor import ELMRegressor
from .sizing import hidden_size
from .warmup import Warmup

__all__ = ["ELMClassifier", "ELMRegressor", "FittedELM", "Warmup", "hidden_size"]
