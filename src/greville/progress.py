"""Progress of long work: functions that accept `progress` call it as they go on.

Estimators have a parameter `verbose` instead, as scikit-learn's have: see `reporting`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

Advance = Callable[[float], None]
"""Called with the amount done since the last call, in the units of the total."""

Progress = Callable[[str, float], AbstractContextManager[Advance]]
"""Called with the name of the work and its total amount; the context lasts as long as the work."""

Tell = Callable[[int], None]
"""Called with how many rows are done, before each block of rows."""

# Seconds between two lines, and before the first: work that takes less says nothing.
_INTERVAL = 2.0


@contextmanager
def silent(what: str, total: float) -> Iterator[Advance]:
    """A `Progress` that does nothing."""
    yield lambda done: None


def reporting(verbose: Any, done: str, n_rows: int) -> AbstractContextManager[Tell | None]:
    """A context that says on stderr how many rows are done; it gives None if not `verbose`.

    Every two seconds, and at the end of work that took as long, a line. Work that takes less says
    nothing.

    Parameters
    ----------
    verbose : bool or int
        Nothing is said for False or 0.
    done : str
        What has been done with so many rows, such as "learned".
    n_rows : int
        How many rows there are.

    Examples
    --------
    >>> from greville.progress import reporting
    >>> with reporting(False, "learned", 1000) as tell:
    ...     print(tell)
    None
    """
    return _reporting(done, n_rows) if verbose else _NOTHING


_NOTHING: AbstractContextManager[None] = nullcontext()


@contextmanager
def _reporting(what: str, n_rows: int) -> Iterator[Tell]:
    start = last = time.monotonic()
    spoke = False

    def tell(done: int) -> None:
        nonlocal last, spoke
        now = time.monotonic()
        if now - last >= _INTERVAL:
            line = f"greville: {what} {done:,} of {n_rows:,} rows"
            if done > 0:
                rate = done / max(now - start, 1e-9)
                line += f", {rate:,.0f} rows/s, {_duration((n_rows - done) / rate)} left"
            _print(line)
            last, spoke = now, True

    yield tell
    seconds = time.monotonic() - start
    if spoke or seconds >= _INTERVAL:
        rate = n_rows / max(seconds, 1e-9)
        _print(f"greville: {what} {n_rows:,} rows in {_duration(seconds)}, {rate:,.0f} rows/s")


def _print(line: str) -> None:
    with suppress(AttributeError, OSError, ValueError):  # no stderr, or one that is closed
        print(line, file=sys.stderr, flush=True)


def later(tell: Tell | None, n: int) -> Tell | None:
    """Return a progress report for a part of the rows, which counts n earlier rows too."""
    return None if tell is None else lambda done: tell(n + done)


def _duration(seconds: float) -> str:
    """Seconds as people say them.

    Examples
    --------
    >>> [_duration(s) for s in (4.21, 75.0, 7300.0)]
    ['4.2 s', '1 min 15 s', '2 h 1 min']
    """
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
