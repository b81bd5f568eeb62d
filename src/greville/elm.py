"""A hidden layer and a solver behind scikit-learn's API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import assert_all_finite, check_random_state, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .labels import first_seen, index_of, merged_classes, nearest_probabilities
from .layers import RandomLayer
from .linalg import Array, matmul
from .solvers import Batch, DynamicOpium, Greville, Opium, OpiumLight
from .solvers._base import OnlineSolver, Solver
from .solvers._rows import Rows, block_length
from .validation import (
    check_magnitude,
    check_number,
    check_rows,
    check_something_counts,
    check_targets,
    check_weights,
    naming,
    unchanged_on_error,
)

SOLVERS: dict[str, type[Solver]] = {
    "batch": Batch,
    "greville": Greville,
    "opium": Opium,
    "light": OpiumLight,
    "dynamic": DynamicOpium,
}


def _solver_is_online(estimator: _ELM) -> bool:
    return isinstance(estimator._chosen_solver(), OnlineSolver)


class _ELM(BaseEstimator):
    """The layer, the solver and the way from X through both, block by block."""

    def __init__(
        self, hidden: Any = "auto", solver: Any = "opium", random_state: Any = None
    ) -> None:
        self.hidden = hidden
        self.solver = solver
        self.random_state = random_state

    def _chosen_solver(self) -> Solver:
        """A solver as `solver` describes it, not yet fitted."""
        if isinstance(self.solver, Solver):
            return clone(self.solver)
        if isinstance(self.solver, str) and self.solver in SOLVERS:
            return SOLVERS[self.solver]()
        names = ", ".join(map(repr, SOLVERS))
        raise ValueError(f"solver={self.solver!r}: choose one of {names}, or pass a solver object.")

    def _chosen_layer(self) -> Any:
        """A transformer as `hidden` describes it, not yet fitted."""
        if isinstance(self.hidden, str) and self.hidden == "auto":
            return RandomLayer(random_state=self.random_state)
        if hasattr(self.hidden, "fit") and hasattr(self.hidden, "transform"):
            return _seeded(clone(self.hidden), self.random_state)
        if isinstance(self.hidden, str):
            raise ValueError(
                f"hidden={self.hidden!r}: pass 'auto', a number of units or a transformer."
            )
        check_number("hidden", self.hidden, low=1, whole=True)
        return RandomLayer(self.hidden, random_state=self.random_state)

    @property
    def _started(self) -> bool:
        return hasattr(self, "solver_")

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        # Integers stay integers: they become floats block by block, in the hidden layer.
        return check_rows(self, X, "X", reset=reset, dtype="numeric", accept_sparse="csr")

    def _begin(self, X: Any, n_outputs: int) -> None:
        """Forget everything: a new layer for the columns of X, a solver that has seen nothing."""
        self.solver_ = self._chosen_solver()
        self._dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        self.hidden_ = self._chosen_layer().fit(X)
        n_hidden = self._activations(X[:1]).shape[1]
        self.solver_._begin(n_hidden, n_outputs, self._dtype)

    def _activations(self, X: Any) -> Array:
        H = self.hidden_.transform(X)
        H = H.toarray() if sparse.issparse(H) else np.asarray(H)
        return np.ascontiguousarray(H, dtype=self._dtype)

    def _rows(self, X: Any, targets: Callable[[slice], Array], weight: Array | None) -> Rows:
        def make(start: int, stop: int) -> tuple[Array, Array]:
            H = self._activations(X[start:stop])
            check_magnitude("hidden.transform(X)", H, weight)
            return H, targets(slice(start, stop))

        return Rows(X.shape[0], make, weight)

    def _scores(self, X: Any) -> Array:
        """H @ W, block by block, of shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        X = self._checked_rows(X, reset=False)
        W = self.solver_._weights()
        length = block_length(W.shape[0], self._dtype)
        return np.concatenate(
            [
                matmul(self._activations(X[start : start + length]), W)
                for start in range(0, X.shape[0], length)
            ]
        )

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned so far."""
        check_is_fitted(self)
        return self.solver_.n_samples_seen_

    def __sklearn_is_fitted__(self) -> bool:
        return self._started

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _seeded(transformer: Any, random_state: Any) -> Any:
    """Seed whatever in the transformer has a random_state that is None."""
    if random_state is not None:
        random = check_random_state(random_state)
        for name, value in sorted(transformer.get_params().items()):
            if value is None and (name == "random_state" or name.endswith("__random_state")):
                transformer.set_params(**{name: random.randint(np.iinfo(np.int32).max)})
    return transformer


class ELMRegressor(MultiOutputMixin, RegressorMixin, _ELM):
    """Regression with a random hidden layer and exact, online output weights.

    Parameters
    ----------
    hidden : "auto", int or transformer, default="auto"
        The hidden layer: a number of units for a `RandomLayer`, "auto" for 10 times the number of
        inputs, or any scikit-learn transformer. A transformer is fitted on the first rows (all of
        `fit`, the first chunk of `partial_fit`) and then stays as it is.
    solver : {"opium", "light", "dynamic", "greville", "batch"} or solver object, default="opium"
        How the output weights are learned; see `docs/solvers.md`.
    random_state : int, RandomState instance or None, default=None
        Seeds the hidden layer, where it has no seed of its own.

    Attributes
    ----------
    hidden_ : transformer
        The fitted hidden layer.
    solver_ : solver
        The fitted solver; `solver_.coef_` are the output weights.
    n_samples_seen_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X had column names

    Notes
    -----
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
        with unchanged_on_error(self):
            rows = self._checked(X, y, sample_weight, reset=True)
            check_something_counts(rows.weight)
            self.solver_._learn(rows)
            self.solver_._flush()
        return self

    @available_if(_solver_is_online)
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
        with unchanged_on_error(self, *self._inside()):
            rows = self._checked(X, y, sample_weight, reset=not self._started)
            self.solver_._learn(rows)
        return self

    @available_if(_solver_is_online)
    def prequential(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Predict every row before it is learned, and learn them all.

        What a loop of `predict` and `partial_fit` over single rows gives, to rounding, at the
        speed of matrix products.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        predictions : ndarray of the shape of y
            Zero before anything was learned.
        """
        with unchanged_on_error(self, *self._inside()):
            rows = self._checked(X, y, sample_weight, reset=not self._started)
            return self._shaped(self.solver_._record(rows))

    def predict(self, X: Any) -> Array:
        """The predicted targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._shaped(self._scores(X))

    def _checked(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        X = self._checked_rows(X, reset=reset)
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        y = check_targets(y, "y", X.shape[0], dtype if reset else self._dtype)
        weight = check_weights(sample_weight, X.shape[0], dtype if reset else self._dtype)
        check_magnitude("y", y, weight)
        Y = y.reshape(len(y), -1)
        if reset:
            self._begin(X, Y.shape[1])
            self._flat = y.ndim == 1
        elif Y.shape[1] != self.solver_._n_outputs:
            raise ValueError(
                f"y: got {Y.shape[1]} outputs, but this {type(self).__name__} was started with "
                f"{self.solver_._n_outputs}; pass as many, or call fit to start again."
            )
        return self._rows(X, Y.__getitem__, weight)

    def _shaped(self, Y: Array) -> Array:
        return Y[:, 0] if self._flat else Y

    def _inside(self) -> list[Any]:
        return [self.solver_] if self._started else []


class ELMClassifier(ClassifierMixin, _ELM):
    """Classification with a random hidden layer and exact, online output weights.

    One output per class learns 1 for rows of that class and 0 for the others; the largest wins.

    Parameters
    ----------
    hidden : "auto", int or transformer, default="auto"
        The hidden layer: a number of units for a `RandomLayer`, "auto" for 10 times the number of
        inputs, or any scikit-learn transformer. A transformer is fitted on the first rows (all of
        `fit`, the first chunk of `partial_fit`) and then stays as it is.
    solver : {"opium", "light", "dynamic", "greville", "batch"} or solver object, default="opium"
        How the output weights are learned; see `docs/solvers.md`.
    random_state : int, RandomState instance or None, default=None
        Seeds the hidden layer, where it has no seed of its own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels known so far, sorted.
    hidden_ : transformer
        The fitted hidden layer.
    solver_ : solver
        The fitted solver; `solver_.coef_` has a row of output weights for each class.
    n_samples_seen_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X had column names

    Notes
    -----
    Labels may appear for the first time in any `partial_fit`. The weights are then those of a
    model that knew them from the start: for a class that has not come up, all targets are zero.

    X is processed in blocks of rows: memory is O(M²) beside the data, whatever their number (the
    "batch" solver apart, which holds all activations). float32 input is learned in float32.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greville import ELMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ELMClassifier(random_state=0).fit(X[:1500] / 16, y[:1500])
    >>> bool(model.score(X[1500:] / 16, y[1500:]) > 0.9)
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn these rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            rows, _, _ = self._checked(X, y, None, sample_weight, reset=True)
            check_something_counts(rows.weight)
            self.solver_._learn(rows)
            self.solver_._flush()
        return self

    @available_if(_solver_is_online)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn more rows. How rows are cut into calls changes nothing but rounding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of labels, optional
            Labels to know from now on. Never needed: labels are learned as they appear.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with unchanged_on_error(self, *self._inside()):
            rows, _, _ = self._checked(X, y, classes, sample_weight, reset=not self._started)
            self.solver_._learn(rows)
        return self

    @available_if(_solver_is_online)
    def prequential(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        method: str = "predict",
    ) -> Array:
        """Predict every row before it is learned, and learn them all.

        What a loop of `predict` and `partial_fit` over single rows gives, to rounding, at the
        speed of matrix products. A class takes part from the row after its first one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of labels, optional
            Labels that take part from the first row on.
        sample_weight : array-like of shape (n_samples,), optional
        method : {"predict", "predict_proba", "decision_function"}, default="predict"
            What to return for each row.

        Returns
        -------
        predictions : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Columns follow `classes_` as it is afterwards. A class not known at that row has
            probability 0 and score -inf. If no class is known at all, as for the first row of a
            new model, all take part.
        """
        if method not in ("predict", "predict_proba", "decision_function"):
            raise ValueError(
                f"method={method!r}: choose 'predict', 'predict_proba' or 'decision_function'."
            )
        with unchanged_on_error(self, *self._inside()):
            started = self._started
            rows, labels, known = self._checked(X, y, classes, sample_weight, reset=not started)
            scores = self.solver_._record(rows)
            first = first_seen(labels, len(self.classes_))
            first[index_of(self.classes_, known)] = -1
            unknown = first >= np.arange(len(labels))[:, None]
            unknown &= ~unknown.all(axis=1, keepdims=True)
            scores[unknown] = -np.inf
            if method == "predict":
                return self._decide(scores)
            return nearest_probabilities(scores) if method == "predict_proba" else scores

    def predict(self, X: Any) -> Array:
        """The most likely labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._decide(self._scores(X))

    def decision_function(self, X: Any) -> Array:
        """The outputs of the network: an estimate of each class's probability, not confined to [0, 1].

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the difference: positive means ``classes_[1]``.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> Array:
        """The probabilities nearest to the outputs.

        Least squares on 0/1 targets estimates class probabilities, but its outputs may be
        negative and need not sum to one. Each row is replaced by the nearest point (in Euclidean
        distance) that is non-negative and sums to one; the order of the classes stays.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return nearest_probabilities(self._scores(X))

    def _decide(self, scores: Array) -> Array:
        return self.classes_[scores.argmax(axis=1)]

    def _checked(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Rows, Array, Array]:
        """The rows; their labels as indices into `classes_`; the labels known before them."""
        X = self._checked_rows(X, reset=reset)
        y = self._checked_labels(y, X.shape[0])
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        weight = check_weights(sample_weight, X.shape[0], dtype if reset else self._dtype)
        before = None if reset else self.classes_
        known = before if classes is None else merged_classes(before, classes, "classes")
        merged = merged_classes(known, y, "y")
        if reset:
            self._begin(X, len(merged))
        elif len(merged) > len(self.classes_):
            self.solver_._add_outputs(len(merged), index_of(merged, self.classes_))
        self.classes_ = merged
        labels = index_of(merged, y)
        one_hot = np.eye(len(merged), dtype=self._dtype)
        rows = self._rows(X, lambda rows: one_hot[labels[rows]], weight)
        return rows, labels, merged[:0] if known is None else known

    @staticmethod
    def _checked_labels(y: Any, n_rows: int) -> Array:
        with naming("y"):
            if y is None:
                raise ValueError("requires y to be passed, but the target y is None.")
            y = column_or_1d(y, warn=True)
            if y.dtype.kind in "fc":
                assert_all_finite(y, input_name="y")
            check_classification_targets(y)
        if len(y) != n_rows:
            raise ValueError(
                f"y: inconsistent numbers of samples: {len(y)} labels for {n_rows} rows of X; "
                "pass one for each row."
            )
        return y

    def _inside(self) -> list[Any]:
        return [self.solver_] if self._started else []
