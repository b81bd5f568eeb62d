"""JSON: an object for each row, one a line or all in a list; what is missing may be left out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..batch import MOST_COLUMNS, Batch, Place, TableError, check_column_names, unusable_row
from .relation import connected, database_errors, quoted, record_batches
from .source import ReadRequest, Unreadable
from .unpacking import Content

# Bytes that one line may have.
LONGEST_LINE = 1 << 24

# How deep lists and objects may lie in each other; DuckDB refuses more.
_DEEPEST = 128

# Fields of an object in an object. One with more has names that are values.
_MOST_FIELDS = 200

TOO_LONG = f"it is longer than {LONGEST_LINE >> 20} MB"
_TOO_DEEP = f"its lists and objects are nested more than {_DEEPEST} deep"

Row = Mapping[str, Any]

_decode = json.JSONDecoder().decode

# A field in which no line can end: this character stands in no JSON.
_LINES = """read_csv({path}, auto_detect=false, header=false, delim='\x01', quote='', escape='',
    null_padding=true, columns={{'json': 'VARCHAR'}}, max_line_size={longest},
    buffer_size={buffer})"""
_LIST = "read_json_objects({path}, format='array', maximum_object_size={longest})"

_NUMBERED = "SELECT row_number() OVER () AS n, json::VARCHAR AS line FROM {rows}"
_FILLED = f"SELECT * FROM ({_NUMBERED}) WHERE trim(line) <> ''"
_USABLE = "CASE WHEN json_valid(line) THEN json_type(line) = 'OBJECT' ELSE false END"

# How DuckDB calls what it finds in a field, and what is made of that.
_CASTS = {"UBIGINT": "UBIGINT", "BIGINT": "BIGINT", "DOUBLE": "DOUBLE", "BOOLEAN": "BOOLEAN"}
_CASTS = {name: f"TRY_CAST({{}} AS {kind})" for name, kind in _CASTS.items()}
_CASTS["DOUBLE"] = f"nullif({_CASTS['DOUBLE']}, 'NaN'::DOUBLE)"  # which Python writes
_NUMBERS = ("UBIGINT", "BIGINT", "HUGEINT", "DOUBLE")
_LISTS = dict.fromkeys(_NUMBERS, "TRY_CAST({} AS DOUBLE[])")
_LISTS |= dict.fromkeys(("VARCHAR", "NULL"), "from_json({}::JSON, '[\"VARCHAR\"]')")


def read(request: ReadRequest) -> Iterator[Batch]:
    """Read objects; fields of nested objects have names with points."""
    name, content = request.source.name, request.content
    in_list = content.head(1 << 16).lstrip().startswith(b"[")
    rows = (_LIST if in_list else _LINES).format(
        path=quoted(content.path), longest=LONGEST_LINE, buffer=2 * LONGEST_LINE
    )
    place = Place(name, "row" if in_list else "line")
    try:
        with connected(name) as database:
            yield from _batches(request, database, _FILLED.format(rows=rows), place)
    except (database_errors(), OSError) as error:
        if "line size" in str(error).lower() or "object size" in str(error).lower():
            line = re.search(r"Line: ?(\d+)", str(error))
            raise TableError(f"{place(int(line[1])) if line else name}: {TOO_LONG}.") from error
        _check_depth(content, place)
        raise Unreadable(str(error)) from error


def _batches(request: ReadRequest, database: Any, rows: str, place: Place) -> Iterator[Batch]:
    structure, total = _structure(database, rows)
    leaves = _leaves(structure) if isinstance(structure, dict) else {}  # none if no line is usable
    check_column_names(request.source.name, [".".join(path) for path in leaves])
    if request.columns is not None:
        needed = set(request.columns)
        leaves = {path: kind for path, kind in leaves.items() if ".".join(path) in needed}
    names = [".".join(path) for path in leaves]
    paths = ", ".join(quoted(_pointer(path)) for path in leaves)
    texts = f"json_extract_string(CASE WHEN {_USABLE} THEN line END, [{paths}])" if paths else "[]"
    query = f"SELECT n, CASE WHEN {_USABLE} THEN NULL ELSE line END AS bad, {texts} AS t"
    fields = [_field(kind, i) for i, kind in enumerate(leaves.values(), 1)]
    relation = database.sql(
        f"SELECT {', '.join(['n', 'bad', *fields])} FROM ({query} FROM ({rows}))"
    )
    skipped = list[tuple[int, str]]()
    for table in record_batches(relation):
        numbers, bad = np.array(table.column(0), np.int64), table.column(1)
        for row in np.flatnonzero(bad.is_valid()):
            number, what = int(numbers[row]), parsed_line(bad[int(row)].as_py().encode())
            reason = f"{place(number)}: {what if isinstance(what, str) else 'it is not JSON'}"
            if not request.skip:
                raise unusable_row(reason)
            skipped.append((number, reason))
        usable = bad.is_null()
        if pc.any(usable).as_py():
            yield Batch(
                pa.RecordBatch.from_arrays(table.columns[2:], names=names).filter(usable),
                request.source.name,
                numbers[np.array(usable)],
                min(1.0, numbers[-1] / max(1, total)),
                sparse=True,
                skipped=tuple(skipped),
                place=place,
            )
            skipped = []


def _structure(database: Any, rows: str) -> tuple[Any, int]:
    """Find the kinds of all fields, as DuckDB names them, and the number of rows.

    DuckDB would keep something of every row, and so it is asked about some rows at a time.
    """
    structure, total = "NULL", 0
    query = f"SELECT json_group_structure(CASE WHEN {_USABLE} THEN line::JSON END) FROM piece"
    with closing(database.cursor()) as cursor:
        for table in record_batches(database.sql(f"SELECT line FROM ({rows})")):
            cursor.register("piece", table)
            ((found,),) = cursor.sql(query).fetchall()
            structure = _joint(structure, json.loads(found or '"NULL"'))
            total += table.num_rows
    return structure, total


def _joint(one: Any, other: Any) -> Any:
    """The kind of values of two kinds."""
    if other in (one, "NULL"):
        return one
    if one == "NULL":
        return other
    if isinstance(one, dict) and isinstance(other, dict):
        return one | {name: _joint(one.get(name, "NULL"), kind) for name, kind in other.items()}
    if isinstance(one, list) and isinstance(other, list):
        return [_joint(one[0], other[0])]
    if one in _NUMBERS and other in _NUMBERS:
        return "DOUBLE" if "DOUBLE" in (one, other) else "HUGEINT"
    return "JSON"


def _leaves(structure: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Return the values of all fields, nested ones too, by the names on the way to each field."""
    if path and (not isinstance(structure, dict) or len(structure) > _MOST_FIELDS):
        return {path: structure}
    leaves: dict[tuple[str, ...], Any] = {}
    for name, inner in structure.items():
        leaves |= _leaves(inner, (*path, name))
    return leaves


