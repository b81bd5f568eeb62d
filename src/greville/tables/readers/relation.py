"""DuckDB, which reads text and answers queries."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from .._values import UnknownType
from ..batch import Batch, TableError, check_column_names, unusable_row
from ..decisions import Hints, decide_all
from ..numerals import PLAIN, Numerals
from .source import ROWS_AT_ONCE, Reading, ReadRequest, Source

# How queries that are no names of files begin.
_BEGINNING = re.compile(r"\s*(SELECT|WITH|FROM|VALUES|\()\b", re.IGNORECASE)

# What DuckDB says where Ctrl-C has ended a query.
_INTERRUPTED = re.compile("Query interrupted|INTERRUPT Error")

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
        with _interruptible():
            yield connection
    finally:
        connection.close()


@contextmanager
def _interruptible() -> Iterator[None]:
    """A block in which DuckDB reads: it makes an error of its own of Ctrl-C."""
    try:
        yield
    except Exception as error:
        source: BaseException | None = error
        while source is not None:
            if _INTERRUPTED.search(str(source)):
                raise KeyboardInterrupt from error
            source = source.__context__
        raise


def record_batches(relation: Any) -> Iterator[Any]:
    """The rows of a relation, as they are read."""
    with _interruptible():
        yield from relation.to_arrow_reader(ROWS_AT_ONCE)


def database_errors() -> type[Exception]:
    """Return the exceptions of DuckDB."""
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


def filtered(batches: Iterable[Batch], reading: Reading, skip: bool) -> Iterator[Batch]:
    """The rows of which a condition is true.

    Text is compared as numbers where the first values of its column are numbers, in whatever way
    they are written. A later value that is none makes the row unusable if the condition compares
    it, just as it would in a column that is learned from.
    """
    where, hints = reading.where, reading.hints or Hints()
    with connected("--where") as database:
        names = _columns_in(where, database)
        numerals: dict[str, Numerals | None] = {}
        for batch in batches:
            rows = batch.with_gaps(hints.na)
            numerals |= _decided(rows, names - set(numerals), hints)
            table, wrong = _with_numbers(rows, names, numerals)
            database.register("rows", table)
            # A condition is about one row: behind WHERE, DuckDB refuses what looks at several.
            query = f"SELECT ({where}) IS TRUE FROM rows WHERE ({where}) OR true"
            try:
                columns = [
                    np.asarray(batch.column(0)) for batch in record_batches(database.sql(query))
                ]
            except database_errors() as error:
                raise _refused(f"where={where!r}", error, argument="where") from error
            if wrong and not skip:
                raise unusable_row(wrong[min(wrong)])
            chosen = np.concatenate([np.zeros(0, bool), *columns])
            chosen[list(wrong)] = False
            reasons = [(int(batch.numbers[row]), reason) for row, reason in wrong.items()]
            skipped = tuple(sorted((*batch.skipped, *reasons)))
            if chosen.any() or skipped:
                yield replace(batch.filter(chosen), skipped=skipped)


def _columns_in(where: Any, database: Any) -> set[str]:
    """The names of columns in a condition, in small letters."""
    names: set[str] = set()

    def collect(node: dict[str, Any]) -> None:
        names.update(name.lower() for name in node.get("column_names", ()))

    query = "SELECT json_serialize_sql(?)"
    ((parsed,),) = database.execute(query, [f"SELECT ({where})"]).fetchall()
    json.loads(parsed, object_hook=collect)
    return names


def _decided(batch: Batch, names: set[str], hints: Hints) -> dict[str, Numerals | None]:
    """Return how columns with values here write numbers; None for columns without numbers."""
    columns = {}
    for name in batch.table.schema.names:
        with suppress(UnknownType):
            columns[name] = batch.values(name)
    if not any(name.lower() in names for name in columns):
        return {}
    numerals: dict[str, Numerals | None] = {}
    for name, decision in decide_all(columns, hints).items():
        is_number = decision.kind == "number" and not decision.ambiguous
        is_date = decision.kind == "time" and not columns[name].numbers[1].any()  # 20240501
        written = PLAIN if is_date else decision.numerals if is_number else None
        if name.lower() in names and decision.kind != "empty":
            numerals[name.lower()] = written
    return numerals


def _with_numbers(
    batch: Batch, names: set[str], numerals: dict[str, Numerals | None]
) -> tuple[Any, dict[int, str]]:
    """Convert text columns to numbers; return errors for rows that are no numbers."""
    table, wrong = batch.table, {}
    for place, name in enumerate(batch.table.schema.names):
        if name.lower() not in names or not pa.types.is_string(table.column(place).type):
            continue
        column, written = batch.values(name), numerals.get(name.lower())
        if name.lower() not in numerals:  # it has no values yet, and is compared with anything
            table = table.set_column(place, name, pa.nulls(len(batch)))
        elif written is not None:
            values, bad = column.numbers_as(written)
            table = table.set_column(place, name, pa.array(values, from_pandas=True))
            for row in np.flatnonzero(bad).tolist():
                what = f"column {name!r} should be a number, got {batch.shown(name, row)}"
                wrong[row] = f"{batch.where(row)}: {what}"
    return table, wrong


def _refused(name: str, error: Exception, argument: str | None = None) -> TableError:
    """Write DuckDB's message about a query on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = re.sub(r"^[\w ]+ Error: ", "", lines[0] if lines else type(error).__name__)
    return TableError(f"{name}: {text.rstrip('.!')}.", argument=argument)
