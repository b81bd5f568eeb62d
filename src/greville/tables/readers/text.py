"""Text as a file in UTF-8 whose lines end alike, which DuckDB can read."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..batch import TableError
from ..findings import Finding
from . import source
from .unpacking import Content, TemporaryFile

# Encodings of one byte a character that are tried, and bytes that are looked at.
_TRIED = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1257", "koi8_r", "cp437", "cp850"]
_TRIED += ["shift_jis", "euc_jp", "gb18030", "big5", "euc_kr", "mac_roman", "latin_1"]
_LOOKED_AT = 1 << 16

# Bytes beyond ASCII that are too few to tell one encoding from others.
_FEW = 8

Blocks = Iterable[bytes]


@dataclass(frozen=True)
class Text:
    """A file of text.

    Attributes
    ----------
    path : Path
    has_quotes : bool
        Whether there are any.
    owner : object
        What keeps a copy.
    """

    path: Path
    has_quotes: bool
    owner: TemporaryFile | None = None

    def blocks(self) -> Iterator[bytes]:
        """All bytes, without a mark of their order."""
        with self.path.open("rb") as file:
            yield file.read(source.BLOCK).removeprefix(codecs.BOM_UTF8)
            while block := file.read(source.BLOCK):
                yield block

    def lines(self) -> Iterator[bytes]:
        """The same bytes in pieces that end where lines do."""
        rest = b""
        for block in self.blocks():
            whole, end, rest = (rest + block).rpartition(b"\n")
            if end:
                yield whole + end
        if rest:
            yield rest

    def head(self, size: int) -> bytes:
        """The first bytes."""
        with self.path.open("rb") as file:
            return file.read(size).removeprefix(codecs.BOM_UTF8)

    def rewritten(self, blocks: Blocks) -> Text:
        """A copy with other bytes."""
        copy = TemporaryFile(blocks)
        return Text(copy.path, self.has_quotes, copy)


def read_text(
    name: str, content: Content, encoding: str | None, *, is_json: bool
) -> tuple[Text, list[Finding]]:
    """The text in a file, and what there is to say about it.

    Parameters
    ----------
    name : str
        What the file is called.
    content : Content
    encoding : str, optional
        By default found by the bytes.
    is_json : bool
        Whether it is JSON, which is always in UTF-8.
    """
    text = Text(content.path, has_quotes=True, owner=content.owner)
    survey = _Survey(text.blocks())
    text = Text(content.path, survey.has_quotes, content.owner)
    candidates, findings = [encoding] if encoding else [], []
    if encoding is None:
        wide = _wide(content.head(64))
        if wide is None and survey.line_of_bytes is not None:
            if is_json or survey.has_unicode:  # most of it is UTF-8, and this place is damaged
                raise _no_utf8(name, survey.line_of_bytes)
            candidates = _likely(name, text, survey.line_of_bytes)
        elif wide is not None:
            candidates = [wide]
    elif codecs.lookup(encoding).name == "utf-8":
        candidates = []
        if survey.line_of_bytes is not None:
            raise _no_utf8(name, survey.line_of_bytes)
    if candidates:
        text, used = _decoded(name, text, candidates)
        survey = _Survey(text.blocks())
        what = f"it is not in UTF-8, and by its bytes read as {used}"
        advice = "; if letters are wrong, pass {encoding}."
        if encoding is None:
            findings.append(
                Finding("encoding", f"{name}: {what}", None, True, advice, {"encoding": None})
            )
    head = text.head(_LOOKED_AT)
    if b"\0" in head:
        place = head.index(b"\0") + 1
        raise TableError(f"{name}: it is not text (byte {place:,} is zero); is it the right file?")
    return text if survey.ends_alike else text.rewritten(_with_newlines(text.blocks())), findings


class _Survey:
    """What all bytes of a text say about it.

    Attributes
    ----------
    line_of_bytes : int or None
        The line of the first bytes that are not UTF-8.
    has_unicode : bool
        Whether other bytes are characters in UTF-8 that ASCII does not have.
    ends_alike : bool
        Whether all lines end in LF, or all in CRLF.
    has_quotes : bool
    """

    def __init__(self, blocks: Blocks) -> None:
        self.line_of_bytes: int | None = None
        self.has_unicode = self.has_quotes = False
        decoder = codecs.getincrementaldecoder("utf8")()
        n_lines = n_returns = n_pairs = 0
        last = b""
        for block in blocks:
            waiting = decoder.getstate()[0]
            if self.line_of_bytes is None and (waiting or not block.isascii()):
                try:
                    decoder.decode(block)
                    self.has_unicode = True
                except UnicodeDecodeError as error:
                    before = block[: max(0, error.start - len(waiting))]
                    self.line_of_bytes = 1 + n_lines + before.count(b"\n")
                    self.has_unicode = self.has_unicode or _has_unicode(block)
            self.has_quotes = self.has_quotes or b'"' in block
            n_lines += block.count(b"\n")
            if b"\r" in block:
                n_returns += block.count(b"\r")
                n_pairs += (last + block).count(b"\r\n")
            elif last == b"\r" and block.startswith(b"\n"):
                n_pairs += 1
            last = block[-1:]
        if self.line_of_bytes is None and decoder.getstate()[0]:
            self.line_of_bytes = 1 + n_lines
        self.ends_alike = n_returns == 0 or n_pairs == n_returns == n_lines


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


def _wide(head: bytes) -> str | None:
    """UTF-16 by its mark, or by the zeros beside the letters of ASCII."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    for name, first in (("utf-16-le", 0), ("utf-16-be", 1)):
        letters, zeros = head[first::2], head[1 - first :: 2]
        if len(head) > 3 and not zeros.strip(b"\0") and b"\0" not in letters:
            return name
    return None


