"""Decisions what columns are: a table of rules, tried on the first rows of each column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..fields import choice, nothing, text, within
from ..fields import each as each_of
from . import dates
from ._outliers import FAR_DATE, find_gaps
from ._values import FLAGS, GAPS, IN_TEXT, LARGEST, NUMBER, SEPARATORS, TEXT, Texts, Values
from .findings import Finding, listed_values, shown_value
from .numerals import (
    DECIMALS,
    FORMS,
    LIMIT,
    MARKS,
    PLAIN,
    THOUSANDS,
    Numerals,
    Reading,
    find_form,
    find_numerals,
    usual_decimal,
)

# A column of text with at most this share of slips among so many values is what the others are; of
# a few values, one may be. Up to the larger share, text is named as what it nearly is.
_SHARE_OF_SLIPS, _VALUES_WITH_ONE, _SHARE_OF_ODD = 0.05, 8, 0.3

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


NAMES = each_of(text) | each_of(text, tuple)


@dataclass(frozen=True, kw_only=True)
class Hints:
    """Hints of the user about columns; None, or nothing, where there are none."""

    decimal: Annotated[str | None, choice(*DECIMALS) | nothing] = None
    thousands: Annotated[str | None, choice(*THOUSANDS) | nothing] = None
    date_format: Annotated[str | None, text | nothing] = None
    na: Annotated[Sequence[str], NAMES] = ()
    number: Annotated[Sequence[str], NAMES] = ()
    text: Annotated[Sequence[str], NAMES] = ()
    categorical: Annotated[Sequence[str], NAMES] = ()
    ignore: Annotated[Sequence[str], NAMES] = ()
    features: Annotated[Sequence[str] | None, NAMES | nothing] = None
    fold: Annotated[Sequence[str], NAMES] = ()
    categories: Annotated[int | None, within(1, 10_001, whole=True) | nothing] = None


@dataclass(frozen=True)
class Decision:
    """Decision what a column is: number, flag, time, vector, tags, text, words, code or empty.

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

    def saying(self, *findings: Finding) -> Decision:
        """Add findings to a decision."""
        return replace(self, findings=(*self.findings, *findings))


@dataclass
class Evidence:
    """The first values of a column, with the user's hints and the table's usual decimal mark.

    `usual` is the decimal mark of the table's other columns, `gaps` are the values that stand for a
    missing one in text.
    """

    name: str
    values: Values
    hints: Hints = field(default_factory=Hints)
    usual: str | None = None
    gaps: Any = field(default_factory=lambda: IN_TEXT)

    @property
    def texts(self) -> Texts:
        """The different values of text."""
        return self.values.texts

    @property
    def is_text(self) -> bool:
        """Whether the column is of text, whatever is written in it."""
        return self.values.is_text

    @property
    def is_number(self) -> bool:
        """Whether the user says that the column is of numbers."""
        return self.name in self.hints.number

    @property
    def slips(self) -> float:
        """The number of values that may be wrong."""
        if self.is_number:
            return np.inf
        n = self.texts.n
        return max(_SHARE_OF_SLIPS * n, 1.0) if n >= _VALUES_WITH_ONE else 0.0

    @property
    def most_odd(self) -> float:
        """The number of values that may be wrong in a column that is nearly of another kind."""
        return np.inf if self.is_number else _SHARE_OF_ODD * self.texts.n

    @property
    def wrong_numbers(self) -> int:
        """Return the number of values that are no numbers as programs write them."""
        return int(self.values.numbers[1].sum())

    @cached_property
    def numerals(self) -> Reading | None:
        """Return how numbers are written; None if no way reads nearly all values."""
        marks = self.hints.decimal, self.hints.thousands
        reading = find_numerals(self.texts, self.most_odd, *marks)
        if reading is None and any(marks):
            reading = find_numerals(self.texts, self.most_odd)
        if reading is not None and reading.other is not None:
            for numerals in (reading.other, reading.numerals):
                if self.usual == numerals.decimal:
                    return Reading(numerals, reading.wrong)
        return reading

    def example(self, numerals: Numerals, pattern: str = "") -> str:
        """Return an example of how a value is read; it matches a pattern if any value does."""
        numbers = zip(self.texts.distinct, map(numerals.number, self.texts.distinct), strict=True)
        good = [(text, number) for text, number in numbers if number is not None]
        text, number = next((each for each in good if re.search(pattern, each[0])), good[0])
        return f"{shown_value(text)} is {number:.15g}"

    def finding(
        self, kind: str, text: str, advice: str = "", /, *, warning: bool = False, **arguments: Any
    ) -> Finding:
        """Make a finding about this column, whose name the text begins with."""
        return Finding(kind, f"{self.name!r}{text}", self.name, warning, advice, arguments)


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
    texts = column.texts
    codes = texts.number_of(texts.matching(LEADING_ZEROS))
    if column.is_number or codes < max(2, 0.01 * texts.n) or column.wrong_numbers > column.slips:
        return None
    shown = texts.some(LEADING_ZEROS)
    text = f" is a code, not a number: it has leading zeros, such as {shown}."
    return Decision("code").saying(column.finding("code", text))


