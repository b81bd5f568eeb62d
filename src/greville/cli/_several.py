"""Whether the rows of a table are those of several series, and which column tells them apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]  # a number for each different value; -1 where it is missing

# A series must have so many rows.
_LEAST_ROWS = 5

# Names that repeat in one series too: they say when, not of what.
_CALENDAR = (
    "jan feb mar apr may jun jul aug sep oct nov dec mon tue wed thu fri sat sun "
    "january february march april june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday "
    "q1 q2 q3 q4 spring summer autumn fall winter am pm weekday weekend"
)


@dataclass(frozen=True)
class Several:
    """Which columns tell the series apart, how many there are, and the time that repeats."""

    by: tuple[str, ...]
    count: int
    time: str | None


@dataclass(frozen=True)
class Candidates:
    """What may tell series apart, for all rows.

    `times` and `texts` are columns of dates and of text, `numbers` are columns of whole numbers;
    `names` are the values behind the codes of texts.
    """

    times: Mapping[str, Codes]
    texts: Mapping[str, Codes]
    numbers: Mapping[str, Codes]
    names: Mapping[str, list[str]]


def find_several(columns: Candidates) -> Several | None:
    """The columns that tell several series apart; None if the rows are those of one.

    A time that repeats, while it does not among rows with the same name, is that of several
    series. Without a time, names that come in equal blocks or in turns are those of series.
    """
    calendar = set(_CALENDAR.split())
    texts = {
        name: codes
        for name, codes in columns.texts.items()
        if not {value.strip().lower() for value in columns.names[name]} <= calendar
    }
    repeated = {name: codes for name, codes in columns.times.items() if _most_rows(codes) > 1}
    if len(repeated) < len(columns.times):
        return None  # one of the times is different in every row
    for time, codes in repeated.items():
        found = _split_by(texts, codes) or _split_by(columns.numbers, codes, full=True)
        if found:
            return Several(*found, time)
    if repeated:
        return None
    for time, codes in columns.numbers.items():  # such as years
        if _most_rows(codes) > 1 and (found := _split_by(texts, codes, full=True)):
            return Several(*found, time)
    for name, codes in texts.items():
        count = int(codes.max()) + 1
        if count > 1 and codes.min() >= 0 and _in_blocks_or_turns(codes, count):
            return Several((name,), count, None)
    return None


def _split_by(
    names: Mapping[str, Codes], time: Codes, *, full: bool = False
) -> tuple[tuple[str, ...], int] | None:
    """One or two columns of names among which no time repeats; if `full`, each has all times."""
    n, most, n_times = len(time), _most_rows(time), int(time.max()) + 1
    for size in (1, 2):
        for by in combinations(names, size):
            codes = _together([names[name] for name in by])
            count = int(codes.max()) + 1
            if not most <= count <= n / _LEAST_ROWS:
                continue
            if full and count * n_times != n:
                continue
            if _most_rows(_together([codes, time])) == 1:
                return by, count
    return None


def _in_blocks_or_turns(codes: Codes, count: int) -> bool:
    rows, rest = divmod(len(codes), count)
    if rest or rows < _LEAST_ROWS:
        return False
    blocks, turns = codes.reshape(count, rows), codes.reshape(rows, count)
    in_blocks = (blocks == blocks[:, :1]).all() and len(np.unique(blocks[:, 0])) == count
    return bool(in_blocks or ((turns == turns[0]).all() and len(np.unique(turns[0])) == count))


def _most_rows(codes: Codes) -> int:
    """The most rows with the same value."""
    known = codes[codes >= 0]
    return int(np.bincount(known).max()) if len(known) else 0


def _together(columns: list[Codes]) -> Codes:
    """One code for each combination of values."""
    joined: Any = columns[0]
    for codes in columns[1:]:
        joined = joined * (int(codes.max(initial=0)) + 2) + codes + 1
    return np.unique(joined, return_inverse=True)[1].reshape(-1)
