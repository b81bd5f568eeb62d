"""One row at a time: the way from x through layer and solver without checks of whole tables."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..linalg import Array
from ..validation import FLOATS, check_one
from ._solvers import solver_is_online
from .chunk import Chunk
from .fitted import FittedELM
from .hidden import HiddenMap


class SingleRows:
    """`learn_one` and `predict_one` of the estimators."""

    # What `ELM` has
    fitted_: FittedELM
    solver_: Any
    partial_fit: Any
    _all_or_nothing: Any
    _extend_warmup: Any

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
        fitted = getattr(self, "fitted_", None)
        if fitted is None:
            return self._learn_one_of_many(check_one(x, "x", None, FLOATS), y)
        target = fitted.targets.encode_one(y)
        if target is None:  # a label that is new
            return self._learn_one_of_many(check_one(x, "x", fitted.hidden.n_inputs, FLOATS), y)
        h = self._activations_one(fitted.hidden, x)
        if fitted.warmup is None:
            self.solver_._learn_one(h, target)
        else:
            with self._all_or_nothing():
                chunk = Chunk(np.asarray(x)[None], fitted.targets.one_of_chunk(y))
                if not self._extend_warmup(chunk):
                    self.solver_._learn_one(h, target)
        return self

    def _learn_one_of_many(self, row: Array, y: Any) -> Self:
        with warnings.catch_warnings():  # one row has no column names
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            learned: Self = self.partial_fit(row[None], [y])
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
        fitted = getattr(self, "fitted_", None)
        if fitted is None:
            check_is_fitted(self)
            raise AssertionError
        h = self._activations_one(fitted.hidden, x)
        return fitted.targets.decode_one(self.solver_._predict_one(h))

    def _activations_one(self, hidden: HiddenMap, x: Any) -> Array:
        """The activations for one row; those of the last are kept, for a prediction comes first."""
        x = hidden.checked_one(x)
        key, last = x.tobytes(), self._last_one
        if last is not None and last[0] == key and last[1] is hidden:
            return last[2]
        h = hidden.activations_one(x)
        self._last_one = (key, hidden, h)
        return h
