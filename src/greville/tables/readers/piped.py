"""Pipes that are read in the background, where a read cannot be interrupted: on Windows."""

from __future__ import annotations

import io
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

# Bytes of one read, and reads that may come before they are wanted.
_PIECE, _AHEAD = 1 << 18, 4

# Seconds between two looks at whether to go on.
_TICK = 0.1


class BackgroundPipe:
    """What comes through a pipe. A thread waits for it, so that nobody else has to.

    Windows can neither ask whether a pipe has content nor end a read when a signal comes. The
    descriptor belongs to this object: the thread closes it when its last read has ended.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pieces: queue.Queue[bytes | OSError] = queue.Queue(_AHEAD)
        self._closed = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            piece: bytes | OSError = b"first"
            while piece and isinstance(piece, bytes):
                try:
                    piece = os.read(self._descriptor, _PIECE)
                except OSError as error:
                    # A writer that has ended, without the end of a file
                    piece = b"" if isinstance(error, BrokenPipeError) else error
                if not self._put(piece):
                    return
        finally:
            os.close(self._descriptor)

    def _put(self, piece: bytes | OSError) -> bool:
        """Whether somebody may still want it."""
        while not self._closed.is_set():
            try:
                self._pieces.put(piece, timeout=_TICK)
            except queue.Full:
                continue
            return True
        return False

    def read(self, over: Callable[[], bool]) -> bytes:
        """What comes next; nothing at the end, or once `over` says so."""
        while not over():
            try:
                piece = self._pieces.get(timeout=_TICK)
            except queue.Empty:
                continue
            if isinstance(piece, OSError):
                raise piece
            return piece
        return b""

    def has_more(self) -> bool:
        """Whether `read` would answer at once."""
        return not self._pieces.empty()

    def close(self) -> None:
        self._closed.set()


class BackgroundFile(io.RawIOBase):
    """A `BackgroundPipe` as a file that can be read."""

    def __init__(self, descriptor: int, over: Callable[[], bool]) -> None:
        self._pipe = BackgroundPipe(descriptor)
        self._over = over
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._left or self._pipe.read(self._over)
        n = min(len(content), len(buffer))
        buffer[:n], self._left = content[:n], content[n:]
        return n

    def close(self) -> None:
        self._pipe.close()
        super().close()
