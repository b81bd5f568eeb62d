"""Columns and rows that are not used, and what may be wrong with those that are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow.compute as pc

from ._values import NUMBER, TEXT, Floats, UnknownType, Values, folded
from .batch import Batch
from .decisions import Decision, Evidence, Hints, decide, spaced
from .findings import Finding, listed_values
from .readers.header import total_in

# Rows from which a column is left out, and the share of different values from which all differ;
# rows of an index; different values of text from which a pattern of digits is said.
_LEAST_ROWS, _SHARE_OF_UNIQUE, _LEAST_ROWS_OF_INDEX, _LEAST_DIFFERENT = 50, 0.9, 3, 20

# Rows above a row of totals, how many of the numbers in it must be sums, and by how much one may be
# off, of itself, since it and what it adds up are rounded.
_LEAST_ROWS_ABOVE, _SHARE_OF_SUMS, _ROUNDING = 3, 0.5, 1e-3

_DIGITS_FIRST = r"^(?:[^\w]|_){0,3}[0-9]"

# The row numbers of pandas; the last word of a name, or all of it, for which whole numbers are ids.
_PANDAS, _UNNAMED = re.compile(r"__index_level_\d+__"), re.compile(r"(Unnamed: \d+(_level_\d+)?)?")
_ID_WORDS = {"id", "ids", "uuid", "guid", "pk", "rowid", "nr", "no", "serial"}
_ID_NAMES = {"index", "idx", "key", "row", "rownum", "row number", "rownumber", "#"}
_ID_NAMES |= {"rownames", "rowname", "row names", "row name", "rn", "lfd", "seqn"}


def left_out(column: Evidence, decision: Decision) -> tuple[str, str] | None:
    """The kind of finding and the reason to leave out a column; None for the others."""
    values, n, kind = column.values, len(column.values), decision.kind
    if kind == "empty":
        return "empty", "it has no values"
    if _is_index(column, decision):
        return "pandas index", "it is the row number of a data frame"
    if n < _LEAST_ROWS or kind in ("vector", "tags"):
        return None
    if kind in ("number", "flag", "time") and _is_constant(values):
        return "constant", f"it is {values.text[0].as_py()} in every row"
    if kind in ("text", "code"):
        n_present = n - values.plain.null_count
        distinct = pc.count_distinct(values.plain).as_py()
        if n_present >= _LEAST_ROWS and distinct > _SHARE_OF_UNIQUE * n_present:
            return "unique text", "text with a different value in nearly every row"
    if kind == "number":
        numbers = _present(values.numbers_as(decision.numerals)[0])
        if _all_differ(numbers) and _is_named_id(column.name, numbers):
            return "id", "it is an id, a different whole number in nearly every row"
    return None


def doubts(column: Evidence, decision: Decision, places: Any = None) -> list[Finding]:
    """Return findings of what may be wrong with a decided column; `places` are row numbers."""
    if decision.kind in ("text", "code"):
        return _doubts_of_text(column, decision)
    numbers, advice = column.values.numbers_as(decision.numerals)[0], ", pass {ignore}."
    present = ~np.isnan(numbers)
    if decision.kind != "number" or not _all_differ(numbers[present]):
        return []
    steps = np.diff(numbers[present])
    if places is not None:
        steps = steps - np.diff(places[present]) + 1
    ignore = [column.name]
    if (steps == 1).mean() > 0.99:
        text = " counts the rows and is used as a number; if it is not a measurement"
        return [column.finding("row numbers", text, advice, warning=True, ignore=ignore)]
    low, high = numbers[present].min(), numbers[present].max()
    if low >= 1e4 and np.floor(np.log10(low * 10)) > np.log10(high) and not decision.findings:
        text = " is used as a number; if its values (all different, and of equal length) are ids"
        return [column.finding("id", text, advice, ignore=ignore)]
    return []


def _doubts_of_text(column: Evidence, decision: Decision) -> list[Finding]:
    values, findings = column.values, []
    if len(values) >= _LEAST_ROWS and _is_constant(values):
        value = repr(values.text[0].as_py()[:60])
        text = f" has no information so far: it is {value} in every row."
        findings.append(column.finding("constant", text))
    asked = column.name in (*column.hints.text, *column.hints.categorical)
    if column.is_text and not asked and decision.kind == "text" and not decision.findings:
        findings += _digits_in_one_pattern(column)
    return findings + spellings(column)


def _digits_in_one_pattern(column: Evidence) -> list[Finding]:
    """Text that may be numbers or dates in a way that is not known."""
    begins_with_digit, texts = re.compile(_DIGITS_FIRST).match, column.texts
    shapes: dict[str, list[str]] = {}
    weights: Counter[str] = Counter()
    for text, n in zip(texts.distinct, texts.counts.tolist(), strict=True):
        if begins_with_digit(text):
            shape = re.sub("[^9.,:/'+-]", "", re.sub("[0-9]+", "9", text))
            shapes.setdefault(shape, []).append(text)
            weights[shape] += n
    shape = max(weights, key=weights.__getitem__, default="")
    if len(texts.distinct) < _LEAST_DIFFERENT or 2 * weights[shape] <= texts.n:
        return []
    text = (
        " is text, but most of its values are digits in one pattern, such as "
        f"{listed_values(shapes[shape][:3])}; if they are numbers or dates, write them in a "
        "usual way"
    )
    advice = ", and if they are names, pass {text}."
    return [column.finding("digits", text, advice, warning=True, text=[column.name])]


def spellings(column: Evidence) -> list[Finding]:
    """Values that differ in case and blanks only, which may be the same."""
    if not column.is_text or column.name in column.hints.fold:
        return []
    texts = column.values.text.drop_null().unique()
    alike: dict[str, list[str]] = {}
    for text, key in zip(texts.to_pylist(), folded(texts).to_pylist(), strict=True):
        alike.setdefault(key, []).append(text)
    if len(alike) == len(texts):
        return []
    shown = listed_values(max(alike.values(), key=len))
    text = (
        f" has values that differ in case and blanks only, such as {shown}: of "
        f"{len(texts):,} values {len(alike):,} differ otherwise"
    )
    advice = "; if they are the same, pass {fold}."
    return [column.finding("spellings", text, advice, warning=True, fold=[column.name])]


def unused_options(
    columns: Mapping[str, Values], decisions: Iterable[Decision], hints: Hints
) -> list[Finding]:
    """Return findings about the user's options that are true of no column."""
    decided = list(decisions)
    unused: list[tuple[str, Any]] = [
        ("na", [gap]) for gap in hints.na if not any(each.had(gap) for each in columns.values())
    ]
    used = {"decimal": {".", *(each.numerals.decimal for each in decided)}}
    used["thousands"] = {each.numerals.thousands for each in decided}
    used["date_format"] = {each.dates for each in decided}
    for key, values in used.items():
        if getattr(hints, key) not in (None, *values):
            unused.append((key, getattr(hints, key)))
    message = "No column of the first rows has what is said by "
    return [
        Finding("unused option", message, None, True, "{" + key + "}.", {key: value})
        for key, value in unused
    ]


