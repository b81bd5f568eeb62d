"""The format of a file, by its first bytes, or else by its name."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ..batch import Batch, TableError
from ..findings import Finding
from .foreign import check_not_foreign, check_text
from .registry import TableFormat, by_name, by_start
from .source import Content, Reading, ReadRequest, Source, compression, with_findings

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
    request: ReadRequest,
    format: TableFormat | None,
    stream: Any,
    share_read: Callable[[], float],
) -> Iterator[Batch]:
    """The batches of text, whose format is recognised where its name does not say it."""
    name, reading = request.source.name, request.reading
    head = stream.read(_HEAD)
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if not start:
        if request.source.may_be_empty:
            return
        raise TableError(f"{name}: it is empty; there is nothing to read.")
    _check_is_text(request, head)
    findings: tuple[Finding, ...] = ()
    if format is None:
        format = by_start(start, text=True) or by_name("csv")
    elif reading.format is None and format.name in ("csv", "tsv") and _is_json(start):
        text = f"it is JSON, not {format.name} as its name says; it is read as such"
        format, findings = by_name("jsonl"), (Finding("format", f"{name}: {text}."),)
    content = Content(head, stream, share_read)
    yield from with_findings(format.batches(replace(request, content=content)), findings)


def _check_is_text(request: ReadRequest, head: bytes) -> None:
    """Raise a TableError for what is no text: here it comes out of a pipe, or was compressed."""
    source = request.source
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
    check_text(source.name, head, request.reading.encoding)


def _is_json(start: bytes) -> bool:
    """Whether text that should be CSV begins with an object of JSON, or a list of such."""
    from .json import parsed_line

    if start.startswith(b"["):
        return start[1:].lstrip().startswith(b"{")
    return start.startswith(b"{") and isinstance(parsed_line(start.splitlines()[0]), dict)
