"""SQLite databases: one of their tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from ..batch import Batch, check_column_names, record_batch
from ..findings import Finding
from ..frames import column_of
from .relation import named
from .source import ROWS_AT_ONCE, ReadRequest, Unreadable, chosen_table, with_findings

_TABLES = (
    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
    "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid"
)


def read(request: ReadRequest) -> Iterator[Batch]:
    """Read the batches of a table; only the columns that are needed are read."""
    source, reading = request.source, request.reading
    address = request.content.path.resolve().as_uri() + "?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as database:
            database.execute("PRAGMA trusted_schema = OFF")  # no functions with side effects
            tables = [name for (name,) in database.execute(_TABLES)]
            likely = [name for name in tables if reading.column in _columns(database, name)]
            likely = likely if len(likely) == 1 else tables
            name = chosen_table(source.name, "table", tables, reading.table, likely)
            finding = Finding("table", f"{source.name}: the table {name!r} in it is read.")
            yield from with_findings(_batches(request, database, name), [finding])
    except sqlite3.Error as error:
        raise Unreadable(str(error)) from error


def _columns(database: Any, table: str) -> list[str]:
    query = f"SELECT * FROM {named(table)} LIMIT 0"
    return [column[0] for column in database.execute(query).description]


def _batches(request: ReadRequest, database: Any, table: str) -> Iterator[Batch]:
    columns = _columns(database, table)
    check_column_names(request.source.name, columns)
    columns = request.needed(columns)
    (n,) = database.execute(f"SELECT count(*) FROM {named(table)}").fetchone()
    cursor = database.execute(f"SELECT {', '.join(map(named, columns))} FROM {named(table)}")
    pieces = iter(lambda: cursor.fetchmany(ROWS_AT_ONCE), [])
    tables = (
        record_batch(dict(zip(columns, map(column_of, zip(*rows, strict=True)), strict=True)))
        for rows in pieces
    )
    yield from request.batches(tables, n)
