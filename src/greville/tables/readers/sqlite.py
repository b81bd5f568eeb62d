"""SQLite databases: one of their tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from ..batch import Batch, TableError, check_column_names, listed, record_batch
from ..findings import Finding
from .source import (
    ROWS_AT_ONCE,
    ReadRequest,
    Unreadable,
    array_from,
    numbered,
    with_findings,
)

_TABLES = (
    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
    "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid"
)


def read(request: ReadRequest) -> Iterator[Batch]:
    """The batches of a table; only the columns that are needed are read."""
    source = request.source
    assert source.path is not None
    address = source.path.resolve().as_uri() + "?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as database:
            database.execute("PRAGMA trusted_schema = OFF")  # no functions with side effects
            names = [name for (name,) in database.execute(_TABLES)]
            name = _chosen(request, _with_column(request, database, names))
            finding = Finding("table", f"{source.name}: the table {name!r} in it is read.")
            yield from with_findings(_rows(request, database, name), [finding])
    except sqlite3.Error as error:
        raise Unreadable(str(error)) from error


def _rows(request: ReadRequest, database: Any, name: str) -> Iterator[Batch]:
    """The rows of one table."""
    source = request.source
    table = _quoted(name)
    columns = [row[0] for row in database.execute(f"SELECT * FROM {table} LIMIT 0").description]
    check_column_names(source.name, columns)
    if request.columns is not None:
        needed = set(request.columns)
        columns = [column for column in columns if column in needed] or columns[:1]
    (n,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
    cursor = database.execute(f"SELECT {', '.join(map(_quoted, columns))} FROM {table}")

    def tables() -> Iterator[Any]:
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            values = map(array_from, map(list, zip(*rows, strict=True)))
            yield record_batch(dict(zip(columns, values, strict=True)))

    yield from numbered(source, tables(), lambda rows: rows / max(n, 1))


def _with_column(request: ReadRequest, database: Any, names: list[str]) -> list[str]:
    """The tables that have the column that is asked for, if that is one of several."""
    column = request.reading.column
    found = [
        name
        for name in names
        if column in [row[1] for row in database.execute(f"PRAGMA table_info({_quoted(name)})")]
    ]
    return found if len(found) == 1 and request.reading.table is None else names


def _chosen(request: ReadRequest, names: list[str]) -> str:
    """The table to read."""
    where, wanted = request.source.name, request.reading.table
    if not names:
        raise TableError(f"{where}: it is a SQLite database without any table.")
    if wanted is not None:
        if wanted not in names:
            raise TableError(f"{where}: there is no table {wanted!r} in it, but {listed(names)}.")
        return wanted
    if len(names) > 1:
        what = f"{where}: it is a SQLite database with several tables, {listed(names)}"
        raise TableError(what, "; name one with {table}.", table=None)
    return names[0]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
