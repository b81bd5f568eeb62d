"""How a text table is laid out: what stands above it and below it, its delimiter, its names."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..batch import TableError
from ..findings import Finding
from .header import COMPARED, check_header, is_number, total_in
from .source import Reading
from .text import Text

# Between fields that stand in columns, with as many blanks as it takes.
BLANKS = " "

_DELIMITERS = ",\t;|"

# Bytes, and lines, by which a layout is recognised; and bytes with the last lines.
_HEAD, _LINES, _FEW_LINES, _TAIL = 1 << 16, 200, 10, 1 << 12

# Lines below a table that are no part of it.
_MOST_FOOTER = 5

_BLANKS_OUTSIDE_QUOTES = re.compile(rb'"[^"\r\n]*"|[ \t]+')
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


@dataclass(frozen=True)
class Layout:
    """Layout of a text table: where its rows are, and the names of columns.

    Attributes
    ----------
    text : Text
        The file, rewritten where DuckDB could not read it as it is.
    delimiter : str
    skipped : int
        Lines above the first row of values.
    names : list of str
    n_rows : float
        About how many rows there are.
    findings : tuple of Finding
    """

    text: Text
    delimiter: str
    skipped: int
    names: list[str]
    n_rows: float
    findings: tuple[Finding, ...]


class _Head:
    """The first lines of a file, and where among them the table begins."""

    def __init__(self, name: str, text: Text, reading: Reading) -> None:
        self.name = name
        head = text.head(_HEAD)
        if head.count(b"\n") < _FEW_LINES:  # of very many columns
            head = text.head(_HEAD << 7)
        self.lines = [line for line in _LINE.findall(head.decode("utf8", "replace")) if line]
        if len(head) >= _HEAD and len(self.lines) > 1:
            del self.lines[-1]
        size = sum(len(line.encode()) for line in self.lines)
        self.n_rows = text.path.stat().st_size / max(1, size) * len(self.lines)
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
        rows = _parsed(self.lines[self.start :], self.delimiter, self.start)
        return [(place, fields) for place, fields in rows if fields]

    def _skip_separator(self) -> None:
        """Take the delimiter from a first line as Excel writes it, ``sep=;``."""
        line = self.lines[self.start].strip("\r\n") if self.start < len(self.lines) else ""
        if re.fullmatch(r"sep=.", line, re.IGNORECASE):
            self.delimiter = self.delimiter or line[-1]
            self.start += 1

    def _skip_comments(self) -> None:
        """Skip empty lines and comments; the last of these may have the names of the columns."""
        rest = range(self.start, len(self.lines))
        end = (i for i in rest if self.lines[i].strip() and not self.lines[i].startswith("#"))
        stop = next(end, len(self.lines))
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


def layout_of(name: str, text: Text, reading: Reading) -> Layout:
    """Find the layout of a file from its lines."""
    head = _Head(name, text, reading)
    rows = head.rows()
    if not rows:
        raise TableError(f"{name}: it has no rows; there is nothing to read.")
    (place, first), below = rows[0], rows[1:]
    if reading.header is False:
        names, skipped = [str(i) for i in range(_usual(len(fields) for _, fields in rows))], place
    else:
        names = [field.strip() for field in first]
        if len(below) > 1 and {len(fields) for _, fields in below[1:]} == {len(names) + 1}:
            names = ["", *names]  # the names of rows, as R writes them
        skipped = below[0][0] if below else len(head.lines)
    if reading.header is None:
        values = [fields for _, fields in below if len(fields) == len(names)][:COMPARED]
        columns = [list(column) for column in zip(*values, strict=True)] or [[] for _ in names]
        head.findings += check_header(f"{name}, line {place + 1:,}", names, columns)
    size, footer, total = _footer(text, head.delimiter, len(names))
    if footer:
        what = f"the last {footer} lines are no rows" if footer > 1 else "the last line is no row"
        head.say("footer", f"{what} of the table and left out")
    if total is not None:
        what = f"a last row is left out: it is the total of the others ({total})"
        head.say("total", what, warning=True)
    # DuckDB would look for the end of a quote that opens above the rows.
    above = skipped if any(line.count('"') % 2 for line in head.lines[:skipped]) else 0
    mark = head.delimiter
    if size is not None or head.has_comments or above or mark == BLANKS:
        text = text.rewritten(_plain_rows(text, mark, head.has_comments, above, size))
    mark = "\t" if mark == BLANKS else mark
    return Layout(text, mark, skipped, names, head.n_rows, tuple(head.findings))


def recognised_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that cuts most lines into as many fields, or blanks if all do so."""
    lines = [line for line in lines if line.strip() and line[0] != "#"][:_LINES]
    first = lines[0] if lines else ""
    best, delimiter = (0.3, 0), ""
    # A comma between digits may be a decimal mark, so that any other candidate goes before it.
    bare = [re.sub(r"(?<=\d),(?=\d)", "", line) for line in lines]
    for mark in _DELIMITERS:
        some = bare if mark == "," else lines
        widths = Counter(len(fields) for _, fields in _parsed(some, mark) if fields)
        width = _usual(widths.elements())
        score = widths[width] / max(1, widths.total()), first.count(mark)
        if width > 1 and score > best:
            best, delimiter = score, mark
    if delimiter or any("," in line for line in bare):
        return delimiter or ","
    widths = Counter(len(_between_blanks(line)) for line in lines[1:])
    same = len(widths) == 1 and min(widths) >= 2
    fits = same and len(_between_blanks(first)) in (min(widths), min(widths) - 1)
    return BLANKS if fits else ","


