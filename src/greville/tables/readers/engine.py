"""DuckDB, which reads text and answers queries."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..batch import TableError
from .source import ROWS_AT_ONCE


@contextmanager
def connected(name: str) -> Iterator[Any]:
    """A database in memory, without threads of its own: what it reads comes in the same order."""
    try:
        import duckdb
    except ModuleNotFoundError as error:
        text = "tables are read by duckdb; install it with: pip install 'greville[tables]'"
        raise TableError(f"{name}: {text}") from error
    settings = {"threads": 1, "async_threads": 0, "temp_directory": tempfile.gettempdir()}
    connection = duckdb.connect(":memory:", config=settings)
    try:
        yield connection
    finally:
        connection.close()


def record_batches(relation: Any) -> Iterator[Any]:
    """The rows of a relation, as they are read."""
    yield from relation.to_arrow_reader(ROWS_AT_ONCE)


def quoted(name: Any) -> str:
    """A text in SQL."""
    return "'" + str(name).replace("'", "''") + "'"


def database_errors() -> type[Exception]:
    """What DuckDB raises."""
    import duckdb

    error: type[Exception] = duckdb.Error
    return error
