"""How many hidden units: the one rule for sizes that are chosen, and what fits into memory."""

from __future__ import annotations

from math import ceil, isqrt, log2, sqrt
from typing import Any

import numpy as np

from ..layers import UNITS_PER_INPUT
from ..validation import check_memory

LEAST_UNITS = 100

_UNITS_PER_ROOT_OF_ROWS = 15

# Where sizes are doubled, how many units the number of rows may ask for.
_MOST_UNITS_FOR_ROWS = 2000

# How many units the rows of a stream may ask for: each costs as much as they squared. And units
# that a stream chooses, for its rows and for each input.
_MOST_UNITS_IN_STREAM = 400
_MOST_CHOSEN_UNITS, _CHOSEN_UNITS_PER_INPUT = 200, 4

# Where nothing holds weights back, so many rows for each unit, of the first so many rows; and units
# that there are from the first row on.
_ROWS_PER_UNIT, _MOST_ROWS, _FEWEST_UNITS = 4, 1024, 10

# What a size that is chosen may spend on three matrices of units by units.
_MATRIX_BYTES = 256e6


def hidden_size(
    n_inputs: int, n_rows: int | None = None, *, most: int, doubled: bool = False
) -> int:
    """Ten units for each input, or 15 times the root of the number of rows if that is more.

    Parameters
    ----------
    n_inputs : int
    n_rows : int, optional
        Where it is known.
    most : int
        No more than this; the least is 100.
    doubled : bool
        Whether what the rows ask for is rounded up to 100, 200, 400, ..., so that shards of one
        data set get the same size; from 2000 on it grows no more.

    Examples
    --------
    >>> from greville.elm.sizing import hidden_size
    >>> hidden_size(4, 10_000, most=1000), hidden_size(4, 10_000, most=3000, doubled=True)
    (1000, 1600)
    """
    units = max(LEAST_UNITS, UNITS_PER_INPUT * n_inputs)
    if n_rows is not None and doubled:
        units_for_rows = min(_MOST_UNITS_FOR_ROWS, _UNITS_PER_ROOT_OF_ROWS * sqrt(n_rows))
        doublings = ceil(log2(max(units_for_rows, LEAST_UNITS) / LEAST_UNITS))
        units = max(units, LEAST_UNITS * 2**doublings)
    elif n_rows is not None:
        units = max(units, _UNITS_PER_ROOT_OF_ROWS * isqrt(n_rows))
    return min(units, most)


def stream_size(
    n_inputs: int, n_rows: int, *, most: int, regularised: bool, chosen: bool = False
) -> int:
    """Return the number of units of a stream, while all its first rows are kept.

    A unit more is a column more, of which the past is needed: so the layer grows as long as the
    first rows are kept, and all are learned again with the larger one. After them its size stays.

    Parameters
    ----------
    n_inputs, n_rows : int
    most : int
        No more than this.
    regularised : bool
        Whether the solver can have more units than rows. Without, it gets one for four rows, from
        10 to 256; else `hidden_size`, with at most 400 for the rows.
    chosen : bool
        Whether the units are chosen (`stream_layer`): 100 and then 200, or four for each input.

    Examples
    --------
    >>> from greville.elm.sizing import stream_size
    >>> [stream_size(2, n, most=1000, regularised=True) for n in (1, 32, 64, 256, 4096)]
    [100, 100, 200, 400, 400]
    >>> [stream_size(2, n, most=1000, regularised=False) for n in (1, 64, 256, 4096)]
    [10, 16, 64, 256]
    >>> [stream_size(60, n, most=1000, regularised=True, chosen=True) for n in (1, 4096)]
    [240, 240]
    """
    if chosen:
        for_rows = hidden_size(1, n_rows, most=_MOST_CHOSEN_UNITS, doubled=True)
        return min(most, max(for_rows, _CHOSEN_UNITS_PER_INPUT * n_inputs))
    for_rows = hidden_size(1, n_rows, most=min(most, _MOST_UNITS_IN_STREAM), doubled=True)
    units = max(hidden_size(n_inputs, most=most), for_rows)
    if regularised:
        return units
    return min(units, max(_FEWEST_UNITS, min(n_rows, _MOST_ROWS) // _ROWS_PER_UNIT))


def most_units(dtype: Any) -> int:
    """Return the number of units of which three square matrices take 256 MB."""
    return int(sqrt(_MATRIX_BYTES / (3 * np.dtype(dtype).itemsize)))


def check_size(what: str, n_inputs: int, n_hidden: int, dtype: Any, *, square: bool) -> None:
    """Raise a NotEnoughMemory if layer and solver do not fit into memory, before they are made.

    Measuring the columns takes some arrays of one number a column. A random layer is drawn and
    then transposed; a solver with `square` matrices holds two of units by units.
    """
    matrices = 2.0 * n_hidden**2 * np.dtype(dtype).itemsize if square else 0.0
    check_memory(
        what,
        n_inputs * (16.0 * n_hidden + 64) + matrices,
        "pass fewer units with hidden, or fewer columns.",
    )
