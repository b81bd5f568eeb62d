"""CSV: text with a row on each line, and fields between delimiters."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..batch import (
    Batch,
    TableError,
    check_column_names,
    check_count,
    row_numbers,
    unusable_row,
)
from ..writers import OrderedWriter
from ._csv_rows import first_end, whole_rows
from .source import ReadRequest, Source, arrow_input


def read_tsv(request: ReadRequest) -> Iterator[Batch]:
    """The same with tabs between fields."""
    delimiter = request.reading.delimiter or "\t"
    return read(replace(request, reading=replace(request.reading, delimiter=delimiter)))


def read(request: ReadRequest) -> Iterator[Batch]:
    """The batches of lines of text.

    Arrow gets blocks of whole rows, in its own memory. Its streaming reader would read ahead in
    threads that call into Python, also while the interpreter ends, which ends the process.
    """
    source, reading, content = request.source, request.reading, request.content
    assert content is not None
    blocks = _in_utf8(content.blocks(), reading.encoding)
    start = next(blocks, b"").removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    first_line = (start.splitlines() or [b""])[0].decode("latin-1")
    delimiter = reading.delimiter or guessed_delimiter(first_line)
    mark = delimiter.encode()
    if len(mark) != 1:
        raise TableError(
            f"delimiter={delimiter!r}: pass one character of ASCII.", argument="delimiter"
        )
    names: list[str] | None = None
    number, held = 0, None
    left_out: tuple[tuple[int, str], ...] = ()
    for block in whole_rows(chain([start], blocks), mark):
        if block is None:
            raise TableError(
                f"{source.name}, row {number + 1:,}: it is longer than 4 MB; is this the right "
                "format or delimiter, and is every quote closed?"
            )
        rows = block.lstrip(b"\r\n")
        if rows and names is None:
            end = first_end(rows, mark)
            names = _names(source, rows[:end], mark, reading.header)
            check_column_names(source.name, names)
            rows = rows[end:].lstrip(b"\r\n") if reading.header else rows
        if not rows or names is None:
            continue
        table, skipped = _parsed(source, rows, len(names), mark, number, request.skip)
        numbers = row_numbers(number, table.num_rows, [bad for bad, _ in skipped])
        number += table.num_rows + len(skipped)
        left_out += tuple(skipped)
        if not table.num_rows:
            continue
        if held is not None:
            yield held
        columns = [column.combine_chunks() for column in table.columns]
        renamed = pa.RecordBatch.from_arrays(columns, names=names)
        held = Batch(renamed, source.name, numbers, content.share_read(), skipped=left_out)
        left_out = ()
    if held is not None:  # and what was left out after the last row
        yield replace(held, skipped=(*held.skipped, *left_out))


def guessed_delimiter(line: str) -> str:
    """The candidate that stands most often in the first line."""
    return max(",\t;|", key=line.count)


def _in_utf8(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    if codecs.lookup(encoding).name == "utf-8":
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    for block in blocks:
        yield decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()


def _names(source: Source, line: bytes, mark: bytes, header: bool) -> list[str]:
    """The names of the columns, from the first row."""
    if b'"' not in line:
        check_count(source.name, line.count(mark) + 1)
    table = _read(line, line.count(mark) + 1, mark, None, generated=True)
    if not header:
        return [str(i) for i in range(table.num_columns)]
    return [(column[0].as_py() or "").strip() for column in table.columns]


def _parsed(
    source: Source, rows: bytes, n_columns: int, mark: bytes, before: int, skip: bool
) -> tuple[Any, list[tuple[int, str]]]:
    """Rows as a table, and those that were left out."""
    skipped: list[tuple[int, str]] = []
    refused: list[str] = []

    def invalid(row: Any) -> str:
        number = before + row.number
        what = f"row {number:,} has {row.actual_columns} fields instead of {row.expected_columns}"
        if not skip:
            refused.append(what)
            return "error"
        skipped.append((number, f"{source.name}, {what}"))
        return "skip"

    try:
        table = _read(rows, n_columns, mark, invalid)
    except pa.ArrowInvalid as error:
        if refused:
            raise unusable_row(f"{source.name}, {refused[0]}") from error
        raise
    return table, skipped


def _read(rows: bytes, n_columns: int, mark: bytes, invalid: Any, generated: bool = False) -> Any:
    """Everything as text, which costs no more: what a column is, the model says."""
    from pyarrow import csv as arrow_csv

    names = [f"f{i}" for i in range(n_columns)]
    return arrow_csv.read_csv(
        arrow_input(rows),
        read_options=arrow_csv.ReadOptions(
            block_size=len(rows) + 1,
            use_threads=False,  # so that rows are numbered
            column_names=None if generated else names,
            autogenerate_column_names=generated,
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=mark.decode(), invalid_row_handler=invalid, newlines_in_values=True
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            null_values=[""],
        ),
    )


class Writer(OrderedWriter):
    """Writes CSV."""

    delimiter = ","

    def begin(self, schema: Any) -> None:
        self.stream.write(_quoted([schema.names], self.delimiter))

    def put(self, batch: Any) -> None:
        self.stream.write(_lines(batch, self.delimiter))


class TsvWriter(Writer):
    """The same with tabs between fields."""

    delimiter = "\t"


def _lines(batch: Any, delimiter: str) -> bytes:
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
