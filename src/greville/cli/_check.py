"""``greville check``: what the columns of a table are, before anything is learned."""

from __future__ import annotations

from typing import Any

from ._command import command
from ._files import InputTable
from ._options import ColumnOptions, ReadingOptions, Task
from ._terminal import as_option, counted, say_findings, say_skipped, show_json, show_table


@command
def check(
    data: list[str],
    *,
    target: str | None = None,
    task: Task = Task.auto,
    columns: ColumnOptions,
    reading: ReadingOptions,
    as_json: bool = False,
) -> None:
    """Show how each column of a table is read; learn nothing.

    Prints types, examples, missing values and warnings. The types come from 4096 rows, chosen at
    random; then all rows are read, and what cannot be is said.

    Examples:

        greville check houses.csv --target price

        greville check 'logs/*.parquet' --json
    """
    from ..tables import look_at

    table = InputTable.find(data, reading, target)
    rows = table if table.can_be_read_again else iter(table)
    found = look_at(rows, target, **columns.settings(task))
    if as_json:
        show_json(found.as_dict(as_option))
        return
    some = "" if found.looked_at == found.rows else f", {found.looked_at:,} of them looked at"
    show_table(
        ("column", "what it is", "examples"),
        ((c.name, _in_words(c, found.looked_at), "  ".join(c.examples)) for c in found.columns),
        title=f"{', '.join(data)}: {counted(found.rows, 'row')}{some}",
    )
    say_skipped(table.troubles)
    say_findings(found.findings)


def _in_words(column: Any, n_rows: int) -> str:
    """What a column is, between which ends, and how much of it is missing."""
    parts = [("target: " if column.use == "target" else "") + column.what]
    if column.least is not None:
        parts.append(f"from {column.least} to {column.most}")
    if column.missing and column.use != "not used":
        parts.append(f"{column.missing / n_rows:.1%} missing")
    return "; ".join(parts)
