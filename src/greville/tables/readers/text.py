"""Text as a file in UTF-8 whose lines end alike, which DuckDB can read."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ..batch import TableError
from ..findings import Finding
from . import source
from .unpacking import Content

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


def as_text(name: str, content: Content, encoding: str | None, *, is_json: bool) -> Content:
    """Return content as text, with findings such as its encoding.

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
    survey = _Survey(content.path)
    has_quotes, encodings = survey.has_quotes or encoding is not None, list[str]()
    content = replace(content, longest=survey.longest, has_quotes=has_quotes)
    if encoding is not None and codecs.lookup(encoding).name != "utf-8":
        encodings = [encoding]
    elif encoding is None and content.head(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encodings = ["utf-16"]
    elif survey.line_of_bytes is not None:
        if encoding is not None or is_json or survey.is_unicode:  # this place is damaged
            raise _not_utf8(name, survey.line_of_bytes)
        encodings = _likely(name, content, survey.line_of_bytes)
    elif not survey.ends_alike:
        encoding, encodings = "utf-8", ["utf-8"]
    if encodings:
        content, used = _recoded(name, content, encodings)
        if encoding is None:
            text = f"{name}: it is not in UTF-8, and by its bytes read as {used}"
            advice = "; if letters are wrong, pass {encoding}."
            finding = Finding("encoding", text, None, True, advice, {"encoding": None})
            content = replace(content, findings=(*content.findings, finding))
    place = content.head(_LOOKED_AT).find(b"\0") + 1
    if place:
        what = f"{name}: it is not text (byte {place:,} is zero); is it the right file?"
        raise TableError(what, " If it is in UTF-16, pass {encoding}.", encoding="utf-16-le")
    return content


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
    longest : int
        Bytes of the longest line that is in two blocks.
    has_quotes : bool
    """

    def __init__(self, path: Path) -> None:
        self.line_of_bytes: int | None = None
        self.longest = length = 0
        self.has_quotes = False
        decoder = codecs.getincrementaldecoder("utf8")("surrogateescape")
        n_lf = n_cr = n_crlf = n_characters = n_others = 0
        with path.open("rb") as file:
            while block := file.read(source.BLOCK):
                if block.endswith(b"\r"):  # which may be half of an end
                    block += file.read(1)
                if decoder.getstate()[0] or not block.isascii():
                    text = decoder.decode(block)
                    others = _NOT_UTF8.search(text)
                    if others and self.line_of_bytes is None:
                        self.line_of_bytes = 1 + n_lf + text.count("\n", 0, others.start())
                    n_others += len(_NOT_UTF8.findall(text))
                    n_characters += len(_BEYOND_ASCII.findall(text))
                self.has_quotes = self.has_quotes or b'"' in block
                n_lf += block.count(b"\n")
                length += block.find(b"\n") if b"\n" in block else len(block)
                self.longest = max(self.longest, length)
                if b"\n" in block:
                    length = len(block) - block.rindex(b"\n")
                if b"\r" in block:
                    n_cr += block.count(b"\r")
                    n_crlf += block.count(b"\r\n")
        if decoder.getstate()[0]:  # half of a character at the end
            self.line_of_bytes = self.line_of_bytes or 1 + n_lf
            n_others += 1
        self.is_unicode = n_characters >= 2 * n_others
        self.ends_alike = n_cr == n_crlf and n_crlf in (0, n_lf)
        self.longest *= n_cr == 0 or n_lf > 0


def _likely(name: str, content: Content, line: int) -> list[str]:
    """Return the encodings that make words of the bytes beyond ASCII."""
    try:
        from charset_normalizer import from_bytes
    except ModuleNotFoundError as error:
        raise _not_utf8(name, line) from error
    sample = bytearray()
    for block in content.lines():
        sample += b"\n".join(each for each in block.split(b"\n") if not each.isascii())
        if len(sample) > _LOOKED_AT:
            break
    letters = _SIGN.sub(b"", bytes(sample[:_LOOKED_AT]))
    matches = from_bytes(letters, cp_isolation=_TRIED, enable_fallback=False)
    least = min((match.chaos for match in matches), default=0.0)
    best = [match for match in matches if match.chaos <= least + 0.02]
    names = [each for match in best for each in match.could_be_from_charset]
    few = sum(byte > 127 for byte in letters) < _FEW
    # Most such files are of Windows in Western Europe, where others are no better.
    return [*(["cp1252"] if few or "cp1252" in names else []), *names, "latin_1"]


def _recoded(name: str, content: Content, encodings: list[str]) -> tuple[Content, str]:
    """Copy a text as UTF-8 whose lines end in LF, from the first of some encodings that fits."""
    for encoding in encodings:
        try:
            return content.rewritten(_in_utf8(content.path, encoding)), encoding
        except UnicodeError as error:
            last = error
    raise TableError(f"{name}: it is not in {encoding} ({last}).") from last


def _in_utf8(path: Path, encoding: str) -> Iterator[bytes]:
    with path.open(encoding=encoding, newline=None) as file:
        while characters := file.read(source.BLOCK):
            yield characters.encode()


def _not_utf8(name: str, line: int) -> TableError:
    advice = "; pass its encoding, for instance {encoding}."
    return TableError(f"{name}, line {line:,}: it is not in UTF-8", advice, encoding="cp1252")
