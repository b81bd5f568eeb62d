"""An estimator that learns single rows in place: from inputs to a prediction in one call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isnan, nan
from typing import Any

import numpy as np

from ..backend import Array
from ..compiled import Kernels, Unavailable
from ..layers import matrix_of
from ..solvers import Algorithm, Live
from .fitted import FittedELM
from .hidden import HiddenMap
from .targets import NumericTargets

# Numbers in the weights of a layer of which a copy is kept for the kernels.
_MOST_WEIGHTS = 1 << 20

# Rows after which it is asked whether parameters of `solver_` were set to others.
_ROWS_BETWEEN_LOOKS = 128


class LiveELM:
    """What was learned, in the arrays of the kernels.

    Parameters
    ----------
    fitted : FittedELM
        After the warm-up, without pending rows.
    live : Live
        What its solver has learned.
    activations : function
        The activations of one row of inputs, or a ValueError, for rows that are no arrays of the
        right kind and layers that kernels do not know.
    """

    def __init__(
        self, fitted: FittedELM, live: Live, activations: Callable[[HiddenMap, Any], Array]
    ) -> None:
        self._fitted = self._last = fitted
        self._live = live
        self._activations = activations
        targets, kernels = fitted.targets, live.kernels
        single, work = targets.n_outputs == 1, live.work.array
        layer = _layer_of(kernels, fitted.hidden)
        self._predict = self._learn = None
        if layer is not None:
            learn = kernels.learn_input if single else kernels.learn_input_outputs
            self._predict = partial(kernels.predict_input, work, layer)
            self._learn = partial(learn, work, layer)
        self._number = live.number if isinstance(targets, NumericTargets) and targets.flat else None
        self._unit, self._centre = 1.0, 0.0
        scaling = targets.scaling
        self._has_unit = self._number is not None and scaling.unit is not None
        if self._has_unit:
            self._unit = float(scaling.unit[0])  # type: ignore[index]
            self._centre = float(scaling.centre[0])  # type: ignore[index]

    @classmethod
    def start(
        cls, fitted: FittedELM, activations: Callable[[HiddenMap, Any], Array]
    ) -> LiveELM | None:
        """Go on from a value; None where rows must be learned otherwise."""
        if fitted.warmup is not None:
            return None
        single = fitted.targets.n_outputs == 1
        live = Live.start(fitted.solver, single=single, looks=_ROWS_BETWEEN_LOOKS)
        try:
            return None if live is None else cls(fitted, live, activations)
        except Unavailable:
            return None

    def renew(self, fitted: FittedELM) -> bool:
        """Go on from another value with the same layer and targets; False if that is not possible.

        Nothing has changed then.
        """
        mine = self._fitted
        same = mine.hidden is fitted.hidden and mine.targets is fitted.targets
        if not same or not self._live.renew(fitted.solver):
            return False
        self._fitted = fitted
        return True

    def predicted(self, x: Any) -> Any:
        """The prediction for one row; None where it must be found otherwise."""
        try:
            value = nan if self._predict is None else self._predict(x)
        except TypeError:  # not an array of this dtype
            value = nan
        if isnan(value):
            value = self._live.predict(self._activations(self._fitted.hidden, x))
            if isnan(value):
                return None
        if self._number is None:
            return self._fitted.targets.decode_one(self._live.outputs)
        return self._number(value * self._unit + self._centre if self._has_unit else value)

    def learned(self, x: Any, y: Any) -> bool:
        """Learn one row; False where it must be learned otherwise."""
        if self._learn is not None:
            target = y
            if self._number is None:
                target = self._fitted.targets.encode_one(y)
                if target is None:  # a new label
                    return False
            try:
                if self._has_unit:
                    target = (y - self._centre) / self._unit
                status = self._learn(x, target)
            except (TypeError, OverflowError):  # not an array of this dtype, or not a number
                status = None
            if status == 0:
                return True
        target = self._fitted.targets.encode_one(y)
        if target is None:
            return False
        return self._live.learned(self._activations(self._fitted.hidden, x), target)

    def goes_on(self, algorithm: Algorithm) -> bool:
        """Whether more rows can be learned here, with the parameters as they are now."""
        return self._live.goes_on(algorithm)

    @property
    def n_seen(self) -> int:
        """How many rows were seen."""
        return self._live.n_seen

    def fitted(self) -> FittedELM:
        """What was learned, as an immutable value."""
        solver, last = self._live.fitted(), self._last
        if solver is not last.solver:
            self._last = last = self._fitted._replace(solver=solver)
        return last

    def close(self, fitted: FittedELM | None = None) -> bool:
        """Learn no more rows, unless any was learned since `fitted` was read; whether it is so."""
        return self._live.close(None if fitted is None else fitted.solver)


def _layer_of(kernels: Kernels, hidden: HiddenMap) -> Array | None:
    """The array of a layer for the kernels; None where they cannot do what it does."""
    layout, found = kernels.layout, matrix_of(hidden.layer)
    if found is None or hidden.n_direct or found.weights.size > _MOST_WEIGHTS:
        return None
    activation = layout.ACTIVATIONS.get(found.activation)
    if activation is None:
        return None
    n, M = found.weights.shape
    at = layout.layer_places(n, M)
    array = np.zeros(at.end)
    array[layout.N_INPUTS], array[layout.N_UNITS], array[layout.ACTIVATION] = n, M, activation
    array[at.weights : at.x] = found.weights.ravel()
    if found.bias is not None:
        array[at.bias : at.weights] = found.bias
    if hidden.scaling.unit is not None:
        array[layout.HAS_UNIT] = 1.0
        array[at.unit : at.bias] = hidden.scaling.unit
        if hidden.scaling.centre is not None:
            array[at.centre : at.unit] = hidden.scaling.centre
    return array
