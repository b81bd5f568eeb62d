"""Choice of the hidden layer: by the evidence of some rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .. import backend
from ..backend import Array
from ..layers import ColumnSummary, RandomLayer, TableLayer, rows_apart
from .examples import Examples
from .hidden import HiddenMap
from .units import Columns, Scaling

# With more inputs a layer is not chosen: they are pixels, words or samples of a signal.
_MOST_INPUTS = 100

# From how many rows it is chosen, at most and at least.
_MOST_ROWS, _LEAST_ROWS = 1000, 20

# How many units layers have that are compared, or four times the inputs if that is more.
_UNITS, _UNITS_PER_INPUT = 200, 4

# A `TableLayer` has at least two units for each row, rounded up to 100, 200, 400 or 800: more do
# no harm there, and one draw is then about as good as another.
_UNITS_PER_ROW, _UNITS_OF_FEW, _MOST_UNITS_OF_FEW = 2, 100, 800

# What learning a layer may take, in rows times units times units: about 100 s on two slow cores. Of
# more units those are learned with which some rows are explained: 1600 of 3200 know nearly as much
# (R² 0.862 and 0.868 on steps, 0.886 and 0.878 on waves, 0.511 and 0.550 on faster ones, of 100,000
# rows), and much more than 1600 as they are drawn (0.838, 0.826, 0.457). And the fewest of them.
_MOST_PRODUCTS, _LEAST_OF_MANY = 2e12, 800

# By how much, for each row, the evidence for units that see all inputs must be larger. Where it is
# smaller, as with noise, units that see a few inputs are better on tables that were not learned.
_LEAST_ADVANTAGE = 0.1

# A stream chooses its units, from so many rows on, out of twelve times as many, by so many rows. On
# Friedman's data 200 units out of 800 err by 1.29 (0.12 from draw to draw), out of 2400 by 1.16
# (0.03); on steps by 0.51 and 0.46. Twice the rows change the third digit, and take 0.2 s.
_ROWS_TO_CHOOSE_UNITS, _CANDIDATES_PER_UNIT, _MOST_ROWS_OF_STREAM = 256, 12, 512

# Ridges that are tried for that, as parts of the sum of squares of all activations.
_RIDGES = np.geomspace(1e-7, 0.1, 7)


def is_for_choosing(n_inputs: int) -> bool:
    """Whether there is more than one layer to choose from."""
    return n_inputs <= _MOST_INPUTS


def places_for_choosing(n_rows: int) -> Array:
    """Return the indices of the rows that a layer is chosen from: at equal distances."""
    return rows_apart(n_rows, _MOST_ROWS)


def chosen_layer(
    dense: RandomLayer,
    solver: Any,
    scaling: Scaling,
    targets: Any,
    columns: Columns,
    rows: Examples,
    n_rows: float,
) -> RandomLayer | TableLayer:
    """The layer that explains some rows best, fitted: a `TableLayer`, or one like `dense`.

    Parameters
    ----------
    dense : RandomLayer
        Not fitted.
    solver : Opium
        That chooses epsilon; not fitted.
    scaling : Scaling
        The units of the inputs.
    targets : Targets
    columns : Columns
        The inputs of all rows.
    rows : Chunk
        Those at `places_for_choosing`.
    n_rows : float
        How many there will be, as they count. Of very many, fewer units are learned, so that it
        takes no hours: those with which the rows at hand are explained.
    """
    n_inputs, dtype = rows.X.shape[1], targets.dtype
    n = rows.n if rows.weight is None else float(rows.weight.sum())  # as they count
    if n < _LEAST_ROWS:
        return _fitted(dense, n_inputs, dtype)
    rows, summary = rows.on_host(), _in_units(columns, scaling)
    units = min(int(dense.n_hidden), max(_UNITS, _UNITS_PER_INPUT * n_inputs))

    def evidence(layer: Any) -> float:
        H = HiddenMap(scaling, layer, n_inputs, dtype).activations(rows.X, rows.weight)
        Y = targets.encode(rows.y)(slice(0, rows.n))
        learned = clone(solver).set_params(device="cpu").fit(H, Y, rows.weight)
        try:
            return float(learned.path().evidence.max())
        except ValueError:  # the rows do not differ
            return -np.inf

    # With seeds of their own: which kind it is does not depend on the seed.
    few = evidence(TableLayer(units, random_state=0).fit_to_columns(summary, dtype))
    all_inputs = RandomLayer(units, bias=True, random_state=0)
    every = evidence(_fitted(all_inputs, n_inputs, dtype))
    affordable = max(_LEAST_OF_MANY, int(np.sqrt(_MOST_PRODUCTS / max(n, n_rows))))
    if few == -np.inf or every > few + _LEAST_ADVANTAGE * n:
        dense.set_params(n_hidden=min(int(dense.n_hidden), affordable))
        return _fitted(dense, n_inputs, dtype)
    size = max(int(dense.n_hidden), _least_size(n_rows))
    chosen = TableLayer(size, random_state=dense.random_state).fit_to_columns(summary, dtype)
    return chosen if size <= affordable else _useful(chosen, affordable, scaling, targets, rows)


def stream_layer(
    size: int, seed: Any, scaling: Scaling, targets: Any, columns: Columns, rows: Examples
) -> RandomLayer | TableLayer:
    """Fit the layer of a stream to its first rows: keep the units that explain these best.

    Parameters
    ----------
    size : int
        How many units it has.
    seed : int, RandomState or None
    scaling, targets, columns, rows
        As for `chosen_layer`.
    """
    n_inputs, dtype = rows.X.shape[1], targets.dtype
    if rows.n < _LEAST_ROWS or not is_for_choosing(n_inputs):
        return _fitted(RandomLayer(size, bias=True, random_state=seed), n_inputs, dtype)
    summary = _in_units(columns, scaling)
    if rows.n < _ROWS_TO_CHOOSE_UNITS:
        return TableLayer(size, random_state=seed).fit_to_columns(summary, dtype)
    layer = TableLayer(_CANDIDATES_PER_UNIT * size, random_state=seed)
    layer.fit_to_columns(summary, dtype)
    rows = rows.at(rows_apart(rows.n, _MOST_ROWS_OF_STREAM))
    return _useful(layer, size, scaling, targets, rows.on_host())


def _useful(
    layer: TableLayer, size: int, scaling: Scaling, targets: Any, rows: Examples
) -> TableLayer:
    """Select the units of a layer that explain most of some rows' targets, and all inputs."""
    H = HiddenMap(scaling, layer, rows.X.shape[1], targets.dtype).activations(rows.X, rows.weight)
    Y = targets.encode(rows.y)(slice(0, rows.n))
    share = np.sqrt((_ridge_weights(H, Y, rows.weight) ** 2).sum(axis=1)) * H.std(axis=0)
    share[layer.n_tanh_ + layer.n_relu_ :] = np.inf  # the inputs themselves
    return layer.select(np.sort(np.argsort(-share, kind="stable")[:size]))


