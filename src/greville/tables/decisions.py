"""What the columns of a table are: a table of rules, tried on the first rows of each column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import dates
from ._outliers import find_far, find_gaps
from ._values import FLAGS, GAPS, LARGEST, NUMBER, SEPARATORS, TEXT, Floats, Values
from .evidence import Decision, Evidence, Hints, spaced
from .findings import listed_values, shown_value
from .numerals import (
    FORMS,
    LIMIT,
    MARKS,
    Numerals,
    find_form,
    several_units,
    usual_decimal,
)

# Values from which dates without marks, and odd values, are told; different values of text from
# which several numbers in one value are read.
_LEAST_VALUES, _LEAST_DIFFERENT = 5, 20

# Text with so many different values may be sentences, of so many words, half of them common.
_LEAST_TEXTS, _LEAST_WORDS, _SHARE_OF_COMMON = 50, 4, 0.5

# Where two orders of day, month and year read all dates, one with so many times fewer years is it.
_TIMES_FEWER_YEARS = 4

# Seconds since 1970 from 1973 to 2100, and names of columns in which such large numbers are times.
_SECONDS_IN_USE = 1e8, 4.2e9
_NAME_OF_TIME = re.compile(
    r"(time|stamp)s?($|[^a-z])|(^|[^a-z])(date|epoch|unix|ts|at|when|created|updated)($|[^a-z])"
)
# Words for true or false, the later one by alphabet, in languages that have a decimal comma.
_YES_OF_COMMAS = {"nein", "nee", "oui", "si", "sí", "sim", "нет", "wahr", "vrai"}

LEADING_ZEROS = r"^0[0-9]+$"
_THOUSANDS_OR_THREE_DECIMALS = r"^[-+]?(?:0|[1-9][0-9]{0,2}(?:\.[0-9]{3})*)$"
_WORD, _LETTER = re.compile(r"\w+"), re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class Rule:
    """One kind of column: its name, examples of its values, and how it is recognised.

    Of all rules the one counts in which the fewest values are wrong, and of several the first.
    """

    kind: str
    what: str
    examples: tuple[str, ...]
    read: Callable[[Evidence], Decision | None]


# Rules


def _code(column: Evidence) -> Decision | None:
    codes = int(column.counts[column.matching(LEADING_ZEROS)].sum())
    if column.is_number or codes < max(2, 0.01 * column.n) or column.wrong_numbers > column.slips:
        return None
    return Decision("code").saying(
        "code",
        f"{column.name!r} is a code, not a number: it has leading zeros, such as "
        f"{column.some(LEADING_ZEROS)}.",
        column.name,
    )


def _plain_number(column: Evidence) -> Decision | None:
    hints, wrong = column.hints, column.wrong_numbers
    if wrong > column.slips:
        return None
    decision = Decision("number", wrong)
    if "," in (hints.decimal, column.usual) or hints.thousands:
        found = _with_other_marks(column)
        if found is not None:
            return found
    pointed = any("." in text for text in column.distinct)
    marked = hints.decimal or hints.thousands or column.usual
    if not marked and pointed and column.matching(_THOUSANDS_OR_THREE_DECIMALS).all():
        return _ambiguous(column, replace(decision, ambiguous=True), "a decimal point", ".")
    return decision


def _with_other_marks(column: Evidence) -> Decision | None:
    """Numbers such as 1.234 where points are between thousands; None if they cannot be."""
    hints = column.hints
    thousands = hints.thousands or "."
    numerals = Numerals("." if thousands == "," else ",", thousands)
    pointed = any(thousands in text for text in column.distinct)
    wrong = int(column.values.numbers_as(numerals)[1].sum())
    asked = bool(hints.thousands or hints.decimal)
    if not pointed or wrong > column.slips:
        return None
    if hints.thousands is None and not column.matching(_THOUSANDS_OR_THREE_DECIMALS).all():
        return None
    why = "as was asked for" if asked else "as in other columns"
    return Decision("number", wrong, numerals).saying(
        "written numbers",
        f"{column.name!r} is read with {numerals.description()}, {why}: "
        f"{column.example(numerals, thousands)}.",
        column.name,
        warning=not asked,
    )


def _flag(column: Evidence) -> Decision | None:
    wrong = int(column.values.flags[1].sum())
    words = {text.lower() for text in column.distinct}
    if wrong <= column.slips and words & set(FLAGS[0]):
        return Decision("flag", wrong)
    return Decision("flag") if any(words == set(pair) for pair in FLAGS) else None


def _iso_time(column: Evidence) -> Decision | None:
    return Decision("time", int(column.values.days[1].sum()))


def _marked_number(column: Evidence) -> Decision | None:
    found = column.numerals
    if found is None:
        return None
    numerals, other, name = found.numerals, found.other, column.name
    wrong = int(column.values.numbers_as(numerals)[1].sum())
    decision = Decision("number", wrong, numerals, ambiguous=other is not None)
    mark = numerals.thousands or numerals.decimal
    if other is not None:
        how = numerals.description() if numerals.thousands else "a decimal point"
        return _ambiguous(column, decision, how, mark)
    marks = [each for each in MARKS if column.matching(each.pattern).any()]
    how = ", ".join(filter(None, [numerals.description(), *(each.name for each in marks)]))
    if how:
        pattern = marks[0].pattern if marks else re.escape(mark)
        shown = column.example(numerals, pattern)
        message = f"{name!r} is read as numbers with {how}: {shown}."
        decision = decision.saying("written numbers", message, name)
    if column.matching(LIMIT.pattern).any():
        n = int(column.counts[column.matching(LIMIT.pattern)].sum())
        decision = decision.saying(
            "limits",
            f"{name!r}: {n:,} of {column.n:,} values are limits, not measured, such as "
            f"{column.some(LIMIT.pattern)}; they are read as the limit itself, "
            f"{column.example(numerals, LIMIT.pattern)}.",
            name,
            warning=True,
        )
    return decision


def _ambiguous(column: Evidence, decision: Decision, how: str, mark: str) -> Decision:
    numerals = decision.numerals
    arguments: dict[str, Any] = {"decimal": mark}
    advice = "; pass {decimal} for a decimal comma."
    if not numerals.thousands:
        advice = "; pass {thousands} for a point between thousands, {decimal} for a decimal one."
        arguments = {"thousands": ".", "decimal": "."}
    return decision.saying(
        "ambiguous numbers",
        f"{column.name!r} can be read in two ways, and is read with {how}: "
        f"{column.example(numerals, re.escape(mark))}",
        column.name,
        advice,
        warning=True,
        **arguments,
    )


def _written_time(column: Evidence) -> Decision | None:
    formats = dates.find_formats(column.distinct, column.counts, column.slips)
    if len(formats) > 1:
        formats = _likelier(column, formats)
    if len(formats) == 1:
        return as_dates(column, formats[0])
    if not formats:
        return None
    wrong = int(column.values.days_as(formats[0])[1].sum())
    return Decision("text", wrong, ambiguous=True).saying(
        "ambiguous dates",
        f"{column.name!r} is text, since its dates, such as {column.some('.')}, can be read in "
        "two ways",
        column.name,
        "; pass {date_format} or {date_format_}.",
        warning=True,
        date_format=formats[0],
        date_format_=formats[1],
    )


def _form(column: Evidence) -> Decision | None:
    found = find_form(column.distinct, column.counts, column.slips)
    if found is None:
        return None
    name, form = column.name, FORMS[found.numerals.form]
    return Decision("number", found.wrong, found.numerals).saying(
        "written numbers",
        f"{name!r} is read as numbers, since all are {form.name}: "
        f"{column.example(found.numerals, '.')}.",
        name,
    )


def _several_numbers(column: Evidence) -> Decision | None:
    if len(column.distinct) < _LEAST_DIFFERENT:
        return None
    for mark, pattern in SEPARATORS.items():
        reads = column.matching(pattern)
        if column.counts[~reads].sum() > column.slips:
            continue
        lists = column.values.lists
        width = pc.mode(pc.list_value_length(lists))[0]["mode"].as_py()
        numbers, wrong = column.values.vectors(width)
        if mark == "-" and (numbers[:, 0] > numbers[:, 1]).any():  # no ranges
            continue
        n = int((wrong & np.asarray(column.values.trimmed.is_valid())).sum())
        shown = column.some(pattern, 1)
        return Decision("vector", n, width=width).saying(
            "several numbers",
            f"{column.name!r} is read as {width} numbers with {mark!r} between them, such as "
            f"{shown}",
            column.name,
            "; if it is a name, pass {text}.",
            text=(column.name,),
        )
    return None


RULES = (
    Rule("code", "digits with leading zeros", ("00501", "07030", "10027"), _code),
    Rule("number", "numbers as programs write them", ("1.5", "-2e3", "7"), _plain_number),
    Rule("flag", "words for true and false", ("ja", "nein", "ja"), _flag),
    Rule("time", "times of ISO 8601", ("2024-05-01", "2024-05-01T12:30Z"), _iso_time),
    Rule("number", "numbers with marks or a unit", ("1.234,50 €", "-3 €", "7,5 €"), _marked_number),
    Rule("time", "times in another format", ("31.12.2020", "1.1.2021"), _written_time),
    Rule("number", "numbers of several parts", ("2h 45m", "50m", "1h"), _form),
    Rule("vector", "several numbers", tuple(f"{120 + i}/80" for i in range(20)), _several_numbers),
)


# One column


def decide(column: Evidence) -> Decision:
    """What a column is, from its first values."""
    name, values, hints = column.name, column.values, column.hints
    kind = values.kind
    asked = hints.date_format
    if kind == "empty":
        return Decision(kind)
    if name in hints.categorical and kind != "vector":
        numbers = kind == "number" or (kind == "text" and column.wrong_numbers <= column.slips)
        return Decision("text", numbers=numbers)
    if name in hints.text:
        return Decision("words" if _is_free_text(values) else "text")
    if kind in ("number", "text") and asked is not None and _reads_dates(column, asked):
        decision = as_dates(column, asked)
    elif kind == "text":
        decision = _decide_text(column)
    elif kind == "vector":
        width = pc.mode(pc.list_value_length(values.plain))[0]["mode"].as_py()
        decision = Decision(kind, width=int(width or 0))
    else:
        decision = Decision(kind)
    if decision.kind == "number" and decision.numerals.is_plain and name not in hints.number:
        decision = _as_times(column, decision)
    if decision.kind in ("number", "time", "flag"):
        decision = _with_gaps(column, decision)
    elif decision.kind in ("text", "code") and column.is_text:
        decision = _saying_gaps(column, decision, column.gaps)
    if decision.kind == "text" and _is_free_text(values):
        return replace(decision, kind="words")
    return _with_far_dates(column, decision) if decision.kind == "time" else decision


def _decide_text(column: Evidence) -> Decision:
    best: Decision | None = None
    for rule in RULES:
        if column.is_number and rule.kind != "number":
            continue
        found = rule.read(column)
        fits = found is not None and found.wrong <= column.slips
        if fits and (best is None or found.wrong < best.wrong):  # type: ignore[union-attr]
            best = found
        if best is not None and not best.wrong:
            break
    return best or _doubtful_text(column)


def _doubtful_text(column: Evidence) -> Decision:
    """Text, and what it nearly is."""
    name, n, found = column.name, column.n, column.numerals
    numbers, what = np.zeros(len(column.distinct)), "dates"
    if n < _LEAST_VALUES:
        return _with_units(column)
    if found is not None:
        what = f"numbers with {found.numerals.unit!r}" if found.numerals.unit else "numbers"
        numbers = _read(column, found.numerals.number)
        large = np.abs(numbers) > LARGEST
        if column.counts[np.isnan(numbers)].sum() <= column.slips and large.any():
            return Decision("text").saying(
                "large numbers",
                f"{name!r} is text, since {column.counts[large].sum():,} of its numbers are beyond "
                f"{LARGEST:.0e}; divide them by a common factor.",
                name,
                warning=True,
            )
        numbers[large] = np.nan
    else:
        formats = dates.find_formats(column.distinct, column.counts, column.most_odd)
        asked = column.hints.date_format
        for format in [asked] if asked else [dates.WRITTEN_ISO, *formats]:
            days = _read(column, dates.reader(format))
            m, least = (column.counts[np.isnan(each)].sum() for each in (days, numbers))
            if format in (asked, dates.WRITTEN_ISO) or m < least:
                numbers = days
    odd = np.isnan(numbers)
    m = int(column.counts[odd].sum())
    if not 0 < m <= column.most_odd:
        return _with_units(column)
    texts = [text for text, is_odd in zip(column.distinct, odd, strict=True) if is_odd]
    common = sorted(zip(-column.counts[odd], texts, strict=True))
    return Decision("text").saying(
        "odd values",
        f"{name!r} is text, since {m:,} of {n:,} values are no {what}, such as "
        f"{listed_values([text for _, text in common])}",
        name,
        "; pass {na} with each of them that stands for a missing value, or {number} to have "
        "such rows refused.",
        warning=True,
        na=None,
        number=(name,),
    )


def _with_units(column: Evidence) -> Decision:
    """Text, maybe of numbers with several units."""
    units = several_units(column.distinct, column.counts)
    if not units:
        return Decision("text")
    named = listed_values([unit or "none" for unit in units])
    return Decision("text").saying(
        "several units",
        f"{column.name!r} is text, since its numbers have several units, {named}; write them in "
        "one.",
        column.name,
        warning=True,
    )


def _read(column: Evidence, parse: Callable[[str], float | None]) -> Floats:
    """The different values of text as numbers, nan for what is none."""
    found = map(parse, column.distinct)
    return np.array([np.nan if each is None else each for each in found], np.float64)


def _as_times(column: Evidence, decision: Decision) -> Decision:
    """Whole numbers that are days such as 20201231, or count from 1970."""
    numbers = column.values.numbers[0]
    numbers = numbers[~np.isnan(numbers)]
    if len(numbers) < _LEAST_VALUES or (numbers != np.round(numbers)).any():
        return decision
    low, high = numbers.min(), numbers.max()
    if low >= 19000101 and high <= 21001231 and not column.values.days_as("%Y%m%d")[1].any():
        return as_dates(column, "%Y%m%d")
    for unit, factor in ((dates.SECONDS, 1), (dates.MILLISECONDS, 1000)):
        first, last = (factor * end for end in _SECONDS_IN_USE)
        if first <= low < high <= last:
            if _NAME_OF_TIME.search(spaced(column.name)):
                return as_dates(column, unit)
            if low >= 9 * first:
                return decision.saying(
                    "epoch",
                    f"{column.name!r} is read as numbers; if they are {unit} since 1970",
                    column.name,
                    ", pass {date_format}.",
                    date_format=unit,
                )
    return decision


def as_dates(column: Evidence, format: str) -> Decision:
    """A column of dates in this format."""
    days, wrong = column.values.days_as(format)
    place = int(np.flatnonzero(~np.isnan(days))[0])
    day, clock = str(np.datetime64(round(days[place] * 86_400), "s")).split("T")
    what, text = "dates", f"{day} {clock}".removesuffix(" 00:00:00")
    if not dates.has_date(format):
        what, text = "times of day", clock
    how = f"in {format} since 1970" if format in dates.PER_DAY else f"written as {format}"
    shown = shown_value(column.values.text[place].as_py())
    return Decision("time", int(wrong.sum()), dates=format).saying(
        "dates", f"{column.name!r} is read as {what} {how}: {shown} is {text}.", column.name
    )


def _reads_dates(column: Evidence, format: str) -> bool:
    days, wrong = column.values.days_as(format)
    if format in dates.PER_DAY:
        seconds = days * 86_400
        wrong = wrong | (seconds < _SECONDS_IN_USE[0]) | (seconds > _SECONDS_IN_USE[1])
    return bool(wrong.sum() <= (column.slips if column.is_text else 0) and not np.isnan(days).all())


def _likelier(column: Evidence, formats: list[str]) -> list[str]:
    """Of formats that read all values: the one in which they are in order, or of few years."""
    days = [column.values.days_as(format)[0] for format in formats]
    known = [each[~np.isnan(each)] for each in days]
    ordered = [
        format
        for format, each in zip(formats, known, strict=True)
        if len(each) >= _LEAST_DIFFERENT
        and ((np.diff(each) >= 0).all() or (np.diff(each) <= 0).all())
    ]
    if len(ordered) == 1:
        return ordered
    years = [len(np.unique(np.floor(each / 365.2425))) for each in known]
    few = np.argsort(years)
    if years[few[1]] >= _TIMES_FEWER_YEARS * years[few[0]]:
        return [formats[few[0]]]
    return formats


# Gaps


def _with_gaps(column: Evidence, decision: Decision) -> Decision:
    """Words and numbers that stand for a missing value."""
    name, values = column.name, column.values
    if column.is_text:
        decision = _saying_gaps(column, decision, pa.array(GAPS))
    if decision.kind != "number":
        return decision
    numbers = values.numbers_as(decision.numerals)[0]
    gaps = find_gaps(numbers[~np.isnan(numbers)])
    if not gaps:
        return decision
    count = int(np.isin(numbers, gaps).sum())
    decision = replace(decision, numerals=replace(decision.numerals, gaps=gaps))
    shown = " and ".join(f"{gap:.15g}" for gap in gaps)
    return decision.saying(
        "gaps",
        f"{name!r}: {shown} is far from all other numbers and comes {count:,} times; it is taken "
        "for a missing value.",
        name,
        warning=True,
    )


def _saying_gaps(column: Evidence, decision: Decision, gaps: Any) -> Decision:
    text = pc.utf8_trim_whitespace(column.values.plain)
    found = text.filter(pc.fill_null(pc.is_in(text, value_set=gaps), False))
    shown = sorted(filter(None, found.unique().to_pylist()))
    if not shown:
        return decision
    n = len(found) - pc.sum(pc.equal(found, "")).as_py()
    return decision.saying(
        "gaps",
        f"{column.name!r}: {listed_values(shown)} is taken for a missing value, {n:,} times in "
        f"{len(text):,} rows.",
        column.name,
    )


def _with_far_dates(column: Evidence, decision: Decision) -> Decision:
    """Dates that may stand for a missing value, such as 9999-12-31; they are not changed."""
    if not dates.has_date(decision.dates):
        return decision
    name, values = column.name, column.values
    days = values.days_as(decision.dates)[0]
    for day in find_far(days[~np.isnan(days)]):
        places = np.flatnonzero(days == day)
        text = values.text[int(places[0])].as_py().strip()
        known = values.plain.type in (TEXT, NUMBER)
        decision = decision.saying(
            "far dates",
            f"{name!r}: {shown_value(text)} is far from all other dates and comes "
            f"{len(places):,} times",
            name,
            "; pass {na} if it stands for a missing value."
            if known
            else "; leave it out if it stands for a missing value.",
            warning=True,
            **({"na": (text,)} if known else {}),
        )
    return decision


# The whole table


def decide_all(columns: Mapping[str, Values], hints: Hints) -> dict[str, Decision]:
    """What columns are. What can be read in two ways is read as the other columns are."""
    found = {name: decide(Evidence(name, each, hints)) for name, each in columns.items()}
    usual = None if hints.decimal else usual_of(columns, found)
    for name, each in found.items() if usual else ():
        plain = each.kind == "number" and each.numerals.is_plain and usual == ","
        if each.kind == "number" and (each.ambiguous or plain):
            found[name] = decide(Evidence(name, columns[name], hints, usual))
    return found


def usual_of(columns: Mapping[str, Values], decisions: Mapping[str, Decision]) -> str | None:
    """The decimal mark that columns of a table show, if they show one."""
    sure = {k: v for k, v in decisions.items() if v.kind == "number" and not v.ambiguous}
    usual = usual_decimal(each.numerals for each in sure.values())
    if usual is not None:
        return usual
    if any(_has_points(columns[name], each) for name, each in sure.items()):
        return "."
    flags = (name for name, each in decisions.items() if each.kind == "flag")
    texts = (columns[name] for name in flags if columns[name].plain.type == TEXT)
    words = {pc.max(pc.utf8_lower(values.trimmed)).as_py() for values in texts}
    return "," if words & _YES_OF_COMMAS else None


def _has_points(values: Values, decision: Decision) -> bool:
    """Whether a column of text shows that the decimal mark is a point."""
    numerals = decision.numerals
    if values.plain.type != TEXT or numerals.form in FORMS or numerals.decimal != ".":
        return False
    numbers = values.numbers_as(numerals)[0]
    return bool((numbers[np.isfinite(numbers)] % 1 != 0).any())


# Values


def _is_free_text(values: Values) -> bool:
    """Whether values are sentences rather than names or numbers."""
    text = values.text.drop_null()
    if len(text.unique()) < max(_LEAST_TEXTS, len(text) / 2):
        return False
    texts = [set(filter(_LETTER.search, _WORD.findall(t.lower()))) for t in text.to_pylist()]
    if np.median([len(words) for words in texts]) < _LEAST_WORDS:
        return False
    rows = Counter(word for words in texts for word in words)
    common = sum(n for n in rows.values() if n > 1)
    return common >= _SHARE_OF_COMMON * sum(rows.values())
