"""Data frames, dicts of columns, arrays and lists of values as Arrow tables and columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from ._values import text_of
from .batch import TableError, check_column_names


def is_frame(X: Any) -> bool:
    """Whether an object has columns with names."""
    if sparse.issparse(X):
        return False
    return isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "__arrow_c_stream__")


def as_table(X: Any) -> Any:
    """The columns of a data frame, an Arrow table or a dict of columns, without an index.

    A column of pandas whose values are of several kinds becomes text.
    """
    if isinstance(X, Mapping):
        for name, values in X.items():
            if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
                raise TableError(
                    f"column {str(name)!r} is one value, {values!r}; pass a list of values for "
                    "each column, or one row to predict_one or learn_one."
                )
        columns = {str(name): column_of(values) for name, values in X.items()}
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise TableError(f"the columns have different lengths: {sorted(lengths)}.")
        return pa.table(columns)
    if hasattr(X, "__dask_graph__"):
        raise TableError(
            "X: it is a Dask collection; pass X.compute(), or train files on a cluster with "
            "greville train --workers."
        )
    if hasattr(X, "iloc"):  # of pandas
        names = list(map(str, X.columns))
        check_column_names("the data frame", names)
        return pa.table([column_of(X.iloc[:, i]) for i in range(len(names))], names=names)
    if isinstance(X, pa.RecordBatch):
        return pa.Table.from_batches([X])
    if isinstance(X, pa.Table) or hasattr(X, "__arrow_c_stream__"):
        return pa.table(X)
    from pyarrow.interchange import from_dataframe

    return from_dataframe(X)


def table_of_array(X: Any) -> Any:
    """A 2-d array as a table of columns without names of their own."""
    return pa.table([column_of(column) for column in X.T], names=unnamed(X.shape[1]))


def unnamed(n: int) -> list[str]:
    """The names of the columns of an array."""
    return [f"x{i}" for i in range(n)]


def column_of(values: Any) -> Any:
    """Values of any kind as a column; what pandas and NumPy have for gaps is missing."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return pa.array(np.ascontiguousarray(values), from_pandas=True)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError):
        return array_of([_json_value(value) for value in values])


def array_of(values: list[Any]) -> Any:
    """JSON values as a column; as text if they are not of one kind."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError):
        return pa.array([text_of(value) for value in values], pa.string())


def _json_value(value: Any) -> Any:
    """A value of a column of several kinds."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float)):
        return None if value != value else value  # noqa: PLR0124 - nan
    return None if str(value) in ("<NA>", "NaT") else str(value)
