"""Signals that end a command where that leaves nothing half done."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

EXIT_STOPPED = 143  # as a process that SIGTERM has ended

# What asks a command to end. Windows has no SIGTERM for other processes, but Ctrl-Break.
TERMINATION = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGBREAK") if hasattr(signal, name)
)


class Stop:
    """Whether a signal has asked to stop: between two steps, or at once where that does no harm."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._at_once = False

    @property
    def asked(self) -> bool:
        return self.signal is not None

    def handle(self, number: int, frame: Any) -> None:
        self.signal = number
        if self._at_once:
            _stop()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """A block that a signal may end anywhere: what it makes is not used then."""
        self._at_once = True
        try:
            if self.asked:
                _stop()
            yield
        finally:
            self._at_once = False


def _stop() -> None:
    from ..tables import Stopped

    raise Stopped


@contextmanager
def stopping_on(*numbers: int) -> Iterator[Stop]:
    """Listen to these signals, but not to those that the shell has had ignored."""
    stop = Stop()
    heard = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, stop.handle) for number in heard}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
