"""Random hidden layers whose output weights are exact after every sample."""

from . import datasets
from .elm import ELMClassifier, ELMRegressor
from .layers import RandomLayer
from .solvers import Batch, DynamicOpium, Greville, Opium, OpiumLight, SlidingOpium

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "DynamicOpium",
    "ELMClassifier",
    "ELMRegressor",
    "Greville",
    "Opium",
    "OpiumLight",
    "RandomLayer",
    "SlidingOpium",
    "datasets",
]
