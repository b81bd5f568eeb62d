"""Files that are not on this machine: ``s3://``, ``gs://``, ``hdfs://``, ``https://`` and others.

fsspec reads them, with a package for each kind of storage, such as s3fs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

from ..batch import TableError
from .source import Source, compression, decompressed


def is_remote(name: str) -> bool:
    """Whether a name is an address and no path; one letter is a drive of Windows."""
    kind, sign, _ = name.partition("://")
    return (
        bool(sign)
        and len(kind) > 1
        and kind.replace("+", "").replace("-", "").replace(":", "").isalnum()
    )


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
    parent = property(lambda self: self._pure.parent)

    def __str__(self) -> str:
        return self._name

    def absolute(self) -> Address:
        return self

    def exists(self) -> bool:
        return True  # else opening it says so

    def is_file(self) -> bool:
        return True

    def is_fifo(self) -> bool:
        return False

    def open(self, mode: str = "rb") -> Any:
        return self._filesystem.open(self._path, mode)

    def size(self) -> int:
        """In bytes; 0 where the server does not say it."""
        return int(self._filesystem.info(self._path).get("size") or 0)

    def version(self) -> str:
        """What changes when the file does."""
        return str(self._filesystem.ukey(self._path))


class RemoteSource(Source):
    """A file at an address."""

    remote = True

    def __init__(self, address: Address, partitions: Any = None, findings: Any = ()) -> None:
        self.path: Any = address
        self.partitions = dict(partitions or {})
        self.findings = tuple(findings)
        self.name = str(address)
        self.size = address.size()
        self.texts = {}

    @property
    def can_be_read_again(self) -> bool:
        return True

    @property
    def version(self) -> Any:
        return self.path.version()

    def file(self) -> Any:
        return self.path.open("rb")

    @contextmanager
    def open(self, over: Callable[[], bool]) -> Iterator[Any]:
        with self.path.open("rb") as raw:
            head = raw.read(8)
            raw.seek(0)
            yield decompressed(raw, compression(head), self.path)

    def is_plain(self) -> bool:
        return False


def remote_sources(name: str) -> list[tuple[Address, bool]]:
    """The files that an address or a pattern of such names, and whether each is in a folder."""
    filesystem, path = opened_filesystem(name)
    kind = name.partition("://")[0]
    try:
        if any(sign in path for sign in "*?["):
            found, in_folder = sorted(filesystem.glob(path)), False
        elif filesystem.isdir(path):
            found, in_folder = sorted(filesystem.find(path)), True
        else:
            found, in_folder = [path] if filesystem.exists(path) else [], False
    except Exception as error:  # each kind of storage has its own
        raise _unreachable(name, error) from error
    return [
        (
            Address(filesystem, each, f"{kind}://{each.lstrip('/')}" if kind != "file" else each),
            in_folder,
        )
        for each in found
    ]


def opened_filesystem(name: str) -> tuple[Any, str]:
    """The storage of an address, and the path there."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise TableError(f"{name}: addresses need fsspec; pip install 'greville[dask]'.") from error
    try:
        filesystem, path = url_to_fs(name)
    except ImportError as error:  # fsspec says which package
        raise TableError(f"{name}: {error}.") from error
    except ValueError as error:
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
