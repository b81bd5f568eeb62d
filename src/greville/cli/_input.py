"""Standard input as it comes, for ``greville stream``."""

from __future__ import annotations

import os
import queue
import select
import sys
import threading
from typing import Any

from ._process import Stop
from ._terminal import UserError

# Bytes of one read, and reads that may come before they are wanted.
_BYTES_AT_ONCE, _AHEAD = 1 << 18, 4

# Seconds between two looks at whether to go on.
_TICK = 0.1


def standard_input() -> Any:
    """Return the reader of standard input; a UserError if it is closed."""
    try:
        os.fstat(0)
    except OSError as error:
        raise UserError("standard input: it is closed; pipe lines into it.") from error
    return Background() if sys.platform == "win32" else Direct()


class Direct:
    """Read in this thread; a signal ends the waiting."""

    def read(self, stop: Stop) -> bytes:
        """Wait for input and return it; nothing at the end, or when asked to stop."""
        from ..tables import Stopped

        try:
            with stop.at_once():
                return os.read(0, _BYTES_AT_ONCE)
        except Stopped:
            return b""

    def has_more(self) -> bool:
        """Whether more input can be read without waiting."""
        return bool(select.select([0], [], [], 0)[0])


class Background:
    """Standard input from a pipe, read by a background thread so that no other thread waits.

    Windows can neither ask whether a pipe has content nor end a read when a signal comes: `select`
    is for sockets there. The descriptor belongs to this object: the thread closes it when its last
    read has ended.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = os.dup(0) if descriptor is None else descriptor
        self._pieces: queue.Queue[bytes | OSError] = queue.Queue(_AHEAD)
        self._closed = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            piece: bytes | OSError = b"first"
            while piece and isinstance(piece, bytes):
                try:
                    piece = os.read(self._descriptor, _BYTES_AT_ONCE)
                except OSError as error:
                    # A writer that has ended, without the end of a file
                    piece = b"" if isinstance(error, BrokenPipeError) else error
                if not self._put(piece):
                    return
        finally:
            os.close(self._descriptor)

    def _put(self, piece: bytes | OSError) -> bool:
        """Put a piece into the queue; return False if the reader closes first."""
        while not self._closed.is_set():
            try:
                self._pieces.put(piece, timeout=_TICK)
            except queue.Full:
                continue
            return True
        return False

    def read(self, stop: Stop) -> bytes:
        """Wait for input and return it; nothing at the end, or when asked to stop."""
        while not stop.asked:
            try:
                piece = self._pieces.get(timeout=_TICK)
            except queue.Empty:
                continue
            if isinstance(piece, OSError):
                raise piece
            return piece
        return b""

    def has_more(self) -> bool:
        """Whether more input can be read without waiting."""
        return not self._pieces.empty()

    def close(self) -> None:
        """End the reading thread at its next read."""
        self._closed.set()