def _is_index(column: Evidence, decision: Decision) -> bool:
    """Whether a data frame has left its row numbers in a column."""
    pandas = _PANDAS.fullmatch(column.name)
    if not (pandas or _UNNAMED.fullmatch(column.name)) or decision.kind != "number":
        return False
    numbers = _present(column.values.numbers[0])
    if len(numbers) < _LEAST_ROWS_OF_INDEX or (numbers != np.round(numbers)).any():
        return False
    unique = len(np.unique(numbers)) == len(numbers)
    return bool(pandas or unique or (np.diff(numbers) == 1).mean() > _SHARE_OF_UNIQUE)


def _is_constant(values: Values) -> bool:
    return values.plain.null_count == 0 and pc.count_distinct(values.plain).as_py() == 1


def _present(numbers: Floats) -> Floats:
    return numbers[~np.isnan(numbers)]


def _all_differ(numbers: Floats) -> bool:
    """Whether all numbers are whole, and nearly every row has a different one."""
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


# A last row of totals, as people write it below a table


def totals_row(batch: Batch, place: str = "") -> Finding | None:
    """A finding if the last row of a table has a label such as "Total" and the sums of columns.

    Parameters
    ----------
    batch : Batch
        All rows of a table.
    place : str
        How the last row is called, if not by the batch.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from greville.tables import Batch, totals_row
    >>> table = pa.record_batch({"city": ["Ulm", "Bonn", "Kiel", "Total"], "n": [5, 7, 9, 21]})
    >>> totals_row(Batch(table, "towns.csv", np.arange(1, 5), 1.0)).text
    "towns.csv, row 4, is left out: it is a row of totals ('Total', and 'n' is the sum 21)."
    """
    n = len(batch) - 1
    if n < _LEAST_ROWS_ABOVE:
        return None
    label = total_in(batch.table.slice(n).to_pylist()[0].values())
    if label is None:
        return None
    sums, others = [], 0
    for name in batch.table.schema.names:
        numbers = _numbers(batch, name)
        if (
            numbers is None
            or np.isnan(numbers[-1])
            or np.isfinite(numbers[:n]).sum() < _LEAST_ROWS_ABOVE
        ):
            continue
        total = float(np.nansum(numbers[:n]))
        if abs(total - numbers[-1]) <= _ROUNDING * max(abs(total), abs(numbers[-1])) and total:
            sums.append(f"{name!r} is the sum {numbers[-1]:.15g}")
        else:
            others += 1
    if not sums or len(sums) < _SHARE_OF_SUMS * (len(sums) + others):
        return None
    where = place or batch.where(n)
    text = f"{where}, is left out: it is a row of totals ({label!r}, and {sums[0]})."
    return Finding("total", text, warning=True)


def _numbers(batch: Batch, name: str) -> Floats | None:
    """Return a column as numbers; None if a value above the last one is no number."""
    try:
        values = batch.values(name)
    except UnknownType:
        return None
    if values.plain.type == NUMBER:
        return values.numbers[0]
    if values.plain.type != TEXT:
        return None
    decision = decide(Evidence(name, Values(values.plain.slice(0, len(batch) - 1))))
    if decision.kind != "number":
        return None
    return values.numbers_as(decision.numerals)[0]
