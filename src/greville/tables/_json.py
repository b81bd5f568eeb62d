"""Lines of JSON: an object for each row, in which what is missing may be left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ._batch import ADVICE, Batch, TableError
from ._columns import text_of
from ._source import Source, check_names

# Bytes that are parsed at a time, and those that one line may have.
_BLOCK, _LONGEST_LINE = 1 << 22, 1 << 26


def read_json(
    source: Source, head: bytes, stream: Any, skip: bool, done: Callable[[], float]
) -> Iterator[Batch]:
    number, rest, more = 0, head, True
    texts: dict[str, Any] = {}  # columns that Arrow would take for dates
    order: dict[str, None] = {}
    while more:
        block = stream.read(_BLOCK)
        more = bool(block)
        rest += block
        whole, _, rest = rest.rpartition(b"\n") if more else (rest, b"", b"")
        if len(rest) > _LONGEST_LINE:
            raise TableError(f"{source.name}, row {number + 1:,}: it is longer than 64 MB.")
        if not whole.strip():
            number += whole.count(b"\n") + bool(more and whole)
            continue
        lines = whole.split(b"\n")
        rows = [i for i, line in enumerate(lines) if line.strip()]
        numbers = number + 1 + np.array(rows, np.int64)
        skipped: list[tuple[int, str]] = []
        number += len(lines)
        table = _parsed_at_once(whole, len(numbers), texts, order)
        if table is None:
            before = number - len(lines)
            table, numbers, skipped = _parsed_one_by_one(source, lines, before, skip)
        if table is not None and table.num_rows:
            check_names(source, table.schema.names)
            yield Batch(table, source.name, numbers, done(), sparse=True, skipped=tuple(skipped))


def _parsed_at_once(
    block: bytes, n_rows: int, texts: dict[str, Any], order: dict[str, None]
) -> Any:
    from pyarrow import json as arrow_json

    read = arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    for _ in range(2):
        schema = pa.schema(list(texts.items())) if texts else None
        parse = arrow_json.ParseOptions(explicit_schema=schema)
        try:
            table = arrow_json.read_json(pa.BufferReader(block), read, parse)
        except pa.ArrowException:
            return None
        if not texts:
            order |= dict.fromkeys(table.schema.names)
        dates = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
        if not dates:
            break
        texts |= dict.fromkeys(dates, pa.string())  # once more, and from now on, as they came
    if table.num_rows != n_rows:
        return None
    # What is in the schema and in no line of this block is not there.
    order |= dict.fromkeys(table.schema.names)
    known = set(table.schema.names)
    there = [n for n in order if n in known and table.column(n).null_count < n_rows]
    return table.select(there).combine_chunks().to_batches()[0] if there else None


def _parsed_one_by_one(
    source: Source, lines: list[bytes], before: int, skip: bool
) -> tuple[Any, NDArray[np.int64], list[tuple[int, str]]]:
    rows, numbers, skipped = [], [], []
    for number, line in enumerate(lines, before + 1):
        if not line.strip():
            continue
        row = parsed_line(line)
        if isinstance(row, dict):
            rows.append(row)
            numbers.append(number)
        elif skip:
            skipped.append((number, f"{source.name}, row {number:,}: {row}"))
        else:
            raise TableError(f"{source.name}, row {number:,}: {row}; {ADVICE}")
    return from_rows(rows), np.array(numbers, np.int64), skipped


def parsed_line(line: bytes) -> dict[str, Any] | str:
    """A line of JSON as a row, or what is wrong with it."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"it is not JSON ({error})"
    return row if isinstance(row, dict) else "it is not a JSON object"


def from_rows(rows: Sequence[dict[str, Any]]) -> Any:
    """Rows as a record batch; a column whose values do not go together becomes text."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: array_of([row.get(name) for row in rows]) for name in names}
    return record_batch(columns) if columns else None


def record_batch(columns: dict[str, Any]) -> Any:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def array_of(values: list[Any]) -> Any:
    """JSON values as a column; as text if they are not of one kind."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError):
        return pa.array([text_of(value) for value in values], pa.string())
