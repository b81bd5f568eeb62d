"""Text with a row on each line, and fields between delimiters."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ._batch import ADVICE, Batch, TableError
from ._source import Reading, Source, check_names

# Bytes that are parsed at a time.
_BLOCK = 1 << 22


def read_csv(
    source: Source,
    start: bytes,
    stream: Any,
    reading: Reading,
    skip: bool,
    done: Callable[[], float],
) -> Iterator[Batch]:
    """Batches of a stream whose first bytes are `start`."""
    delimiter = reading.delimiter or _delimiter(start)
    fields = _names(start, delimiter, reading)
    yield from _csv(source, stream, fields, delimiter, reading, skip, done)


def _delimiter(start: bytes) -> str:
    """The candidate that stands most often in the first line."""
    line = start.splitlines()[0]
    return max(",\t;|", key=lambda mark: line.count(mark.encode()))


def _names(start: bytes, delimiter: str, reading: Reading) -> list[str]:
    """What Arrow will call the columns."""
    text = start.decode(reading.encoding, "replace")
    first: list[str] = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    return first if reading.header else [f"f{i}" for i in range(len(first))]


def _csv(
    source: Source,
    stream: Any,
    fields: Sequence[str],
    delimiter: str,
    reading: Reading,
    skip: bool,
    done: Callable[[], float],
) -> Iterator[Batch]:
    """Everything as text, which costs no more: what a column is, the model says."""
    from pyarrow import csv as arrow_csv

    skipped: list[tuple[int, str]] = []
    refused: list[str] = []

    def invalid(row: Any) -> str:
        number = row.number - int(reading.header)
        what = f"row {number:,} has {row.actual_columns} fields instead of {row.expected_columns}"
        if not skip:
            refused.append(what)
            return "error"
        skipped.append((number, f"{source.name}, {what}"))
        return "skip"

    try:
        reader = arrow_csv.open_csv(
            pa.PythonFile(stream, "r"),
            read_options=arrow_csv.ReadOptions(
                block_size=_BLOCK,
                use_threads=False,  # so that rows are numbered
                encoding=reading.encoding,
                autogenerate_column_names=not reading.header,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, invalid_row_handler=invalid, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(fields, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
        names = [name.strip() for name in reader.schema.names]
        if not reading.header:
            names = [name.removeprefix("f") for name in names]
        check_names(source, names)
        number, held = 0, None
        for table in reader:
            numbers = np.arange(number + 1, number + 1 + table.num_rows, dtype=np.int64)
            for bad, _ in skipped:
                numbers[numbers >= bad] += 1 if bad > number else 0
            if not table.num_rows:
                continue
            number = int(numbers[-1])
            before = tuple(each for each in skipped if each[0] < number)
            del skipped[: len(before)]
            if held is not None:
                yield held
            renamed = pa.RecordBatch.from_arrays(table.columns, names=names)
            held = Batch(renamed, source.name, numbers, done(), skipped=before)
        if held is not None:  # and what was left out after the last row
            yield replace(held, skipped=(*held.skipped, *skipped))
    except pa.ArrowInvalid as error:
        if refused:
            raise TableError(f"{source.name}, {refused[0]}; {ADVICE}") from error
        raise
