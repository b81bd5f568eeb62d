"""``greville check``: what the columns of a table are, before anything is learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from ._errors import reported
from ._options import (
    ColumnOptions,
    Data,
    JsonOption,
    ReadingOptions,
    TargetOption,
    Task,
    TaskOption,
    expand_options,
)
from ._progress import rows_bar
from ._terminal import (
    add_row,
    as_option,
    console,
    counted,
    say_findings,
    say_skipped,
    show_json,
    table,
)


@reported
@expand_options
def check(
    data: Data,
    *,
    target: TargetOption = None,
    task: TaskOption = Task.auto,
    columns: ColumnOptions,
    reading: ReadingOptions,
    as_json: JsonOption = False,
) -> None:
    """Show how each column of a table is read; learn nothing.

    Prints types, examples, missing values and warnings. The types come from 4096 rows, chosen at
    random; then all rows are read, and what cannot be is said.

    Examples:

        greville check houses.csv --target price

        greville check 'logs/*.parquet' --json
    """
    from ..tables import find_sources, look_at, read

    how, troubles = reading.reading(target), reading.troubles()
    sources = find_sources(data)

    def rows() -> Iterator[Any]:
        troubles.count, troubles.first, n = 0, [], 0
        batches = read(sources, how, troubles)
        with closing(batches), rows_bar(False, "reading", sources) as advance:
            for batch in batches:
                n += len(batch)
                troubles.count_skipped(batch)
                advance(batch, n)
                yield batch

    again = all(source.can_be_read_again for source in sources)
    found = look_at(_Rows(rows) if again else rows(), target, **columns.settings(task))
    if as_json:
        show_json(found.as_dict(as_option))
        return
    _show(found, ", ".join(data))
    say_skipped(troubles)
    say_findings(found.findings)


@dataclass(frozen=True)
class _Rows:
    """Rows that can be walked again."""

    walk: Callable[[], Iterator[Any]]

    def __iter__(self) -> Iterator[Any]:
        return self.walk()


def _show(found: Any, title: str) -> None:
    some = "" if found.looked_at == found.rows else f", {found.looked_at:,} of them looked at"
    each = table(
        "column", "what it is", "examples", title=f"{title}: {counted(found.rows, 'row')}{some}"
    )
    for column in found.columns:
        add_row(each, column.name, _in_words(column, found.looked_at), "  ".join(column.examples))
    console().print(each)


def _in_words(column: Any, n_rows: int) -> str:
    """What a column is, between which ends, and how much of it is missing."""
    parts = [("target: " if column.use == "target" else "") + column.what]
    if column.least is not None:
        parts.append(f"from {column.least} to {column.most}")
    if column.missing and column.use != "not used":
        parts.append(f"{column.missing / n_rows:.1%} missing")
    return "; ".join(parts)
