"""Standard input as it comes, for ``greville stream``."""

from __future__ import annotations

import os
import select
import sys
from typing import Any

from ._errors import UserError
from ._process import Stop

_BYTES_AT_ONCE = 1 << 18


def standard_input() -> Any:
    """What reads standard input; a UserError if it is closed."""
    try:
        os.fstat(0)
    except OSError as error:
        raise UserError("standard input: it is closed; pipe lines into it.") from error
    return Background() if sys.platform == "win32" else Direct()


class Direct:
    """Read in this thread; a signal ends the waiting."""

    def read(self, stop: Stop) -> bytes:
        """What has come, when something has; nothing at the end, or when asked to stop."""
        from ..tables import Stopped

        try:
            with stop.at_once():
                return os.read(0, _BYTES_AT_ONCE)
        except Stopped:
            return b""

    def has_more(self) -> bool:
        """Whether more is there already."""
        return bool(select.select([0], [], [], 0)[0])


class Background:
    """Read in another thread: on Windows, `select` is for sockets and signals end no read."""

    def __init__(self) -> None:
        from ..tables.readers.piped import BackgroundPipe

        self._pipe = BackgroundPipe(os.dup(0))

    def read(self, stop: Stop) -> bytes:
        """What has come, when something has; nothing at the end, or when asked to stop."""
        return self._pipe.read(lambda: stop.asked)

    def has_more(self) -> bool:
        """Whether more is there already."""
        return self._pipe.has_more()
