"""Linear models: the estimators without a hidden layer."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..backend import Array
from ..layers import SpanLayer
from ..solvers import Solver
from ._stored import CLASS_WEIGHT, stored_estimator
from .classifier import ELMClassifier
from .estimator import ELM
from .labels import IndicatorTargets, LabelTargets
from .regressor import ELMRegressor
from .targets import NumericTargets


class Linear(ELM):
    """Base of linear models, which have no parameters of a hidden layer."""

    hidden: None = None
    random_state: None = None

    def __init__(
        self,
        solver: str | Solver = "opium",
        *,
        standardize: bool | Literal["auto"] = "auto",
        device: str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.solver = solver
        self.standardize = standardize
        self.device = device
        self.verbose = verbose

    def _plane(self) -> tuple[Array, Array]:
        """The weights of the inputs as they are passed, a row for each output, and constants."""
        fitted = self.fitted_
        inputs, targets, solver = fitted.hidden.scaling, fitted.targets.scaling, fitted.solver
        W = solver.shape.backend.to_numpy(solver.weights()).astype(np.float64)
        n = solver.shape.n_hidden
        constant, W = W[: len(W) - n].sum(axis=0), W[len(W) - n :]
        if isinstance(fitted.hidden.layer, SpanLayer):
            W = fitted.hidden.layer.of_columns(W)
        if inputs.unit is not None:
            W = W / inputs.unit[:, None]
        if inputs.centre is not None:
            constant = constant - inputs.centre @ W
        if targets.unit is not None:
            W, constant = W * targets.unit, constant * targets.unit + targets.centre
        return W.T.astype(solver.dtype), constant.astype(solver.dtype)


@stored_estimator(NumericTargets, linear=True)
class LinearRegressor(Linear, ELMRegressor):
    """A linear model of the inputs that learns online and is exact after every row.

    `ELMRegressor` without a hidden layer: all of its methods, the same units of inputs and targets,
    and an epsilon that is chosen from the rows, which is how strongly weights are held back.

    Parameters
    ----------
    solver : str or solver object, default="opium"
        How the weights are learned: "opium" is ``Opium(epsilon="auto", intercept=True)``, "dynamic"
        forgets; the others are those of `ELMRegressor`.
    standardize : "auto" or bool, default="auto"
        Whether to bring inputs and targets into comparable units, learned from the first rows (all
        of `fit`; in a stream the first 1, 2, 4, ... up to 1024) and then kept. "auto" leaves inputs
        alone that are of order one already.
    device : str, optional
        Where to learn what comes in NumPy arrays or frames: "cuda", another device of torch, or
        "auto" for a GPU where it pays. Without it, where X is.
    verbose : bool or int, default=False
        Whether long work says on stderr how far it is, as in `ELMRegressor`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        The weights of the inputs, in the units in which these are passed.
    intercept_ : float or ndarray of shape (n_outputs,)
        What is added to every prediction. It is not held back.
    solver_ : solver
        The fitted solver, whose inputs are in the learned units.
    epsilon_ : float
        The ε in use, for the solvers `Opium` and `DynamicOpium`.
    n_samples_seen_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X had column names

    Notes
    -----
    Memory is n_features², or n_samples x n_features while that is less. Sparse rows stay sparse
    until a block of them is learned. Of more than 8,192 columns they are learned by their
    coordinates in the span of the first 4,096 different rows, in a memory of 4,096²: exactly up to
    so many rows, and then by their projections. `hidden_` is the layer that does so.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import LinearRegressor
    >>> X = np.random.default_rng(0).normal(5, 100, size=(200, 2))
    >>> model = LinearRegressor().partial_fit(X, X @ [1.0, -2.0] + 3)
    >>> model.coef_.round(3), round(model.intercept_, 3)
    (array([ 1., -2.]), 3.0)
    """

    _classifier = "LinearClassifier"

    @property
    def coef_(self) -> Array:
        """The weights of the inputs, in the units in which these are passed."""
        coef, _ = self._plane()
        return coef[0] if self.fitted_.targets.flat else coef

    @property
    def intercept_(self) -> Any:
        """Intercept, which is added to every prediction."""
        _, constant = self._plane()
        return float(constant[0]) if self.fitted_.targets.flat else constant


@stored_estimator(LabelTargets, linear=True, class_weight=CLASS_WEIGHT)
class LinearClassifier(Linear, ELMClassifier):
    """A linear classifier that learns online and is exact after every row.

    `ELMClassifier` without a hidden layer: all of its methods, new labels at any time and
    probabilities. One output per class learns 1 for rows of that class and 0 for the others, which
    is ridge regression to the classes. It is the model for sparse text.

    Parameters
    ----------
    solver : str or solver object, default="opium"
        How the weights are learned: "opium" is ``Opium(epsilon="auto", intercept=True)``, "dynamic"
        forgets; the others are those of `ELMClassifier`.
    standardize : "auto" or bool, default="auto"
        Whether to bring inputs into comparable units, learned from the first rows (all of `fit`; in
        a stream the first 1, 2, 4, ... up to 1024) and then kept. "auto" leaves inputs alone that
        are of order one already.
    class_weight : dict, "balanced" or None, default=None
        How often rows of each label count: a dict, in which labels may be missing that count once,
        or "balanced", by one over how frequent the labels are in the rows of `fit` or `prepare`.
        They are learned with the model, as in `ELMClassifier`.
    device : str, optional
        Where to learn what comes in NumPy arrays or frames: "cuda", another device of torch, or
        "auto" for a GPU where it pays. Without it, where X is.
    verbose : bool or int, default=False
        Whether long work says on stderr how far it is, as in `ELMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels known so far, sorted.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        The weights of the inputs in `decision_function`, in the units in which these are passed.
    intercept_ : ndarray of shape (n_classes,), or (1,)
        What `decision_function` adds.
    solver_ : solver
        The fitted solver, whose inputs are in the learned units.
    epsilon_ : float
        The ε in use, for the solvers `Opium` and `DynamicOpium`.
    n_samples_seen_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X had column names

    Notes
    -----
    Memory is n_features², or n_samples x n_features while that is less. Sparse rows stay sparse
    until a block of them is learned. Of more than 8,192 columns they are learned by their
    coordinates in the span of the first 4,096 different rows, in a memory of 4,096²: exactly up to
    so many rows, and then by their projections. `hidden_` is the layer that does so.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from greville import LinearClassifier
    >>> texts = ["rain and wind", "sun and heat", "snow, wind, rain", "heat, no rain, sun"]
    >>> words = TfidfVectorizer()
    >>> model = LinearClassifier().fit(words.fit_transform(texts), ["wet", "dry", "wet", "dry"])
    >>> model.predict(words.transform(["wind", "sun"]))
    array(['wet', 'dry'], dtype='<U3')
    """

    def __init__(
        self,
        solver: str | Solver = "opium",
        *,
        standardize: bool | Literal["auto"] = "auto",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        device: str | None = None,
        verbose: bool | int = False,
    ) -> None:
        super().__init__(solver, standardize=standardize, device=device, verbose=verbose)
        self.class_weight = class_weight

    @property
    def coef_(self) -> Array:
        """The weights of the inputs in `decision_function`."""
        return self._margins(self._plane()[0], 0)

    @property
    def intercept_(self) -> Array:
        """Intercept, which `decision_function` adds."""
        return self._margins(self._plane()[1], 1)

    def _margins(self, rows: Array, constant: int) -> Array:
        """Convert weights or constants of outputs to the margins of `decision_function`."""
        if isinstance(self.start_value.targets, IndicatorTargets):
            return 2 * rows - constant
        return rows[1:] - rows[:1] if len(rows) == 2 else rows
