"""Queries of SQL, which DuckDB answers: a query is a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

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
                    names = [name for name in relation.columns if name in needed]
                    quoted = [f'"{name.replace(chr(34), 2 * chr(34))}"' for name in names]
                    relation = relation.project(", ".join(quoted)) if names else relation
                yield from numbered(self, record_batches(relation), lambda rows: 0.0)
            except database_errors() as error:
                raise _refused(self.name, error) from error


def _refused(name: str, error: Exception) -> Any:
    """What DuckDB says about a query, on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = re.sub(r"^[\w ]+ Error: ", "", lines[0] if lines else type(error).__name__)
    return TableError(f"{name}: {text.rstrip('.')}.")
