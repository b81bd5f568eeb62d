"""NumPy's files: an array in an .npy, several in an .npz."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ...validation import check_memory
from ..batch import Batch, TableError, check_count, record_batch
from .source import ROWS_AT_ONCE, ReadRequest, Unreadable

# Bytes of one array that are read at a time.
_ARRAY_BYTES = 1 << 26


def read(request: ReadRequest) -> Iterator[Batch]:
    """The rows of the array, whose columns are called 0, 1, 2, ..., or of several arrays."""
    name = request.source.name
    try:
        if zipfile.is_zipfile(request.path):
            with zipfile.ZipFile(request.path) as archive:
                size = sum(entry.file_size for entry in archive.infolist())
            check_memory("the arrays in an .npz", float(size), "write them as Parquet, or as .npy.")
        else:
            with request.path.open("rb") as file:  # NumPy takes what is none for a pickle
                np.lib.format.read_magic(file)
        found = np.load(request.path, mmap_mode="r", allow_pickle=False)
        if isinstance(found, np.ndarray):
            arrays = {"": found}
        else:
            with found:
                arrays = dict(found)
        if not all(array.shape for array in arrays.values()):
            raise TableError(f"{name}: an array in it has no rows.")
        lengths = {len(array) for array in arrays.values()}
        if len(lengths) != 1:
            raise TableError(f"{name}: its arrays do not have the same number of rows.")
        n = lengths.pop()
        row = max(array.nbytes // max(1, n) for array in arrays.values())
        check_memory("a row of an array", 2.0 * row, "write it in fewer columns.")
        yield from request.batches(_tables(name, arrays, n, max(1, _ARRAY_BYTES // max(1, row))), n)
    except (TableError, MemoryError, OSError):
        raise
    except Exception as error:  # a damaged header or archive raises whatever its parser does
        objects = "; only numbers and text can be read, no objects" * ("bject" in str(error))
        raise Unreadable(f"{str(error) or type(error).__name__}{objects}") from error


def _tables(name: str, arrays: dict[str, Any], n: int, most: int) -> Iterator[Any]:
    step = min(ROWS_AT_ONCE, most)
    for start in range(0, n, step):
        columns: dict[str, Any] = {}
        for each, array in arrays.items():
            columns |= _columns_of(name, each, array[start : start + step])
        yield record_batch(columns)


def _columns_of(source: str, name: str, array: Any) -> dict[str, Any]:
    """The columns of an array: 0, 1, 2, ... in an .npy, one column of its name in an .npz."""
    if array.dtype.names:
        return {field: pa.array(np.ascontiguousarray(array[field])) for field in array.dtype.names}
    if array.ndim == 1:
        return {name or "0": pa.array(np.ascontiguousarray(array))}
    rows = array.reshape(len(array), -1)
    if name == "":
        check_count(source, rows.shape[1])
        return {str(i): pa.array(np.ascontiguousarray(rows[:, i])) for i in range(rows.shape[1])}
    if rows.dtype.kind not in "fiub":
        raise TableError(f"{source}: {name!r} has text in several columns; give each its own name.")
    flat = pa.array(np.ascontiguousarray(rows, dtype=np.float64).ravel())
    return {name: pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])}