def _plain_number(column: Evidence) -> Decision | None:
    wrong = column.wrong_numbers
    if wrong > column.slips:
        return None
    pointed = any("." in text for text in column.texts.distinct)
    if column.hints.thousands == "." or (
        pointed and column.texts.matching(_THOUSANDS_OR_THREE_DECIMALS).all()
    ):
        marked = _marked_number(column)
        if marked is not None and marked.wrong <= column.slips:
            return marked
    return Decision("number", wrong)


def _marked_number(column: Evidence) -> Decision | None:
    reading, texts, hints = column.numerals, column.texts, column.hints
    if reading is None:
        return None
    numerals = reading.numerals
    mark = numerals.thousands or numerals.decimal
    is_plain = not column.wrong_numbers and replace(numerals, form="").is_plain
    numerals = PLAIN if is_plain else numerals
    wrong = int(column.values.numbers_as(numerals)[1].sum())
    decision = Decision("number", wrong, numerals, ambiguous=reading.other is not None)
    if reading.other is not None:
        return decision.saying(_ambiguity(column, numerals, mark))
    if is_plain:
        return decision
    marks = [each for each in MARKS if texts.matching(each.pattern).any()]
    how = ", ".join(filter(None, [numerals.description(), *(each.name for each in marks)]))
    if how:
        shown = column.example(numerals, marks[0].pattern if marks else re.escape(mark))
        usual = not column.wrong_numbers and not (hints.decimal or hints.thousands)
        why = ", as in other columns" * usual
        text = f" is read as numbers with {how}{why}: {shown}."
        decision = decision.saying(column.finding("written numbers", text, warning=usual))
    limits = texts.matching(LIMIT.pattern)
    if limits.any():
        text = (
            f": {texts.number_of(limits):,} of {texts.n:,} values are limits, not measured, such "
            f"as {texts.some(LIMIT.pattern)}; they are read as the limit itself, "
            f"{column.example(numerals, LIMIT.pattern)}."
        )
        decision = decision.saying(column.finding("limits", text, warning=True))
    return decision


def _ambiguity(column: Evidence, numerals: Numerals, mark: str) -> Finding:
    how = numerals.description() if numerals.thousands else "a decimal point"
    shown = column.example(numerals, re.escape(mark))
    text = f" can be read in two ways, and is read with {how}: {shown}"
    advice = "; pass {decimal} for a decimal comma."
    arguments = {"decimal": mark}
    if not numerals.thousands:
        advice = "; pass {thousands} for a point between thousands, {decimal} for a decimal one."
        arguments = {"thousands": ".", "decimal": "."}
    return column.finding("ambiguous numbers", text, advice, warning=True, **arguments)


def _flag(column: Evidence) -> Decision | None:
    wrong = int(column.values.flags[1].sum())
    words = {text.lower() for text in column.texts.distinct}
    if wrong <= column.slips and words & set(FLAGS[0]):
        return Decision("flag", wrong)
    return Decision("flag") if any(words == set(pair) for pair in FLAGS) else None


def _iso_time(column: Evidence) -> Decision | None:
    return Decision("time", int(column.values.days[1].sum()))


def _written_time(column: Evidence) -> Decision | None:
    formats = dates.find_formats(column.texts, column.slips)
    if len(formats) > 1:
        formats = _likelier(column, formats)
    if len(formats) < 2:
        return as_dates(column, formats[0]) if formats else None
    shown = column.texts.some()
    finding = column.finding(
        "ambiguous dates",
        f" is text, since its dates, such as {shown}, can be read in two ways",
        "; pass {date_format} or {date_format_}.",
        warning=True,
        date_format=formats[0],
        date_format_=formats[1],
    )
    wrong = int(column.values.days_as(formats[0])[1].sum())
    return Decision("text", wrong, ambiguous=True).saying(finding)


