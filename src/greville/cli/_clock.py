"""The times of a series: the step between them, and how they go on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]  # microseconds since 1970, or millionths of numbers

MILLION = 1_000_000
_DAY = 86_400 * MILLION
_WEEK_DAYS = "Mon Tue Wed Thu Fri"

# A format of dates without names.
_DIGITS = re.compile(r"([^%]*%[dmYyHMS])+[^%]*")

# Times from which working days are told from days of which some are missing.
_LEAST_WORKING_DAYS = 8


@dataclass(frozen=True)
class Clock:
    """The step between the times of a series, from which later times follow.

    Parameters
    ----------
    unit : {"months", "working days", "steps"}
    step : int
        So many months or days, or in the units of `Times`.
    shift : int
        With months, what the times are after the start of a month.
    irregular : int
        How many of the steps so far are not of this length, nor a multiple of it.
    """

    unit: str
    step: int
    shift: int = 0
    irregular: int = 0

    def after(self, time: int, n: int) -> int:
        """Return the time that is n steps later."""
        if self.unit == "months":
            month = np.int64(time - self.shift).astype("M8[us]").astype("M8[M]")
            return int((month + n * self.step).astype("M8[us]").astype(np.int64)) + self.shift
        if self.unit == "working days":
            day, clock = divmod(time, _DAY)
            later = np.busday_offset(np.datetime64(day, "D"), n, weekmask=_WEEK_DAYS)
            return int(later.astype(np.int64)) * _DAY + clock
        return time + n * self.step


def find_clock(times: Times, *, are_dates: bool) -> tuple[Clock, Times] | None:
    """Return the clock of rising times and the steps to each time; None for irregular times."""
    steps = np.diff(times)
    if len(steps) < 2 or (steps <= 0).any():
        return None
    if are_dates:
        calendar = _months(times) or _working_days(times, steps)
        if calendar is not None:
            return calendar
    values, counts = np.unique(steps, return_counts=True)
    step = int(values[counts.argmax()])
    if 2 * counts.max() < len(steps):
        return None
    irregular = int((steps % step != 0).sum())
    lengths = np.ones(len(steps), np.int64) if irregular else steps // step
    return Clock("steps", step, irregular=irregular), _positions(lengths)


def _positions(lengths: Times) -> Times:
    return np.concatenate([[0], np.cumsum(lengths)])


def _months(times: Times) -> tuple[Clock, Times] | None:
    """Times in the same place of every month (or third, twelfth, ... month), or at their ends."""
    for end in (0, _DAY):
        moments = (times + end).astype("M8[us]")
        months = moments.astype("M8[M]")
        shifts = (moments - months.astype("M8[us]")).astype(np.int64)
        if (shifts == shifts[0]).all() and (not end or shifts[0] < _DAY):
            numbers: Times = months.astype(np.int64)
            steps = np.diff(numbers)
            step = int(np.gcd.reduce(steps))
            if step < 1 or (steps == step).mean() < 0.5:
                return None
            return Clock("months", step, int(shifts[0]) - end), _positions(steps // step)
    return None


def _working_days(times: Times, steps: Times) -> tuple[Clock, Times] | None:
    """Times of the days from Monday to Friday, some of which may be holidays."""
    if len(times) < _LEAST_WORKING_DAYS or (steps % _DAY != 0).any():
        return None
    days = (times // _DAY).astype("M8[D]")
    weekends_off = np.is_busday(days, weekmask=_WEEK_DAYS).all() and (steps == 3 * _DAY).any()
    if not weekends_off or (steps == _DAY).mean() < 0.5:
        return None
    return Clock("working days", 1), np.arange(len(times))


def label_like(example: Any, time: int, dates: str | None) -> Any:
    """Write a time in the column's format; `dates` is the date format, None for numbers."""
    if dates is None:
        value = time / MILLION
        if isinstance(example, str):
            return f"{value:.0f}" if value == round(value) else f"{value:g}"
        return int(value) if isinstance(example, int) else value
    moment = np.int64(time).astype("M8[us]").item()
    if isinstance(example, datetime):
        return moment
    if isinstance(example, date):
        return moment.date()
    if _DIGITS.fullmatch(dates):
        return moment.strftime(dates)
    text = str(example).strip()
    if len(text) <= 10 and not (moment.hour or moment.minute or moment.second):
        return f"{moment:%Y-%m-%d}"
    zone = "Z" if text.endswith("Z") else "+00:00" if re.search(r"[+-]\d\d:?\d\d$", text) else ""
    separator = text[10] if len(text) > 10 and text[10] in " T" else " "
    minutes = re.fullmatch(r"\S{10}[ T]\d\d:\d\d(Z|[+-]\d\d:?\d\d)?", text) and not moment.second
    return moment.isoformat(separator, "minutes" if minutes else "auto") + zone
