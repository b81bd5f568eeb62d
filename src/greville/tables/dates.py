"""Dates and times in other formats than ISO 8601, with names of months in several languages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache, partial
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
_CLOCKS_WITH_ZONES = {"%H:%M:%S %z": "18:30:05 Z", "%H:%M %z": "18:30 Z"}
_TIMES = {
    **{
        f"{date} {clock}": f"{example} {time}"
        for date, example in DATES.items()
        for clock, time in {**CLOCKS, **_CLOCKS_WITH_ZONES}.items()
    },
    **{
        f"{date}T{clock}": f"{example}T{time}"
        for date, example in DATES.items()
        for clock, time in list(CLOCKS.items())[:3]
    },
    "%a %b %d %H:%M:%S %Y": "Thu Dec 31 18:30:05 2020",
    "%d/%b/%Y:%H:%M:%S %z": "31/Dec/2020:18:30:05 +0000",
}

_DIRECTIVES = "d m Y y j b B a H I M S f p z"
_NAME, _STRICT = r"[^\W\d_]+", "%[yj]|%[dmYHMS]%[dmYHMS]"


def check_format(format: str) -> None:
    """Raise a ValueError if a text is no date format."""
    allowed = f"%{_DIRECTIVES.replace(' ', ' %')}, {SECONDS} or {MILLISECONDS}"
    for one in format.split(_OR):
        if one in (SECONDS, MILLISECONDS, WRITTEN_ISO):
            continue
        names = re.findall("%(.?)", one)
        unknown = [name for name in names if name not in _DIRECTIVES.split()]
        if unknown:
            raise ValueError(f"{'%' + unknown[0]!r} is not known; use {allowed}.")
        parts = "".join(part for part in "YydmbBj" if part in names)
        dated = re.fullmatch("([Yy](d?[mbB]|j))?", parts)
        if not names or len(set(names)) < len(names) or not dated:
            raise ValueError(
                f"it must have a month and a year, or only a time, each once; use {allowed}."
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
    shapes = Counter(map(_shape, some))
    likely = [
        f for shape, n in shapes.items() if 5 * n >= len(some) for f in _formats().get(shape, ())
    ]
    masks = {format: np.isnan(texts.read(reader(format))) for format in [*likely, WRITTEN_ISO]}
    n = {format: texts.number_of(masks[format]) for format in likely}
    least = min(n.values(), default=np.inf)
    if least > most_wrong:
        pairs = combinations(filter(has_date, masks), 2)
        n = {f"{a}{_OR}{b}": texts.number_of(masks[a] & masks[b]) for a, b in pairs}
        before, least = least, min(n.values(), default=np.inf)
        if least > most_wrong or least >= before:
            return []
    return [format for format in n if n[format] == least]


@cache
def _formats() -> dict[str, list[str]]:
    """The formats of each shape of text."""
    formats: dict[str, list[str]] = {}
    for format, example in {**DATES, **_TIMES, **CLOCKS, **MONTHLY}.items():
        formats.setdefault(_shape(example), []).append(format)
    return formats


def _shape(text: str) -> str:
    """A text with one digit for those that stand together, and one letter for a word."""
    text = re.sub(r"(?<= )[-+][0-9]{2}:?[0-9]{2}$", "Z", _without_endings(text))
    return " ".join(re.sub(_NAME, "a", re.sub("[0-9]+", "9", text)).split())


def _without_endings(text: str) -> str:
    """A text without the dots of abbreviations and the letters of 1st, 2nd, 3rd and 4th."""
    return re.sub(r"(?<=[0-9])(?:st|nd|rd|th)\b|(?<=[^\W\d_])\.", "", text)


@cache
def reader(format: str) -> Parse:
    """Return a function that reads text as days since 1970; None for text of another form.

    A time of day is a part of a day. Of several formats, the first that reads a value counts.
    """
    one, _, more = format.partition(_OR)
    if more:
        first, second = reader(one), reader(more)
        return lambda text: second(text) if (days := first(text)) is None else days
    return partial(_days, datetime.fromisoformat if format == WRITTEN_ISO else _strptime(format))


def _days(parse: Callable[[str], datetime | None], text: str) -> float | None:
    """Days since 1970 of a time; None for text that is none."""
    try:
        time = parse(text)
        if time is not None and time.tzinfo is not None:
            time = time.astimezone(UTC).replace(tzinfo=None)
        return None if time is None else (time - _EPOCH) / timedelta(days=1)
    except (ValueError, OverflowError):
        return None


def _strptime(format: str) -> Callable[[str], datetime | None]:
    """Return the function that reads times as `strptime` does, with names in any language.

    Without anything between numbers, or with short years, all digits must be there.
    """
    named, weekday = bool(re.search("%[bB]", format)), format.startswith("%a")
    example = re.findall("[0-9]+", datetime(2020, 12, 31, 18, 30, 5).strftime(format))
    widths = list(map(len, example))[:3] if not named and re.search(_STRICT, format) else []
    numeric = re.sub(r"%[bB]\.?", "%m", format.removeprefix("%a"))
    has_words = bool(re.search("%[abBpz]", format))
    origin = timedelta(0) if has_date(format) else datetime(1900, 1, 1) - _EPOCH

    def read(text: str) -> datetime | None:
        if has_words:
            text = re.sub("(?:GMT|UTC?)$", "Z", _without_endings(text))
            text, n = re.subn(f"^{_NAME}", "", text) if weekday else (text, 1)
            months = re.sub(_NAME, _month, text) if named else text
            if not n or (named and months == text):
                return None
            text = months
        if widths and [len(each) for each in re.findall("[0-9]+", text)][:3] != widths:
            return None
        return datetime.strptime(text, numeric) - origin

    return read


def _month(name: re.Match[str]) -> str:
    """The number of a month from its name or the first letters of that; other words unchanged."""
    word = name[0].lower()
    number = _MONTHS.get(word[:4], _MONTHS.get(word[:3]))
    return name[0] if number is None else f"{number:02}"