def _pointer(path: tuple[str, ...]) -> str:
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)


def _field(kind: Any, i: int) -> str:
    """A column of SQL."""
    casts, name = (_LISTS, kind[0]) if isinstance(kind, list) else (_CASTS, kind)
    cast = casts.get(name, "{}") if isinstance(name, str) else "{}"
    return f"{cast.format(f't[{i}]')} AS c{i}"


def _check_depth(content: Content, place: Place) -> None:
    """Raise a TableError if a line is nested so deep that no structure can be found."""
    lines = (line for block in content.lines() for line in block.splitlines())
    for number, line in enumerate(lines, 1):
        if parsed_line(line) == _TOO_DEEP:
            raise TableError(f"{place(number)}: {_TOO_DEEP}.")


def parsed_line(line: bytes) -> Row | str:
    """Parse a line of JSON; return a row, or a text that says what is wrong."""
    if len(line) > LONGEST_LINE:
        return TOO_LONG
    try:
        row = _decode(line.decode())
        if line.count(b"[") + line.count(b"{") > _DEEPEST and _depth(row) > _DEEPEST:
            return _TOO_DEEP
    except RecursionError:
        return _TOO_DEEP
    except ValueError as error:
        return f"it is not JSON ({error})"
    if not isinstance(row, dict):
        return "it is not a JSON object"
    for name in row:
        if not (name.isascii() or is_text(name)):
            return f"the name {name!r} has half of a character in it"
    row = flat(row)
    return row if len(row) <= MOST_COLUMNS else f"it has more than {MOST_COLUMNS:,} names"


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inner), default=0) if isinstance(value, (dict, list)) else 0


def flat(row: Row) -> Row:
    """Add the fields of nested objects to a row, under names with points.

    The objects stay too: a model whose column has the name of one refuses it.
    """
    if dict not in map(type, row.values()):
        return row
    copied = dict(row)
    for name, value in row.items():
        if isinstance(value, dict):
            copied |= {f"{name}.{each}": inner for each, inner in flat(value).items()}
    return copied


def is_text(text: str) -> bool:
    """Whether UTF-8 can hold a text: JSON may have halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
