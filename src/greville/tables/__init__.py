"""Models of tables: columns of any kind, in files of any common format."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._outliers import far_values as far_values
    from ._sample import sampled as sampled
    from ._settings import FIRST_ROWS as FIRST_ROWS
    from ._settings import solver_names as solver_names
    from ._settings import stream_settings as stream_settings
    from .answering import Answering as Answering
    from .batch import Batch as Batch
    from .batch import RowErrors as RowErrors
    from .batch import TableError as TableError
    from .batch import batches_of as batches_of
    from .batch import check_column_names as check_column_names
    from .batch import in_chunks as in_chunks
    from .decisions import Hints as Hints
    from .doubts import totals_row as totals_row
    from .estimators import TableClassifier as TableClassifier
    from .estimators import TableRegressor as TableRegressor
    from .evaluation import ClassificationScore as ClassificationScore
    from .evaluation import Holdout as Holdout
    from .evaluation import RegressionScore as RegressionScore
    from .evaluation import TrainingScore as TrainingScore
    from .evaluation import add_scores as add_scores
    from .evaluation import empty_score as empty_score
    from .evaluation import score_rows as score_rows
    from .evaluation import were_learned as were_learned
    from .findings import Finding as Finding
    from .findings import grouped as grouped
    from .insights import encoded as encoded
    from .model import TableModel as TableModel
    from .overview import Overview as Overview
    from .overview import look_at as look_at
    from .overview import model_bytes as model_bytes
    from .overview import model_summary as model_summary
    from .predictions import Answers as Answers
    from .predictions import UnlearnedValues as UnlearnedValues
    from .predictions import with_predictions as with_predictions
    from .readers.folders import find_sources as find_sources
    from .readers.reading import read as read
    from .readers.reading import split as split
    from .readers.source import Reading as Reading
    from .readers.source import Stopped as Stopped
    from .schema import decision_of as decision_of
    from .schema import numbers as numbers
    from .stream import Stream as Stream
    from .writers import written as written

# What is used is imported: the command lists the formats without waiting for Arrow.
_EXPORTS = {
    "_outliers": ("far_values",),
    "_sample": ("sampled",),
    "_settings": ("FIRST_ROWS", "solver_names", "stream_settings"),
    "answering": ("Answering",),
    "batch": (
        *("Batch", "TableError", "RowErrors"),
        *("batches_of", "check_column_names", "in_chunks"),
    ),
    "decisions": ("Hints",),
    "doubts": ("totals_row",),
    "evaluation": (
        *("ClassificationScore", "Holdout", "RegressionScore", "TrainingScore"),
        *("add_scores", "empty_score", "score_rows", "were_learned"),
    ),
    "estimators": ("TableClassifier", "TableRegressor"),
    "findings": ("Finding", "grouped"),
    "insights": ("encoded",),
    "model": ("TableModel",),
    "predictions": ("Answers", "UnlearnedValues", "with_predictions"),
    "readers.folders": ("find_sources",),
    "readers.reading": ("read", "split"),
    "readers.source": ("Reading", "Stopped"),
    "overview": ("Overview", "look_at", "model_bytes", "model_summary"),
    "schema": ("decision_of", "numbers"),
    "stream": ("Stream",),
    "writers": ("written",),
}
_MODULES = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = sorted(_MODULES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value
