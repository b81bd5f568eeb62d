"""What a hidden layer is: X -> H with weights that `fit` sets once, eqs. (1)-(2)."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self
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
    declaration_of,
    nothing,
    random_state,
    require,
    require_finite,
    stored,
    text_array,
    within,
)
from ..representation import Described, memory_of, named_list, size_in_words
from ..threads import one_thread
from ..validation import (
    FLOATS,
    Seed,
    check_rows,
    check_tensor_rows,
    naming,
    unchanged_on_error,
)
from .activations import ACTIVATIONS, Activation, activate, check_activation

# The paper's rule for n_hidden="auto".
UNITS_PER_INPUT = 10

# Rows from which activations are made column by column: their Gram matrix takes 5 to 15 % less
# time, and a product with their targets half as long.
_MANY_ROWS = 512

# Numbers in a row of inputs and units for which a file need not have an array of that size.
_MAX_LAYER_NUMBERS = 1 << 23


# Parameters that several layers have

Size = Annotated[int | Literal["auto"], choice("auto") | within(1, whole=True)]
Length = Annotated[float, within(0, 1e100, include_low=False)]
Random = Annotated[Seed, random_state]
ActivationName = Kind(
    "the name of an activation",
    lambda value: isinstance(value, str) and value in ACTIVATIONS,
    f"a function cannot be saved; pass one of {', '.join(map(repr, ACTIVATIONS))}",
)
AnyActivation = Annotated[Activation, ActivationName]


class Features(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Described, BaseEstimator, ABC):
    """Base of layers of all kinds: parameters that are checked, a size, and a summary."""

    n_hidden_: int
    n_features_in_: int
    random_state: Any

    def check_parameters(self) -> None:
        """Raise a ValueError for a parameter that is not of the kind its class declares."""
        declaration = declaration_of(type(self))
        for name, kind in (declaration.parameters if declaration else {}).items():
            value = getattr(self, name)
            if kind is ActivationName:
                check_activation(value)
            elif not kind.holds(value):
                raise ValueError(f"{name}={value!r}: pass {kind.name}.")

    def activations(self, X: Any) -> Array:
        """The units for rows of floats that are already checked; `transform` checks them first."""
        raise NotImplementedError

    def summary(self) -> dict[str, str]:
        """A table of what `fit` has set, in words, as notebooks show it; empty before `fit`.

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
        """Describe the number and the kinds of units of a fitted layer."""
        kind = self._kind_of_units()
        return f"{self.n_hidden_:,} ({kind})" if kind else f"{self.n_hidden_:,}"

    def _kind_of_units(self) -> str:
        return ""

    def _random(self) -> np.random.RandomState:
        with naming("random_state"):
            return check_random_state(self.random_state)

    def _check_stored(self) -> None:
        """Raise a FieldError where what a file holds of a fitted layer does not go together."""

    @property
    def _n_features_out(self) -> int:
        return self.n_hidden_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Layer(Features):
    """Units ``H = f(X @ weights_ + bias_)`` whose weights are set once, by `fit`.

    A subclass provides `_set_weights` and, where a check of single parameters does not do, extends
    `check_parameters`. One that is more than a product and an activation provides `_fit` and
    `activations_on` instead. Estimators call `activations` and `activations_one` on rows that they
    have checked, instead of `transform`.

    Attributes
    ----------
    wants_order_one : bool
        Whether the layer needs inputs in comparable units, which estimators then learn.
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
    parts: tuple[Layer, ...] = ()

    n_hidden: Any
    activation: Any = "identity"
    weights_: Array
    bias_: Array | None

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
        n_inputs = X.shape[1]
        self.n_hidden_ = UNITS_PER_INPUT * n_inputs if self.n_hidden == "auto" else self.n_hidden
        self.bias_ = None
        self._set_weights(X, y, dtype)

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
        """The units for X - shift, whose rows of floats are already checked, as by `transform`.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
        shift : ndarray of shape (n_features,), optional
            What to subtract from every row, without filling the zeros of a sparse X.
        """
        if X.shape[0] == 1 and shift is None and not sparse.issparse(X):
            return self.activations_one(X[0])[None]
        return self.activations_on(backend.get("scipy"), X, shift)

    def activations_on(self, b: Backend, X: Any, shift: Array | None = None) -> Array:
        """`activations` on a backend, where X is, unless it is sparse and SciPy's."""
        return self._activated(self._projected(b, X, shift))

    def activations_one(self, x: Array) -> Array:
        """The activations for one row of finite floats, of shape (n_features,)."""
        if type(self).activations_on is not Layer.activations_on:
            H: Array = self.activations_on(backend.get("scipy"), x[None])
            return H[0]
        weights = self.weights_.astype(x.dtype, copy=False)
        with one_thread if weights.size >= SHARED else nullcontext():
            h = GEMV[x.dtype](1.0, weights.T, x)
        if self.bias_ is not None:
            h += self.bias_.astype(x.dtype, copy=False)
        return self._activated(h[None])[0]

    def _projected(self, b: Backend, X: Any, shift: Array | None) -> Array:
        """(X - shift) @ weights_ + bias_, without filling the zeros of a sparse X."""
        dtype, n = X.dtype if b.has_kernels else b.dtype_of(X), X.shape[0]
        weights, bias = (moved(self, b, name, dtype) for name in ("weights_", "bias_"))
        if sparse.issparse(X):
            H = np.asarray(X @ weights)
        elif b.has_kernels:
            H = product(X, weights, by_columns=n >= _MANY_ROWS)
        elif getattr(X, "is_sparse", False):
            H = b.matmul(X, weights)
        else:
            # Column by column: Gram matrices of such rows take a fifth less time, if columns begin
            # at round numbers.
            more = -n % b.tuning.block_multiple
            if more and n > b.tuning.pending_rows:
                X = b.xp.concat([X, b.zeros((more, X.shape[1]), dtype)])
            H = b.matmul(weights.T, X.T).T
        if shift is not None:
            H -= b.asarray(shift @ self.weights_, dtype)
        if bias is not None:
            H += bias
        return H[:n, :]

    def _activated(self, H: Any) -> Any:
        """The activations of projections, an array or a tensor, which may be overwritten."""
        return activate(self.activation, H)

    def _kind_of_units(self) -> str:
        return str(getattr(self.activation, "__name__", self.activation))

    def _matrix(self) -> Matrix | None:
        """Return what `_activated` does as a `Matrix`, if the activation has a name."""
        if type(self)._activated is not Layer._activated or not isinstance(self.activation, str):
            return None
        return Matrix(self.weights_, self.bias_, self.activation)

    @property
    def _weights_shape(self) -> tuple[int, int]:
        return self.n_features_in_, self.n_hidden_

    def _check_stored(self) -> None:
        shape, weights = self._weights_shape, self.weights_
        fits = weights.shape == shape and weights.dtype.char in "fd"
        require(fits, "the layer's weights do not fit its size")
        width = self.n_features_in_ + self.n_hidden_
        require(width <= _MAX_LAYER_NUMBERS + weights.size, "the layer is too wide")
        fits = self.bias_ is None or self.bias_.shape == shape[1:]
        require(fits, "the layer's biases do not fit its size")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def takes_checked_rows(transformer: Any) -> bool:
    """Whether a transformer is a Layer that does not override `transform`.

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
    """Whether a layer takes tensors: all that makes its activations is greville's own.

    Examples
    --------
    >>> from greville import RandomLayer
    >>> from greville.layers import runs_on_device
    >>> runs_on_device(RandomLayer(5))
    True
    """
    steps = ("activations", "activations_on", "_projected", "_activated")
    return (
        takes_checked_rows(transformer)
        and all(getattr(type(transformer), s).__module__.startswith(__package__) for s in steps)
        and all(runs_on_device(part) for part in transformer.parts)
    )


# Copies of weights on devices.
_copies: WeakKeyDictionary[Layer, dict[Any, tuple[Array, Array]]] = WeakKeyDictionary()


def moved(layer: Layer, b: Backend, name: str, dtype: Any) -> Any:
    """Return an attribute of a layer as an array on a backend; None if the attribute is None."""
    mine, key = getattr(layer, name), (b.name, name, dtype)
    if mine is None or b.has_kernels:
        return mine if mine is None else mine.astype(dtype, copy=False)
    copies = _copies.setdefault(layer, {})
    copied = copies.get(key)
    if copied is None or copied[0] is not mine:
        copies[key] = copied = mine, b.asarray(mine, dtype)
    return copied[1]


class Matrix(NamedTuple):
    """A layer that is no more than ``activation(X @ weights + bias)``.

    With the activation "by unit" the first `n_tanh` units are tanh units, multiplied by `size`, the
    next `n_relu` ReLUs, and the others as they are. With "waves" the first `n_cosines` are cosines,
    and the others sines.
    """

    weights: Array
    bias: Array | None
    activation: str
    n_tanh: int = 0
    n_relu: int = 0
    size: float = 1.0
    n_cosines: int = 0

    def kinds(self) -> list[tuple[str, slice, float]]:
        """Return each activation with the slice of its units and their factor."""
        n, waves = self.weights.shape[1], self.n_cosines
        if self.activation == "waves":
            return [("cos", slice(0, waves), 1.0), ("sin", slice(waves, n), 1.0)]
        if self.activation != "by unit":
            return [(self.activation, slice(0, n), 1.0)]
        bend = self.n_tanh + self.n_relu
        return [("tanh", slice(0, self.n_tanh), self.size), ("relu", slice(self.n_tanh, bend), 1.0)]

    def projected(self, X: Array) -> Array:
        """X @ weights + bias."""
        H = X @ self.weights
        return H if self.bias is None else H + self.bias

    def activated(self, H: Array) -> Array:
        """The activations of projections."""
        H = H.copy()
        for name, units, size in self.kinds():
            H[:, units] = size * activate(name, H[:, units])
        return H

    def slopes(self, H: Array) -> Array:
        """The derivatives of the activations."""
        slopes = np.ones_like(H)
        for name, units, size in self.kinds():
            slopes[:, units] = size * ACTIVATIONS[name].slope(H[:, units])
        return slopes


def matrix_of(transformer: Any) -> Matrix | None:
    """Return a layer as a `Matrix`, if it is only a matrix and a named activation; else None.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import RandomLayer
    >>> from greville.layers import matrix_of
    >>> layer = RandomLayer(5, random_state=0).fit(np.ones((3, 2)))
    >>> matrix_of(layer) is not None
    True
    """
    steps = ("activations", "activations_on", "_projected")
    if not takes_checked_rows(transformer):
        return None
    if any(getattr(type(transformer), s) is not getattr(Layer, s) for s in steps):
        return None
    matrix: Matrix | None = transformer._matrix()
    return matrix


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


def dense(X: Any) -> Array:
    """Rows as a NumPy array."""
    return X.toarray() if sparse.issparse(X) else on_host(X)


def dense_on(b: Backend, X: Any, shift: Array | None) -> Array:
    """X - shift on a backend, without a copy where there is nothing to do."""
    X = X.toarray() if sparse.issparse(X) else X
    X = b.asarray(X.to_dense() if getattr(X, "is_sparse", False) else X)
    return X if shift is None else X - b.asarray(shift, b.dtype_of(X))


def rows_apart(n: int, most: int) -> Array:
    """The places of at most so many of n rows, evenly apart."""
    n_rows = min(n, most)
    return np.arange(n_rows) * n // n_rows


# What is stored of a layer


def stored_layer(
    fitted: dict[str, Kind] | None = None, *, weights: Kind | None = None, **declared: Any
) -> Callable[[type[Any]], type[Any]]:
    """Declare what is stored of a layer: its parameters, its weights, and what else `fit` sets.

    The parameters of a dataclass are in its annotations, those of another class are passed as
    `parameters`. `weights` is the kind of the weights, and `declared` what else a `Declaration`
    has.
    """
    return stored_features(
        {
            "weights_": array(2) if weights is None else weights,
            "bias_": nothing | array(1),
            **(fitted or {}),
        },
        **declared,
    )


def stored_features(fitted: dict[str, Kind], **declared: Any) -> Callable[[type[Any]], type[Any]]:
    """Declare what is stored of any layer: its parameters, its size, and the `fitted` fields."""
    return stored(
        fitted={"n_features_in_": count, "n_hidden_": count, **fitted},
        optional={"feature_names_in_": text_array},
        whole=True,
        check=_check_fields,
        try_out=_try_out,
        **declared,
    )


def _check_fields(layer: Features) -> None:
    if hasattr(layer, "n_hidden_"):
        layer.check_parameters()
        require(layer.n_features_in_ >= 1 and layer.n_hidden_ >= 1, "the layer has no units")
        names = getattr(layer, "feature_names_in_", None)
        fits = names is None or len(names) == layer.n_features_in_
        require(fits, "feature_names_in_ has another length")
        layer._check_stored()


def _try_out(layer: Features) -> None:
    if hasattr(layer, "n_hidden_"):
        dtype = getattr(getattr(layer, "weights_", None), "dtype", np.float64)
        zeros = np.zeros((1, layer.n_features_in_), dtype)
        require_finite(layer.activations(zeros), "the output of the layer")
