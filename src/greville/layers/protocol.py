"""What a hidden layer is: X -> H with weights that `fit` sets once, eqs. (1)-(2)."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import backend
from ..backend import Array, Backend
from ..backend.scipy import GEMV, SHARED
from ..devices import backend_for, float_of, is_on_device, on_host, origin_of, received
from ..fields import (
    Kind,
    array,
    choice,
    count,
    matrix,
    nothing,
    random_state,
    require,
    require_finite,
    stored,
    words,
)
from ..representation import Described, memory_of, named_list, size_in_words
from ..threads import one_thread
from ..validation import (
    FLOATS,
    check_number,
    check_rows,
    check_tensor_rows,
    naming,
    unchanged_on_error,
)
from .activations import ACTIVATIONS, Activation, activate, activate_on_device, check_activation
from .bands import Band, bands_of

# The paper's rule for n_hidden="auto".
UNITS_PER_INPUT = 10

# Weights from which a product with one row is worth a second thread.
_WORTH_TWO_THREADS = 1_000_000

# Rows up to which one product is faster than one for each band of the weights.
_FEW_ROWS = 16

# Rows from which activations are made column by column: their Gram matrix takes 5 to 15 % less
# time, and a product with their targets half as long.
_MANY_ROWS = 512

# Numbers in a row of inputs and units for which a file need not have an array of that size.
_MAX_LAYER_NUMBERS = 1 << 23


class Layer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Described, BaseEstimator, ABC):
    """Units ``H = f(X @ weights_ + bias_)`` whose weights are set once, by `fit`.

    A subclass provides `_set_weights` and, where it has parameters of its own, extends
    `check_parameters`. One that is more than a product and an activation provides `_fit`,
    `activations` and `activations_on` instead. Estimators call `activations` and `activations_one`
    on rows that they have checked, instead of `transform`.

    Attributes
    ----------
    wants_order_one : bool
        Whether the layer needs inputs in comparable units, which estimators then learn.
    sees_parts : bool
        Whether many units see only a part of the inputs, that of their neighbours.
    parts : tuple of Layer
        The fitted layers that it is made of, where it is made of others.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import RandomLayer
    >>> from greville.layers import Layer
    >>> layer = RandomLayer(5, random_state=0).fit(np.ones((3, 2)))
    >>> isinstance(layer, Layer), layer.weights_.shape
    (True, (2, 5))
    """

    wants_order_one: ClassVar[bool] = False
    sees_parts: ClassVar[bool] = False
    parts: tuple[Layer, ...] = ()

    n_hidden: int | str
    scale: float
    activation: Activation = "identity"
    random_state: Any
    weights_: Any
    bias_: Array | None
    n_hidden_: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Set the weights for the columns of X, or from its rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            The classes of the samples, for layers that learn from them.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self.check_parameters()
            X = received(X, "X")
            if is_on_device(X):
                X = check_tensor_rows(self, X, "X", reset=True)
            else:
                X = check_rows(self, X, "X", reset=True, dtype="numeric", accept_sparse="csr")
            self._fit(X, on_host(y), working_dtype(X))
        return self

    def _fit(self, X: Any, y: Any, dtype: Any) -> None:
        """Set everything that `fit` sets, from rows that are checked."""
        self.n_hidden_ = self._size_for(X.shape[1])
        self.bias_ = None
        self._set_weights(X, y, dtype)

    def check_parameters(self) -> None:
        """Raise a ValueError for a parameter out of range."""
        if not (isinstance(self.n_hidden, str) and self.n_hidden == "auto"):
            check_number("n_hidden", self.n_hidden, low=1, whole=True)

    def _set_weights(self, X: Any, y: Any, dtype: Any) -> None:
        """Set `weights_`, of shape (n_features, units), and `bias_` where there is one."""
        raise NotImplementedError

    def transform(self, X: Any) -> Array:
        """The activations of the hidden units, eq. (2).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        H : ndarray of shape (n_samples, n_hidden)
            float32 for float32 input, else float64.
        """
        check_is_fitted(self)
        X = self.as_rows(X)
        origin, X = origin_of(X), received(X, "X")
        if is_on_device(X):
            X, b = check_tensor_rows(self, X, "X", reset=False), backend_for(None, origin, 0)
            if runs_on_device(self):
                return self.activations_on(b, X)
            return origin.answer(self.activations(on_host(X)))
        X = check_rows(
            self, X, "X", reset=False, dtype=FLOATS, accept_sparse=("csr", "csc"), order=None
        )
        return origin.answer(self.activations(X))

    def as_rows(self, X: Any) -> Any:
        """X as rows of numbers, for layers that take it in more than two dimensions."""
        return X

    def activations(self, X: Any, shift: Array | None = None) -> Array:
        """What `transform` returns for X - shift, for rows of floats that are already checked.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
        shift : ndarray of shape (n_features,), optional
            What to subtract from every row, without filling the zeros of a sparse X.
        """
        return self._activated(self._projected(X, shift))

    def activations_on(self, b: Backend, X: Any, shift: Array | None = None) -> Array:
        """`activations` on the device of a backend; a sparse X is SciPy's, others are there."""
        return self._activated_on(b, self._projected_on(b, X, shift))

    def _projected_on(self, b: Backend, X: Any, shift: Array | None) -> Array:
        dtype, n = b.dtype_of(X), X.shape[0]
        weights = moved(self, b, "weights_", dtype)
        added = None if self.bias_ is None else moved(self, b, "bias_", dtype)
        if shift is not None:
            shifted = b.asarray(shift @ self.weights_, dtype)
            added = -shifted if added is None else added - shifted
        if getattr(X, "is_sparse", False):
            return _plus(b.matmul(X, weights), added)
        # Column by column: Gram matrices of such rows take a fifth less time, if columns begin at
        # round numbers.
        more = -n % b.tuning.block_multiple
        if more and n > b.tuning.pending_rows:
            X = b.xp.concat([X, b.zeros((more, X.shape[1]), dtype)])
        bands = self._bands()
        if bands is None:
            H = b.matmul(weights.T, X.T)
        else:
            products = [b.matmul(weights[i, u].T, X[:, i].T) for i, u in bands]
            H = b.xp.concat(products, axis=0)
        return _plus(H.T, added)[:n, :]

    def _bands(self) -> list[Band] | None:
        """Where the weights are that are not zero, if that makes products faster."""
        if not self.sees_parts or sparse.issparse(self.weights_):
            return None
        known = _found_bands.get(self)
        if known is None or known[0] is not self.weights_:
            _found_bands[self] = known = self.weights_, bands_of(self.weights_)
        return known[1]

    def _activated_on(self, b: Backend, H: Array) -> Array:
        return activate_on_device(self.activation, H)

    def activations_one(self, x: Array) -> Array:
        """The activations for one row of finite floats, of shape (n_features,)."""
        weights = self.weights_.astype(x.dtype, copy=False)
        if sparse.issparse(weights):
            h = weights.T @ x
        else:
            gemv = GEMV[x.dtype]
            if weights.size < SHARED or weights.size > _WORTH_TWO_THREADS:
                h = gemv(1.0, weights.T, x)
            else:
                with one_thread:
                    h = gemv(1.0, weights.T, x)
        if self.bias_ is not None:
            h += self.bias_.astype(x.dtype, copy=False)
        return self._activated(h[None])[0]

    def _projected(self, X: Any, shift: Array | None) -> Array:
        """(X - shift) @ weights_ + bias_, without filling the zeros of a sparse X."""
        weights = self.weights_.astype(X.dtype, copy=False)
        if sparse.issparse(weights):
            H = weights.T @ (X.toarray() if sparse.issparse(X) else X).T
            H = np.ascontiguousarray(H.T)
        else:
            H = np.asarray(X @ weights) if sparse.issparse(X) else self._product(X, weights)
        if shift is not None:
            H -= (shift @ self.weights_).astype(H.dtype)
        if self.bias_ is not None:
            H += self.bias_.astype(X.dtype, copy=False)
        return H

    def _product(self, X: Array, weights: Array) -> Array:
        bands = self._bands() if X.shape[0] > _FEW_ROWS else None
        if bands is None:
            return product(X, weights, by_columns=X.shape[0] >= _MANY_ROWS)
        H = np.empty((X.shape[0], weights.shape[1]), X.dtype)
        for inputs, units in bands:
            H[:, units] = product(X[:, inputs], weights[inputs, units])
        return H

    def _activated(self, H: Array) -> Array:
        return activate(self.activation, H)

    def summary(self) -> dict[str, str]:
        """What was set by `fit`, in words: the table that notebooks show. Empty before `fit`.

        Examples
        --------
        >>> from greville import RandomLayer
        >>> RandomLayer(20).fit([[1.0, 2.0]]).summary()["units"]
        '20 (tanh)'
        """
        if not hasattr(self, "n_hidden_"):
            return {}
        return {
            "columns": named_list(getattr(self, "feature_names_in_", ()), self.n_features_in_),
            "units": self.units_in_words(),
            "memory": size_in_words(memory_of(vars(self))),
        }

    def units_in_words(self) -> str:
        """How many units a fitted layer has, and of which kind."""
        kind = self._kind_of_units()
        return f"{self.n_hidden_:,} ({kind})" if kind else f"{self.n_hidden_:,}"

    def _kind_of_units(self) -> str:
        if isinstance(self.activation, str):
            return self.activation
        return str(getattr(self.activation, "__name__", ""))

    def _matrix(self) -> Matrix | None:
        """What `_activated` does to the products, if it has a name."""
        if type(self)._activated is not Layer._activated or not isinstance(self.activation, str):
            return None
        return Matrix(self.weights_, self.bias_, self.activation)

    def _size_for(self, n_inputs: int) -> int:
        return UNITS_PER_INPUT * n_inputs if self.n_hidden == "auto" else int(self.n_hidden)

    def _random(self) -> np.random.RandomState:
        with naming("random_state"):
            return check_random_state(self.random_state)

    def _check_scale_and_activation(self) -> None:
        check_number("scale", self.scale, low=0, high=1e100, include_low=False)
        check_activation(self.activation)

    @property
    def _n_features_out(self) -> int:
        return self.n_hidden_

    @property
    def _n_columns(self) -> int:
        """How many columns the weights have."""
        return self.n_hidden_

    @property
    def _weights_shape(self) -> tuple[int, int]:
        return self.n_features_in_, self._n_columns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def takes_checked_rows(transformer: Any) -> bool:
    """Whether `activations` is what `transform` does: it is a Layer that has not overridden it.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from greville import RandomLayer
    >>> from greville.layers import takes_checked_rows
    >>> takes_checked_rows(RandomLayer(5)), takes_checked_rows(StandardScaler())
    (True, False)
    """
    return isinstance(transformer, Layer) and type(transformer).transform is Layer.transform


