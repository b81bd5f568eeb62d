"""Atomic writes: a file is replaced completely or not at all."""

from __future__ import annotations

import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .container import Refused

# Seconds for which a file that others have open is tried again, on Windows.
_PATIENCE = 2.0


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[str]:
    """The name of a new file, which takes the place of another when it is complete.

    It is written beside it, and only swapped when it has reached the disk. A link stays a link:
    what it points to is replaced. Access rights stay as they were.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from greville.persistence import whole_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "result.txt"
    ...     with whole_file(path) as name:
    ...         _ = Path(name).write_text("all of it")
    ...     print(path.read_text())
    all of it
    """
    target = os.path.realpath(path)
    mode = _mode_of(target)
    folder = os.path.dirname(target)
    new = os.path.join(folder, f".greville-{secrets.token_hex(8)}.tmp")
    try:
        # Made here so that it has the access rights that new files have.
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        usual = stat.S_IMODE(os.fstat(fd).st_mode)
        os.close(fd)
        yield new
        _sync(new, usual if mode is None else mode)
        _swap(new, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(new)
        raise
    _sync_folder(folder)


def _swap(new: str, target: str) -> None:
    """Put a file in the place of another.

    Windows refuses that while a program has the other one open, be it only to read it or to look
    for viruses. Most have it open for a moment, so it is tried for two seconds.
    """
    deadline = time.monotonic() + (_PATIENCE if sys.platform == "win32" else 0)
    while True:
        try:
            os.replace(new, target)
            return
        except PermissionError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(0.02)


def _mode_of(target: str) -> int | None:
    """Return the access rights of an existing file."""
    try:
        mode = os.lstat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise Refused("it is a folder; add the name of a file")
    if not stat.S_ISREG(mode):
        raise Refused("it exists and is not a plain file; choose another name")
    return stat.S_IMODE(mode)


def _sync(new: str, mode: int) -> None:
    fd = os.open(new, os.O_RDWR)
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(fd, mode)
        os.fsync(fd)
    finally:
        os.close(fd)


def _sync_folder(folder: str) -> None:
    """Sync the folder, without which a power failure could undo the swap itself."""
    if hasattr(os, "O_DIRECTORY"):
        with suppress(OSError):  # not supported everywhere; the file itself is safe
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
