"""Why a prediction is what it is: the share of each column, and the rows that matter to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..anatomy import Anatomy, activations_of, anatomy_of, root_of
from ..backend import Array
from .importance import by_inputs, smooth_matrix

# Units whose products differ by less than this change by their derivative.
_CLOSE = 1e-6

# What must be left of a row's leverage, so that leaving it out keeps digits.
_LEAST_LEFT = 1e-10


@dataclass(frozen=True, repr=False)
class Why:
    """Predictions as sums: that of a mean row, and a share for each column.

    Attributes
    ----------
    names : tuple of str
    base : ndarray of shape (n_outputs,)
        The prediction for the mean row.
    shares : ndarray of shape (n_samples, n_columns, n_outputs)
        On the straight way from the mean row to each row, what the prediction changes because of
        each column, exactly; with `base` they add up to the prediction.
    prediction : ndarray of shape (n_samples, n_outputs)

    Examples
    --------
    >>> import numpy as np
    >>> from greville import LinearRegressor
    >>> X = np.random.default_rng(0).normal(10, 1, size=(100, 2))
    >>> model = LinearRegressor().fit(X, 3 * X[:, 0] - X[:, 1])
    >>> why = model.why(X.mean(axis=0) + [[2.0, 1.0]], X)
    >>> why.shares[0, :, 0].round(3)
    array([ 6., -1.])
    """

    names: tuple[str, ...]
    base: Array
    shares: Array
    prediction: Array

    def largest(self, row: int, n: int = 3, output: int = 0) -> list[tuple[str, float]]:
        """Return the columns with the largest shares of a prediction, and these shares."""
        shares = self.shares[row, :, output]
        order = np.argsort(-np.abs(shares), kind="stable")[:n]
        return [(self.names[i], float(shares[i])) for i in order]

    def __repr__(self) -> str:
        return f"<Why of {len(self.shares)} predictions from {len(self.names)} columns>"


def why_of(
    model: Any,
    X: Array,
    groups: Sequence[Sequence[int]] | None = None,
    names: Sequence[str] | None = None,
    mean: Array | None = None,
    categories: Sequence[int] = (),
) -> Why:
    """The shares of inputs, or groups of inputs, in predictions.

    A unit f(w·x + b) changes by f(z) - f(z₀) on the way from the mean row; its inputs have the
    parts of this that they have in z - z₀: the integral of the derivatives, in closed form.

    Parameters
    ----------
    model : estimator or solver
    X : ndarray of shape (n_samples, n_inputs)
    groups : sequence of sequences of int, optional
        The inputs of each column. Default: each is a column.
    names : sequence of str, optional
        Of the columns.
    mean : ndarray of shape (n_inputs,), optional
        The row to compare with. Default: that of the units of the inputs, or else of zeros.
    categories : sequence of int
        Inputs between whose values a model may be anything. They move before the others and after
        them, and shares are the mean of both ways.

    Raises
    ------
    ValueError
        If the layer is more than products with an activation.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor
    >>> from greville.insight import why_of
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = ELMRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> why = why_of(model, X[:4])
    >>> bool(np.allclose(why.base + why.shares.sum(axis=1), model.predict(X[:4])[:, None]))
    True
    """
    parts = anatomy_of(model)
    groups = [[i] for i in range(parts.n_inputs)] if groups is None else groups
    if names is None:
        names = parts.names or [str(i) for i in range(len(groups))]
    if mean is None:
        mean = np.zeros(parts.n_inputs)
        if parts.centre is not None:
            mean[: len(parts.centre)] = parts.centre
    X = np.asarray(X, np.float64)
    start = np.broadcast_to(mean, X.shape)
    of_inputs = _shares(parts, start, X)
    if len(categories):
        of_inputs = np.zeros_like(of_inputs)
        for columns in (list(categories), np.setdiff1d(np.arange(X.shape[1]), categories)):
            middle = start.copy()
            middle[:, columns] = X[:, columns]
            of_inputs += (_shares(parts, start, middle) + _shares(parts, middle, X)) / 2
    shares = np.stack([of_inputs[:, list(group)].sum(axis=1) for group in groups], axis=1)
    both = activations_of(model, np.vstack([mean[None], X])) @ parts.weights + parts.intercept
    return Why(tuple(names), both[0], shares, both[1:])


def _shares(parts: Anatomy, start: Array, X: Array) -> Array:
    """Return the inputs' shares along a straight line, of shape (rows, inputs, outputs)."""
    matrix = smooth_matrix(parts)
    if matrix is None:
        raise ValueError(
            "model: shares of columns need a layer of products and smooth activations, and "
            f"{type(parts.layer).__name__} is not one; RandomLayer, TableLayer and FourierLayer "
            "are."
        )
    before, after = (matrix.projected(parts.inner(rows)) for rows in (start, X))
    moved = after - before
    close = np.abs(moved) < _CLOSE
    rise = (matrix.activated(after) - matrix.activated(before)) / np.where(close, 1.0, moved)
    rates = np.where(close, matrix.slopes((before + after) / 2), rise)
    return (X - start)[:, :, None] * by_inputs(parts, matrix, rates)


def influence_of(model: Any, x: Array, X: Array, Y: Array) -> Array:
    """How much each of some learned rows moves the prediction for another, exactly.

    The prediction minus what it would be if that row had not been learned, with the layer, the
    units and ε as they are: c·e / (1 - h), for the error e of the row, its leverage h, and
    c = a'θa₀ between the two rows' activations.

    Parameters
    ----------
    model : estimator or solver
    x : ndarray of shape (n_inputs,)
    X : ndarray of shape (n_samples, n_inputs)
        Rows that were learned, of weight one.
    Y : ndarray of shape (n_samples, n_outputs)
        Their targets; for classes ones and zeros.

    Returns
    -------
    influence : ndarray of shape (n_samples, n_outputs)

    Examples
    --------
    >>> import numpy as np
    >>> from greville import LinearRegressor
    >>> from greville.insight import influence_of
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> y = X[:, 0] + np.r_[5, np.zeros(49)]  # the first row is wrong
    >>> model = LinearRegressor().fit(X, y)
    >>> int(np.abs(influence_of(model, X[0], X, y[:, None])).argmax())
    0
    """
    parts, root = anatomy_of(model), root_of(model)
    H = activations_of(model, np.vstack([x[None], np.asarray(X, np.float64)]))
    errors = np.asarray(Y, np.float64) - (H[1:] @ parts.weights + parts.intercept)
    b = root.backend
    A, added = b.asarray(H, root.dtype), 0.0
    if root.mean is not None:
        A, added = root.mean.centred(b, A), 1 / root.mean.count
    theta = b.to_numpy(root.theta())
    A = b.to_numpy(A)
    near = A[1:] @ (theta @ A[0]) + added
    leverage = np.einsum("ij,ij->i", A[1:] @ theta, A[1:]) + added
    if (leverage > 1 - _LEAST_LEFT).any():
        raise ValueError("X: a row determines its own prediction, or was never learned.")
    influence: Array = (near / (1 - leverage))[:, None] * errors
    return influence
