"""Numbers as people write them: what may stand beside the digits, and how it is read."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from ..fields import choice, finite, require, stored
from ..fields import each as list_of
from ..fields import text as any_text

if TYPE_CHECKING:
    from ._values import Texts

DECIMALS = (".", ",")
THOUSANDS = (",", ".", " ", "'")

_CURRENCIES = "$€£¥₹₽₩₺₫₱₴฿"
_CODES = ("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "AUD", "CAD", "SEK", "NOK", "DKK", "US$")

# What a letter or a word behind a number multiplies it by.
_MULTIPLES = {
    **dict.fromkeys(("k", "K", "thousand", "tsd", "Tsd", "Tsd."), 1e3),
    **dict.fromkeys(("lakh", "lakhs", "lac", "Lakh"), 1e5),
    **dict.fromkeys(("M", "m", "Mio", "Mio.", "mio", "million", "Million", "mn"), 1e6),
    **dict.fromkeys(("crore", "crores", "cr", "Cr", "Crore"), 1e7),
    **dict.fromkeys(("B", "bn", "Bn", "Mrd", "Mrd.", "billion", "Billion"), 1e9),
    **dict.fromkeys(("trillion", "Bio."), 1e12),
}
# Those that are units too: m is metres, but not of money, and 300 K are kelvin.
_OF_MONEY, _WITHOUT_BLANK = ("m",), ("k", "K", "M", "B", "cr", "Cr")

# Numbers with a mark before exactly three digits, and without one, from which it is no decimal
# mark: of so many decimals, some would end with a zero that is not written.
_MARKED, _UNMARKED = 30, 10

# In a column with other values, so many numbers have the unit.
_LEAST_NUMBERS = 3

# Text with so many digits and no mark was not written by someone who uses marks.
_NEVER_MARKED = re.compile(r"(?:^|[^0-9.,' ])[0-9]{5,}")

# Characters of a number, and of a unit.
_LONGEST, _LONGEST_UNIT = 100, 20


@dataclass(frozen=True)
class Mark:
    """A mark that may stand beside digits: its name, its place, and an example."""

    name: str
    pattern: str
    example: str
    number: float


MARKS = (
    Mark("a minus behind", r"[0-9]-$", "32-", -32.0),
    Mark("parentheses for negative ones", r"^[^0-9]*\(", "(1.5)", -1.5),
    Mark("D for exponents", r"[0-9][dD][-+]?[0-9]", "2.5530D+02", 255.3),
    Mark("powers of ten", r"[0-9] ?[x×*·] ?10", "1.2×10^3", 1200.0),
    Mark("letters for thousands or millions", r"[0-9] ?([KkMB]\b|(?i:lakh|crore|mio))", "2k", 2e3),
    Mark('="" around them', '^="', '="24.25"', 24.25),
    Mark("a sign for about", "^[~≈]|^ca", "~24", 24.0),
    Mark("what they may be off, which is not used", r"±|\+/-", "24±0.5", 24.0),
)
# What is not measured but only known to be less, or more.
LIMIT = Mark("a limit", "^[<>≤≥]", "<5", 5.0)


@dataclass(frozen=True)
class Form:
    """Several numbers that make one: its name, its parts, and an example and what that is."""

    name: str
    pattern: str
    example: str
    value: float

    def number(self, text: str) -> float | None:
        """The sum of the parts of a text, each in the smallest unit; None if it has other parts."""
        match = re.fullmatch(self.pattern, text) if len(text) <= _LONGEST else None
        if match is None:
            return None
        return sum(_PARTS[part] * float(digits or 0) for part, digits in match.groupdict().items())


_PARTS = {"d": 1440.0, "h": 60.0, "m": 1.0, "s": 1 / 60, "ft": 12.0, "inch": 1.0}
_N = r"[0-9]{1,6}(?:\.[0-9]+)?"
FORMS = {
    form.name: form
    for form in (
        Form(
            "hours and minutes",
            rf"(?:(?P<d>{_N}) ?(?:d|days?))? ?(?:(?P<h>{_N}) ?(?:h|hrs?|hours?|Std\.?))? ?"
            rf"(?:(?P<m>{_N}) ?(?:m|min|mins|minutes?))? ?(?:(?P<s>{_N}) ?(?:s|secs?|seconds?))?",
            "2h 45m",
            165.0,
        ),
        Form(
            "minutes:seconds",
            r"(?:(?P<h>[0-9]{1,4}):)?(?P<m>[0-9]{1,4}):(?P<s>[0-5][0-9](?:\.[0-9]+)?)",
            "165:00",
            165.0,
        ),
        Form(
            "feet and inches",
            r"(?P<ft>[0-9]+) ?(?:'|′|ft\.?|feet) ?"
            rf"(?:(?P<inch>{_N}) ?(?:\"|''|″|in\.?|inches)?)?",
            "5'4\"",
            64.0,
        ),
    )
}

# A number with whatever is around it: a sign, a currency, digits with marks, a unit.
_MONEY = "|".join(map(re.escape, (*_CODES, *_CURRENCIES)))
_SHAPE = re.compile(
    r"(?:=\")?(?:[~≈]|ca\. ?|[<>≤≥]=?)? ?(?P<open>\(?)(?P<sign>[-+]?) ?"
    rf"(?P<before>{_MONEY})? ?(?P<sign2>[-+]?)(?P<open2>\(?)(?P<body>[0-9.,' ]*[0-9][.,]?)"
    r"(?:[eEdD](?P<e>[-+]?[0-9]{1,3})| ?[x×*·] ?10\^?(?P<p>[-+]?[0-9]{1,3}))?"
    r"(?: ?(?:±|\+/-) ?[0-9.,]+)?"
    rf"(?P<after>| ?(?:[^\W\d_]|[%‰°]|{_MONEY})[^0-9()]{{0,19}}?)"
    r"(?P<close>\)?\)?)(?P<minus>-?)\"?"
)


def _check_fields(numerals: Numerals) -> None:
    marks_differ = numerals.thousands != numerals.decimal
    require(marks_differ and len(numerals.unit) <= _LONGEST_UNIT, "numerals: not those of a column")


@stored(check=_check_fields)
@dataclass(frozen=True)
class Numerals:
    """The way in which the numbers of a column are written.

    Parameters
    ----------
    decimal : "." or ","
    thousands : str
        What stands between groups of three digits: one of ``, . '`` or a space; "" for nothing.
    unit : str
        A currency, percent or a unit beside every number. A currency may be left out.
    form : str
        "" where programs wrote them, "marked" with any of `MARKS`, or one of `FORMS`.
    gaps : tuple of float
        Numbers that stand for a missing value, such as -999.
    """

    decimal: Annotated[str, choice(*DECIMALS)] = "."
    thousands: Annotated[str, choice("", *THOUSANDS)] = ""
    unit: Annotated[str, any_text] = ""
    form: Annotated[str, choice("", "marked", *FORMS)] = ""
    gaps: Annotated[tuple[float, ...], list_of(finite, tuple)] = ()

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as programs write them."""
        return not (self.thousands or self.unit or self.form) and self.decimal == "."

    @cached_property
    def _body(self) -> re.Pattern[str]:
        """A regular expression of the digits and marks of a number."""
        decimal, mark = map(re.escape, (self.decimal, self.thousands))
        whole = rf"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+|[0-9]+" if mark else "[0-9]+"
        if self.thousands == ",":  # 12,34,567, as in India
            whole += "|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"
        return re.compile(rf"(?:{whole})(?:{decimal}[0-9]*)?|{decimal}[0-9]+")

    def number(self, text: str) -> float | None:
        """Convert a text without surrounding spaces to a number; None if the text is no number."""
        if self.form in FORMS:
            return FORMS[self.form].number(text)
        shape = _shape(text)
        if shape is None or not self._body.fullmatch(shape.body):
            return None
        multiple, behind = _multiple_and_unit(shape, self.unit)
        unit = shape.before or behind
        if (shape.before and behind) or unit not in ("", self.unit):
            return None
        body = shape.body.replace(self.thousands, "").replace(self.decimal, ".")
        number = float(f"{body}e{shape.power}") * multiple
        if number and self.unit and not (unit or _is_currency(self.unit)):
            return None
        return -number if shape.negative else number

    def description(self) -> str:
        """Describe how numbers are written; "" for numbers as programs write them."""
        names = {",": "a comma", ".": "a point", " ": "a space", "'": "an apostrophe"}
        parts = ["a decimal comma"] if self.decimal != "." else []
        if self.thousands:
            parts.append(f"{names[self.thousands]} between thousands")
        if self.unit:
            parts.append(repr(self.unit))
        if self.form in FORMS:
            parts.append(self.form)
        return ", ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that differ from numbers as programs write them, as a dict."""
        other = {k: v for k, v in asdict(self).items() if v != getattr(Numerals, k)}
        return {k: list(v) if k == "gaps" else v for k, v in other.items()}


