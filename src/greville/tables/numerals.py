"""Numbers as people write them: what may stand beside the digits, and how it is read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ._plain import Floats, Mask

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

# A column has a few units, or none; and in one with other values, so many numbers have the unit.
_MOST_UNITS, _LEAST_NUMBERS = 5, 3

# Text with so many digits and no mark was not written by someone who uses marks.
_NEVER_MARKED = r"(?:^|[^0-9.,' ])[0-9]{5,}"


@dataclass(frozen=True)
class Mark:
    """What may stand in a number beside its digits: its name, where it is, and an example."""

    name: str
    pattern: str
    example: str
    number: float


MARKS = (
    Mark("a minus behind", r"[0-9]-$", "32-", -32.0),
    Mark("parentheses for negative ones", r"^[^0-9]*\(", "(1.5)", -1.5),
    Mark("D for exponents", r"[0-9][dD][-+]?[0-9]", "2.5530D+02", 255.3),
    Mark("powers of ten", r"[0-9] ?[x×*·] ?10", "1.2×10^3", 1200.0),
    Mark(
        "letters for thousands or millions",
        r"[0-9] ?(?:[KkMB]\b|(?i:lakh|crore|mio))",
        "22.7k",
        22.7e3,
    ),
    Mark('="" around them', '^="', '="24.25"', 24.25),
    Mark("a sign for about", "^[~≈]|^ca", "~24", 24.0),
    Mark("what they may be off, which is not used", r"±|\+/-", "24±0.5", 24.0),
)
# What is not measured but only known to be less, or more.
LIMIT = Mark("a limit", "^[<>≤≥]", "<5", 5.0)


@dataclass(frozen=True)
class Form:
    """Several numbers that make one: its name, its parts and what each counts, and an example."""

    name: str
    pattern: str
    parts: dict[str, float]
    example: str
    number: float

    def parsed(self, column: Any) -> tuple[Floats, Mask]:
        """Text as numbers, and which values are none."""
        found = pc.extract_regex(column, self.pattern)
        values = np.zeros(len(column))
        for part, factor in self.parts.items():
            digits = pc.struct_field(found, part)
            number = pc.cast(pc.if_else(pc.equal(digits, ""), "0", digits), pa.float64())
            values += factor * number.to_numpy(zero_copy_only=False)
        return values, as_mask(pc.and_(found.is_null(), column.is_valid()))


_N = r"[0-9]{1,6}(?:\.[0-9]+)?"
FORMS = {
    form.name: form
    for form in (
        Form(
            "hours and minutes",
            rf"^(?:(?P<d>{_N}) ?(?:d|days?))? ?(?:(?P<h>{_N}) ?(?:h|hrs?|hours?|Std\.?))? ?"
            rf"(?:(?P<m>{_N}) ?(?:m|min|mins|minutes?))? ?(?:(?P<s>{_N}) ?(?:s|secs?|seconds?))?$",
            {"d": 1440.0, "h": 60.0, "m": 1.0, "s": 1 / 60},
            "2h 45m",
            165.0,
        ),
        Form(
            "minutes:seconds",
            r"^(?:(?P<h>[0-9]{1,4}):)?(?P<m>[0-9]{1,4}):(?P<s>[0-5][0-9](?:\.[0-9]+)?)$",
            {"h": 60.0, "m": 1.0, "s": 1 / 60},
            "165:00",
            165.0,
        ),
        Form(
            "feet and inches",
            r"^(?P<ft>[0-9]+) ?(?:'|′|ft\.?|feet) ?"
            rf"(?:(?P<inch>{_N}) ?(?:\"|''|″|in\.?|inches)?)?$",
            {"ft": 12.0, "inch": 1.0},
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
_SHAPE = (
    rf"^{_BEFORE}\(?[-+]? ?(?P<before>{_MONEY})? ?[-+]?\(?(?P<body>[0-9.,' ]*[0-9]){_POWER}{_OFF}"
    rf"(?P<after>[.,]?| ?(?:\pL|[%‰°]|{_MONEY})[^0-9()]{{0,19}}?)\)?\)?-?\"?$"
)


@dataclass(frozen=True)
class Numerals:
    """How the numbers of a column are written.

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

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    form: str = ""
    gaps: tuple[float, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether text is written as programs do."""
        return not (self.thousands or self.unit or self.form) and self.decimal == "."

    @cached_property
    def pattern(self) -> str:
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
        return (
            rf"^{_BEFORE}(?P<open>\(?)(?P<sign>[-+]?) ?(?P<unit>(?:{unit})?) ?(?P<sign2>[-+]?)"
            rf"(?P<open2>\(?)(?P<body>{body}){_POWER}{_OFF}"
            rf"(?: ?(?P<multiple>{multiple}))?(?: ?(?P<behind>{unit}))?"
            r"(?P<close>\)?\)?)(?P<minus>-?)\"?$"
        )

    def parsed(self, column: Any) -> tuple[Floats, Mask]:
        """Text without spaces around it as numbers, and which values are none."""
        column = normal(column)
        if self.form in FORMS:
            return FORMS[self.form].parsed(column)
        found = pc.extract_regex(column, self.pattern)
        part = {field.name: pc.struct_field(found, field.name) for field in found.type}
        body = part["body"]
        for mark, instead in ((self.thousands, ""), (self.decimal, ".")):
            body = pc.replace_substring(body, mark, instead) if mark else body
        power = pc.binary_join_element_wise(part["e"], part["p"], "")
        text = pc.binary_join_element_wise(body, pc.if_else(pc.equal(power, ""), "0", power), "e")
        values = pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False)
        place = pc.index_in(part["multiple"], value_set=pa.array(list(_MULTIPLES)))
        factors = np.array([*_MULTIPLES.values(), 1.0])
        values = (
            values * factors[pc.fill_null(place, len(_MULTIPLES)).to_numpy(zero_copy_only=False)]
        )
        n_open = pc.add(*(pc.utf8_length(part[key]) for key in ("open", "open2")))
        signs = [as_mask(pc.equal(part[key], "-")) for key in ("sign", "sign2", "minus")]
        n_minus = np.sum(signs, axis=0) + as_mask(pc.greater(n_open, 0))
        n_units = np.sum([as_mask(pc.not_equal(part[k], "")) for k in ("unit", "behind")], axis=0)
        needs_unit = bool(self.unit) and not _is_currency(self.unit)
        good = as_mask(found.is_valid()) & (n_minus <= 1) & (n_units <= 1)
        good &= as_mask(pc.equal(n_open, pc.utf8_length(part["close"])))
        good &= (n_units == 1) | (values == 0) | (not needs_unit)
        wrong = as_mask(column.is_valid()) & ~good
        return np.where(good, np.where(n_minus == 1, -values, values), np.nan), wrong

    def description(self) -> str:
        """How they are written, in words; "" for numbers as programs write them."""
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
        """What is not as programs write it: usually nothing."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        other = {k: v for k, v in values.items() if v != getattr(PLAIN, k)}
        return {k: list(v) if k == "gaps" else v for k, v in other.items()}

    @classmethod
    def from_dict(cls, entry: Any) -> Self:
        """What `as_dict` gave; a ValueError for anything else."""
        known = {field.name for field in fields(cls)}
        if not isinstance(entry, dict) or not entry.keys() <= known:
            raise ValueError("numerals: not those of a column of numbers.")
        made = cls(**{**entry, "gaps": tuple(entry.get("gaps", ()))})
        fits = (
            made.decimal in DECIMALS
            and made.thousands in ("", *THOUSANDS)
            and made.thousands != made.decimal
            and isinstance(made.unit, str)
            and len(made.unit) <= 20
            and made.form in ("", "marked", *FORMS)
            and all(isinstance(gap, float) for gap in made.gaps)
        )
        if not fits:
            raise ValueError("numerals: not those of a column of numbers.")
        return made


PLAIN = Numerals()


@dataclass(frozen=True)
class Reading:
    """How numbers are written, how many values are not read then, and another way to read them."""

    numerals: Numerals
    wrong: int
    other: Numerals | None = None


def find_numerals(
    distinct: Any,
    counts: NDArray[np.int64],
    most_wrong: float,
    decimal: str | None = None,
    thousands: str | None = None,
) -> Reading | None:
    """The way in which all but a few values are numbers, if there is one.

    Parameters
    ----------
    distinct : Arrow array
        The different values of a column, as `normal` writes them.
    counts : ndarray of int
        How often each of them is there.
    most_wrong : float
        How many values may be no numbers.
    decimal, thousands : str, optional
        The marks that were given.
    """
    parts = pc.extract_regex(distinct, _SHAPE)
    shaped = as_mask(parts.is_valid())
    if counts[~shaped].sum() > most_wrong:
        return None
    body = pc.utf8_trim_whitespace(pc.struct_field(parts, "body").drop_null())
    unit, numbers = _unit_of(parts, counts, shaped)
    marks = {mark for mark in ".,' " if pc.any(pc.match_substring(body, mark)).as_py()}
    found = []
    for point in [decimal] if decimal else DECIMALS if marks & set(DECIMALS) else ".":
        for mark in ["", *([thousands] if thousands else (t for t in THOUSANDS if t in marks))]:
            if mark != point:
                candidate = Numerals(point, mark, unit, "marked")
                wrong = int(counts[candidate.parsed(distinct)[1]].sum())
                found.append(Reading(candidate, wrong))
    least = min(each.wrong for each in found)
    best = [each for each in found if each.wrong == least]
    labels = unit and len(numbers) < _LEAST_NUMBERS and (len(numbers) > 1 or least)
    if least > most_wrong or least == counts.sum() or labels:  # such as "1. White"
        return None
    if len(best) > 1 and pc.any(pc.match_substring_regex(distinct, _NEVER_MARKED)).as_py():
        best = [each for each in best if not each.numerals.thousands] or best
    if len(best) > 1 and (thousands or _always_three_digits(body, counts[shaped], unit, marks)):
        best = [each for each in best if each.numerals.thousands] or best
    best.sort(key=lambda each: each.numerals.decimal != ".")
    other = best[1].numerals if len(best) > 1 else None
    return Reading(best[0].numerals, least, other)


def find_form(distinct: Any, counts: NDArray[np.int64], most_wrong: float) -> Reading | None:
    """The form in which all but a few values are written, if there is one."""
    found = [
        Reading(Numerals(form=name), int(counts[form.parsed(distinct)[1]].sum()))
        for name, form in FORMS.items()
    ]
    best = min(found, key=lambda each: each.wrong)
    return best if best.wrong <= most_wrong and best.wrong < counts.sum() else None


def several_units(distinct: Any) -> list[str]:
    """The units of values that are all numbers, each with one of a few units, or with two."""
    parts = pc.extract_regex(distinct, _SHAPE)
    if parts.null_count or len(distinct) < 2 * _MOST_UNITS:
        return []
    pairs = {(before, _split(before, after)[1]) for before, after in _sides(parts)}
    units = {before + unit for before, unit in pairs}
    both = any(before and unit for before, unit in pairs)
    return sorted(units) if both or 2 <= len(units) <= _MOST_UNITS else []


def usual_decimal(numerals: Iterable[Numerals]) -> str | None:
    """A comma, if columns have it as decimal mark or a point between thousands, and none others."""
    marks = {(each.decimal, each.thousands) for each in numerals if each.form not in FORMS}
    decimal = any(decimal == "," for decimal, _ in marks)
    return "," if decimal and not any(thousands == "," for _, thousands in marks) else None


def normal(column: Any) -> Any:
    """Text with one kind of space, apostrophe and minus."""
    for several, one in (("[\u00a0\u202f\u2009]", " "), ("’", "'"), ("[−–]", "-")):
        column = pc.replace_substring_regex(column, several, one)
    return column


def _sides(parts: Any) -> list[tuple[str, str]]:
    """What stands before and behind the digits of each value, or two empty texts."""
    sides = (pc.fill_null(pc.struct_field(parts, key), "") for key in ("before", "after"))
    return list(zip(*(side.to_pylist() for side in sides), strict=True))


def _split(before: str, after: str) -> tuple[str, str]:
    """What stands behind a number as a word that multiplies it, and a unit."""
    first, _, rest = after.strip().partition(" ")
    money = bool(before) or _is_currency(rest)
    is_unit = first in _OF_MONEY or (after.startswith(" ") and first in _WITHOUT_BLANK)
    if first in _MULTIPLES and (money or not is_unit):
        return first, rest
    if first[:1] in _MULTIPLES and _is_currency(first[1:]):
        return first[0], first[1:]
    return "", after.strip(" .,")


def _unit_of(parts: Any, counts: NDArray[np.int64], shaped: Mask) -> tuple[str, set[str]]:
    """The unit of most values, and the different numbers that have it."""
    weights: dict[str, int] = {}
    numbers: dict[str, set[str]] = {}
    bodies = pc.struct_field(parts, "body").to_pylist()
    for (before, after), body, n, good in zip(_sides(parts), bodies, counts, shaped, strict=True):
        if good:
            unit = before or _split(before, after)[1]
            weights[unit] = weights.get(unit, 0) + int(n)
            numbers.setdefault(unit, set()).add(body)
    unit = max(weights, key=lambda u: (bool(u), weights[u])) if weights else ""
    return unit, numbers.get(unit, set())


def _always_three_digits(body: Any, counts: NDArray[np.int64], unit: str, marks: set[str]) -> bool:
    """Whether marks before three digits are between thousands: decimals would be rounded off.

    That is so of money, and of commas where numbers up to 999 have none.
    """
    if _is_currency(unit):
        return True
    plain = as_mask(pc.match_substring_regex(body, "^[0-9]+$"))
    return "," in marks and counts[~plain].sum() >= _MARKED and counts[plain].sum() >= _UNMARKED


def _is_currency(unit: str) -> bool:
    return unit in _CODES or (len(unit) == 1 and unit in _CURRENCIES)


def as_mask(column: Any) -> Mask:
    """True where a column of Arrow has it, and nowhere else."""
    return np.asarray(pc.fill_null(column, False).to_numpy(zero_copy_only=False), bool)
