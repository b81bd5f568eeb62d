"""Numbers as people write them: what may stand beside the digits, and how it is read."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
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
_BEFORE = r"(?:=\")?(?:[~≈]|ca\. ?|[<>≤≥]=?)? ?"
_POWER = r"(?:[eEdD](?P<e>[-+]?[0-9]{1,3})| ?[x×*·] ?10\^?(?P<p>[-+]?[0-9]{1,3}))?"
_OFF = r"(?: ?(?:±|\+/-) ?[0-9.,]+)?"
_MONEY = "|".join(map(re.escape, (*_CODES, *_CURRENCIES)))
_SHAPE = re.compile(
    rf"{_BEFORE}\(?[-+]? ?(?P<before>{_MONEY})? ?[-+]?\(?(?P<body>[0-9.,' ]*[0-9]){_POWER}{_OFF}"
    rf"(?P<after>[.,]?| ?(?:[^\W\d_]|[%‰°]|{_MONEY})[^0-9()]{{0,19}}?)\)?\)?-?\"?"
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
    def _pattern(self) -> re.Pattern[str]:
        """A regular expression of all that can be read."""
        decimal, mark, unit = map(re.escape, (self.decimal, self.thousands, self.unit))
        whole = rf"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+|[0-9]+" if mark else "[0-9]+"
        if self.thousands == ",":  # 12,34,567, as in India
            whole += "|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"
        body = rf"(?:(?:{whole})(?:{decimal}[0-9]*)?|{decimal}[0-9]+)"
        unit = unit or "$^"  # nothing
        words = sorted((w for w in _MULTIPLES if w != self.unit), key=len, reverse=True)
        words = [w for w in words if w not in _OF_MONEY or _is_currency(self.unit)]
        multiple = "|".join(re.escape(w) + r"\b" * w[-1].isalpha() for w in words)
        return re.compile(
            rf"{_BEFORE}(?P<open>\(?)(?P<sign>[-+]?) ?(?P<unit>(?:{unit})?) ?(?P<sign2>[-+]?)"
            rf"(?P<open2>\(?)(?P<body>{body}){_POWER}{_OFF}"
            rf"(?: ?(?P<multiple>{multiple}))?(?: ?(?P<behind>{unit}))?"
            r"(?P<close>\)?\)?)(?P<minus>-?)\"?"
        )

    def number(self, text: str) -> float | None:
        """Convert a text without surrounding spaces to a number; None if the text is no number."""
        if self.form in FORMS:
            return FORMS[self.form].number(text)
        matched = self._pattern.fullmatch(text) if len(text) <= _LONGEST else None
        if matched is None:
            return None
        part = matched.groupdict("")
        opened, units = part["open"] + part["open2"], bool(part["unit"]) + bool(part["behind"])
        minus = [part["sign"], part["sign2"], part["minus"], "-" * bool(opened)].count("-")
        if minus > 1 or units > 1 or len(opened) != len(part["close"]):
            return None
        body = part["body"].replace(self.thousands, "").replace(self.decimal, ".")
        number = float(f"{body}e{part['e'] or part['p'] or 0}")
        number *= _MULTIPLES.get(part["multiple"], 1.0)
        if number and not units and self.unit and not _is_currency(self.unit):
            return None
        return -number if minus else number

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
    """The parts of a text that may be a number: its digits, and the units on both sides."""

    body: str
    before: str
    unit: str
    n: int


def _shapes(texts: Texts) -> list[_Shape]:
    """The parts of the values that may be numbers."""
    shapes = []
    for text, n in zip(texts.distinct, texts.counts.tolist(), strict=True):
        match = _SHAPE.fullmatch(text) if len(text) <= _LONGEST else None
        if match is not None:
            before = match["before"] or ""
            shapes.append(_Shape(match["body"].strip(), before, _unit(before, match["after"]), n))
    return shapes


def _unit(before: str, after: str) -> str:
    """The unit behind a number, without a word that multiplies it."""
    first, _, rest = after.strip().partition(" ")
    money = bool(before) or _is_currency(rest)
    is_unit = first in _OF_MONEY or (after.startswith(" ") and first in _WITHOUT_BLANK)
    if first in _MULTIPLES and (money or not is_unit):
        return rest
    if first[:1] in _MULTIPLES and _is_currency(first[1:]):
        return first[1:]
    return after.strip(" .,")


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
    shapes = _shapes(texts)
    if texts.n - sum(each.n for each in shapes) > most_wrong:
        return None
    weights: Counter[str] = Counter()
    for each in shapes:
        weights[each.before or each.unit] += each.n
    unit = max(weights, key=lambda u: (bool(u), weights[u]), default="")
    numbers = {each.body for each in shapes if (each.before or each.unit) == unit}
    marks = {mark for mark in ".,' " if any(mark in each.body for each in shapes)}
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
    if len(best) > 1 and (thousands or _always_three_digits(shapes, unit, marks)):
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


def _always_three_digits(shapes: Sequence[_Shape], unit: str, marks: set[str]) -> bool:
    """Whether marks before three digits are between thousands: decimals would be rounded off.

    That is so of money, and of commas where numbers up to 999 have none.
    """
    if _is_currency(unit):
        return True
    plain = sum(each.n for each in shapes if each.body.isdecimal())
    marked = sum(each.n for each in shapes) - plain
    return "," in marks and marked >= _MARKED and plain >= _UNMARKED


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
