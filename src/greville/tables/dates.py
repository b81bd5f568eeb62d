"""Dates and times in other formats than ISO 8601, in any locale with English names of months."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

# How the format of a column is called if it is ISO 8601, or counts from 1970.
ISO, SECONDS, MILLISECONDS = "", "seconds", "milliseconds"
PER_DAY = {SECONDS: 86_400.0, MILLISECONDS: 86_400e3}

_MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH = {name: i % 12 + 1 for i, name in enumerate(_MONTHS)} | {"sept": 9}

_DIRECTIVES = {
    "%d": "[0-9]{1,2}",
    "%m": "[0-9]{1,2}",
    "%Y": "[0-9]{4}",
    "%y": "[0-9]{2}",
    "%b": "[A-Za-z]{3,9}",
    "%B": "[A-Za-z]{3,9}",
    "%a": "[A-Za-z]{3,9}",
    "%H": "[0-9]{1,2}",
    "%I": "[0-9]{1,2}",
    "%M": "[0-9]{2}",
    "%S": "[0-9]{2}",
    "%f": "[0-9]{1,6}",
    "%p": r"[AaPp]\.?[Mm]\.?",
}

# What is looked for. Where two of them differ only in the order of day and month, a column may
# admit both.
_DATES = (
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%Y.%m.%d",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d.%m.%y",
    "%b %d %Y",
    "%b %d, %Y",
    "%d %b %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%d. %b %Y",
    "%b-%d-%Y",
    "%a %d %b %Y",
    "%a, %d %b %Y",
    "%a %b %d %Y",
)
_MONTHLY = ("%Y-%m", "%Y/%m", "%m/%Y", "%m.%Y", "%b %Y", "%b-%Y", "%Y %b")
_CLOCKS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p")
_CANDIDATES = (
    *_DATES,
    *(f"{date} {clock}" for date in _DATES for clock in _CLOCKS),
    *(f"{date}T{clock}" for date in _DATES for clock in _CLOCKS[:3]),
    *_CLOCKS,
    *_MONTHLY,
)


def check_format(format: str) -> None:
    """Raise a ValueError if it is no format of dates."""
    if format in (SECONDS, MILLISECONDS):
        return
    known = " ".join(_DIRECTIVES)
    parts = re.findall("%.?", format)
    for part in parts:
        if part not in _DIRECTIVES:
            raise ValueError(f"{part!r} is not known; use {known}, {SECONDS} or {MILLISECONDS}.")
    names = [part[1].replace("B", "b") for part in parts]
    given = set(names) & set("dmbYy")
    dated = len(given & set("Yy")) == len(given & set("mb")) == 1
    fits = len(set(names)) == len(names) and (dated or not given)
    if not parts or not fits:
        raise ValueError(
            f"it must have a month and a year, or only a time, each once; use {known}, "
            f"{SECONDS} or {MILLISECONDS}."
        )


def has_date(format: str) -> bool:
    """Whether it is more than a time of day."""
    return format in (ISO, SECONDS, MILLISECONDS) or "%Y" in format or "%y" in format


def candidates(sample: list[str]) -> list[str]:
    """The formats in which at least half of some values are written."""
    if not any(character.isdigit() for text in sample for character in text):
        return []
    found = []
    for format in _CANDIDATES:
        reads = _compiled(format).match
        if 2 * sum(bool(reads(text)) for text in sample) >= len(sample):
            found.append(format)
    return found


def parsed(column: Any, format: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Text without spaces around it as days since 1970, and which values are none.

    A time of day is a part of a day.
    """
    found = pc.extract_regex(column, _pattern(format))
    matched = found.is_valid().to_numpy(zero_copy_only=False)
    present = column.is_valid().to_numpy(zero_copy_only=False)
    parts = {field.name: pc.struct_field(found, field.name) for field in found.type}
    days, valid = _days(parts, matched)
    clock, valid_clock = _clock(parts, matched)
    good = matched & valid & valid_clock
    return np.where(good, days + clock, np.nan), present & ~good


def _days(parts: dict[str, Any], matched: Any) -> tuple[Any, Any]:
    if "Y" not in parts and "y" not in parts:
        return 0.0, matched
    day = _whole(parts["d"]) if "d" in parts else np.ones(len(matched), np.int64)
    year = _whole(parts["Y"] if "Y" in parts else parts["y"])
    if "Y" not in parts:
        year = year + np.where(year < 69, 2000, 1900)  # as POSIX has it
    month = _whole(parts["m"]) if "m" in parts else _month_numbers(parts["b"])
    valid = matched & (month >= 1) & (month <= 12) & (day >= 1) & (year >= 1)
    months = np.where(valid, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (np.where(valid, day, 1) - 1)
    valid &= days.astype("datetime64[M]") == months  # no 31 June
    return days.astype(np.float64), valid


def _clock(parts: dict[str, Any], matched: Any) -> tuple[Any, Any]:
    zeros = np.zeros(len(matched), np.int64)
    hour, minute, second = (_whole(parts[k]) if k in parts else zeros for k in "HMS")
    valid = (hour < 24) & (minute < 60) & (second < 60)
    if "I" in parts:
        hour = _whole(parts["I"])
        valid &= (hour >= 1) & (hour <= 12)
        hour = hour % 12
        if "p" in parts:
            late = pc.fill_null(pc.starts_with(pc.utf8_lower(parts["p"]), "p"), False)
            hour = hour + 12 * late.to_numpy(zero_copy_only=False)
    seconds = 3600 * hour + 60 * minute + second + zeros.astype(float)
    if "f" in parts:
        padded = pc.utf8_rpad(pc.fill_null(parts["f"], "0"), 6, "0")
        seconds = seconds + _whole(padded) / 1e6
    return seconds / 86_400, valid


def _whole(text: Any) -> NDArray[np.int64]:
    return pc.fill_null(pc.cast(text, "int64"), 0).to_numpy(zero_copy_only=False)


def _month_numbers(names: Any) -> NDArray[np.int64]:
    numbers = [_MONTH.get(name or "", 0) for name in pc.utf8_lower(names).to_pylist()]
    return np.array(numbers, np.int64)


@cache
def _compiled(format: str) -> re.Pattern[str]:
    return re.compile(_pattern(format))


@cache
def _pattern(format: str) -> str:
    # Without anything between numbers, or with short years, all digits must be there.
    strict = "%y" in format or bool(re.search("%[dmYHMS]%[dmYHMS]", format))
    pattern = ""
    for part in re.findall("%.|[^%]", format):
        digits = _DIRECTIVES.get(part)
        if digits is None:
            pattern += " +" if part == " " else re.escape(part)
            continue
        if strict and part in ("%d", "%m", "%H"):
            digits = "[0-9]{2}"
        pattern += f"(?P<{part[1].replace('B', 'b')}>{digits})"
    return f"^{pattern}$"
