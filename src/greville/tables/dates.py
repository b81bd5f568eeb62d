"""Dates and times in other formats than ISO 8601, with names of months in several languages."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ._plain import Floats, Mask

# How the format of a column is called if it is ISO 8601, or counts from 1970; and what stands
# between the formats of a column that has several.
ISO, SECONDS, MILLISECONDS = "", "seconds", "milliseconds"
PER_DAY = {SECONDS: 86_400.0, MILLISECONDS: 86_400e3}
_OR, WRITTEN_ISO = " or ", "ISO 8601"

# The first letters of months in English, German, French, Spanish, Italian, Dutch and Portuguese.
_MONTHS = {
    **dict.fromkeys(("jan", "gen", "ene", "janv"), 1),
    **dict.fromkeys(("feb", "fev", "fév", "febr", "fevr", "févr"), 2),
    **dict.fromkeys(("mar", "mär", "mrz", "maa", "mrt"), 3),
    **dict.fromkeys(("apr", "avr", "abr"), 4),
    **dict.fromkeys(("may", "mai", "mag", "mei"), 5),
    **dict.fromkeys(("jun", "giu", "juin"), 6),
    **dict.fromkeys(("jul", "lug", "juil"), 7),
    **dict.fromkeys(("aug", "aoû", "aou", "ago"), 8),
    **dict.fromkeys(("sep", "set"), 9),
    **dict.fromkeys(("oct", "okt", "ott", "out"), 10),
    **dict.fromkeys(("nov",), 11),
    **dict.fromkeys(("dec", "déc", "dez", "dic"), 12),
}

_DIRECTIVES = {
    "%d": "[0-9]{1,2}",
    "%m": "[0-9]{1,2}",
    "%Y": "[0-9]{4}",
    "%y": "[0-9]{2}",
    "%j": "[0-9]{3}",
    "%b": r"\pL{3,10}\.?",
    "%B": r"\pL{3,10}\.?",
    "%a": r"\pL{2,10}\.?",
    "%H": "[0-9]{1,2}",
    "%I": "[0-9]{1,2}",
    "%M": "[0-9]{2}",
    "%S": "[0-9]{2}",
    "%f": "[0-9]{1,6}",
    "%p": r"[AaPp]\.?[Mm]\.?",
    "%z": "[-+][0-9]{2}:?[0-9]{2}|GMT|UTC?|Z",
}

# What is looked for, and a value of each. Where two of them differ only in the order of day, month
# and year, a column may admit both.
DATES = {
    "%d/%m/%Y": "31/12/2020",
    "%m/%d/%Y": "12/31/2020",
    "%Y/%m/%d": "2020/12/31",
    "%d.%m.%Y": "31.12.2020",
    "%Y.%m.%d": "2020.12.31",
    "%d-%m-%Y": "31-12-2020",
    "%m-%d-%Y": "12-31-2020",
    "%d/%m/%y": "31/12/20",
    "%m/%d/%y": "12/31/20",
    "%d.%m.%y": "31.12.20",
    "%y-%m-%d": "20-12-31",
    "%d-%m-%y": "31-12-20",
    "%m-%d-%y": "12-31-20",
    "%Y-%j": "2020-366",
    "%b %d %Y": "Dec 31 2020",
    "%b %d, %Y": "December 31, 2020",
    "%d %b %Y": "31 Dec 2020",
    "%d-%b-%Y": "31-Dec-2020",
    "%d-%b-%y": "31-Dec-20",
    "%d. %b %Y": "31. Dezember 2020",
    "%b-%d-%Y": "Dec-31-2020",
    "%a %d %b %Y": "Thu 31 Dec 2020",
    "%a, %d %b %Y": "Thu, 31 Dec 2020",
    "%a, %d. %b %Y": "Do, 31. Dez 2020",
    "%a %b %d %Y": "Thu Dec 31 2020",
}
MONTHLY = {
    "%Y-%m": "2020-12",
    "%Y/%m": "2020/12",
    "%m/%Y": "12/2020",
    "%m.%Y": "12.2020",
    "%b %Y": "Dec 2020",
    "%b-%Y": "Dec-2020",
    "%Y %b": "2020 Dec",
}
CLOCKS = {
    "%H:%M": "18:30",
    "%H:%M:%S": "18:30:05",
    "%H:%M:%S.%f": "18:30:05.25",
    "%I:%M %p": "6:30 PM",
    "%I:%M:%S %p": "6:30:05 PM",
    "%I:%M%p": "6:30PM",
}
_ZONED = ("%H:%M:%S %z", "%H:%M %z")
_CANDIDATES = (
    *DATES,
    *(f"{date} {clock}" for date in DATES for clock in (*CLOCKS, *_ZONED)),
    *(f"{date}T{clock}" for date in DATES for clock in tuple(CLOCKS)[:3]),
    *CLOCKS,
    *MONTHLY,
    "%a %b %d %H:%M:%S %Y",
    "%d/%b/%Y:%H:%M:%S %z",
)


def check_format(format: str) -> None:
    """Raise a ValueError if it is no format of dates."""
    known = " ".join(_DIRECTIVES)
    for one in format.split(_OR):
        if one in (SECONDS, MILLISECONDS, WRITTEN_ISO):
            continue
        parts = re.findall("%.?", one)
        for part in parts:
            if part not in _DIRECTIVES:
                raise ValueError(
                    f"{part!r} is not known; use {known}, {SECONDS} or {MILLISECONDS}."
                )
        names = [part[1].replace("B", "b") for part in parts]
        of_date = set(names) & set("dmbjYy")
        months = set(names) & set("mb")
        dated = len(of_date & set("Yy")) == 1 and (len(months) == 1) != ("j" in of_date)
        fits = len(set(names)) == len(names) and (dated or not of_date)
        if not parts or not fits:
            raise ValueError(
                f"it must have a month and a year, or only a time, each once; use {known}, "
                f"{SECONDS} or {MILLISECONDS}."
            )


def has_date(format: str) -> bool:
    """Whether it is more than a time of day."""
    if format in (ISO, SECONDS, MILLISECONDS):
        return True
    return any(each in format for each in ("%Y", "%y", WRITTEN_ISO))


def find_formats(distinct: Any, counts: NDArray[np.int64], most_wrong: float) -> list[str]:
    """The formats that read most of some values, all but so many: several if all read the same.

    If no format does, it may be two of them together.
    """
    some = distinct[:: max(1, len(distinct) // 20)].to_pylist()
    if not any(character.isdigit() for text in some for character in text):
        return []
    wrong = {}
    for format in _CANDIDATES:
        reads = sum(map(bool, map(_compiled(format).match, some)))
        if 5 * reads >= len(some):
            wrong[format] = parsed(distinct, format)[1]
    n = {format: int(counts[each].sum()) for format, each in wrong.items()}
    least = min(n.values(), default=np.inf)
    if least <= most_wrong:
        return [format for format in n if n[format] == least]
    wrong[WRITTEN_ISO] = parsed(distinct, WRITTEN_ISO)[1]
    both = {
        f"{one}{_OR}{two}": int(counts[wrong[one] & wrong[two]].sum())
        for i, one in enumerate(wrong)
        for two in list(wrong)[i + 1 :]
        if has_date(one) and has_date(two)
    }
    least = min(both.values(), default=np.inf)
    found = [each for each, m in both.items() if m == least <= most_wrong]
    return found if least < min(n.values(), default=np.inf) else []


def parsed(column: Any, format: str) -> tuple[Floats, Mask]:
    """Text without spaces around it as days since 1970, and which values are none.

    A time of day is a part of a day. Of several formats, the first that reads a value counts.
    """
    one, _, more = format.partition(_OR)
    if more:
        (days, wrong), (others, still) = parsed(column, one), parsed(column, more)
        return np.where(wrong, others, days), wrong & still
    if format == WRITTEN_ISO:
        return parsed_iso(column)
    found = pc.extract_regex(column, _pattern(format))
    matched = found.is_valid().to_numpy(zero_copy_only=False)
    present = column.is_valid().to_numpy(zero_copy_only=False)
    parts = {field.name: pc.struct_field(found, field.name) for field in found.type}
    days, valid = _days(parts, matched)
    clock, valid_clock = _clock(parts, matched)
    good = matched & valid & valid_clock
    return np.where(good, days + clock, np.nan), present & ~good


def parsed_iso(column: Any) -> tuple[Floats, Mask]:
    """Text as written in ISO 8601 as days since 1970 in UTC, and which values are none."""
    wrong = np.zeros(len(column), bool)
    for zone in (None, "UTC"):
        try:
            return days_of(pc.cast(column, pa.timestamp("us", zone))), wrong
        except pa.ArrowInvalid:
            continue
    kinds = pc.dictionary_encode(pc.fill_null(column, ""))
    times = [_time(text) for text in kinds.dictionary.to_pylist()]
    days = np.r_[days_of(pa.array([time or None for time in times], pa.timestamp("us"))), np.nan]
    places = kinds.indices.to_numpy()
    return days[places], np.array([time is False for time in times], bool)[places]


def days_of(times: Any) -> Floats:
    """Times of Arrow as days since 1970 in UTC, nan where one is missing."""
    microseconds = pc.cast(pc.cast(times, pa.int64()), pa.float64(), safe=False)
    return np.asarray(microseconds.to_numpy(zero_copy_only=False), np.float64) / 86_400e6


def _time(text: str) -> datetime | bool | None:
    """A time as ISO 8601 has it; False for what is none."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
        return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return False


