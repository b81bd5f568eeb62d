"""Columns from the names of folders, as in ``weather=fog/part.parquet``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from ..batch import Batch, TableError
from ..findings import Finding, distinct

# The folder of rows in which the column has no value.
_MISSING = "__HIVE_DEFAULT_PARTITION__"


def partitions_of(path: Any) -> dict[str, str | None]:
    """The names and values that the folders of a path have; None is a missing value."""
    found: dict[str, str | None] = {}
    for part in path.parent.parts:
        name, sign, value = map(unquote, part.partition("="))
        if sign and name:
            found[name] = None if value in ("", _MISSING) else value
    return found


def with_partitions(
    batch: Batch, partitions: Mapping[str, str | None], wanted: Sequence[str] | None
) -> Batch:
    """The same rows with these values as columns, if they are wanted.

    A column that is in the file too must have the same values; a TableError else.
    """
    table, findings = batch.table, list(batch.findings)
    for name, value in partitions.items():
        if wanted is not None and name not in wanted:
            continue
        constant = pa.repeat(pa.scalar(value, pa.string()), len(batch))
        if name not in table.schema.names:
            table = table.append_column(name, constant)
        elif _check_same(batch, name, value):
            table = table.set_column(table.schema.names.index(name), name, constant)
        text = f"column {name!r} is from the names of folders, such as {name}=..."
        text += "; all rows of a folder have its value."
        findings.append(Finding("folder column", text, name))
    return replace(batch, table=table, findings=distinct(findings))


def _check_same(batch: Batch, name: str, value: str | None) -> bool:
    """Whether a column has gaps, where it must have this value only."""
    gaps = False
    for row, own in enumerate(batch.table.column(name).to_pylist()):
        gaps |= own is None
        if own is not None and not _same(own, value):
            raise TableError(
                f"{batch.where(row)}: column {name!r} is {own!r}, but the file is in a folder "
                f"{name}={_MISSING if value is None else value}; rename the folder or the column, "
                "or make the values agree."
            )
    return gaps


def _same(own: Any, value: str | None) -> bool:
    try:
        return str(own) == value or (value is not None and float(own) == float(value))
    except (TypeError, ValueError):
        return False
