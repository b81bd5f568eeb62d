"""Excel workbooks: one of their sheets, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..batch import Batch, TableError, check_column_names, listed, record_batch
from ..findings import Finding
from ._header import COMPARED, check_header
from .source import ROWS_AT_ONCE, ReadRequest, Unreadable, array_from, with_findings

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
        with request.source.path.open("rb") as file, _opened(load_workbook, file) as book:
            sheet, rows = _sheet(request, book)
            others = [other.title for other in book.worksheets if other is not sheet]
            text = f"{name}: the sheet {sheet.title!r} is read"
            text += f", and not {listed(others)} (see --table)" if others else ""
            batches = _batches(request, sheet, rows)
            yield from with_findings(batches, [Finding("sheet", text + ".")])
    except (TableError, MemoryError, OSError):
        raise
    except Exception as error:  # a damaged workbook raises whatever its parser does
        raise Unreadable(str(error) or type(error).__name__) from error


def _opened(load: Any, file: Any) -> Any:
    """A workbook that is read row by row, with the values of formulas."""
    return closing(load(file, read_only=True, data_only=True))


def _sheet(request: ReadRequest, book: Any) -> tuple[Any, Iterator[Row]]:
    """The sheet that was asked for, or the first one with anything in it; and its rows."""
    name, wanted = request.source.name, request.reading.table
    titles = [sheet.title for sheet in book.worksheets]
    if wanted is not None and wanted not in titles:
        raise TableError(f"{name}: there is no sheet {wanted!r} in it, but {listed(titles)}.")
    for sheet in book.worksheets:
        if wanted in (None, sheet.title):
            sheet.reset_dimensions()  # what a file says of its size may be anything
            rows = _filled_rows(sheet)
            first = next(rows, None)
            if first is not None:
                return sheet, chain([first], rows)
    raise TableError(f"{name}: there are no values in {wanted or 'any sheet'!r} of it.")


def _filled_rows(sheet: Any) -> Iterator[Row]:
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
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
