"""Where the bytes of a table come from, and how they are asked for."""

from __future__ import annotations

import io
import os
import selectors
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from .._values import text_of
from ..batch import Batch, Place, TableError
from ..findings import Finding, distinct
from ._plain import BLOCK, PlainText
from .piped import BackgroundFile
from .registry import TableFormat, by_name, by_path, formats

# Rows that are read at a time.
ROWS_AT_ONCE = 1 << 14

_COMPRESSED_STARTS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
}


class Unreadable(Exception):
    """The content of a source is not what its format says."""


class Stopped(Exception):
    """It was asked to stop while no row had come yet."""


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
    encoding : str, optional
        Of text; found by its bytes by default.
    table : str, optional
        Which table of a file that has several: a sheet, a table of a database, a file in a zip.
    skip_rows : int
        Lines above the names of the columns of CSV, or rows above them in a sheet, that are left
        out. By default lines that are no rows of a table are found.
    where : str, optional
        A condition of SQL; only the rows of which it is true are read.
    column : str, optional
        A column that the table has, which says which sheet or table is meant if there are several.

    Examples
    --------
    >>> from greville.tables import Reading
    >>> Reading(delimiter=";", header=True).delimiter
    ';'
    """

    format: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    table: str | None = None
    skip_rows: int = 0
    where: str | None = None
    column: str | None = None


@dataclass(frozen=True)
class ReadRequest:
    """What a reader is asked for.

    `skip` says whether rows that cannot be used are left out, `columns` which columns are needed
    (None for all), and `over` when no more batches are. Formats of text get their `text`.
    """

    source: Source
    reading: Reading
    skip: bool
    columns: Sequence[str] | None
    over: Callable[[], bool]
    text: PlainText | None = None


class Source:
    """One file, or standard input as ``-``.

    `partitions` are values that the names of its folders give to all of its rows, and `findings`
    is what there is to say before it is read.
    """

    remote = False  # whether it is at an address, not on this machine
    first_row = 0  # how many rows of the file come before those of this source

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
        self.texts: dict[Any, Any] = {}  # what was made of it, by how and by its version

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
        other.texts = {}
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

    def is_plain(self) -> bool:
        """Whether its bytes can be read where they are, as they are."""
        if self.path is None or not self.path.is_file() or by_path(self.path)[1] is not None:
            return False
        with self.file() as file:
            return compression(file.read(8)) is None

    @contextmanager
    def open(self, over: Callable[[], bool]) -> Iterator[Any]:
        """The bytes, uncompressed. A pipe ends when `over` says so, whatever still holds it."""
        with _opened(self._descriptor(), over) as raw:
            yield decompressed(raw, compression(raw.peek(8)[:8]), self.path)

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


def blocks_of(stream: Any, over: Callable[[], bool], head: bytes = b"") -> Iterator[bytes]:
    """All bytes of a stream behind its `head`; `Stopped` if that was asked for."""
    block = head or stream.read(BLOCK)
    while block:
        yield block
        block = b"" if over() else stream.read(BLOCK)
    if over():
        raise Stopped


def decompressed(raw: Any, codec: str | None, path: Path | None) -> Any:
    """What is in a file that is compressed, or should be by its name."""
    if codec is None and path is not None:
        codec = by_path(path)[1]  # and it is damaged
    if codec == "xz":  # Arrow does not unpack it
        import lzma

        return lzma.open(raw)
    return raw if codec is None else pa.CompressedInputStream(pa.PythonFile(raw, "r"), codec)


def compression(head: bytes) -> str | None:
    """How contents that begin like this are compressed."""
    starts = _COMPRESSED_STARTS.items()
    return next((codec for start, codec in starts if head.startswith(start)), None)


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


def validated(table: Any) -> Any:
    """A record batch of a file that may be damaged: it may claim any lengths, and bytes as text."""
    table.validate(full=True)
    return table


def numbered(
    source: Source, tables: Iterable[Any], share_read: Callable[[int], float], place: Any = None
) -> Iterator[Batch]:
    """Record batches with the numbers of their rows, in pieces that are not too long.

    `share_read` takes the number of rows so far, and `place` says where rows are.
    """
    number = source.first_row
    for table in tables:
        for start in range(0, table.num_rows, ROWS_AT_ONCE):
            piece = table.slice(start, ROWS_AT_ONCE)
            numbers = np.arange(number + 1, number + 1 + piece.num_rows)
            number += piece.num_rows
            done = share_read(number - source.first_row)
            yield Batch(piece, source.name, numbers, done, place=place or Place(source.name))


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
