"""What is to be predicted: numbers, or labels of one kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from ._batch import TableError
from ._columns import as_flags, as_numbers, as_text, kind_of

# Whole numbers are labels if there are no more different ones than this, and ten rows for each; or
# two, and three rows for each.
_MOST_LABELS = 20

# Characters of a label: every one of them takes as much memory as the longest.
LONGEST_LABEL = 1000

# Text that is different in more than half of so many rows is taken for a slip, not for labels.
_ENOUGH = 20

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
        few = distinct <= min(_MOST_LABELS, len(values) // 10)
        few = few or (distinct == 2 and len(values) >= 6)
        if task in (REGRESSION, "numbers") or (task == "auto" and not (whole and few)):
            return REGRESSION, "number"
        return CLASSIFICATION, "integer" if whole else "text"
    if task == REGRESSION:
        return REGRESSION, "number"
    if kind == "flag":
        return CLASSIFICATION, "flag"
    known = as_text(column).drop_null()
    if task == "auto" and len(known) >= _ENOUGH and len(known.unique()) > len(known) / 2:
        raise TableError(
            f"the target has {len(known.unique()):,} different values in {len(known):,} rows, such "
            f"as {known[0].as_py()!r}, which are no numbers; write numbers with a point, or pass "
            "--task classification."
        )
    return CLASSIFICATION, "text"


def targets(column: Any, kept: str) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_]]:
    """The targets of some rows, which of them are missing, and which are of the wrong kind."""
    if kept == "text":
        text = as_text(column)
        missing = text.is_null().to_numpy(zero_copy_only=False)
        long = pc.fill_null(pc.greater(pc.utf8_length(text), LONGEST_LABEL), False)
        wrong = long.to_numpy(zero_copy_only=False)
        filled = pc.fill_null(pc.if_else(long, "", text), "").to_pylist()
        return np.array(filled, dtype=str), missing, wrong
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
        kept, f"text of at most {LONGEST_LABEL:,} characters"
    )
