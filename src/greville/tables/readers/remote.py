"""Files that are not on this machine: ``s3://``, ``gs://``, ``hdfs://``, ``https://`` and others.

fsspec reads them, with a package for each kind of storage, such as s3fs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

from ..batch import TableError
from .source import BLOCK, Source, Stopped


def is_remote(name: str) -> bool:
    """Whether a name is an address and no path; one letter is a drive of Windows."""
    return re.match(r"[a-zA-Z0-9][\w+:-]+://", name) is not None


class RemoteSource(Source):
    """A file at an address, which is copied to this machine when it is read."""

    remote = can_be_read_again = True

    def __init__(self, file: Any, partitions: Any) -> None:
        super().__init__(PurePosixPath(file.path), partitions)
        self._file = file
        self.name = file.full_name

    @property
    def size(self) -> int:
        """Size in bytes; 0 where the server does not say it."""
        with _reaching(self.name):
            return int(self._file.fs.size(self._file.path) or 0)

    @property
    def version(self) -> Any:
        """Version: a value that changes when the file does."""
        with _reaching(self.name):
            return str(self._file.fs.ukey(self._file.path))

    def blocks(self, stopped: Callable[[], bool]) -> Iterator[bytes]:
        """Yield all bytes of the file; raise `Stopped` when `stopped` says so."""
        with self._file as stream:
            while block := stream.read(BLOCK):
                if stopped():
                    raise Stopped
                yield block


def remote_files(name: str) -> list[Any]:
    """Find the files that an address or a pattern names, as fsspec has them."""
    try:
        from fsspec import open_files
    except ImportError as error:
        raise TableError(f"{name}: addresses need fsspec; pip install 'greville[dask]'.") from error
    with _reaching(name):
        files = open_files(name, "rb", expand=True)
        return [file for file in files if file.fs.isfile(file.path)]


@contextmanager
def _reaching(name: str) -> Iterator[None]:
    """A block that asks a storage; each kind has errors of its own."""
    try:
        yield
    except Exception as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TableError(f"{name}: it cannot be reached ({text}).") from error
