"""Arrow files, which Feather files are too, Arrow streams, and Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ..batch import Batch, TableError, check_column_names
from ..writers import TypedWriter
from .source import ROWS_AT_ONCE, ReadRequest, Source


def read(request: ReadRequest) -> Iterator[Batch]:
    """The batches of a file or a stream."""
    # Not mapped into memory: a file that is cut off meanwhile would end the process.
    with request.path.open("rb") as opened, pa.PythonFile(opened, "r") as file:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        reader: Any = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
        check_column_names(request.source.name, reader.schema.names)
        tables = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
        yield from request.batches(map(_validated, tables))


def read_parquet(request: ReadRequest) -> Iterator[Batch]:
    """The batches of a file; only the columns that are needed are read."""
    from pyarrow import parquet

    source = request.source
    with request.path.open("rb") as opened, parquet.ParquetFile(opened, pre_buffer=False) as file:
        names = file.schema_arrow.names
        check_column_names(source.name, names)
        groups = source.groups or range(file.metadata.num_row_groups)
        n = sum(file.metadata.row_group(i).num_rows for i in groups)
        chosen = set(names if request.columns is None else request.columns)
        columns = [name for name in names if name in chosen]
        tables = file.iter_batches(batch_size=ROWS_AT_ONCE, columns=columns, row_groups=[*groups])
        yield from request.batches(map(_validated, tables), n)


def parquet_parts(source: Source, path: Any, size: int) -> list[Source]:
    """Row groups of a Parquet file in parts of about so many bytes."""
    from pyarrow import ArrowException, parquet

    try:
        with path.open("rb") as opened, parquet.ParquetFile(opened) as file:
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            rows = [group.num_rows for group in groups]
            sizes = [
                sum(group.column(j).total_compressed_size for j in range(group.num_columns))
                for group in groups
            ]
    except (ArrowException, OSError) as error:
        what = f"{source.name}: it cannot be read ({str(error).splitlines()[0]}); is it complete"
        raise TableError(f"{what}, and in the format of its name?") from error
    parts: list[list[int]] = []
    for i in range(len(rows)):
        if parts and _sum(sizes, parts[-1]) + sizes[i] <= size:
            parts[-1].append(i)
        elif rows[i]:
            parts.append([i])
    return [
        source.part(part, sum(rows[: part[0]]), _sum(rows, part), _sum(sizes, part))
        for part in parts
    ]


def _sum(numbers: Sequence[int], chosen: Sequence[int]) -> int:
    return sum(numbers[i] for i in chosen)


def _validated(table: Any) -> Any:
    """A record batch of a file that may be damaged: it may claim any lengths, and bytes as text."""
    table.validate(full=True)
    return table


class Writer(TypedWriter):
    """Writes an Arrow file."""

    def opened(self, schema: Any) -> Any:
        return pa.ipc.new_file(self.stream, schema)


class ParquetWriter(TypedWriter):
    """Writes a Parquet file."""

    def opened(self, schema: Any) -> Any:
        from pyarrow.parquet import ParquetWriter as ArrowWriter

        return ArrowWriter(self.stream, schema)
