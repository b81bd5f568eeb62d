"""Queries of SQL, which DuckDB answers: a query is a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ..batch import Batch, TableError, check_column_names
from .engine import connected, database_errors, record_batches
from .source import ReadRequest, Source, numbered

# How queries that are no names of files begin.
_BEGINNING = re.compile(r"\s*(SELECT|WITH|FROM|VALUES|\()\b", re.IGNORECASE)

# Characters of a query in messages.
_SHOWN = 40


def is_query(name: str) -> bool:
    """Whether an argument is a query and no name of a file."""
    return bool(_BEGINNING.match(name)) and bool(re.search(r"\s", name.strip()))


class Query(Source):
    """The rows that a query of SQL finds, in files or anywhere else that DuckDB can read."""

    version = None

    def __init__(self, query: str) -> None:
        self.path = None
        self.query = query.strip().rstrip(";")
        self.partitions, self.findings, self.texts = {}, (), {}
        short = " ".join(self.query.split())
        self.name = short if len(short) <= _SHOWN else short[: _SHOWN - 3] + "..."
        self.size = 0

    @property
    def can_be_read_again(self) -> bool:
        return True

    def batches(self, request: ReadRequest) -> Iterator[Batch]:
        """The rows; all of them come before the first where the query has to sort them."""
        with connected(self.name) as database:
            try:
                relation = database.sql(self.query)
                if relation is None:
                    raise TableError(f"{self.name}: it finds no rows; pass a SELECT.")
                check_column_names(self.name, relation.columns)
                if request.columns is not None:
                    needed = set(request.columns)
                    names = [_named(name) for name in relation.columns if name in needed]
                    relation = relation.project(", ".join(names)) if names else relation
                yield from numbered(self, record_batches(relation), lambda rows: 0.0)
            except database_errors() as error:
                raise _refused(self.name, error) from error


def filtered(batches: Iterator[Batch], where: str) -> Iterator[Batch]:
    """The rows of which a condition is true. Text that is all numbers is compared as numbers."""
    chosen = None
    with connected("--where") as database:
        for batch in batches:
            numbered_rows = batch.table.append_column("#", pa.array(np.arange(len(batch))))
            database.register("rows", numbered_rows)
            try:
                chosen = chosen or f"SELECT * {_as_numbers(database, batch)} FROM rows"
                found = database.sql(f'SELECT "#" FROM ({chosen}) WHERE ({where})').fetchall()
            except database_errors() as error:
                raise _refused(f"where={where!r}", error, argument="where") from error
            keep = np.zeros(len(batch), bool)
            keep[[row for (row,) in found]] = True
            if keep.any() or batch.skipped:
                yield batch.filter(keep)


def _as_numbers(database: Any, batch: Batch) -> str:
    """Which columns of text are to be read as numbers, in SQL."""
    texts = [each.name for each in batch.table.schema if pa.types.is_string(each.type)]
    if not texts:
        return ""
    casts = [f"TRY_CAST({_named(name)} AS DOUBLE)" for name in texts]
    counts = [f"count({cast}) > 0 AND count({cast}) = count({_named(name)})"
              for name, cast in zip(texts, casts, strict=True)]  # fmt: skip
    (are_numbers,) = database.sql(f"SELECT {', '.join(counts)} FROM rows").fetchall()
    used = [
        f"{cast} AS {_named(name)}"
        for name, cast, is_number in zip(texts, casts, are_numbers, strict=True)
        if is_number
    ]
    return f"REPLACE ({', '.join(used)})" if used else ""


def _named(name: str) -> str:
    """A column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _refused(name: str, error: Exception, argument: str | None = None) -> TableError:
    """What DuckDB says about a query, on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = re.sub(r"^[\w ]+ Error: ", "", lines[0] if lines else type(error).__name__)
    return TableError(f"{name}: {text.rstrip('.!')}.", argument=argument)
