"""Whether the rows of a table are those of several series, and which column tells them apart."""

from __future__ import annotations

from collections.abc import Sequence
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
class Candidate:
    """A column that may tell series apart: of dates, of text, or of whole numbers."""

    name: str
    kind: str  # "time", "text" or "number"
    codes: Codes
    texts: Sequence[str] = ()  # behind the codes

    @property
    def most_rows(self) -> int:
        """The most rows with the same value."""
        known = self.codes[self.codes >= 0]
        return int(np.bincount(known).max()) if len(known) else 0


@dataclass(frozen=True)
class Several:
    """Which columns tell the series apart, how many there are, and the time that repeats."""

    by: tuple[str, ...]
    count: int
    time: str | None


def find_several(candidates: Sequence[Candidate]) -> Several | None:
    """The columns that tell several series apart; None if the rows are those of one.

    A time that repeats, while it does not among rows with the same name, is that of several
    series. Without a time, names that come in equal blocks or in turns are those of series.
    """
    times, texts, numbers = (
        [each for each in candidates if each.kind == kind] for kind in ("time", "text", "number")
    )
    calendar = set(_CALENDAR.split())
    texts = [each for each in texts if not {t.strip().lower() for t in each.texts} <= calendar]
    if any(time.most_rows == 1 for time in times):
        return None
    for time in times:
        if found := _split_by(texts, time) or _split_by(numbers, time, full=True):
            return found
    if times:
        return None
    for time in numbers:  # such as years
        if time.most_rows > 1 and (found := _split_by(texts, time, full=True)):
            return found
    for each in texts:
        count = int(each.codes.max()) + 1
        if count > 1 and each.codes.min() >= 0 and _in_blocks_or_turns(each.codes, count):
            return Several((each.name,), count, None)
    return None


def _split_by(names: Sequence[Candidate], time: Candidate, *, full: bool = False) -> Several | None:
    """One or two columns of names among which no time repeats; if `full`, each has all times."""
    n, most, n_times = len(time.codes), time.most_rows, int(time.codes.max()) + 1
    for by in (each for size in (1, 2) for each in combinations(names, size)):
        series = _together(by)
        count = int(series.codes.max()) + 1
        fits = most <= count <= n / _LEAST_ROWS and (not full or count * n_times == n)
        if fits and _together([series, time]).most_rows == 1:
            return Several(tuple(each.name for each in by), count, time.name)
    return None


def _in_blocks_or_turns(codes: Codes, count: int) -> bool:
    rows, rest = divmod(len(codes), count)
    if rest or rows < _LEAST_ROWS:
        return False
    blocks, turns = codes.reshape(count, rows), codes.reshape(rows, count)
    in_blocks = (blocks == blocks[:, :1]).all() and len(np.unique(blocks[:, 0])) == count
    return bool(in_blocks or ((turns == turns[0]).all() and len(np.unique(turns[0])) == count))


def _together(columns: Sequence[Candidate]) -> Candidate:
    """A column with one code for each combination of values."""
    codes: Any = np.stack([each.codes for each in columns])
    joined = np.unique(codes, axis=1, return_inverse=True)[1].reshape(-1)
    return Candidate("", "", joined)