PLAIN = Numerals()


class Reading(NamedTuple):
    """A way to read numbers, the count of values it cannot read, and an alternative way."""

    numerals: Numerals
    wrong: int
    other: Numerals | None = None


class _Shape(NamedTuple):
    """The parts of a text that may be a number: its digits, and what stands on both sides."""

    body: str
    power: str
    before: str
    after: str
    negative: bool


@lru_cache(1 << 14)
def _shape(text: str) -> _Shape | None:
    """The parts of a text that may be a number; None for other text."""
    match = _SHAPE.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    part = match.groupdict("")
    opened = part["open"] + part["open2"]
    minus = [part["sign"], part["sign2"], part["minus"], "-" * bool(opened)].count("-")
    if minus > 1 or len(opened) != len(part["close"]):
        return None
    power = part["e"] or part["p"] or "0"
    return _Shape(part["body"].strip(), power, part["before"], part["after"], minus == 1)


def _multiple_and_unit(shape: _Shape, usual: str = "") -> tuple[float, str]:
    """What a word behind a number multiplies it by, and its unit; `usual` is the column's unit."""
    after = shape.after.strip(" .,")
    word, _, unit = shape.after.strip().partition(" ")
    if usual and usual == after:
        return 1.0, after
    money = bool(shape.before) or _is_currency(unit) or _is_currency(usual)
    is_unit = word in _OF_MONEY or (shape.after[:1] == " " and word in _WITHOUT_BLANK)
    if word in _MULTIPLES and (money or not is_unit):
        return _MULTIPLES[word], unit
    if word[:1] in _MULTIPLES and _is_currency(word[1:]):
        return _MULTIPLES[word[:1]], word[1:]
    return 1.0, after


