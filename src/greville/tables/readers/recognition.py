"""The format of a file, by its first bytes, or else by its name."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..batch import Batch, TableError
from ..findings import Finding
from ._encoding import as_utf8
from ._plain import PlainText
from .foreign import check_not_foreign
from .registry import TableFormat, by_name, by_start
from .source import (
    Reading,
    ReadRequest,
    Source,
    Stopped,
    blocks_of,
    compression,
    with_findings,
)

# Bytes by which a format is recognised.
_HEAD = 1 << 16


def recognised(source: Source, reading: Reading) -> tuple[TableFormat | None, tuple[Finding, ...]]:
    """The format of a source, and what there is to say about it; None is text of some kind."""
    named = source.format(reading)
    path = source.path
    if path is None or reading.format is not None or not path.is_file():
        return named, ()
    with path.open("rb") as file:
        head = file.read(_HEAD)
    check_not_foreign(source.name, head)
    found = by_start(head, text=False)
    if found is not None and found.name == "zip":
        from .zip import kind_of

        found = by_name(kind_of(path))
    if found is None:
        if not head:
            raise TableError(f"{source.name}: it is empty; there is nothing to read.")
        binary = named is not None and not named.text and named.magic
        if named is not None and binary and compression(head) is None:
            raise TableError(
                f"{source.name}: it cannot be read, since it does not begin as files of the format "
                f"{named.name} do; is it complete, and in the format of its name?",
                " For text pass {format}.",
                format="csv",
            )
        return named, ()
    if named is None or named is found:
        return found, ()
    text = f"it is a file of the format {found.name}, not {named.name} as its name says"
    return found, (Finding("format", f"{source.name}: {text}; it is read as {found.name}."),)


def text_batches(
    request: ReadRequest, format: TableFormat | None, stream: Any = None
) -> Iterator[Batch]:
    """The batches of text, whose format is recognised where its name does not say it."""
    source, reading = request.source, request.reading
    key = source.version, reading.encoding, reading.table
    if source.texts.get("key") != key:
        copy = _copied(request, stream)
        is_json = by_start(copy.head(_HEAD).lstrip(), text=True) is not None
        made = as_utf8(source.name, copy, reading.encoding, is_json=is_json)
        source.texts = {"key": key, "text": made}
    text, findings = source.texts["text"]
    start = text.head(_HEAD).lstrip()
    if not start:
        raise TableError(f"{source.name}: it is empty; there is nothing to read.")
    if format is None:
        format = by_start(start, text=True) or by_name("csv")
    elif reading.format is None and format.name in ("csv", "tsv") and _is_json(start):
        said = f"it is JSON, not {format.name} as its name says; it is read as such"
        format = by_name("jsonl")
        findings = [*findings, Finding("format", f"{source.name}: {said}.")]
    yield from with_findings(format.batches(replace(request, text=text)), findings)


def _copied(request: ReadRequest, stream: Any) -> PlainText:
    """The text of a source, or of a stream in it, where it is or in a copy."""
    source = request.source
    if stream is None and source.is_plain():
        assert source.path is not None
        with source.path.open("rb") as file:
            _check_is_text(request, file.read(_HEAD))
        return PlainText.of_file(source.path)
    if stream is None:
        with source.open(request.over) as opened:
            return _copied(request, opened)
    head = stream.read(_HEAD)
    if request.over():
        raise Stopped
    _check_is_text(request, head)
    return PlainText.copied(blocks_of(stream, request.over, head))


def _check_is_text(request: ReadRequest, head: bytes) -> None:
    """Raise a TableError for what is no text: here it comes out of a pipe, or was compressed."""
    source = request.source
    if not head.removeprefix(codecs.BOM_UTF8).strip():
        raise TableError(f"{source.name}: it is empty; there is nothing to read.")
    other = by_start(head, text=False)
    if other is not None and other.from_pipe and source.path is None:
        what = f"{source.name}: it looks like {other.name}"
        raise TableError(what, "; pass {format}.", format=other.name)
    if other is not None:
        is_file = source.path is not None and source.path.is_file()
        where = "from a compressed file" if is_file else "from a pipe"
        raise TableError(
            f"{source.name}: it holds {other.name}, which cannot be read {where}; write it to a "
            "file of its own first."
        )
    check_not_foreign(source.name, head)


def _is_json(start: bytes) -> bool:
    """Whether text that should be CSV begins with an object of JSON, or a list of such."""
    from .json import parsed_line

    if start.startswith(b"["):
        return start[1:].lstrip().startswith(b"{")
    return start.startswith(b"{") and isinstance(parsed_line(start.splitlines()[0]), dict)
