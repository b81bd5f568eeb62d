"""Excel workbooks: one of their sheets, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from ..batch import Batch, TableError, check_column_names, listed, record_batch
from ..findings import Finding
from ..frames import column_of
from .header import COMPARED, check_header, total_in
from .source import ROWS_AT_ONCE, ReadRequest, Unreadable, chosen_table, with_findings

# Rows that a sheet of Excel may have, and cells that are read, empty ones too: a small file may
# claim any number of them.
_MOST_ROWS, _MOST_CELLS = 1 << 20, 1 << 28

# Bytes that a part of a file may have anyway, and how many for each byte that it has when packed.
_LARGE, _MOST_PACKED = 1 << 26, 150

# The number of a row as Excel shows it, and the values in its cells up to the last that has one.
Row = tuple[int, list[Any]]


def read(request: ReadRequest) -> Iterator[Batch]:
    """Read the batches of a sheet; formulas are what they were when the file was saved."""
    name = request.source.name
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError as error:
        raise TableError(
            f"{name}: Excel files need openpyxl; install it with: pip install 'greville[excel]'"
        ) from error
    try:
        _check_sizes(name, request.content.path)
        with (
            request.content.path.open("rb") as file,
            closing(load_workbook(file, read_only=True, data_only=True)) as book,
        ):
            sheet, rows = _sheet(request, book)
            others = [other.title for other in book.worksheets if other is not sheet]
            text = f"{name}: the sheet {sheet.title!r} is read"
            text += f", and not {listed(others)}" if others else ""
            advice = "; to read another, pass {table}." if others else "."
            finding = Finding("sheet", text, advice=advice, arguments={"table": None})
            yield from with_findings(_without_total(_batches(request, sheet, rows)), [finding])
    except (TableError, MemoryError, OSError):
        raise
    except Exception as error:  # a damaged workbook raises whatever its parser does
        raise Unreadable(str(error) or type(error).__name__) from error


def _check_sizes(name: str, path: Path) -> None:
    """Raise a TableError for a small file that becomes a very large one."""
    with ZipFile(path) as archive:
        for entry in archive.infolist():
            if entry.file_size > max(_LARGE, _MOST_PACKED * entry.compress_size):
                raise TableError(
                    f"{name}: {entry.filename!r} in it unpacks to {entry.file_size >> 20:,} MB, "
                    f"more than {_MOST_PACKED} times its size, as no table does; write it as CSV."
                )


def _sheet(request: ReadRequest, book: Any) -> tuple[Any, Iterator[Row]]:
    """The sheet that was asked for or has the column, else the first with values; and its rows."""
    name, asked = request.source.name, request.reading.table
    titles = [sheet.title for sheet in book.worksheets]
    if asked is not None:
        titles = [chosen_table(name, "sheet", titles, asked, titles)]
    filled = []
    for sheet in book.worksheets:
        if sheet.title not in titles:
            continue
        sheet.reset_dimensions()  # what a file says of its size may be anything
        rows = _filled_rows(name, sheet)
        ahead = list(islice(rows, COMPARED))
        filled += [(sheet, chain(ahead, rows))] if ahead else []
        if request.reading.column in {str(value).strip() for _, row in ahead for value in row}:
            return filled[-1]
    if not filled:
        raise TableError(f"{name}: there are no values in {asked or 'any sheet'!r} of it.")
    return filled[0]


def _filled_rows(name: str, sheet: Any) -> Iterator[Row]:
    n_cells = 0
    for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        n_cells += len(cells)
        if number > _MOST_ROWS or n_cells > _MOST_CELLS:
            raise TableError(
                f"{name}, row {number:,}: no more than {_MOST_ROWS:,} rows and {_MOST_CELLS:,} "
                "cells of a sheet are read; write it as CSV."
            )
        row = [None if value == "" else value for value in cells]
        while row and row[-1] is None:
            del row[-1]
        if row:
            yield number, row


def _batches(request: ReadRequest, sheet: Any, rows: Iterator[Row]) -> Iterator[Batch]:
    """The rows below the names of the columns, which are in the first row with two values."""
    name, reading = request.source.name, request.reading
    ahead = list(islice(rows, COMPARED))
    width = max(len(row) for _, row in ahead)
    titles, findings = 0, list[Finding]()
    if reading.skip_rows:
        titles = sum(number <= reading.skip_rows for number, _ in ahead[:-1])
    elif width > 1 and reading.header is not False:
        filled = (i for i, (_, row) in enumerate(ahead) if len(row) - row.count(None) > 1)
        titles = next(filled, 0)
    if titles:
        text = f"{name}: what is above row {ahead[titles][0]} is no part of the table"
        findings.append(Finding("title", f"{text} and left out."))
        del ahead[:titles]
    names = [str(i) for i in range(width)]
    if reading.header is not False:
        number, cells = ahead.pop(0)
        names = ["" if value is None else str(value).strip() for value in cells]
        if reading.header is None:
            below = [
                [None if i >= len(row) or row[i] is None else str(row[i]) for _, row in ahead]
                for i in range(len(names))
            ]
            findings += check_header(f"{name}, row {number}", names, below)
    check_column_names(name, names)
    rows = chain(ahead, rows)
    total = sheet.max_row or np.inf
    while some := list(islice(rows, ROWS_AT_ONCE)):
        numbers = np.array([number for number, _ in some], np.int64)
        table = _table(name, names, some)
        yield Batch(table, name, numbers, min(1.0, numbers[-1] / total), findings=(*findings,))


def _table(source: str, names: Sequence[str], rows: Sequence[Row]) -> Any:
    width = len(names)
    for number, row in rows:
        if len(row) > width:
            raise TableError(
                f"{source}, row {number:,}: there is a value to the right of the named columns; "
                "give its column a name, or remove it."
            )
    columns = zip(*([*row, *[None] * (width - len(row))] for _, row in rows), strict=True)
    return record_batch(dict(zip(names, map(column_of, columns), strict=True)))


def _without_total(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The rows without a last one that is their total, and a finding."""
    held: Batch | None = None
    for batch in batches:
        if held is not None:
            yield held
        held = batch
    if held is None:
        return
    *above, last = held.table.to_pylist()
    total = total_in(last.values())
    if total is not None and above and not any(total in row.values() for row in above):
        what = f"{held.where(len(above))} is left out: it is the total of the others ({total})"
        finding = Finding("total", f"{what}.", warning=True)
        held = replace(held.part(0, len(above)), findings=(*held.findings, finding))
    yield held