def _days(parts: dict[str, Any], matched: Mask) -> tuple[Any, Mask]:
    if "Y" not in parts and "y" not in parts:
        return 0.0, matched
    year = _whole(parts["Y"] if "Y" in parts else parts["y"])
    if "Y" not in parts:
        year = year + np.where(year < 69, 2000, 1900)  # as POSIX has it
    day = _whole(parts[next(key for key in "dj" if key in parts)]) if {"d", "j"} & set(parts) else 1
    month: Any = 1
    if "m" in parts:
        month = _whole(parts["m"])
    elif "b" in parts:
        month = _month_numbers(parts["b"])
    valid = matched & (month >= 1) & (month <= 12) & (day >= 1) & (year >= 1)
    months = np.where(valid, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (np.where(valid, day, 1) - 1)
    unit = "datetime64[Y]" if "j" in parts else "datetime64[M]"
    valid &= days.astype(unit) == months.astype(unit)  # no 31 June
    return days.astype(np.float64), valid


def _clock(parts: dict[str, Any], matched: Mask) -> tuple[Any, Mask]:
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
    if "z" in parts:
        offset = pc.replace_substring_regex(parts["z"], ":|[A-Z]+", "")
        whole = _whole(pc.if_else(pc.equal(offset, ""), "0", offset))
        seconds = seconds - np.sign(whole) * (
            np.abs(whole) // 100 * 3600 + np.abs(whole) % 100 * 60
        )
    return seconds / 86_400, valid


def _whole(text: Any) -> NDArray[np.int64]:
    text = pc.replace_substring_regex(text, "^[+]", "")
    return pc.fill_null(pc.cast(text, "int64"), 0).to_numpy(zero_copy_only=False)


def _month_numbers(names: Any) -> NDArray[np.int64]:
    kinds = pc.dictionary_encode(pc.fill_null(pc.utf8_lower(names), ""))
    numbers = np.array([_month_number(name) for name in kinds.dictionary.to_pylist()], np.int64)
    return numbers[kinds.indices.to_numpy()]


def _month_number(name: str) -> int:
    """The number of a month from its name or the first letters of that, or 0."""
    name = name.removesuffix(".")
    return _MONTHS.get(name[:4], _MONTHS.get(name[:3], 0))


@cache
def _compiled(format: str) -> re.Pattern[str]:
    return re.compile(_pattern(format).replace(r"\pL", r"[^\W\d_]"))


@cache
def _pattern(format: str) -> str:
    # Without anything between numbers, or with short years, all digits must be there.
    strict = "%y" in format or bool(re.search("%[dmYHMS]%[dmYHMS]", format))
    named = "%b" in format or "%B" in format
    pattern = ""
    for part in re.findall("%.|[^%]", format):
        digits = _DIRECTIVES.get(part)
        if digits is None:
            pattern += " +" if part == " " else re.escape(part)
            continue
        if strict and part in ("%d", "%m", "%H") and not named:
            digits = "[0-9]{2}"
        pattern += f"(?P<{part[1].replace('B', 'b')}>{digits})"
        if part == "%d" and named:
            pattern += "(?:st|nd|rd|th)?"
    return f"^{pattern}$"
