"""Regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from ..backend import Array
from ..backend.scipy import DOT
from ..devices import (
    Scoring,
    check_together,
    is_on_device,
    origin_of,
    received,
    received_on_host,
)
from ..validation import (
    check_magnitude,
    check_representable,
    check_targets,
    check_tensor_targets,
    check_weights,
)
from ._stored import stored_estimator
from .capabilities import solver_is_online, solver_leaves_out
from .estimator import ELM
from .examples import Examples
from .starting import standardizes
from .targets import NumericTargets


@stored_estimator(NumericTargets)
class ELMRegressor(MultiOutputMixin, Scoring, RegressorMixin, ELM):
    """Regression with a random hidden layer and exact, online output weights.

    Parameters
    ----------
    hidden : "auto", "stream", int, transformer or None, default="auto"
        The hidden layer: a number of units for a `RandomLayer` with a bias, or any scikit-learn
        transformer of arrays, fitted on the first rows (all of `fit`, the first chunk of
        `partial_fit`) and then kept as it is. None is no layer: `LinearRegressor`. "auto" is 10
        times the number of inputs. Where epsilon is chosen too, it is at least 100; in `fit` also
        at least 15 times the root of the number of rows, up to 2000, rounded up to 100, 200, 400,
        ...; and no more than keeps three matrices of that size within 256 MB. In `fit` and
        `prepare` "auto" then also chooses between a `TableLayer` and a `RandomLayer`; see the
        notes. In a stream "auto" is "stream", which `fit` and `prepare` know too: 200 units, or
        four for each input, chosen by the first rows.
    solver : str or solver object, default="opium"
        How the output weights are learned: "opium" is ``Opium(epsilon="auto", intercept=True)``,
        "dynamic" is ``DynamicOpium(epsilon="auto", intercept=True)``; "light", "sliding",
        "greville" and "batch" are `OpiumLight`, `SlidingOpium`, `Greville` and `Batch` with their
        defaults; `solvers.registry` adds others.
        Or an object with other parameters, such as ``Opium(epsilon=1.0)``.
    random_state : int, RandomState instance or None, default=None
        Seeds the hidden layer, where it has no seed of its own.
    standardize : "auto" or bool, default="auto"
        Whether to bring inputs and targets into units that suit the layer, learned from the first
        rows (all of `fit`; in a stream the first 1, 2, 4, ... up to 1024) and then kept: columns
        around their means, divided by their ranges. "auto" leaves inputs alone that are of order
        one already, and all that go to a transformer of your own.
    device : str, optional
        Where to learn what comes in NumPy arrays or frames: "cuda", another device of torch, or
        "auto" for a GPU where it pays; see docs/devices.md. Without it, where X is.
    verbose : bool or int, default=False
        Whether `fit`, `partial_fit`, `prequential` and predictions of many rows say on stderr how
        far they are: every two seconds a line with rows, rows/s and the time left. What takes less
        than two seconds says nothing. Counts for the next call, and is not stored in files.

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
    With ``hidden="auto"`` and the default solver, `fit` and `prepare` choose the layer by the
    evidence of up to 1000 of the rows, for up to 100 inputs and from 20 rows: a `TableLayer`, of
    which few rows get at least two units each, up to 800, or, where that explains the rows clearly
    better, as with smooth functions without noise and with images, a `RandomLayer` with a bias. Of
    more than about 200,000 rows fewer units are learned, those that explain the rows looked at
    best: a million rows take a minute or two. A stream has a `TableLayer` of 200 units, or four for
    each input; from 256 rows on they are those of twelve times as many that explain its first rows
    best, of at most 512. A `TableLayer` is fitted to the means and ranges of the rows: models that
    are to be merged are made by copies of one that was prepared.

    With the default solver nothing has to be tuned: epsilon is chosen by its evidence, again and
    again as rows come, and `epsilon_` says what it is. A layer of your own, such as the paper's
    ``RandomLayer(100)``, whose units are odd functions of X, gets X as it is.

    The first 1023 rows of a stream are kept for as long as the units may change.

    Parameters count when `fit`, or the first `partial_fit` or `learn_one`, starts a model:
    `set_params` on a fitted one changes nothing before the next `fit`. With another solver it
    learns no more rows before that. Parameters set on `solver_` change nothing: it is a copy.

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

    _classifier = "ELMClassifier"  # for labels

    @solver_is_online
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows. The chunk size does not change the result, apart from rounding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight)
        return self

    @solver_is_online
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
            What `predict` would have returned for each; infinite for the first row. Only if
            `return_std`.
        """
        targets, parts, _ = self._learn(X, y, sample_weight, predict=True, spread=return_std)
        shaped = origin_of(X).answer(tuple(map(targets.shaped, parts)))
        return shaped if return_std else shaped[0]

    @solver_leaves_out
    def loo_predict(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Predict each of these learned rows as if that row alone had not been learned.

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
        fitted, outputs = self._left_out(X, y, sample_weight)
        predicted: Array = fitted.targets.shaped(fitted.targets.scaling.undo(outputs))
        return origin_of(X).answer(predicted)

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
        fitted, (y, *std) = self._predicted(X, spread=return_std)
        targets, answer = fitted.targets, origin_of(X).answer
        predicted = targets.shaped(targets.scaling.undo(y))
        if not return_std:
            return answer(predicted)
        return answer((predicted, targets.shaped(targets.scaling.undo_spread(std[0]))))

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, whole: bool = False
    ) -> tuple[Examples, NumericTargets]:
        """Check rows and targets; return the rows and the kind of their targets."""
        started = None if reset or sample_weight is not None else self.start_value
        if started is not None and self._are_usual(X, started):
            targets = started.targets  # usual targets pass at once, too
            usual = type(y) is np.ndarray and y.dtype == np.float64 and y.ndim in (1, 2)
            if usual and len(y) == len(X) and y.size == len(X) * targets.n_outputs:
                Y = np.ascontiguousarray(y).reshape(len(y), -1)
                if DOT[Y.dtype](Y.reshape(-1), Y.reshape(-1)) < targets.limit:
                    return Examples(X, Y), targets
        check_together(y, "y", origin_of(X), "X")
        X = self._checked_rows(X, reset=reset)
        dtype = self._dtype_for(X, reset=reset)
        weight = check_weights(received_on_host(sample_weight, "sample_weight"), X.shape[0], dtype)
        y = received(y, "y")
        if is_on_device(y):
            check_tensor_targets(y, "y", X.shape[0])
        else:
            y = check_targets(y, "y", X.shape[0], np.float64, self._classifier)
            check_representable("y", y, dtype)
            check_magnitude("y", y if standardizes(self) else y.astype(dtype), weight)
        Y = y.reshape(len(y), -1)
        if reset:
            return Examples(X, Y, weight), NumericTargets(Y.shape[1], y.ndim == 1, dtype)
        targets = self.start_value.targets
        assert isinstance(targets, NumericTargets)
        if Y.shape[1] != targets.n_outputs:
            raise ValueError(
                f"y: got {Y.shape[1]} outputs, but this model was started with "
                f"{targets.n_outputs}; pass as many, or call fit to start again."
            )
        return Examples(X, Y, weight), targets
