"""What a model has learned: which inputs matter, how, and why a prediction is what it is."""

from .effect import Effect, effect_of, grid_of
from .importance import Importance, importance_of
from .why import Why, influence_of, why_of

__all__ = [
    "Effect",
    "Importance",
    "Why",
    "effect_of",
    "grid_of",
    "importance_of",
    "influence_of",
    "why_of",
]
