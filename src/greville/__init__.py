"""Random hidden layers whose output weights are exact after every sample."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

# What is used is imported: the command's help should not wait for SciPy and scikit-learn.
_ROOMS = {"ELMClassifier": "elm", "ELMRegressor": "elm", "RandomLayer": "layers"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "datasets":
        return import_module(".datasets", __name__)
    value = getattr(import_module(f".{_ROOMS.get(name, 'solvers')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
