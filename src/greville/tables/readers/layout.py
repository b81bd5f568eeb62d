"""How a text table is laid out: what stands above it and below it, its delimiter, its names."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..batch import TableError
from ..findings import Finding
from .header import COMPARED, check_header, is_number, total_in
from .source import Reading
from .unpacking import Content

# Between fields that stand in columns, with as many blanks as it takes.
BLANKS = " "

_DELIMITERS = ",\t;|"

# Bytes, and lines, by which a layout is recognised; and bytes with the last lines.
_HEAD, _LINES, _FEW_LINES, _TAIL = 1 << 16, 200, 10, 1 << 12

# Lines below a table that are no part of it.
_MOST_FOOTER = 5

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_FIELD = re.compile(r'(?:"[^"]*"|[^ \t\r\n])+')
_FIELD_BYTES = re.compile(_FIELD.pattern.encode())


@dataclass(frozen=True)
class Layout:
    """Layout of a text table: where its rows are, and the names of columns.

    Attributes
    ----------
    content : Content
        The file, rewritten where DuckDB could not read it as it is.
    delimiter : str
    skipped : int
        Lines above the first row of values.
    names : list of str
    n_rows : float
        About how many rows there are.
    findings : tuple of Finding
    """

    content: Content
    delimiter: str
    skipped: int
    names: list[str]
    n_rows: float
    findings: tuple[Finding, ...]


class _Head:
    """The first lines of a file, and where among them the table begins."""

    def __init__(self, name: str, content: Content, reading: Reading) -> None:
        self.name = name
        head = content.head(_HEAD)
        if head.count(b"\n") < _FEW_LINES:  # of very many columns
            head = content.head(_HEAD << 7)
        self.lines = [line for line in _LINE.findall(head.decode("utf8", "replace")) if line]
        if len(head) >= _HEAD and len(self.lines) > 1:
            del self.lines[-1]
        size = sum(len(line.encode()) for line in self.lines)
        self.n_rows = content.path.stat().st_size / max(1, size) * len(self.lines)
        self.start = min(reading.skip_rows, len(self.lines))
        self.findings: list[Finding] = []
        self.has_comments = False
        self.delimiter = reading.delimiter or ""
        self._skip_separator()
        self._skip_comments()
        if not self.delimiter:
            self.delimiter = recognised_delimiter(self.lines[self.start :])
            if self.delimiter == BLANKS:
                self.say("delimiter", "the fields are separated by blanks")
        if reading.header is not False and not reading.skip_rows:
            self._skip_titles()

    def say(self, kind: str, what: str, *, warning: bool = False) -> None:
        self.findings.append(Finding(kind, f"{self.name}: {what}.", warning=warning))

    def rows(self) -> list[tuple[int, list[str]]]:
        """Rows from the start on, each with the number of lines above it."""
        rows = _parsed(self.lines[self.start :], self.delimiter)
        return [(self.start + place, fields) for place, fields in rows if fields]

    def _skip_separator(self) -> None:
        """Take the delimiter from a first line as Excel writes it, ``sep=;``."""
        line = "".join(self.lines[self.start : self.start + 1]).strip("\r\n")
        if re.fullmatch(r"sep=.", line, re.IGNORECASE):
            self.delimiter = self.delimiter or line[-1]
            self.start += 1

    def _skip_comments(self) -> None:
        """Skip empty lines and comments; the last of these may have the names of the columns."""
        stop = self.start
        while stop < len(self.lines) and self.lines[stop].lstrip(" \t")[0] in "#\r\n":
            stop += 1
        comments = [i for i in range(self.start, stop) if self.lines[i].startswith("#")]
        self.start = stop
        if not comments:
            return
        self.has_comments = True
        names = self.lines[comments[-1]][1:].strip()
        some = [line for line in self.lines[stop:][:_LINES] if line[0] != "#"]
        mark = self.delimiter or recognised_delimiter(some)
        fields = next(_parsed([names], mark), (0, []))[1]
        below = next(_parsed(some, mark), (0, []))[1]
        are_names = len(fields) == len(below) >= 2 and not any(map(is_number, fields))
        if are_names and any(map(is_number, below)):
            self.start, self.delimiter = comments[-1], mark
            self.lines[self.start] = names + "\n"
            text = "the names of the columns are taken from the last of its first lines, behind #"
            self.say("comments", text)
        else:
            text = f"lines that begin with # are comments, as in line {comments[0] + 1}"
            self.say("comments", f"{text}; they are left out")

    def _skip_titles(self) -> None:
        """Skip lines above the names that have not as many fields as most rows."""
        rows = self.rows()[:_LINES]
        width = _usual(len(fields) for _, fields in rows)
        titles = 0
        for _, fields in rows[:-1]:
            filled = sum(bool(field.strip()) for field in fields)
            padded = len(fields) == width > 2 and filled <= 1
            if not padded and (len(fields) in (width, width - 1) or filled > max(1, width // 2)):
                break
            titles += 1
        if width >= 2 and 0 < titles <= len(rows) // 2:
            self.start = rows[titles][0]
            what = f"what is above line {self.start + 1} is no part of the table and left out"
            self.say("title", what)


def layout_of(name: str, content: Content, reading: Reading) -> Layout:
    """Find the layout of a file from its lines."""
    head = _Head(name, content, reading)
    rows = head.rows()
    if not rows:
        raise TableError(f"{name}: it has no rows; there is nothing to read.")
    (skipped, names), below = rows[0], rows[1:]
    if reading.header is False:
        names = [str(i) for i in range(_usual(len(fields) for _, fields in rows))]
    else:
        where = f"{name}, line {skipped + 1:,}"
        names = [field.strip() for field in names]
        if len(below) > 1 and {len(fields) for _, fields in below[1:]} == {len(names) + 1}:
            names = ["", *names]  # the names of rows, as R writes them
        while below and names[-1:] == [""] and all(len(row) < len(names) for _, row in below):
            del names[-1]  # behind a delimiter at the end of this line only
        skipped = below[0][0] if below else len(head.lines)
        values = [fields for _, fields in below if len(fields) == len(names)][:COMPARED]
        if reading.header is None:
            columns = [list(column) for column in zip(*values, strict=True)] or [[] for _ in names]
            head.findings += check_header(where, names, columns)
    end, footer, total = _footer(content.path, head.delimiter, len(names))
    if footer:
        what = f"the last {footer} lines are no rows" if footer > 1 else "the last line is no row"
        head.say("footer", f"{what} of the table and left out")
    if total is not None:
        what = f"a last row is left out: it is the total of the others ({total})"
        head.say("total", what, warning=True)
    # DuckDB would look for the end of a quote that opens above the rows.
    above = skipped if any(line.count('"') % 2 for line in head.lines[:skipped]) else 0
    mark = head.delimiter
    if footer or total is not None or head.has_comments or above or mark == BLANKS:
        lines = _plain_lines(content.path, mark == BLANKS, head.has_comments, above, end)
        content = content.rewritten(lines)
    mark = "\t" if mark == BLANKS else mark
    return Layout(content, mark, skipped, names, head.n_rows, tuple(head.findings))


def recognised_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that cuts most lines into as many fields, or blanks if all do so."""
    lines = [line for line in lines if line.strip() and line[0] != "#"][:_LINES]
    names = lines[0] if lines else ""
    best, delimiter = (0.3, 0), ""
    # A comma between digits may be a decimal mark, so that any other candidate goes before it.
    bare = [re.sub(r"(?<=\d),(?=\d)", "", line) for line in lines]
    for mark in _DELIMITERS:
        some = bare if mark == "," else lines
        widths = Counter(len(fields) for _, fields in _parsed(some, mark) if fields)
        width = _usual(widths.elements())
        score = widths[width] / max(1, widths.total()), names.count(mark)
        if width > 1 and score > best:
            best, delimiter = score, mark
    if delimiter or any("," in line for line in bare):
        return delimiter or ","
    widths = Counter(len(_FIELD.findall(line)) for line in lines[1:])
    same = len(widths) == 1 and min(widths) >= 2
    fits = same and len(_FIELD.findall(names)) in (min(widths), min(widths) - 1)
    return BLANKS if fits else ","


