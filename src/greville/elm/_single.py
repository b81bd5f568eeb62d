"""One row at a time, without the checks of whole tables."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..backend import Array
from ..compiled import usable, worth_loading
from ..devices import is_on_device, is_tensor, on_host, received
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
    predict: Any
    _fitted: FittedELM | None
    _current: Any
    _current_of: Any
    _algorithm: Any
    _measure_stream: Any
    _publish: Any
    _keep_flushed: Any

    # What was learned since `_fitted`, while rows come one at a time.
    _live: LiveELM | None = None
    _live_after = _live_from = 0  # between which numbers of rows this is not done
    _not_live: FittedELM | None = None  # a value for which it cannot be done

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
            return self if live.learned(x, y) else self._learn_otherwise(live, x, y)
        with publish_lock:
            fitted = self._fitted
        if fitted is not None and not fitted.solver.pending.n and self._goes_live(fitted):
            return self.learn_one(x, y)
        if fitted is None:
            return self._learn_as_table(x, y, None)
        target = None
        if fitted.solver.shape.kernels is not None and not is_tensor(x) and not is_tensor(y):
            target = fitted.targets.encode_one(y)
        if target is None:
            return self._learn_as_table(x, y, fitted.hidden.n_inputs)
        h = self._activations_one(fitted.hidden, x)
        if fitted.solver.is_due:
            fitted = self._current()
        self._publish(fitted.learn_one(x, y, h, target, self._measure_stream))
        return self

    def _learn_as_table(self, x: Any, y: Any, n_inputs: int | None) -> Self:
        """Learn the first row, one with a new label, a tensor, or one that goes to a device."""
        row = x if is_on_device(x) else check_one(received(x, "x"), "x", n_inputs, FLOATS)
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
            return self._predicted_otherwise(live, x) if predicted is None else predicted
        with publish_lock:
            fitted = self._fitted
        if fitted is None:
            check_is_fitted(self)
            raise AssertionError
        if fitted.solver.shape.kernels is None:
            return self.predict(check_one(x, "x", fitted.hidden.n_inputs, FLOATS)[None])[0]
        asks = fitted is not self._not_live and not fitted.solver.pending.n and worth_loading()
        if asks and self._goes_live(fitted):
            return self.predict_one(x)
        output = fitted.solver.predict_one(self._activations_one(fitted.hidden, x))
        if fitted.solver.is_flushed:
            self._keep_flushed(fitted)
        return fitted.targets.decode_one(output)

    def _goes_live(self, fitted: FittedELM) -> bool:
        """Whether single rows are learned in place from now on; `fitted` is what was learned."""
        resting = self._live_after <= fitted.solver.n_seen < self._live_from
        if resting or fitted.is_calibrating or not usable() or not self._has_parameters_of(fitted):
            return False
        live = LiveELM.start(fitted, self)
        if live is None:
            self._not_live = fitted
        with publish_lock:
            if self._fitted is fitted and self._live is None:  # else another thread was faster
                self._live = live
            return self._live is not None

    def _has_parameters_of(self, fitted: FittedELM) -> bool:
        """Whether no parameter of `solver_` was set to another value since."""
        try:
            return bool(self._algorithm(fitted) == fitted.solver.algorithm)
        except ValueError:  # which the next row will raise
            return False

    def leave_live(self) -> None:
        """Have all that was learned in one immutable value, which can be kept and put back."""
        with publish_lock:
            live = self._live
            if live is not None:
                live.close()
                fitted = live.fitted()
                flushed = fitted._replace(solver=fitted.solver.flushed())
                self._rest(flushed, Live.rows_between_changes)
                self._fitted, self._live = flushed, None

    def _rest(self, fitted: FittedELM, n: int) -> None:
        """Learn the next n rows without kernels."""
        seen = fitted.solver.n_seen
        self._live_after, self._live_from = seen, seen + n

    def _predicted_otherwise(self, live: LiveELM, x: Any) -> Any:
        """A prediction that the kernels have not made."""
        live.stop()
        fitted = live.fitted()
        output = fitted.solver.predict_one(self._activations_one(fitted.hidden, x))
        return fitted.targets.decode_one(output)

    def _learn_otherwise(self, live: LiveELM, x: Any, y: Any) -> Self:
        """Learn a row that the kernels have not learned."""
        if is_tensor(x) or is_tensor(y):
            self.leave_live()
            return self._learn_as_table(x, y, live.hidden.n_inputs)
        targets, hidden = live.targets, live.hidden
        target = targets.encode_one(y)
        if target is None:  # a new label, or none
            self.leave_live()
            return self._learn_as_table(x, y, hidden.n_inputs)
        if live.is_calibrating:
            self.leave_live()
            return self.learn_one(x, y)
        h = self._activations_one(hidden, x)
        algorithm = self._algorithm(live.start_value)
        with publish_lock:
            current = self._live is live
            goes_on = current and live.goes_on(algorithm)
        if not current:  # another thread has published the same in another form
            return self.learn_one(x, y)
        if goes_on and live.learned_activations(h, target):
            return self
        with publish_lock:
            if self._live is live and live.learned_with_due(h, target, algorithm):
                return self
            live.close()
        learned = live.after_due(h, target, algorithm)
        if learned is None:
            fitted = self._current_of(live.fitted())
            learned = fitted._replace(solver=fitted.solver.learn_one_now(h, target))
        with publish_lock:
            if self._live is not live or not live.renew(learned):
                self._rest(learned, live.rest)
                self._fitted, self._live = learned, None
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
