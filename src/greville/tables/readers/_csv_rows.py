"""Where rows of CSV end: at newlines that are not between quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

# Bytes that a row may have.
LONGEST_ROW = 1 << 22

_QUOTE = ord('"')
_NEWLINES = re.compile(rb"[\r\n]")


def whole_rows(blocks: Iterable[bytes], mark: bytes) -> Iterator[bytes | None]:
    """The same bytes, cut behind the last row that is whole; None where a row is too long.

    `mark` is the delimiter.
    """
    rest = b""
    for block in blocks:
        rest += block
        end = last_end(rest, mark)
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > LONGEST_ROW:
            yield None
            return
    if rest:
        yield rest


def first_end(data: bytes, mark: bytes) -> int:
    """The place behind the first row."""
    for start, stop in _outside(data, mark):
        found = _NEWLINES.search(data, start, stop)
        if found:
            return found.end() + (data[found.start() : found.end() + 1] == b"\r\n")
    return len(data)


def last_end(data: bytes, mark: bytes) -> int:
    """The place behind the last row that is whole, or 0."""
    # A carriage return at the very end may be half of a line's end.
    stop = len(data) - data.endswith(b"\r")
    if b'"' not in data:
        return _last_newline(data, 0, stop) + 1
    usual = _last_end_by_parity(data[:stop], mark)
    if usual is not None:
        return usual
    for start, end in reversed(list(_outside(data, mark))):
        found = _last_newline(data, start, min(end, stop))
        if found >= 0:
            return found + 1
    return 0


def _last_newline(data: bytes, start: int, stop: int) -> int:
    return max(data.rfind(b"\n", start, stop), data.rfind(b"\r", start, stop))


def _last_end_by_parity(data: bytes, mark: bytes) -> int | None:
    """By counting quotes, where they are only around fields, or doubled in them; else None."""
    values = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(values == _QUOTE)
    around = np.zeros(256, bool)
    around[[_QUOTE, ord(mark), ord("\n"), ord("\r")]] = True
    opening, closing = quotes[::2], quotes[1::2]
    before = opening[opening > 0] - 1
    after = closing[closing < len(data) - 1] + 1
    if not (around[values[before]].all() and around[values[after]].all()):
        return None
    newlines = np.flatnonzero((values == ord("\n")) | (values == ord("\r")))
    outside = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
    return int(outside[-1]) + 1 if len(outside) else 0


def _outside(data: bytes, mark: bytes) -> Iterator[tuple[int, int]]:
    """The parts that are not between quotes; these count only where a field begins."""
    fields = re.compile(rb'(?:\A|[\r\n%b])"[^"]*(?:""[^"]*)*(?:"|\Z)' % re.escape(mark))
    start = 0
    for found in fields.finditer(data):
        inside = found.start() + (data[found.start()] != _QUOTE)
        yield start, inside
        start = found.end()
    yield start, len(data)
