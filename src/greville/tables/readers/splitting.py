"""Files split into parts that can be read separately: row groups of Parquet, other files whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..batch import TableError
from .recognition import recognised
from .source import Reading, Source


@dataclass(frozen=True)
class Part:
    """A source, or some of its rows, and how it is to be read."""

    source: Source
    reading: Reading
    n_rows: int | None = None  # where that is known


def split(sources: Sequence[Source], reading: Reading, size: int) -> list[Part]:
    """Parts of about so many bytes, in the order of their rows; only Parquet is cut.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import Reading, find_sources, split, total_rows
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> parts = split(find_sources([str(path)]), Reading(), 1_000_000)
    >>> len(parts), total_rows(parts)
    (1, None)
    """
    parts: list[Part] = []
    for source in sources:
        format = recognised(source, reading)[0]
        if format is not None and format.name == "parquet":
            parts += _row_groups(source, reading, size)
        else:
            parts.append(Part(source, reading))
    return parts


def total_rows(parts: Sequence[Part]) -> int | None:
    """How many rows there are, if all parts say it."""
    counts = [part.n_rows for part in parts]
    return None if any(n is None for n in counts) else int(np.sum(counts))  # type: ignore[arg-type]


class RowGroups(Source):
    """Some row groups of a Parquet file."""

    def __init__(self, source: Source, groups: Sequence[int], first_row: int, size: int) -> None:
        vars(self).update(vars(source))
        self._whole = source
        self.groups = list(groups)
        self.first_row = first_row
        self.size = size
        self.remote = source.remote

    def file(self) -> Any:
        return self._whole.file()


def _row_groups(source: Source, reading: Reading, size: int) -> list[Part]:
    from pyarrow import ArrowException, parquet

    try:
        with source.file() as opened, parquet.ParquetFile(opened) as file:
            about = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            rows = [group.num_rows for group in about]
            sizes = [
                sum(group.column(j).total_compressed_size for j in range(group.num_columns))
                for group in about
            ]
    except (ArrowException, OSError) as error:
        raise TableError(
            f"{source.name}: it cannot be read ({str(error).splitlines()[0]}); is it complete, "
            "and in the format of its name?"
        ) from error
    parts, start = [], 0
    while start < len(rows):
        if not rows[start]:
            start += 1
            continue
        stop = start + 1
        while stop < len(rows) and sum(sizes[start : stop + 1]) <= size:
            stop += 1
        part = RowGroups(source, range(start, stop), sum(rows[:start]), sum(sizes[start:stop]))
        parts.append(Part(part, reading, sum(rows[start:stop])))
        start = stop
    return parts