def _ridge_weights(H: Array, Y: Array, weight: Array | None) -> Array:
    """Weights with the ridge of the largest evidence: few rows of many units, by their kernel."""
    b, n = backend.default(), len(H)
    root = np.ones(n) if weight is None else np.sqrt(weight)
    H, Y = (np.asarray(A, np.float64) for A in (H, Y))
    H, Y = ((A - root**2 @ A / (root @ root)) * root[:, None] for A in (H, Y))
    kernel, best, weights = b.matmul(H, H.T), np.inf, np.zeros((H.shape[1], Y.shape[1]))
    for ridge in _RIDGES * max(float(np.trace(kernel)), 1e-300):
        R = b.root_with_ridge(kernel, ridge)
        if R is None:
            continue
        seen = b.solve(R, Y, transposed=True)
        size = np.log(np.maximum(ridge * b.column_squares(seen), 1e-300)).sum()
        spread = 2 * np.log(np.diagonal(R)).sum() - n * np.log(ridge)
        if n * size + Y.shape[1] * spread < best:
            best = n * size + Y.shape[1] * spread
            weights = b.matmul(H.T, b.solve(R, seen))
    return weights


def _least_size(n_rows: float) -> int:
    size = _UNITS_OF_FEW
    while size < min(_MOST_UNITS_OF_FEW, _UNITS_PER_ROW * n_rows):
        size *= 2
    return size


def _fitted(layer: RandomLayer, n_inputs: int, dtype: Any) -> RandomLayer:
    return layer.fit(np.zeros((1, n_inputs), dtype))


def _in_units(columns: Columns, scaling: Scaling) -> ColumnSummary:
    """Return the summary of the inputs' columns, scaled as the layer gets the inputs."""
    n = len(columns.mean)
    centre = np.zeros(n) if scaling.centre is None else scaling.centre
    unit = np.ones(n) if scaling.unit is None else scaling.unit
    ends = columns.mean, columns.low, columns.high
    mean, low, high = ((end - centre) / unit for end in ends)
    return ColumnSummary(mean, columns.std / unit, low, high)