def _likely(name: str, text: Text, line: int) -> list[str]:
    """The encodings that make words of the bytes that ASCII does not have."""
    try:
        from charset_normalizer import from_bytes
    except ModuleNotFoundError as error:
        raise _no_utf8(name, line) from error
    sample = bytearray()
    for block in text.lines():
        sample += b"\n".join(each for each in block.split(b"\n") if not each.isascii())
        if len(sample) > _LOOKED_AT:
            break
    matches = from_bytes(bytes(sample[:_LOOKED_AT]), cp_isolation=_TRIED, enable_fallback=False)
    least = min((match.chaos for match in matches), default=0.0)
    best = [match for match in matches if match.chaos <= least + 0.02]
    names = [each for match in best for each in match.could_be_from_charset]
    few = sum(byte > 127 for byte in sample) < _FEW
    # Most such files are of Windows in Western Europe, where others are no better.
    return [*(["cp1252"] if few or "cp1252" in names else []), *names, "latin_1"]


def _decoded(name: str, text: Text, encodings: list[str]) -> tuple[Text, str]:
    """The text in the first of some encodings in which all of it is, and which that is."""
    for encoding in encodings:
        try:
            return text.rewritten(_in_utf8(text.path, encoding)), encoding
        except UnicodeError as error:
            last = error
    raise TableError(f"{name}: it is not in {encoding} ({last}).") from last


def _in_utf8(path: Path, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    with path.open("rb") as file:
        while block := file.read(source.BLOCK):
            yield decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()


def _with_newlines(blocks: Blocks) -> Iterator[bytes]:
    """The same lines, all of which end in LF, also those between quotes."""
    rest = b""
    for block in blocks:
        data, rest = rest + block, b""
        if data.endswith(b"\r"):  # which may be half of an end
            data, rest = data[:-1], b"\r"
        yield data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    yield rest.replace(b"\r", b"\n")


def _no_utf8(name: str, line: int) -> TableError:
    advice = "; pass its encoding, for instance {encoding}."
    return TableError(f"{name}, line {line:,}: it is not in UTF-8", advice, encoding="cp1252")
