"""CSV: text with a row on each line, and fields between delimiters."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..batch import Batch, Place, TableError, check_column_names, unusable_row
from ..findings import Finding, distinct
from .layout import Layout, layout_of
from .relation import connected, database_errors, quoted, record_batches
from .source import ReadRequest, Unreadable

# Bytes that a row may have; of one that is longer than its buffer DuckDB may say nothing.
_LONGEST_ROW = 1 << 22

# A number behind those of all rows.
_BEHIND = 1 << 62


def read(request: ReadRequest) -> Iterator[Batch]:
    """Read lines of text; all fields are text, the model decides what columns are."""
    name = request.source.name
    layout = layout_of(name, request.content, request.reading)
    check_column_names(name, layout.names)
    if len(layout.delimiter.encode()) != 1:
        what = f"delimiter={layout.delimiter!r}: pass one character of ASCII."
        raise TableError(what, argument="delimiter")
    doubts: dict[str, Finding] = {}
    held: Batch | None = None
    with connected(name) as database:
        for batch in _batches(request, layout, database):
            if held is not None:
                yield held
            held = replace(_checked(batch, layout, doubts), delimiter=layout.delimiter.strip(" "))
        skipped = _skipped(request, layout, database)
        if held is not None:
            yield replace(held, skipped=skipped)


def _batches(request: ReadRequest, layout: Layout, database: Any) -> Iterator[Batch]:
    """The rows that DuckDB reads."""
    names = request.needed(layout.names)
    place = Place(request.source.name, "line", _RowLines(layout))
    if layout.content.longest > _LONGEST_ROW:
        raise next(_faults(request, layout), Unreadable("a line is too long"))
    columns = {name: f"c{i}" for i, name in enumerate(layout.names)}
    types = ", ".join(f"{column}: 'VARCHAR'" for column in columns.values())
    rejects = "store_rejects=true, rejects_limit=0, " if request.skip else ""
    query = (
        f"SELECT {', '.join(columns[name] for name in names)} FROM read_csv("
        f"{quoted(layout.content.path)}, auto_detect=false, header=false, quote='\"', escape='\"', "
        f"delim={quoted(layout.delimiter)}, skip={layout.skipped}, max_line_size={_LONGEST_ROW}, "
        f"buffer_size={2 * _LONGEST_ROW}, {rejects}columns={{{types}}})"
    )
    try:
        tables = (
            pa.RecordBatch.from_arrays(table.columns, names=names)
            for table in record_batches(database.sql(query))
        )
        yield from request.batches(tables, layout.n_rows, place)
    except (database_errors(), OSError) as error:
        raise next(_faults(request, layout), Unreadable(str(error))) from error


def _skipped(request: ReadRequest, layout: Layout, database: Any) -> tuple[tuple[int, str], ...]:
    """The rows that were left out, with reasons; their places are after the last row."""
    if not request.skip:
        return ()
    rejects = "SELECT count(DISTINCT line_byte_position) FROM reject_errors"
    ((n,),) = database.sql(rejects).fetchall()
    faults = [str(fault.message) for fault in _faults(request, layout)] if n else []
    if len(faults) != n:
        raise Unreadable(f"{n} rows cannot be read, and the reasons are not clear")
    return tuple((_BEHIND, reason) for reason in faults)


def _faults(request: ReadRequest, layout: Layout) -> Iterator[TableError]:
    """The errors of rows that do not fit; one of those for which no row is left out is raised."""
    name, width = request.source.name, len(layout.names)
    for line, fields in _rows(layout, strict=True):
        where = f"{name}, line {line:,}"
        if fields is None:
            raise TableError(f"{where}: a quote opens a field and is not closed; fix the file.")
        if sum(map(len, fields)) + len(fields) > _LONGEST_ROW:
            what = "the row is longer than 4 MB; is this the right format or delimiter?"
            raise TableError(f"{where}: {what}")
        if fields and len(fields) != width:
            n = f"{len(fields)} field{'s' * (len(fields) != 1)}"
            yield unusable_row(f"{where} has {n} instead of {width}")


def _rows(layout: Layout, strict: bool = False) -> Iterator[tuple[int, list[str] | None]]:
    """The lines in which rows begin, and their fields; None where a quote is not closed."""
    csv.field_size_limit(1 << 30)
    with layout.content.path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
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


def _checked(batch: Batch, layout: Layout, doubts: dict[str, Finding]) -> Batch:
    """The rows with what is doubtful in them; it is said once.

    In a table of one column, an empty line is no row. Where a field goes on over several lines and
    ends where one could begin, a quote may be missing, and rows are lost in the field.
    """
    column = batch.table.column(0)
    if len(layout.names) == 1 and column.null_count:
        if "empty lines" not in doubts:
            where = batch.where(pc.index(column.is_null(), True).as_py())
            text = f"{where} is empty; in a table of one column that may be a missing value"
            text = f"{batch.source}: {text.removeprefix(f'{batch.source}, ')}"
            text += ", but such lines are left out."
            doubts["empty lines"] = Finding("empty lines", text, warning=True)
        batch = batch.filter(np.array(column.is_valid()))
    opening = f"(?s)\n.*[{re.escape(layout.delimiter)}\n]$"
    checks_quotes = layout.content.has_quotes and "quotes" not in doubts
    for column in batch.table.columns if checks_quotes else ():
        if not pc.any(pc.match_substring(column, "\n")).as_py():
            continue
        row = pc.index(pc.match_substring_regex(column, opening), True).as_py()
        if row >= 0:
            text = (
                f"{batch.where(row)}: a field in quotes goes on over several lines, and the quote "
                "that ends it stands where a field could begin; if a quote is missing, rows are "
                "lost in this field."
            )
            doubts["quotes"] = Finding("quotes", text, warning=True)
            break
    return replace(batch, findings=distinct((*layout.findings, *doubts.values(), *batch.findings)))
