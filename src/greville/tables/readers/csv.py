"""CSV: text with a row on each line, and fields between delimiters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..batch import Batch, TableError, check_column_names, check_count, unusable_row
from ..findings import Finding, distinct
from ..writers import OrderedWriter
from ._csv_layout import layout_of
from ._csv_rows import OpenQuote, Rows, TooLong, count_lines, first_end, whole_rows
from ._header import COMPARED, check_header
from .source import ReadRequest, Source, Unreadable, arrow_input

# Rows with quotes that are never closed; finding each costs the time of reading a block.
_MOST_OPEN_QUOTES = 100


def read_tsv(request: ReadRequest) -> Iterator[Batch]:
    """The same with tabs between fields."""
    delimiter = request.reading.delimiter or "\t"
    return read(replace(request, reading=replace(request.reading, delimiter=delimiter)))


def read(request: ReadRequest) -> Iterator[Batch]:
    """The batches of lines of text.

    Arrow gets blocks of whole rows, in its own memory. Its streaming reader would read ahead in
    threads that call into Python, also while the interpreter ends, which ends the process.
    """
    layout = layout_of(request)
    table = _Table(request, layout.mark, layout.findings)
    held: Batch | None = None
    line = layout.line + request.source.first_line
    for rows in whole_rows(layout.blocks, layout.mark, line, layout.comments):
        batch = table.batch(rows)
        if batch is None:
            continue
        if held is not None:
            yield held
        held = batch
    if held is not None:  # and what was found after the last row
        last = table.taken()
        yield replace(
            held, skipped=(*held.skipped, *last[0]), findings=distinct((*held.findings, *last[1]))
        )


class _Table:
    """The names of the columns, once they are known, and what was found since the last batch."""

    def __init__(self, request: ReadRequest, mark: bytes, findings: tuple[Finding, ...]) -> None:
        self._request, self._mark = request, mark
        self._names: list[str] | None = None
        self._skipped: list[tuple[int, str]] = []
        self._findings = list(findings)
        self._n_open_quotes = 0
        self._has_comments = self._has_gaps = self._has_doubtful_quotes = False

    def batch(self, rows: Rows | OpenQuote | TooLong) -> Batch | None:
        """The next rows, if there are any."""
        source, content = self._request.source, self._request.content
        assert content is not None
        if isinstance(rows, TooLong):
            raise TableError(
                f"{source.name}, line {rows.line:,}: the row is longer than 4 MB; is this the "
                "right format or delimiter?"
            )
        if isinstance(rows, OpenQuote):
            self._meet_open_quote(rows.line)
            return None
        text, lines = rows.content.lstrip(b"\r\n"), rows.lines
        _check_utf8(source.name, text, rows)
        for line in rows.comments[:1]:
            self._find_comment(line)
        for line in rows.doubtful[:1]:
            self._find_doubtful_quote(line)
        where = None  # the first row, if that is among these
        if text and self._names is None:
            where = f"{source.name}, line {lines[0]:,}"
            end = first_end(text, self._mark)
            with_header = self._request.reading.header is not False
            self._names = _names(source, text[:end], self._mark, with_header)
            if with_header:
                text, lines = text[end:].lstrip(b"\r\n"), lines[1:]
        if not text or self._names is None:
            if where is not None:
                check_column_names(source.name, self._names or ())
            return None
        table, used = self._parsed(text, lines)
        if where is not None:
            self._check_names(where, table)
        if not table.num_rows:
            return None
        if len(self._names) == 1:
            self._find_gap(used)
        columns = [column.combine_chunks() for column in table.columns]
        renamed = pa.RecordBatch.from_arrays(columns, names=self._names)
        skipped, findings = self.taken()
        done = content.share_read()
        return Batch(renamed, source.name, used, done, False, skipped, findings, unit="line")

    def taken(self) -> tuple[tuple[tuple[int, str], ...], tuple[Finding, ...]]:
        """The rows that were left out and the findings, once."""
        taken = tuple(self._skipped), tuple(self._findings)
        self._skipped, self._findings = [], []
        return taken

    def _meet_open_quote(self, line: int) -> None:
        where = f"{self._request.source.name}, line {line:,}"
        what = f"{where}: a quote opens a field and is not closed"
        self._n_open_quotes += 1
        if not self._request.skip or self._names is None:
            raise unusable_row(what)
        if self._n_open_quotes > _MOST_OPEN_QUOTES:
            raise TableError(f"{what}, as in {_MOST_OPEN_QUOTES} rows before; fix the file.")
        self._skipped.append((line, what))

    def _find_comment(self, line: int) -> None:
        what = f"{self._request.source.name}: line {line:,}, among the rows, begins with #"
        text = f"{what}; such lines are left out as comments."
        if not self._has_comments:
            self._findings.append(Finding("comments", text, warning=True))
        self._has_comments = True

    def _find_doubtful_quote(self, line: int) -> None:
        text = (
            f"{self._request.source.name}, line {line:,}: a field in quotes goes on over several "
            "lines, and the quote that ends it stands where a field could begin; if a quote is "
            "missing, rows are lost in this field."
        )
        if not self._has_doubtful_quotes:
            self._findings.append(Finding("quotes", text, warning=True))
        self._has_doubtful_quotes = True

    def _find_gap(self, lines: NDArray[np.int64]) -> None:
        """Say that there are empty lines where they may be missing values."""
        gaps = np.flatnonzero(np.diff(lines) > 1)
        if len(gaps) and not self._has_gaps:
            where = f"{self._request.source.name}: line {lines[gaps[0]] + 1:,}"
            text = f"{where} is empty; in a table of one column that may be a missing value"
            finding = Finding("empty lines", f"{text}, but such lines are left out.", warning=True)
            self._findings.append(finding)
            self._has_gaps = True

    def _check_names(self, where: str, table: Any) -> None:
        """Look at the names of the columns, beside their first values."""
        assert self._names is not None
        if self._request.reading.header is None:
            first = table.slice(0, COMPARED)
            values = [column.to_pylist() for column in first.columns]
            self._findings += check_header(where, self._names, values)
        check_column_names(self._request.source.name, self._names)

    def _parsed(self, text: bytes, lines: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
        """Rows as a table, and their lines; those that cannot be used are left out."""
        source, skip = self._request.source, self._request.skip
        assert self._names is not None
        refused: list[str] = []
        left_out: list[int] = []

        def invalid(row: Any) -> str:
            line = int(lines[row.number - 1])
            left_out.append(row.number - 1)
            if row.text.startswith("#"):
                self._find_comment(line)
                return "skip"
            n, wanted = row.actual_columns, row.expected_columns
            what = f"{source.name}, line {line:,} has {n} field{'s' * (n != 1)} instead of {wanted}"
            if not skip:
                refused.append(what)
                return "error"
            self._skipped.append((line, what))
            return "skip"

        try:
            table = _read(text, len(self._names), self._mark, invalid)
        except pa.ArrowInvalid as error:
            if refused:
                raise unusable_row(refused[0]) from error
            raise
        used = np.delete(lines, left_out) if left_out else lines
        if len(used) != table.num_rows:
            raise Unreadable(f"the quotes after line {lines[0]:,} are not those of CSV")
        return table, used


def _check_utf8(name: str, text: bytes, rows: Rows) -> None:
    """Raise a TableError for bytes that are no text; Arrow would print what is wrong with them."""
    if text.isascii():
        return
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = rows.lines[0] + count_lines(text[: error.start])
        for comment in rows.comments:  # which are not in the text
            line += rows.lines[0] < comment <= line
        advice = "; pass its encoding, for instance {encoding}."
        what = f"{name}, line {line:,}: it is not in UTF-8"
        raise TableError(what, advice, encoding="latin-1") from error


def _names(source: Source, line: bytes, mark: bytes, header: bool) -> list[str]:
    """The names of the columns, from the first row."""
    if b'"' not in line:
        check_count(source.name, line.count(mark) + 1)
    table = _read(line, line.count(mark) + 1, mark, None, generated=True)
    if not header:
        return [str(i) for i in range(table.num_columns)]
    return [(column[0].as_py() or "").strip() for column in table.columns]


def _read(rows: bytes, n_columns: int, mark: bytes, invalid: Any, generated: bool = False) -> Any:
    """Everything as text, which costs no more; the model decides the types of columns."""
    from pyarrow import csv as arrow_csv

    names = [f"f{i}" for i in range(n_columns)]
    return arrow_csv.read_csv(
        arrow_input(rows),
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
            check_utf8=False,  # it was, at once; field by field takes a third of the time
        ),
    )


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
