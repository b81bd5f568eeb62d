"""Networks with one random, fixed layer that learn online and are exact after every row."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import augment, datasets, elm, forecasting, layers, monitor, persistence, solvers, tables
    from .elm import (
        ELMClassifier,
        ELMRegressor,
        LinearClassifier,
        LinearRegressor,
        TimeSeriesClassifier,
        TimeSeriesRegressor,
    )
    from .export import to_c as to_c
    from .export import to_js as to_js
    from .export import to_onnx as to_onnx
    from .layers import (
        ClassLayer,
        ContrastLayer,
        FourierLayer,
        LagLayer,
        MiniRocketLayer,
        PatchLayer,
        RandomLayer,
        ReceptiveFieldLayer,
        ReservoirLayer,
        StackedLayer,
        TableLayer,
        image_layer,
    )
    from .persistence import load, save
    from .solvers import Batch, DynamicOpium, Greville, Opium, OpiumLight, SlidingOpium, Sums
    from .tables import TableClassifier as TableClassifier
    from .tables import TableRegressor as TableRegressor

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
    "LagLayer",
    "LinearClassifier",
    "LinearRegressor",
    "MiniRocketLayer",
    "Opium",
    "OpiumLight",
    "PatchLayer",
    "RandomLayer",
    "ReceptiveFieldLayer",
    "ReservoirLayer",
    "SlidingOpium",
    "StackedLayer",
    "Sums",
    "TableLayer",
    "TimeSeriesClassifier",
    "TimeSeriesRegressor",
    "augment",
    "datasets",
    "elm",
    "forecasting",
    "image_layer",
    "layers",
    "load",
    "monitor",
    "persistence",
    "save",
    "solvers",
    "tables",
]

_MODULES = (
    *("augment", "datasets", "elm", "forecasting", "layers", "monitor", "persistence"),
    *("solvers", "tables"),
)

# They need an extra, greville[tables], and so are no part of ``from greville import *``.
_OF_TABLES = ("TableClassifier", "TableRegressor", "to_c", "to_js", "to_onnx")

# How the names of each package end; all others are solvers.
_ENDINGS = {
    "tables": _OF_TABLES[:2],
    "export": _OF_TABLES[2:],
    "elm": ("Regressor", "Classifier"),
    "layers": ("Layer", "_layer"),
    "persistence": ("load", "save"),
    "solvers": "",
}


if not TYPE_CHECKING:  # which reads the imports above, and refuses other names

    def __getattr__(name: str) -> Any:
        """Import what is used: the command's help should not wait for SciPy and scikit-learn."""
        if name in _MODULES:
            return import_module(f".{name}", __name__)
        if name not in __all__ and name not in _OF_TABLES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        package = next(package for package, ends in _ENDINGS.items() if name.endswith(ends))
        value = getattr(import_module(f".{package}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    special = [name for name in globals() if name.startswith("__")]
    return sorted({*special, *__all__, *_OF_TABLES})
