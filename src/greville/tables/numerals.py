"""Numbers as people write them: 3,14 and 1,234.50, $5, 45 %, (1.5) and 12 kg."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

DECIMALS = (".", ",")
THOUSANDS = (",", ".", " ", "'")

_CURRENCIES = "$€£¥₹₽₩₺₫₱₴฿"
_CODES = ("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "AUD", "CAD", "SEK", "NOK", "DKK", "US$")

# A number with whatever is around it: a sign, a currency, digits with marks, a unit.
_SHAPE = re.compile(
    r"\(?[-+]?(?P<before>{before})? ?[-+]?"
    r"(?P<body>[0-9.,' ]*[0-9][.,]?(?:[eE][-+]?[0-9]+)?) ?"
    r"(?P<after>[^\W\d_][^\s\d().,]{{0,9}}|[%‰°{signs}][^\s\d().,]{{0,3}})?\)?".format(
        before="|".join(map(re.escape, (*_CODES, *_CURRENCIES))), signs=re.escape(_CURRENCIES)
    )
)

# Numbers with a mark before exactly three digits, and without one, from which it is no decimal
# mark: of so many decimals, some would end with a zero that is not written.
_MARKED, _UNMARKED = 30, 10

# A column has a few units, or none.
_MOST_UNITS = 5

# Text with so many digits and no mark was not written by someone who uses marks.
_NEVER_MARKED = re.compile(r"(?<![0-9.,' ])[0-9]{5,}")


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
    parentheses : bool
        Whether (1.5) is -1.5.
    gaps : tuple of float
        Numbers that stand for a missing value, such as -999.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    parentheses: bool = False
    gaps: tuple[float, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether text is written as programs do."""
        return not (self.thousands or self.unit or self.parentheses) and self.decimal == "."

    @cached_property
    def pattern(self) -> str:
        """A regular expression of all that can be read, and of nothing else."""
        decimal, mark, unit = map(re.escape, (self.decimal, self.thousands, self.unit))
        whole = rf"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+|[0-9]+" if mark else "[0-9]+"
        if self.thousands == ",":  # 12,34,567, as in India
            whole += "|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"
        body = rf"(?:(?:{whole})(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][-+]?[0-9]+)?"
        number = f"[-+]?{body}"
        if unit:
            number = f"[-+]?{unit} ?{body}|{unit} ?[-+]?{body}|[-+]?{body} ?{unit}"
            zero = f"|0+(?:{decimal}0*)?"
            number += f"|[-+]?{body}" if _is_currency(self.unit) else zero
        if self.parentheses:
            within = f"{unit} ?{body}|{body} ?{unit}|{body}" if unit else body
            number += rf"|\((?:{within})\)"
            number += rf"|{unit} ?\({body}\)" if unit else ""
        return f"^(?:{number})$"

    def parsed(self, column: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Text without spaces around it as numbers, and which values are none."""
        column = normal(column)
        fits = pc.fill_null(pc.match_substring_regex(column, self.pattern), False)
        wrong = pc.and_(pc.invert(fits), column.is_valid())
        text = pc.if_else(fits, column, None)
        if self.unit:
            text = pc.replace_substring(text, self.unit, "")
        negative = pc.fill_null(pc.match_substring(text, "("), False)
        text = pc.replace_substring_regex(text, rf"[() {re.escape(self.thousands)}]", "")
        text = pc.replace_substring(text, self.decimal, ".")
        values = pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False)
        negative, wrong = (m.to_numpy(zero_copy_only=False) for m in (negative, wrong))
        return np.where(negative, -values, values), wrong

    def description(self) -> str:
        """How they are written, in words; "" for numbers as programs write them."""
        names = {",": "a comma", ".": "a point", " ": "a space", "'": "an apostrophe"}
        parts = ["a decimal comma"] if self.decimal != "." else []
        if self.thousands:
            parts.append(f"{names[self.thousands]} between thousands")
        if self.unit:
            parts.append(repr(self.unit))
        if self.parentheses:
            parts.append("parentheses for negative ones")
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
            and len(made.unit) <= 16
            and isinstance(made.parentheses, bool)
            and all(isinstance(gap, float) for gap in made.gaps)
        )
        if not fits:
            raise ValueError("numerals: not those of a column of numbers.")
        return made


PLAIN = Numerals()


@dataclass(frozen=True)
class Found:
    """How numbers are written, how many values are not read then, and another way to read them."""

    numerals: Numerals
    wrong: int
    other: Numerals | None = None


def find_numerals(
    counts: Mapping[str, int], most_wrong: float, decimal: str | None, thousands: str | None
) -> Found | None:
    """The way in which all but a few values are numbers, if there is one.

    Parameters
    ----------
    counts : mapping of str to int
        The different values of a column, as `normal` writes them, and how often each is there.
    most_wrong : float
        How many values may be no numbers.
    decimal, thousands : str, optional
        The marks that were asked for.
    """
    shapes = {text: _SHAPE.fullmatch(text) for text in counts}
    wrong = sum(counts[text] for text, shape in shapes.items() if shape is None)
    if wrong > most_wrong:
        return None
    known = {text: shape for text, shape in shapes.items() if shape is not None}
    units: Counter[str] = Counter()
    for text, shape in known.items():
        units[shape["before"] or shape["after"] or ""] += counts[text]
    unit = max(units, key=lambda u: (bool(u), units[u])) if units else ""
    parentheses = any(text.startswith("(") or "(" in text for text in known)
    marks = {mark for shape in known.values() for mark in shape["body"] if mark in ".,' "}
    found = []
    for point in [decimal] if decimal else DECIMALS if marks & set(DECIMALS) else ".":
        for mark in ["", *([thousands] if thousands else (t for t in THOUSANDS if t in marks))]:
            if mark != point:
                candidate = Numerals(point, mark, unit, parentheses)
                found.append(Found(candidate, _n_wrong(candidate, counts)))
    found = [each for each in found if each.wrong <= most_wrong]
    if not found:
        return None
    least = min(each.wrong for each in found)
    best = [each for each in found if each.wrong == least]
    if len(best) > 1 and any(map(_NEVER_MARKED.search, known)):
        best = [each for each in best if not each.numerals.thousands] or best
    if len(best) > 1 and "," in marks and _always_three_digits(known, counts, unit):
        best = [each for each in best if each.numerals.thousands] or best
    if len(best) > 1 and thousands:
        best = [each for each in best if each.numerals.thousands] or best
    best.sort(key=lambda each: each.numerals.decimal != ".")
    other = best[1].numerals if len(best) > 1 else None
    return Found(best[0].numerals, least, other)


def several_units(counts: Mapping[str, int]) -> list[str]:
    """The units of values that are all numbers, each with one of a few units, or with two."""
    shapes = [_SHAPE.fullmatch(text) for text in counts]
    if None in shapes or len(counts) < 2 * _MOST_UNITS:
        return []
    units = {(shape["before"] or "") + (shape["after"] or "") for shape in shapes if shape}
    both = any(shape["before"] and shape["after"] for shape in shapes if shape)
    return sorted(units) if both or 2 <= len(units) <= _MOST_UNITS else []


def _always_three_digits(
    shapes: Mapping[str, re.Match[str]], counts: Mapping[str, int], unit: str
) -> bool:
    """Whether marks before three digits are between thousands: decimals would be rounded off.

    That is so of money, and where numbers up to 999 have no mark.
    """
    bodies = {text: shape["body"].strip() for text, shape in shapes.items()}
    marked = sum(counts[text] for text, body in bodies.items() if not body.isdigit())
    unmarked = sum(counts[text] for text, body in bodies.items() if body.isdigit())
    return _is_currency(unit) or (marked >= _MARKED and unmarked >= _UNMARKED)


def usual_decimal(numerals: Iterable[Numerals]) -> str | None:
    """A comma, if it is the decimal mark of some columns and between thousands in none."""
    marks = {(each.decimal, each.thousands) for each in numerals}
    decimal = any(decimal == "," for decimal, _ in marks)
    return "," if decimal and not any(thousands == "," for _, thousands in marks) else None


def normal(column: Any) -> Any:
    """Text with one kind of space, apostrophe and minus."""
    for several, one in (("[\u00a0\u202f\u2009]", " "), ("’", "'"), ("[−–]", "-")):
        column = pc.replace_substring_regex(column, several, one)
    return column


def _n_wrong(numerals: Numerals, counts: Mapping[str, int]) -> int:
    reads = re.compile(numerals.pattern).match
    return sum(n for text, n in counts.items() if not reads(text))


def _is_currency(unit: str) -> bool:
    return unit in _CODES or (len(unit) == 1 and unit in _CURRENCIES)
