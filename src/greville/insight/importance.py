"""Which inputs matter: from the sums over rows, exactly, and from rows, by derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import backend
from ..anatomy import Anatomy, activations_of, anatomy_of, root_of
from ..backend import Array
from ..layers import Matrix, matrix_of

# A unit that sees more inputs than this sees them all, or nearly.
_FEW_INPUTS = 3

# Rows whose derivatives are taken together; the step, in standard deviations, of those that are
# differences; and how often rows take the categories of others.
_ROWS_AT_ONCE, _STEP, _SHUFFLES = 512, 0.25, 2


@dataclass(frozen=True, repr=False)
class Importance:
    """How much each column matters to a model, in two ways that answer different questions.

    Attributes
    ----------
    names : tuple of str
    change : ndarray, or None
        How far predictions move when the column does, in units of the target: the root of the
        expected square at some rows, by derivatives and, for categories, by changing them. A
        column shares this with those that it moves with. None where no rows were passed.
    evidence : ndarray, or None
        By how much the logarithm of the evidence falls without the column, exactly: what no other
        column can replace. From the units that see at most three inputs; None if there are none.
    error : ndarray, or None
        By how much the expected error of a prediction grows without the column, in the same model.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = 3 * X[:, 0] + np.sin(X[:, 1]) + 0.1 * rng.normal(size=500)
    >>> found = ELMRegressor(random_state=0).fit(X, y).importance(X)
    >>> found.order()
    ['0', '1', '2']
    >>> found.change.round()
    array([3., 1., 0.])
    """

    names: tuple[str, ...]
    change: Array | None = None
    evidence: Array | None = None
    error: Array | None = None

    @property
    def values(self) -> Array:
        """Numbers by which columns are ordered: `change` if there is one, else `error`."""
        values = self.error if self.change is None else self.change
        assert values is not None
        return values

    def order(self) -> list[str]:
        """Names of the columns, the most important first."""
        return [self.names[i] for i in np.argsort(-self.values, kind="stable")]

    def as_dict(self) -> dict[str, dict[str, float]]:
        """The numbers of each column, the most important first."""
        kinds = {"change": self.change, "evidence": self.evidence, "error": self.error}
        return {
            self.names[i]: {k: float(v[i]) for k, v in kinds.items() if v is not None}
            for i in np.argsort(-self.values, kind="stable")
        }

    def most_changed(self, before: Importance) -> tuple[str, float, float]:
        """Return the column whose importance changed most, and its earlier and present values."""
        then = dict(zip(before.names, before.values.tolist(), strict=True))
        now = dict(zip(self.names, self.values.tolist(), strict=True))
        name = max(now, key=lambda each: abs(now[each] - then.get(each, 0.0)))
        return name, then.get(name, 0.0), now[name]

    def plot(self, ax: Any = None) -> Any:
        """Draw bars; needs matplotlib, ``pip install 'greville[plot]'``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional

        Returns
        -------
        ax : matplotlib.axes.Axes
        """
        from .pictures import draw_importance

        return draw_importance(self, ax)

    def __repr__(self) -> str:
        shown = self.order()[:5]
        more = ", ..." if len(self.names) > 5 else ""
        return f"<Importance of {len(self.names)} columns: {', '.join(shown)}{more}>"


def importance_of(
    model: Any,
    X: Any = None,
    groups: Sequence[Sequence[int]] | None = None,
    names: Sequence[str] | None = None,
    earlier: Any = None,
) -> Importance:
    """How much inputs, or groups of inputs, matter to a fitted estimator or solver.

    Parameters
    ----------
    model : estimator or solver
    X : ndarray of shape (n_samples, n_inputs), optional
        Rows at which derivatives are taken.
    groups : sequence of sequences of int, optional
        The inputs of each column. Default: each is a column.
    names : sequence of str, optional
        Of the columns.
    earlier : ndarray of shape (n_earlier, n_inputs), optional
        Rows from whose values columns have moved to those of `X`; `X` itself by default.

    Raises
    ------
    ValueError
        If there are neither rows nor units that see few inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import LinearRegressor
    >>> from greville.insight import importance_of
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> importance_of(LinearRegressor().fit(X, X[:, 1])).order()
    ['1', '0']
    """
    parts = anatomy_of(model)
    groups = [[i] for i in range(parts.n_inputs)] if groups is None else groups
    if names is None:
        names = parts.names or [str(i) for i in range(len(groups))]
    if X is None:
        return Importance(tuple(names), None, *without_each(model, parts, groups))
    change = expected_change(model, parts, np.asarray(X), groups, earlier)
    try:
        evidence, error = without_each(model, parts, groups)
    except ValueError:
        return Importance(tuple(names), change)
    return Importance(tuple(names), change, evidence, error)


# By derivatives, from rows


def expected_change(
    model: Any,
    parts: Anatomy,
    X: Array,
    groups: Sequence[Sequence[int]],
    earlier: Array | None = None,
) -> Array:
    """How far predictions move when each group of inputs does, at these rows.

    For numbers the root of the mean of ∇'C∇: ∇ is the gradient, C the covariance of the group, or
    with `earlier` rows the mean square of the distances from their mean. For inputs of two values,
    such as those of categories, between which a model may be anything, the root of half the mean
    square of the change from one row's values to another's, an earlier one's.
    """
    X = np.asarray(X, np.float64)
    earlier = X if earlier is None else np.asarray(earlier, np.float64)
    rows = np.concatenate([X, earlier])
    discrete = np.array([all(len(np.unique(rows[:, i])) <= 2 for i in group) for group in groups])
    squares = np.empty(len(groups))
    numbers = [group for group, flag in zip(groups, discrete, strict=True) if not flag]
    squares[~discrete] = _squares_by_slope(model, parts, X, numbers, earlier.mean(axis=0))
    n = len(earlier)
    others = [np.resize(np.random.RandomState(i).permutation(n), len(X)) for i in range(_SHUFFLES)]
    H = activations_of(model, X) if discrete.any() else None
    for place in np.flatnonzero(discrete).tolist():
        group, squares[place] = list(groups[place]), 0.0
        for other in others if np.ptp(rows[:, group], axis=0).any() else ():
            changed = X.copy()
            changed[:, group] = earlier[other][:, group]
            difference = (activations_of(model, changed) - H) @ parts.weights
            squares[place] += (difference**2).sum() / (2 * len(X) * _SHUFFLES)
    return np.sqrt(squares)


def _squares_by_slope(
    model: Any, parts: Anatomy, X: Array, groups: Sequence[Sequence[int]], centre: Array
) -> Array:
    """The mean of ∇'C∇ for each group."""
    around, scale = X - centre, X.std(axis=0)
    covariances = [around[:, g].T @ around[:, g] / len(X) for g in map(list, groups)]
    total = np.zeros(len(groups))
    for start in range(0, len(X) if groups else 0, _ROWS_AT_ONCE):
        slopes = gradients(model, parts, X[start : start + _ROWS_AT_ONCE], scale)
        for i, (group, covariance) in enumerate(zip(groups, covariances, strict=True)):
            part = slopes[:, group, :]
            total[i] += np.einsum("nik,ij,njk->", part, covariance, part)
    return total / len(X)


