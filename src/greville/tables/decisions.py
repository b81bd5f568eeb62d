"""What the columns of a table are: a table of rules, tried on the first rows of each column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import dates
from ._outliers import find_far, find_gaps
from ._plain import LARGEST, NUMBER, TEXT, VECTOR, Floats
from ._values import FLAGS, GAPS, IN_TEXT, SEPARATORS, Values
from .findings import Finding, listed_values, shown_value
from .numerals import (
    FORMS,
    LIMIT,
    MARKS,
    PLAIN,
    Numerals,
    Reading,
    as_mask,
    find_form,
    find_numerals,
    normal,
    several_units,
    usual_decimal,
)

# Up to this share of odd values, text is named as numbers, or dates, that it nearly is.
_SHARE_OF_ODD = 0.3

# Values from which dates without marks, and odd values, are told; different values of text from
# which a pattern of digits is said, and several numbers in one value are read.
_LEAST_VALUES, _LEAST_DIFFERENT = 5, 20

# Rows from which a column is left out, the share of different values from which all differ, and
# text with so many different values that may be sentences, of so many words, half of them common.
_LEAST_ROWS, _SHARE_OF_UNIQUE, _LEAST_ROWS_OF_INDEX = 50, 0.9, 3
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
_DIGITS_FIRST = r"^[^\pL0-9]{0,3}[0-9]"
_WORD, _LETTER = re.compile(r"\w+"), re.compile(r"[^\W\d_]")

# The row numbers of pandas; the last word of a name, or all of it, for which whole numbers are ids.
_PANDAS, _UNNAMED = re.compile(r"__index_level_\d+__"), re.compile(r"(Unnamed: \d+(_level_\d+)?)?")
_ID_WORDS = {"id", "ids", "uuid", "guid", "pk", "rowid", "nr", "no", "serial"}
_ID_NAMES = {"index", "idx", "key", "row", "rownum", "row number", "rownumber", "#"}
_ID_NAMES |= {"rownames", "rowname", "row names", "row name", "rn", "lfd", "seqn"}


@dataclass(frozen=True)
class Hints:
    """What the user says about columns; None, or nothing, where nothing was said."""

    decimal: str | None = None
    thousands: str | None = None
    date_format: str | None = None
    na: Sequence[str] = ()
    number: Sequence[str] = ()
    text: Sequence[str] = ()
    categorical: Sequence[str] = ()
    features: Sequence[str] = ()
    fold: Sequence[str] = ()
    categories: int | None = None

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Hints:
        """Those in the settings of a `TableModel`."""
        said = {each.name: settings[each.name] for each in fields(cls)}
        return cls(**{key: value for key, value in said.items() if value is not None})


@dataclass(frozen=True)
class Decision:
    """What a column is: number, flag, time, vector, text, words, code, empty, or ignored.

    `numerals` and `dates` say how its numbers and times are written, `width` how many numbers a
    value has, `numbers` whether text is numbers that are names. Of its values `wrong` are something
    else. Where it can be read in two ways it is `ambiguous`.
    """

    kind: str
    wrong: float = 0
    numerals: Numerals = PLAIN
    dates: str = dates.ISO
    width: int = 0
    numbers: bool = False
    findings: tuple[Finding, ...] = ()
    ambiguous: bool = False

    def says(self, kind: str) -> bool:
        """Whether there is a finding of this kind."""
        return any(finding.kind == kind for finding in self.findings)

    def saying(
        self,
        kind: str,
        text: str,
        column: str,
        advice: str = "",
        /,
        *,
        warning: bool = False,
        **arguments: Any,
    ) -> Decision:
        """The same with one more finding."""
        found = Finding(kind, text, column, warning, advice, tuple(arguments.items()))
        return replace(self, findings=(*self.findings, found))


class Evidence:
    """The first values of a column: the different ones, and how often each of them is there."""

    def __init__(
        self,
        name: str,
        values: Values,
        hints: Hints | None = None,
        usual: str | None = None,
        gaps: Any = IN_TEXT,
    ) -> None:
        self.name, self.values, self.hints = name, values, hints or Hints()
        self.usual = usual  # the decimal mark of the table's other columns
        self.gaps = gaps  # what stands for a missing value in text
        self.is_text = values.plain.type == TEXT

    @cached_property
    def text(self) -> Any:
        """Text with one kind of blanks around and in it, without gaps."""
        return normal(self.values.trimmed.drop_null())

    @cached_property
    def _counted(self) -> Any:
        return pc.value_counts(self.text)

    @property
    def distinct(self) -> Any:
        return self._counted.field("values")

    @cached_property
    def counts(self) -> Any:
        return self._counted.field("counts").to_numpy()

    @property
    def n(self) -> int:
        return len(self.text)

    @property
    def slips(self) -> float:
        """How many of the values may be wrong."""
        return np.inf if self.name in self.hints.number else self.values.slips

    @property
    def most_odd(self) -> float:
        return np.inf if self.name in self.hints.number else _SHARE_OF_ODD * self.n

    @property
    def wrong_numbers(self) -> int:
        """How many values are no numbers as programs write them."""
        return int(self.values.numbers[1].sum())

    @cached_property
    def numerals(self) -> Reading | None:
        """How numbers are written, if they are written in one way but for some odd ones."""
        marks = self.hints.decimal, self.hints.thousands
        found = find_numerals(self.distinct, self.counts, self.most_odd, *marks)
        if found is None and any(marks):
            found = find_numerals(self.distinct, self.counts, self.most_odd)
        if found is not None and found.other is not None and self.usual == found.other.decimal:
            return Reading(found.other, found.wrong)
        if found is not None and found.other is not None and self.usual == found.numerals.decimal:
            return Reading(found.numerals, found.wrong)
        return found

    def matches(self, pattern: str) -> bool:
        """Whether all values match a pattern."""
        return bool(pc.all(pc.match_substring_regex(self.distinct, pattern)).as_py())

    def some(self, pattern: str, n: int = 2) -> str:
        """Values that match a pattern, for a message."""
        found = self.distinct.filter(pc.match_substring_regex(self.distinct, pattern))
        return listed_values(found[:n].to_pylist())


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
    codes = int(column.counts[_matching(column, LEADING_ZEROS)].sum())
    asked = column.name in column.hints.number
    if asked or codes < max(2, 0.01 * column.n) or column.wrong_numbers > column.slips:
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
    pointed = pc.any(pc.match_substring(column.distinct, ".")).as_py()
    marked = hints.decimal or hints.thousands or column.usual
    if not marked and pointed and column.matches(_THOUSANDS_OR_THREE_DECIMALS):
        return _ambiguous(column, replace(decision, ambiguous=True), "a decimal point", ".")
    return decision


def _with_other_marks(column: Evidence) -> Decision | None:
    """Numbers such as 1.234 where points are between thousands; None if they cannot be."""
    hints = column.hints
    thousands = hints.thousands or "."
    numerals = Numerals("." if thousands == "," else ",", thousands)
    pointed = pc.any(pc.match_substring(column.distinct, thousands)).as_py()
    wrong = int(column.values.numbers_as(numerals)[1].sum())
    asked = bool(hints.thousands or hints.decimal)
    if not pointed or wrong > column.slips:
        return None
    if hints.thousands is None and not column.matches(_THOUSANDS_OR_THREE_DECIMALS):
        return None
    why = "as was asked for" if asked else "as in other columns"
    return Decision("number", wrong, numerals).saying(
        "written numbers",
        f"{column.name!r} is read with {numerals.description()}, {why}: "
        f"{_example(column, numerals, thousands)}.",
        column.name,
        warning=not asked,
    )


def _flag(column: Evidence) -> Decision | None:
    wrong = int(column.values.flags[1].sum())
    words = set(pc.utf8_lower(column.distinct).to_pylist())
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
    marks = [each for each in MARKS if _matching(column, each.pattern).any()]
    how = ", ".join(filter(None, [numerals.description(), *(each.name for each in marks)]))
    if how:
        pattern = marks[0].pattern if marks else re.escape(mark)
        example = _example(column, numerals, pattern)
        message = f"{name!r} is read as numbers with {how}: {example}."
        decision = decision.saying("written numbers", message, name)
    if _matching(column, LIMIT.pattern).any():
        n = int(column.counts[_matching(column, LIMIT.pattern)].sum())
        decision = decision.saying(
            "limits",
            f"{name!r}: {n:,} of {column.n:,} values are limits, not measured, such as "
            f"{column.some(LIMIT.pattern)}; they are read as the limit itself, "
            f"{_example(column, numerals, LIMIT.pattern)}.",
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
        f"{_example(column, numerals, re.escape(mark))}",
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
        f"{_example(column, found.numerals, '.')}.",
        name,
    )


def _several_numbers(column: Evidence) -> Decision | None:
    if len(column.distinct) < _LEAST_DIFFERENT:
        return None
    for mark, pattern in SEPARATORS.items():
        reads = _matching(column, pattern)
        if column.counts[~reads].sum() > column.slips:
            continue
        lists = column.values.lists
        width = pc.mode(pc.list_value_length(lists))[0]["mode"].as_py()
        numbers, wrong = column.values.vectors(width)
        if mark == "-" and (numbers[:, 0] > numbers[:, 1]).any():  # no ranges
            continue
        n = int((wrong & as_mask(column.values.trimmed.is_valid())).sum())
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
        if column.name in column.hints.number and rule.kind != "number":
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
    name, n, hints = column.name, column.n, column.hints
    what, odd = "dates", np.zeros(len(column.distinct), bool)
    found = column.numerals
    if found is not None and n >= _LEAST_VALUES:
        what = f"numbers with {found.numerals.unit!r}" if found.numerals.unit else "numbers"
        numbers, odd = found.numerals.parsed(column.distinct)
        large = np.abs(numbers) > LARGEST
        if column.counts[odd].sum() <= column.slips and large.any():
            return Decision("text").saying(
                "large numbers",
                f"{name!r} is text, since {column.counts[large].sum():,} of its numbers are beyond "
                f"{LARGEST:.0e}; divide them by a common factor.",
                name,
                warning=True,
            )
        odd = odd | large
    elif n >= _LEAST_VALUES:
        found_formats = dates.find_formats(column.distinct, column.counts, column.most_odd)
        formats = [hints.date_format] if hints.date_format else [dates.WRITTEN_ISO, *found_formats]
        odds = [dates.parsed(column.distinct, format)[1] for format in formats]
        odd = min(odds, key=lambda each: column.counts[each].sum())
    m = int(column.counts[odd].sum())
    if 0 < m <= column.most_odd:
        texts = column.distinct.filter(pa.array(odd)).to_pylist()
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
    units = several_units(column.distinct)
    if units:
        named = listed_values([unit or "none" for unit in units])
        return Decision("text").saying(
            "several units",
            f"{name!r} is text, since its numbers have several units, {named}; write them in one.",
            name,
            warning=True,
        )
    return Decision("text")


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
            if _NAME_OF_TIME.search(_spaced(column.name)):
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


def left_out(column: Evidence, decision: Decision) -> tuple[str, str] | None:
    """The kind of finding and the reason to leave out a column; None for the others."""
    values, n, kind = column.values, len(column.values), decision.kind
    if kind == "empty":
        return "empty", "it has no values"
    if _is_index(column, decision):
        return "pandas index", "it is the row number of a data frame"
    if n < _LEAST_ROWS or values.plain.type == VECTOR:
        return None
    if kind in ("number", "flag", "time") and _is_constant(values):
        return "constant", f"it is {values.text[0].as_py()} in every row"
    if kind in ("text", "code"):
        known = n - values.plain.null_count
        distinct = pc.count_distinct(values.plain).as_py()
        if known >= _LEAST_ROWS and distinct > _SHARE_OF_UNIQUE * known:
            return "unique text", "text with a different value in nearly every row"
    if kind == "number":
        numbers = _known(values.numbers_as(decision.numerals)[0])
        if _all_differ(numbers) and _is_named_id(column.name, numbers):
            return "id", "it is an id, a different whole number in nearly every row"
    return None


def doubts(column: Evidence, decision: Decision, places: Any = None) -> list[Finding]:
    """What may be wrong with a column as it is decided; `places` are the numbers of its rows."""
    if decision.kind in ("text", "code"):
        return _doubts_of_text(column, decision)
    numbers, name = column.values.numbers_as(decision.numerals)[0], column.name
    known = ~np.isnan(numbers)
    if decision.kind != "number" or not _all_differ(numbers[known]):
        return []
    steps = np.diff(numbers[known])
    if places is not None:
        steps = steps - np.diff(places[known]) + 1
    if (steps == 1).mean() > 0.99:
        message = f"{name!r} counts the rows and is used as a number; if it is not a measurement"
        advice = ", pass {ignore}."
        return [Finding("row numbers", message, name, True, advice, (("ignore", (name,)),))]
    low, high = numbers[known].min(), numbers[known].max()
    if low >= 1e4 and np.floor(np.log10(low * 10)) > np.log10(high) and not decision.findings:
        message = (
            f"{name!r} is used as a number; if its values (all different, and of equal length) are "
            "ids"
        )
        return [Finding("id", message, name, False, ", pass {ignore}.", (("ignore", (name,)),))]
    return []


def _doubts_of_text(column: Evidence, decision: Decision) -> list[Finding]:
    name, values, found = column.name, column.values, []
    if len(values) >= _LEAST_ROWS and _is_constant(values):
        value = repr(values.text[0].as_py()[:60])
        message = f"{name!r} has no information so far: it is {value} in every row."
        found.append(Finding("constant", message, name))
    if not column.is_text or name in (*column.hints.text, *column.hints.categorical):
        return found + spellings(column)
    if decision.kind == "text" and not decision.findings:
        found += _digits_in_one_pattern(column)
    return found + spellings(column)


def _digits_in_one_pattern(column: Evidence) -> list[Finding]:
    """Text that may be numbers or dates in a way that is not known."""
    reads = _matching(column, _DIGITS_FIRST)
    if len(column.distinct) < _LEAST_DIFFERENT or 2 * column.counts[reads].sum() <= column.n:
        return []
    shapes = pc.replace_substring_regex(column.distinct.filter(pa.array(reads)), "[0-9]+", "9")
    weights: Counter[str] = Counter()
    for shape, n in zip(shapes.to_pylist(), column.counts[reads].tolist(), strict=True):
        weights[shape] += n
    ((shape, n),) = weights.most_common(1)
    if 2 * n <= column.n:
        return []
    alike = column.distinct.filter(pa.array(reads)).filter(pc.equal(shapes, shape))
    message = (
        f"{column.name!r} is text, but most of its values are digits in one pattern, such as "
        f"{listed_values(alike[:3].to_pylist())}; if they are numbers or dates, write them in a "
        "usual way"
    )
    advice = ", and if they are names, pass {text}."
    return [Finding("digits", message, column.name, True, advice, (("text", (column.name,)),))]


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
    message = (
        f"{column.name!r} has values that differ in case and blanks only, such as {shown}: of "
        f"{len(texts):,} values {len(alike):,} differ otherwise"
    )
    advice = "; if they are the same, pass {fold}."
    return [Finding("spellings", message, column.name, True, advice, (("fold", (column.name,)),))]


def folded(column: Any) -> Any:
    """Text in small letters, with single blanks in it and none around it."""
    blanks = pc.replace_substring_regex(column, r"\s+", " ")
    return pc.utf8_lower(pc.utf8_trim_whitespace(blanks))


def unused_options(
    columns: Mapping[str, Values], decisions: Iterable[Decision], hints: Hints
) -> list[Finding]:
    """What was said of columns and is true of none."""
    decided = list(decisions)
    values = [*columns.values()]
    unused: list[tuple[str, Any]] = [
        ("na", (gap,)) for gap in hints.na if not any(each.had(gap) for each in values)
    ]
    if hints.decimal == "," and all(each.numerals.decimal != "," for each in decided):
        unused.append(("decimal", ","))
    if hints.thousands and all(each.numerals.thousands != hints.thousands for each in decided):
        unused.append(("thousands", hints.thousands))
    if hints.date_format and all(each.dates != hints.date_format for each in decided):
        unused.append(("date_format", hints.date_format))
    message = "No column of the first rows has what is said by "
    return [
        Finding("unused option", message, None, True, "{" + key + "}.", ((key, value),))
        for key, value in unused
    ]


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


def _is_index(column: Evidence, decision: Decision) -> bool:
    """Whether a data frame has left its row numbers in a column."""
    pandas = _PANDAS.fullmatch(column.name)
    if not (pandas or _UNNAMED.fullmatch(column.name)) or decision.kind != "number":
        return False
    numbers = _known(column.values.numbers[0])
    if len(numbers) < _LEAST_ROWS_OF_INDEX or (numbers != np.round(numbers)).any():
        return False
    unique = len(np.unique(numbers)) == len(numbers)
    return bool(pandas or unique or (np.diff(numbers) == 1).mean() > _SHARE_OF_UNIQUE)


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
    words = re.split(r"[^a-z#]+", _spaced(name))
    if words[-1] in _ID_WORDS or _spaced(name).strip() in _ID_NAMES:
        return True
    consecutive = numbers.max() - numbers.min() < 1.1 * len(numbers)
    return consecutive and words[-1].endswith("id")


def _spaced(name: str) -> str:
    """The name of a column in small letters, with spaces in the place of capitals."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def _matching(column: Evidence, pattern: str) -> Any:
    return as_mask(pc.match_substring_regex(column.distinct, pattern))


def _example(column: Evidence, numerals: Numerals, pattern: str) -> str:
    """An example of how a value is read, one that matches a pattern if there is one."""
    numbers, wrong = Values(column.distinct).numbers_as(numerals)
    reads = ~wrong & ~np.isnan(numbers)
    matching = reads & _matching(column, pattern)
    place = int(np.flatnonzero(matching if matching.any() else reads)[0])
    return f"{shown_value(column.distinct[place].as_py())} is {numbers[place]:.15g}"
