"""One row at a time, without the checks of whole tables."""

from __future__ import annotations

import warnings
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from ..backend import Array
from ..compiled import usable, worth_loading
from ..solvers import Live
from ..validation import FLOATS, check_one
from ._live import LiveELM
from .capabilities import online
from .fitted import FittedELM, publish_lock
from .hidden import HiddenMap


class SingleRows:
    """`learn_one` and `predict_one` of the estimators."""

    # What `ELM` has
    fitted_: FittedELM
    partial_fit: Any
    _fitted: FittedELM | None
    _current: Any
    _algorithm: Any
    _measure: Any
    _publish: Any
    _keep_flushed: Any

    # What was learned since `_fitted`, while rows come one at a time.
    _live: LiveELM | None = None
    _live_from = 0  # from how many rows on this may be

    # The last x that was seen, as bytes, what it went through, and its activations.
    _last_one: tuple[bytes, HiddenMap, Array] | None = None

    @online
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
        if live is not None:
            return self if live.learned(x, y) else self._learn_beside(live, x, y)
        with publish_lock:
            fitted = self._fitted
        if fitted is not None and not fitted.solver.pending.n and self._goes_live(fitted):
            return self.learn_one(x, y)
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
        live = self._live
        if live is not None:
            predicted = live.predicted(x)
            return self._predicted_beside(live, x) if predicted is None else predicted
        with publish_lock:
            fitted = self._fitted
        if fitted is None:
            check_is_fitted(self)
            raise AssertionError
        if not fitted.solver.pending.n and worth_loading() and self._goes_live(fitted):
            return self.predict_one(x)
        output = fitted.solver.predict_one(self._activations_one(fitted.hidden, x))
        if fitted.solver.is_flushed:
            self._keep_flushed(fitted)
        return fitted.targets.decode_one(output)

    def _goes_live(self, fitted: FittedELM) -> bool:
        """Whether single rows are learned in place from now on; `fitted` is what was learned."""
        if fitted.solver.n_seen < self._live_from or not usable():
            return False
        live = LiveELM.start(fitted, self._activations_one)
        with publish_lock:
            if self._fitted is fitted and self._live is None:  # else another thread was faster
                self._live = live
            return self._live is not None

    def settle(self) -> None:
        """Have all that was learned in one immutable value, which can be kept and put back."""
        live = self._live
        if live is not None:
            self._live_from = live.n_seen + Live.rows_between_changes
            self._publish(self.fitted_)

    def _predicted_beside(self, live: LiveELM, x: Any) -> Any:
        """A prediction that the kernels cannot make."""
        fitted = live.fitted()
        output = fitted.solver.predict_one(self._activations_one(fitted.hidden, x))
        return fitted.targets.decode_one(output)

    def _learn_beside(self, live: LiveELM, x: Any, y: Any) -> Self:
        """Learn a row that the kernels have not learned."""
        with publish_lock:
            stopped = self._live is not live
        if stopped:  # by another thread
            return self.learn_one(x, y)
        if live.goes_on(self._algorithm()) and live.learned(x, y):
            return self
        fitted = self._current()
        target = fitted.targets.encode_one(y)
        if target is None:  # a new label
            self._publish(fitted)
            return self.learn_one(x, y)
        h = self._activations_one(fitted.hidden, x)
        learned = fitted._replace(solver=fitted.solver.learn_one_now(h, target))
        if not live.renew(learned):
            self._publish(learned)
        return self

    def _activations_one(self, hidden: HiddenMap, x: Any) -> Array:
        """The activations for one row; kept, since a row is often predicted and then learned."""
        x = hidden.checked_one(x)
        key, last = x.tobytes(), self._last_one
        if last is not None and last[0] == key and last[1] is hidden:
            return last[2]
        h = hidden.activations_one(x)
        self._last_one = (key, hidden, h)
        return h
