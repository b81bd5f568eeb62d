"""The type and the notation of a column, decided from all of its values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import dates
from ._outliers import find_far, find_gaps
from ._plain import LARGEST, NUMBER, TEXT
from ._values import GAPS, Values
from .date_columns import SECONDS_IN_USE, as_dates, find_dates, no_dates, reads_dates
from .numerals import (
    PLAIN,
    Found,
    Numerals,
    find_numerals,
    normal,
    several_units,
)
from .writing import Asked, Written, examples, listed_values, shown_value, spaced

# Up to this share of odd values, a column of text is named as one of numbers, or of dates, that it
# nearly is.
_SHARE_OF_ODD = 0.3

# Values from which dates without marks, and codes, are recognised.
_LEAST_VALUES = 5

# Names of columns in which such large numbers are seconds.
_NAME_OF_TIME = re.compile(
    r"(time|stamp)s?($|[^a-z])|(^|[^a-z])(date|epoch|unix|ts|at|when|created|updated)($|[^a-z])"
)
LEADING_ZEROS = r"^0[0-9]+$"
_ADVICE_ON_POINTS = (
    "for a point between thousands pass --thousands . and for a decimal point pass --decimal ."
)
_THOUSANDS_OR_THREE_DECIMALS = r"^[-+]?(?:0|[1-9][0-9]{0,2}(?:\.[0-9]{3})*)$"


def recognise(
    name: str, values: Values, asked: Asked | None = None, usual: str | None = None
) -> Written:
    """What a column is, from its first rows.

    `usual` is the decimal mark of the table's other columns, which settles what is ambiguous.
    """
    asked = asked or Asked()
    written = Written(values.kind)
    if asked.date_format is not None and reads_dates(values, asked.date_format):
        written = as_dates(name, values, asked.date_format)
    elif written.kind == "number":
        written = _of_numbers(name, values, asked, usual)
    elif written.kind == "text":
        written = _of_text(name, values, asked, usual)
    if written.kind in ("number", "time", "flag"):
        written = _with_gaps(name, values, written)
    return _with_far_dates(name, values, written) if written.kind == "time" else written


# Numbers


def _of_numbers(name: str, values: Values, asked: Asked, usual: str | None) -> Written:
    """What is a number as programs write it, and may be something else."""
    if values.plain.type == TEXT:
        text = values.trimmed
        codes = pc.sum(pc.match_substring_regex(text, LEADING_ZEROS)).as_py() or 0
        if codes >= 2 and codes >= 0.01 * (len(text) - text.null_count):
            return Written("code").saying(
                "code",
                f"{name!r} is a code, not a number: it has leading zeros, such as "
                f"{examples(values, LEADING_ZEROS)}.",
                name,
            )
        if "," in (asked.decimal, usual) or asked.thousands:
            found = _with_other_marks(name, values, asked)
            if found is not None:
                return found
        if not (asked.decimal or asked.thousands) and _may_have_thousands(values):
            return Written("number", ambiguous=True).saying(
                "ambiguous numbers",
                f"{name!r} can be read in two ways, and is read with a decimal point: "
                f"{_read(values, PLAIN, '.')}; {_ADVICE_ON_POINTS}",
                name,
                warning=True,
            )
    numbers = values.numbers[0]
    numbers = numbers[~np.isnan(numbers)]
    whole = len(numbers) >= _LEAST_VALUES and bool((numbers == np.round(numbers)).all())
    dated = whole and numbers.min() >= 19000101 and numbers.max() <= 21001231
    if dated and reads_dates(values, "%Y%m%d", exactly=True):
        return as_dates(name, values, "%Y%m%d")
    if whole:
        for unit, factor in ((dates.SECONDS, 1), (dates.MILLISECONDS, 1000)):
            low, high = (factor * end for end in SECONDS_IN_USE)
            if low <= numbers.min() and numbers.max() <= high and numbers.min() < numbers.max():
                if _NAME_OF_TIME.search(spaced(name)):
                    return as_dates(name, values, unit)
                if (numbers >= 9 * low).all():
                    return Written("number").saying(
                        "epoch",
                        f"{name!r} is read as numbers; if they are {unit} since 1970, pass "
                        f"--date-format {unit}.",
                        name,
                    )
    return Written("number")


def _may_have_thousands(values: Values) -> bool:
    """Whether points are always before three digits, and numbers without one below 1000."""
    pointed = pc.any(pc.match_substring(values.trimmed, ".")).as_py()
    return bool(pointed) and _all_match(values, _THOUSANDS_OR_THREE_DECIMALS)


def _with_other_marks(name: str, values: Values, asked: Asked) -> Written | None:
    """Numbers such as 1.234 where points are between thousands; None if they cannot be."""
    thousands = asked.thousands or "."
    numerals = Numerals("." if thousands == "," else ",", thousands)
    pointed = pc.match_substring(values.trimmed, thousands)
    fits = values.numbers_as(numerals)[1].sum() <= values.slips and pc.any(pointed).as_py()
    if not fits or (
        asked.thousands is None and not _all_match(values, _THOUSANDS_OR_THREE_DECIMALS)
    ):
        return None
    why = "as was asked for" if asked.thousands or asked.decimal else "as in other columns"
    return Written("number", numerals).saying(
        "written numbers",
        f"{name!r} is read with {numerals.description()}, {why}: "
        f"{_read(values, numerals, thousands)}.",
        name,
        warning=not (asked.thousands or asked.decimal),
    )


def _of_text(name: str, values: Values, asked: Asked, usual: str | None) -> Written:
    """What is text for programs, and may be numbers or dates."""
    table = pc.value_counts(normal(values.trimmed.drop_null()))
    counts = dict(
        zip(table.field("values").to_pylist(), table.field("counts").to_pylist(), strict=True)
    )
    n = sum(counts.values())
    found = find_numerals(counts, _SHARE_OF_ODD * n, asked.decimal, asked.thousands)
    if found is None and (asked.decimal or asked.thousands):
        found = find_numerals(counts, _SHARE_OF_ODD * n, None, None)
    if found is not None and found.wrong <= values.slips:
        return _as_numbers(name, values, found, usual)
    written = find_dates(name, values, list(counts))
    if written is not None:
        return written
    if n >= _LEAST_VALUES:
        what, odd = "dates", no_dates(values, list(counts), asked.date_format, _SHARE_OF_ODD * n)
        if found is not None:
            unit, reads = found.numerals.unit, re.compile(found.numerals.pattern).match
            what = f"numbers with {unit!r}" if unit else "numbers"
            odd = {text: count for text, count in counts.items() if not reads(text)}
        if odd:
            return _with_odd_values(name, odd, n, what)
    units = several_units(counts)
    if units:
        named = listed_values([unit or "none" for unit in units])
        return Written("text").saying(
            "several units",
            f"{name!r} is text, since its numbers have several units, {named}; write them in one.",
            name,
            warning=True,
        )
    return Written("text")


def _with_odd_values(name: str, odd: Mapping[str, int], n: int, what: str) -> Written:
    """Text that would be numbers or dates without some odd values, which come so often."""
    common = sorted(odd, key=lambda text: (-odd[text], text))
    return Written("text").saying(
        "odd values",
        f"{name!r} is text, since {sum(odd.values()):,} of {n:,} values are no {what}, such as "
        f"{listed_values(common)}; pass --na with each of them that stands for a missing value.",
        name,
        warning=True,
    )


def _as_numbers(name: str, values: Values, found: Found, usual: str | None) -> Written:
    numerals, other = found.numerals, found.other
    if other is not None and usual == other.decimal:
        numerals, other = other, None
    wrong = values.numbers_as(numerals)[1].sum()
    if wrong > values.slips:
        return Written("text").saying(
            "large numbers",
            f"{name!r} is text, since {wrong:,} of its numbers are beyond {LARGEST:.0e}; divide "
            "them by a common factor.",
            name,
            warning=True,
        )
    mark = numerals.thousands or numerals.decimal
    written = Written("number", numerals, ambiguous=other is not None)
    if other is None:
        how = numerals.description()
        message = f"{name!r} is read as numbers with {how}: {_read(values, numerals, mark)}."
        return written.saying("written numbers", message, name) if how else written
    if numerals.thousands:
        how, advice = numerals.description(), f"for a decimal comma pass --decimal {mark}"
    else:
        how, advice = "a decimal point", _ADVICE_ON_POINTS
    return written.saying(
        "ambiguous numbers",
        f"{name!r} can be read in two ways, and is read with {how}: "
        f"{_read(values, numerals, mark)}; {advice}",
        name,
        warning=True,
    )


# Gaps


def _with_gaps(name: str, values: Values, written: Written) -> Written:
    """Words and numbers that stand for a missing value."""
    if values.plain.type == TEXT:
        text = pc.utf8_trim_whitespace(values.plain)
        found = text.filter(pc.fill_null(pc.is_in(text, value_set=pa.array(GAPS)), False))
        if len(found):
            written = written.saying(
                "gaps",
                f"{name!r}: {listed_values(sorted(found.unique().to_pylist()))} is taken for a "
                f"missing value, {len(found):,} times in {len(text):,} rows.",
                name,
            )
    if written.kind != "number":
        return written
    numbers = values.numbers_as(written.numerals)[0]
    gaps = find_gaps(numbers[~np.isnan(numbers)])
    if not gaps:
        return written
    count = int(np.isin(numbers, gaps).sum())
    written = replace(written, numerals=replace(written.numerals, gaps=gaps))
    shown = " and ".join(f"{gap:.15g}" for gap in gaps)
    return written.saying(
        "gaps",
        f"{name!r}: {shown} is far from all other numbers and comes {count:,} times; it is taken "
        "for a missing value.",
        name,
        warning=True,
    )


def _with_far_dates(name: str, values: Values, written: Written) -> Written:
    """Dates that may stand for a missing value, such as 9999-12-31; they are not changed."""
    if not dates.has_date(written.dates):
        return written
    days = values.days_as(written.dates)[0]
    for day in find_far(days[~np.isnan(days)]):
        places = np.flatnonzero(days == day)
        text = values.text[int(places[0])].as_py().strip()
        known = values.plain.type in (TEXT, NUMBER)
        advice = f"pass --na {shlex.quote(text)}" if known else "leave it out"
        written = written.saying(
            "far dates",
            f"{name!r}: {shown_value(text)} is far from all other dates and comes "
            f"{len(places):,} times; {advice} if it stands for a missing value.",
            name,
            warning=True,
        )
    return written


# Messages


def _all_match(values: Values, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(values.trimmed, pattern)).as_py())


def _read(values: Values, numerals: Numerals, mark: str) -> str:
    """An example of how a value is read."""
    numbers = values.numbers_as(numerals)[0]
    marked = pc.fill_null(pc.match_substring(normal(values.trimmed), mark), False)
    usable = marked.to_numpy(zero_copy_only=False) & ~np.isnan(numbers)
    places = np.flatnonzero(usable if usable.any() else ~np.isnan(numbers))
    place = int(places[0])
    return f"{shown_value(values.plain[place].as_py())} is {numbers[place]:.15g}"
