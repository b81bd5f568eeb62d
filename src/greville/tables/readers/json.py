"""JSON: an object for each row, one a line or all in a list; what is missing may be left out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._values import text_of
from ..batch import MOST_COLUMNS, Batch, Place, TableError, check_column_names, unusable_row
from ._plain import Blocks, PlainText, whole_lines
from .engine import connected, database_errors, quoted, record_batches
from .source import ReadRequest, Unreadable

# Bytes that one line may have.
LONGEST_LINE = 1 << 24

# How deep lists and objects may lie in each other; DuckDB refuses more.
_DEEPEST = 128

TOO_LONG = f"it is longer than {LONGEST_LINE >> 20} MB"

_decode = json.JSONDecoder().decode
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NAME = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"\s*:', re.DOTALL)

# A field in which no line can end: this character stands in no JSON.
_LINES = """read_csv({path}, auto_detect=false, header=false, delim='\x01', quote='', escape='',
    null_padding=true, columns={{'line': 'VARCHAR'}}, max_line_size={longest},
    buffer_size={buffer})"""
_LIST = "read_json_objects({path}, format='array', maximum_object_size={longest})"

# Fields of an object in an object. One with more has names that are values.
_MOST_FIELDS = 200

_TYPES = {"UBIGINT": "UBIGINT", "BIGINT": "BIGINT", "DOUBLE": "DOUBLE", "BOOLEAN": "BOOLEAN"}

# What is in a field, by the names that lead there.
Leaves = dict[tuple[str, ...], Any]


def read(request: ReadRequest) -> Iterator[Batch]:
    """The batches of objects; what is in objects of objects has names with points."""
    source, text = request.source, request.text
    assert text is not None
    in_list = text.head(1 << 16).lstrip().startswith(b"[")
    if not in_list and any(b"NaN" in block for block in text.blocks()):
        text = text.rewritten(_without_nan)
    if text.longest >= LONGEST_LINE and not in_list:
        raise TableError(f"{source.name}, line {text.longest_line:,}: {TOO_LONG}.")
    rows = _LIST if in_list else _LINES
    rows = rows.format(path=quoted(text.path), longest=LONGEST_LINE, buffer=2 * LONGEST_LINE)
    column = "json" if in_list else "line"
    numbered = f"SELECT row_number() OVER () AS n, {column}::VARCHAR AS line FROM {rows}"
    filled = f"SELECT * FROM ({numbered}) WHERE trim(line) <> ''"
    place = Place(source.name, "row" if in_list else "line")
    try:
        with connected(source.name) as database:
            yield from _batches(request, text, database, filled, place)
    except (database_errors(), OSError) as error:
        if "line size" in str(error).lower() or "object size" in str(error).lower():
            found = re.search(r"Line: ?(\d+)", str(error))
            where = place(int(found[1])) if found else source.name
            raise TableError(f"{where}: {TOO_LONG}.") from error
        raise Unreadable(str(error)) from error


def _batches(
    request: ReadRequest, text: PlainText, database: Any, filled: str, place: Place
) -> Iterator[Batch]:
    usable = "CASE WHEN json_valid(line) THEN json_type(line) = 'OBJECT' ELSE false END"
    structure = f"json_group_structure(CASE WHEN {usable} THEN line::JSON END)"
    try:
        ((found,),) = database.sql(f"SELECT {structure} FROM ({filled})").fetchall()
    except database_errors():
        _check_depth(text, place)
        raise
    fields = json.loads(found or "{}")
    leaves = _leaves(fields) if isinstance(fields, dict) else {}  # none if no line can be used
    names = [".".join(path) for path in leaves]
    check_column_names(request.source.name, names)
    if request.columns is not None:
        needed = set(request.columns)
        leaves = {path: kind for path, kind in leaves.items() if ".".join(path) in needed}
        names = [".".join(path) for path in leaves]
    columns = [_field(path, kind, i) for i, (path, kind) in enumerate(leaves.items(), 1)]
    paths = ", ".join(quoted(_pointer(path)) for path in leaves)
    texts = f"json_extract_string(CASE WHEN {usable} THEN line END, [{paths}])" if paths else "[]"
    bad = f"CASE WHEN {usable} THEN NULL ELSE line END AS bad"
    query = f"SELECT n, {bad}, line, {texts} AS t FROM ({filled})"
    chosen = ", ".join(["n", "bad", *columns])
    total, skipped = max(1, text.n_lines), list[tuple[int, str]]()
    for table in record_batches(database.sql(f"SELECT {chosen} FROM ({query})")):
        numbers, wrong = np.array(table.column(0), np.int64), table.column(1)
        for row in np.flatnonzero(wrong.is_valid()):
            skipped.append(_unusable(request, place, int(numbers[row]), wrong[int(row)].as_py()))
        rows = pa.RecordBatch.from_arrays(table.columns[2:], names=names)
        keep = wrong.is_null()
        if pc.any(keep).as_py():
            yield Batch(
                rows.filter(keep),
                request.source.name,
                numbers[np.array(keep)],
                min(1.0, numbers[-1] / total),
                sparse=True,
                skipped=tuple(skipped),
                place=place,
            )
            skipped = []


def _check_depth(text: PlainText, place: Place) -> None:
    """Raise a TableError if a line is nested so deep that no structure can be found."""
    number = 0
    for block in whole_lines(text.blocks()):
        for line in block.split(b"\n"):
            number += 1
            trouble = _trouble_with(line)
            if trouble is not None:
                raise TableError(f"{place(number)}: {trouble}.")
        number -= block.endswith(b"\n")


def _unusable(request: ReadRequest, place: Place, number: int, line: str) -> tuple[int, str]:
    """A line that is left out; a TableError if none may be."""
    what = parsed_line(line.encode())
    reason = f"{place(number)}: {what if isinstance(what, str) else 'it is not JSON'}"
    if not request.skip:
        raise unusable_row(reason)
    return number, reason


def _leaves(structure: Any, path: tuple[str, ...] = ()) -> Leaves:
    """What is in the fields of objects, also of those in objects."""
    if path and (not isinstance(structure, dict) or len(structure) > _MOST_FIELDS):
        return {path: structure}
    found: Leaves = {}
    for name, inner in structure.items():
        found |= _leaves(inner, (*path, name))
    return found


def _pointer(path: tuple[str, ...]) -> str:
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)


def _field(path: tuple[str, ...], kind: Any, i: int) -> str:
    """A column of SQL."""
    if isinstance(kind, list) and kind[0] in ("UBIGINT", "BIGINT", "DOUBLE"):
        return f"TRY_CAST(t[{i}] AS DOUBLE[]) AS c{i}"
    if isinstance(kind, list) and kind[0] in ("VARCHAR", "NULL"):
        return f"from_json(t[{i}]::JSON, '[\"VARCHAR\"]') AS c{i}"
    if isinstance(kind, str) and kind in _TYPES:
        return f"TRY_CAST(t[{i}] AS {_TYPES[kind]}) AS c{i}"
    return f"t[{i}] AS c{i}"


def _without_nan(blocks: Blocks) -> Blocks:
    """The same lines with null for nan, which Python writes and JSON does not have."""
    for block in whole_lines(blocks):
        if b"NaN" not in block:
            yield block
            continue
        for line in block.splitlines(keepends=True):
            row = parsed_line(line) if b"NaN" in line else None
            if isinstance(row, dict):
                known = {k: None if v != v else v for k, v in row.items()}  # noqa: PLR0124
                yield json.dumps(known).encode() + b"\n"
            else:
                yield line


def _trouble_with(line: bytes) -> str | None:
    """What is wrong with a line before it is parsed."""
    if len(line) > LONGEST_LINE:
        return TOO_LONG
    if line.count(b"[") + line.count(b"{") > _DEEPEST:
        bare = np.frombuffer(_STRING.sub(b"", line), np.uint8)
        opened = (bare == ord("[")) | (bare == ord("{"))
        closed = (bare == ord("]")) | (bare == ord("}"))
        if (np.cumsum(opened) - np.cumsum(closed)).max(initial=0) > _DEEPEST:
            return f"its lists and objects are nested more than {_DEEPEST} deep"
    if len(line) > MOST_COLUMNS and len(set(_NAME.findall(line))) > MOST_COLUMNS:
        return f"it has more than {MOST_COLUMNS:,} names"
    return None


def parsed_line(line: bytes) -> dict[str, Any] | str:
    """A line of JSON as a row, or what is wrong with it."""
    trouble = _trouble_with(line)
    if trouble is not None:
        return trouble
    try:
        row = _loaded(line)
    except (ValueError, RecursionError) as error:
        return f"it is not JSON ({error})"
    if not isinstance(row, dict):
        return "it is not a JSON object"
    for name in row:
        if not (name.isascii() or is_text(name)):
            return f"the name {name!r} has half of a character in it"
    return row


def _loaded(line: bytes) -> Any:
    """`json.loads`, without its search for an encoding where the line is JSON in UTF-8."""
    try:
        return _decode(line.decode())
    except ValueError:
        return json.loads(line)


def is_text(text: str) -> bool:
    """Whether it is text that UTF-8 can hold: JSON may have halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def array_of(values: list[Any]) -> Any:
    """JSON values as a column; as text if they are not of one kind."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError):
        return pa.array([text_of(value) for value in values], pa.string())


class Writer:
    """Writes lines of JSON."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, batch: Any) -> None:
        columns = [
            pc.if_else(pc.is_finite(c), c, None) if pa.types.is_floating(c.type) else c
            for c in batch.columns
        ]  # there is no nan in JSON
        names = batch.schema.names
        rows = zip(*(c.to_pylist() for c in columns), strict=True)
        lines = [json.dumps(dict(zip(names, row, strict=True)), default=str) for row in rows]
        self._stream.write(("\n".join(lines) + "\n").encode())

    def close(self) -> None:
        """Every line is written already."""
