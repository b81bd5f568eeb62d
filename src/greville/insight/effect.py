"""How predictions depend on a column: the mean over rows, with the error of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..anatomy import activations_of, anatomy_of, root_of
from ..backend import Array


@dataclass(frozen=True, repr=False)
class Effect:
    """The mean prediction over some rows, with one or two columns set to each of some values.

    Attributes
    ----------
    names : tuple of str
        One column, or two.
    values : tuple of ndarray
        Those of each column.
    prediction : ndarray of shape (n_values,) or (n_values, n_values), and (..., n_outputs)
        For classes the mean of the outputs, which estimate probabilities.
    std : ndarray of the same shape, or None
        The standard deviation of that mean, from the exact covariance of the weights: how sure the
        model is of the curve, not how far targets are from it. None for solvers without one.
    classes : ndarray, or None

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(500, 2))
    >>> model = ELMRegressor(random_state=0).fit(X, X[:, 0] ** 2 + X[:, 1])
    >>> effect = model.effect(0, X, values=[-1.0, 0.0, 1.0])
    >>> (effect.prediction - effect.prediction[1]).round(1) + 0
    array([1., 0., 1.])
    """

    names: tuple[str, ...]
    values: tuple[Array, ...]
    prediction: Array
    std: Array | None
    classes: Array | None = None

    def __repr__(self) -> str:
        return f"<Effect of {' and '.join(self.names)} at {self.prediction.size} values>"

    def plot(self, ax: Any = None) -> Any:
        """Draw the effect; needs matplotlib, ``pip install 'greville[plot]'``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional

        Returns
        -------
        ax : matplotlib.axes.Axes
        """
        from .pictures import draw_effect

        return draw_effect(self, ax)


def effect_of(
    model: Any,
    X: Array,
    names: Sequence[str],
    columns: Sequence[Sequence[int]],
    values: Sequence[Any],
    inputs: Sequence[Array],
) -> Effect:
    """The effect of columns whose values, as the estimator takes them, are `inputs`.

    Parameters
    ----------
    model : estimator or solver
    X : ndarray of shape (n_samples, n_inputs)
    names : one or two names
    columns : the inputs of each
    values : the values of each, as people read them
    inputs : of each an ndarray of shape (n_values, n_inputs of the column)

    Examples
    --------
    >>> import numpy as np
    >>> from greville import LinearRegressor
    >>> from greville.insight import effect_of
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = LinearRegressor().fit(X, 2 * X[:, 1])
    >>> grid = np.array([[0.0], [1.0]])
    >>> effect_of(model, X, ["x"], [[1]], [grid[:, 0]], [grid]).prediction.round(2) + 0
    array([0., 2.])
    """
    parts = anatomy_of(model)
    try:
        root = root_of(model)
    except ValueError:
        root = None
    shape = tuple(len(each) for each in inputs)
    prediction = np.empty((*shape, len(parts.intercept)))
    std = None if root is None else np.empty_like(prediction)
    changed = np.array(X, np.float64)
    for place in np.ndindex(shape):
        for column, grid, i in zip(columns, inputs, place, strict=True):
            changed[:, column] = grid[i]
        mean = activations_of(model, changed).mean(axis=0, dtype=np.float64)[None]
        prediction[place] = (mean @ parts.weights)[0] + parts.intercept
        if root is not None and std is not None:
            h = root.backend.asarray(mean, root.dtype)
            with np.errstate(invalid="ignore"):  # infinity times zero, before there is any error
                variance = root.tally.redundancy * root.leverages(h)[:, None] * root.noise()
            std[place] = np.sqrt(variance)[0] * parts.target_unit
    if parts.classes is None and len(parts.intercept) == 1:
        prediction, std = prediction[..., 0], None if std is None else std[..., 0]
    return Effect(tuple(names), tuple(map(np.asarray, values)), prediction, std, parts.classes)


def grid_of(x: Array, n: int = 24) -> Array:
    """Values of a column to look at: all where they are few, else evenly between its quantiles."""
    finite = np.unique(x[np.isfinite(x)])
    if len(finite) <= n:
        return finite
    low, high = np.quantile(x[np.isfinite(x)], [0.01, 0.99])
    if not low < high:
        low, high = finite[0], finite[-1]
    return np.linspace(low, high, n)
