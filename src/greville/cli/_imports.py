"""Imports that the command does without.

Packages import more than is used of them here, most of the time of a short command: scikit-learn
imports SciPy's statistics, and it and pyarrow import pandas where that is installed; SciPy takes
all of NumPy's names, and with them what generates code for Fortran and what tests need. The
command reads files, never data frames, and calls none of it. It is still there for who asks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_OF_SKLEARN = ("pandas", "scipy.stats")
_OF_NUMPY = ("f2py", "testing")


class _Placeholder(ModuleType):
    """A module that is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def _placeholders() -> Iterator[None]:
    """Placeholders for what is installed and not imported yet.

    They are taken away again: packages look whether pandas is among the imported modules to find
    out whether something may be a data frame.
    """
    missing = [name for name in _OF_SKLEARN if name not in sys.modules]
    for name in missing:
        spec = find_spec(name)
        if spec is not None:
            sys.modules[name] = placeholder = _Placeholder(name)
            placeholder.__spec__ = spec
    try:
        yield
    finally:
        for name in missing:
            if isinstance(sys.modules.get(name), _Placeholder):
                del sys.modules[name]


def _import_numpy(numpy: ModuleType, execute: Any) -> None:
    execute(numpy)
    for name in _OF_NUMPY:
        if name not in vars(numpy):
            setattr(numpy, name, _Placeholder(f"numpy.{name}"))


def _import_sklearn(sklearn: ModuleType, execute: Any) -> None:
    with _placeholders():
        execute(sklearn)


class _Hiding:
    """A finder for which pandas is not installed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _import_pyarrow(pyarrow: ModuleType, execute: Any) -> None:
    """Have pyarrow look for pandas while it is not found: for arrays, it looks once."""
    execute(pyarrow)
    if "pandas" not in sys.modules:
        hiding = _Hiding()
        sys.meta_path.insert(0, hiding)
        try:
            pyarrow.array([])
        finally:
            sys.meta_path.remove(hiding)


class _Finder:
    """Finds packages as they are, and imports them without what is not used."""

    def __init__(self) -> None:
        self._imports = {
            "numpy": _import_numpy,
            "sklearn": _import_sklearn,
            "pyarrow": _import_pyarrow,
        }

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        imported = self._imports.pop(name, None)
        spec = None if imported is None else find_spec(name)
        if imported is None or spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module
        spec.loader.exec_module = lambda module: imported(module, execute)  # type: ignore[method-assign]
        return spec


def lighten() -> None:
    """From now on, import packages without what the command does not use of them."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
