"""Which reader a source needs, and what its errors mean."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from ._arrays import read_arrow, read_numpy, read_parquet
from ._batch import Batch, TableError
from ._csv import read_csv
from ._json import read_json
from ._source import Reading, Source, format_of

_BINARY = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}


def read_source(
    source: Source,
    reading: Reading,
    skip: bool,
    columns: Sequence[str] | None,
    over: Callable[[], bool],
) -> Iterator[Batch]:
    """The batches of one source; only these columns, where that saves work.

    When `over` says so, nobody wants any more of them.
    """
    kind = source.format(reading)
    try:
        if kind in ("parquet", "npy", "npz") and source.path is None:
            raise TableError(
                f"{source.name}: {kind} cannot be read from a pipe; write it to a file first."
            )
        if kind == "parquet":
            yield from read_parquet(source, columns)
        elif kind == "arrow":
            yield from read_arrow(source, over)
        elif kind in ("npy", "npz"):
            yield from _numpy(source, kind)
        else:
            yield from _text(source, reading, skip, kind, over)
    except TableError:
        raise
    except FileNotFoundError as error:
        raise TableError(f"{source.name}: there is no such file.") from error
    except PermissionError as error:
        raise TableError(f"{source.name}: it may not be read; look at its permissions.") from error
    except UnicodeError as error:
        raise TableError(f"{source.name}: it is not in {reading.encoding} ({error}).") from error
    except (pa.ArrowException, OSError, EOFError, zipfile.BadZipFile) as error:
        raise TableError(f"{source.name}: {_meaning(error, source)}") from error


def _numpy(source: Source, kind: str) -> Iterator[Batch]:
    try:
        yield from read_numpy(source, kind)
    except (TableError, MemoryError, OSError):
        raise
    except Exception as error:  # a damaged header or archive raises whatever its parser does
        raise TableError(f"{source.name}: {_meaning(error, source)}") from error


def _meaning(error: Exception, source: Source) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    compressed = source.path is None or format_of(source.path)[1] is not None
    if compressed and any(
        word in text.lower() for word in ("truncated", "zlib", "zstd", "bz2", "inflate")
    ):
        return f"the compressed data are damaged or cut off ({text}); get the file again."
    if "UTF8" in text:
        return "it is not in UTF-8; pass its encoding, for instance --encoding latin-1."
    return f"it cannot be read ({text}); is it whole, and what its name says?"


def _text(
    source: Source, reading: Reading, skip: bool, kind: str | None, over: Callable[[], bool]
) -> Iterator[Batch]:
    with source.open(over) as (stream, done):
        head = stream.read(1 << 16)
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if not start:
            raise TableError(f"{source.name}: it is empty; there is nothing to read.")
        for magic, format in _BINARY.items():
            if start.startswith(magic):
                raise TableError(f"{source.name}: it looks like {format}; pass --format {format}.")
        if start.startswith((b"\xff\xfe", b"\xfe\xff")) and reading.encoding == "utf8":
            raise TableError(f"{source.name}: it is in UTF-16; pass --encoding utf-16.")
        if kind is None:
            kind = "jsonl" if start[:1] in b"{[" else "csv"
        if kind == "jsonl":
            if start.startswith(b"["):
                raise TableError(
                    f"{source.name}: it is one JSON list; one object a line is wanted, which "
                    "jq -c '.[]' makes of it."
                )
            yield from read_json(source, head.removeprefix(b"\xef\xbb\xbf"), stream, skip, done)
        else:
            if kind == "tsv" and reading.delimiter is None:
                reading = replace(reading, delimiter="\t")
            yield from read_csv(source, head, stream, reading, skip, done)