def _usual(widths: Iterable[int]) -> int:
    """Return the most common number; the largest one if several are equally common."""
    counts = Counter(widths)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _parsed(lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows of CSV, each with the number of lines before the row."""
    if delimiter == BLANKS:
        for place, line in enumerate(lines):
            yield place, [field.strip('"') for field in _FIELD.findall(line)]
        return
    reader, place = csv.reader(lines, delimiter=delimiter), 0
    while True:
        try:
            fields = next(reader, None)
        except csv.Error:  # a longer field than Python takes
            fields = []
        if fields is None:
            return
        yield place, fields
        place = reader.line_num


def _footer(path: Path, mark: str, width: int) -> tuple[int, int, str | None]:
    """Find the footer: where the rows end, how many lines it has, and a row of totals.

    Such lines have one field only, where those above have all.
    """
    end = size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _TAIL))
        tail = file.read().splitlines(keepends=True)[size > _TAIL :]
    lines = [line.decode("utf8", "replace") for line in tail if line.strip()]
    if width < 2 or any(line.count('"') % 2 for line in lines):
        return end, 0, None
    rows = [fields for _, fields in _parsed(lines, mark)]
    n = next((i for i, fields in enumerate(reversed(rows)) if len(fields) != 1), len(rows))
    above = rows[: len(rows) - n]
    if n > _MOST_FOOTER or [len(fields) for fields in above[-3:]] != [width] * 3:
        return end, 0, None
    total = total_in(above[-1])
    if any(total in fields for fields in above[:-1]):  # a value like others
        total = None
    left = n + (total is not None)
    while left:
        line = tail.pop()
        end, left = end - len(line), left - bool(line.strip())
    return end, n, total


def _plain_lines(path: Path, blanks: bool, comments: bool, above: int, end: int) -> Iterator[bytes]:
    """Yield as many lines, of which those that are no rows are empty.

    Parameters
    ----------
    path : Path
    blanks : bool
        Whether blanks between fields become tabs.
    comments : bool
        Whether lines that begin with # are some.
    above : int
        How many lines above the rows are emptied.
    end : int
        Where in the file the rows end.
    """
    position = 0
    with path.open("rb") as file:
        for number, whole in enumerate(file):
            line, position = whole.removeprefix(codecs.BOM_UTF8), position + len(whole)
            if position > end:
                return
            mark = b"\r\n" if line.endswith(b"\r\n") else b"\n"
            if number < above or (comments and line.startswith(b"#")):
                yield mark
            else:
                yield b"\t".join(_FIELD_BYTES.findall(line)) + mark if blanks else line
