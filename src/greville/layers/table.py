"""Units for tables: the inputs themselves, units that see all of them, and units that see a few."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from ..backend import Array
from ..devices import on_host
from ..fields import count
from ..validation import check_memory
from .activations import activate
from .protocol import Layer, Matrix, Random, Size, stored_layer

# What part of the units, beside the inputs, see all inputs. Of the others, half are ReLUs.
_SHARE_OF_DENSE = 0.25

# A standard deviation that is smaller, relative to the numbers of a column, is rounding.
_ROUNDING = 1e-12

# The inputs are units themselves where they are no more than this part of all units.
_MOST_DIRECT = 0.25

# A unit that sees a few inputs sees one, two or three of them.
_MOST_SEEN = 3

# How steep these units are: the largest weight of an input with a standard deviation of one. A tanh
# so steep is a soft step, as in trees. That of a ReLU is its ridge: with one, units are of a size.
_STEEPNESS_OF_TANH, _STEEPNESS_OF_RELU = 4.0, 1.0

# What all units are multiplied by. That changes no prediction but those with values of text columns
# that come late: these get units of size one, which must not be small beside hundreds of others.
_SIZE = 0.25

# Weights and biases of units that see all inputs, as in `RandomLayer`.
_SCALE = 0.5


class ColumnSummary(NamedTuple):
    """Means, standard deviations and ranges of the inputs, each of shape (n_features,).

    Examples
    --------
    >>> import numpy as np
    >>> from greville.layers import ColumnSummary
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> summary = ColumnSummary(X.mean(axis=0), X.std(axis=0), X.min(axis=0), X.max(axis=0))
    >>> summary.high
    array([4., 5.])
    """

    mean: Array
    std: Array
    low: Array
    high: Array


@stored_layer({"n_tanh_": count, "n_relu_": count})
@dataclass(eq=False, repr=False)
class TableLayer(Layer):
    """Units for tables of numbers: a linear model, a smooth one and steps, side by side.

    - Direct: the inputs themselves, where they are at most a quarter of the units.
    - Dense: a quarter of the other units are tanh units that see all inputs, as in `RandomLayer`.
    - Sparse: the rest see one, two or three inputs each. Half of them are tanh units, so steep that
      they are soft steps, and half are ReLUs. Where they bend is drawn around the means of the
      inputs, by their standard deviations, and within their ranges.

    All of them are multiplied by a quarter. It finds what trees find, edges and interactions of a
    few inputs, and what linear models find. For smooth functions without noise a `RandomLayer` is
    better.

    Parameters
    ----------
    n_hidden : int or "auto", default="auto"
        Number of units, the inputs among them. "auto" is 10 times the number of inputs.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_hidden)
    bias_ : ndarray of shape (n_hidden,)
    n_tanh_, n_relu_ : int
        How many units are tanh units, which come first, and ReLUs, which follow. The others are the
        inputs.
    n_hidden_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X had column names

    Examples
    --------
    >>> import numpy as np
    >>> from greville import TableLayer
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> layer = TableLayer(40, random_state=0).fit(X)
    >>> bool((layer.transform(X)[:, -3:] == X / 4).all()), layer.n_tanh_, layer.n_relu_
    (True, 24, 13)
    """

    # The units of sparse columns follow the rows, those of dense ones want inputs of order one.
    wants_order_one: ClassVar[bool] = True

    n_hidden: Size = "auto"
    _: KW_ONLY
    random_state: Random = None

    def fit_to_columns(self, columns: ColumnSummary, dtype: Any) -> Self:
        """`fit` to rows with these columns.

        Parameters
        ----------
        columns : ColumnSummary
        dtype : numpy.dtype
            Of the weights.

        Returns
        -------
        self
        """
        self.check_parameters()
        self.n_features_in_ = len(columns.mean)
        self._fit(columns.mean[None], columns, dtype)
        return self

    def select(self, units: Array) -> Self:
        """A layer with some of the units of this one, which is fitted.

        Parameters
        ----------
        units : ndarray of int
            Their places, in ascending order.

        Returns
        -------
        layer : TableLayer
        """
        other = copy(self)
        other.n_hidden = other.n_hidden_ = len(units)
        other.weights_ = np.ascontiguousarray(self.weights_[:, units])
        other.bias_ = None if self.bias_ is None else self.bias_[units]
        bend = self.n_tanh_ + self.n_relu_
        other.n_tanh_ = int((units < self.n_tanh_).sum())
        other.n_relu_ = int((units < bend).sum()) - other.n_tanh_
        return other

    def _set_weights(self, X: Any, y: Any, dtype: Any) -> None:
        columns = y if isinstance(y, ColumnSummary) else _summary(X)
        n, M = len(columns.mean), self.n_hidden_
        check_memory(
            f"n_hidden={self.n_hidden!r} for {n:,} columns",
            32.0 * n * M,
            "pass fewer units or fewer columns.",
        )
        random = self._random()
        direct = n if n <= _MOST_DIRECT * M else 0
        dense = int(np.ceil(_SHARE_OF_DENSE * (M - direct)))
        sparse_units = M - direct - dense
        self.n_relu_ = sparse_units // 2
        self.n_tanh_ = M - direct - self.n_relu_
        weights, bias = np.zeros((M, n)), np.zeros(M)
        weights[:dense] = random.uniform(-_SCALE, _SCALE, size=(dense, n))
        bias[:dense] = random.uniform(-_SCALE, _SCALE, size=dense)
        few = slice(dense, dense + sparse_units)
        steepness = np.full(sparse_units, _STEEPNESS_OF_TANH)
        steepness[sparse_units - self.n_relu_ :] = _STEEPNESS_OF_RELU
        weights[few], bias[few] = _few_inputs(random, steepness, columns)
        if direct:
            weights[M - direct :] = np.eye(n)
        weights[self.n_tanh_ :] *= _SIZE
        bias[self.n_tanh_ :] *= _SIZE
        self.weights_ = np.ascontiguousarray(weights.T, dtype=dtype)
        self.bias_ = bias.astype(dtype)

    def _activated(self, H: Any) -> Any:
        for name, units, _ in self._units.kinds():
            activate(name, H[:, units])  # in place
        H[:, : self.n_tanh_] *= _SIZE
        return H

    def _matrix(self) -> Matrix | None:
        if type(self)._activated is not TableLayer._activated:
            return None
        return self._units

    @property
    def _units(self) -> Matrix:
        return Matrix(self.weights_, self.bias_, "by unit", self.n_tanh_, self.n_relu_, _SIZE)

    def _kind_of_units(self) -> str:
        n_inputs = self.n_hidden_ - self.n_tanh_ - self.n_relu_
        kinds = {"tanh": self.n_tanh_, "relu": self.n_relu_, "inputs themselves": n_inputs}
        return ", ".join(f"{n:,} {kind}" for kind, n in kinds.items() if n)


def _few_inputs(
    random: np.random.RandomState, steepness: Array, columns: ColumnSummary
) -> tuple[Array, Array]:
    """Weights, of shape (units, inputs), and biases of units that see one to three inputs."""
    n_units, (mean, std, low, high) = len(steepness), columns
    moves = std > _ROUNDING * np.maximum(np.abs(low), np.abs(high))  # more than rounding does
    varies = np.flatnonzero(moves)
    if not len(varies):
        varies = np.arange(len(mean))
    unit = np.where(moves, std, 1.0)
    most = min(_MOST_SEEN, len(varies))
    seen = varies[random.uniform(size=(n_units, len(varies))).argsort(axis=1)[:, :most]]
    how_many = np.minimum(random.randint(1, _MOST_SEEN + 1, size=n_units), most)
    slopes = random.uniform(-1, 1, size=(n_units, most)) / np.sqrt(how_many)[:, None]
    slopes[np.arange(most) >= how_many[:, None]] = 0
    slopes *= steepness[:, None] / unit[seen]
    bends = mean[seen] + unit[seen] * random.normal(size=(n_units, most))
    bends = np.clip(bends, low[seen], high[seen])
    weights = np.zeros((n_units, len(mean)))
    np.put_along_axis(weights, seen, slopes, axis=1)
    return weights, -(slopes * bends).sum(axis=1)


def _summary(X: Any) -> ColumnSummary:
    """Summarise the columns of some rows."""
    if sparse.issparse(X):
        X = X.astype(np.float64)
        mean, variance = mean_variance_axis(X, axis=0)
        return ColumnSummary(mean, np.sqrt(variance), *min_max_axis(X, axis=0))
    X = np.asarray(on_host(X), np.float64)
    return ColumnSummary(X.mean(axis=0), X.std(axis=0), X.min(axis=0), X.max(axis=0))