def runs_on_device(transformer: Any) -> bool:
    """Whether `activations_on` is what `activations` does.

    Examples
    --------
    >>> from greville import RandomLayer
    >>> from greville.layers import runs_on_device
    >>> runs_on_device(RandomLayer(5))
    True
    """
    if not takes_checked_rows(transformer):
        return False
    # The class that says last what happens must have said it for both.
    both = all(
        (name in vars(base)) == (f"{name}_on" in vars(base))
        for base in type(transformer).__mro__
        for name in ("activations", "_projected", "_activated")
    )
    return both and all(runs_on_device(part) for part in transformer.parts)


def _plus(H: Array, added: Array | None) -> Array:
    """H, which is changed, with a number added to each column."""
    if added is not None:
        H += added
    return H


# What was found out about the weights of a layer, with these.
_found_bands: WeakKeyDictionary[Layer, tuple[Any, list[Band] | None]] = WeakKeyDictionary()

# Copies of weights on devices, found again when they are wanted.
_copies: WeakKeyDictionary[Layer, dict[Any, tuple[Any, Array]]] = WeakKeyDictionary()


def moved(layer: Layer, b: Backend, name: str, dtype: Any) -> Array:
    """An attribute of a layer on a backend."""
    mine, key = getattr(layer, name), (b.name, name, dtype)
    copies = _copies.setdefault(layer, {})
    known = copies.get(key)
    if known is None or known[0] is not mine:
        dense = mine.toarray() if sparse.issparse(mine) else mine
        copies[key] = known = mine, b.asarray(dense, dtype)
    return known[1]


