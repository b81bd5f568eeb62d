"""Single rows: learned in place by compiled kernels, without the checks of whole tables."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from ..backend import Array
from ..compiled import Kernels
from ..devices import is_tensor
from ..layers import SpanLayer, matrix_of
from ..solvers import NEVER, InPlace
from ..threads import new_lock
from .calibration import rows_until_bound, window_at
from .fitted import Fitted
from .hidden import HiddenMap

# Numbers in the weights of a layer of which a copy is kept for the kernels.
_MOST_WEIGHTS = 1 << 20


class LiveRows:
    """The arrays into which kernels learn rows of inputs, and the layer that they apply.

    Parameters
    ----------
    fitted : Fitted
        A value without pending rows.
    arrays : InPlace
        Those of its solver.
    """

    def __init__(self, fitted: Fitted, arrays: InPlace) -> None:
        self.start_value = self._last = fitted
        self._arrays = arrays
        self._hidden, self._targets = fitted.hidden, fitted.targets
        self._calibrates = fitted.calibration is not None and window_at(fitted.n_seen) is not None
        self._losses: Any = 0.0  # the log losses of rows of a calibration window
        self._lock = new_lock()

    @classmethod
    def start(cls, fitted: Fitted) -> LiveRows | None:
        """Fill arrays from a fitted value; None if kernels cannot learn rows for this value.

        They do not learn rows that are kept in a warm-up, that may need one more unit, or that do
        not count once.
        """
        weighted = getattr(fitted.targets, "weighted_labels", None) is not None
        grows = isinstance(fitted.hidden.layer, SpanLayer)
        if grows or weighted or fitted.warmup is not None:
            return None
        single, n_seen = fitted.targets.n_outputs == 1, fitted.n_seen
        limit = NEVER if fitted.calibration is None else rows_until_bound(n_seen)
        layer = partial(_layer_of, fitted.hidden)
        arrays = InPlace.start(fitted.solver, single=single, limit=limit, layer=layer)
        return None if arrays is None else cls(fitted, arrays)

    @property
    def n_seen(self) -> int:
        """Number of rows the model has learned, before and since the arrays were filled."""
        return self._arrays.n_seen

    @property
    def array(self) -> Array:
        """The array of the kernels."""
        return self._arrays.array

    def close(self) -> Fitted:
        """Refuse all further rows, and return the learned rows as an immutable value."""
        self._arrays.close()
        return self.fitted()

    def fitted(self) -> Fitted:
        """The learned model, as an immutable value."""
        with self._lock:
            solver, last, start = self._arrays.fitted(), self._last, self.start_value
            if solver is not last.solver:
                last = last._replace(solver=solver)
                if self._calibrates and start.calibration is not None:
                    n = solver.n_seen - start.n_seen
                    after = start.calibration.after(start.n_seen, self._losses, n)
                    last = last._replace(calibration=after)
                self._last = last
            return last

    def predicted(self, x: Any) -> Any:
        """The prediction for one row; None where kernels cannot predict it."""
        output = self._arrays.outputs(x) if self._arrays.has_layer else None
        output = self.outputs(x) if output is None else output
        return None if output is None else self._targets.decode_one(output)

    @cached_property
    def sharpness(self) -> float:
        """Return the factor of scores of classes before the softmax."""
        return self.start_value.sharpness()

    def outputs(self, x: Any) -> Any:
        """Predict the outputs for one row, one output as a number; None if kernels cannot."""
        arrays = self._arrays
        if not arrays.has_layer:
            return arrays.outputs(self._hidden.activations_one(x))
        output = arrays.outputs(x)
        return arrays.outputs(self._checked(x)) if output is None else output

    def learned(self, x: Any, y: Any) -> int:
        """Learn one row; return 0, 1 if ε or a floor is due after the row, -1 if kernels cannot."""
        target = None if is_tensor(x) or is_tensor(y) else self._targets.encode_one(y)
        if target is None:  # also a label that is new, or none
            return -1
        if not self._calibrates:
            return self._learned(x, target)
        with self._lock:
            scores = self.outputs(x)
            status = self._learned(x, target)
            if status >= 0 and scores is not None:
                losses = self._targets.log_losses(
                    np.atleast_1d(scores)[None], np.asarray([y]), None
                )
                self._losses = self._losses + losses
            return status

    def _learned(self, x: Any, target: Any) -> int:
        arrays = self._arrays
        if not arrays.has_layer:
            return arrays.learned(self._hidden.activations_one(x), target)
        status = arrays.learned(x, target)
        return status if status >= 0 else arrays.learned(self._checked(x), target)

    def _checked(self, x: Any) -> Array:
        """A row that is perhaps no array of the dtype of the kernels as such an array."""
        return np.asarray(self._hidden.checked_one(x), self._hidden.dtype)


def _layer_of(hidden: HiddenMap, kernels: Kernels) -> Array | None:
    """Return the layer as an array for the kernels; None if kernels cannot compute the layer."""
    layout, matrix = kernels.layout, matrix_of(hidden.layer)
    if matrix is None or hidden.n_direct or matrix.weights.size > _MOST_WEIGHTS:
        return None
    activation = layout.ACTIVATIONS.get(matrix.activation)
    if activation is None:
        return None
    n, M = matrix.weights.shape
    at = layout.layer_places(n, M)
    array = np.zeros(at.end)
    array[layout.N_INPUTS], array[layout.N_UNITS], array[layout.ACTIVATION] = n, M, activation
    array[layout.N_TANH], array[layout.N_RELU] = matrix.n_tanh, matrix.n_relu
    array[layout.SIZE_OF_TANH] = matrix.size
    array[at.weights : at.x] = matrix.weights.ravel()
    if matrix.bias is not None:
        array[at.bias : at.weights] = matrix.bias
    if hidden.scaling.unit is not None:
        array[layout.HAS_UNIT] = 1.0
        array[at.unit : at.bias] = hidden.scaling.unit
        if hidden.scaling.centre is not None:
            array[at.centre : at.unit] = hidden.scaling.centre
    return array
