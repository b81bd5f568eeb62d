"""What tasks do with the blocks of a Dask collection: functions of their arguments alone."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..validation import check_length


class Start:
    """What is known of some blocks, the first of which is block i, with one of their rows.

    And how many rows each has.
    """

    def __init__(
        self, i: int, survey: Any, row: tuple[Any, Any] | None, lengths: tuple[int, ...]
    ) -> None:
        self.i = i
        self.survey = survey
        self.row = row
        self.lengths = lengths


def look(model: Any, i: int, X: Any, y: Any, weight: Any) -> Start:
    """Survey one block."""
    n = _check_lengths(X, y, weight)
    if not n:
        return Start(i, None, None, (0,))
    survey = model.survey(X, y, weight)
    return Start(i, survey, (taken(X, np.arange(1)), taken(y, np.arange(1))), (n,))


def joined(first: Start, second: Start) -> Start:
    """What is known of the rows of both."""
    lengths = (*first.lengths, *second.lengths)
    if first.survey is None or second.survey is None:
        some = second if first.survey is None else first
        return Start(some.i, some.survey, some.row, lengths)
    try:
        survey = first.survey.joined(second.survey)
    except ValueError as error:
        raise ValueError(
            f"partitions {first.i + 1} and {second.i + 1} differ. Of the second, {error}"
        ) from error
    return Start(first.i, survey, first.row, lengths)


def rows_at(places: Any, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Some rows of one block, with their weights."""
    return taken(X, places), taken(y, places), None if weight is None else taken(weight, places)


def gather(
    model: Any, n_rows: int | None, device: Any, before: Any, options: Any, X: Any, y: Any, w: Any
) -> Any:
    """A model that has gathered the rows of one block, after those of others."""
    gathered = copy(before) if before is not None else model.gathering(n_rows)
    if before is None and device is not None:
        gathered.to(device)
    if not _check_lengths(X, y, w):
        return gathered
    return gathered.partial_fit(X, y, sample_weight=w, **options)


def merge(first: Any, second: Any) -> Any:
    """Two gathered models as one, in the memory of the host."""
    if second.n_samples_seen_ == 0 or first.n_samples_seen_ == 0:
        return first if second.n_samples_seen_ == 0 else second
    return copy(first).to("cpu").merge(copy(second).to("cpu"))


def join(model: Any, gathered: Any, device: Any) -> Any:
    """The model with the rows of a gathered one, computed on a device; None if digits were lost."""
    learned = copy(model).to(device)
    return learned.to("cpu") if learned.join(copy(gathered).to(device)) else None


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


def _check_lengths(X: Any, y: Any, weight: Any) -> int:
    n = int(X.shape[0])
    if not hasattr(y, "shape"):
        raise ValueError(f"y: expected blocks that are arrays, got {type(y).__name__}.")
    check_length("y", int(y.shape[0]), n)
    if weight is not None:
        check_length("sample_weight", int(weight.shape[0]), n)
    return n
