"""One row at a time: the way from x through layer and solver without checks of whole tables."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from math import inf
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..layers._base import is_own
from ..linalg import DOT, Array
from ..validation import FLOATS, check_magnitude, check_one
from ._scaling import Scaling
from ._solvers import solver_is_online


class SingleRows(ABC):
    """`learn_one` and `predict_one` of the estimators."""

    # What `ELM` has
    solver_: Any
    hidden_: Any
    n_features_in_: int
    partial_fit: Any
    _scaling: Scaling
    _dtype: Any
    _early: Any
    _guarded: Any
    _remember: Any
    _transformed: Any

    # The last x that was seen, as bytes, the layer and the units it went through, and its h.
    _last_one: tuple[bytes, Any, Scaling, Array] | None = None

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
        if self._started:
            target = self._one_target(y)
            if target is not None:
                h = self._one_hidden(x)
                if self._early is None:
                    self.solver_._learn_one(h, target)
                else:
                    self._learn_early(np.asarray(x), y, h, target)
                return self
        row = check_one(x, "x", self.n_features_in_ if self._started else None, FLOATS)
        with warnings.catch_warnings():  # one row has no column names
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return self.partial_fit(row[None], [y])

    def _learn_early(self, x: Array, y: Any, h: Array, target: Any) -> None:
        """While the units are still open, and may change with this row."""
        with self._guarded():
            if not self._remember(x[None], self._one_early(y), None):
                self.solver_._learn_one(h, target)

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
        if not self._started:
            check_is_fitted(self)
        return self._one_answer(self.solver_._predict_one(self._one_hidden(x)))

    @property
    @abstractmethod
    def _started(self) -> bool:
        """Whether any row was seen."""

    @abstractmethod
    def _one_target(self, y: Any) -> Any:
        """y as the solver wants it, or None for a label that is new."""

    @abstractmethod
    def _one_early(self, y: Any) -> Array:
        """y as one of several, as it came."""

    @abstractmethod
    def _one_answer(self, predicted: Any) -> Any:
        """What to return for the solver's prediction."""

    def _one_hidden(self, x: Any) -> Array:
        """The activations for one row."""
        if (
            type(x) is not np.ndarray
            or x.shape != (self.n_features_in_,)
            or x.dtype != self._dtype
            or not -inf < DOT[self._dtype](x, x) < inf
        ):
            x = check_one(x, "x", self.n_features_in_, FLOATS)
        key, last = x.tobytes(), self._last_one
        layer, scaling = self.hidden_, self._scaling
        if last is not None and last[0] == key and last[1] is layer and last[2] is scaling:
            return last[3]
        row = x if scaling.unit is None else scaling.apply(x[None], self._dtype)[0]
        if is_own(layer):
            h = np.ascontiguousarray(layer._transformed_one(row), dtype=self._dtype)
        else:  # which may return a part of x, or the same array every time
            h = np.array(self._transformed(row[None])[0], dtype=self._dtype, order="C")
        if not DOT[self._dtype](h, h) < self.solver_._limit:
            check_magnitude("hidden.transform(x)", h)
        self._last_one = (key, layer, scaling, h)
        return h
