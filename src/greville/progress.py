"""How long work says that it goes on: whoever starts it may pass something that listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Advance = Callable[[float], None]
"""Called with what was done since the last call, in the units of the total."""

Progress = Callable[[str, float], AbstractContextManager[Advance]]
"""Called with what is being done and how much of it there is."""


@contextmanager
def silent(what: str, total: float) -> Iterator[Advance]:
    """A `Progress` that tells nobody."""
    yield lambda done: None
