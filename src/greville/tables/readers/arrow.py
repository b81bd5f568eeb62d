"""Arrow files, which Feather files are too, and Arrow streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from ..batch import Batch, check_column_names
from ..writers import TypedWriter
from .source import ReadRequest, numbered, validated


def read(request: ReadRequest) -> Iterator[Batch]:
    """The batches of a file or a stream."""
    source = request.source
    with source.open(request.over) as stream:
        if source.path is not None and stream.read(6) == b"ARROW1":
            # Not mapped into memory: a file that is cut off meanwhile would end the process.
            with source.file() as opened, pa.PythonFile(opened, "r") as file:
                yield from _read_file(request, pa.ipc.open_file(file))
        else:
            if source.path is not None:
                stream.seek(0)
            reader = pa.ipc.open_stream(pa.PythonFile(stream, "r"))
            check_column_names(source.name, reader.schema.names)
            yield from numbered(source, map(validated, reader), lambda rows: 0.0)


def _read_file(request: ReadRequest, reader: Any) -> Iterator[Batch]:
    check_column_names(request.source.name, reader.schema.names)
    count, read_so_far = reader.num_record_batches, 0

    def tables() -> Iterator[Any]:
        nonlocal read_so_far
        for i in range(count):
            read_so_far = i + 1
            yield reader.get_batch(i)

    yield from numbered(request.source, map(validated, tables()), lambda rows: read_so_far / count)


class Writer(TypedWriter):
    """Writes an Arrow file."""

    def opened(self, schema: Any) -> Any:
        return pa.ipc.new_file(self.stream, schema)