def gradients(model: Any, parts: Anatomy, X: Array, scale: Array) -> Array:
    """The derivatives of all outputs at rows, of shape (rows, inputs, outputs).

    Where the layer is more than a product and an activation they are differences over a part of
    the `scale` of each input.
    """
    matrix = smooth_matrix(parts)
    if matrix is None:
        return _differences(model, parts, X, scale)
    return by_inputs(parts, matrix, matrix.slopes(matrix.projected(parts.inner(X))))


def smooth_matrix(parts: Anatomy) -> Matrix | None:
    """Return a layer as a matrix and a differentiable activation; None for other layers."""
    if parts.layer is None:
        return Matrix(np.eye(parts.n_inputs - parts.n_direct), None, "identity")
    matrix = matrix_of(parts.layer)
    return None if matrix is None or matrix.activation == "hard-limit" else matrix


def by_inputs(parts: Anatomy, matrix: Matrix, rates: Array) -> Array:
    """Return the derivatives of outputs by inputs, from those of units by their projections.

    Of shape (rows, inputs, outputs).
    """
    n = parts.n_inputs - parts.n_direct
    inner, direct = np.split(parts.weights, [len(parts.weights) - parts.n_direct])
    changes = np.empty((len(rates), parts.n_inputs, inner.shape[1]))
    for k in range(inner.shape[1]):
        changes[:, :n, k] = (rates * inner[:, k]) @ matrix.weights.T
    if parts.unit is not None:
        changes[:, :n] /= parts.unit[:, None]
    changes[:, n:] = direct
    return changes


def _differences(model: Any, parts: Anatomy, X: Array, scale: Array) -> Array:
    changes = np.zeros((len(X), parts.n_inputs, parts.weights.shape[1]))
    for j in np.flatnonzero(scale > 0):
        step = np.zeros(parts.n_inputs)
        step[j] = _STEP * scale[j]
        above, below = (activations_of(model, X + sign * step) for sign in (1, -1))
        changes[:, j] = (above - below) @ parts.weights / (2 * step[j])
    return changes


