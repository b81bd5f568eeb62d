"""Text as a file in UTF-8 whose lines end alike, which DuckDB can read."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
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

# A sign such as that of the euro, which charset_normalizer takes for a letter of any alphabet.
_SIGN = re.compile(rb"(?<![A-Za-z\x80-\xff])[\x80-\xff](?![A-Za-z\x80-\xff])")

# Bytes that are not UTF-8, and all characters that ASCII does not have.
_NOT_UTF8, _BEYOND_ASCII = re.compile("[\udc80-\udcff]"), re.compile("[^\x00-\x7f]")

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
        """Yield all bytes, without a byte order mark."""
        with self.path.open("rb") as file:
            yield file.read(source.BLOCK).removeprefix(codecs.BOM_UTF8)
            while block := file.read(source.BLOCK):
                yield block

    def lines(self) -> Iterator[bytes]:
        """Cut bytes into pieces that end where lines do."""
        rest = b""
        for block in self.blocks():
            whole, end, rest = (rest + block).rpartition(b"\n")
            if end:
                yield whole + end
        if rest:
            yield rest

    def head(self, size: int) -> bytes:
        """Return the first bytes of the file, without a byte order mark."""
        with self.path.open("rb") as file:
            return file.read(size).removeprefix(codecs.BOM_UTF8)

    def rewritten(self, blocks: Blocks) -> Text:
        """Return a copy of the text with other bytes, in a temporary file."""
        copy = TemporaryFile(blocks)
        return Text(copy.path, self.has_quotes, copy)


def read_text(
    name: str, content: Content, encoding: str | None, *, is_json: bool
) -> tuple[Text, list[Finding]]:
    """Read the text in a file; return the text, and findings such as its encoding.

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
    wide = _wide(content.head(64)) if encoding is None else None
    is_utf8 = encoding is not None and codecs.lookup(encoding).name == "utf-8"
    candidates: list[str] = []
    if wide is not None or (encoding is not None and not is_utf8):
        candidates = [wide or encoding or ""]
    elif survey.line_of_bytes is not None:
        if is_utf8 or is_json or survey.is_unicode:  # most of it is UTF-8, this place is damaged
            raise _no_utf8(name, survey.line_of_bytes)
        candidates = _likely(name, text, survey.line_of_bytes)
    findings = []
    if candidates:
        text, used = _decoded(name, text, candidates)
        survey = _Survey(text.blocks())
        if encoding is None:
            what = f"{name}: it is not in UTF-8, and by its bytes read as {used}"
            advice = "; if letters are wrong, pass {encoding}."
            findings = [Finding("encoding", what, None, True, advice, {"encoding": None})]
    head = text.head(_LOOKED_AT)
    if b"\0" in head:
        place = head.index(b"\0") + 1
        raise TableError(f"{name}: it is not text (byte {place:,} is zero); is it the right file?")
    return text if survey.ends_alike else text.rewritten(_with_newlines(text.blocks())), findings


class _Survey:
    """Survey of all bytes of a text.

    Attributes
    ----------
    line_of_bytes : int or None
        The line of the first bytes that are not UTF-8.
    is_unicode : bool
        Whether no fewer of the bytes beyond ASCII are UTF-8 than are not.
    ends_alike : bool
        Whether all lines end in LF, or all in CRLF.
    has_quotes : bool
    """

    def __init__(self, blocks: Blocks) -> None:
        self.line_of_bytes: int | None = None
        self.has_quotes = False
        decoder = codecs.getincrementaldecoder("utf8")("surrogateescape")
        n_lines = n_characters = n_others = 0
        ends, held = set[bytes](), b""
        for block in chain(blocks, [b""]):
            if not block or decoder.getstate()[0] or not block.isascii():
                text = decoder.decode(block, final=not block)
                others = [found.start() for found in _NOT_UTF8.finditer(text)]
                if others and not n_others:
                    self.line_of_bytes = 1 + n_lines + text.count("\n", 0, others[0])
                n_others += len(others)
                n_characters += len(_BEYOND_ASCII.findall(text)) - len(others)
            n_lines += block.count(b"\n")
            self.has_quotes = self.has_quotes or b'"' in block
            whole, held = held + block, b""
            if block and whole.endswith(b"\r"):  # which may be half of an end
                whole, held = whole[:-1], b"\r"
            if b"\r" in whole:
                ends.update({b"\r\n"} if b"\r\n" in whole else ())
                whole = whole.replace(b"\r\n", b"")
            ends.update(end for end in (b"\r", b"\n") if end in whole)
        self.is_unicode = n_characters >= n_others
        self.ends_alike = ends in (set(), {b"\n"}, {b"\r\n"})


def _wide(head: bytes) -> str | None:
    """Recognise UTF-16 by its byte order mark, or by zero bytes beside ASCII letters."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    for name, first in (("utf-16-le", 0), ("utf-16-be", 1)):
        letters, zeros = head[first::2], head[1 - first :: 2]
        if len(head) > 3 and zeros.count(0) > 0.7 * len(zeros) and b"\0" not in letters:
            return name
    return None


def _likely(name: str, text: Text, line: int) -> list[str]:
    """Return the encodings that make words of the bytes beyond ASCII."""
    try:
        from charset_normalizer import from_bytes
    except ModuleNotFoundError as error:
        raise _no_utf8(name, line) from error
    sample = bytearray()
    for block in text.lines():
        sample += b"\n".join(each for each in block.split(b"\n") if not each.isascii())
        if len(sample) > _LOOKED_AT:
            break
    words = _SIGN.sub(b"", bytes(sample[:_LOOKED_AT]))
    matches = from_bytes(words, cp_isolation=_TRIED, enable_fallback=False)
    least = min((match.chaos for match in matches), default=0.0)
    best = [match for match in matches if match.chaos <= least + 0.02]
    names = [each for match in best for each in match.could_be_from_charset]
    few = sum(byte > 127 for byte in words) < _FEW
    # Most such files are of Windows in Western Europe, where others are no better.
    return [*(["cp1252"] if few or "cp1252" in names else []), *names, "latin_1"]


def _decoded(name: str, text: Text, encodings: list[str]) -> tuple[Text, str]:
    """Decode a text by the first of some encodings that fits; return the encoding too."""
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
    """Make all lines end in LF, also those between quotes."""
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