def find_numerals(
    texts: Texts, most_wrong: float, decimal: str | None = None, thousands: str | None = None
) -> Reading | None:
    """The way in which all but a few values are numbers, if there is one.

    Parameters
    ----------
    texts : Texts
    most_wrong : float
        How many values may be no numbers.
    decimal, thousands : str, optional
        The marks that were given.
    """
    shapes = [
        (shape, shape.before or _multiple_and_unit(shape)[1], n)
        for shape, n in zip(map(_shape, texts.distinct), texts.counts.tolist(), strict=True)
        if shape is not None
    ]
    if texts.n - sum(n for _, _, n in shapes) > most_wrong:
        return None
    weights: Counter[str] = Counter()
    for _, unit, n in shapes:
        weights[unit] += n
    unit = max(weights, key=lambda u: (bool(u), weights[u]), default="")
    numbers = {shape.body for shape, its_unit, _ in shapes if its_unit == unit}
    marks = {mark for mark in ".,' " if any(mark in shape.body for shape, _, _ in shapes)}
    ways = [
        Numerals(point, mark, unit, "marked")
        for point in ([decimal] if decimal else DECIMALS if marks & set(DECIMALS) else ".")
        for mark in ["", *([thousands] if thousands else (t for t in THOUSANDS if t in marks))]
        if mark != point
    ]
    read = [Reading(way, texts.misses(way.number)) for way in ways]
    least = min(each.wrong for each in read)
    best = [each for each in read if each.wrong == least]
    labels = unit and len(numbers) < _LEAST_NUMBERS and (len(numbers) > 1 or least)
    if least > most_wrong or least == texts.n or labels:  # such as "1. White"
        return None
    if len(best) > 1 and any(map(_NEVER_MARKED.search, texts.distinct)):
        best = [each for each in best if not each.numerals.thousands] or best
    plain = sum(n for shape, _, n in shapes if shape.body.isdecimal())
    marked = sum(n for _, _, n in shapes) - plain
    # Of commas before three digits some would end with a zero, and of money none is decimal.
    always = "," in marks and marked >= _MARKED and plain >= _UNMARKED
    if len(best) > 1 and (thousands or always or _is_currency(unit)):
        best = [each for each in best if each.numerals.thousands] or best
    best.sort(key=lambda each: each.numerals.decimal != ".")
    return best[0]._replace(other=best[1].numerals if len(best) > 1 else None)


def find_form(texts: Texts) -> Reading:
    """The form in which most values are written."""
    ways = [Numerals(form=name) for name in FORMS]
    return min((Reading(w, texts.misses(w.number)) for w in ways), key=lambda r: r.wrong)


def usual_decimal(numerals: Iterable[Numerals]) -> str | None:
    """Return a comma if columns use a decimal comma and none uses a comma between thousands."""
    marks = {(each.decimal, each.thousands) for each in numerals if each.form not in FORMS}
    decimal = any(decimal == "," for decimal, _ in marks)
    return "," if decimal and not any(thousands == "," for _, thousands in marks) else None


def _is_currency(unit: str) -> bool:
    return unit in _CODES or (len(unit) == 1 and unit in _CURRENCIES)


def as_number(text: str) -> float | None:
    """Parse a number as programs write it; nan for blank text, None for other text."""
    if not text.strip():
        return math.nan
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None
