"""Layers for rows that follow each other in time: units depend on earlier rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..backend import Array
from ..fields import require
from ..validation import FLOATS, check_rows, unchanged_on_error
from .protocol import Features


class SequenceLayer(Features):
    """Units that depend on a row and on those before it.

    `transform` begins at rest, with nothing before the first row. `advance` goes on where it ended
    the last time: called with pieces of a sequence, it returns what one call with all of it would.
    A subclass provides `_set_weights`, `_initial_state` and `_follow`.

    Attributes
    ----------
    state_ : ndarray
        Where `advance` goes on.
    """

    # Estimators that see rows in blocks, in any order, cannot have such a layer.
    follows_rows: ClassVar[bool] = True

    state_: Array

    def fit(self, X: Any, y: Any = None) -> Self:
        """Set the weights for the number of columns of X; the values in X do not matter.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self.check_parameters()
            X = check_rows(self, X, "X", reset=True, dtype=FLOATS)
            self._set_weights(X.shape[1])
            self.state_ = self._initial_state()
        return self

    def transform(self, X: Any) -> Array:
        """The units at each row of a sequence that begins at rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One row after the other.

        Returns
        -------
        H : ndarray of shape (n_samples, n_hidden)
            float32 for float32 input, else float64.
        """
        X = self._checked(X)
        return self.activations(X).astype(X.dtype, copy=False)

    def activations(self, X: Any) -> Array:
        return self._follow(X.astype(np.float64), self._initial_state())[0]

    def advance(self, X: Any) -> Array:
        """The units at each of the next rows, after all that `advance` has seen so far.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One row after the other.

        Returns
        -------
        H : ndarray of shape (n_samples, n_hidden)
        """
        X = self._checked(X)
        H, self.state_ = self._follow(X.astype(np.float64), self.state_)
        return H.astype(X.dtype, copy=False)

    def reset(self) -> Self:
        """Have `advance` begin at rest again."""
        check_is_fitted(self)
        self.state_ = self._initial_state()
        return self

    @abstractmethod
    def _set_weights(self, n_features: int) -> None:
        """Set `n_hidden_` and the weights."""

    @abstractmethod
    def _initial_state(self) -> Array:
        """The state before any row."""

    @abstractmethod
    def _follow(self, X: Array, state: Array) -> tuple[Array, Array]:
        """The units at rows that follow a state, and the state after them."""

    def _checked(self, X: Any) -> Array:
        check_is_fitted(self)
        checked: Array = check_rows(self, X, "X", reset=False, dtype=FLOATS)
        return checked

    def _check_stored(self) -> None:
        fits = self.state_.shape == self._initial_state().shape
        require(fits, "the state does not fit the layer")
