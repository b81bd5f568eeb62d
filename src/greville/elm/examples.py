"""Rows with their targets, as they came: before units, layer and encoded targets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..backend import Array
from ..devices import is_on_device, on_host
from ..fields import array, matrix, nothing, require, stored, text_array

LABELS = array(1, "biuf") | text_array


def _check_fields(rows: Examples) -> None:
    weight = rows.weight
    require(len(rows.y) == rows.n, "there are not as many targets as rows")
    fits = weight is None or (len(weight) == rows.n and bool((weight >= 0).all()))
    require(fits, "the weights of rows do not fit them")


@stored(
    parameters={
        "X": array(2, "biuf") | matrix("csr"),
        "y": array(2) | LABELS,
        "weight": nothing | array(1),
    },
    check=_check_fields,
)
class Examples(NamedTuple):
    """Checked rows: inputs, dense or sparse, targets or labels, and weights where there are any.

    Inputs and numeric targets may be tensors on a device.
    """

    X: Any
    y: Any
    weight: Array | None = None

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    def at(self, places: Any) -> Examples:
        """The rows at these places, or of a slice."""
        return Examples(*(A if A is None else A[places] for A in self))

    def on_host(self) -> Examples:
        """Copy rows to NumPy's memory; a ValueError for rows on a device that are not finite."""
        if not (is_on_device(self.X) or is_on_device(self.y)):
            return self
        here = self._replace(X=self.X if sparse.issparse(self.X) else on_host(self.X))
        here = here._replace(y=on_host(self.y))
        for name, A in (("X", here.X), ("y", here.y)):
            if A.dtype.kind == "f" and not np.isfinite(A.data if sparse.issparse(A) else A).all():
                raise ValueError(f"{name}: contains NaN or infinity; leave such rows out.")
        return here

    def with_columns(self, n: int, old: Array) -> Examples:
        """Widen rows to n columns: the present ones at the indices `old`, zeros in the others."""
        shape = len(old), n
        places = np.ones(len(old), self.X.dtype), (np.arange(len(old)), old)
        return self._replace(X=self.X @ sparse.csr_array(places, shape))

    def appended(self, more: Examples) -> Examples:
        """Append more rows to these, in NumPy's memory; sparse if any of them are."""
        blocks = [block for block in (self.X, more.X) if block.shape[0]]
        if any(map(sparse.issparse, blocks)):
            X: Any = sparse.vstack([sparse.csr_array(block) for block in blocks]).tocsr()
        else:
            X = np.concatenate(blocks)
        y = np.concatenate([part for part in (self.y, more.y) if len(part)])
        if self.weight is None and more.weight is None:
            return Examples(X, y)
        weights = [np.ones(rows.n) if rows.weight is None else rows.weight for rows in (self, more)]
        return Examples(X, y, np.concatenate(weights))
