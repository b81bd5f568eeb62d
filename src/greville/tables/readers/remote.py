"""Files that are not on this machine: ``s3://``, ``gs://``, ``hdfs://``, ``https://`` and others.

fsspec reads them, with a package for each kind of storage, such as s3fs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

from ..batch import TableError
from .source import BLOCK, Source, Stopped


def is_remote(name: str) -> bool:
    """Whether a name is an address and no path; one letter is a drive of Windows."""
    return re.match(r"[a-zA-Z0-9][\w+:-]+://", name) is not None


class Address:
    """An address of a file, with those methods of a `Path` that readers use."""

    def __init__(self, filesystem: Any, path: str, name: str) -> None:
        self._filesystem = filesystem
        self._path = path
        self._name = name
        self._pure = PurePosixPath(path)

    suffixes = property(lambda self: self._pure.suffixes)
    suffix = property(lambda self: self._pure.suffix)
    name = property(lambda self: self._pure.name)
    parts = property(lambda self: self._pure.parts)
    parent = property(lambda self: self._pure.parent)

    def __str__(self) -> str:
        return self._name

    def absolute(self) -> Address:
        return self

    def open(self, mode: str = "rb") -> Any:
        return self._filesystem.open(self._path, mode)

    def size(self) -> int:
        """Size in bytes; 0 where the server does not say it."""
        return int(self._filesystem.info(self._path).get("size") or 0)

    def version(self) -> str:
        """Version: a value that changes when the file does."""
        return str(self._filesystem.ukey(self._path))


class RemoteSource(Source):
    """A file at an address."""

    remote = True

    def __init__(self, path: Address, partitions: Any = None, findings: Any = ()) -> None:
        super().__init__(None, partitions, findings)
        self.path = path
        self.name = str(path)
        self.size = path.size()

    @property
    def can_be_read_again(self) -> bool:
        return True

    @property
    def version(self) -> Any:
        """Version: a value that changes when the file does."""
        return self.path.version()

    def blocks(self, over: Callable[[], bool]) -> Iterator[bytes]:
        """Yield all bytes of the file."""
        with self.path.open("rb") as stream:
            while block := stream.read(BLOCK):
                if over():
                    raise Stopped
                yield block


def remote_paths(name: str) -> tuple[list[Any], int]:
    """The files that an address, a folder or a pattern names; and how many parts its folder has."""
    filesystem, path = opened_filesystem(name)
    kind, is_folder = name.partition("://")[0], False
    try:
        if any(sign in path for sign in "*?["):
            found = filesystem.glob(path)
        elif filesystem.isdir(path):
            found, is_folder = filesystem.find(path), True
        else:
            found = [path] if filesystem.exists(path) else []
    except Exception as error:  # each kind of storage has its own
        raise _unreachable(name, error) from error
    named = [each if kind == "file" else f"{kind}://{each.lstrip('/')}" for each in sorted(found)]
    paths = map(Address, [filesystem] * len(named), sorted(found), named)
    return list(paths), len(PurePosixPath(path).parts) if is_folder else 0


def opened_filesystem(name: str) -> tuple[Any, str]:
    """The storage of an address, and the path there."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise TableError(f"{name}: addresses need fsspec; pip install 'greville[dask]'.") from error
    try:
        filesystem, path = url_to_fs(name)
    except (ImportError, ValueError) as error:  # fsspec says which package
        raise TableError(f"{name}: {error}.") from error
    except Exception as error:
        raise _unreachable(name, error) from error
    return filesystem, path


def check_new_address(name: str) -> None:
    """Raise a TableError if something is at an address already, or nothing can be written there."""
    filesystem, path = opened_filesystem(name)
    try:
        there = filesystem.exists(path)
    except Exception as error:
        raise _unreachable(name, error) from error
    if there:
        raise TableError(f"{name}: it exists already; name a folder that does not exist.")


def _unreachable(name: str, error: Exception) -> TableError:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return TableError(f"{name}: it cannot be reached ({text}).")
