"""Text with a row on each line, and fields between delimiters."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import pyarrow as pa

from ._batch import ADVICE, Batch, TableError
from ._records import first_end, whole_records
from ._source import Reading, Source, check_column_names, check_count, numbers_from, own_memory

# Bytes that are parsed at a time.
_BLOCK = 1 << 22


def read_csv(
    source: Source,
    head: bytes,
    stream: Any,
    reading: Reading,
    skip: bool,
    done: Callable[[], float],
) -> Iterator[Batch]:
    """Batches of a stream whose first bytes are `head`.

    Arrow gets blocks of whole rows, in its own memory. Its streaming reader would read ahead in
    threads that call into Python, also while the interpreter ends, which ends the process.
    """
    blocks = _in_utf8(head, stream, reading.encoding)
    start = next(blocks, b"").removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    delimiter = reading.delimiter or _delimiter(start)
    mark = delimiter.encode()
    if len(mark) != 1:
        raise TableError(f"--delimiter {delimiter!r}: pass a character of ASCII.")
    names: list[str] | None = None
    number, held = 0, None
    left_out: tuple[tuple[int, str], ...] = ()
    for block in whole_records(chain([start], blocks), mark):
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
        table, skipped = _parsed(source, rows, len(names), mark, number, skip)
        numbers = numbers_from(number, table.num_rows, [bad for bad, _ in skipped])
        number += table.num_rows + len(skipped)
        left_out += tuple(skipped)
        if not table.num_rows:
            continue
        if held is not None:
            yield held
        columns = [column.combine_chunks() for column in table.columns]
        renamed = pa.RecordBatch.from_arrays(columns, names=names)
        held = Batch(renamed, source.name, numbers, done(), skipped=left_out)
        left_out = ()
    if held is not None:  # and what was left out after the last row
        yield replace(held, skipped=(*held.skipped, *left_out))


def _in_utf8(head: bytes, stream: Any, encoding: str) -> Iterator[bytes]:
    decoder = None
    if codecs.lookup(encoding).name != "utf-8":
        decoder = codecs.getincrementaldecoder(encoding)()
    block = head
    while block:
        yield block if decoder is None else decoder.decode(block).encode()
        block = stream.read(_BLOCK)
    if decoder is not None:
        yield decoder.decode(b"", final=True).encode()


def _delimiter(start: bytes) -> str:
    """The candidate that stands most often in the first line."""
    line = (start.splitlines() or [b""])[0]
    return max(",\t;|", key=lambda mark: line.count(mark.encode()))


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
            raise TableError(f"{source.name}, {refused[0]}; {ADVICE}") from error
        raise
    return table, skipped


def _read(rows: bytes, n_columns: int, mark: bytes, invalid: Any, generated: bool = False) -> Any:
    """Everything as text, which costs no more: what a column is, the model says."""
    from pyarrow import csv as arrow_csv

    names = [f"f{i}" for i in range(n_columns)]
    return arrow_csv.read_csv(
        pa.BufferReader(own_memory(rows)),
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
