"""What tasks do with the blocks of a Dask collection: functions of their arguments alone."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..validation import check_length, check_something_counts

NO_ROWS = "X: it has no rows in any partition; there is nothing to learn."


def added(device: Any, options: Any, start: Any, before: Any, X: Any, y: Any, weight: Any) -> Any:
    """Sums over the rows of one block, after those of others; `start` has none."""
    sums = copy(start if before is None else before)
    if before is None and device is not None:
        sums.to(device)
    if not checked_length(X, y, weight):
        return sums
    return sums.partial_fit(X, y, sample_weight=weight, **options)


def merged(first: Any, second: Any) -> Any:
    """The sums over the rows of both, in the memory of the host."""
    if not _n_rows(second) or not _n_rows(first):
        return second if _n_rows(second) else first
    return copy(first).to("cpu").merge(copy(second).to("cpu"))


def learned(model: Any, sums: Any, device: Any = "cpu") -> Any:
    """The model with the rows of sums, learned on a device; a solver may start with them."""
    model, sums = copy(model).to(device), copy(sums).to(device)
    if not hasattr(model, "fitted_"):
        if not _n_rows(sums):
            raise ValueError(NO_ROWS)
        shape = sums.fitted_.shape
        check_something_counts(np.array([sums.fitted_.flushed().count]))
        size = shape.n_hidden, shape.n_outputs, shape.dtype
        model.start(*size, flat=sums.is_flat, b=shape.backend)
    if _n_rows(sums):
        model.change(lambda fitted: (fitted.merge(sums.fitted_), None))
    return model.to("cpu").set_params(device=None)


def without(model: Any, sums: Any) -> Any:
    """The model without the rows of sums; a ValueError if they cannot be removed."""
    if _n_rows(sums):
        theirs = copy(sums).to("cpu").fitted_
        model.change(lambda fitted: (fitted.without(theirs), None))
    return model


def _n_rows(sums: Any) -> int:
    return int(getattr(sums, "n_samples_seen_", 0))  # a solver before its first row has none


@dataclass(frozen=True)
class Question:
    """What to ask a model about every block.

    Attributes
    ----------
    method : the name of a method
    options : its other arguments
    part : which of several answers is wanted, if there are several
    device : where to compute it
    """

    method: str
    options: dict[str, Any]
    part: int | None = None
    device: Any = None

    def __call__(self, model: Any, like: Any, X: Any) -> Any:
        """The answer, in the kind of the block."""
        if not X.shape[0]:
            return like
        model = model if self.device is None else copy(model).to(self.device)
        answer = getattr(model, self.method)(X, **self.options)
        return framed(answer if self.part is None else answer[self.part], like, X)


def framed(answer: Any, like: Any, X: Any) -> Any:
    """An answer as a Series or a data frame with the index of X, where `like` is one."""
    if not hasattr(like, "iloc"):
        return answer
    kind = type(like)
    if answer.ndim == 1:
        return kind(answer, index=X.index, name=like.name)
    return kind(answer, index=X.index, columns=like.columns)


def taken(A: Any, places: Any) -> Any:
    """Rows of an array, a sparse matrix or a frame."""
    return A.iloc[places] if hasattr(A, "iloc") else A[places]


def stacked(parts: list[Any]) -> Any:
    """Rows of several arrays or frames as one."""
    if hasattr(parts[0], "iloc"):
        import pandas

        return pandas.concat(parts)
    if any(map(sparse.issparse, parts)):
        return sparse.vstack(parts).tocsr()
    return np.concatenate(parts)


def checked_length(X: Any, y: Any, weight: Any) -> int:
    """How many rows a block has, if its targets and weights are as many."""
    n = int(X.shape[0])
    if not hasattr(y, "shape"):
        raise ValueError(f"y: expected blocks that are arrays, got {type(y).__name__}.")
    check_length("y", int(y.shape[0]), n)
    if weight is not None:
        check_length("sample_weight", int(weight.shape[0]), n)
    return n
