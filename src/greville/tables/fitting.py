"""The types of a table's columns, decided from its first rows, and findings about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ._plain import TEXT
from ._unused import doubts, is_index, why_unused
from ._values import Values
from .column import Column
from .findings import Finding
from .kinds import KINDS, Ignored, Number, Text
from .numerals import usual_decimal
from .recognition import recognise
from .words import Words, is_free_text
from .writing import Asked, Written

# Text with as many different values, and in half of the rows, may be free text.
_LEAST_TEXTS = 50


def fit_columns(
    columns: Mapping[str, Values],
    categorical: Sequence[str] = (),
    features: Sequence[str] = (),
    asked: Asked | None = None,
) -> tuple[list[Column], list[Finding]]:
    """What each column is, and findings about them.

    Parameters
    ----------
    columns : mapping of str to Values
        The first rows.
    categorical : sequence of str
        Columns that are text, whatever they look like.
    features : sequence of str
        Columns that were asked for: of these, none is left out that has values.
    asked : Asked, optional
        What the user says about how values are written.
    """
    written = _recognised(columns, asked or Asked())
    fitted: list[Column] = []
    findings: list[Finding] = []
    kept: dict[int, Column] = {}  # what columns that are left out would have been
    for name, values in columns.items():
        found = written[name]
        if name in categorical and found.kind not in ("vector", "empty"):
            is_number = values.kind == "number"
            fitted.append(Text.fit(name, values, Written("number" if is_number else "text")))
            continue
        column, said = _fit_column(name, values, found)
        out = _left_out(name, values, found)
        if out is not None and name not in features and not isinstance(column, Words):
            kind, why = out
            kept[len(fitted)] = column
            column, said = Ignored(name, why), [finding for finding in said if finding.warning]
            what = repr(name) if name else "the column without a name"
            said.append(Finding(kind, f"{what} is left out: {why}.", name))
        elif column.inputs and not said:
            doubt = doubts(name, values, found)
            said += [] if doubt is None else [doubt]
        fitted.append(column)
        findings += said
    if not any(column.inputs for column in fitted):  # something must be learned from
        again = [i for i, column in kept.items() if not isinstance(column, Text)]
        fitted = [kept[i] if i in again else column for i, column in enumerate(fitted)]
        names = {fitted[i].name for i in again}
        findings = [finding for finding in findings if finding.column not in names]
    return fitted, findings


def _recognised(columns: Mapping[str, Values], asked: Asked) -> dict[str, Written]:
    """What columns are. What can be read in two ways is read as the other columns are."""
    written = {name: recognise(name, values, asked) for name, values in columns.items()}
    usual = usual_decimal(each.numerals for each in written.values() if not each.ambiguous)
    if usual is not None and asked.decimal is None:
        for name, each in written.items():
            if each.kind == "number" and (each.ambiguous or each.numerals.is_plain):
                written[name] = recognise(name, columns[name], asked, usual)
    elif any(_has_points(columns[name], each) for name, each in written.items()):
        for name, each in written.items():
            if each.kind == "number" and each.ambiguous and each.numerals.is_plain:
                written[name] = Written(each.kind)  # the point is that of the other columns
    return written


def _has_points(values: Values, written: Written) -> bool:
    """Whether a column shows that the decimal mark is a point."""
    if written.kind != "number" or written.ambiguous or not written.numerals.is_plain:
        return False
    if values.plain.type != TEXT:
        return False
    numbers = values.numbers[0]
    return bool((numbers[np.isfinite(numbers)] % 1 != 0).any())


def _fit_column(name: str, values: Values, written: Written) -> tuple[Column, list[Finding]]:
    said = list(written.findings)
    if written.kind == "empty":
        column: Column = Ignored.fit(name, values, written)
        return column, [Finding("empty", f"{name!r} is left out: it has no values.", name)]
    if written.kind == "text" and _is_free_text(values):
        words = Words.fit(name, values, written)
        message = f"{name!r} is free text: its words are hashed to {len(words.inputs)} inputs."
        return words, [*said, Finding("free text", message, name)]
    kind = Text if written.kind == "code" else KINDS[written.kind]
    column = kind.fit(name, values, written)
    if isinstance(column, Number) and column.limits:
        low, high = column.limits
        message = (
            f"{name!r} has a few numbers very far from the others; those below {low:.6g} or above "
            f"{high:.6g} are clipped, and marked by an input."
        )
        said.append(Finding("extremes", message, name, warning=True))
    return column, said


def _left_out(name: str, values: Values, written: Written) -> tuple[str, str] | None:
    if is_index(name, values):
        return "pandas index", "it is the row number of a data frame"
    return why_unused(name, values, written)


def _is_free_text(values: Values) -> bool:
    text = values.text.drop_null()
    distinct = len(text.unique())
    return distinct >= max(_LEAST_TEXTS, len(text) / 2) and is_free_text(values)
