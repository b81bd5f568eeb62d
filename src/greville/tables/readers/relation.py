"""DuckDB, which reads text and answers queries."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from ..batch import Batch, TableError, check_column_names
from .source import ROWS_AT_ONCE, ReadRequest, Source

# How queries that are no names of files begin.
_BEGINNING = re.compile(r"\s*(SELECT|WITH|FROM|VALUES|\()\b", re.IGNORECASE)

# Characters of a query in messages.
_SHOWN = 40


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


def database_errors() -> type[Exception]:
    """What DuckDB raises."""
    import duckdb

    error: type[Exception] = duckdb.Error
    return error


def quoted(text: Any) -> str:
    """A text in SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def named(name: str) -> str:
    """A column, or a table, in SQL."""
    return '"' + name.replace('"', '""') + '"'


def is_query(name: str) -> bool:
    """Whether an argument is a query and no name of a file."""
    return bool(_BEGINNING.match(name)) and bool(re.search(r"\s", name.strip()))


class Query(Source):
    """The rows that a query of SQL finds, in files or anywhere else that DuckDB can read."""

    @property
    def can_be_read_again(self) -> bool:
        return True

    def __init__(self, query: str) -> None:
        super().__init__(None)
        self.query = query.strip().rstrip(";")
        short = " ".join(self.query.split())
        self.name = short if len(short) <= _SHOWN else short[: _SHOWN - 3] + "..."

    def batches(self, request: ReadRequest) -> Iterator[Batch]:
        """The rows; all of them come before the first where the query has to sort them."""
        with connected(self.name) as database:
            try:
                relation = database.sql(self.query)
                if relation is None:
                    raise TableError(f"{self.name}: it finds no rows; pass a SELECT.")
                check_column_names(self.name, relation.columns)
                needed = ", ".join(map(named, request.needed(relation.columns)))
                yield from request.batches(record_batches(relation.project(needed)))
            except database_errors() as error:
                raise _refused(self.name, error) from error


def filtered(batches: Iterator[Batch], where: str) -> Iterator[Batch]:
    """The rows of which a condition is true. Text that is all numbers is compared as numbers."""
    columns = None
    with connected("--where") as database:
        for batch in batches:
            database.register("rows", batch.table)
            try:
                columns = columns or _with_numbers(database, batch)
                found = database.sql(f"SELECT ({where}) IS TRUE FROM (SELECT {columns} FROM rows)")
                keep = np.concatenate([np.zeros(0, bool), *_first_columns(found)])
            except database_errors() as error:
                raise _refused(f"where={where!r}", error, argument="where") from error
            if keep.any() or batch.skipped:
                yield batch.filter(keep)


def _first_columns(relation: Any) -> Iterator[Any]:
    return (np.asarray(each.column(0)) for each in record_batches(relation))


def _with_numbers(database: Any, batch: Batch) -> str:
    """All columns in SQL; those of text that are numbers as such."""
    texts = [named(each.name) for each in batch.table.schema if pa.types.is_string(each.type)]
    casts = [f"TRY_CAST({name} AS DOUBLE)" for name in texts]
    counts = [f"count({cast}) > 0 AND count({cast}) = count({name})"
              for name, cast in zip(texts, casts, strict=True)]  # fmt: skip
    (are_numbers,) = database.sql(f"SELECT {', '.join(counts) or 0} FROM rows LIMIT 1").fetchall()
    pairs = zip(texts, casts, are_numbers, strict=False)
    replaced = ", ".join(f"{cast} AS {name}" for name, cast, is_number in pairs if is_number)
    return f"* REPLACE ({replaced})" if replaced else "*"


def _refused(name: str, error: Exception, argument: str | None = None) -> TableError:
    """What DuckDB says about a query, on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = re.sub(r"^[\w ]+ Error: ", "", lines[0] if lines else type(error).__name__)
    return TableError(f"{name}: {text.rstrip('.!')}.", argument=argument)
