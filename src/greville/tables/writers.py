"""Tables written batch by batch, completely or not at all."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..persistence import whole_file
from .batch import TableError
from .readers.formats import codec_of, format_of

# What stands between fields, for formats of text.
_DELIMITERS = {"csv": ",", "tsv": "\t", "jsonl": None}


class TableWriter:
    """Writes record batches to a stream, all with the columns of the first, in its order.

    CSV has the `delimiter` and the `decimal` mark of the first call of `write`, if they are given.
    In Parquet and Arrow files a column keeps the type that it has in the first batch. In lines of
    JSON every row may have columns of its own.
    """

    def __init__(self, stream: Any, format: str) -> None:
        self._stream, self._format = stream, format
        self._delimiter, self._decimal = _DELIMITERS.get(format), "."
        self._schema: Any = None
        self._file: Any = None

    def write(self, batch: Any, delimiter: str | None = None, decimal: str = ".") -> None:
        """Write rows to the end of the file."""
        if self._format == "jsonl":
            self._stream.write(_json_lines(batch))
            return
        if self._schema is None:
            if delimiter not in (None, "", "\t") and self._format == "csv":
                self._delimiter, self._decimal = delimiter, decimal
            self._begin(batch.schema)
        columns = self._in_order(batch)
        if self._file is None:
            self._stream.write(_lines(columns, self._delimiter, self._decimal))
        else:
            table = pa.RecordBatch.from_arrays(
                list(map(_cast, columns, self._schema)), schema=self._schema
            )
            self._file.write_batch(table)

    def _begin(self, schema: Any) -> None:
        self._schema = schema
        if self._format == "arrow":
            self._file = pa.ipc.new_file(self._stream, schema)
        elif self._format == "parquet":
            from pyarrow.parquet import ParquetWriter

            self._file = ParquetWriter(self._stream, schema)
        else:
            names = [pa.array([name]) for name in schema.names]
            self._stream.write(_lines(names, self._delimiter, self._decimal))

    def _in_order(self, batch: Any) -> list[Any]:
        """Return a batch's columns in the order of the first batch; absent ones are missing."""
        present = batch.schema.names
        new = set(present) - set(self._schema.names)
        if new:
            raise TableError(
                f"column {min(new)!r} is not in the first rows; write .jsonl, where every row may "
                "have its own."
            )
        names = self._schema.names
        return [batch.column(n) if n in present else pa.nulls(batch.num_rows) for n in names]

    def close(self) -> None:
        """Write what comes after the last rows."""
        if self._file is not None:
            self._file.close()


def _cast(column: Any, field: Any) -> Any:
    """Cast a column to the type that it has in the first rows."""
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(
            f"column {field.name!r} changes from {field.type} to {column.type}; write .csv or "
            ".jsonl instead."
        ) from error


def _lines(columns: Sequence[Any], delimiter: str | None, decimal: str) -> bytes:
    """Lines of CSV; fields are in quotes where they have to be."""
    fields = []
    for values in columns:
        column = _spelled(values)
        if decimal != "." and pa.types.is_floating(values.type):
            column = pc.replace_substring(column, ".", decimal)
        quoted = pc.replace_substring(column, '"', '""')
        quoted = pc.binary_join_element_wise('"', quoted, '"', "")
        special = pc.match_substring_regex(column, f'[{delimiter}"\r\n]')
        fields.append(pc.if_else(special, quoted, column))
    lines = pc.binary_join_element_wise(
        *fields, delimiter, null_handling="replace", null_replacement=""
    )
    return "".join(f"{line}\n" for line in lines.to_pylist()).encode()


def _spelled(column: Any) -> Any:
    """A column as text: what `str` says of what is not text, numbers, or true and false."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    try:
        return pc.cast(column, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())


def _json_lines(batch: Any) -> bytes:
    """Lines of JSON, in which there is no nan."""
    columns = [
        pc.if_else(pc.is_finite(c), c, None) if pa.types.is_floating(c.type) else c
        for c in batch.columns
    ]
    names = batch.schema.names
    rows = zip(*(c.to_pylist() for c in columns), strict=True)
    lines = [json.dumps(dict(zip(names, row, strict=True)), default=str) for row in rows]
    return ("\n".join(lines) + "\n").encode()


class _Shown:
    """A text stream to a terminal that escapes unprintable characters."""

    def __init__(self, out: Any, shown: Callable[[str], str]) -> None:
        self._out = out
        self._shown = shown

    def write(self, content: bytes) -> None:
        self._out.write(self._shown(content.decode()).encode())


@contextlib.contextmanager
def written(path: Path | None, shown: Callable[[str], str] | None = None) -> Iterator[Any]:
    """A writer of a file that is there when all went well, and else is as it was before.

    Without a path it writes CSV to standard output; on a terminal as `shown` makes it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> from greville.tables import written
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "out.csv"
    ...     with written(path) as writer:
    ...         writer.write(pa.record_batch({"x": [1, 2]}))
    ...     print(path.read_text().split())
    ['x', '1', '2']
    """
    if path is None:
        with open(os.dup(1), "wb") as out:
            stream: Any = out if shown is None or not out.isatty() else _Shown(out, shown)
            yield TableWriter(stream, "csv")
        return
    format, codec = format_of(path), codec_of(path)
    name = "" if format is None else format.name
    plain = codec is None and name in ("parquet", "arrow")
    if not plain and (name not in _DELIMITERS or codec == "bz2"):
        raise TableError(
            f"{path}: its name does not say in which format to write; end it in .csv, .tsv, "
            ".jsonl, .parquet or .arrow (.csv, .tsv, .jsonl may go on with .gz or .zst)."
        )
    with whole_file(path) as new, pa.OSFile(new, "wb") as file:
        stream = pa.CompressedOutputStream(file, codec) if codec else file
        writer = TableWriter(stream, name)
        yield writer
        writer.close()
        if codec:
            stream.close()
