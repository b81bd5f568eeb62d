"""Columns of dates: all values in one format, or a finding that they are ambiguous."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa

from . import dates
from ._plain import TEXT
from ._values import Values
from .writing import Written, examples, shown_value

# Seconds since 1970 from 1973 to 2100.
SECONDS_IN_USE = 1e8, 4.2e9


def find_dates(name: str, values: Values, distinct: list[str]) -> Written | None:
    """Dates in one format; None if there is none."""
    wrong = {
        format: int(values.days_as(format)[1].sum()) for format in dates.candidates(_some(distinct))
    }
    wrong = {format: n for format, n in wrong.items() if n <= values.slips}
    best = [format for format, n in wrong.items() if n == min(wrong.values())]
    if len(best) == 1:
        return as_dates(name, values, best[0])
    if best:
        return Written("text", ambiguous=True).saying(
            "ambiguous dates",
            f"{name!r} is text, since its dates, such as {examples(values, '.')}, can be read in "
            f"two ways; pass --date-format '{best[0]}' or '{best[1]}'.",
            name,
            warning=True,
        )
    return None


def no_dates(values: Values, distinct: list[str], asked: str | None, most: float) -> dict[str, int]:
    """The values that are no dates where up to so many are none, and how often each comes.

    The format is the one that reads most values, or the one that was asked for.
    """
    formats = [asked] if asked else [dates.ISO, *dates.candidates(_some(distinct))]
    wrong = min((values.days_as(format)[1] for format in formats), key=np.sum)
    if wrong.sum() > most:
        return {}
    return dict(Counter(values.trimmed.filter(pa.array(wrong)).to_pylist()))


def _some(distinct: list[str]) -> list[str]:
    return distinct[:: max(1, len(distinct) // 20)]


def reads_dates(values: Values, format: str, exactly: bool = False) -> bool:
    """Whether all values but a few slips, or none if `exactly`, are dates in a format."""
    if values.kind not in ("number", "text"):
        return False
    days, wrong = values.days_as(format)
    if format in dates.PER_DAY:
        seconds = days * 86_400
        wrong = wrong | (seconds < SECONDS_IN_USE[0]) | (seconds > SECONDS_IN_USE[1])
    most = 0 if exactly or values.plain.type != TEXT else values.slips
    return bool(wrong.sum() <= most and not np.isnan(days).all())


def as_dates(name: str, values: Values, format: str) -> Written:
    """A column of dates in this format."""
    days = values.days_as(format)[0]
    place = int(np.flatnonzero(~np.isnan(days))[0])
    day, clock = str(np.datetime64(round(days[place] * 86_400), "s")).split("T")
    what, text = "dates", f"{day} {clock}".removesuffix(" 00:00:00")
    if not dates.has_date(format):
        what, text = "times of day", clock
    how = f"in {format} since 1970" if format in dates.PER_DAY else f"written as {format}"
    return Written("time", dates=format).saying(
        "dates",
        f"{name!r} is read as {what} {how}: {shown_value(values.text[place].as_py())} is {text}.",
        name,
    )
