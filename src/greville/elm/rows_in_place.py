"""One row at a time: learned in place by compiled kernels, without the checks of whole tables."""

from __future__ import annotations

import warnings
from functools import cached_property
from math import isnan, nan
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..backend import Array
from ..compiled import Kernels, Unavailable, announce_compiling, usable, worth_loading
from ..devices import is_on_device, is_tensor, on_host, received
from ..layers import matrix_of
from ..solvers import NEVER, InPlace, Publishing
from ..validation import FLOATS, check_one
from .calibration import rows_until_window, window_at
from .capabilities import solver_is_online
from .chunk import Chunk
from .fitted import FittedELM
from .hidden import HiddenMap

# Numbers in the weights of a layer of which a copy is kept for the kernels.
_MOST_WEIGHTS = 1 << 20

# What kernels return for a row that is learned, and where ε, or a floor, is due after it.
_LEARNED, _LEARNED_AND_DUE = 0, 1


class RowsInPlace(Publishing):
    """`learn_one` and `predict_one` of the estimators."""

    # What `ELM` has
    partial_fit: Any
    predict: Any
    _check_solver: Any
    _measure: Any
    # and of `Publishing`, which it is
    _live: Any
    _lock: Any
    _not_live: Any
    _go_live: Any
    _unless_learning: Any

    @available_if(solver_is_online)
    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one row: what ``partial_fit([x], [y])`` does, without its checks of whole tables.

        Mixed with any other method at any point, the answers are those of either alone.

        Parameters
        ----------
        x : array of shape (n_features,)
        y : number or label, or array of shape (n_outputs,)

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from greville import ELMRegressor
        >>> model = ELMRegressor(20, random_state=0)
        >>> for x in np.random.default_rng(0).normal(size=(200, 2)):
        ...     _ = model.learn_one(x, x[0] * x[1])
        >>> round(float(model.predict_one(np.array([1.0, -0.5]))), 1)
        -0.5
        """
        live = self._live
        if live is None and self._fitted is not None:
            with self._lock:
                live = self._live or (self._goes_live(self._fitted) and self._live)
        status = live.learned(x, y) if live else -1
        if status == _LEARNED_AND_DUE:
            self.renew(live)
        return self if status >= 0 else self._learn_without_kernels(x, y)

    def _learn_without_kernels(self, x: Any, y: Any) -> Self:
        """Learn one row as a chunk; by `partial_fit` if it is the first, or its label is new."""
        if self._fitted is not None and not is_tensor(x) and not is_tensor(y):
            with self._lock:
                self._check_solver()
                hidden, targets = self.start_value.hidden, self.start_value.targets
                if targets.encode_one(y) is not None:
                    row = hidden.checked_one(x)[None]
                    one = Chunk(row, targets.one_of_chunk(y))
                    one = one._replace(weight=targets.weighted(one.y, None))
                    measure = self._measure
                    self.change(lambda old: (old.learn(one, measure)[0].flushed(), None))
                    return self
        n = None if self._fitted is None else self.start_value.hidden.n_inputs
        row = x if is_on_device(x) else check_one(received(x, "x"), "x", n, FLOATS)
        y = on_host(received(y, "y")).item() if is_tensor(y) and y.ndim == 0 else y
        with warnings.catch_warnings():  # one row has no column names
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            learned: Self = self.partial_fit(row[None], y[None] if is_tensor(y) else [y])
            return learned

    def predict_one(self, x: Any) -> Any:
        """The prediction for one row.

        Parameters
        ----------
        x : array of shape (n_features,)

        Returns
        -------
        y : number or label, or ndarray of shape (n_outputs,)
            What ``predict([x])[0]`` gives, to rounding.
        """
        live = self._live
        if type(x) is not np.ndarray and is_tensor(x):
            if x.ndim != 1:
                raise ValueError(
                    f"x: expected one row as a 1-d tensor, got shape {tuple(x.shape)}; for several "
                    "rows there are partial_fit and predict."
                )
            return self.predict(x[None])[0]
        if live is not None:
            predicted = live.predicted(x)
            if predicted is not None:
                return predicted
        check_is_fitted(self)
        fitted = self._fitted if live is None else live.close()
        if not fitted.solver.shape.backend.has_kernels:
            return self.predict(check_one(x, "x", fitted.hidden.n_inputs, FLOATS)[None])[0]
        if live is None and fitted is not self._not_live and worth_loading():
            with self._unless_learning() as free:
                goes_live = free and self._goes_live(fitted)
            if goes_live:
                return self.predict_one(x)
        output = fitted.solver.predict_one(fitted.hidden.activations_one(x))
        return fitted.targets.decode_one(output)

    def _goes_live(self, fitted: FittedELM) -> bool:
        """Start to learn single rows in place, if kernels can go on from `fitted`."""
        settled = fitted.settled
        if settled.solver.pending or fitted.n_seen < self._live_from or not usable():
            return False
        if getattr(self, "verbose", False):
            announce_compiling()
        return bool(self._go_live(fitted, LiveRows.start(settled)))


class LiveRows:
    """The arrays into which kernels learn rows of inputs, and the layer that they apply.

    Parameters
    ----------
    fitted : FittedELM
        A value without pending rows.
    arrays : InPlace
        Those of its solver.
    """

    def __init__(self, fitted: FittedELM, arrays: InPlace) -> None:
        self.start_value = self._last = fitted
        self._arrays = arrays
        self._hidden, self._targets = fitted.hidden, fitted.targets

    @classmethod
    def start(cls, fitted: FittedELM) -> LiveRows | None:
        """The arrays of a value; None where kernels cannot learn its rows.

        They do not learn rows that are kept in a warm-up, or whose scores say how sharp
        probabilities are, or that do not count once.
        """
        limit = NEVER
        if fitted.calibration is not None:
            limit = 0 if window_at(fitted.n_seen) else rows_until_window(fitted.n_seen)
        weighted = getattr(fitted.targets, "weighted_labels", None) is not None
        if weighted or fitted.warmup is not None or not limit:
            return None
        single = fitted.targets.n_outputs == 1
        arrays = InPlace.start(fitted.solver, single=single, limit=limit)
        return None if arrays is None else cls(fitted, arrays)

    @cached_property
    def _layer(self) -> Array | None:
        return _layer_of(self._arrays.kernels, self._hidden)

    @cached_property
    def _predict(self) -> Any:
        return self._kernel("predict")

    @cached_property
    def _learn(self) -> Any:
        return self._kernel("learn")

    def _kernel(self, name: str) -> Any:
        """A kernel that takes inputs, compiled when it is first called; None without any."""
        try:
            return None if self._layer is None else self._arrays.kernel(name, self._layer)
        except Unavailable:
            return None

    @property
    def n_seen(self) -> int:
        """How many rows the model has learned, with those before the arrays were filled."""
        return self._arrays.n_seen

    @property
    def array(self) -> Array:
        """The array of the kernels."""
        return self._arrays.array

    def close(self) -> FittedELM:
        """Refuse all further rows, and make a value of those that were learned."""
        self._arrays.close()
        return self.fitted()

    def fitted(self) -> FittedELM:
        """What was learned, as an immutable value."""
        solver, last = self._arrays.fitted(), self._last
        if solver is not last.solver:
            self._last = last = last._replace(solver=solver)
        return last

    def predicted(self, x: Any) -> Any:
        """The prediction for one row; None where kernels cannot predict it."""
        value: Any = nan
        out = None if self._arrays.single else np.empty(self._targets.n_outputs)
        if self._predict is not None:
            try:
                value = self._predict(x) if out is None else self._predict(out, x)
            except self._arrays.kernels.refusals:  # not an array of this dtype
                value = nan
        if isnan(value):
            out = value = self._arrays.predicted(self._hidden.activations_one(x))
            if value is None:
                return None
        return self._targets.decode_one(value if out is None else out)

    def learned(self, x: Any, y: Any) -> int:
        """Learn one row: 0, or 1 where ε or a floor is due then; -1 where kernels cannot."""
        target = None if is_tensor(x) or is_tensor(y) else self._targets.encode_one(y)
        if target is None:  # also a label that is new, or none
            return -1
        if self._learn is not None:
            try:
                status = int(self._learn(x, target))
            except self._arrays.kernels.refusals:  # not an array of this dtype
                status = -1
            if status >= 0:
                return status
        if not self._arrays.learned(self._hidden.activations_one(x), target):
            return -1
        return _LEARNED_AND_DUE if self._arrays.is_due else _LEARNED


def _layer_of(kernels: Kernels, hidden: HiddenMap) -> Array | None:
    """The array of a layer for the kernels; None where they cannot compute it."""
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