def _form(column: Evidence) -> Decision | None:
    reading = find_form(column.texts)
    if reading.wrong > column.slips or reading.wrong == column.texts.n:
        return None
    form = FORMS[reading.numerals.form]
    shown = column.example(reading.numerals)
    text = f" is read as numbers, since all are {form.name}: {shown}."
    decision = Decision("number", reading.wrong, reading.numerals)
    return decision.saying(column.finding("written numbers", text))


def _several_numbers(column: Evidence) -> Decision | None:
    texts, values = column.texts, column.values
    if len(texts.distinct) < _LEAST_DIFFERENT:
        return None
    for mark, pattern in SEPARATORS.items():
        if texts.number_of(~texts.matching(pattern)) > column.slips:
            continue
        numbers, wrong = values.vectors(values.width)
        if mark == "-" and (numbers[:, 0] > numbers[:, 1]).any():  # no ranges
            continue
        n = int((wrong & np.asarray(values.trimmed.is_valid())).sum())
        text = f" is read as {values.width} numbers with {mark!r} between them, such as "
        text += texts.some(pattern, 1)
        advice, names = "; if it is a name, pass {text}.", [column.name]
        finding = column.finding("several numbers", text, advice, text=names)
        return Decision("vector", n, width=values.width).saying(finding)
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
    """Decide what a column is, from its first values."""
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
    else:
        decision = Decision(kind, width=values.width if kind == "vector" else 0)
    if decision.kind == "number" and decision.numerals.is_plain and name not in hints.number:
        decision = _as_times(column, decision)
    if column.is_text and decision.kind in ("text", "code"):
        decision = decision.saying(*_said_gaps(column, column.gaps))
    elif column.is_text and decision.kind in ("number", "time", "flag"):
        decision = decision.saying(*_said_gaps(column, pa.array(GAPS)))
    if decision.kind == "number":
        decision = _with_gaps(column, decision)
    if decision.kind == "text" and _is_free_text(values):
        return replace(decision, kind="words")
    is_date = decision.kind == "time" and dates.has_date(decision.dates)
    return decision.saying(*_far_dates(column, decision.dates)) if is_date else decision


def _decide_text(column: Evidence) -> Decision:
    best: Decision | None = None
    for rule in RULES:
        if column.is_number and rule.kind != "number":
            continue
        decision = rule.read(column)
        fits = decision is not None and decision.wrong <= column.slips
        if fits and (best is None or decision.wrong < best.wrong):  # type: ignore[union-attr]
            best = decision
        if best is not None and not best.wrong:
            break
    return best or Decision("text").saying(*_doubts_of_text(column))


def _doubts_of_text(column: Evidence) -> list[Finding]:
    """Return doubts about a text column whose values are nearly numbers or dates."""
    texts, reading = column.texts, column.numerals
    if reading is not None:
        unit = reading.numerals.unit
        what = f"numbers with {unit!r}" if unit else "numbers"
        odd = ~(np.abs(texts.read(reading.numerals.number)) <= LARGEST)
    else:
        what, asked = "dates", column.hints.date_format
        formats = [asked] if asked else dates.find_formats(texts, column.most_odd)
        formats = formats if asked else [dates.WRITTEN_ISO, *formats]
        masks = [np.isnan(texts.read(dates.reader(format))) for format in formats]
        odd = min(masks, key=texts.number_of)
    m = texts.number_of(odd)
    if texts.n < _LEAST_VALUES or not 0 < m <= column.most_odd:
        return []
    texts_of_odd = np.array(texts.distinct, object)[odd]
    common = sorted(zip(-texts.counts[odd], texts_of_odd, strict=True))
    shown = listed_values([text for _, text in common])
    finding = column.finding(
        "odd values",
        f" is text, since {m:,} of {texts.n:,} values are no {what}, such as {shown}",
        "; pass {na} with each of them that stands for a missing value, or {number} to have "
        "such rows refused.",
        warning=True,
        na=None,
        number=[column.name],
    )
    return [finding]


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
        if first <= low < high <= last and _NAME_OF_TIME.search(spaced(column.name)):
            return as_dates(column, unit)
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
    text = f" is read as {what} {how}: {shown} is {text}."
    decision = Decision("time", int(wrong.sum()), dates=format)
    return decision.saying(column.finding("dates", text))


def _reads_dates(column: Evidence, format: str) -> bool:
    days, wrong = column.values.days_as(format)
    if format in dates.PER_DAY:
        seconds = days * 86_400
        wrong = wrong | (seconds < _SECONDS_IN_USE[0]) | (seconds > _SECONDS_IN_USE[1])
    return bool(wrong.sum() <= (column.slips if column.is_text else 0) and not np.isnan(days).all())


