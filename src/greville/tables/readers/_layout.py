"""How a text table is laid out: what stands above it and below it, its delimiter, its names."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from ..batch import TableError
from ..findings import Finding
from ._header import COMPARED, check_header, is_number, total_in
from ._plain import Blocks, PlainText, whole_lines, with_newlines
from .source import Reading

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
    """Where the rows of a table are, and what they are called.

    Attributes
    ----------
    text : PlainText
        The file, rewritten where DuckDB could not read it as it is.
    delimiter : str
    skipped : int
        Lines above the first row of values.
    names : list of str
    sample : list of list of str
        Some of the first rows.
    findings : tuple of Finding
    """

    text: PlainText
    delimiter: str
    skipped: int
    names: list[str]
    sample: list[list[str]]
    findings: tuple[Finding, ...]


class _Lines:
    """The first lines of a file, and where among them the table begins."""

    def __init__(self, name: str, text: PlainText, reading: Reading) -> None:
        self.name, self.reading = name, reading
        head = text.head(_HEAD)
        if head.count(b"\n") < _FEW_LINES:  # of very many columns
            head = text.head(_HEAD << 7)
        self.lines = [line for line in _LINE.findall(head.decode("utf8", "replace")) if line]
        if len(head) >= _HEAD and len(self.lines) > 1:
            del self.lines[-1]
        self.start = min(reading.skip_rows, len(self.lines))
        self.findings: list[Finding] = []
        self.delimiter = reading.delimiter
        self.has_comments = False

    def say(self, kind: str, what: str, *, warning: bool = False) -> None:
        self.findings.append(Finding(kind, f"{self.name}: {what}.", warning=warning))

    def rows(self) -> list[tuple[int, list[str]]]:
        """Rows from the start on, each with the number of lines above it."""
        assert self.delimiter is not None
        return list(_parsed(self.lines[self.start :], self.delimiter, self.start))

    def skip_separator(self) -> None:
        """Take the delimiter from a first line as Excel writes it, ``sep=;``."""
        line = self.lines[self.start].strip() if self.start < len(self.lines) else ""
        if re.fullmatch(r"sep=.", line, re.IGNORECASE):
            self.delimiter = self.delimiter or line[-1]
            self.start += 1

    def skip_comments(self) -> None:
        """Skip empty lines and comments; the last of these may have the names of the columns."""
        names = None
        first = None
        for place in range(self.start, len(self.lines)):
            line = self.lines[place]
            if line.strip() and not line.startswith("#"):
                break
            if line.startswith("#"):
                names, first = place, place if first is None else first
            self.start = place + 1
        if names is None or first is None:
            return
        self.has_comments = True
        named = self.lines[names][1:].strip()
        some = [line for line in self.lines[self.start :][:_LINES] if line[0] != "#"]
        mark = self.delimiter or recognised_delimiter(some)
        fields = next(_parsed([named], mark), (0, []))[1]
        below = next(_parsed(some, mark), (0, []))[1]
        are_names = len(fields) == len(below) >= 2 and not any(map(is_number, fields))
        if are_names and any(map(is_number, below)):
            self.start, self.delimiter = names, mark
            self.lines[names] = named + "\n"
            text = "the names of the columns are taken from the last of its first lines, behind #"
            self.say("comments", text)
        else:
            text = f"lines that begin with # are comments, as in line {first + 1}"
            self.say("comments", f"{text}; they are left out")

    def skip_titles(self) -> None:
        """Skip lines above the names that have not as many fields as most rows."""
        rows = [row for row in self.rows() if row[1]][:_LINES]
        width = _usual(len(fields) for _, fields in rows)
        titles = 0
        for _, fields in rows[:-1]:
            filled = sum(bool(field.strip()) for field in fields)
            padded = len(fields) == width > 2 and filled <= 1
            if not padded and (len(fields) in (width, width - 1) or filled > max(1, width // 2)):
                break
            titles += 1
        if width < 2 or not titles or titles > len(rows) // 2:
            return
        self.start = rows[titles][0]
        text = f"what is above line {self.start + 1} is no part of the table and left out"
        self.say("title", text)


def layout_of(name: str, text: PlainText, reading: Reading) -> Layout:
    """What the lines of a file say about it."""
    lines = _Lines(name, text, reading)
    lines.skip_separator()
    lines.skip_comments()
    mark = lines.delimiter or recognised_delimiter(lines.lines[lines.start :])
    if mark == BLANKS and lines.delimiter is None:
        lines.say("delimiter", "the fields are separated by blanks")
    lines.delimiter = mark
    if reading.header is not False and not reading.skip_rows:
        lines.skip_titles()
    rows = [row for row in lines.rows() if row[1]]
    if not rows:
        raise TableError(f"{name}: it has no rows; there is nothing to read.")
    width = _usual(len(fields) for _, fields in rows[1:] or rows)
    place, first = rows[0]
    if reading.header is False:
        names, skipped, sample = (
            [str(i) for i in range(_usual(len(fields) for _, fields in rows))],
            place,
            rows,
        )
    else:
        names, sample = [field.strip() for field in first], rows[1:]
        if len(names) == width - 1 and {len(fields) for _, fields in sample[1:]} == {width}:
            names = ["", *names]  # the names of rows, as R writes them
        skipped = sample[0][0] if sample else len(lines.lines)
    values = [fields for _, fields in sample if len(fields) == len(names)]
    if reading.header is None:
        below = [list(column) for column in zip(*values[:COMPARED], strict=True)]
        where = f"{name}, line {place + 1:,}"
        lines.findings += check_header(where, names, below or [[] for _ in names])
    footer, total = _footer(text, mark, len(names))
    if footer > (total is not None):
        n = footer - (total is not None)
        lines.say("footer", f"the last {n} lines are no rows of the table and left out"
                  if n > 1 else "the last line is no row of the table and left out")  # fmt: skip
    if total is not None:
        what = f"a last row is left out: it is the total of the others ({total})"
        lines.say("total", what, warning=True)
    # DuckDB would look for the end of a quote that opens above the rows.
    above = skipped if any(line.count('"') % 2 for line in lines.lines[:skipped]) else 0
    text = _rewritten(text, mark, lines.has_comments, footer, above)
    mark = "\t" if mark == BLANKS else mark
    return Layout(text, mark, skipped, names, values, tuple(lines.findings))


def recognised_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that cuts most lines into as many fields, or blanks if all do so."""
    lines = [line for line in lines if line.strip() and line[0] != "#"][:_LINES]
    first = lines[0] if lines else ""
    best, delimiter = (0.3, 0), ""
    for mark in _DELIMITERS:
        # A comma between digits may be a decimal mark, so that any other candidate goes before it.
        some = [re.sub(r"(?<=\d),(?=\d)", "", line) for line in lines] if mark == "," else lines
        widths = Counter(len(fields) for _, fields in _parsed(some, mark) if fields)
        width = _usual(widths.elements())
        score = widths[width] / max(1, widths.total()), first.count(mark)
        if width > 1 and score > best:
            best, delimiter = score, mark
    if delimiter or any("," in line for line in lines):
        return delimiter or ","
    widths = Counter(len(_between_blanks(line)) for line in lines[1:])
    same = len(widths) == 1 and min(widths) >= 2
    fits = same and len(_between_blanks(first)) in (min(widths), min(widths) - 1)
    return BLANKS if fits else ","