class Matrix(NamedTuple):
    """A layer that is no more than ``activation(X @ weights + bias)``.

    With the activation "by unit" the first `n_tanh` units are tanh units, multiplied by `size`, the
    next `n_relu` ReLUs, and the others as they are.
    """

    weights: Array
    bias: Array | None
    activation: str
    n_tanh: int = 0
    n_relu: int = 0
    size: float = 1.0


def matrix_of(transformer: Any) -> Matrix | None:
    """What a layer does, if it is no more than a matrix and an activation with a name.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import RandomLayer
    >>> from greville.layers import matrix_of
    >>> layer = RandomLayer(5, random_state=0).fit(np.ones((3, 2)))
    >>> matrix_of(layer) is not None
    True
    """
    cls = type(transformer)
    if not takes_checked_rows(transformer) or cls.activations is not Layer.activations:
        return None
    if cls._projected is not Layer._projected or sparse.issparse(transformer.weights_):
        return None
    found: Matrix | None = transformer._matrix()
    return found


def product(A: Array, B: Array, *, by_columns: bool = False) -> Array:
    """A @ B for NumPy arrays, with the same bits wherever models learn."""
    b = backend.get("scipy")
    with backend.threads_for_rows(b, A.shape[0]):
        return b.matmul(B.T, A.T).T if by_columns else b.matmul(A, B)


