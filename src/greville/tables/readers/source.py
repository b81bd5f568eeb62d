"""Where the bytes of a table come from, and how they are asked for."""

from __future__ import annotations

import io
import os
import selectors
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from .._values import text_of
from ..batch import Batch, TableError, row_numbers
from ..findings import Finding, distinct
from .piped import BackgroundFile
from .registry import TableFormat, by_name, by_path, formats

# Bytes of text, and rows of other formats, that are read at a time.
TEXT_BLOCK, ROWS_AT_ONCE = 1 << 22, 1 << 14

_COMPRESSED_STARTS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
}

# Bytes that unpacking xz may need; its strongest usual setting takes 65 MiB.
_XZ_MEMORY = 1 << 28


class Unreadable(Exception):
    """The content of a source is not what its format says."""


@dataclass(frozen=True)
class Reading:
    """How files are to be read, where they do not say it themselves.

    Parameters
    ----------
    format : str, optional
        The name of a registered format.
    delimiter : str, optional
        What stands between the fields of CSV; ``" "`` is any number of blanks and tabs.
    header : bool, optional
        Whether the first row has the names of the columns. By default it has, and that is an error
        where they are surely values.
    encoding : str
        Of CSV.
    table : str, optional
        Which table of a file that has several: a sheet, a table of a database, a file in a zip.

    Examples
    --------
    >>> from greville.tables import Reading
    >>> Reading(delimiter=";", header=True).delimiter
    ';'
    """

    format: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    encoding: str = "utf8"
    table: str | None = None


@dataclass(frozen=True)
class Content:
    """The uncompressed bytes of a source: the first ones, and a stream of the rest.

    `share_read` says how much of the source was read.
    """

    head: bytes
    stream: Any
    share_read: Callable[[], float]

    def blocks(self) -> Iterator[bytes]:
        """All bytes, from the first."""
        block = self.head
        while block:
            yield block
            block = self.stream.read(TEXT_BLOCK)


@dataclass(frozen=True)
class ReadRequest:
    """What a reader is asked for.

    `skip` says whether rows that cannot be used are left out, `columns` which columns are needed
    (None for all), and `over` when no more batches are. Formats of text get an opened `content`.
    """

    source: Source
    reading: Reading
    skip: bool
    columns: Sequence[str] | None
    over: Callable[[], bool]
    content: Content | None = None


class Source:
    """One file, or standard input as ``-``.

    `partitions` are values that the names of its folders give to all of its rows, and `findings`
    is what there is to say before it is read.
    """

    def __init__(
        self,
        path: Path | None,
        partitions: Mapping[str, str | None] | None = None,
        findings: Sequence[Finding] = (),
    ) -> None:
        self.path = path
        self.partitions = dict(partitions or {})
        self.findings = tuple(findings)
        self.name = "standard input" if path is None else str(path)
        self.size = 0 if path is None else path.stat().st_size

    remote = False  # whether it is at an address, not on this machine
    may_be_empty = False  # whether it is no error if there are no rows
    first_row = 0  # how many rows of the file come before those of this source
    first_line = 0  # the same for lines

    @property
    def can_be_read_again(self) -> bool:
        """Whether it is a file, and no pipe."""
        return self.path is not None and self.path.is_file()

    @property
    def version(self) -> Any:
        """What changes when the file does; None for a pipe."""
        return None if self.path is None else self.path.stat().st_mtime_ns

    def located(self) -> Source:
        """The same file for processes with another working folder; its name stays."""
        other = copy(self)
        other.path = None if self.path is None else self.path.absolute()
        return other

    def check_seen(self) -> None:
        """Raise a TableError if this machine does not see the file."""
        if self.path is not None and not self.path.exists():
            raise TableError(
                f"{self.name}: a worker of the cluster does not see it; put it where all machines "
                "do, or pass an address such as s3://bucket/name."
            )

    def file(self) -> Any:
        """The file, opened for random access."""
        assert self.path is not None
        return self.path.open("rb")

    @contextmanager
    def open(self, over: Callable[[], bool]) -> Iterator[tuple[Any, Callable[[], float]]]:
        """The bytes, uncompressed, and a function that says how much of the file was read.

        A pipe ends when `over` says so, whatever still holds its other end.
        """
        with ExitStack() as closing:
            raw: Any = closing.enter_context(_opened(self._descriptor(), over))
            stream = decompressed(raw, compression(raw.peek(8)[:8]), self.path)
            size = self.size if raw.seekable() else 0
            yield stream, lambda: min(1.0, raw.tell() / size) if size else 0.0

    def _descriptor(self) -> int:
        if self.path is None:
            try:
                return os.dup(0)
            except OSError as error:
                raise TableError("standard input: it is closed.") from error
        # Without O_NONBLOCK, opening a named pipe would wait until something opens its other end.
        wait = getattr(os, "O_NONBLOCK", 0) if self.path.is_fifo() else 0
        return os.open(self.path, os.O_RDONLY | wait | getattr(os, "O_BINARY", 0))

    def format(self, reading: Reading) -> TableFormat | None:
        """The format that was named, or that the name of the file says."""
        if reading.format is not None:
            return _named(reading.format)
        return None if self.path is None else by_path(self.path)[0]


