"""CSV: text with a row on each line, and fields between delimiters."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..batch import Batch, Place, TableError, check_column_names, unusable_row
from ..findings import Finding, distinct
from ..writers import OrderedWriter
from .layout import Layout, layout_of
from .relation import connected, database_errors, quoted, record_batches
from .source import BLOCK, ReadRequest, Unreadable
from .text import Text

# Bytes that a row may have, and rows with quotes that are never closed that a table may have.
_LONGEST_ROW, _MOST_OPEN_QUOTES = 1 << 22, 20

# A number behind those of all rows.
_BEHIND = 1 << 62

_OPEN_QUOTE = "a quote opens a field and is not closed"
_TOO_LONG = "the row is longer than 4 MB; is this the right format or delimiter?"
_REJECTS = """
    SELECT line_byte_position - 1 AS place, error_type, error_message, csv_line
    FROM reject_errors
    ORDER BY place, error_type LIKE '%QUOTE%', byte_position, error_message DESC
"""


def read_tsv(request: ReadRequest) -> Iterator[Batch]:
    """TSV: fields with tabs between them."""
    delimiter = request.reading.delimiter or "\t"
    return read(replace(request, reading=replace(request.reading, delimiter=delimiter)))


def read(request: ReadRequest) -> Iterator[Batch]:
    """The batches of lines of text; all fields are text, the model decides what columns are."""
    name, text = request.source.name, request.text
    assert text is not None
    layout = layout_of(name, text, request.reading)
    check_column_names(name, layout.names)
    if len(layout.delimiter.encode()) != 1:
        what = f"delimiter={layout.delimiter!r}: pass one character of ASCII."
        raise TableError(what, argument="delimiter")
    findings, held = list(layout.findings), None
    with connected(name) as database:
        table = _Table(request, layout)
        if request.skip and text.has_quotes:
            table = table.without_open_quotes(database)
        for batch in table.batches(database):
            if held is not None:
                yield held
            findings += table.doubts(batch)
            held, findings = replace(batch, findings=distinct((*findings, *batch.findings))), []
        if held is not None:
            yield replace(held, skipped=tuple(table.skipped(database)))


@dataclass(frozen=True)
class _Table:
    """A table of text in DuckDB."""

    request: ReadRequest
    layout: Layout
    open_quotes: tuple[int, ...] = ()  # lines that were left out, for which quotes go on

    def batches(self, database: Any) -> Iterator[Batch]:
        layout = self.layout
        names = self.request.needed(layout.names)
        place = Place(self.request.source.name, "line", _RowLines(layout))
        if _ends_in_a_long_row(self.layout.text.path):
            raise self._fault(_TOO_LONG)
        try:
            tables = (
                pa.RecordBatch.from_arrays(table.columns, names=names)
                for table in record_batches(database.sql(self._query(names)))
            )
            for batch in self.request.batches(tables, layout.n_rows, place):
                yield _without_empty_lines(batch) if len(layout.names) == 1 else batch
        except (database_errors(), OSError) as error:
            raise self._fault(str(error)) from error

    def _query(self, names: list[str]) -> str:
        columns = {name: f"c{i}" for i, name in enumerate(self.layout.names)}
        types = ", ".join(f"{column}: 'VARCHAR'" for column in columns.values())
        rejects = "store_rejects=true, rejects_limit=0, " if self.request.skip else ""
        return (
            f"SELECT {', '.join(columns[name] for name in names)} FROM read_csv("
            f"{quoted(self.layout.text.path)}, auto_detect=false, header=false, quote='\"', "
            f"escape='\"', delim={quoted(self.layout.delimiter)}, skip={self.layout.skipped}, "
            f"max_line_size={_LONGEST_ROW}, buffer_size={2 * _LONGEST_ROW}, {rejects}"
            f"columns={{{types}}})"
        )

    def _fault(self, message: str) -> Exception:
        """Describe the fault of the first row that DuckDB refuses."""
        name = self.request.source.name
        for line, fields in _rows(self.layout, strict=True):
            if fields is None:
                return unusable_row(f"{name}, line {line:,}: {_OPEN_QUOTE}")
            if sum(map(len, fields)) + len(fields) > _LONGEST_ROW:
                return TableError(f"{name}, line {line:,}: {_TOO_LONG}")
            if fields and len(fields) != len(self.layout.names):
                return unusable_row(self._ragged(line, len(fields)))
        return Unreadable(message)

    def _ragged(self, line: int, n: int) -> str:
        name, wanted = self.request.source.name, len(self.layout.names)
        return f"{name}, line {line:,} has {n} field{'s' * (n != 1)} instead of {wanted}"

    def without_open_quotes(self, database: Any) -> _Table:
        """Drop the lines of a table in which a quote opens that is never closed."""
        table = self
        while True:
            deque(record_batches(database.sql(table._query(table.layout.names[:1]))), 0)
            lines = {line for line, kind, *_ in table._rejects(database) if "QUOTE" in kind}
            if not lines:
                return table
            text = table.layout.text
            text = text.rewritten(_with_empty_lines(lines, text))
            open_quotes = tuple(sorted({*table.open_quotes, *lines}))
            table = replace(table, layout=replace(table.layout, text=text), open_quotes=open_quotes)
            if len(open_quotes) > _MOST_OPEN_QUOTES:
                what = f"{self.request.source.name}, line {open_quotes[-1]:,}: {_OPEN_QUOTE}"
                raise TableError(f"{what}, as in {_MOST_OPEN_QUOTES} rows before; fix the file.")

    def _rejects(self, database: Any) -> list[tuple[int, str, str]]:
        """Return the rows that DuckDB has rejected: line, kind of error, and message."""
        rejects = database.sql(_REJECTS).fetchall()
        for name in ("reject_errors", "reject_scans"):
            database.execute(f"DROP TABLE {name}")
        lines = _lines_at([place for place, *_ in rejects], self.layout.text)
        errors = {  # of several about one row, the last in the order of the query
            line + len(content) - len(content.lstrip("\r\n")): (kind, message)
            for line, (_, kind, message, content) in zip(lines, rejects, strict=True)
        }
        return [(line, *what) for line, what in errors.items()]

    def skipped(self, database: Any) -> Iterator[tuple[int, str]]:
        """Yield the rows that were left out, with reasons; their places are after the last row."""
        if not self.request.skip:
            return
        name = self.request.source.name
        what = [(line, f"{name}, line {line:,}: {_OPEN_QUOTE}") for line in self.open_quotes]
        for line, kind, message in self._rejects(database):
            if "LINE SIZE" in kind:
                raise TableError(f"{name}, line {line:,}: {_TOO_LONG}")
            n = re.search(r"Found: (\d+)", message)
            what.append((line, self._ragged(line, int(n[1]) if n else 0)))
        yield from ((_BEHIND, reason) for _, reason in sorted(what))

    def doubts(self, batch: Batch) -> list[Finding]:
        """A finding if rows may be lost in a field of several lines."""
        like_opening = f"(?s)\n.*[{re.escape(self.layout.delimiter)}\n]$"
        for column in batch.table.columns if self.layout.text.has_quotes else ():
            if b"\n" not in (column.buffers()[2] or pa.py_buffer(b"")).to_pybytes():
                continue
            found = pc.index(pc.match_substring_regex(column, like_opening), True).as_py()
            if found >= 0:
                text = (
                    f"{batch.where(found)}: a field in quotes goes on over several lines, and the "
                    "quote that ends it stands where a field could begin; if a quote is missing, "
                    "rows are lost in this field."
                )
                return [Finding("quotes", text, warning=True)]
        return []


def _without_empty_lines(batch: Batch) -> Batch:
    """The rows of a table of one column, in which an empty line is no row."""
    column = batch.table.column(0)
    if not column.null_count:
        return batch
    line = batch.where(pc.index(column.is_null(), True).as_py()).removeprefix(f"{batch.source}, ")
    text = f"{batch.source}: {line} is empty; in a table of one column that may be a missing value"
    finding = Finding("empty lines", f"{text}, but such lines are left out.", warning=True)
    return replace(batch.filter(np.array(column.is_valid())), findings=(finding,))


def _ends_in_a_long_row(path: Any) -> bool:
    """Whether the last row has no end and is longer than a row may be: DuckDB leaves it out."""
    with open(path, "rb") as file:
        if file.seek(0, 2) <= _LONGEST_ROW:
            return False
        file.seek(-_LONGEST_ROW, 2)
        tail = file.read()
    return b"\n" not in tail and b"\r" not in tail


def _with_empty_lines(lines: set[int], text: Text) -> Iterator[bytes]:
    """Replace some lines of a text by empty lines."""
    number = 1
    for block in text.lines():
        pieces = block.split(b"\n")
        for line in lines:
            if 0 <= line - number < len(pieces):
                pieces[line - number] = b"\r" * pieces[line - number].endswith(b"\r")
        yield b"\n".join(pieces)
        number += len(pieces) - 1


@dataclass(frozen=True)
class _RowLines:
    """The lines of the rows of a table, found when one is asked for."""

    layout: Layout

    def __call__(self, number: int) -> int:
        width, seen = len(self.layout.names), 0
        for line, fields in _rows(self.layout):
            seen += fields is not None and (len(fields) or 1) == width
            if seen == number:
                return line
        return self.layout.skipped + number


def _rows(layout: Layout, strict: bool = False) -> Iterator[tuple[int, list[str] | None]]:
    """The lines in which rows begin, and their fields; None where a quote is not closed."""
    csv.field_size_limit(1 << 30)
    with layout.text.path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        for _ in range(layout.skipped):
            file.readline()
        reader = csv.reader(file, delimiter=layout.delimiter, strict=strict)
        while True:
            line = layout.skipped + reader.line_num + 1
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error:
                yield line, None
                return
            if len(fields) == len(layout.names) + 1 and not fields[-1]:
                del fields[-1]  # behind a delimiter at the end, as DuckDB reads it
            yield line, fields


def _lines_at(places: list[int], text: Text) -> list[int]:
    """The numbers of the lines at some places of a file, which are in order."""
    lines, line, start = [], 1, 0
    with text.path.open("rb") as file:
        for place in places:
            while start < place and (block := file.read(min(BLOCK, place - start))):
                line += block.count(b"\n")
                start += len(block)
            lines.append(line)
    return lines


class Writer(OrderedWriter):
    """Writes CSV."""

    delimiter = ","

    def begin(self, schema: Any) -> None:
        self._write([pa.array([name]) for name in schema.names])

    def put(self, batch: Any) -> None:
        self._write(batch.columns)

    def _write(self, columns: list[Any]) -> None:
        special = f'[{self.delimiter}"\r\n]'
        fields = []
        for column in map(_spelled, columns):
            doubled = pc.replace_substring(column, '"', '""')
            in_quotes = pc.binary_join_element_wise('"', doubled, '"', "")
            is_special = pc.match_substring_regex(column, special)
            fields.append(pc.if_else(is_special, in_quotes, column))
        lines = pc.binary_join_element_wise(
            *fields, self.delimiter, null_handling="replace", null_replacement=""
        )
        self.stream.write("".join(f"{line}\n" for line in lines.to_pylist()).encode())


class TsvWriter(Writer):
    """TSV: fields with tabs between them."""

    delimiter = "\t"


def _spelled(column: Any) -> Any:
    """A column as text: what `str` says of what is not text, numbers, or true and false."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    try:
        return pc.cast(column, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())
