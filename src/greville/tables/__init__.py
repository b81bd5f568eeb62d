"""Models of tables: columns of any kind, in files of any common format."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._learner import Answers
    from ._settings import SOLVERS
    from .batch import Batch, TableError, Troubles, check_column_names, in_chunks
    from .metrics import ClassificationScore, RegressionScore
    from .model import TableModel
    from .readers.reading import Stopped, find_sources, read
    from .readers.registry import TableFormat, register
    from .readers.source import Content, Reading, ReadRequest
    from .schema import numbers
    from .stream import Stream
    from .writers import written

# What is used is imported: the command lists the formats without waiting for Arrow.
_MODULES = {
    "Answers": "_learner",
    "Batch": "batch",
    "ClassificationScore": "metrics",
    "Content": "readers.source",
    "ReadRequest": "readers.source",
    "Reading": "readers.source",
    "RegressionScore": "metrics",
    "SOLVERS": "_settings",
    "Stopped": "readers.reading",
    "Stream": "stream",
    "TableError": "batch",
    "TableFormat": "readers.registry",
    "TableModel": "model",
    "Troubles": "batch",
    "check_column_names": "batch",
    "find_sources": "readers.reading",
    "in_chunks": "batch",
    "numbers": "schema",
    "read": "readers.reading",
    "register": "readers.registry",
    "written": "writers",
}

__all__ = [
    "SOLVERS",
    "Answers",
    "Batch",
    "ClassificationScore",
    "Content",
    "ReadRequest",
    "Reading",
    "RegressionScore",
    "Stopped",
    "Stream",
    "TableError",
    "TableFormat",
    "TableModel",
    "Troubles",
    "check_column_names",
    "find_sources",
    "in_chunks",
    "numbers",
    "read",
    "register",
    "written",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value
