"""Random hidden layers whose output weights are exact after every sample."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import augment, datasets
    from .elm import ELMClassifier, ELMRegressor
    from .layers import (
        ClassLayer,
        ContrastLayer,
        FourierLayer,
        RandomLayer,
        ReceptiveFieldLayer,
    )
    from .persistence import load, save
    from .solvers import Batch, DynamicOpium, Greville, Opium, OpiumLight, SlidingOpium

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "ClassLayer",
    "ContrastLayer",
    "DynamicOpium",
    "ELMClassifier",
    "ELMRegressor",
    "FourierLayer",
    "Greville",
    "Opium",
    "OpiumLight",
    "RandomLayer",
    "ReceptiveFieldLayer",
    "SlidingOpium",
    "augment",
    "datasets",
    "load",
    "save",
]

# What is used is imported: the command's help should not wait for SciPy and scikit-learn.
_PACKAGE_OF = {
    "ELMClassifier": "elm",
    "ELMRegressor": "elm",
    "load": "persistence",
    "save": "persistence",
    **dict.fromkeys(
        ("ClassLayer", "ContrastLayer", "FourierLayer", "RandomLayer", "ReceptiveFieldLayer"),
        "layers",
    ),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("augment", "datasets"):
        return import_module(f".{name}", __name__)
    value = getattr(import_module(f".{_PACKAGE_OF.get(name, 'solvers')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
