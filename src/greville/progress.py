"""Progress of long work: functions that accept `progress` call it as they go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Advance = Callable[[float], None]
"""Called with the amount done since the last call, in the units of the total."""

Progress = Callable[[str, float], AbstractContextManager[Advance]]
"""Called with the name of the work and its total amount; the context lasts as long as the work."""


@contextmanager
def silent(what: str, total: float) -> Iterator[Advance]:
    """A `Progress` that does nothing."""
    yield lambda done: None
