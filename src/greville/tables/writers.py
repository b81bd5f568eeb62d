"""Tables written batch by batch, completely or not at all."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..persistence import whole_file
from .batch import TableError
from .readers.formats import by_name, codec_of, format_of, formats


class OrderedWriter(ABC):
    """Writes record batches that all have the columns of the first, in its order."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._schema: Any = None

    def write(self, batch: Any) -> None:
        """Write some rows."""
        if self._schema is None:
            self._schema = batch.schema
            self.begin(self._schema)
        self.put(self._in_order(batch))

    @abstractmethod
    def begin(self, schema: Any) -> None:
        """Write what comes before the first rows."""

    @abstractmethod
    def put(self, batch: Any) -> None:
        """Write rows whose columns are in order."""

    def close(self) -> None:  # noqa: B027 - often that is nothing
        """Write what comes after the last rows."""

    def _in_order(self, batch: Any) -> Any:
        """Return a batch's columns in the order of the first batch; absent ones are missing."""
        names, known = self._schema.names, set(batch.schema.names)
        new = known - set(names)
        if new:
            raise TableError(
                f"column {sorted(new)[0]!r} is not in the first rows; write .jsonl, where every "
                "row may have its own."
            )
        columns = [batch.column(n) if n in known else pa.nulls(batch.num_rows) for n in names]
        return pa.RecordBatch.from_arrays(columns, names=names)


class TypedWriter(OrderedWriter):
    """A writer for formats in which a column keeps the type that it has in the first batch."""

    _file: Any = None

    @abstractmethod
    def opened(self, schema: Any) -> Any:
        """Return the writer of batches of a schema to a stream."""

    def begin(self, schema: Any) -> None:
        self._file = self.opened(schema)

    def put(self, batch: Any) -> None:
        columns = []
        for field, column in zip(self._schema, batch.columns, strict=True):
            try:
                columns.append(column.cast(field.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise TableError(
                    f"column {field.name!r} changes from {field.type} to {column.type}; write .csv "
                    "or .jsonl instead."
                ) from error
        self._file.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class _Shown:
    """A text stream to a terminal that escapes unprintable characters."""

    def __init__(self, out: Any, shown: Callable[[str], str]) -> None:
        self._out = out
        self._shown = shown

    def write(self, content: bytes) -> None:
        self._out.write(self._shown(content.decode()).encode())


@contextlib.contextmanager
def written(path: Path | None, shown: Callable[[str], str] | None = None) -> Iterator[Any]:
    """A writer of a file that is there when all went well, and else is as it was before.

    Without a path it writes CSV to standard output; on a terminal as `shown` makes it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> from greville.tables import written
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "out.csv"
    ...     with written(path) as writer:
    ...         writer.write(pa.record_batch({"x": [1, 2]}))
    ...     print(path.read_text().split())
    ['x', '1', '2']
    """
    if path is None:
        with open(os.dup(1), "wb") as out:
            stream: Any = out if shown is None or not out.isatty() else _Shown(out, shown)
            yield by_name("csv").writer(stream)
        return
    format, codec = format_of(path), codec_of(path)
    # Arrow reads bz2 and does not write it.
    if (
        format is None
        or format.write is None
        or codec in ("bz2", "xz")
        or (codec is not None and not format.text)
    ):
        raise TableError(
            f"{path}: its name does not say in which format to write; end it in {_suffixes()}."
        )
    with whole_file(path) as new, pa.OSFile(new, "wb") as file:
        stream = pa.CompressedOutputStream(file, codec) if codec else file
        writer = format.writer(stream)
        yield writer
        writer.close()
        if codec:
            stream.close()


def _suffixes() -> str:
    """The suffixes that can be written, for a message."""
    *first, last = [f.suffixes[0] for f in formats() if f.write is not None]
    text = [f.suffixes[0] for f in formats() if f.write is not None and f.text]
    return f"{', '.join(first)} or {last} ({', '.join(text)} may go on with .gz or .zst)"
