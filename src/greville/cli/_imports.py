"""Imports of large packages without what the command does not use of them."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

# For how long threads of OpenBLAS without work spin, as a power of two of ticks of the clock. By
# default it is 26, tens of milliseconds: a third of the CPU time of a short command.
_SPIN = "16"


class _Deferred(ModuleType):
    """A module that is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


class _WithoutPandas:
    """A finder for which pandas is not installed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def import_packages() -> None:
    """Import scikit-learn and pyarrow, without pandas and without SciPy's statistics.

    Both packages import pandas where it is installed, and scikit-learn imports `scipy.stats`. That
    is more than half of the time of a short command, which reads files and never data frames.
    """
    if {"sklearn", "pandas", "scipy.stats"} & sys.modules.keys():
        return
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", _SPIN)  # read when NumPy is imported
    finder, stats = _WithoutPandas(), _Deferred("scipy.stats")
    sys.meta_path.insert(0, finder)
    sys.modules[stats.__name__] = stats
    try:
        import_module("sklearn.base")
        import_module("pyarrow").array([])  # looks once whether there is a pandas
    except ModuleNotFoundError as missing:
        if missing.name != "pyarrow":  # a command that reads tables will say so
            raise
    finally:
        sys.meta_path.remove(finder)
        if sys.modules.get(stats.__name__) is stats:
            del sys.modules[stats.__name__]
