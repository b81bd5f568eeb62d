"""One row at a time, without the checks of whole tables."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..compiled import usable, worth_loading
from ..devices import is_on_device, is_tensor, on_host, received
from ..solvers import Publishing
from ..validation import FLOATS, check_one
from ._live import LiveELM
from .capabilities import solver_is_online
from .chunk import Chunk
from .fitted import FittedELM
from .starting import measure_stream


class SingleRows(Publishing):
    """`learn_one` and `predict_one` of the estimators."""

    # What `ELM` has
    partial_fit: Any
    predict: Any
    # and of `Publishing`, which it is
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
        if live is not None:
            status = live.learned(x, y)
            return self if status == 0 else self._learn_checked_row(live, x, y, learned=status == 1)
        if self._fitted is None:
            return self._learn_as_table(x, y, None)
        with self._lock:
            fitted, goes_live = self._fitted, self._live is not None
            if not goes_live:
                goes_live = self._goes_live(fitted)
        if goes_live:
            return self.learn_one(x, y)
        return self._learn_as_table(x, y, fitted.hidden.n_inputs)

    def _learn_as_table(self, x: Any, y: Any, n_inputs: int | None) -> Self:
        """Learn one row by `partial_fit`."""
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
            if predicted is not None:
                return predicted
            fitted = live.close()
            output = fitted.solver.predict_one(fitted.hidden.activations_one(x))
            return fitted.targets.decode_one(output)
        fitted = self._fitted
        if fitted is None:
            check_is_fitted(self)
            raise AssertionError
        if not fitted.solver.shape.backend.has_kernels:
            return self.predict(check_one(x, "x", fitted.hidden.n_inputs, FLOATS)[None])[0]
        asks = (
            fitted is not self._not_live and not fitted.settled.solver.pending and worth_loading()
        )
        if asks:
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
        return bool(self._go_live(fitted, LiveELM.start(settled, self)))

    def _learn_checked_row(self, live: LiveELM, x: Any, y: Any, *, learned: bool) -> Self:
        """Check and learn a row that kernels refused, and choose ε or add a floor where due."""
        if not learned:
            tensors = is_tensor(x) or is_tensor(y)
            target = None if tensors else live.targets.encode_one(y)
            if target is None:  # also a new label, or none
                return self._learn_as_table(x, y, live.hidden.n_inputs)
            h = live.hidden.activations_one(x)
            with self._lock:
                if self._live is not live or not live.learned_row(x, y, h, target):
                    self.change(lambda fitted: (self._after_row(fitted, x, y), None))
                    self._live_from = 0
                    return self
        if live.is_due:
            self.renew(live)
        return self

    def _after_row(self, fitted: FittedELM, x: Any, y: Any) -> FittedELM:
        """The value after one more row, which does not wait."""
        one = Chunk(np.asarray(x)[None], fitted.targets.one_of_chunk(y))
        return fitted.learn(one, partial(measure_stream, self))[0].flushed()
