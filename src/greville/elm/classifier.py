"""Classification, with classes that may come at any time."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from ..backend import Array
from ..devices import Scoring, origin_of, received_on_host
from ..solvers import Solver
from ..validation import Seed, check_length, check_weights
from ._stored import CLASS_WEIGHT, stored_estimator
from .capabilities import solver_is_online, solver_leaves_out
from .estimator import ELM
from .examples import Examples
from .labels import (
    ClassTargets,
    IndicatorTargets,
    LabelTargets,
    checked_indicators,
    checked_labels,
    has_several_labels,
    merged_classes,
    weights_of_classes,
)


@stored_estimator(LabelTargets, class_weight=CLASS_WEIGHT)
class ELMClassifier(Scoring, ClassifierMixin, ELM):
    """Classification with a random hidden layer and exact, online output weights.

    One output per class learns 1 for rows of that class and 0 for the others; the largest wins.
    Rows may also have several labels each, as scikit-learn has them: y is then a 2-d array of zeros
    and ones with a column for each label, and so are predictions.

    Parameters
    ----------
    hidden : "auto", int, transformer or None, default="auto"
        The hidden layer: a number of units for a `RandomLayer` with a bias, or any scikit-learn
        transformer of arrays, fitted on the first rows (all of `fit`, the first chunk of
        `partial_fit`) and then kept as it is. None is no layer: `LinearClassifier`. "auto" is 10
        times the number of inputs. Where epsilon is chosen too, it is at least 100; in `fit` also
        at least 15 times the root of the number of rows, up to 2000, rounded up to 100, 200, 400,
        ...; and no more than keeps three matrices of that size within 256 MB. In `fit` and
        `prepare` "auto" then also chooses between a `TableLayer` and a `RandomLayer`; see the
        notes. A stream begins with at least 100 units and grows with its first rows, up to 400 of
        them; docs/forgetting.md has the rule.
    solver : str or solver object, default="opium"
        How the output weights are learned: "opium" is ``Opium(epsilon="auto", intercept=True)``,
        "dynamic" is ``DynamicOpium(epsilon="auto", intercept=True)``; "light", "sliding",
        "greville" and "batch" are `OpiumLight`, `SlidingOpium`, `Greville` and `Batch` with their
        defaults; `solvers.registry` adds others.
        Or an object with other parameters, such as ``Opium(epsilon=1.0)``.
    random_state : int, RandomState instance or None, default=None
        Seeds the hidden layer, where it has no seed of its own.
    standardize : "auto" or bool, default="auto"
        Whether to bring inputs into units that suit the layer, learned from the first rows
        (all of `fit`; in a stream the first 1, 2, 4, ... up to 1024) and then kept: columns around
        their means, divided by their ranges. "auto" leaves inputs alone that are of order one
        already, and all that go to a transformer of your own.
    class_weight : dict, "balanced" or None, default=None
        How often rows of each label count: a dict, in which labels may be missing that count once,
        or "balanced", by one over how frequent the labels are in the rows of `fit` or `prepare`.
        They are learned with the model: rows that come later, and rows that are unlearned, count by
        them too.
    device : str, optional
        Where to learn what comes in NumPy arrays or frames: "cuda", another device of torch, or
        "auto" for a GPU where it pays; see docs/devices.md. Without it, where X is.
    verbose : bool or int, default=False
        Whether `fit`, `partial_fit`, `prequential` and predictions of many rows say on stderr how
        far they are: every two seconds a line with rows, rows/s and the time left. What takes less
        than two seconds says nothing. Counts for the next call, and is not stored in files.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels known so far, sorted.
    hidden_ : transformer
        The fitted hidden layer.
    solver_ : solver
        The fitted solver; `solver_.coef_` has a row of output weights for each class.
    epsilon_ : float
        The ε in use, for the solver `Opium`.
    n_samples_seen_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X had column names

    Notes
    -----
    With ``hidden="auto"`` and the default solver, `fit` and `prepare` choose the layer by the
    evidence of up to 1000 of the rows, as `ELMRegressor` does; see its notes.

    With the default solver nothing has to be tuned: epsilon is chosen by its evidence, again and
    again as rows come, and `epsilon_` says what it is. For images see `ContrastLayer`.

    The first 1023 rows of a stream are kept for as long as the units may change.

    Parameters count when `fit`, or the first `partial_fit` or `learn_one`, starts a model:
    `set_params` on a fitted one changes nothing before the next `fit`. With another solver it
    learns no more rows before that. Parameters set on `solver_` change nothing: it is a copy.

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

    class_weight: Any = None

    def __init__(
        self,
        hidden: Any = "auto",
        solver: str | Solver = "opium",
        random_state: Seed = None,
        *,
        standardize: bool | Literal["auto"] = "auto",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        device: str | None = None,
        verbose: bool | int = False,
    ) -> None:
        super().__init__(
            hidden, solver, random_state, standardize=standardize, device=device, verbose=verbose
        )
        self.class_weight = class_weight

    @solver_is_online
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows. The chunk size does not change the result, apart from rounding.

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
        self._learn(X, y, sample_weight, classes=classes)
        return self

    @solver_is_online
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
            As from the method of that name. Columns follow `classes_` as it is afterwards. A class
            not known at that row has probability 0 and score -inf. If no class is known at all, as
            for the first row of a new model, all take part.
        """
        _check_method(method)
        learned = self._learn(X, y, sample_weight, predict=True, classes=classes)
        targets, (scores, sharpness), unknown = learned
        if unknown is not None:
            scores[unknown] = -np.inf
        return origin_of(X).answer(targets.answer(scores, sharpness, method))

    @solver_leaves_out
    def loo_predict(
        self, X: Any, y: Any, sample_weight: Any = None, *, method: str = "predict"
    ) -> Array:
        """Predict each of these learned rows as if that row alone had not been learned.

        Exactly, and without learning anything again; the hidden layer, the units of the inputs
        and epsilon stay as they are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            The weights they were learned with.
        method : {"predict", "predict_proba", "decision_function"}, default="predict"
            What to return for each row.

        Returns
        -------
        predictions : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As from the method of that name.
        """
        _check_method(method)
        fitted, scores = self._left_out(X, y, sample_weight)
        return origin_of(X).answer(fitted.targets.answer(scores, fitted.sharpness(), method))

    def predict(self, X: Any) -> Array:
        """The most likely labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._answered(X, "predict")

    def decision_function(self, X: Any) -> Array:
        """The outputs: estimates of the probabilities of the classes, not confined to [0, 1].

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the difference: positive means ``classes_[1]``.
        """
        return self._answered(X, "decision_function")

    def predict_proba(self, X: Any) -> Array:
        """The probabilities of the classes: ``softmax(a * outputs)``.

        The one number a, which is how sharp they are, is learned too: in `fit` from leave-one-out
        outputs of up to 1024 of the rows, in a stream from the outputs that some rows had before
        they were learned (of up to 256 rows, again whenever the rows have doubled). `unlearn` does
        not change it. No class has probability zero.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return self._answered(X, "predict_proba")

    def predict_proba_one(self, x: Any) -> Array:
        """The probabilities of the classes for one row.

        Parameters
        ----------
        x : array of shape (n_features,)

        Returns
        -------
        probabilities : ndarray of shape (n_classes,)
            What ``predict_proba([x])[0]`` gives, to rounding.
        """
        live = self._live
        outputs = None if live is None else live.outputs(x)
        if live is None or outputs is None:
            return self.predict_proba(np.asarray(x)[None])[0]
        targets = live.start_value.targets
        return targets.probabilities_of_one(np.atleast_1d(outputs), live.sharpness)

    def _answered(self, X: Any, method: str) -> Any:
        fitted, (scores,) = self._predicted(X, on_device=method == "predict")
        return origin_of(X).answer(fitted.targets.answer(scores, fitted.sharpness(), method))

    @property
    def classes_(self) -> Array:
        """Sorted labels known so far; for several labels per row, the column numbers of y."""
        classes: Array = self.start_value.targets.classes
        return classes

    def _unknown(self, y: Array, targets: Any, classes: Any = None) -> Any:
        return targets.unknown_before(y, self._with_labels(classes))

    def _with_labels(self, classes: Any) -> Array | None:
        """Return the union of the known labels and the passed ones; None if there are no labels."""
        before = self.classes_ if self._fitted is not None else None
        if classes is None:
            return before
        labels = checked_labels(received_on_host(classes, "classes"), "classes")
        return merged_classes(before, labels, "classes")

    def _checked(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        reset: bool,
        whole: bool = False,
        classes: Any = None,
    ) -> tuple[Examples, LabelTargets]:
        X = self._checked_rows(X, reset=reset)
        if not reset and sample_weight is None and classes is None:
            targets = self.start_value.targets
            if targets.are_usual(y) and len(y) == X.shape[0]:
                return Examples(X, y, targets.weighted(y, None)), targets
        dtype, before = self._dtype_for(X, reset=reset), None
        weight = check_weights(received_on_host(sample_weight, "sample_weight"), X.shape[0], dtype)
        if self._fitted is not None and not reset:
            before = self.start_value.targets
        y = received_on_host(y, "y")
        several = has_several_labels(y) if before is None else before.several
        y = checked_indicators(y, "y") if several else checked_labels(y, "y")
        check_length("y", len(y), X.shape[0])
        if several:
            targets = IndicatorTargets(y.shape[1], dtype) if before is None else before
            for name, value in (("classes", classes), ("class_weight", self.class_weight)):
                if value is not None:
                    raise ValueError(
                        f"{name}={value!r}: y has several labels for each row, for which this has "
                        "no meaning; leave it out."
                    )
            return Examples(X, y, weight), targets.with_classes(np.arange(y.shape[1]))
        labels = None if self._fitted is not None and reset else self._with_labels(classes)
        merged = merged_classes(labels, y, "y")
        if before is None:
            weights = weights_of_classes(self.class_weight, merged, y, weight, whole=whole)
            before = ClassTargets(merged, dtype, *weights)
        targets = before.with_classes(merged)
        return Examples(X, y, targets.weighted(y, weight)), targets

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _check_method(method: str) -> None:
    if method not in ("predict", "predict_proba", "decision_function"):
        raise ValueError(
            f"method={method!r}: choose 'predict', 'predict_proba' or 'decision_function'."
        )
