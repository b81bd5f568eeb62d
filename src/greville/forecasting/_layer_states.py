"""States of a layer that remembers, along a series."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ..backend import Array
from ._learner import FIRST_ROWS

# Products of numbers up to this one can be squared and summed up.
_LARGEST = 1e6


def check_layer(layer: Any) -> None:
    """Raise a ValueError unless layer is None or follows the rows of a sequence."""
    if layer is not None and (isinstance(layer, type) or not hasattr(layer, "advance")):
        raise ValueError(f"layer={layer!r}: pass a ReservoirLayer, a LagLayer, or None.")


class LayerStates:
    """The units of a layer at each time, and the inputs of the layer beside them.

    Its inputs are the series and the other columns, around the means and in units of the standard
    deviations of the first rows, `FIRST_ROWS` of them: only then does it begin, with these.

    All methods replace attributes and change none in place.
    """

    def __init__(self, layer: Any, n_columns: int, random_state: Any) -> None:
        self._layer = clone(layer)
        if self._layer.get_params().get("random_state", 0) is None:
            self._layer.set_params(random_state=random_state)
        self._layer.fit(np.zeros((1, n_columns)))
        self._sample = np.empty((0, n_columns))
        self._centre, self._unit = np.zeros(n_columns), np.ones(n_columns)

    def stateful_parts(self) -> list[Any]:
        """The objects whose attributes are replaced."""
        return [self, self._layer]

    @property
    def n_features(self) -> int:
        return int(self._layer.n_hidden_) + self._sample.shape[1]

    def advance(self, rows: Array) -> Array:
        """Return features at the next times; NaN where a row is, and before the layer begins."""
        features = np.full((len(rows), self.n_features), np.nan)
        times = np.flatnonzero(np.isfinite(rows).all(axis=1))
        if len(self._sample) < FIRST_ROWS:
            taken = times[: FIRST_ROWS - len(self._sample)]
            times = times[len(taken) :]
            self._sample = np.vstack([self._sample, rows[taken]])
            if len(self._sample) == FIRST_ROWS:
                spread = self._sample.std(axis=0)
                self._centre = self._sample.mean(axis=0)
                self._unit = np.where(spread > 0, spread, 1.0)
                self._layer.advance(self._scaled(self._sample))
        if len(times):
            inputs = self._scaled(rows[times])
            features[times] = np.hstack([inputs, self._layer.advance(inputs)])
        return features

    def _scaled(self, rows: Array) -> Array:
        return np.clip((rows - self._centre) / self._unit, -_LARGEST, _LARGEST)
