"""What is to be predicted: numbers, or labels of one kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._columns import as_flags, as_numbers, as_text, kind_of

# Whole numbers are labels if there are no more different ones than this, and ten rows for each.
_MOST_LABELS = 20

REGRESSION, CLASSIFICATION = "regression", "classification"


def kind_of_target(column: Any, task: str) -> tuple[str, str]:
    """The task, and how targets are kept: number, text, integer or flag.

    The task "numbers" is "auto" where no number is a label: a stream's first rows tell too little.
    """
    kind = kind_of(column)
    if kind == "number":
        values, wrong = as_numbers(column)
        values = values[~wrong & ~np.isnan(values)]
        whole = bool((values == np.round(values)).all())
        distinct = len(np.unique(values)) if whole else len(values)
        few = distinct <= min(_MOST_LABELS, max(2, len(values) // 10))
        if task in (REGRESSION, "numbers") or (task == "auto" and not (whole and few)):
            return REGRESSION, "number"
        return CLASSIFICATION, "integer" if whole else "text"
    if task == REGRESSION:
        return REGRESSION, "number"
    return CLASSIFICATION, "flag" if kind == "flag" else "text"


def targets(column: Any, kept: str) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_]]:
    """The targets of some rows, which of them are missing, and which are of the wrong kind."""
    if kept == "text":
        text = as_text(column)
        missing = text.is_null().to_numpy(zero_copy_only=False)
        filled = [value if value is not None else "" for value in text.to_pylist()]
        return np.array(filled, dtype=str), missing, np.zeros(len(missing), bool)
    values, wrong = as_flags(column) if kept == "flag" else as_numbers(column)
    missing = np.isnan(values) & ~wrong
    filled_numbers = np.where(np.isnan(values), 0.0, values)
    if kept == "number":
        return filled_numbers, missing, wrong
    wrong = (
        wrong | (filled_numbers != np.round(filled_numbers)) | (np.abs(filled_numbers) > 2.0**53)
    )
    filled_numbers = np.where(wrong, 0.0, filled_numbers)
    return filled_numbers.astype(bool if kept == "flag" else np.int64), missing, wrong


def wanted(kept: str) -> str:
    """What a target should be, in a message."""
    return {"number": "a number", "integer": "a whole number", "flag": "true or false"}.get(
        kept, "text"
    )
