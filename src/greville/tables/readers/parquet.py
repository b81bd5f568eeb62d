"""Parquet files, whole or some of their row groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from pyarrow import ArrowException, parquet

from ..batch import Batch, TableError, check_column_names
from .source import ROWS_AT_ONCE, ReadRequest, Source, validated


def read(request: ReadRequest) -> Iterator[Batch]:
    """Read the batches of a file; only the columns that are needed are read."""
    source = request.source
    with (
        request.content.path.open("rb") as opened,
        parquet.ParquetFile(opened, pre_buffer=False) as file,
    ):
        names = file.schema_arrow.names
        check_column_names(source.name, names)
        groups = source.groups or range(file.metadata.num_row_groups)
        n = sum(file.metadata.row_group(i).num_rows for i in groups)
        chosen = set(names if request.columns is None else request.columns)
        columns = [name for name in names if name in chosen]
        tables = file.iter_batches(batch_size=ROWS_AT_ONCE, columns=columns, row_groups=[*groups])
        yield from request.batches(map(validated, tables), n)


def parts_of(source: Source, size: int) -> list[Source]:
    """Cut a file into parts of about so many bytes, between its row groups."""
    path: Any = source.path
    try:
        with path.open("rb") as opened, parquet.ParquetFile(opened) as file:
            rows = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    except (ArrowException, OSError) as error:
        what = f"{source.name}: it cannot be read ({str(error).splitlines()[0]}); is it complete"
        raise TableError(f"{what}, and in the format of its name?") from error
    groups = [i for i, n in enumerate(rows) if n]
    n_parts = max(1, min(len(groups), source.size // size))
    return [
        source.part(part.tolist(), sum(rows[: part[0]]), sum(rows[i] for i in part))
        for part in np.array_split(groups, n_parts)
        if len(part)
    ]
