"""Arrow files, which Feather files are too, and Arrow streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from ..batch import Batch, check_column_names
from .source import ReadRequest, validated


def read(request: ReadRequest) -> Iterator[Batch]:
    """Read the batches of a file or a stream."""
    # Not mapped into memory: a file that is cut off meanwhile would end the process.
    with request.content.path.open("rb") as opened, pa.PythonFile(opened, "r") as file:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        reader: Any = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
        check_column_names(request.source.name, reader.schema.names)
        tables = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
        yield from request.batches(map(validated, tables))
