"""JSON lines: an object for each row, in which what is missing may be left out."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._values import text_of
from ..batch import (
    MOST_COLUMNS,
    Batch,
    TableError,
    check_column_names,
    record_batch,
    unusable_row,
)
from .source import ReadRequest, Source, arrow_input

# Bytes that one line may have.
LONGEST_LINE = 1 << 24

# How deep lists and objects may lie in each other. Arrow takes a stack frame for each level.
_DEEPEST = 100

# Rows times names that Arrow may make columns of at once: it has room for every name in every row.
_MOST_CELLS = 1 << 25

# Names that are counted one by one, which is faster if they are few.
_FEW_NAMES = 32

TOO_LONG = f"it is longer than {LONGEST_LINE >> 20} MB"

_decode = json.JSONDecoder().decode
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NAME = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"\s*:', re.DOTALL)


def read(request: ReadRequest) -> Iterator[Batch]:
    """The batches of lines of JSON."""
    source, content = request.source, request.content
    assert content is not None
    begins_with_list = content.head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[")
    if begins_with_list and not source.may_be_empty:  # of a part, it is a line that is no object
        raise TableError(
            f"{source.name}: it is one JSON list; one object a line is wanted, which "
            "jq -c '.[]' makes of it."
        )
    number = source.first_line
    texts: dict[str, Any] = {}  # columns that Arrow would take for dates
    order: dict[str, None] = {}
    for block in _whole_lines(source, content.blocks()):
        for lines in _pieces(block):
            filled = np.fromiter(map(bool, map(bytes.strip, lines)), bool, len(lines))
            numbers = number + 1 + np.flatnonzero(filled)
            skipped: list[tuple[int, str]] = []
            table = _parsed_at_once(lines, len(numbers), texts, order) if len(numbers) else None
            if table is None:
                table, numbers, skipped = _parsed_one_by_one(source, lines, number, request.skip)
            number += len(lines)
            if table is not None and table.num_rows:
                check_column_names(source.name, table.schema.names)
                done = content.share_read()
                left_out = tuple(skipped)
                yield Batch(table, source.name, numbers, done, True, left_out, unit="line")


def _whole_lines(source: Source, blocks: Iterator[bytes]) -> Iterator[list[bytes]]:
    """The lines of each block that are whole; a TableError for one that is too long."""
    rest = next(blocks, b"").removeprefix(codecs.BOM_UTF8)
    number = 1 + source.first_line
    for block in blocks:
        whole, end, rest = (rest + block).rpartition(b"\n")
        lines = whole.split(b"\n") if end else []
        number += len(lines)
        if len(rest) > LONGEST_LINE:
            raise TableError(f"{source.name}, line {number:,}: {TOO_LONG}.")
        yield lines
    yield rest.split(b"\n")


def _pieces(lines: list[bytes]) -> Iterator[list[bytes]]:
    """The same lines, fewer at a time where they have very many different names."""
    if len(lines) <= 1 or len(lines) * _count_names(lines) <= _MOST_CELLS:
        if lines:
            yield lines
        return
    half = len(lines) // 2
    yield from _pieces(lines[:half])
    yield from _pieces(lines[half:])


def _count_names(lines: list[bytes]) -> int:
    """How many different names there are in lines, or more."""
    block, usual = b"\n".join(lines), set(_NAME.findall(lines[0]))
    few = len(usual) <= _FEW_NAMES and b"\\" not in block
    # Where each colon stands behind a name of the first line, there are no other names.
    if few and sum(block.count(b'"%b":' % name) for name in usual) == block.count(b":"):
        return len(usual)
    return len(set(_NAME.findall(block)))


def _trouble_with(line: bytes) -> str | None:
    """What is wrong with a line before it is parsed."""
    if len(line) > LONGEST_LINE:
        return TOO_LONG
    if line.count(b"[") + line.count(b"{") > _DEEPEST:
        bare = np.frombuffer(_STRING.sub(b"", line), np.uint8)
        opened = (bare == ord("[")) | (bare == ord("{"))
        closed = (bare == ord("]")) | (bare == ord("}"))
        if (np.cumsum(opened) - np.cumsum(closed)).max(initial=0) > _DEEPEST:
            return f"its lists and objects are nested more than {_DEEPEST} deep"
    if len(line) > MOST_COLUMNS and len(set(_NAME.findall(line))) > MOST_COLUMNS:
        return f"it has more than {MOST_COLUMNS:,} names"
    return None


def _parsed_at_once(
    lines: list[bytes], n_rows: int, texts: dict[str, Any], order: dict[str, None]
) -> Any:
    """All lines as a table; None if that is for `_parsed_one_by_one` to do."""
    from pyarrow import json as arrow_json

    block = b"\n".join(lines)
    if not (block.isascii() or _is_utf8(block)):  # which Arrow would not notice
        return None
    brackets = block.count(b"[") + block.count(b"{")
    usual = brackets <= len(lines) + _DEEPEST and max(map(len, lines)) <= MOST_COLUMNS
    if not usual and any(map(_trouble_with, lines)):
        return None
    read = arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    for _ in range(2):
        schema = pa.schema(list(texts.items())) if texts else None
        parse = arrow_json.ParseOptions(explicit_schema=schema)
        try:
            table = arrow_json.read_json(arrow_input(block), read, parse)
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
            skipped.append((number, f"{source.name}, line {number:,}: {row}"))
        else:
            raise unusable_row(f"{source.name}, line {number:,}: {row}")
    return from_rows(rows), np.array(numbers, np.int64), skipped


def parsed_line(line: bytes) -> dict[str, Any] | str:
    """A line of JSON as a row, or what is wrong with it."""
    trouble = _trouble_with(line)
    if trouble is not None:
        return trouble
    try:
        row = _loaded(line)
    except (ValueError, RecursionError) as error:
        return f"it is not JSON ({error})"
    if not isinstance(row, dict):
        return "it is not a JSON object"
    for name in row:
        if not (name.isascii() or is_text(name)):
            return f"the name {name!r} has half of a character in it"
    return row


def _loaded(line: bytes) -> Any:
    """`json.loads`, without its search for an encoding where the line is JSON in UTF-8."""
    try:
        return _decode(line.decode())
    except ValueError:
        return json.loads(line)


def _is_utf8(content: bytes) -> bool:
    """Whether bytes are text in UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_text(text: str) -> bool:
    """Whether it is text that UTF-8 can hold: JSON may have halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def from_rows(rows: Sequence[dict[str, Any]]) -> Any:
    """Rows as a record batch; a column whose values do not go together becomes text."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: array_of([row.get(name) for row in rows]) for name in names}
    return record_batch(columns) if columns else None


def array_of(values: list[Any]) -> Any:
    """JSON values as a column; as text if they are not of one kind."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError):
        return pa.array([text_of(value) for value in values], pa.string())


class Writer:
    """Writes lines of JSON."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, batch: Any) -> None:
        columns = [
            pc.if_else(pc.is_finite(c), c, None) if pa.types.is_floating(c.type) else c
            for c in batch.columns
        ]  # there is no nan in JSON
        names = batch.schema.names
        rows = zip(*(c.to_pylist() for c in columns), strict=True)
        lines = [json.dumps(dict(zip(names, row, strict=True)), default=str) for row in rows]
        self._stream.write(("\n".join(lines) + "\n").encode())

    def close(self) -> None:
        """Every line is written already."""
