"""One row at a time, without the checks of whole tables."""

from __future__ import annotations

import warnings
from typing import Any, Self

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..backend import Array
from ..validation import FLOATS, check_one
from .capabilities import solver_is_online
from .fitted import FittedELM, publish_lock
from .hidden import HiddenMap


class SingleRows:
    """`learn_one` and `predict_one` of the estimators."""

    # What `ELM` has
    fitted_: FittedELM
    partial_fit: Any
    _current: Any
    _measure: Any
    _publish: Any
    _keep_flushed: Any

    # The last x that was seen, as bytes, what it went through, and its activations.
    _last_one: tuple[bytes, HiddenMap, Array] | None = None

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
        with publish_lock:
            fitted = getattr(self, "fitted_", None)
        target = None if fitted is None else fitted.targets.encode_one(y)
        if fitted is None or target is None:  # the first row, or a new label
            row = check_one(x, "x", None if fitted is None else fitted.hidden.n_inputs, FLOATS)
            with warnings.catch_warnings():  # one row has no column names
                warnings.filterwarnings("ignore", "X does not have valid feature names")
                learned: Self = self.partial_fit(row[None], [y])
                return learned
        h = self._activations_one(fitted.hidden, x)
        if fitted.solver.is_due:
            fitted = self._current()
        self._publish(fitted.learn_one(x, y, h, target, self._measure))
        return self

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
        with publish_lock:
            fitted = getattr(self, "fitted_", None)
        if fitted is None:
            check_is_fitted(self)
            raise AssertionError
        output = fitted.solver.predict_one(self._activations_one(fitted.hidden, x))
        if fitted.solver.is_flushed:
            self._keep_flushed(fitted)
        return fitted.targets.decode_one(output)

    def _activations_one(self, hidden: HiddenMap, x: Any) -> Array:
        """The activations for one row; kept, since a row is often predicted and then learned."""
        x = hidden.checked_one(x)
        key, last = x.tobytes(), self._last_one
        if last is not None and last[0] == key and last[1] is hidden:
            return last[2]
        h = hidden.activations_one(x)
        self._last_one = (key, hidden, h)
        return h
