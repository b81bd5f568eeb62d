"""Files split into parts that can be read separately: row groups of Parquet, byte ranges of text.

Text is cut between rows, also where fields have lines in them: whether a byte is between quotes
depends on all quotes before it, so these are counted first, range by range, wherever the ranges
are read. A file whose quotes do not allow that stays whole.
"""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..batch import TableError
from ._csv_layout import layout_of
from ._csv_rows import count_lines, first_end, regular_quotes, row_end
from .recognition import recognised
from .registry import by_path, by_start
from .source import Content, Reading, ReadRequest, Source, compression

# Bytes that are read at a time.
_PIECE = 1 << 22

# Bytes with the first lines of a file.
_HEAD = 1 << 16

# Bytes in which a row must end: longer ones are refused by every reader.
_AHEAD = 1 << 25

# A function that applies another to many arguments, here or on other machines.
Map = Callable[[Callable[[Any], Any], list[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Part:
    """A source, or some of its rows, and how it is to be read."""

    source: Source
    reading: Reading
    n_rows: int | None = None  # where that is known


def split(sources: Sequence[Source], reading: Reading, size: int, map_: Map) -> list[Part]:
    """Parts of files of about so many bytes, in the order of their rows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import Reading, find_sources, split, total_rows
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> parts = split(find_sources([str(path)]), Reading(), 1_000_000, map)
    >>> len(parts), total_rows(parts)
    (1, None)
    """
    parts: list[Part] = []
    for source in sources:
        format = recognised(source, reading)[0]
        cut: list[Part] | None = None
        if format is not None and format.name == "parquet":
            cut = _row_groups(source, reading, size)
        elif source.size > size and _is_plain(source, reading):
            name = format.name if format is not None else _name_of_text(source)
            if name == "jsonl":
                cut = _lines(source, reading, size, map_)
            elif name in ("csv", "tsv"):
                cut = _csv_ranges(source, _as_tsv(reading, name), size, map_)
        parts += cut or [Part(source, reading)]
    return parts


# Parquet


class RowGroups(Source):
    """Some row groups of a Parquet file."""

    def __init__(self, source: Source, groups: Sequence[int], first_row: int, size: int) -> None:
        vars(self).update(vars(source))
        self._whole = source
        self.groups = list(groups)
        self.first_row = first_row
        self.size = size
        self.remote = source.remote

    def file(self) -> Any:
        return self._whole.file()


def _row_groups(source: Source, reading: Reading, size: int) -> list[Part]:
    from pyarrow import ArrowException, parquet

    try:
        with source.file() as opened, parquet.ParquetFile(opened) as file:
            about = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            rows = [group.num_rows for group in about]
            sizes = [
                sum(group.column(j).total_compressed_size for j in range(group.num_columns))
                for group in about
            ]
    except (ArrowException, OSError) as error:
        raise TableError(
            f"{source.name}: it cannot be read ({str(error).splitlines()[0]}); is it complete, "
            "and in the format of its name?"
        ) from error
    parts, start = [], 0
    while start < len(rows):
        if not rows[start]:
            start += 1
            continue
        stop = start + 1
        while stop < len(rows) and sum(sizes[start : stop + 1]) <= size:
            stop += 1
        part = RowGroups(source, range(start, stop), sum(rows[:start]), sum(sizes[start:stop]))
        parts.append(Part(part, reading, sum(rows[start:stop])))
        start = stop
    return parts


# Text


class ByteRange(Source):
    """The rows of a text file that begin in a range of its bytes, behind the names of columns.

    There may be none.

    Parameters
    ----------
    source : Source
        The file.
    start, stop : int
        The range.
    head : bytes
        The row with the names, if there is one.
    mark : bytes or None
        The delimiter of CSV; None where rows are lines.
    inside : bool
        Whether the range begins between quotes.
    first_line : int
        How many lines end before the range.
    """

    def __init__(
        self,
        source: Source,
        start: int,
        stop: int,
        head: bytes,
        mark: bytes | None,
        inside: bool,
        first_line: int,
    ) -> None:
        vars(self).update(vars(source))
        self._whole = source
        self.may_be_empty = True
        self._start, self._stop, self._head = start, stop, head
        self._mark, self._inside = mark, inside
        self._lines_before = first_line
        self._found: tuple[int, int] | None = None
        self.size = stop - start
        self.remote = source.remote

    @property
    def first_line(self) -> int:  # type: ignore[override]
        """So that rows have the numbers of their lines; the lines of the head are counted too."""
        skipped = self._beginning()[1]
        return self._lines_before + skipped - _count(self._head, self._mark)

    def _beginning(self) -> tuple[int, int]:
        """Where the first row begins that does so in the range, and the lines that end before."""
        if self._found is None:
            self._found = self._looked_up() if self._start else (0, 0)
        return self._found

    def _looked_up(self) -> tuple[int, int]:
        # A row begins behind the end of a line: that may be the last byte before the range.
        with self._whole.file() as file:
            file.seek(self._start - 1)
            data = file.read(_AHEAD)
            at_end = not file.read(1)
        end = row_end(data, self._mark, self._inside)
        if end is None and at_end:  # no row begins here
            end = len(data)
        if end is None:
            raise self._too_long()
        return self._start - 1 + end, _count(data[1:end], self._mark)

    def _too_long(self) -> TableError:
        return TableError(
            f"{self.name}: a row is longer than {_AHEAD >> 20} MB; is this the right format or "
            "delimiter?"
        )

    @contextmanager
    def open(self, over: Callable[[], bool]) -> Iterator[tuple[Any, Callable[[], float]]]:
        begin = self._beginning()[0]
        with self._whole.file() as file:
            stream = _Rows(file, begin, self._stop, self._head, self._mark, self._too_long)
            yield stream, stream.share_read


class _Rows:
    """A stream of whole rows: those that begin between two places of a file."""

    def __init__(
        self,
        file: Any,
        begin: int,
        stop: int,
        head: bytes,
        mark: bytes | None,
        too_long: Callable[[], TableError],
    ) -> None:
        self._file, self._mark, self._too_long = file, mark, too_long
        self._begin, self._stop = begin, max(begin, stop)
        self._blocks = self._made(head)
        self._rest = b""
        self._read = 0

    def share_read(self) -> float:
        return min(1.0, self._read / max(1, self._stop - self._begin))

    def read(self, size: int) -> bytes:
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return b""
            self._rest = block
        content, self._rest = self._rest[:size], self._rest[size:]
        return content

    def _made(self, head: bytes) -> Iterator[bytes]:
        if head:
            yield head
        self._file.seek(self._begin)
        quotes = 0
        left = self._stop - self._begin
        last = b""
        while left > 0:
            block = self._file.read(min(_PIECE, left))
            if not block:
                return
            left -= len(block)
            self._read += len(block)
            quotes += block.count(b'"')
            last = block[-1:]
            yield block
        if self._begin == self._stop:
            return
        # The row that goes on behind the range belongs to it.
        data = last + self._file.read(_AHEAD)
        end = row_end(data, self._mark, quotes % 2 == 1 if self._mark else False)
        if end is None and self._file.read(1):
            raise self._too_long()
        yield data[1 : len(data) if end is None else end]


@dataclass(frozen=True)
class _Scan:
    """Of a range of bytes: its quotes, its lines, and which beginnings its quotes allow."""

    n_quotes: int
    n_lines: int
    regular: tuple[bool, bool]  # outside of quotes, and inside


def _scanned(request: tuple[Source, int, int, bytes | None]) -> _Scan:
    """Look at a range of bytes."""
    source, start, stop, mark = request
    n_quotes = n_lines = 0
    regular = [True, True]
    with source.file() as file:
        file.seek(max(0, start - 1))
        before = file.read(1) if start else b"\n"
        while start < stop:
            data = file.read(min(_PIECE, stop - start))
            if not data:
                break
            start += len(data)
            after = file.read(1)
            if after:
                file.seek(-1, 1)
            n_lines += _count(data, mark) - (
                data.endswith(b"\r") and after == b"\n" and mark is not None
            )
            around = before + data + (after or b"\n")
            if mark is not None and b'"' in data:
                for inside in (False, True):
                    parity = (n_quotes + inside) % 2 == 1
                    regular[inside] &= regular_quotes(around, mark, parity)
                n_quotes += data.count(b'"')
            before = data[-1:]
    return _Scan(n_quotes, n_lines, (regular[0], regular[1]))


def _count(data: bytes, mark: bytes | None) -> int:
    """How many lines end in it, as the reader of the format counts them."""
    return data.count(b"\n") if mark is None else count_lines(data)


def _ranges(
    source: Source, reading: Reading, size: int, map_: Map, head: bytes, mark: bytes | None
) -> list[Part] | None:
    """The parts of a text file; None if its quotes do not allow it."""
    n = max(1, round(source.size / size))
    edges = [i * source.size // n for i in range(n + 1)]
    pairs = list(itertools.pairwise(edges))
    found = list(map_(_scanned, [(source, *pair, mark) for pair in pairs]))
    parts, inside, lines = [], False, 0
    for i, ((start, stop), scan) in enumerate(zip(pairs, found, strict=True)):
        if not scan.regular[inside]:
            return None
        names = head if i else b""
        range_ = ByteRange(source, start, stop, names, mark, inside, lines)
        parts.append(Part(range_, reading))
        inside ^= scan.n_quotes % 2 == 1
        lines += scan.n_lines
    return None if inside else parts


def _lines(source: Source, reading: Reading, size: int, map_: Map) -> list[Part] | None:
    with source.file() as file:
        start = file.read(_HEAD).removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith(b"["):  # one list, which the reader refuses
        return None
    return _ranges(source, replace(reading, format="jsonl"), size, map_, b"", None)


def _csv_ranges(source: Source, reading: Reading, size: int, map_: Map) -> list[Part] | None:
    """Ranges of a CSV file, all of them read with the delimiter that its first lines show."""
    with source.file() as file:
        start = file.read(1 << 22)
    content = Content(start, _Nothing(), lambda: 0.0)
    layout = layout_of(ReadRequest(source, reading, False, None, lambda: False, content))
    if layout.rewritten or layout.comments:
        return None  # blanks between fields, or comments among the rows
    if reading.header is False:
        return None  # its first row says how many columns there are
    first = b"".join(layout.blocks)
    head = first[: first_end(first, layout.mark)]
    if not head.endswith((b"\n", b"\r")):
        return None
    parts = _ranges(source, reading, size, map_, head, layout.mark)
    if parts is None:
        return None
    # Only the first part has the first rows, by which names are told from values.
    named = replace(reading, delimiter=layout.mark.decode(), format="csv", header=True)
    return [parts[0], *(replace(part, reading=named) for part in parts[1:])]


class _Nothing:
    def read(self, size: int) -> bytes:
        return b""


def _is_plain(source: Source, reading: Reading) -> bool:
    """Whether text in it would be UTF-8 and not compressed."""
    if codecs.lookup(reading.encoding).name != "utf-8" or by_path(source.path)[1] is not None:
        return False
    with source.file() as file:
        return compression(file.read(8)) is None


def _name_of_text(source: Source) -> str:
    """The format of text whose name does not say it."""
    with source.file() as file:
        start = file.read(_HEAD).removeprefix(codecs.BOM_UTF8).lstrip()
    format = by_start(start, text=True)
    return "csv" if format is None else format.name


def _as_tsv(reading: Reading, name: str) -> Reading:
    tabs = name == "tsv" and reading.delimiter is None
    return replace(reading, delimiter="\t") if tabs else reading


def total_rows(parts: Sequence[Part]) -> int | None:
    """How many rows there are, if all parts say it."""
    counts = [part.n_rows for part in parts]
    return None if any(n is None for n in counts) else int(np.sum(counts))  # type: ignore[arg-type]
