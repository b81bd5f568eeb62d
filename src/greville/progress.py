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
def _reporting(done: str, n_rows: int) -> Iterator[Tell]:
    report = _Report(done, n_rows)
    try:
        yield report.tell
    except BaseException as error:
        report.stopped(error)
        raise
    report.finished()


def later(tell: Tell | None, n: int) -> Tell | None:
    """Return a progress report for a part of the rows, which counts n earlier rows too."""
    return None if tell is None else lambda done: tell(n + done)


class _Report:
    """Lines about rows on stderr."""

    def __init__(self, what: str, n_rows: int) -> None:
        self._what = what
        self._n = n_rows
        self._start = self._of_pass = self._last = time.monotonic()
        self._first = self._done = 0  # of the present pass over the rows
        self._spoke = self._over = False

    def tell(self, done: int) -> None:
        now, done = time.monotonic(), max(done, 0)
        if done < self._done:  # rows are read again, where a fast way has lost too many digits
            self._of_pass, self._first = now, done
        self._done = done
        if self._over or now - self._last < _INTERVAL:
            return
        self._last, self._spoke = now, True
        seconds, read = now - self._of_pass, done - self._first
        line = f"greville: {self._what} {done:,} of {self._n:,} rows"
        if read > 0 and seconds > 0:
            rate = read / seconds
            line += f", {rate:,.0f} rows/s, {_duration((self._n - done) / rate)} left"
        self._print(line)

    def finished(self) -> None:
        """Print the last line, if the work took long."""
        self._over = True
        seconds = time.monotonic() - self._start
        if self._spoke or seconds >= _INTERVAL:
            rate = f"{self._n / max(seconds, 1e-9):,.0f} rows/s"
            self._print(f"greville: {self._what} {self._n:,} rows in {_duration(seconds)}, {rate}")

    def stopped(self, error: BaseException) -> None:
        """Print a last line after an interruption, if any line was printed before."""
        self._over = True
        if self._spoke:
            where = f"after {self._done:,} of {self._n:,} rows"
            self._print(f"greville: {type(error).__name__} {where}; the model is unchanged")

    @staticmethod
    def _print(line: str) -> None:
        with suppress(AttributeError, OSError, ValueError):  # no stderr, or one that is closed
            print(line, file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    """Seconds as people say them.

    Examples
    --------
    >>> [_duration(s) for s in (4.21, 75.0, 7300.0)]
    ['4.2 s', '1 min 15 s', '2 h 1 min']
    """
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left} min" if hours else f"{minutes} min {rest} s"
