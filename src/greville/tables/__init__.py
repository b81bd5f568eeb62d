"""Models of tables: columns of any kind, in files of any common format."""

from __future__ import annotations

from ._batch import Batch, TableError, Troubles, in_chunks
from ._encoding import numbers
from ._json import LONGEST_LINE, TOO_LONG, parsed_line
from ._metrics import ClassificationScore, RegressionScore
from ._model import Answers, TableModel
from ._reading import Stopped, find_sources, read
from ._settings import SOLVERS
from ._source import Reading, check_column_names
from ._stream import Stream
from ._writing import written

__all__ = [
    "LONGEST_LINE",
    "SOLVERS",
    "TOO_LONG",
    "Answers",
    "Batch",
    "ClassificationScore",
    "Reading",
    "RegressionScore",
    "Stopped",
    "Stream",
    "TableError",
    "TableModel",
    "Troubles",
    "check_column_names",
    "find_sources",
    "in_chunks",
    "numbers",
    "parsed_line",
    "read",
    "written",
]
