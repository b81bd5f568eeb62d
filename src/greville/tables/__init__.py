"""Models of tables: columns of any kind, in files of any common format."""

from __future__ import annotations

from ._batch import Batch, TableError, Troubles, in_chunks
from ._encoding import numbers
from ._formats import Reading, from_rows
from ._metrics import ClassificationScore, RegressionScore
from ._model import SOLVERS, Answers, TableModel
from ._reading import find_sources, read
from ._stream import Stream
from ._writing import whole_file, written

__all__ = [
    "SOLVERS",
    "Answers",
    "Batch",
    "ClassificationScore",
    "Reading",
    "RegressionScore",
    "Stream",
    "TableError",
    "TableModel",
    "Troubles",
    "find_sources",
    "from_rows",
    "in_chunks",
    "numbers",
    "read",
    "whole_file",
    "written",
]
