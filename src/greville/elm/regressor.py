"""Regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..linalg import Array
from ..solvers import Opium
from ..solvers._base import OnlineSolver
from ..solvers._rows import Rows
from ..validation import (
    check_magnitude,
    check_one_target,
    check_representable,
    check_targets,
    check_weights,
)
from ._base import ELM
from ._scaling import Scaling
from ._solvers import solver_is_additive, solver_is_online, solver_is_opium


class ELMRegressor(MultiOutputMixin, RegressorMixin, ELM):
    """Regression with a random hidden layer and exact, online output weights.

    Parameters
    ----------
    hidden : "auto", int or transformer, default="auto"
        The hidden layer: a number of units for a `RandomLayer` with a bias, or any scikit-learn
        transformer of arrays, fitted on the first rows (all of `fit`, the first chunk of
        `partial_fit`) and then kept as it is. "auto" is 10 times the number of inputs. Where
        epsilon is chosen too, it is at least 100; in `fit` also at least 15 times the root of the
        number of rows, up to 2000, rounded up to 100, 200, 400, ...; and no more than keeps three
        matrices of that size within 256 MB.
    solver : {"opium", "light", "dynamic", "greville", "batch"} or solver object, default="opium"
        How the output weights are learned: ``Opium(epsilon="auto", intercept=True)``, or
        `OpiumLight`, `DynamicOpium`, `Greville` or `Batch` with their defaults, or an object with
        others, such as ``Opium(epsilon=1.0)``.
    random_state : int, RandomState instance or None, default=None
        Seeds the hidden layer, where it has no seed of its own.
    standardize : "auto" or bool, default="auto"
        Whether to bring inputs and targets into units that suit the layer, learned from the first
        rows (all of `fit`; in a stream the first 1, 2, 4, ... up to 1024) and then kept: columns
        around their means, divided by their ranges. "auto" leaves inputs alone that are of order
        one already, and all that go to a transformer of your own.

    Attributes
    ----------
    hidden_ : transformer
        The fitted hidden layer.
    solver_ : solver
        The fitted solver; `solver_.coef_` are the output weights.
    epsilon_ : float
        The ε in use, for the solver `Opium`.
    n_samples_seen_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X had column names

    Notes
    -----
    With the default solver nothing has to be tuned: epsilon is chosen by its evidence, again and
    again as rows come, and `epsilon_` says what it is. A layer of your own, such as the paper's
    ``RandomLayer(100)``, whose units are odd functions of X, gets X as it is.

    The first 1023 rows of a stream are kept for as long as the units may change.

    X is processed in blocks of rows: memory is O(M²) beside the data, whatever their number (the
    "batch" solver apart, which holds all activations). float32 input is learned in float32.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = ELMRegressor(hidden=50, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> round(model.score(X, np.sin(X[:, 0])), 4)
    1.0
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn these rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with self._guarded():
            self._fit(*self._checked(X, y, sample_weight, reset=True))
        return self

    @available_if(solver_is_online)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows. How rows are cut into calls changes nothing but rounding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with self._guarded():
            self._learn(*self._checked(X, y, sample_weight, reset=not self._started))
        return self

    @available_if(solver_is_online)
    def prequential(
        self, X: Any, y: Any, sample_weight: Any = None, return_std: bool = False
    ) -> Any:
        """Predict every row before it is learned, and learn them all.

        What a loop of `predict` and `partial_fit` over single rows gives, to rounding, at the
        speed of matrix products.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
        return_std : bool, default=False
            Whether to return standard deviations too; for the exact online solvers.

        Returns
        -------
        predictions : ndarray of the shape of y
            Zero before anything was learned.
        std : ndarray of the shape of y
            What `predict` would have said of each; infinite for the first row. Only if
            `return_std`.
        """
        with self._guarded():
            rows = self._checked(X, y, sample_weight, reset=not self._started)
            record = self._recorded_with_spread if return_std else self._recorded
            parts = [
                np.concatenate(part) for part in zip(*self._record(*rows, record), strict=True)
            ]
            shaped = tuple(self._shaped(part) for part in parts)
            return shaped if return_std else shaped[0]

    def _recorded(self, rows: Rows) -> tuple[Array, ...]:
        assert isinstance(self.solver_, OnlineSolver)
        return (self._target_scaling.undo(self.solver_._record(rows)),)

    def _recorded_with_spread(self, rows: Rows) -> tuple[Array, ...]:
        predicted, spread = self._exact_solver()._record_with_spread(rows)
        return self._target_scaling.undo(predicted), self._target_scaling.undo_spread(spread)

    @available_if(solver_is_additive)
    def unlearn(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows learned earlier: as if they had never been there, to rounding.

        The hidden layer stays as it is. Rows that were never learned are noticed only if what is
        left is not a sum of squares any more.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
            The weights they were learned with.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If they cannot be removed; the model is then as it was.
        """
        check_is_fitted(self)
        with self._guarded():
            rows = self._checked(X, y, sample_weight, reset=False)
            self.solver_._unlearn(self._rows(*rows))
            self._early = None
        return self

    @available_if(solver_is_opium)
    def loo_predict(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Predict each of these rows, which were learned, as if it alone had not been.

        Exactly, and without learning anything again; the hidden layer, the units of inputs and
        targets and epsilon stay as they are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
            The weights they were learned with.

        Returns
        -------
        predictions : ndarray of the shape of y
        """
        check_is_fitted(self)
        rows = self._rows(*self._checked(X, y, sample_weight, reset=False))
        assert isinstance(self.solver_, Opium)
        return self._shaped(self._target_scaling.undo(self.solver_._left_out(rows)))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The predicted targets and, if wanted, how far off they may be.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to return standard deviations too; for the exact online solvers.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the same shape
            The standard deviation of a new target at each row, for Gaussian noise: that of the
            noise, estimated from the residuals, and that of the weights. Nine in ten targets lie
            within 1.64 of them, where the model is right. Only if `return_std`.
        """
        check_is_fitted(self)
        if not return_std:
            return self._shaped(self._target_scaling.undo(self._scores(X)))
        y, std = self._scores_and_spreads(X)
        units = self._target_scaling
        return self._shaped(units.undo(y)), self._shaped(units.undo_spread(std))

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Any, Array, Array | None]:
        X = self._checked_rows(X, reset=reset)
        dtype = self._dtype_for(X, reset=reset)
        y = check_targets(y, "y", X.shape[0], np.float64)
        weight = check_weights(sample_weight, X.shape[0], dtype)
        check_representable("y", y, dtype)
        check_magnitude("y", y if self._standardizes() else y.astype(dtype), weight)
        Y = y.reshape(len(y), -1)
        if reset:
            self._flat, self._n_targets = y.ndim == 1, Y.shape[1]
            self.__dict__.pop("solver_", None)
        else:
            self.solver_._check_outputs("y", Y)
        return X, Y, weight

    @property
    def _n_outputs(self) -> int:
        return self._n_targets

    def _targets(self, y: Array) -> Callable[[slice], Array]:
        with np.errstate(over="ignore"):
            scaled = self._target_scaling.apply(y, self._dtype).astype(self._dtype, copy=False)
        check_magnitude("y", scaled, passed=y)
        return lambda rows: scaled[rows]

    def _one_target(self, y: Any) -> Any:
        units = self._target_scaling
        usual = units.unit is None and self._flat and isinstance(y, float)
        if usual and y * y < self.solver_._limit:
            return y
        y = check_one_target(y, "y", self._n_targets, self._flat, np.float64)
        check_representable("y", np.atleast_1d(y), self._dtype)
        with np.errstate(over="ignore"):
            scaled = units.apply(np.reshape(y, (1, -1)), self._dtype).astype(self._dtype)[0]
        check_magnitude("y", scaled, passed=np.atleast_1d(y))
        return scaled[0] if self._flat else scaled

    def _one_early(self, y: Any) -> Array:
        return np.reshape(y, (1, -1)).astype(np.float64)

    def _one_answer(self, predicted: Any) -> Any:
        units = self._target_scaling
        if units.unit is not None:
            predicted = units.undo(np.reshape(predicted, (1, -1)).astype(self._dtype))[0]
            predicted = predicted[0] if self._n_targets == 1 else predicted
        if self._flat:
            return self._dtype.type(predicted)
        return np.array(predicted, self._dtype).reshape(self._n_targets)

    def _units_of_targets(self, y: Array, weight: Array | None) -> Scaling:
        return Scaling.of_targets(y, weight)

    def _shaped(self, Y: Array) -> Array:
        return Y[:, 0] if self._flat else Y