def decompressed(raw: Any, codec: str | None, path: Path | None) -> Any:
    """What is in a file that is compressed, or should be by its name."""
    if codec is None and path is not None:
        codec = by_path(path)[1]  # and it is damaged
    if codec == "xz":
        return _Xz(raw)
    return raw if codec is None else pa.CompressedInputStream(pa.PythonFile(raw, "r"), codec)


def compression(head: bytes) -> str | None:
    """How contents that begin like this are compressed."""
    starts = _COMPRESSED_STARTS.items()
    return next((codec for start, codec in starts if head.startswith(start)), None)


class _Xz:
    """What is in an xz file; Arrow does not unpack it."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._unpacked = self._new()

    @staticmethod
    def _new() -> Any:
        from lzma import FORMAT_XZ, LZMADecompressor

        return LZMADecompressor(FORMAT_XZ, _XZ_MEMORY)

    def read(self, size: int) -> bytes:
        """Up to so many bytes, and none at the end."""
        from lzma import LZMAError

        while True:
            packed = b""
            if self._unpacked.eof:  # another may follow, as after cat a.xz b.xz
                packed = self._unpacked.unused_data.lstrip(b"\0") or self._raw.read(1 << 16)
                if not packed:
                    return b""
                self._unpacked = self._new()
            elif self._unpacked.needs_input:
                packed = self._raw.read(1 << 16)
                if not packed:
                    raise Unreadable("the xz data are truncated")
            try:
                content = self._unpacked.decompress(packed, size)
            except LZMAError as error:
                raise Unreadable(f"xz: {error}") from error
            if content:
                return content


def _named(name: str) -> TableFormat:
    known = [format.name for format in formats()]
    if name not in known:
        raise TableError(f"format={name!r}: choose one of {', '.join(known)}.", argument="format")
    return by_name(name)


def _opened(descriptor: int, over: Callable[[], bool]) -> Any:
    regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    if regular:
        return open(descriptor, "rb")
    if not hasattr(selectors, "PollSelector"):  # Windows
        return io.BufferedReader(BackgroundFile(descriptor, over))
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


def arrow_input(content: bytes) -> Any:
    """A copy in Arrow's memory: what its threads still hold then needs no interpreter."""
    buffer = pa.allocate_buffer(len(content))
    np.frombuffer(buffer, np.uint8)[:] = np.frombuffer(content, np.uint8)
    return pa.BufferReader(buffer)


def numbered(
    source: Source, tables: Iterator[Any], share_read: Callable[[int], float]
) -> Iterator[Batch]:
    """Record batches with the numbers of their rows, in pieces that are not too long.

    `share_read` takes the number of rows so far.
    """
    number = source.first_row
    for table in tables:
        table.validate(full=True)  # a damaged file may claim any lengths, and any bytes to be text
        for start in range(0, table.num_rows, ROWS_AT_ONCE):
            piece = table.slice(start, ROWS_AT_ONCE)
            numbers = row_numbers(number, piece.num_rows)
            number += piece.num_rows
            yield Batch(piece, source.name, numbers, share_read(number - source.first_row))


def with_findings(batches: Iterable[Batch], findings: Sequence[Finding]) -> Iterator[Batch]:
    """The same batches, with more to say about their source."""
    for batch in batches:
        yield replace(batch, findings=distinct((*findings, *batch.findings)))


def array_from(values: list[Any]) -> Any:
    """Python's values as a column; as text if they are not of one kind."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError):
        plain = (str, int, float, bool, type(None))
        texts = [text_of(value) if isinstance(value, plain) else str(value) for value in values]
        return pa.array(texts, pa.string())
