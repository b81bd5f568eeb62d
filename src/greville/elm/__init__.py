"""A hidden layer and a solver behind scikit-learn's API."""

from .classifier import ELMClassifier
from .regressor import ELMRegressor

__all__ = ["ELMClassifier", "ELMRegressor"]
