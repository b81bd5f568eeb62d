"""Files, folders, patterns and pipes as one sequence of batches."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from ..batch import Batch, RowErrors, TableError, listed
from ..findings import Finding
from .folders import with_partitions
from .foreign import check_not_foreign
from .formats import TableFormat, format_by_start, format_of, formats
from .relation import Query, filtered
from .source import Reading, ReadRequest, Source, Stopped, Unreadable, with_findings
from .text import as_text
from .unpacking import Content, archive_format, unpacked

# Bytes by which a format is recognised.
_HEAD = 1 << 16


def read(
    sources: Sequence[Source],
    reading: Reading,
    row_errors: RowErrors,
    columns: Sequence[str] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Generator[Batch, None, None]:
    """Read all batches of all sources, in order.

    Raises `Stopped` as soon as `stopped` says so. Close it when no more are needed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import Reading, RowErrors, find_sources, read
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> batches = list(read(find_sources([str(path)]), Reading(), RowErrors()))
    >>> batches[0].table.num_rows
    16384
    """
    names: list[str] | None = None
    needed = None if reading.where else columns  # the condition may need others
    for source in sources:
        batches = _batches(source, reading, row_errors.skip, needed, stopped)
        if reading.where:
            batches = filtered(batches, reading, row_errors.skip)
        empty = True
        for batch in batches:
            if stopped():
                raise Stopped
            if empty and not batch.sparse:
                own = batch.table.schema.names
                names = names or own
                yield replace(batch, findings=(*batch.findings, *_new(source.name, own, names)))
            else:
                yield batch
            empty = False
        if empty and reading.where:
            what = f"where={reading.where!r}: no row of {source.name} is like that."
            raise TableError(what, argument="where")
        if empty:
            raise TableError(f"{source.name}: it has no rows; there is nothing to read.")


def split(sources: Sequence[Source], size: int) -> list[Source]:
    """Cut files into parts of about so many bytes; only Parquet on this machine is cut.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import find_sources, split
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> len(split(find_sources([str(path)]), 1_000_000))
    1
    """
    from .parquet import parts_of

    parts: list[Source] = []
    for source in sources:
        cut = not source.remote and source.can_be_read_again and _is_parquet(source.path)
        parts += parts_of(source, size) if cut else [source]
    return parts


def _is_parquet(path: Any) -> bool:
    with path.open("rb") as file:
        return format_by_start(file.read(8)) == formats()["parquet"]


def _new(source: str, present: Sequence[str], names: Sequence[str]) -> list[Finding]:
    """A finding about columns that a source has, but the first source has not."""
    new = [name for name in present if name not in names]
    if not new:
        return []
    what = f"column {new[0]!r}" if len(new) == 1 else f"columns {listed(new)}"
    message = (
        f"{source} has the {what}, which the first file does not have; only columns of all files "
        "can be learned from."
    )
    return [Finding("new columns", message, new[0], warning=True)]


def _batches(
    source: Source,
    reading: Reading,
    skip: bool,
    columns: Sequence[str] | None,
    stopped: Callable[[], bool],
) -> Iterator[Batch]:
    """The batches of one source, whose errors say what is wrong with it."""
    if isinstance(source, Query):
        yield from source.batches(ReadRequest(source, reading, None, skip, columns))
        return
    try:
        content = unpacked(source, reading.table, stopped)
        if content.findings:  # the file in an archive was named
            reading = replace(reading, table=None)
        format, said = _recognised(source.name, content, reading)
        if format.name == "tsv":
            reading = replace(reading, delimiter=reading.delimiter or "\t")
        if not format.magic:
            is_json = format.name == "jsonl"
            content = as_text(source.name, content, reading.encoding, is_json=is_json)
        request = ReadRequest(source, reading, content, skip, columns)
        findings = [*source.findings, *content.findings, *said]
        for batch in with_findings(format.batches(request), findings):
            yield with_partitions(batch, source.partitions, columns)
    except TableError:
        raise
    except FileNotFoundError as error:
        raise TableError(f"{source.name}: there is no such file.") from error
    except PermissionError as error:
        what = f"{source.name}: no permission to read it; check its permissions."
        raise TableError(what) from error
    except (pa.ArrowException, OSError, Unreadable) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        what = f"{source.name}: it cannot be read ({reason}); is it complete, and in the format"
        raise TableError(f"{what} of its name?") from error


def _recognised(name: str, content: Content, reading: Reading) -> tuple[TableFormat, list[Finding]]:
    """The format of a file, by its first bytes or else its name, and what there is to say."""
    if reading.format is not None:
        if reading.format not in formats():
            what = f"format={reading.format!r}: choose one of {', '.join(formats())}."
            raise TableError(what, argument="format")
        return formats()[reading.format], []
    head = content.head(_HEAD)
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if not start:
        raise TableError(f"{name}: it is empty; there is nothing to read.")
    check_not_foreign(name, head)
    by_name, by_start = format_of(content.name), format_by_start(head)
    if by_start is not None and by_start.name == "npz":  # those of Excel begin alike
        archive = archive_format(content.path) or ""
        if archive == "zip":
            raise TableError(f"{name}: it is a zip in an archive; unpack it, and pass its files.")
        by_start = formats()[archive]
    if by_start is None and by_name is not None and by_name.magic:
        what = f"{name}: it cannot be read, since it does not begin as files of the format"
        what += f" {by_name.name} do; is it complete, and in the format of its name?"
        raise TableError(what, " For text pass {format}.", format="csv")
    if by_start is None and _is_json(start):
        by_start = formats()["jsonl"]
    format = by_start or by_name or formats()["csv"]
    if by_name is None or by_name is format:
        return format, []
    kind = "JSON" if not format.magic else f"a file of the format {format.name}"
    what = f"{name}: it is {kind}, not {by_name.name} as its name says; it is read as such."
    return format, [Finding("format", what)]


def _is_json(start: bytes) -> bool:
    """Whether text begins with an object of JSON, or a list of such."""
    from .json import parsed_line

    if start.startswith(b"["):
        return start[1:].lstrip().startswith(b"{")
    return start.startswith(b"{") and isinstance(parsed_line(start.splitlines()[0]), dict)
