"""CSV: text with a row on each line, and fields between delimiters."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..batch import Batch, Place, TableError, check_column_names, unusable_row
from ..findings import Finding, distinct
from ..writers import OrderedWriter
from ._layout import Layout, layout_of
from ._plain import Blocks, PlainText, whole_lines
from .engine import connected, database_errors, quoted, record_batches
from .source import ReadRequest, Unreadable, numbered

# Bytes that a row may have, and rows with quotes that are never closed that a table may have.
_LONGEST_ROW, _MOST_OPEN_QUOTES = 1 << 22, 20

# A number behind those of all rows.
_BEHIND = 1 << 62


def read_tsv(request: ReadRequest) -> Iterator[Batch]:
    """The same with tabs between fields."""
    delimiter = request.reading.delimiter or "\t"
    return read(replace(request, reading=replace(request.reading, delimiter=delimiter)))


def read(request: ReadRequest) -> Iterator[Batch]:
    """The batches of lines of text; all fields are text, the model decides what columns are."""
    source, text = request.source, request.text
    assert text is not None
    if text.longest >= _LONGEST_ROW:
        raise TableError(f"{source.name}, line {text.longest_line:,}: {_TOO_LONG}")
    layout = layout_of(source.name, text, request.reading)
    check_column_names(source.name, layout.names)
    mark = layout.delimiter
    if len(mark.encode()) != 1:
        raise TableError(f"delimiter={mark!r}: pass one character of ASCII.", argument="delimiter")
    findings, held = list(layout.findings), None
    with connected(source.name) as database:
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
        source, layout = self.request.source, self.layout
        place = Place(source.name, "line", CsvRows(layout))
        n = max(1, layout.text.n_lines)
        names = self._needed()
        try:
            relation = database.sql(self._query(names))
            tables = (
                pa.RecordBatch.from_arrays(table.columns, names=names)
                for table in record_batches(relation)
            )
            for batch in numbered(source, tables, lambda rows: min(1.0, rows / n), place):
                yield _without_empty_lines(batch) if len(layout.names) == 1 else batch
        except (database_errors(), OSError) as error:
            raise self._fault(str(error)) from error

    def _needed(self) -> list[str]:
        names, needed = self.layout.names, self.request.columns
        if needed is None:
            return names
        chosen = set(needed)
        return [name for name in names if name in chosen] or names[:1]

    def _query(self, names: list[str]) -> str:
        layout = self.layout
        place = {name: f"c{i}" for i, name in enumerate(layout.names)}
        columns = ", ".join(f"{column}: 'VARCHAR'" for column in place.values())
        options = {
            "auto_detect": "false",
            "header": "false",
            "delim": quoted(layout.delimiter),
            "quote": "'\"'",
            "escape": "'\"'",
            "skip": str(layout.skipped),
            "max_line_size": str(_LONGEST_ROW),
            "buffer_size": str(2 * _LONGEST_ROW),
            "columns": "{" + columns + "}",
            "store_rejects": "true" if self.request.skip else "false",
            "rejects_limit": "0",
        }
        if not self.request.skip:
            del options["rejects_limit"]
        how = ", ".join(f"{name}={value}" for name, value in options.items())
        chosen = ", ".join(place[name] for name in names)
        return f"SELECT {chosen} FROM read_csv({quoted(layout.text.path)}, {how})"

    def _fault(self, message: str) -> Exception:
        """What is wrong with the first row that DuckDB refuses."""
        name = self.request.source.name
        for line, fields in _rows(self.layout, strict=True):
            if fields is None:
                return unusable_row(f"{name}, line {line:,}: {_OPEN_QUOTE}")
            size = sum(map(len, fields))
            if size > _LONGEST_ROW // 4 and size + len(fields) > _LONGEST_ROW:
                return TableError(f"{name}, line {line:,}: {_TOO_LONG}")
            if fields and len(fields) != len(self.layout.names):
                return unusable_row(self._ragged(line, len(fields)))
        return Unreadable(message)

    def _ragged(self, line: int, n: int) -> str:
        name, wanted = self.request.source.name, len(self.layout.names)
        return f"{name}, line {line:,} has {n} field{'s' * (n != 1)} instead of {wanted}"

    def without_open_quotes(self, database: Any) -> _Table:
        """The same table without the lines in which a quote opens that is never closed."""
        table = self
        while True:
            deque(record_batches(database.sql(table._query(table.layout.names[:1]))), 0)
            lines = {line for line, kind, *_ in table._rejects(database) if "QUOTE" in kind}
            if not lines:
                return table
            text = table.layout.text.rewritten(partial(_with_empty_lines, lines))
            open_quotes = tuple(sorted({*table.open_quotes, *lines}))
            table = replace(table, layout=replace(table.layout, text=text), open_quotes=open_quotes)
            if len(open_quotes) > _MOST_OPEN_QUOTES:
                what = f"{self.request.source.name}, line {open_quotes[-1]:,}: {_OPEN_QUOTE}"
                raise TableError(f"{what}, as in {_MOST_OPEN_QUOTES} rows before; fix the file.")

    def _rejects(self, database: Any) -> list[tuple[int, str, str]]:
        """The rows that DuckDB has left out: their lines, and what is wrong with them."""
        rejects = database.sql(_REJECTS).fetchall()
        for name in ("reject_errors", "reject_scans"):
            database.execute(f"DROP TABLE {name}")
        lines = _lines_at([place for place, *_ in rejects], self.layout.text)
        found = {  # of several about one row, the last in the order of the query
            line + len(content) - len(content.lstrip("\r\n")): (kind, message)
            for line, (_, kind, message, content) in zip(lines, rejects, strict=True)
        }
        return [(line, *what) for line, what in found.items()]

    def skipped(self, database: Any) -> Iterator[tuple[int, str]]:
        """The rows that were left out, all of them behind the last row."""
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

    def doubts(self, batch: Batch) -> Iterator[Finding]:
        """A finding if rows may be lost in a field of several lines."""
        if not self.layout.text.has_quotes:
            return
        like_opening = f"(?s)\n.*[{re.escape(self.layout.delimiter)}\n]$"
        for column in batch.table.columns:
            if b"\n" not in (column.buffers()[2] or pa.py_buffer(b"")).to_pybytes():
                continue
            several = column.filter(pc.fill_null(pc.match_substring(column, "\n"), False))
            if len(several) and pc.any(pc.match_substring_regex(several, like_opening)).as_py():
                found = pc.fill_null(pc.match_substring_regex(column, like_opening), False)
                text = (
                    f"{batch.where(pc.index(found, True).as_py())}: a field in quotes goes on over "
                    "several lines, and the quote that ends it stands where a field could begin; "
                    "if a quote is missing, rows are lost in this field."
                )
                yield Finding("quotes", text, warning=True)
                return


def _without_empty_lines(batch: Batch) -> Batch:
    """The rows of a table of one column, in which an empty line is no row."""
    column = batch.table.column(0)
    if not column.null_count:
        return batch
    line = batch.where(pc.index(column.is_null(), True).as_py()).removeprefix(f"{batch.source}, ")
    text = f"{batch.source}: {line} is empty; in a table of one column that may be a missing value"
    found = Finding("empty lines", f"{text}, but such lines are left out.", warning=True)
    return replace(batch.filter(np.array(column.is_valid())), findings=(found,))


def _with_empty_lines(lines: set[int], blocks: Blocks) -> Blocks:
    """The same text with nothing in some of its lines."""
    number = 1
    for block in whole_lines(blocks):
        pieces = block.split(b"\n")
        here = [line - number for line in lines if number <= line < number + len(pieces)]
        for place in here:
            pieces[place] = b""
        yield b"\n".join(pieces) if here else block
        number += len(pieces) - 1


_OPEN_QUOTE = "a quote opens a field and is not closed"
_TOO_LONG = "the row is longer than 4 MB; is this the right format or delimiter?"
_REJECTS = """
    SELECT line_byte_position - 1 AS place, error_type, error_message, csv_line
    FROM reject_errors
    ORDER BY place, error_type LIKE '%QUOTE%', byte_position, error_message DESC
"""


@dataclass(frozen=True)
class CsvRows:
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


def _lines_at(places: list[int], text: PlainText) -> list[int]:
    """The numbers of the lines at some places of a file, which are in order."""
    lines, line, start = [], 1, 0
    with text.path.open("rb") as file:
        for place in places:
            while start < place and (block := file.read(min(1 << 22, place - start))):
                line += block.count(b"\n")
                start += len(block)
            lines.append(line)
    return lines


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
