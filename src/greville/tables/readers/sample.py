"""Samples from all over a long text file, from which column types are decided."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .registry import by_path
from .source import Reading, Source

# Bytes of text that are read of all files together, and at a time.
_BYTES, _PIECE = 1 << 26, 1 << 21

# Formats whose rows are lines: always, or where no quote is near.
_ALWAYS, _WITHOUT_QUOTES = ("jsonl",), ("csv", "tsv")

_QUOTE, _END = b'"', b"\n"


def parts_of(sources: Sequence[Source], reading: Reading) -> list[Source]:
    """The same sources; of long ones, pieces from all over them, if these can be cut out.

    A piece begins and ends where lines do. In CSV these are whole rows if there is no quote in the
    piece, but for the names: a field with lines in it is then longer than is usual. Such fields
    make all of the file be read.
    """
    total = sum(source.size for source in sources)
    if total <= _BYTES or reading.encoding not in (None, "utf8"):
        return list(sources)
    return [_part_of(source, reading, _BYTES / total) for source in sources]


def _part_of(source: Source, reading: Reading, share: float) -> Source:
    format, path = source.format(reading), source.path
    if path is None or format is None or by_path(path)[1] is not None:
        return source
    if format.name not in (*_ALWAYS, *_WITHOUT_QUOTES):
        return source
    count, quotes = max(2, round(share * source.size / _PIECE)), format.name in _ALWAYS
    content = _pieces(path, source.size, count, quotes)
    return source if content is None else _Part(path, content)


def _pieces(path: Path, size: int, count: int, quotes: bool) -> bytes | None:
    """So many pieces, joined; None if they cannot be cut out."""
    if count * _PIECE >= size:
        return None
    pieces = []
    with path.open("rb") as file:
        for i in range(count):
            file.seek(i * (size - _PIECE) // (count - 1))
            piece = file.read(_PIECE)
            start, stop = piece.find(_END) + 1, piece.rfind(_END) + 1
            if start >= stop or (not quotes and _QUOTE in piece[start:]):
                return None
            pieces.append(piece[start if i else 0 : stop])
    return b"".join(pieces)


class _Part(Source):
    """Some of the bytes of a file."""

    def __init__(self, path: Path, content: bytes) -> None:
        super().__init__(path)
        self._content = content

    @contextmanager
    def open(self, over: Callable[[], bool]) -> Iterator[Any]:
        yield io.BytesIO(self._content)

    def is_plain(self) -> bool:
        return False
