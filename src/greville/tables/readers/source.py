"""Where the bytes of a table come from, and how they are asked for."""

from __future__ import annotations

import io
import os
import selectors
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from .._values import text_of
from ..batch import Batch, Place, TableError
from ..findings import Finding, distinct

if TYPE_CHECKING:
    from .text import Text

# Rows, and bytes, that are read at a time.
ROWS_AT_ONCE, BLOCK = 1 << 14, 1 << 22


class Unreadable(Exception):
    """An error: the content of a source does not fit its format."""


class Stopped(Exception):
    """An exception: a reader was asked to stop."""


@dataclass(frozen=True)
class Reading:
    """Options of reading, for what files do not say themselves.

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


class Source:
    """A file, a pipe, or standard input.

    Parameters
    ----------
    path : Path or Address, optional
        Standard input by default.
    partitions : mapping of str to str or None
        Values that the names of its folders give to all of its rows.
    findings : sequence of Finding
        What there is to say before it is read.

    Attributes
    ----------
    groups : sequence of int or None
        Which row groups of a Parquet file; all by default.
    first_row : int
        How many rows of the file come before those of these groups.
    n_rows : int or None
        How many rows it has, where that is known.
    """

    remote = False  # whether it is at an address, not on this machine
    groups: Sequence[int] | None = None
    first_row = 0
    n_rows: int | None = None

    def __init__(
        self,
        path: Any,
        partitions: Mapping[str, str | None] | None = None,
        findings: Sequence[Finding] = (),
    ) -> None:
        self.path = path
        self.partitions = dict(partitions or {})
        self.findings = tuple(findings)
        self.name = "standard input" if path is None else str(path)
        self.size = 0 if path is None else path.stat().st_size

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the source for processes with another working folder; its name stays."""
        path = None if self.path is None else self.path.absolute()
        return vars(self) | {"path": path}

    @property
    def can_be_read_again(self) -> bool:
        """Whether the source is a file, and no pipe."""
        return self.path is not None and self.path.is_file()

    @property
    def version(self) -> Any:
        """Version: a value that changes when the file does; None for a pipe."""
        return None if self.path is None else self.path.stat().st_mtime_ns

    def part(self, groups: Sequence[int], first_row: int, n_rows: int, size: int) -> Self:
        """Return some row groups of a Parquet file."""
        part = copy(self)
        part.groups, part.first_row, part.n_rows, part.size = groups, first_row, n_rows, size
        return part

    def blocks(self, over: Callable[[], bool]) -> Iterator[bytes]:
        """Yield bytes as they come. A pipe ends when `over` says so, and `Stopped` is raised."""
        with self._opened(over) as stream:
            while not over() and (block := stream.read(BLOCK)):
                yield block
        if over():
            raise Stopped

    def _opened(self, over: Callable[[], bool]) -> Any:
        if self.path is None:
            try:
                descriptor = os.dup(0)
            except OSError as error:
                raise TableError("standard input: it is closed.") from error
        else:
            # Without O_NONBLOCK, opening a named pipe would wait until its other end is opened.
            wait = getattr(os, "O_NONBLOCK", 0) if self.path.is_fifo() else 0
            descriptor = os.open(self.path, os.O_RDONLY | wait | getattr(os, "O_BINARY", 0))
        # On Windows, a read of a pipe ends when its writer does.
        whole = stat.S_ISREG(os.fstat(descriptor).st_mode) or not hasattr(selectors, "PollSelector")
        return open(descriptor, "rb") if whole else io.BufferedReader(_Pipe(descriptor, over))


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


@dataclass(frozen=True)
class ReadRequest:
    """Request to a reader: the source, and how to read it.

    Attributes
    ----------
    source : Source
    reading : Reading
    path : Path or Address
        A file with the bytes of the source, unpacked.
    skip : bool
        Whether rows that cannot be used are left out.
    columns : sequence of str or None
        Which columns are needed; all by default.
    text : Text or None
        The text of the file, for formats of text.
    """

    source: Source
    reading: Reading
    path: Path
    skip: bool
    columns: Sequence[str] | None
    text: Text | None = None

    def needed(self, names: Sequence[str]) -> list[str]:
        """Return the needed columns; the first one if none is, so that rows can be counted."""
        if self.columns is None:
            return list(names)
        chosen = set(self.columns)
        return [name for name in names if name in chosen] or list(names[:1])

    def batches(
        self, tables: Iterable[Any], total: float = np.inf, place: Place | None = None
    ) -> Iterator[Batch]:
        """Record batches with the numbers of their rows, of about so many in total."""
        number = first = self.source.first_row
        for table in tables:
            for start in range(0, table.num_rows, ROWS_AT_ONCE):
                piece = table.slice(start, ROWS_AT_ONCE)
                numbers = np.arange(number + 1, number + 1 + piece.num_rows)
                number += piece.num_rows
                done = min(1.0, (number - first) / max(1.0, total))
                yield Batch(piece, self.source.name, numbers, done, place=place)


def with_findings(batches: Iterable[Batch], findings: Sequence[Finding]) -> Iterator[Batch]:
    """Return the batches with more findings about their source."""
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


def chosen_table(
    where: str, kind: str, names: Sequence[str], wanted: str | None, found: Sequence[str]
) -> str:
    """The name of the table that was asked for, or the only one that was found.

    Parameters
    ----------
    where : str
        The name of the file.
    kind : str
        What its tables are called.
    names : sequence of str
        All that is in it.
    wanted : str, optional
        What was asked for.
    found : sequence of str
        What may be meant if nothing was.
    """
    from ..batch import listed

    if wanted is not None and wanted not in names:
        raise TableError(f"{where}: there is no {kind} {wanted!r} in it, but {listed(names)}.")
    if wanted is not None:
        return wanted
    if not found:
        raise TableError(f"{where}: there is no table in it, but {listed(names) or 'nothing'}.")
    if len(found) > 1:
        what = f"{where}: there are several tables in it, {listed(found)}"
        raise TableError(what, "; name one with {table}.", table=None)
    return found[0]