def _usual(widths: Iterable[int]) -> int:
    """Return the most common number; the largest one if several are equally common."""
    counts = Counter(widths)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _parsed(
    lines: Sequence[str], delimiter: str, before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Yield rows of CSV, each with the number of lines before the row."""
    if delimiter == BLANKS:
        for place, line in enumerate(lines, before):
            yield place, [field.strip('"') for field in _between_blanks(line)]
        return
    reader = csv.reader(lines, delimiter=delimiter)
    place = 0
    while True:
        try:
            fields = next(reader, None)
        except csv.Error:  # a longer field than Python takes
            fields = []
        if fields is None:
            return
        yield before + place, fields
        place = reader.line_num


def _between_blanks(line: str) -> list[str]:
    return re.findall(r'(?:"[^"]*"|[^ \t\r\n])+', line)


def _footer(text: Text, mark: str, width: int) -> tuple[int | None, int, str | None]:
    """Find the footer: its start in the file, its number of lines, and a row of totals.

    Such lines have one field only, where those above have all.
    """
    size = text.path.stat().st_size
    with text.path.open("rb") as file:
        file.seek(max(0, size - _TAIL))
        tail = file.read().splitlines(keepends=True)[size > _TAIL :]
    lines = [(line, line.decode("utf8", "replace")) for line in tail if line.strip()]
    if width < 2 or any(line.count('"') % 2 for _, line in lines):
        return None, 0, None
    rows = [fields for _, fields in _parsed([line for _, line in lines], mark)]
    n = next((i for i, fields in enumerate(reversed(rows)) if len(fields) != 1), len(rows))
    kept = rows[: len(rows) - n]
    if n > _MOST_FOOTER or [len(fields) for fields in kept[-3:]] != [width] * 3:
        return None, 0, None
    total = total_in(kept[-1])
    if any(total in fields for fields in kept[:-1]):  # a value like others
        total = None
    end, left = size, n + (total is not None)
    for line in reversed(tail):
        if not left:
            break
        end, left = end - len(line), left - bool(line.strip())
    return (end if end < size else None), n, total


def _plain_rows(
    text: Text, mark: str, comments: bool, above: int, end: int | None
) -> Iterator[bytes]:
    """Blank out comments, blanks and a footer; return as many lines, and those above the rows.

    Parameters
    ----------
    text : Text
    mark : str
        The delimiter.
    comments : bool
        Whether lines that begin with # are some.
    above : int
        How many lines above the rows are emptied.
    end : int or None
        Where in the file the rows end.
    """
    size = text.path.stat().st_size
    room = (size if end is None else end) - (min(3, size) - len(text.head(3)))  # without its mark
    for block in text.lines():
        lines, room = block[:room], max(0, room - len(block))
        if above:
            *first, rest = lines.split(b"\n", above)
            emptied = (b"\r" * line.endswith(b"\r") for line in first)
            lines, above = b"\n".join([*emptied, rest]), 0
        if comments:
            lines = re.sub(rb"(?m)^#[^\r\n]*", b"", lines)
        yield _with_tabs(lines) if mark == BLANKS else lines


def _with_tabs(lines: bytes) -> bytes:
    """Put one tab in the place of blanks between the fields of lines."""

    def tab(matched: re.Match[bytes]) -> bytes:
        return matched[0] if matched[0].startswith(b'"') else b"\t"

    tabbed = _BLANKS_OUTSIDE_QUOTES.sub(tab, lines)
    return re.sub(rb"\t(?=[\r\n]|\Z)|(?<=[\r\n])\t|\A\t", b"", tabbed)
