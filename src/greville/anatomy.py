"""The parts of a fitted model that its predictions are made of, in one place and one form.

`greville.export` and `greville.explain` read models through these functions alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .backend import Array
from .solvers import Solver, Sums


class Anatomy(NamedTuple):
    """A prediction is ``activations((x - centre) / unit) @ weights + intercept``.

    Attributes
    ----------
    n_inputs : int
    names : tuple of str
        The names of the inputs, where they are known.
    centre, unit : ndarray of shape (n_inputs - n_direct,), or None
        The units of the inputs that go through the layer; None where they stay as they are.
    layer : transformer, or None
        None for a linear model.
    n_direct : int
        How many of the last inputs are hidden units themselves.
    weights : ndarray of shape (n_units, n_outputs)
        In the units of the targets, float64.
    intercept : ndarray of shape (n_outputs,)
    target_centre, target_unit : ndarray of shape (n_outputs,)
        What is added to outputs of the solver, after they are multiplied by the unit.
    classes : ndarray, or None
        The labels, one for each output.
    sharpness : float
        What scores are multiplied by before the softmax that gives probabilities.
    flat : bool
        Whether predictions are 1-d.
    dtype : numpy.dtype
        In which the model learns.
    """

    n_inputs: int
    names: tuple[str, ...]
    centre: Array | None
    unit: Array | None
    layer: Any
    n_direct: int
    weights: Array
    intercept: Array
    target_centre: Array
    target_unit: Array
    classes: Array | None
    sharpness: float
    flat: bool
    dtype: Any

    def inner(self, X: Array) -> Array:
        """Return the scaled inputs of the hidden layer, without the direct ones."""
        X = X[:, : self.n_inputs - self.n_direct]
        X = X if self.centre is None else X - self.centre
        return X if self.unit is None else X / self.unit


def anatomy_of(model: Any) -> Anatomy:
    """The parts of a fitted estimator or solver.

    Raises
    ------
    ValueError
        If it is no model of greville.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor
    >>> from greville.anatomy import anatomy_of
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> parts = anatomy_of(ELMRegressor(20, random_state=0).fit(X, X[:, 0]))
    >>> parts.weights.shape, parts.n_inputs
    ((20, 1), 1)
    """
    if isinstance(model, Solver):
        check_is_fitted(model)
        weights, intercept = _readout(model)
        return Anatomy(
            *(weights.shape[0], (), None, None, None, 0, weights, intercept),
            *(np.zeros(len(intercept)), np.ones(len(intercept)), None, 1.0),
            *(model.is_flat, model.fitted_.dtype),
        )
    if not (hasattr(model, "fitted_") and hasattr(model, "hidden_")):
        raise ValueError(
            f"model={model!r}: pass a fitted model of greville: an estimator, a solver, or a model "
            "of a table."
        )
    check_is_fitted(model)
    fitted = model.fitted_
    hidden, targets = fitted.hidden, fitted.targets
    if targets.several:
        raise ValueError("model: this is not possible for models with several labels a row.")
    weights, intercept = _readout(fitted.solver_object())
    target_centre, target_unit = np.zeros(len(intercept)), np.ones(len(intercept))
    if targets.scaling.unit is not None:
        target_centre, target_unit = targets.scaling.centre, targets.scaling.unit
        weights, intercept = weights * target_unit, intercept * target_unit + target_centre
    classes = getattr(targets, "classes", None)
    return Anatomy(
        n_inputs=hidden.n_inputs,
        names=tuple(map(str, getattr(model, "feature_names_in_", ()))),
        centre=hidden.scaling.centre,
        unit=hidden.scaling.unit,
        layer=hidden.layer,
        n_direct=hidden.n_direct,
        weights=weights,
        intercept=intercept,
        target_centre=target_centre,
        target_unit=target_unit,
        classes=classes,
        sharpness=1.0 if classes is None else float(fitted.sharpness()),
        flat=bool(getattr(targets, "flat", True)),
        dtype=np.dtype(hidden.dtype),
    )


def _readout(solver: Any) -> tuple[Array, Array]:
    """The weights, of shape (n_units, n_outputs), and the intercept, in float64."""
    coef = np.asarray(solver.coef_, np.float64)
    weights = coef.reshape(-1, coef.shape[-1]).T
    intercept = np.zeros(weights.shape[1])
    if getattr(solver, "intercept", False):
        intercept = intercept + np.atleast_1d(np.asarray(solver.intercept_, np.float64))
    return weights, intercept


def root_of(model: Any) -> Sums:
    """Return the sums over all rows at the ε in use: they give θ, weights, loss and uncertainty.

    Raises
    ------
    ValueError
        If the model does not keep sums over all rows.
    """
    solver = model if isinstance(model, Solver) else model.solver_
    root = getattr(solver.fitted_.flushed(), "root", None)
    if not isinstance(root, Sums):
        raise ValueError(
            f"model: its solver {type(solver).__name__} does not keep the sums over all rows; use "
            "'opium', which does."
        )
    return root


def activations_of(model: Any, X: Array) -> Array:
    """The activations of the hidden units for rows of inputs, as the solver learns them."""
    if isinstance(model, Solver):
        return X
    H: Array = model.fitted_.hidden.activations(X)
    return H
