"""Rows of a stream as they came, before units, layer and encoded targets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..backend import Array
from ..devices import is_on_device, on_host
from ..fields import array, matrix, nothing, require, stored, words

LABELS = array(1, "biuf") | words


def _check_fields(chunk: Chunk) -> None:
    require(len(chunk.y) == chunk.n, "there are not as many targets as rows")
    weight = chunk.weight
    fits = weight is None or (len(weight) == chunk.n and bool((weight >= 0).all()))
    require(fits, "the weights of rows do not fit them")


@stored(
    parameters={
        "X": array(2, "biuf") | matrix("csr"),
        "y": array(2) | LABELS,
        "weight": nothing | array(1),
    },
    check=_check_fields,
    to_fields=lambda chunk: chunk._asdict(),
    from_fields=lambda cls, fields: cls(**fields),
)
class Chunk(NamedTuple):
    """Checked rows: inputs, dense or sparse, targets or labels, and weights where there are any.

    Inputs and numeric targets may be tensors on a device.
    """

    X: Any
    y: Any
    weight: Array | None = None

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    def part(self, rows: slice) -> Chunk:
        return Chunk(self.X[rows], self.y[rows], None if self.weight is None else self.weight[rows])

    def at(self, places: Array) -> Chunk:
        """The rows at these places."""
        weight = None if self.weight is None else self.weight[places]
        return Chunk(self.X[places], self.y[places], weight)

    def on_host(self) -> Chunk:
        """The same in NumPy's memory."""
        X, y = (on_host(A) if is_on_device(A) else A for A in (self.X, self.y))
        return self if X is self.X and y is self.y else self._replace(X=X, y=y)

    def on_host_if_finite(self) -> Chunk:
        """The same in NumPy's memory; a ValueError for rows on a device that are not finite."""
        here = self.on_host()
        for name, A, was in (("X", here.X, self.X), ("y", here.y, self.y)):
            if A is not was and A.dtype.kind == "f" and not np.isfinite(A).all():
                raise ValueError(f"{name}: contains NaN or infinity; leave such rows out.")
        return here

    def with_columns(self, n: int, old: Array) -> Chunk:
        """With n columns, the present ones at the indices `old`, and zeros in the others."""
        shape = len(old), n
        places = np.ones(len(old), self.X.dtype), (np.arange(len(old)), old)
        return self._replace(X=self.X @ sparse.csr_array(places, shape))

    def joined(self, more: Chunk) -> Chunk:
        """These rows and then more, in NumPy's memory; sparse if any of them are."""
        blocks = [block for block in (self.X, more.X) if block.shape[0]]
        if any(map(sparse.issparse, blocks)):
            X: Any = sparse.vstack([sparse.csr_array(block) for block in blocks]).tocsr()
        else:
            X = np.concatenate(blocks)
        y = np.concatenate([part for part in (self.y, more.y) if len(part)])
        if self.weight is None and more.weight is None:
            return Chunk(X, y)
        weights = [np.ones(c.n) if c.weight is None else c.weight for c in (self, more)]
        return Chunk(X, y, np.concatenate(weights))
