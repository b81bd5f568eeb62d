"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..batch import Batch, check_column_names
from ..writers import TypedWriter
from .source import ROWS_AT_ONCE, ReadRequest, numbered, validated


def read(request: ReadRequest) -> Iterator[Batch]:
    """The batches of a file; only the columns that are needed are read."""
    from pyarrow import parquet

    source = request.source
    with source.file() as opened, parquet.ParquetFile(opened, pre_buffer=False) as file:
        names = file.schema_arrow.names
        check_column_names(source.name, names)
        needed = None if request.columns is None else set(request.columns)
        columns = None if needed is None else [name for name in names if name in needed]
        groups = getattr(source, "groups", None) or range(file.metadata.num_row_groups)
        n = max(sum(file.metadata.row_group(i).num_rows for i in groups), 1)
        tables = file.iter_batches(
            batch_size=ROWS_AT_ONCE, columns=columns, row_groups=list(groups)
        )
        yield from numbered(source, map(validated, tables), lambda rows: rows / n)


class Writer(TypedWriter):
    """Writes a Parquet file."""

    def opened(self, schema: Any) -> Any:
        from pyarrow.parquet import ParquetWriter

        return ParquetWriter(self.stream, schema)