def _likelier(column: Evidence, formats: list[str]) -> list[str]:
    """Choose of formats that read all values one in which they are in order, or of few years."""
    days = [column.values.days_as(format)[0] for format in formats]
    finite = [each[~np.isnan(each)] for each in days]
    steps = [np.diff(each) for each in finite]
    ordered = [
        format
        for format, each in zip(formats, steps, strict=True)
        if len(each) >= _LEAST_DIFFERENT - 1 and ((each >= 0).all() or (each <= 0).all())
    ]
    if len(ordered) == 1:
        return ordered
    years = [len(np.unique(np.floor(each / 365.2425))) for each in finite]
    few = np.argsort(years)
    is_one = years[few[1]] >= _TIMES_FEWER_YEARS * years[few[0]]
    return [formats[few[0]]] if is_one else formats


# Gaps


def _with_gaps(column: Evidence, decision: Decision) -> Decision:
    """Numbers that stand for a missing value."""
    numbers = column.values.numbers_as(decision.numerals)[0]
    gaps = find_gaps(numbers[~np.isnan(numbers)])
    if not gaps:
        return decision
    shown = " and ".join(f"{gap:.15g}" for gap in gaps)
    text = (
        f": {shown} is far from all other numbers and comes {np.isin(numbers, gaps).sum():,} "
        "times; it is taken for a missing value."
    )
    decision = replace(decision, numerals=replace(decision.numerals, gaps=gaps))
    return decision.saying(column.finding("gaps", text, warning=True))


def _said_gaps(column: Evidence, gaps: Any) -> list[Finding]:
    """Words that stand for a missing value."""
    text = pc.utf8_trim_whitespace(column.values.plain)
    gaps = text.filter(pc.fill_null(pc.is_in(text, value_set=gaps), False))
    shown = sorted(filter(None, gaps.unique().to_pylist()))
    if not shown:
        return []
    n = len(gaps) - pc.sum(pc.equal(gaps, "")).as_py()
    what = f": {listed_values(shown)} is taken for a missing value, {n:,} times in {len(text):,}"
    return [column.finding("gaps", f"{what} rows.")]


def _far_dates(column: Evidence, format: str) -> list[Finding]:
    """Dates that may stand for a missing value, such as 9999-12-31; they are not changed."""
    values = column.values
    days, far = values.days_as(format)[0], []
    typed = values.plain.type in (TEXT, NUMBER)
    for day in find_gaps(days[~np.isnan(days)], FAR_DATE):
        places = np.flatnonzero(days == day)
        text = values.text[int(places[0])].as_py().strip()
        what = f": {shown_value(text)} is far from all other dates and comes {len(places):,} times"
        advice = f"; {'pass {na}' if typed else 'leave it out'} if it stands for a missing value."
        na = {"na": [text]} if typed else {}
        far.append(column.finding("far dates", what, advice, warning=True, **na))
    return far


# The whole table


def decide_all(columns: Mapping[str, Values], hints: Hints) -> dict[str, Decision]:
    """Decide what columns are. What can be read in two ways is read as the other columns are."""
    decisions = {name: decide(Evidence(name, each, hints)) for name, each in columns.items()}
    usual = None if hints.decimal else usual_of(columns, decisions)
    for name, each in decisions.items() if usual else ():
        plain = each.kind == "number" and each.numerals.is_plain and usual == ","
        if each.kind == "number" and (each.ambiguous or plain):
            decisions[name] = decide(Evidence(name, columns[name], hints, usual))
    return decisions


def usual_of(columns: Mapping[str, Values], decisions: Mapping[str, Decision]) -> str | None:
    """Return the decimal mark that the columns of a table use; None if no column shows one."""
    sure = {k: v for k, v in decisions.items() if v.kind == "number" and not v.ambiguous}
    usual = usual_decimal(each.numerals for each in sure.values())
    if usual is not None:
        return usual
    if any(_has_points(columns[name], each) for name, each in sure.items()):
        return "."
    flags = (name for name, each in decisions.items() if each.kind == "flag")
    texts = (columns[name] for name in flags if columns[name].is_text)
    words = {pc.max(pc.utf8_lower(values.trimmed)).as_py() for values in texts}
    return "," if words & _YES_OF_COMMAS else None


def _has_points(values: Values, decision: Decision) -> bool:
    """Whether a column of text shows that the decimal mark is a point."""
    numerals = decision.numerals
    if not values.is_text or numerals.form in FORMS or numerals.decimal != ".":
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


def spaced(name: str) -> str:
    """The name of a column in small letters, with spaces in the place of capitals."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
