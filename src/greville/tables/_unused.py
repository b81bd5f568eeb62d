"""Columns without information about other rows: an index, ids, and constants."""

from __future__ import annotations

import re

import numpy as np
import pyarrow.compute as pc

from ._plain import VECTOR
from ._values import Floats, Values
from .findings import Finding
from .writing import Written, spaced

# Rows from which a column is judged, and the share of different values from which all differ.
_LEAST_ROWS, _SHARE_OF_UNIQUE = 50, 0.9
_LEAST_ROWS_OF_INDEX = 3

_PANDAS = re.compile(r"__index_level_\d+__")
_UNNAMED = re.compile(r"(Unnamed: \d+(_level_\d+)?)?")

# The last word of a name, or all of it, for which whole numbers are ids.
_ID_WORDS = {"id", "ids", "uuid", "guid", "pk", "rowid", "nr", "no", "serial"}
_ID_NAMES = {"index", "idx", "key", "row", "rownum", "row number", "rownumber", "#"}


def is_index(name: str, values: Values) -> bool:
    """Whether a data frame has left its row numbers in a column."""
    if not (_PANDAS.fullmatch(name) or _UNNAMED.fullmatch(name)) or values.kind != "number":
        return False
    numbers = _known(values.numbers[0])
    if len(numbers) < _LEAST_ROWS_OF_INDEX or (numbers != np.round(numbers)).any():
        return False
    return bool(
        _PANDAS.fullmatch(name)
        or len(np.unique(numbers)) == len(numbers)
        or (np.diff(numbers) == 1).mean() > _SHARE_OF_UNIQUE
    )


def why_unused(name: str, values: Values, written: Written) -> tuple[str, str] | None:
    """The kind of finding and the reason to leave out a column; None for the others."""
    n = len(values)
    if n < _LEAST_ROWS or values.plain.type == VECTOR:
        return None
    if written.kind in ("number", "flag", "time") and _is_constant(values):
        return "constant", f"it is {values.text[0].as_py()} in every row"
    if written.kind in ("text", "code"):
        known = n - values.plain.null_count
        distinct = pc.count_distinct(values.plain).as_py()
        if known >= _LEAST_ROWS and distinct > _SHARE_OF_UNIQUE * known:
            return "unique text", "text with a different value in nearly every row"
    if written.kind == "number":
        numbers = _known(values.numbers_as(written.numerals)[0])
        if _all_differ(numbers) and _is_named_id(name, numbers):
            return "id", "it is an id, a different whole number in nearly every row"
    return None


def doubts(name: str, values: Values, written: Written) -> Finding | None:
    """What may say nothing about other rows, and is used."""
    if len(values) < _LEAST_ROWS:
        return None
    if written.kind in ("text", "code") and _is_constant(values):
        value = repr(values.text[0].as_py()[:60])
        message = f"{name!r} has no information so far: it is {value} in every row."
        return Finding("constant", message, name)
    if written.kind != "number":
        return None
    numbers = _known(values.numbers_as(written.numerals)[0])
    if not _all_differ(numbers):
        return None
    if (np.diff(numbers) == 1).mean() > 0.99:
        return Finding(
            "row numbers",
            f"{name!r} counts the rows and is used as a number; if it is not a measurement, pass "
            f"--ignore {name}.",
            name,
            warning=True,
        )
    if numbers.min() >= 1e4 and np.floor(np.log10(numbers.min() * 10)) > np.log10(numbers.max()):
        return Finding(
            "id",
            f"{name!r} is used as a number; if its values (all different, and of equal length) "
            f"are ids, pass --ignore {name}.",
            name,
        )
    return None


def _is_constant(values: Values) -> bool:
    return values.plain.null_count == 0 and pc.count_distinct(values.plain).as_py() == 1


def _known(numbers: Floats) -> Floats:
    return numbers[~np.isnan(numbers)]


def _all_differ(numbers: Floats) -> bool:
    """Whether they are whole, and different in nearly every row."""
    n = len(numbers)
    if n < _LEAST_ROWS or (numbers != np.round(numbers)).any():
        return False
    return len(np.unique(numbers)) > _SHARE_OF_UNIQUE * n


def _is_named_id(name: str, numbers: Floats) -> bool:
    words = re.split(r"[^a-z#]+", spaced(name))
    if words[-1] in _ID_WORDS or spaced(name).strip() in _ID_NAMES:
        return True
    consecutive = numbers.max() - numbers.min() < 1.1 * len(numbers)
    return consecutive and words[-1].endswith("id")
