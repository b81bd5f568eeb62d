"""What an estimator must know of all rows of a collection before workers add them up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import dask
import numpy as np

from ..elm.columns import Survey
from ..elm.starting import looks_at_rows, places_for_layer, survey_of
from ..validation import check_something_counts
from ._blocks import Blocks
from ._cluster import as_tree, compute
from ._work import NO_ROWS, checked_length, stacked, taken


@dataclass(frozen=True)
class Look:
    """What is known of some blocks, the first of which is block i.

    Attributes
    ----------
    i : int
    survey : Survey or None
        Of all their rows; None if there are none.
    row : tuple or None
        The first row and its target.
    lengths : tuple of int
        How many rows each block has.
    """

    i: int
    survey: Survey | None
    row: tuple[Any, Any] | None
    lengths: tuple[int, ...]


def look_at(client: Any, model: Any, blocks: Blocks) -> Look:
    """Look at all rows; a ValueError if there is nothing to learn."""
    tasks = [blocks.apply(partial(_looked_at, model, i), i) for i in range(blocks.n)]
    look: Look = compute(client, as_tree(tasks, _joined))
    if look.survey is None:
        raise ValueError(NO_ROWS)
    check_something_counts(np.array([look.survey.count]))
    return look


def _looked_at(model: Any, i: int, X: Any, y: Any, weight: Any) -> Look:
    n = checked_length(X, y, weight)
    if not n:
        return Look(i, None, None, (0,))
    row = taken(X, np.arange(1)), taken(y, np.arange(1))
    return Look(i, survey_of(model, X, y, weight), row, (n,))


def _joined(first: Look, second: Look) -> Look:
    lengths = (*first.lengths, *second.lengths)
    if first.survey is None or second.survey is None:
        some = second if first.survey is None else first
        return Look(some.i, some.survey, some.row, lengths)
    try:
        both = first.survey.joined(second.survey)
    except ValueError as error:
        raise ValueError(
            f"partitions {first.i + 1} and {second.i + 1} differ. Of the second, {error}"
        ) from error
    return Look(first.i, both, first.row, lengths)


def rows_for_layer(client: Any, model: Any, blocks: Blocks, look: Look) -> tuple[Any, ...]:
    """The rows that the hidden layer is fitted to or chosen from."""
    assert look.survey is not None
    if not looks_at_rows(model):
        assert look.row is not None
        return look.row
    places = places_for_layer(model, look.survey.n, len(look.survey.inputs.low))
    return rows_at(client, places, blocks, look)


def rows_at(client: Any, places: Any, blocks: Blocks, look: Look) -> tuple[Any, ...]:
    """Rows at these places among all: inputs, targets and, where there are any, weights."""
    ends = np.cumsum(look.lengths)
    cuts = np.searchsorted(places, ends)
    parts = []
    for i, (begin, end) in enumerate(zip([0, *cuts[:-1]], cuts, strict=True)):
        if end > begin:
            inside = places[begin:end] - (ends[i] - look.lengths[i])
            parts.append(blocks.apply(partial(_rows_of_block, inside), i))
    found = compute(client, dask.delayed(list)(parts))
    X, y, weight = zip(*found, strict=True)
    rows = stacked(list(X)), stacked(list(y))
    return rows if weight[0] is None else (*rows, stacked(list(weight)))


def _rows_of_block(places: Any, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    return taken(X, places), taken(y, places), None if weight is None else taken(weight, places)
