"""NumPy's files: an array in an .npy, several in an .npz."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...validation import check_memory
from ..batch import Batch, TableError, check_count, record_batch
from .source import ROWS_AT_ONCE, ReadRequest, Source, Unreadable, numbered

# Bytes of one array that are read at a time.
_ARRAY_BYTES = 1 << 26


def read_npy(request: ReadRequest) -> Iterator[Batch]:
    """The rows of an array; its columns are called 0, 1, 2, ..."""

    def open_arrays(closing: ExitStack) -> dict[str, _ArrayRows]:
        file = closing.enter_context(_path(request).open("rb"))
        return {"": _ArrayRows(file, request.source.size)}

    return _read(request, open_arrays)


def read_npz(request: ReadRequest) -> Iterator[Batch]:
    """The rows of several arrays, each of which is a column."""

    def open_arrays(closing: ExitStack) -> dict[str, _ArrayRows]:
        archive = closing.enter_context(zipfile.ZipFile(_path(request)))
        return {
            entry.filename.removesuffix(".npy"): _ArrayRows(
                closing.enter_context(archive.open(entry)), entry.file_size
            )
            for entry in archive.infolist()
        }

    return _read(request, open_arrays)


def _path(request: ReadRequest) -> Path:
    assert request.source.path is not None
    return request.source.path


def _read(
    request: ReadRequest, open_arrays: Callable[[ExitStack], dict[str, _ArrayRows]]
) -> Iterator[Batch]:
    source = request.source
    try:
        with ExitStack() as closing:
            try:
                arrays = open_arrays(closing)
            except ValueError as error:
                raise TableError(
                    f"{source.name}: it cannot be read ({error}); only numbers and text "
                    "can be read, no objects."
                ) from error
            yield from _read_arrays(source, arrays)
    except (TableError, MemoryError, OSError):
        raise
    except Exception as error:  # a damaged header or archive raises whatever its parser does
        raise Unreadable(str(error) or type(error).__name__) from error


def _read_arrays(source: Source, arrays: dict[str, _ArrayRows]) -> Iterator[Batch]:
    lengths = {array.n for array in arrays.values()}
    if len(lengths) != 1:
        raise TableError(f"{source.name}: its arrays do not have the same number of rows.")
    n, step = lengths.pop(), min(array.rows_at_once() for array in arrays.values())

    def tables() -> Iterator[Any]:
        for start in range(0, n, step):
            columns: dict[str, Any] = {}
            for name, array in arrays.items():
                columns |= _columns_of(name, array.read(min(step, n - start)), source)
            yield record_batch(columns)

    yield from numbered(source, tables(), lambda rows: rows / n)


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
        return max(1, min(ROWS_AT_ONCE, _ARRAY_BYTES // max(1, self._row)))

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
