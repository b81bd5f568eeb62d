"""Text of any source as a file in UTF-8 whose lines end alike, which DuckDB can read."""

from __future__ import annotations

import codecs
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

# Bytes that are read at a time.
BLOCK = 1 << 22

_NEWLINE = 10

Blocks = Iterator[bytes]


class PlainText:
    """A file of text, and what all of its bytes say about it.

    A copy is removed when nothing refers to this object any more.

    Attributes
    ----------
    path : Path
    n_lines : int
        Ends of lines.
    line_of_bytes : int or None
        The line of the first bytes that are not UTF-8.
    has_unicode : bool
        Whether other bytes are characters in UTF-8 that ASCII does not have.
    ends_alike : bool
        Whether all lines end in the same way.
    has_quotes : bool
    longest, longest_line : int
        Bytes that are surely in one line, and which that is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_lines = self._n_returns = self._n_pairs = 0
        self.line_of_bytes: int | None = None
        self.has_unicode = self.has_quotes = False
        self.longest = self.longest_line = self._run = 0

    @classmethod
    def of_file(cls, path: Path) -> PlainText:
        """A file that stays where it is."""
        text = cls(path)
        for _ in text._surveyed(text.blocks()):
            pass
        return text

    @classmethod
    def copied(cls, blocks: Iterable[bytes]) -> PlainText:
        """A copy of what comes in blocks, in the folder of temporary files."""
        descriptor, name = tempfile.mkstemp(prefix="greville-", suffix=".txt")
        text = cls(Path(name))
        weakref.finalize(text, _remove, name)
        with open(descriptor, "wb") as file:
            for block in text._surveyed(iter(blocks)):
                file.write(block)
        return text

    def __reduce__(self) -> tuple[Callable[[Path], PlainText], tuple[Path]]:
        return PlainText, (self.path,)

    @property
    def ends_alike(self) -> bool:
        """Whether all lines end in LF, or all in CRLF."""
        return self._n_returns == 0 or self._n_pairs == self._n_returns == self.n_lines

    def blocks(self) -> Blocks:
        """All bytes, without a mark of their order."""
        with self.path.open("rb") as file:
            start = file.read(len(codecs.BOM_UTF8))
            if start != codecs.BOM_UTF8:
                yield start
            while block := file.read(BLOCK):
                yield block

    def head(self, size: int) -> bytes:
        """The first bytes."""
        with self.path.open("rb") as file:
            return file.read(size).removeprefix(codecs.BOM_UTF8)

    def rewritten(self, change: Callable[[Blocks], Iterable[bytes]]) -> PlainText:
        """A copy that was changed on the way."""
        return PlainText.copied(change(self.blocks()))

    def _surveyed(self, blocks: Blocks) -> Blocks:
        decoder = codecs.getincrementaldecoder("utf8")()
        last = b""
        for block in blocks:
            yield block
            if not block.isascii() or decoder.getstate()[0]:
                self._decode(decoder, block)
            self._count(last + block, last)
            last = block[-1:]
        self._decode(decoder, b"")

    def _count(self, data: bytes, last: bytes) -> None:
        """Count ends of lines; `last` was counted with the block before."""
        values = np.frombuffer(data, np.uint8)[len(last) :]
        self.n_lines += int(np.count_nonzero(values == _NEWLINE))  # faster than bytes.count
        if b"\r" in data:
            n_returns, n_pairs = data.count(b"\r", len(last)), data.count(b"\r\n")
            self._n_returns, self._n_pairs = self._n_returns + n_returns, self._n_pairs + n_pairs
            self.n_lines += n_returns - n_pairs
        self.has_quotes = self.has_quotes or b'"' in data
        self._run = 0 if b"\n" in data or b"\r" in data else self._run + len(values)
        if self._run > self.longest:
            self.longest, self.longest_line = self._run, self.n_lines + 1

    def _decode(self, decoder: codecs.IncrementalDecoder, block: bytes) -> None:
        if self.line_of_bytes is not None:
            return
        try:
            decoder.decode(block, final=not block)
            self.has_unicode = self.has_unicode or not block.isascii()
        except UnicodeDecodeError as error:
            before = block[: max(0, error.start - len(decoder.getstate()[0]))]
            self.line_of_bytes = 1 + self.n_lines + before.count(b"\n")
            self.has_unicode = self.has_unicode or _has_unicode(block)
            decoder.reset()


def whole_lines(blocks: Blocks) -> Blocks:
    """The same bytes in pieces that end where lines do."""
    rest = b""
    for block in blocks:
        whole, end, rest = (rest + block).rpartition(b"\n")
        if end:
            yield whole + end
    if rest:
        yield rest


def in_utf8(encoding: str) -> Callable[[Blocks], Blocks]:
    """A change of text from an encoding into UTF-8."""

    def change(blocks: Blocks) -> Blocks:
        decoder = codecs.getincrementaldecoder(encoding)()
        for block in blocks:
            yield decoder.decode(block).encode()
        yield decoder.decode(b"", final=True).encode()

    return change


def with_newlines(blocks: Blocks) -> Blocks:
    """The same lines, all of which end in LF, also those between quotes."""
    rest = b""
    for block in blocks:
        data, rest = rest + block, b""
        if data.endswith(b"\r"):  # which may be half of an end
            data, rest = data[:-1], b"\r"
        yield data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    yield rest.replace(b"\r", b"\n")


def _has_unicode(block: bytes) -> bool:
    """Whether any line of bytes is UTF-8 and not ASCII."""
    for line in block.splitlines():
        if not line.isascii():
            try:
                line.decode()
            except UnicodeDecodeError:
                continue
            return True
    return False


def _remove(name: str) -> None:
    if os.path.exists(name):
        os.unlink(name)
