"""What all hidden layers share: activations, and the way from X to H, eqs. (1)-(2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..linalg import SHARED, Array, matmul, matvec
from ..threads import one_thread
from ..validation import FLOATS, check_number, check_rows, naming, unchanged_on_error

# Weights from which a product with one row is worth a second thread.
_WORTH_TWO_THREADS = 1_000_000

Activation = str | Callable[[Array], Array]


def _relu(H: Array, out: Array) -> Array:
    return np.maximum(H, 0, out=out)


def _hard_limit(H: Array, out: Array) -> Array:
    return np.greater_equal(H, 0, out=out, casting="unsafe")


def _identity(H: Array, out: Array) -> Array:
    return out


# Each works in place, f(H, out=H): the layer never holds a second array of H's size.
ACTIVATIONS: dict[str, Callable[..., Array]] = {
    "tanh": np.tanh,
    "sigmoid": expit,
    "relu": _relu,
    "sin": np.sin,
    "cos": np.cos,
    "hard-limit": _hard_limit,
    "identity": _identity,
}


class Layer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Units ``H = f(X @ weights_ + bias_)`` whose weights are set once, by `fit`."""

    n_hidden: int | str
    scale: float
    activation: Activation
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
            self._check_parameters()
            X = check_rows(self, X, "X", reset=True, dtype="numeric", accept_sparse="csr")
            self.n_hidden_ = 10 * X.shape[1] if self.n_hidden == "auto" else int(self.n_hidden)
            self.bias_ = None
            self._set_weights(X, y, working_dtype(X))
        return self

    def _check_parameters(self) -> None:
        """Raise a ValueError for a parameter out of range."""
        if not (isinstance(self.n_hidden, str) and self.n_hidden == "auto"):
            check_number("n_hidden", self.n_hidden, low=1, whole=True)

    @abstractmethod
    def _set_weights(self, X: Any, y: Any, dtype: Any) -> None:
        """Set `weights_`, of shape (n_features, units), and `bias_` where there is one."""

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
        X = check_rows(
            self, X, "X", reset=False, dtype=FLOATS, accept_sparse=("csr", "csc"), order=None
        )
        return self._transformed(X)

    def _transformed(self, X: Any, shift: Array | None = None) -> Array:
        """The activations for rows that are checked, less a shift of all of them."""
        return self._activated(self._projected(X, shift))

    def _transformed_one(self, x: Array) -> Array:
        """The activations for one row of finite numbers."""
        weights = self.weights_.astype(x.dtype, copy=False)
        if sparse.issparse(weights):
            h = weights.T @ x
        elif weights.size < SHARED or weights.size > _WORTH_TWO_THREADS:
            h = matvec(weights.T, x)
        else:
            with one_thread:
                h = matvec(weights.T, x)
        if self.bias_ is not None:
            h += self.bias_.astype(x.dtype, copy=False)
        return self._activated(h[None])[0]

    def _projected(self, X: Any, shift: Array | None = None) -> Array:
        """(X - shift) @ weights_ + bias_, without filling the zeros of a sparse X."""
        weights = self.weights_.astype(X.dtype, copy=False)
        if sparse.issparse(weights):
            H = weights.T @ (X.toarray() if sparse.issparse(X) else X).T
            H = np.ascontiguousarray(H.T)
        else:
            H = np.asarray(X @ weights) if sparse.issparse(X) else matmul(X, weights)
        if shift is not None:
            H -= (shift @ self.weights_).astype(H.dtype)
        if self.bias_ is not None:
            H += self.bias_.astype(X.dtype, copy=False)
        return H

    def _activated(self, H: Array) -> Array:
        if not callable(self.activation):
            return ACTIVATIONS[self.activation](H, out=H)
        activated = np.asarray(self.activation(H))
        if activated.shape != H.shape:
            raise ValueError(
                f"activation: it returned shape {activated.shape} for input of shape {H.shape}; "
                "it must keep the shape."
            )
        return activated.astype(H.dtype, copy=False)

    def _random(self) -> np.random.RandomState:
        with naming("random_state"):
            return check_random_state(self.random_state)

    def _check_scale_and_activation(self) -> None:
        check_number("scale", self.scale, low=0, high=1e100, include_low=False)
        known = isinstance(self.activation, str) and self.activation in ACTIVATIONS
        if not (callable(self.activation) or known):
            names = ", ".join(map(repr, ACTIVATIONS))
            raise ValueError(
                f"activation={self.activation!r}: choose one of {names}, or pass a function."
            )

    @property
    def _n_features_out(self) -> int:
        return self.n_hidden_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def is_own(transformer: Any) -> bool:
    """Whether it is one of these layers, and nobody has changed what its `transform` does."""
    return isinstance(transformer, Layer) and type(transformer).transform is Layer.transform


def working_dtype(X: Any) -> Any:
    """float32 for float32, else float64."""
    return np.float32 if X.dtype == np.float32 else np.float64