def working_dtype(X: Any) -> Any:
    """float32 for float32, else float64."""
    if is_on_device(X):
        return float_of(X)
    return np.float32 if X.dtype == np.float32 else np.float64


# What is stored of a layer

SIZE = choice("auto") | count
ACTIVATION = choice(*ACTIVATIONS).or_else(
    "a function cannot be saved; pass the name of one of these"
)


def stored_layer(
    parameters: dict[str, Kind],
    fitted: dict[str, Kind] | None = None,
    *,
    sized: bool = True,
    **declared: Any,
) -> Callable[[type[Any]], type[Any]]:
    """Declare a layer with these parameters beside its size and its seed, and with weights.

    Not `sized`: the size is no parameter of it. `declared` is what else a `Declaration` has.
    """
    size = {"n_hidden": SIZE} if sized else {}
    return stored(
        parameters={**size, "random_state": random_state, **parameters},
        fitted={
            "n_features_in_": count,
            "n_hidden_": count,
            "weights_": array(2) | matrix("csc"),
            "bias_": nothing | array(1),
            **(fitted or {}),
        },
        optional={"feature_names_in_": words},
        whole=True,
        check=_check_fields,
        try_out=_try_out,
        **declared,
    )


def _check_fields(layer: Layer) -> None:
    if not hasattr(layer, "weights_"):
        return
    layer.check_parameters()
    inputs, units, weights, bias = (
        *(layer.n_features_in_, layer.n_hidden_),
        *(layer.weights_, layer.bias_),
    )
    require(inputs >= 1 and units >= 1, "the layer has no units")
    shape = layer._weights_shape
    fits = weights.shape == shape and weights.dtype.char in "fd"
    require(fits, "the layer's weights do not fit its size")
    require(inputs + units <= _MAX_LAYER_NUMBERS + weights.size, "the layer is too wide")
    require(bias is None or bias.shape == shape[1:], "the layer's biases do not fit its size")
    if hasattr(layer, "feature_names_in_"):
        require(len(layer.feature_names_in_) == inputs, "feature_names_in_ has another length")


def _try_out(layer: Layer) -> None:
    if hasattr(layer, "weights_"):
        zeros = np.zeros((1, layer.n_features_in_), layer.weights_.dtype)
        require_finite(layer.activations(zeros), "the output of the layer")
