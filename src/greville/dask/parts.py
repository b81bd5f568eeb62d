"""Parts of a table that workers write: Parquet files in one folder, here or at an address."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ParquetPart:
    """One file, which is there when all of its rows are; none if there are no rows."""

    name: str

    @contextmanager
    def opened(self) -> Iterator[_Lazy]:
        """A writer of record batches."""
        with ExitStack() as stack:
            yield _Lazy(self.name, stack)


class _Lazy:
    """Opens its file with the first rows, whose columns it then has."""

    schema: tuple[tuple[str, str], ...] | None = None  # names and types of the columns

    def __init__(self, name: str, stack: ExitStack) -> None:
        self._name, self._stack = name, stack
        self._writer: Any = None

    def write(self, batch: Any) -> None:
        if self._writer is None:
            self.schema = tuple((field.name, str(field.type)) for field in batch.schema)
            self._writer = self._stack.enter_context(_written(self._name))
        self._writer.write(batch)


@contextmanager
def _written(name: str) -> Iterator[Any]:
    from ..tables import written

    if "://" not in name:
        with written(Path(name)) as writer:
            yield writer
        return
    import fsspec

    from ..tables.readers.parquet import Writer

    content = io.BytesIO()  # most storages keep what was written before an error
    remote = Writer(content)
    yield remote
    remote.close()
    with fsspec.open(name, "wb") as stream:
        stream.write(content.getvalue())
