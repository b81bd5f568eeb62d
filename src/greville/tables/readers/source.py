"""Where the bytes of a table come from, and how they are asked for."""

from __future__ import annotations

import codecs
import os
import select
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..batch import Batch, Place, TableError, listed
from ..findings import Finding, distinct

if TYPE_CHECKING:
    from ..decisions import Hints

# Rows, and bytes, that are read at a time.
ROWS_AT_ONCE, BLOCK = 1 << 14, 1 << 22

# Seconds after which a reader that waits for a pipe looks whether it should stop.
_PATIENCE = 0.1


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
        The name of a format.
    delimiter : str, optional
        What stands between the fields of CSV: a character, "tab" or "space", which is any number of
        blanks and tabs.
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
    hints : Hints, optional
        How the columns are written, where `where` compares them.

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
    hints: Hints | None = None

    def __post_init__(self) -> None:
        mark = {"tab": "\t", "\\t": "\t", "space": " "}.get(self.delimiter or "", self.delimiter)
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
            what = "pass one ASCII character, tab or space, but no quote and no line break."
            raise TableError(f"delimiter={mark!r}: {what}", argument="delimiter")
        object.__setattr__(self, "delimiter", mark)
        try:
            "".encode(self.encoding or "utf8")
            codecs.getincrementaldecoder(self.encoding or "utf8")
        except (LookupError, ValueError) as error:
            what = f"encoding={self.encoding!r}: there is no such encoding."
            raise TableError(what, argument="encoding") from error


class Source:
    """A file, a pipe, or standard input.

    Parameters
    ----------
    path : Path, optional
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

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the source for processes with another working folder; its name stays."""
        path = self.path.absolute() if isinstance(self.path, Path) else self.path
        return vars(self) | {"path": path}

    @property
    def size(self) -> int:
        """Size in bytes; 0 where it is not known."""
        return 0 if self.path is None else self.path.stat().st_size

    @property
    def can_be_read_again(self) -> bool:
        """Whether the source is a file, and no pipe."""
        return self.path is not None and self.path.is_file()

    @property
    def version(self) -> Any:
        """Version: a value that changes when the file does; None for a pipe."""
        return None if self.path is None else self.path.stat().st_mtime_ns

    def part(self, groups: Sequence[int], first_row: int, n_rows: int) -> Self:
        """Return some row groups of a Parquet file."""
        part = copy(self)
        part.groups, part.first_row, part.n_rows = groups, first_row, n_rows
        return part

    def blocks(self, stopped: Callable[[], bool]) -> Iterator[bytes]:
        """Yield the bytes of a pipe as they come; raise `Stopped` when `stopped` says so."""
        try:
            # Without O_NONBLOCK, opening a named pipe would wait until its other end is opened.
            waiting = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
            descriptor = os.dup(0) if self.path is None else os.open(self.path, waiting)
        except OSError as error:
            raise TableError(f"{self.name}: it cannot be opened ({error.strerror}).") from error
        is_pipe = sys.platform != "win32" and not stat.S_ISREG(os.fstat(descriptor).st_mode)
        with open(descriptor, "rb", buffering=0) as stream:
            while not stopped():
                if is_pipe and not select.select([stream], [], [], _PATIENCE)[0]:
                    continue
                block = stream.read(BLOCK)
                if block == b"":
                    return
                yield block or b""  # none where a pipe that does not wait has nothing yet
        raise Stopped


@dataclass(frozen=True)
class ReadRequest:
    """Request to a reader: the source, and how to read it.

    Attributes
    ----------
    source : Source
    reading : Reading
    content : Content
        The bytes of the source, unpacked; in UTF-8 for formats of text. None for a query.
    skip : bool
        Whether rows that cannot be used are left out.
    columns : sequence of str or None
        Which columns are needed; all by default.
    """

    source: Source
    reading: Reading
    content: Any
    skip: bool
    columns: Sequence[str] | None

    def needed(self, names: Sequence[str]) -> list[str]:
        """Return the needed columns; the first one if none is, so that rows can be counted."""
        if self.columns is None:
            return list(names)
        chosen = set(self.columns)
        return [name for name in names if name in chosen] or list(names[:1])

    def batches(
        self, tables: Iterable[Any], total: float = np.inf, place: Place | None = None
    ) -> Iterator[Batch]:
        """Yield record batches with the numbers of their rows, of about so many in total."""
        number = first_row = self.source.first_row
        for table in tables:
            for start in range(0, table.num_rows, ROWS_AT_ONCE):
                piece = table.slice(start, ROWS_AT_ONCE)
                numbers = np.arange(number + 1, number + 1 + piece.num_rows)
                number += piece.num_rows
                done = min(1.0, (number - first_row) / max(1.0, total))
                yield Batch(piece, self.source.name, numbers, done, place=place)


def with_findings(batches: Iterable[Batch], findings: Sequence[Finding]) -> Iterator[Batch]:
    """Add findings about their source to batches."""
    for batch in batches:
        yield replace(batch, findings=distinct((*findings, *batch.findings)))


def validated(table: Any) -> Any:
    """Check a record batch of a file that may be damaged: lengths, and bytes that are text."""
    table.validate(full=True)
    return table


def chosen_table(
    where: str, kind: str, names: Sequence[str], asked: str | None, likely: Sequence[str]
) -> str:
    """Choose a table of a file: the one that is asked for, or the only likely one.

    Parameters
    ----------
    where : str
        The name of the file.
    kind : str
        What its tables are called.
    names : sequence of str
        All that is in it.
    asked : str, optional
        What was asked for.
    likely : sequence of str
        What may be meant if nothing was.
    """
    if asked is not None and asked not in names:
        raise TableError(f"{where}: there is no {kind} {asked!r} in it, but {listed(names)}.")
    if asked is not None:
        return asked
    if not likely:
        raise TableError(f"{where}: there is no table in it, but {listed(names) or 'nothing'}.")
    if len(likely) > 1:
        what = f"{where}: there are several tables in it, {listed(likely)}"
        raise TableError(what, "; name one with {table}.", table=None)
    return likely[0]
