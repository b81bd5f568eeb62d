"""Tables written batch by batch, whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from ._batch import TableError

_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_COMPRESSED = {".gz": "gzip", ".zst": "zstd"}


class Writer:
    """Writes record batches of one schema to a file, or as CSV or JSON lines to standard output."""

    def __init__(self, kind: str, stream: Any) -> None:
        self._kind = kind
        self._delimiter = "\t" if kind == "tsv" else ","
        self._stream = stream
        self._schema: Any = None
        self._table: Any = None

    def write(self, batch: Any) -> None:
        if self._schema is None:
            self._schema = batch.schema
            self._begin()
        elif batch.schema != self._schema:
            batch = _as(batch, self._schema)
        if self._kind in ("csv", "tsv"):
            self._write_csv(batch)
        elif self._kind == "jsonl":
            self._stream.write("".join(_line(row) for row in batch.to_pylist()).encode())
        else:
            self._table.write_batch(batch)

    def _write_csv(self, batch: Any) -> None:
        """All at once where nothing needs quotes; a row with a comma in it takes the long way."""
        from pyarrow.csv import WriteOptions, write_csv

        options = WriteOptions(
            include_header=False, delimiter=self._delimiter, quoting_style="none"
        )
        part = pa.BufferOutputStream()
        try:
            write_csv(batch, part, options)
            self._stream.write(part.getvalue())
        except pa.ArrowInvalid:
            text = io.StringIO()
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            csv.writer(text, delimiter=self._delimiter, lineterminator="\n").writerows(rows)
            self._stream.write(text.getvalue().encode())

    def _begin(self) -> None:
        if self._kind in ("csv", "tsv"):
            head = io.StringIO()
            csv.writer(head, delimiter=self._delimiter, lineterminator="\n").writerow(
                self._schema.names
            )
            self._stream.write(head.getvalue().encode())
        elif self._kind == "parquet":
            from pyarrow.parquet import ParquetWriter

            self._table = ParquetWriter(self._stream, self._schema)
        elif self._kind == "arrow":
            self._table = pa.ipc.new_file(self._stream, self._schema)

    def close(self) -> None:
        if self._table is not None:
            self._table.close()


@contextlib.contextmanager
def written(path: Path | None, kind: str | None = None) -> Iterator[Writer]:
    """A writer of a file that is there when all went well, and else is as it was before."""
    if path is None:
        stream = pa.PythonFile(sys.stdout.buffer, "w")
        writer = Writer(kind or "csv", stream)
        yield writer
        writer.close()
        sys.stdout.buffer.flush()
        return
    suffixes = [suffix.lower() for suffix in path.suffixes]
    codec = _COMPRESSED.get(suffixes[-1]) if suffixes else None
    if codec:
        suffixes.pop()
    kind = kind or (_FORMATS.get(suffixes[-1]) if suffixes else None)
    if kind is None or (codec and kind in ("parquet", "arrow")):
        raise TableError(
            f"{path}: its name does not say in which format to write; end it in .csv, .tsv, "
            ".jsonl, .parquet or .arrow (the first three may go on with .gz or .zst)."
        )
    with whole_file(path) as raw:
        sink = pa.PythonFile(raw, "w")
        stream = pa.CompressedOutputStream(sink, codec) if codec else sink
        writer = Writer(kind, stream)
        yield writer
        writer.close()
        if codec:
            stream.close()


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Any]:
    """A file that takes its place when it is complete and on the disk."""
    path = Path(os.path.realpath(path))
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb", closefd=True) as file:
            yield _Uncloseable(file)
            file.flush()
            os.fsync(file.fileno())
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


class _Uncloseable:
    """A file that Arrow may close without effect: it must still be synced."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def close(self) -> None:
        self._file.flush()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _as(batch: Any, schema: Any) -> Any:
    """A batch whose columns have other types, or another order, than those before it."""
    columns = []
    for field in schema:
        if field.name not in batch.schema.names:
            columns.append(pa.nulls(batch.num_rows, field.type))
            continue
        try:
            columns.append(batch.column(field.name).cast(field.type, safe=False))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise TableError(
                f"column {field.name!r} changes from {field.type} to "
                f"{batch.schema.field(field.name).type}; write .csv or .jsonl instead."
            ) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, default=str, allow_nan=True) + "\n"
