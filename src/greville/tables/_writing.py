"""Tables written batch by batch, whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..persistence import whole_file
from ._batch import TableError
from ._source import format_of


class Writer:
    """Writes record batches, in one of the formats that can be read."""

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
        if self._kind == "jsonl":
            self._stream.write(_json_lines(batch))
        elif self._kind in ("csv", "tsv"):
            self._stream.write(_csv_lines(self._in_order(batch), self._delimiter))
        else:
            self._table.write_batch(self._alike(self._in_order(batch)))

    def _begin(self) -> None:
        if self._kind in ("csv", "tsv"):
            self._stream.write(_quoted([self._schema.names], self._delimiter))
        elif self._kind == "parquet":
            from pyarrow.parquet import ParquetWriter

            self._table = ParquetWriter(self._stream, self._schema)
        elif self._kind == "arrow":
            self._table = pa.ipc.new_file(self._stream, self._schema)

    def _in_order(self, batch: Any) -> Any:
        """The columns of the first batch; what one does not have is missing."""
        names, known = self._schema.names, set(batch.schema.names)
        new = known - set(names)
        if new:
            raise TableError(
                f"column {sorted(new)[0]!r} is not in the first rows; write .jsonl, where every "
                "row may have its own."
            )
        columns = [batch.column(n) if n in known else pa.nulls(batch.num_rows) for n in names]
        return pa.RecordBatch.from_arrays(columns, names=names)

    def _alike(self, batch: Any) -> Any:
        columns = []
        for field, column in zip(self._schema, batch.columns, strict=True):
            try:
                columns.append(column.cast(field.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise TableError(
                    f"column {field.name!r} changes from {field.type} to {column.type}; write .csv "
                    "or .jsonl instead."
                ) from error
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def close(self) -> None:
        if self._table is not None:
            self._table.close()


class _Shown:
    """Text on its way to a terminal."""

    def __init__(self, out: Any, shown: Callable[[str], str] | None) -> None:
        self._out = out
        self._shown = shown or str

    def write(self, content: bytes) -> None:
        self._out.write(self._shown(content.decode()).encode())


@contextlib.contextmanager
def written(path: Path | None, shown: Callable[[str], str] | None = None) -> Iterator[Writer]:
    """A writer of a file that is there when all went well, and else is as it was before.

    Without a path it writes CSV to standard output; on a terminal as `shown` makes it.
    """
    if path is None:
        with open(os.dup(1), "wb") as out:
            on_terminal = shown is not None and out.isatty()
            yield Writer("csv", _Shown(out, shown) if on_terminal else out)
        return
    kind, codec = format_of(path)
    if kind not in ("csv", "tsv", "jsonl", "parquet", "arrow") or (
        codec is not None and (codec == "bz2" or kind in ("parquet", "arrow"))
    ):
        raise TableError(
            f"{path}: its name does not say in which format to write; end it in .csv, .tsv, "
            ".jsonl, .parquet or .arrow (the first three may go on with .gz or .zst)."
        )
    with whole_file(path) as new, pa.OSFile(new, "wb") as file:
        stream = pa.CompressedOutputStream(file, codec) if codec else file
        writer = Writer(kind, stream)
        yield writer
        writer.close()
        if codec:
            stream.close()


def _csv_lines(batch: Any, delimiter: str) -> bytes:
    """All at once where nothing needs quotes; a row with a comma in it takes the long way."""
    from pyarrow.csv import WriteOptions, write_csv

    columns = [_spelled(column) for column in batch.columns]
    special = f'[{delimiter}"\r\n]'
    if any(pc.any(pc.match_substring_regex(c, special)).as_py() for c in columns):
        return _quoted(zip(*(c.to_pylist() for c in columns), strict=True), delimiter)
    out = pa.BufferOutputStream()
    options = WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")
    write_csv(pa.RecordBatch.from_arrays(columns, names=batch.schema.names), out, options)
    return out.getvalue().to_pybytes()


def _spelled(column: Any) -> Any:
    """A column as text: what `str` says of what is not text, numbers, or true and false."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    try:
        return pc.cast(column, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())


def _quoted(rows: Iterable[Iterable[str | None]], delimiter: str) -> bytes:
    """Rows of text. Python's own writer leaves carriage returns without quotes."""
    special = re.compile(f'[{delimiter}"\r\n]')

    def field(text: str | None) -> str:
        if text and special.search(text):
            return '"' + text.replace('"', '""') + '"'
        return text or ""

    return "".join(delimiter.join(map(field, row)) + "\n" for row in rows).encode()


def _json_lines(batch: Any) -> bytes:
    columns = [
        pc.if_else(pc.is_finite(c), c, None) if pa.types.is_floating(c.type) else c
        for c in batch.columns
    ]  # there is no nan in JSON
    names = batch.schema.names
    rows = zip(*(c.to_pylist() for c in columns), strict=True)
    lines = [json.dumps(dict(zip(names, row, strict=True)), default=str) for row in rows]
    return ("\n".join(lines) + "\n").encode()
