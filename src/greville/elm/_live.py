"""An estimator that learns single rows in place: from inputs to a prediction in one call."""

from __future__ import annotations

from contextlib import suppress
from math import isnan, nan
from typing import Any

import numpy as np

from ..backend import Array
from ..compiled import Kernels, Unavailable, announce_compiling
from ..layers import matrix_of
from ..solvers import NEVER, InPlace
from ..validation import NUMBERS, largest_square
from .calibration import rows_until_window, window_at
from .chunk import Chunk
from .fitted import FittedELM
from .hidden import HiddenMap
from .targets import NumericTargets

# Numbers in the weights of a layer of which a copy is kept for the kernels.
_MOST_WEIGHTS = 1 << 20

# Of targets as they are passed, which are float64.
_LARGEST_SQUARE = largest_square(np.float64)


# What is known before a row, how many rows are seen with it, and what is known then.
_Values = tuple[FittedELM, int, FittedELM]


class LiveELM:
    """The arrays into which kernels learn rows of inputs, and the layer that they apply.

    Parameters
    ----------
    fitted : FittedELM
        A value without pending rows.
    live : InPlace
        The arrays of its solver.
    model : ELM
    """

    def __init__(self, fitted: FittedELM, live: InPlace, model: Any) -> None:
        self._last = fitted
        self._values: _Values = fitted, 0, fitted
        self.hidden = fitted.hidden
        self.targets = targets = fitted.targets
        self.solver = model.solver  # the parameter
        self._live = live
        self._single = live.single
        self._layer = _layer_of(live.kernels, fitted.hidden)
        flat = isinstance(targets, NumericTargets) and targets.flat
        self._number = live.number if flat else None
        self._unit, self._centre = 1.0, 0.0
        scaling = targets.scaling
        self._has_unit = flat and scaling.unit is not None
        if self._has_unit:
            self._unit = float(scaling.unit[0])
            self._centre = float(scaling.centre[0])

    def __getattr__(self, name: str) -> Any:
        """The kernels that take inputs, compiled when they are first called; None without any."""
        if name not in ("_predict", "_learn"):
            raise AttributeError(name)
        live, layer = vars(self)["_live"], vars(self)["_layer"]
        bound = None
        with suppress(Unavailable):
            if layer is not None:
                bound = live.kernel(name[1:], layer)
        vars(self)[name] = bound
        return bound

    @classmethod
    def start(cls, fitted: FittedELM, model: Any) -> LiveELM | None:
        """The arrays of a value; None where kernels cannot learn its rows."""
        if getattr(model, "verbose", False):
            announce_compiling()
        if getattr(fitted.targets, "weighted_labels", None) is not None:
            return None  # kernels learn rows that count once
        single = fitted.targets.n_outputs == 1
        limit = _max_rows(fitted, fitted.n_seen)
        live = InPlace.start(fitted.solver, single=single, limit=limit)
        return None if live is None else cls(fitted, live, model)

    def close(self) -> FittedELM:
        """Refuse all further rows, and make a value of those that were learned."""
        self._live.close()
        return self.fitted()

    # For the thread that learns

    @property
    def start_value(self) -> FittedELM:
        """What is known beside what the solver has learned."""
        before, n_seen, after = self._values
        return after if self.n_seen >= n_seen else before

    @property
    def is_measured_next(self) -> bool:
        """Whether the first rows are measured again after the next one."""
        warmup = self.start_value.warmup
        return warmup is not None and warmup.n_until_due <= 1

    def learned_row(self, x: Any, y: Any, h: Array, target: Any) -> bool:
        """Learn one row by its activations; False where kernels cannot learn it.

        Its activations and encoded target are h and `target`. Rows of a warm-up are kept, and
        scores before rows of a window say how sharp probabilities are.
        """
        if self.is_measured_next:
            return False
        losses, values, value, seen = None, self._values, self.start_value, self.n_seen
        if value.calibration is not None and window_at(seen) is not None:
            scores = self._live.predicted(h)
            if scores is None:
                return False
            scores, label = np.reshape(scores, (1, -1)), self.targets.one_of_chunk(y)
            losses = value.targets.log_losses(scores, label, None)
        after = value
        if losses is not None and value.calibration is not None:
            after = after._replace(calibration=value.calibration.after(seen, losses, 1))
        if value.warmup is not None:
            row = Chunk(np.asarray(x)[None], self.targets.one_of_chunk(y)).on_host_if_finite()
            rows = value.warmup.rows.joined(row)
            warmup = value.warmup.with_rows(rows, rows.n)
            after = after._replace(warmup=None if warmup.is_over else warmup)
        if not self._learned_with(values, (value, seen + 1, after), h, target):
            return False
        self._live.allow(_max_rows(self.start_value, self.n_seen))
        return True

    def _learned_with(self, before: _Values, new: _Values, h: Array, target: Any) -> bool:
        """Learn a row, with which other values count; False also if a signal handler learned one.

        No signal is handled between a check and the line below it, which calls nothing of Python.
        """
        try:
            learn = self._live.learn
            if self._values is not before:
                return False
            self._values = new
            self._live.allow(1)
            if self._values is not new:
                return False
            status = learn(h, target)
        except self._live.kernels.refusals:  # as above, or not a number
            return False
        return bool(status >= 0)

    # For any thread

    @property
    def n_seen(self) -> int:
        """How many rows the model has learned, with those before the arrays were filled."""
        return self._live.n_seen

    @property
    def array(self) -> Array:
        """The array of the kernels."""
        return self._live.array

    def predicted(self, x: Any) -> Any:
        """The prediction for one row; None where kernels cannot predict it."""
        if not self._single:
            return self._predicted_outputs(x)
        try:
            value = nan if self._predict is None else self._predict(x)
        except self._live.kernels.refusals:  # not an array of this dtype
            value = nan
        if isnan(value):
            value = self._live.predicted(self.hidden.activations_one(x))
            if value is None:
                return None
        if self._number is None:
            return self.targets.decode_one(np.array([value]))
        return self._number(value * self._unit + self._centre if self._has_unit else value)

    def _predicted_outputs(self, x: Any) -> Any:
        out: Any = np.empty(self.targets.n_outputs)
        try:
            found = self._predict is not None and not isnan(self._predict(out, x))
        except self._live.kernels.refusals:  # as above
            found = False
        if not found:
            out = self._live.predicted(self.hidden.activations_one(x))
        return None if out is None else self.targets.decode_one(out)

    def learned(self, x: Any, y: Any) -> int:
        """Learn one row: 0, or 1 where `is_due` holds then; -1 where kernels cannot learn it."""
        if self._learn is None:
            return -1
        target = y
        if self._number is None:
            target = self.targets.encode_one(y)
        elif self._has_unit:
            if not isinstance(y, NUMBERS):
                return -1
            number = float(y)
            if not number * number < _LARGEST_SQUARE:
                return -1
            target = (number - self._centre) / self._unit
        try:
            return int(self._learn(x, target))
        except self._live.kernels.refusals:  # as above, or not a number
            return -1

    @property
    def is_due(self) -> bool:
        """Whether `fitted` will choose ε, or add a floor, after the last row."""
        return self._live.is_due

    def fitted(self) -> FittedELM:
        """What was learned, as an immutable value."""
        values, solver, last = self._values, self._live.fitted(), self._last
        while values is not self._values:  # another thread has learned a row
            values, solver = self._values, self._live.fitted()
        if solver is not last.solver:
            before, n_seen, after = values
            value = after if solver.n_seen >= n_seen else before
            self._last = last = value._replace(solver=solver)
        return last


def _max_rows(fitted: FittedELM, n_seen: int) -> int:
    """How many rows kernels may learn before one that is kept or scored.

    Those of the warm-up are kept, and those of some windows say how sharp probabilities are.
    """
    if fitted.warmup is not None:
        return 0
    if fitted.calibration is None:
        return NEVER
    return 0 if window_at(n_seen) is not None else rows_until_window(n_seen)


def _layer_of(kernels: Kernels, hidden: HiddenMap) -> Array | None:
    """The array of a layer for the kernels; None where they cannot compute it."""
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
    array[layout.N_TANH], array[layout.N_RELU] = found.n_tanh, found.n_relu
    array[layout.SIZE_OF_TANH] = found.size
    array[at.weights : at.x] = found.weights.ravel()
    if found.bias is not None:
        array[at.bias : at.weights] = found.bias
    if hidden.scaling.unit is not None:
        array[layout.HAS_UNIT] = 1.0
        array[at.unit : at.bias] = hidden.scaling.unit
        if hidden.scaling.centre is not None:
            array[at.centre : at.unit] = hidden.scaling.centre
    return array