# From the sums, without rows


def without_each(
    model: Any, parts: Anatomy, groups: Sequence[Sequence[int]]
) -> tuple[Array, Array]:
    """Return the loss of evidence, and the growth of the error, without each group of inputs.

    A model without a column is one without the units that see it. All of them, and the model that
    they are compared with, are without the units that see all inputs.
    """
    sees = _inputs_of_units(parts)
    few = sees.sum(axis=0) <= _FEW_INPUTS
    if sees.shape[0] > 1:
        few &= ~sees.all(axis=0)
    if not few.any():
        raise ValueError(
            "X: all units of this layer see all inputs; pass rows, or use a layer whose units see "
            "a few, as TableLayer's do."
        )
    whole = _Posterior.of(model, parts).without(np.flatnonzero(~few))
    sees = sees[:, few]
    smaller = [whole.without(np.flatnonzero(sees[g].any(axis=0))) for g in map(list, groups)]
    evidence = np.array([whole.evidence - each.evidence for each in smaller])
    error = np.array([each.error - whole.error for each in smaller])
    return evidence, error


def _inputs_of_units(parts: Anatomy) -> Array:
    """Whether each unit sees each input, of shape (inputs, units)."""
    n, inner = parts.n_inputs - parts.n_direct, len(parts.weights) - parts.n_direct
    sees, matrix = np.zeros((parts.n_inputs, len(parts.weights)), bool), smooth_matrix(parts)
    sees[:n, :inner] = True if matrix is None else matrix.weights != 0
    np.fill_diagonal(sees[n:, inner:], True)
    return sees


@dataclass(frozen=True)
class _Posterior:
    """The weights W of some units at ε, θ = (H'H + ε²I)⁻¹, and the loss at them.

    `log_det` is what the logarithm of |θ⁻¹|/ε^(2M) has become since the first.
    """

    theta: Array
    W: Array
    loss: Array
    count: float
    epsilon: float
    intercept: bool
    log_det: float = 0.0

    @classmethod
    def of(cls, model: Any, parts: Anatomy) -> _Posterior:
        root = root_of(model)
        if not (root.prior > 0 and root.count > 0):
            raise ValueError(
                "model: it has no ridge, or no rows; importance needs the solver opium and rows."
            )
        to_numpy, unit = root.backend.to_numpy, parts.target_unit
        return cls(
            np.asarray(to_numpy(root.theta()), np.float64),
            np.asarray(to_numpy(root.weights), np.float64) * unit,
            np.asarray(root.loss, np.float64) * unit**2,
            float(root.count),
            float(root.prior),
            root.mean is not None,
        )

    def without(self, units: Array) -> _Posterior:
        """The exact solution without some units: a block of θ is eliminated."""
        if not len(units):
            return self
        kept = np.setdiff1d(np.arange(len(self.W)), units)
        own = self.theta[np.ix_(units, units)]
        both, k = np.hstack([self.W[units], self.theta[np.ix_(units, kept)]]), self.W.shape[1]
        root = _root(own)
        half = backend.get("scipy").solve(root, np.asfortranarray(both), transposed=True)
        W, across = half[:, :k], half[:, k:]
        log_det = 2 * float(np.log(np.diagonal(root)).sum())
        return _Posterior(
            self.theta[np.ix_(kept, kept)] - across.T @ across,
            self.W[kept] - across.T @ W,
            self.loss + np.einsum("ik,ik->k", W, W),
            self.count,
            self.epsilon,
            self.intercept,
            self.log_det + log_det + 2 * len(units) * float(np.log(self.epsilon)),
        )

    @property
    def evidence(self) -> float:
        """Logarithm of the evidence, up to a constant."""
        n = self.count - self.intercept
        fit = float(np.log(np.maximum(self.loss, np.finfo(float).tiny)).sum())
        return -0.5 * (n * fit + len(self.loss) * self.log_det)

    @property
    def error(self) -> float:
        """The expected size of the error of a new row of average leverage, all outputs together."""
        used = len(self.W) - self.epsilon**2 * float(np.trace(self.theta)) + self.intercept
        left = max(self.count - used, 1e-8 * self.count)
        return float(np.sqrt(self.loss.sum() / left * (1 + used / self.count)))


def _root(A: Array) -> Array:
    """The triangular root of a symmetric positive definite matrix."""
    root = backend.get("scipy").cholesky(np.array(A, order="F"))
    if root is None:
        raise ValueError(
            "model: rounding hides what its units have in common; learn in float64, or use a "
            "larger epsilon."
        )
    return root
