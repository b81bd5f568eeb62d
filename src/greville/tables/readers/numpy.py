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
    """Read the array, whose columns are called 0, 1, 2, ..., or several arrays."""
    name = request.source.name
    try:
        arrays = _arrays(request)
        if not all(array.shape for array in arrays.values()):
            raise TableError(f"{name}: an array in it has no rows.")
        lengths = {len(array) for array in arrays.values()}
        if len(lengths) != 1:
            raise TableError(f"{name}: its arrays do not have the same number of rows.")
        n = lengths.pop()
        row = max(1, *(array.nbytes // max(1, n) for array in arrays.values()))
        check_memory("a row of an array", 2.0 * row, "write it in fewer columns.")
        step = min(ROWS_AT_ONCE, max(1, _ARRAY_BYTES // row))
        pieces = (
            {each: array[start : start + step] for each, array in arrays.items()}
            for start in range(0, n, step)
        )
        yield from request.batches((_table(name, piece) for piece in pieces), n)
    except (TableError, MemoryError, OSError):
        raise
    except Exception as error:  # a damaged header or archive raises whatever its parser does
        objects = "; only numbers and text can be read, no objects" * ("bject" in str(error))
        raise Unreadable(f"{str(error) or type(error).__name__}{objects}") from error


def _arrays(request: ReadRequest) -> dict[str, Any]:
    """The arrays of a file; the only one of an .npy has no name."""
    if not zipfile.is_zipfile(request.content.path):
        with request.content.path.open("rb") as file:  # NumPy takes what is none for a pickle
            np.lib.format.read_magic(file)
        return {"": np.load(request.content.path, mmap_mode="r", allow_pickle=False)}
    with zipfile.ZipFile(request.content.path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    check_memory("the arrays in an .npz", float(size), "write them as Parquet, or as .npy.")
    with np.load(request.content.path, allow_pickle=False) as arrays:
        return dict(arrays)


def _table(source: str, arrays: dict[str, Any]) -> Any:
    """The columns of arrays: 0, 1, 2, ... in an .npy, one column of its name in an .npz."""
    columns: dict[str, Any] = {}
    for name, array in arrays.items():
        rows = array.reshape(len(array), -1)
        if array.dtype.names:
            columns |= {field: _column(array[field]) for field in array.dtype.names}
        elif array.ndim == 1:
            columns[name or "0"] = _column(array)
        elif name == "":
            check_count(source, rows.shape[1])
            columns |= {str(i): _column(rows[:, i]) for i in range(rows.shape[1])}
        elif rows.dtype.kind in "fiub":
            values = _column(rows.astype(np.float64).ravel())
            columns[name] = pa.FixedSizeListArray.from_arrays(values, rows.shape[1])
        else:
            what = f"{name!r} has text in several columns; give each its own name."
            raise TableError(f"{source}: {what}")
    return record_batch(columns)


def _column(values: Any) -> Any:
    return pa.array(np.ascontiguousarray(values))
