"""Which reader a source needs, and what its errors mean."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from ._arrays import read_arrow, read_numpy, read_parquet
from ._batch import Batch, TableError
from ._csv import read_csv
from ._json import read_json
from ._source import Reading, Source, format_of

_BINARY = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}


def read_source(
    source: Source, reading: Reading, skip: bool, columns: Sequence[str] | None
) -> Iterator[Batch]:
    """The batches of one source; only these columns, where that saves work."""
    kind = source.format(reading)
    try:
        if kind in ("parquet", "npy", "npz") and source.path is None:
            raise TableError(
                f"{source.name}: {kind} cannot be read from a pipe; write it to a file first."
            )
        if kind == "parquet":
            yield from read_parquet(source, columns)
        elif kind == "arrow":
            yield from read_arrow(source)
        elif kind in ("npy", "npz"):
            yield from read_numpy(source, kind)
        else:
            yield from _text(source, reading, skip, kind)
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


def _meaning(error: Exception, source: Source) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    compressed = source.path is None or format_of(source.path)[1] is not None
    if compressed and any(
        word in text.lower() for word in ("truncated", "zlib", "zstd", "bz2", "inflate")
    ):
        return f"the compressed data are damaged or cut off ({text}); get the file again."
    if "UTF8" in text:
        return "it is not in UTF-8; pass its encoding, for instance --encoding latin-1."
    if "straddl" in text:
        return "a row is longer than 4 MB; is this the right format or delimiter?"
    return f"it cannot be read ({text}); is it whole, and what its name says?"


class _PutBack(io.RawIOBase):
    """A stream whose first bytes were read already."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head:
            some, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        else:
            some = self._rest.read(len(buffer))
        buffer[: len(some)] = some
        return len(some)


def _text(source: Source, reading: Reading, skip: bool, kind: str | None) -> Iterator[Batch]:
    with source.open() as (stream, done):
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
            whole = io.BufferedReader(_PutBack(head, stream))
            yield from read_csv(source, start, whole, reading, skip, done)