def _usual(widths: Iterator[int] | Sequence[int]) -> int:
    """The most common number; the largest of those that are."""
    counts = Counter(widths)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _parsed(
    lines: Sequence[str], delimiter: str, before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Rows of CSV, and how many lines come before each."""
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


def _footer(text: PlainText, mark: str, width: int) -> tuple[int, str | None]:
    """How many of the last lines are no rows, and what a row of totals above them is called.

    They have one field only, where those above have all.
    """
    size = text.path.stat().st_size
    with text.path.open("rb") as file:
        file.seek(max(0, size - _TAIL))
        tail = file.read().decode("utf8", "replace")
    lines = [line for line in tail.splitlines()[size > _TAIL :] if line.strip()]
    if width < 2 or any(line.count('"') % 2 for line in lines):
        return 0, None
    rows = [fields for _, fields in _parsed(lines, mark)]
    n = next((i for i, fields in enumerate(reversed(rows)) if len(fields) != 1), len(rows))
    above = [len(fields) for fields in rows[: len(rows) - n][-3:]]
    if n > _MOST_FOOTER or above != [width] * 3:
        return 0, None
    total = total_in(rows[-1 - n])
    return n + (total is not None), total


def _rewritten(text: PlainText, mark: str, comments: bool, footer: int, above: int) -> PlainText:
    """The file as it is, or a copy that has as many lines but no comments, blanks and footer.

    Nothing is left of so many lines `above` the rows.
    """

    def change(blocks: Blocks) -> Blocks:
        lines = whole_lines(with_newlines(blocks))
        first = next(lines, b"").split(b"\n", above)
        lines = chain([b"\n" * above + first[-1]], lines)
        if comments:
            lines = (re.sub(rb"(?m)^#[^\n]*", b"", block) for block in lines)
        if mark == BLANKS:
            lines = map(_with_tabs, lines)
        return _without_last(lines, footer)

    unchanged = not (comments or footer or above or mark == BLANKS)
    return text if unchanged else text.rewritten(change)


def _without_last(blocks: Blocks, n: int) -> Blocks:
    """The same lines without the last n that are not empty."""
    held = b""
    for block in blocks:
        held += block
        if len(held) > 4 * _TAIL:
            yield held[: -2 * _TAIL]
            held = held[-2 * _TAIL :]
    for _ in range(n):
        held = held[: held.rstrip(b"\n").rfind(b"\n") + 1]
    yield held


def _with_tabs(lines: bytes) -> bytes:
    """The same lines with one tab in the place of blanks, and none around the fields."""
    if b'"' in lines:
        tabbed = _BLANKS_OUTSIDE_QUOTES.sub(
            lambda found: found[0] if found[0].startswith(b'"') else b"\t", lines
        )
    else:
        tabbed = re.sub(rb"[ \t]+", b"\t", lines)
    return re.sub(rb"\t(?=[\r\n]|\Z)|(?<=[\r\n])\t|\A\t", b"", tabbed)
