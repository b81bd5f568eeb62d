"""Where the bytes of a table come from."""

from __future__ import annotations

import io
import os
import selectors
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ._batch import TableError

# Columns of a table. More would fit into no model file, and take hours.
MOST_COLUMNS = 50_000

_COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
    ".npz": "npz",
}


@dataclass(frozen=True)
class Reading:
    """How files are to be read, where they do not say it themselves."""

    format: str | None = None
    delimiter: str | None = None
    header: bool = True
    encoding: str = "utf8"


class Source:
    """One file, or standard input as ``-``."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.name = "standard input" if path is None else str(path)
        self.size = 0 if path is None else path.stat().st_size

    @contextmanager
    def open(self, over: Callable[[], bool]) -> Iterator[tuple[Any, Callable[[], float]]]:
        """The bytes, uncompressed, and a function that says how much of the file was read.

        A pipe ends when `over` says so, whoever still holds its other end.
        """
        with ExitStack() as closing:
            raw: Any = closing.enter_context(_opened(self._descriptor(), over))
            head = raw.peek(4)[:4]
            kind = next((k for magic, k in _MAGIC.items() if head.startswith(magic)), None)
            if kind is None and self.path is not None:
                kind = format_of(self.path)[1]  # and it is damaged
            stream = raw
            if kind is not None:
                stream = pa.CompressedInputStream(pa.PythonFile(raw, "r"), kind)
            size = self.size if raw.seekable() else 0
            yield stream, lambda: min(1.0, raw.tell() / size) if size else 0.0

    def _descriptor(self) -> int:
        if self.path is None:
            try:
                return os.dup(0)
            except OSError as error:
                raise TableError("standard input: it is closed.") from error
        # Without O_NONBLOCK, opening a named pipe would wait for somebody to write.
        wait = getattr(os, "O_NONBLOCK", 0) if self.path.is_fifo() else 0
        return os.open(self.path, os.O_RDONLY | wait | getattr(os, "O_BINARY", 0))

    def format(self, reading: Reading) -> str | None:
        if reading.format is not None:
            return reading.format
        return None if self.path is None else format_of(self.path)[0]


def _opened(descriptor: int, over: Callable[[], bool]) -> Any:
    regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    if regular or not hasattr(selectors, "PollSelector"):
        return open(descriptor, "rb")
    return io.BufferedReader(_Pipe(descriptor, over))


class _Pipe(io.RawIOBase):
    """A pipe whose reader can be told not to wait any longer."""

    def __init__(self, descriptor: int, over: Callable[[], bool]) -> None:
        self._descriptor = descriptor
        self._over = over
        self._selector = selectors.PollSelector()
        self._selector.register(descriptor, selectors.EVENT_READ)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._over():
            if not self._selector.select(timeout=0.1):
                continue
            try:
                content = os.read(self._descriptor, len(buffer))
            except BlockingIOError:
                continue
            buffer[: len(content)] = content
            return len(content)
        return 0

    def close(self) -> None:
        if not self.closed:
            self._selector.close()
            os.close(self._descriptor)
        super().close()


def own_memory(content: bytes) -> Any:
    """A copy in Arrow's memory: what its threads still hold then needs no interpreter."""
    buffer = pa.allocate_buffer(len(content))
    np.frombuffer(buffer, np.uint8)[:] = np.frombuffer(content, np.uint8)
    return buffer


def numbers_from(before: int, n_rows: int, left_out: Sequence[int] = ()) -> NDArray[np.int64]:
    """The numbers of so many rows after `before` others, where some were left out."""
    numbers = np.arange(before + 1, before + 1 + n_rows + len(left_out), dtype=np.int64)
    return np.delete(numbers, np.array(left_out, np.int64) - before - 1)


def format_of(path: Path) -> tuple[str | None, str | None]:
    """The format and the compression that the name of a file says."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    codec = _COMPRESSED.get(suffixes.pop()) if suffixes and suffixes[-1] in _COMPRESSED else None
    return _FORMATS.get(suffixes[-1]) if suffixes else None, codec


def is_known(path: Path) -> bool:
    """Whether a file in a folder is one to read."""
    return format_of(path)[0] is not None and not path.name.startswith((".", "_"))


def check_column_names(source: str, names: Sequence[str]) -> None:
    """Raise a TableError for too many names, or for one that comes twice."""
    check_count(source, len(names))
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise TableError(
            f"{source}: several columns are called {name!r}; give each a name of its own."
        )


def check_count(source: str, n_columns: int) -> None:
    if n_columns > MOST_COLUMNS:
        raise TableError(
            f"{source}: it has {n_columns:,} columns, and at most {MOST_COLUMNS:,} can be used; "
            "is this the right format or delimiter? Else make a file with fewer."
        )
