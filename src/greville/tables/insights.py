"""Which columns of a table matter to a model, and how."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..anatomy import anatomy_of
from ..insight import Effect, Importance, Why, effect_of, grid_of, importance_of, why_of
from ._sample import sampled
from ._values import Values
from .batch import Batch, TableError, listed
from .kinds import Column, Flag, Text, Time

Shares = dict[str, float]

# Rows of a sample that are looked at, and categories of a column.
MOST_ROWS, _MOST_VALUES, _MOST_OF_TWO = 2000, 24, 10


def table_importance(
    model: Any, batches: Iterable[Batch] | None, earlier: Iterable[Batch] | None = None
) -> Importance:
    """The importance of each column to a `TableModel`, at some rows where there are any."""
    groups = model.schema.places
    X, before = (None if rows is None else encoded(model, rows) for rows in (batches, earlier))
    return importance_of(_estimator(model), X, list(groups.values()), list(groups), before)


def table_effect(model: Any, columns: Sequence[str], batches: Iterable[Batch]) -> Effect:
    """The effect of one or two columns on the predictions of a `TableModel`."""
    schema = model.schema
    used = {column.name: column for column in schema.used}
    for name in columns:
        if name not in used:
            raise TableError(f"column={name!r}: the model uses {listed(list(used))}.")
    kept = sampled(batches, MOST_ROWS)[0]
    most = _MOST_VALUES if len(columns) == 1 else _MOST_OF_TWO
    grids = [_grid(used[name], kept, most) for name in columns]
    places, inputs = schema.places, []
    for name, (_, values) in zip(columns, grids, strict=True):
        inputs.append(np.zeros((len(values), len(places[name]))))
        used[name].fill(values, inputs[-1])
    return effect_of(
        _estimator(model),
        encoded(model, kept),
        columns,
        [places[name] for name in columns],
        [shown for shown, _ in grids],
        inputs,
    )


def table_why(model: Any, batch: Batch) -> tuple[Why, dict[int, str]]:
    """Return the columns' shares in the predictions of a batch, and the errors of rows."""
    groups = model.schema.places
    X, wrong = model.schema.encode(batch.with_gaps(model.settings.na))
    X[list(wrong)] = 0
    mean, categories = _mean_row(model, groups)
    X, places = model.schema.with_learned_values(X), list(groups.values())
    return why_of(_estimator(model), X, places, list(groups), mean, categories), wrong


def shares(model: Any, batch: Batch, prediction: NDArray[Any]) -> list[tuple[float, Shares]]:
    """For each row the prediction for the mean row, and the shares of columns, the largest first.

    For classes they are those of the output of the class that is predicted.
    """
    why = table_why(model, batch)[0]
    outputs = np.zeros(len(batch), int)
    if model.classes:
        places = {label: i for i, label in enumerate(model.classes)}
        outputs = np.array([places.get(label, 0) for label in prediction.tolist()])
    return [
        (float(why.base[output]), dict(why.largest(row, len(why.names), int(output))))
        for row, output in enumerate(outputs)
    ]


def reasons(model: Any, batch: Batch, prediction: NDArray[Any]) -> list[str]:
    """For each row the columns with the largest shares of its prediction, as text."""
    return [
        "; ".join(f"{name} {share:+.4g}" for name, share in islice(largest.items(), 3))
        for _, largest in shares(model, batch, prediction)
    ]


def _mean_row(model: Any, groups: dict[str, list[int]]) -> tuple[NDArray[np.float64], list[int]]:
    """Return the inputs of a mean row, and the indices of the inputs of categories."""
    estimator = _estimator(model)
    mean, categories = np.zeros(len(model.schema.inputs)), []
    centre = anatomy_of(estimator).centre
    if centre is not None:
        mean[: len(centre)] = centre
    for column in model.schema.used:
        places = groups[column.name]
        if isinstance(column, Text):
            mean[places] = 0
            mean[places[column.common]] = 1
            categories += places
        elif isinstance(column, Flag):
            mean[places] = np.round(mean[places])
            categories += places
    return mean, categories


def encoded(model: Any, batches: Iterable[Batch]) -> NDArray[np.float64]:
    """Return the inputs of usable rows: of a sample, if there are many rows."""
    parts = []
    for batch in sampled(batches, MOST_ROWS)[0]:
        X, wrong = model.schema.encode(batch.with_gaps(model.settings.na))
        parts.append(np.delete(X, list(wrong), axis=0))
    if not sum(map(len, parts)):
        raise TableError("there are no rows to look at; pass some that the model can predict.")
    return np.concatenate(parts)


def _estimator(model: Any) -> Any:
    if model.estimator is None:
        raise TableError("the model has learned nothing yet; train it first.")
    return model.estimator


def _grid(column: Column, batches: list[Batch], most: int) -> tuple[Any, Values]:
    """Return a grid of a column's values, as people read them and as the column reads them."""
    if isinstance(column, Text):
        names = column.values[:most]
        return np.array(names, object), Values(pa.array(names, pa.large_string()))
    if isinstance(column, Flag):
        return np.array(["false", "true"], object), Values(pa.array([False, True]))
    ordered = [column.ordered(batch.values(column.name)) for batch in batches]
    numbers = [pair[0] for pair in ordered if pair is not None]
    if len(numbers) < len(ordered) or not numbers:
        raise TableError(
            f"column={column.name!r}: it is {column.description()}, and has no order; an effect "
            "needs a column of numbers, dates, or a few values."
        )
    if not np.isfinite(np.concatenate(numbers)).any():
        raise TableError(f"column={column.name!r}: these rows have no value of it; pass others.")
    grid = grid_of(np.concatenate(numbers), most)
    if not isinstance(column, Time):
        return grid, Values(pa.array(grid))
    times = np.round(grid * 86_400).astype("datetime64[s]")
    return times, Values(pa.array(times))
