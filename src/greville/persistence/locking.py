"""Locks: one process at a time reads, changes and writes back a file."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from .container import ModelFileError

# File systems that have no locks; there the lock is left out.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


@contextmanager
def locked(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Keep other processes from using a file while the block runs; None for no file.

    The operating system holds the lock, on a file beside it, and releases it when the process ends
    in whatever way. Raises a `ModelFileError` if another process has it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from greville.persistence import locked
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder) / "model.greville"):
    ...     print("no other process has it")
    no other process has it
    """
    if path is None:
        yield
        return
    target = os.path.realpath(path)
    beside = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.lock")
    descriptor = _acquire(beside)
    if descriptor is None:
        raise ModelFileError(
            f"{os.fspath(path)}: another greville command is using it; wait until that has ended, "
            "or name another file."
        )
    try:
        yield
    finally:
        _release(descriptor, beside)


def _release(descriptor: int, beside: str) -> None:
    """Remove the lock file while it is locked; Windows removes no file that is open."""
    with ExitStack() as undo:
        undo.callback(os.close, descriptor)
        if sys.platform == "win32":
            undo.close()
        with suppress(OSError):  # on Windows: another process has it by now
            os.unlink(beside)


def _acquire(beside: str) -> int | None:
    """The lock file, open and locked; None if another process has locked it."""
    while True:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        with ExitStack() as undo:
            undo.callback(os.close, descriptor)
            if not _lock(descriptor):
                return None
            # The process that had the lock before may have removed this file meanwhile; on Windows
            # nobody can remove an open file.
            with suppress(FileNotFoundError):
                if sys.platform == "win32" or os.path.samestat(
                    os.stat(beside), os.fstat(descriptor)
                ):
                    undo.pop_all()
                    return descriptor


def _lock(descriptor: int) -> bool:
    """Try to take the lock; return whether this process holds the lock now."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (*_NO_LOCKS, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            raise
        return error.errno in _NO_LOCKS
    return True
