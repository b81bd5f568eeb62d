"""In which encoding a text is, by its bytes."""

from __future__ import annotations

import codecs

from ..batch import TableError
from ..findings import Finding
from ._plain import PlainText, in_utf8, with_newlines

# Encodings of one byte a character that are tried, and bytes that are looked at.
_TRIED = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1257", "koi8_r", "cp437", "cp850"]
_TRIED += ["shift_jis", "euc_jp", "gb18030", "big5", "euc_kr", "mac_roman", "latin_1"]
_LOOKED_AT = 1 << 16

# Bytes beyond ASCII that are too few to tell one encoding from others.
_FEW = 8


def as_utf8(
    name: str, text: PlainText, encoding: str | None, *, is_json: bool
) -> tuple[PlainText, list[Finding]]:
    """The same text in UTF-8, with lines that end alike, and what there is to say about it.

    JSON is always in UTF-8.
    """
    findings = []
    if encoding is None:
        encoding = _wide(text.head(64))
        if encoding is None and text.line_of_bytes is not None:
            encoding = _by_bytes(name, text, is_json)
        if encoding is not None:
            what = f"it is not in UTF-8, and by its bytes read as {encoding}"
            advice = "if letters are wrong, pass --encoding"
            findings.append(Finding("encoding", f"{name}: {what}; {advice}.", warning=True))
    elif codecs.lookup(encoding).name == "utf-8":
        encoding = None
        if text.line_of_bytes is not None:
            raise _no_utf8(name, text.line_of_bytes)
    if encoding is not None:
        try:
            text = text.rewritten(in_utf8(encoding))
        except UnicodeError as error:
            raise TableError(f"{name}: it is not in {encoding} ({error}).") from error
    head = text.head(_LOOKED_AT)
    if b"\0" in head:
        place = head.index(b"\0") + 1
        raise TableError(f"{name}: it is not text (byte {place:,} is zero); is it the right file?")
    if not text.ends_alike:
        text = text.rewritten(with_newlines)
    return text, findings


def _wide(head: bytes) -> str | None:
    """UTF-16 by its mark, or by the zeros beside the letters of ASCII."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    for name, letters in (("utf-16-le", slice(0, None, 2)), ("utf-16-be", slice(1, None, 2))):
        zeros = slice(1 - letters.start, None, 2)
        if len(head) > 3 and not head[zeros].strip(b"\0") and b"\0" not in head[letters]:
            return name
    return None


def _by_bytes(name: str, text: PlainText, is_json: bool) -> str:
    """The encoding that makes words of the bytes that ASCII does not have."""
    assert text.line_of_bytes is not None
    if is_json or text.has_unicode:  # most of it is UTF-8, and this place is damaged
        raise _no_utf8(name, text.line_of_bytes)
    try:
        from charset_normalizer import from_bytes
    except ModuleNotFoundError as error:
        raise _no_utf8(name, text.line_of_bytes) from error
    sample = bytearray()
    for block in text.blocks():
        for line in block.splitlines(keepends=True) if not block.isascii() else ():
            if not line.isascii():
                sample += line
        if len(sample) > _LOOKED_AT:
            break
    matches = from_bytes(bytes(sample[:_LOOKED_AT]), cp_isolation=_TRIED, enable_fallback=False)
    least = min((match.chaos for match in matches), default=0.0)
    best = [each for each in matches if each.chaos <= least + 0.02]
    names = [each for match in best for each in match.could_be_from_charset]
    few = sum(byte > 127 for byte in sample) < _FEW
    # Most such files are of Windows in Western Europe, where others are no better.
    names = ["cp1252", *names] if few or "cp1252" in names else names
    return next((each for each in names if _decodes(text, each)), "latin_1")


def _decodes(text: PlainText, encoding: str) -> bool:
    """Whether all of a text is in an encoding."""
    try:
        for _ in in_utf8(encoding)(text.blocks()):
            pass
    except UnicodeError:
        return False
    return True


def _no_utf8(name: str, line: int) -> TableError:
    advice = "; pass its encoding, for instance {encoding}."
    return TableError(f"{name}, line {line:,}: it is not in UTF-8", advice, encoding="cp1252")
