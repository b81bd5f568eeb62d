"""Products with weights that are zero outside a band of inputs, without most of the zeros."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..backend import Array

# Units in a product: with fewer, the product is slow.
_LEAST_UNITS = 192

# The part of the weights that must be left for the bands to be worth their calls.
_WORTH = 0.8


class Band(NamedTuple):
    """Units beside each other, and inputs beside each other that they see."""

    inputs: slice
    units: slice


def bands_of(weights: Array) -> list[Band] | None:
    """Bands that hold all weights that are not zero; None if they hold most of the matrix.

    Parameters
    ----------
    weights : ndarray of shape (n_features, n_hidden)
        Units that see much the same inputs must be neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.layers.bands import bands_of
    >>> weights = np.zeros((10, 400))
    >>> weights[:5, :200] = weights[5:, 200:] = 1
    >>> bands_of(weights)
    [Band(inputs=slice(0, 5, None), units=slice(0, 200, None)), \
Band(inputs=slice(5, 10, None), units=slice(200, 400, None))]
    """
    n_inputs, n_units = weights.shape
    sees = weights != 0
    first = np.where(sees.any(axis=0), sees.argmax(axis=0), n_inputs)
    last = np.where(sees.any(axis=0), n_inputs - sees[::-1].argmax(axis=0), 0)
    changes = np.flatnonzero((np.diff(first) != 0) | (np.diff(last) != 0)) + 1
    bands, start, numbers = [], 0, 0
    for stop in (*changes.tolist(), n_units):
        rest = n_units - stop
        if (stop - start < _LEAST_UNITS and rest) or 0 < rest < _LEAST_UNITS:
            continue
        low, high = int(first[start:stop].min()), int(last[start:stop].max())
        bands.append(Band(slice(min(low, high), high), slice(start, stop)))
        numbers += (high - min(low, high)) * (stop - start)
        start = stop
    return bands if numbers < _WORTH * weights.size else None
