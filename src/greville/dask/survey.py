"""What an estimator must know of all rows of a collection before workers add them up."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import dask
import numpy as np
from scipy import sparse

from ..elm.starting import looks_at_rows, places_for_layer, start_from, survey_of
from ..validation import check_something_counts
from .partitions import Partitions, compute

NO_ROWS = "X: it has no rows in any partition; there is nothing to learn."


class Look:
    """Ranges, means and classes of all rows: two partitions after the other, as if measured once.

    Parameters
    ----------
    model : ELMRegressor or ELMClassifier
    rows : Partitions
    """

    def __init__(self, model: Any, rows: Partitions) -> None:
        self._model, self._rows = model, rows
        shared = dask.delayed(model, pure=False, traverse=False)
        seen = compute(dask.delayed(list)([rows.apply(i, _seen, shared) for i in range(rows.n)]))
        self._ends = np.cumsum([0, *(n for n, _ in seen)])
        there = [(i, known) for i, (_, known) in enumerate(seen) if known is not None]
        if not there:
            raise ValueError(NO_ROWS)
        first, self.known = there[0]
        for i, known in there[1:]:
            try:
                self.known = self.known.joined(known)
            except ValueError as error:
                raise ValueError(
                    f"partitions {first + 1} and {i + 1} differ. Of the second, {error}"
                ) from error
        check_something_counts(np.array([self.known.count]))

    def start(self) -> None:
        """Have the model take units and classes from all rows, and its layer from some of them."""
        model, known = self._model, self.known
        if looks_at_rows(model):
            places = places_for_layer(model, known.n, len(known.inputs.low))
            start_from(model, known, *self.rows_at(places))
        else:
            start_from(model, known, *self.rows_at(np.zeros(1, np.int64))[:2])

    def rows_at(self, places: Any) -> list[Any]:
        """Rows at these places among all: inputs, targets and, where there are any, weights."""
        cuts = np.searchsorted(places, self._ends)
        tasks = [
            self._rows.apply(i, _taken, places[begin:end] - self._ends[i])
            for i, (begin, end) in enumerate(pairwise(cuts))
            if end > begin
        ]
        return [_stacked(parts) for parts in zip(*compute(dask.delayed(list)(tasks)), strict=True)]


def _seen(model: Any, X: Any, y: Any, weight: Any = None) -> tuple[int, Any]:
    n = int(X.shape[0])
    return n, survey_of(model, X, y, weight) if n or len(y) else None


def _taken(places: Any, *row: Any) -> list[Any]:
    return [A.iloc[places] if hasattr(A, "iloc") else A[places] for A in row]


def _stacked(parts: Any) -> Any:
    """Rows of several arrays or frames as one."""
    if hasattr(parts[0], "iloc"):
        import pandas

        return pandas.concat(parts)
    if any(map(sparse.issparse, parts)):
        return sparse.vstack(parts).tocsr()
    return np.concatenate(parts)
