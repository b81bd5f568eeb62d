"""Files that know their columns and rows: Parquet, Arrow, and NumPy's."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..validation import check_memory
from ._batch import Batch, TableError
from ._json import record_batch
from ._source import Source, check_column_names, check_count

# Rows that are read at a time, and bytes of one array.
_ROWS, _MOST_BYTES = 1 << 14, 1 << 26


def read_parquet(source: Source, columns: Sequence[str] | None) -> Iterator[Batch]:
    from pyarrow import parquet

    assert source.path is not None
    with parquet.ParquetFile(source.path, memory_map=False, pre_buffer=False) as file:
        names = file.schema_arrow.names
        check_column_names(source.name, names)
        asked = None if columns is None else set(columns)
        wanted = None if asked is None else [name for name in names if name in asked]
        n = max(file.metadata.num_rows, 1)
        yield from _numbered(source, file.iter_batches(batch_size=_ROWS, columns=wanted), n)


def read_arrow(source: Source, over: Callable[[], bool]) -> Iterator[Batch]:
    with source.open(over) as (stream, done):
        if source.path is not None and stream.read(6) == b"ARROW1":
            # Not mapped into memory: a file that is cut off meanwhile would end the process.
            with pa.OSFile(str(source.path)) as file:
                reader = pa.ipc.open_file(file)
                count = reader.num_record_batches
                check_column_names(source.name, reader.schema.names)
                batches = ((reader.get_batch(i), (i + 1) / count) for i in range(count))
                yield from _sliced(source, batches)
        else:
            if source.path is not None:
                stream.seek(0)
            reader = pa.ipc.open_stream(pa.PythonFile(stream, "r"))
            check_column_names(source.name, reader.schema.names)
            yield from _sliced(source, ((batch, done()) for batch in reader))


def _sliced(source: Source, batches: Iterator[tuple[Any, float]]) -> Iterator[Batch]:
    """Batches of at most so many rows; a file may be all one."""
    number = 0
    for batch, done in batches:
        batch.validate(full=True)  # what says where its values are may lie
        for start in range(0, batch.num_rows, _ROWS):
            piece = batch.slice(start, _ROWS)
            numbers = np.arange(number + 1, number + 1 + piece.num_rows, dtype=np.int64)
            number += piece.num_rows
            yield Batch(piece, source.name, numbers, done)


def _numbered(source: Source, tables: Iterator[Any], n_rows: int) -> Iterator[Batch]:
    number = 0
    for table in tables:
        table.validate(full=True)  # a file may say that bytes are text which are not
        numbers = np.arange(number + 1, number + 1 + table.num_rows, dtype=np.int64)
        number += table.num_rows
        if table.num_rows:
            yield Batch(table, source.name, numbers, number / n_rows)


def read_numpy(source: Source, kind: str) -> Iterator[Batch]:
    with ExitStack() as closing:
        try:
            arrays = _arrays(source, kind, closing)
        except ValueError as error:
            raise TableError(
                f"{source.name}: it cannot be read ({error}); numbers and text are, "
                "objects are not."
            ) from error
        lengths = {array.n for array in arrays.values()}
        if len(lengths) != 1:
            raise TableError(f"{source.name}: its arrays do not have the same number of rows.")
        n = lengths.pop()

        def batches() -> Iterator[Any]:
            step = min(array.rows_at_once() for array in arrays.values())
            for start in range(0, n, step):
                columns: dict[str, Any] = {}
                for name, array in arrays.items():
                    columns |= _columns_of(name, array.read(min(step, n - start)), source)
                yield record_batch(columns)

        yield from _numbered(source, batches(), max(n, 1))


def _arrays(source: Source, kind: str, closing: ExitStack) -> dict[str, _ArrayRows]:
    assert source.path is not None
    if kind == "npy":
        return {"": _ArrayRows(closing.enter_context(source.path.open("rb")), source.size)}
    archive = closing.enter_context(zipfile.ZipFile(source.path))
    return {
        entry.filename.removesuffix(".npy"): _ArrayRows(
            closing.enter_context(archive.open(entry)), entry.file_size
        )
        for entry in archive.infolist()
    }


class _ArrayRows:
    """An array in a file, a few rows at a time."""

    def __init__(self, file: Any, length: int) -> None:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        shape, in_columns, self._dtype = read(file)
        if self._dtype.hasobject:
            raise ValueError("it holds objects")
        if not shape or min(shape) < 0:
            raise ValueError("an array in it has no rows")
        self.n, self._rest = shape[0], shape[1:]
        self._row = self._dtype.itemsize * int(np.prod(self._rest, dtype=np.int64))
        self._file = file
        if self.n * self._row > length:
            raise EOFError("it ends before its last row")
        if in_columns and len(shape) > 1:  # a row of it lies all over the file
            size = 3.0 * self.n * self._row
            check_memory("an array in Fortran order", size, "write it in C order.")
            whole = self._bytes(self.n * self._row).reshape(shape[::-1]).T
            self._file = io.BytesIO(np.ascontiguousarray(whole).tobytes())

    def rows_at_once(self) -> int:
        return max(1, min(_ROWS, _MOST_BYTES // max(1, self._row)))

    def read(self, n: int) -> NDArray[Any]:
        check_memory("a row of an array", 2.0 * n * self._row, "write it in fewer columns.")
        return self._bytes(n * self._row).reshape(n, *self._rest)

    def _bytes(self, size: int) -> NDArray[Any]:
        content = self._file.read(size)
        if len(content) < size:
            raise EOFError("it ends before its last row")
        return np.frombuffer(content, self._dtype)


def _columns_of(name: str, array: Any, source: Source) -> dict[str, Any]:
    """The columns of an array: 0, 1, 2, ... in an .npy, one column of its name in an .npz."""
    if array.dtype.names:
        return {field: pa.array(np.ascontiguousarray(array[field])) for field in array.dtype.names}
    if array.ndim == 1:
        return {name or "0": pa.array(np.ascontiguousarray(array))}
    rows = array.reshape(len(array), -1)
    if name == "":
        check_count(source.name, rows.shape[1])
        return {str(i): pa.array(np.ascontiguousarray(rows[:, i])) for i in range(rows.shape[1])}
    if rows.dtype.kind not in "fiub":
        raise TableError(
            f"{source.name}: {name!r} has text in several columns; give each its own name."
        )
    flat = pa.array(np.ascontiguousarray(rows, dtype=np.float64).ravel())
    return {name: pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])}
