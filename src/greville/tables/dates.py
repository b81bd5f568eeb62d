"""Dates and times in other formats than ISO 8601, with names of months in several languages."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ._values import Parse, Texts

# How the format of a column is called if it is ISO 8601, or counts from 1970; and what stands
# between the formats of a column that has several.
ISO, SECONDS, MILLISECONDS = "", "seconds", "milliseconds"
PER_DAY = {SECONDS: 86_400.0, MILLISECONDS: 86_400e3}
_OR, WRITTEN_ISO = " or ", "ISO 8601"

_EPOCH = datetime(1970, 1, 1)

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
    "%b": r"[^\W\d_]{3,10}\.?",
    "%B": r"[^\W\d_]{3,10}\.?",
    "%a": r"[^\W\d_]{2,10}\.?",
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
    """Raise a ValueError if a text is no date format."""
    known = f"{' '.join(_DIRECTIVES)}, {SECONDS} or {MILLISECONDS}"
    for one in format.split(_OR):
        if one in (SECONDS, MILLISECONDS, WRITTEN_ISO):
            continue
        parts = re.findall("%.?", one)
        unknown = [part for part in parts if part not in _DIRECTIVES]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not known; use {known}.")
        names = [part[1].replace("B", "b") for part in parts]
        of_date = set(names) & set("dmbjYy")
        dated = len(of_date & set("Yy")) == 1 and (len(of_date & set("mb")) == 1) != (
            "j" in of_date
        )
        if not parts or len(set(names)) < len(names) or not (dated or not of_date):
            raise ValueError(
                f"it must have a month and a year, or only a time, each once; use {known}."
            )


def has_date(format: str) -> bool:
    """Whether the format has a date, and not only a time of day."""
    if format in (ISO, SECONDS, MILLISECONDS):
        return True
    return any(each in format for each in ("%Y", "%y", WRITTEN_ISO))


def find_formats(texts: Texts, most_wrong: float) -> list[str]:
    """The formats that read most of some values, all but so many: several if all read the same.

    If no format does, it may be two of them together.
    """
    some = texts.distinct[:: max(1, len(texts.distinct) // 20)]
    if not any(character.isdigit() for text in some for character in text):
        return []
    likely = [f for f in _CANDIDATES if 5 * sum(map(bool, map(_pattern(f), some))) >= len(some)]
    masks = {format: np.isnan(texts.read(reader(format))) for format in [*likely, WRITTEN_ISO]}
    n = {format: texts.number_of(masks[format]) for format in likely}
    least = min(n.values(), default=np.inf)
    if least > most_wrong:
        dated = [format for format in masks if has_date(format)]
        pairs = combinations(dated, 2)
        n = {f"{a}{_OR}{b}": texts.number_of(masks[a] & masks[b]) for a, b in pairs}
        before, least = least, min(n.values(), default=np.inf)
        if least > most_wrong or least >= before:
            return []
    return [format for format in n if n[format] == least]


@cache
def reader(format: str) -> Parse:
    """Return a function that reads text as days since 1970; None for text of another form.

    A time of day is a part of a day. Of several formats, the first that reads a value counts.
    """
    one, _, more = format.partition(_OR)
    if more:
        first, second = reader(one), reader(more)
        return lambda text: second(text) if (days := first(text)) is None else days
    if format == WRITTEN_ISO:
        return _iso
    match = _pattern(format)

    def read(text: str) -> float | None:
        matched = match(text)
        return None if matched is None else _days(matched.groupdict())

    return read


def _iso(text: str) -> float | None:
    """A time as ISO 8601 has it, in UTC."""
    try:
        time = datetime.fromisoformat(text)
        time = time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
        return (time - _EPOCH) / timedelta(days=1)
    except (ValueError, OverflowError):
        return None


def _days(parts: dict[str, str]) -> float | None:
    """The days since 1970 that the parts of a date and a time of day are; None if there is none."""
    days, clock = 0, _clock(parts)
    if "Y" in parts or "y" in parts:
        year = int(parts.get("Y") or parts["y"])
        if "Y" not in parts:
            year += 2000 if year < 69 else 1900  # as POSIX has it
        month = _month_number(parts["b"].lower()) if "b" in parts else int(parts.get("m", 1))
        day = int(parts.get("d", parts.get("j", 1)))
        try:
            first = date(year, month, 1 if "j" in parts else day)
            days = first.toordinal() - _EPOCH.toordinal() + (day - 1) * ("j" in parts)
            if "j" in parts and not 1 <= day <= date(year, 12, 31).timetuple().tm_yday:
                return None
        except ValueError:  # no 31 June
            return None
    return None if clock is None else days + clock


def _clock(parts: dict[str, str]) -> float | None:
    """The part of a day that a time of day is; None if there is none."""
    hour, minute, second = (int(parts.get(key, 0)) for key in "HMS")
    if "I" in parts:
        if not 1 <= int(parts["I"]) <= 12:
            return None
        hour = int(parts["I"]) % 12 + 12 * parts.get("p", "").lower().startswith("p")
    if hour > 23 or minute > 59 or second > 59:
        return None
    seconds = 3600 * hour + 60 * minute + second + float(f"0.{parts.get('f', 0)}")
    offset = re.sub(":|[A-Z]+", "", parts.get("z", ""))
    if offset:
        seconds -= int(f"{offset[0]}1") * (int(offset[1:3]) * 3600 + int(offset[3:]) * 60)
    return seconds / 86_400


def _month_number(name: str) -> int:
    """The number of a month from its name or the first letters of that, or 0."""
    name = name.removesuffix(".")
    return _MONTHS.get(name[:4], _MONTHS.get(name[:3], 0))


@cache
def _pattern(format: str) -> Callable[[str], re.Match[str] | None]:
    """Return the pattern that finds the parts of a time in text."""
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
    return re.compile(pattern).fullmatch
