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
from numpy.typing import NDArray

from ..batch import Batch, TableError, check_column_names, listed, record_batch
from ..findings import Finding
from ._header import COMPARED, check_header, total_in
from .source import ROWS_AT_ONCE, ReadRequest, Unreadable, array_from, with_findings

# Rows that a sheet of Excel may have, and cells that are read, empty ones too: a small file may
# claim any number of them.
_MOST_ROWS, _MOST_CELLS = 1 << 20, 1 << 28

# Bytes that a part of a file may have anyway, and how many for each byte that it has when packed.
_LARGE, _MOST_PACKED = 1 << 26, 150

# The number of a row as Excel shows it, and the values in its cells.
Row = tuple[int, tuple[Any, ...]]


def read(request: ReadRequest) -> Iterator[Batch]:
    """The batches of a sheet; formulas are what they were when the file was saved."""
    name = request.source.name
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError as error:
        raise TableError(
            f"{name}: Excel files need openpyxl; install it with: pip install 'greville[excel]'"
        ) from error
    try:
        assert request.source.path is not None
        _check_sizes(name, request.source.path)
        with request.source.path.open("rb") as file, _opened(load_workbook, file) as book:
            sheet, rows = _sheet(request, book)
            others = [other.title for other in book.worksheets if other is not sheet]
            text = f"{name}: the sheet {sheet.title!r} is read"
            text += f", and not {listed(others)} (see --table)" if others else ""
            batches = _without_total(_batches(request, sheet, rows))
            yield from with_findings(batches, [Finding("sheet", text + ".")])
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


def _opened(load: Any, file: Any) -> Any:
    """A workbook that is read row by row, with the values of formulas."""
    return closing(load(file, read_only=True, data_only=True))


def _sheet(request: ReadRequest, book: Any) -> tuple[Any, Iterator[Row]]:
    """The sheet that was asked for, or the first one with anything in it; and its rows."""
    name, wanted = request.source.name, request.reading.table
    titles = [sheet.title for sheet in book.worksheets]
    if wanted is not None and wanted not in titles:
        raise TableError(f"{name}: there is no sheet {wanted!r} in it, but {listed(titles)}.")
    found = None
    for sheet in book.worksheets:
        if wanted in (None, sheet.title):
            sheet.reset_dimensions()  # what a file says of its size may be anything
            rows = _filled_rows(name, sheet)
            ahead = list(islice(rows, COMPARED))
            column = request.reading.column
            cells = {str(value).strip() for _, row in ahead for value in row}
            if ahead and (column is None or wanted or column in cells):
                return sheet, chain(ahead, rows)
            if ahead and found is None:
                found = sheet, chain(ahead, rows)
    if found is not None:
        return found
    raise TableError(f"{name}: there are no values in {wanted or 'any sheet'!r} of it.")


def _filled_rows(name: str, sheet: Any) -> Iterator[Row]:
    n_cells = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        n_cells += len(row)
        if number > _MOST_ROWS or n_cells > _MOST_CELLS:
            raise TableError(
                f"{name}, row {number:,}: no more than {_MOST_ROWS:,} rows and {_MOST_CELLS:,} "
                "cells of a sheet are read; write it as CSV."
            )
        if any(value not in (None, "") for value in row):
            yield number, row


def _batches(request: ReadRequest, sheet: Any, rows: Iterator[Row]) -> Iterator[Batch]:
    """The rows below the names of the columns, which are in the first row with two values."""
    source, with_header = request.source, request.reading.header is not False
    ahead = list(islice(rows, COMPARED))
    width = max(len(row) for _, row in ahead)
    titles = 0
    if width > 1 and with_header:
        filled = [sum(value not in (None, "") for value in row) for _, row in ahead]
        titles = next((i for i, n in enumerate(filled) if n > 1), 0)
        above = request.reading.skip_rows
        titles = sum(number <= above for number, _ in ahead) if above else titles
    findings = []
    if titles:
        text = f"{source.name}: what is above row {ahead[titles][0]} is no part of the table"
        findings.append(Finding("title", f"{text} and left out."))
        del ahead[:titles]
    number, first = ahead[0]
    if with_header:
        del ahead[0]
        names = ["" if value is None else str(value).strip() for value in first]
        while names and not names[-1]:
            del names[-1]
        if request.reading.header is None:
            below = [[_text(row, i) for _, row in ahead] for i in range(len(names))]
            findings += check_header(f"{source.name}, row {number}", names, below)
    else:
        names = [str(i) for i in range(width)]
    check_column_names(source.name, names)
    rows = chain(ahead, rows)
    total = sheet.max_row or 0
    while some := list(islice(rows, ROWS_AT_ONCE)):
        numbers = np.array([number for number, _ in some], np.int64)
        done = min(1.0, numbers[-1] / total) if total else 0.0
        columns = _columns(source.name, names, numbers, [row for _, row in some])
        yield Batch(columns, source.name, numbers, done, findings=tuple(findings))


def _without_total(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The rows without a last one that is their total, and a finding."""
    held: Batch | None = None
    for batch in batches:
        if held is not None:
            yield held
        held = batch
    last = len(held) - 1 if held is not None else 0
    label = None if held is None else total_in(held.table.slice(last).to_pylist()[0].values())
    if held is not None and label is not None and last:
        what = f"{held.where(last)} is left out: it is the total of the others ({label})"
        found = Finding("total", f"{what}.", warning=True)
        held = replace(held.filter(np.arange(len(held)) < last), findings=(*held.findings, found))
    if held is not None:
        yield held


def _columns(
    source: str, names: Sequence[str], numbers: NDArray[np.int64], rows: Sequence[tuple[Any, ...]]
) -> Any:
    columns: dict[str, Any] = {}
    for i, name in enumerate(names):
        values = [row[i] if i < len(row) and row[i] != "" else None for row in rows]
        columns[name] = array_from(values)
    for number, row in zip(numbers, rows, strict=True):
        if any(value not in (None, "") for value in row[len(names) :]):
            raise TableError(
                f"{source}, row {number:,}: there is a value to the right of the named columns; "
                "give its column a name, or remove it."
            )
    return record_batch(columns)


def _text(row: tuple[Any, ...], i: int) -> str | None:
    return None if i >= len(row) or row[i] is None else str(row[i])
