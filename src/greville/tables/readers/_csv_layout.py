"""How a file of CSV is laid out: comments before the table, the delimiter, where rows begin."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from ..batch import TableError
from ..findings import Finding
from ._csv_rows import count_lines
from .source import ReadRequest

# Lines by which a layout is recognised.
_LINES = 20

# Between fields that stand in columns, with as many blanks as it takes.
BLANKS = " "

_EMPTY_LINE = re.compile(rb"[ \t]*(?:\r\n|\r|\n)")
_COMMENT_LINE = re.compile(rb"#([^\r\n]*)(?:\r\n|\r|\n)")
_BLANKS_OUTSIDE_QUOTES = re.compile(rb'"[^"\r\n]*"|[ \t]+')


@dataclass(frozen=True)
class Layout:
    """The bytes from the first row on, the number of its line, and what stands between fields.

    `comments` says whether lines that begin with ``#`` are comments, also among the rows, and
    `rewritten` whether the bytes are not those of the file.
    """

    blocks: Iterator[bytes]
    line: int
    mark: bytes
    comments: bool
    findings: tuple[Finding, ...]
    rewritten: bool = False


def layout_of(request: ReadRequest) -> Layout:
    """What the first lines of a file say about it."""
    content, reading, name = request.content, request.reading, request.source.name
    assert content is not None
    blocks = _in_utf8(content.blocks(), reading.encoding)
    start = next(blocks, b"").removeprefix(codecs.BOM_UTF8)
    begin, names_at = _first_row(start, reading.delimiter)
    findings = []
    comments = b"#" in start[:begin]
    if names_at is not None:
        begin = names_at
        text = "the names of the columns are taken from the last of its first lines, behind #"
        findings.append(Finding("comments", f"{name}: {text}."))
    elif comments:
        text = f"lines that begin with # are comments, as in line {_comment_at(start)}"
        findings.append(Finding("comments", f"{name}: {text}; they are left out."))
    line, start = 1 + count_lines(start[:begin]), start[begin:]
    lines = _sample(start)
    delimiter = reading.delimiter or _recognised_delimiter(lines)
    blocks = chain([start], blocks)
    if delimiter == BLANKS:
        if reading.delimiter is None:
            text = "the fields are separated by blanks"
            findings.append(Finding("delimiter", f"{name}: {text}."))
        row_names = len({len(fields) for fields in map(_split, lines[1:])}) == 1 and (
            len(_split(lines[0])) == len(_split(lines[1])) - 1
        )
        if row_names:  # as R writes them
            blocks = chain([b'"" '], blocks)
        return Layout(_with_tabs(blocks), line, b"\t", comments, tuple(findings), True)
    mark = delimiter.encode()
    if len(mark) != 1:
        raise TableError(
            f"delimiter={delimiter!r}: pass one character of ASCII.", argument="delimiter"
        )
    return Layout(blocks, line, mark, comments, tuple(findings))


def guessed_delimiter(line: str) -> str:
    """The candidate that stands most often in the first line.

    A comma between digits may be a decimal mark, so that any other candidate goes before it.
    """
    other = max("\t;|", key=line.count)
    if other in line and not re.sub(r"(?<=\d),(?=\d)", "", line).count(","):
        return other
    return max(",\t;|", key=line.count)


def _recognised_delimiter(lines: list[str]) -> str:
    """The delimiter of the first line, or blanks if all lines have as many words."""
    delimiter = guessed_delimiter(lines[0] if lines else "")
    if delimiter in "".join(lines[:1]):
        return delimiter
    words = [len(_split(line)) for line in lines]
    same = len(set(words[1:])) == 1 and words[1] >= 2 and words[0] in (words[1], words[1] - 1)
    return BLANKS if same and not any(mark in line for line in lines for mark in ",\t;|") else ","


def _split(line: str) -> list[str]:
    """The fields between blanks."""
    return re.findall(r'(?:"[^"]*"|[^ \t])+', line)


def _sample(start: bytes) -> list[str]:
    """Some first lines that are whole, without empty ones and comments."""
    lines = start[: 1 << 16].decode("latin-1").splitlines()
    if len(lines) > 1 and len(start) > 1 << 16:
        del lines[-1]
    return [line for line in lines[: 2 * _LINES] if line.strip() and line[0] != "#"][:_LINES]


def _first_row(start: bytes, delimiter: str | None) -> tuple[int, int | None]:
    """Where the first row begins, behind comments, and where their last line has the names."""
    place, names_at, names = 0, None, ""
    while True:
        found = _COMMENT_LINE.match(start, place)
        if found:
            names, names_at = found[1].decode("latin-1").strip(), found.start(1)
        else:
            found = _EMPTY_LINE.match(start, place)
        if found is None:
            break
        place = found.end()
    lines = _sample(start[place:])
    if names_at is None or not lines:
        return place, None
    mark = delimiter or _recognised_delimiter([lines[0], *lines])

    def fields(line: str) -> list[str]:
        return _split(line) if mark == BLANKS else [field.strip() for field in line.split(mark)]

    first, named = fields(lines[0]), fields(names)
    are_names = len(named) == len(first) >= 2 and not any(map(is_number, named))
    return place, names_at if are_names and any(map(is_number, first)) else None


def is_number(text: str) -> bool:
    """Whether it is a number, with a point or a comma."""
    try:
        float(text.strip().strip('"').replace(",", ".", 1))
    except ValueError:
        return False
    return text.strip().lower() not in ("nan", "inf", "infinity")


def _comment_at(start: bytes) -> int:
    return 1 + count_lines(start[: start.index(b"#")])


def _in_utf8(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    if codecs.lookup(encoding).name == "utf-8":
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    for block in blocks:
        yield decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()


def _with_tabs(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same lines with one tab in the place of blanks, and none around the fields."""
    rest = b""
    for block in blocks:
        whole, end, rest = (rest + block).rpartition(b"\n")
        if end:
            yield _lines_with_tabs(whole + end)
    yield _lines_with_tabs(rest)


def _lines_with_tabs(lines: bytes) -> bytes:
    if b'"' in lines:
        tabbed = _BLANKS_OUTSIDE_QUOTES.sub(
            lambda found: found[0] if found[0].startswith(b'"') else b"\t", lines
        )
    else:
        tabbed = re.sub(rb"[ \t]+", b"\t", lines)
    return re.sub(rb"\t(?=[\r\n]|\Z)|(?<=[\r\n])\t|\A\t", b"", tabbed)
