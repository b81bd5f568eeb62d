"""What all solvers share: the public methods, the checks, and rows that wait for company."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import Lock
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..linalg import Array, matmul
from ..validation import (
    FLOATS,
    check_magnitude,
    check_rows,
    check_something_counts,
    check_targets,
    check_weights,
    unchanged_on_error,
)
from ._rows import FEW, VERY_FEW, Kept, Rows

# Rows whose prequential errors are found together. The work grows by 2·rows·M a row, the price of
# one round of calls is shared by all of them.
_RECORD = 128

_KEEPING = Lock()


class Solver(MultiOutputMixin, RegressorMixin, BaseEstimator, ABC):
    """A linear model of hidden activations without an intercept, learned in its own way.

    A subclass says how, with functions of a state that only it understands. They never change a
    state: they make another.
    """

    n_features_in_: int
    n_samples_seen_: int

    def fit(self, H: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn these rows.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_hidden)
        Y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            rows = self._checked(H, Y, sample_weight, reset=True)
            check_something_counts(rows.weight)
            self._fit(rows)
        return self

    def predict(self, H: Any) -> Array:
        """H @ W.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_hidden)

        Returns
        -------
        Y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        check_is_fitted(self)
        H = check_rows(self, H, "H", reset=False, dtype=self._dtype)
        return self._shaped(self._predicted(H, self._weights()))

    @property
    def coef_(self) -> Array:
        """The output weights, of shape (n_outputs, n_hidden), or (n_hidden,) for 1-d targets."""
        check_is_fitted(self)
        return self._shaped(self._weights()).T.copy()

    # What a subclass provides

    def _check_parameters(self) -> None:
        """Raise a ValueError for a parameter out of range."""

    @abstractmethod
    def _start(self, n_hidden: int, n_outputs: int, dtype: Any) -> Any:
        """The state before any row."""

    @abstractmethod
    def _absorb(self, state: Any, rows: Rows, seen: int) -> Any:
        """The state after some rows, which come after `seen` others."""

    @abstractmethod
    def _weights_of(self, state: Any) -> Array:
        """W, of shape (n_hidden, n_outputs)."""

    def _widened(self, rows: Rows) -> Rows:
        """Rows as the state wants them: with a column of ones, where there is an intercept."""
        return rows

    def _predicted(self, H: Array, W: Array) -> Array:
        """The predictions for rows without that column."""
        return matmul(H, W)

    # What the estimators in `elm` use: rows already checked

    def _begin(self, n_hidden: int, n_outputs: int, dtype: Any) -> None:
        self._check_parameters()
        self._held: tuple[Any, tuple[Kept, ...]] = (self._start(n_hidden, n_outputs, dtype), ())
        self._dtype = np.dtype(dtype)
        self._n_outputs = n_outputs
        self._flat = False
        self.n_features_in_ = n_hidden
        self.n_samples_seen_ = 0

    def _learn(self, rows: Rows) -> None:
        """Learn all of the rows or, if an exception comes out, none of them."""
        rows = self._widened(rows)
        if rows.n < FEW:
            state, waiting = self._held
            self._held = (state, (*waiting, rows.keep()))
            self.n_samples_seen_ += rows.n
            if sum(len(H) for H, _, _ in self._held[1]) >= FEW:
                self._flush()
        else:
            state = self._absorb(self._flush(), rows, self.n_samples_seen_)
            self._held = (state, ())
            self.n_samples_seen_ += rows.n

    def _fit(self, rows: Rows) -> None:
        """Learn the first rows, which may be all there will ever be."""
        self._learn(rows)
        self._flush()

    def _flush(self) -> Any:
        """Learn the rows that wait; return the state."""
        held = self._held
        state, waiting = held
        if waiting:
            rows = Rows.joined(list(waiting))
            state = self._absorb(state, rows, self.n_samples_seen_ - rows.n)
            with _KEEPING:  # predictions flush too, maybe in another thread, and must lose no rows
                if self._held is held:
                    self._held = (state, ())
        return state

    def _weights(self) -> Array:
        """W after every row learned so far, of shape (n_hidden, n_outputs)."""
        state, waiting = self._held
        if waiting and sum(len(H) for H, _, _ in waiting) <= VERY_FEW:
            W = self._weights_after(state, waiting)
            if W is not None:
                return W
        return self._weights_of(self._flush())

    def _weights_after(self, state: Any, waiting: tuple[Kept, ...]) -> Array | None:
        """W after the rows that wait, without learning them, where there is a cheap way."""
        return None

    # Checks

    def _checked(self, H: Any, Y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        dtype = FLOATS if reset else self._dtype
        H = check_rows(self, H, "H", reset=reset, dtype=dtype, order="C")
        Y = check_targets(Y, "Y", len(H), H.dtype)
        weight = check_weights(sample_weight, len(H), H.dtype)
        check_magnitude("H", H, weight)
        check_magnitude("Y", Y, weight)
        flat = Y.ndim == 1
        Y = Y.reshape(len(Y), -1)
        if reset:
            self._begin(H.shape[1], Y.shape[1], H.dtype)
            self._flat = flat
        else:
            self._check_outputs("Y", Y)
        return Rows.of(H, Y, weight)

    def _check_outputs(self, name: str, Y: Array) -> None:
        self._check_parameters()  # somebody may have set others since
        if Y.shape[1] != self._n_outputs:
            raise ValueError(
                f"{name}: got {Y.shape[1]} outputs, but this model was started with "
                f"{self._n_outputs}; pass as many, or call fit to start again."
            )

    def _shaped(self, Y: Array) -> Array:
        """A 2-d array in the shape of the targets."""
        return Y[:, 0] if self._flat else Y


class OnlineSolver(Solver):
    """A solver that also learns from rows as they come."""

    def partial_fit(self, H: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows. How rows are cut into calls changes nothing but rounding.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_hidden)
        Y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            rows = self._checked(H, Y, sample_weight, reset=not self._started)
            self._learn(rows)
        return self

    def prequential(self, H: Any, Y: Any, sample_weight: Any = None) -> Array:
        """Predict every row before it is learned, and learn them all.

        What a loop of `predict` and `partial_fit` over single rows gives, to rounding, at the
        speed of matrix products.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_hidden)
        Y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        predictions : ndarray of the shape of Y
            Row k was predicted from all rows learned earlier and the first k of these. Before
            anything was learned, the prediction is zero.
        """
        with unchanged_on_error(self):
            rows = self._checked(H, Y, sample_weight, reset=not self._started)
            return self._shaped(self._record(rows))

    @abstractmethod
    def _innovate(
        self, state: Any, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Any, Array]:
        """The state after a few rows, and the error of each before it was learned."""

    @abstractmethod
    def _with_outputs(self, state: Any, n_outputs: int, old: Array) -> Any:
        """A state with more outputs, zero in all rows so far, the present ones at `old`."""

    def _add_outputs(self, n_outputs: int, old: Array) -> None:
        """More outputs, zero in all rows so far, the present ones at the indices `old`."""
        self._held = (self._with_outputs(self._flush(), n_outputs, old), ())
        self._n_outputs = n_outputs

    def _record_length(self, seen: int) -> int:
        """How many rows `_innovate` may take at once after `seen` rows."""
        return _RECORD

    def _record(self, rows: Rows, look: Callable[..., None] | None = None) -> Array:
        """Learn the rows; return the prediction of each before it was learned.

        `look` sees every block of rows, and the state before it, first.
        """
        rows = self._widened(rows)
        state, predicted = self._run(self._flush(), rows, self.n_samples_seen_, look)
        self._held = (state, ())
        self.n_samples_seen_ += rows.n
        return predicted

    def _run(
        self, state: Any, rows: Rows, seen: int, look: Callable[..., None] | None = None
    ) -> tuple[Any, Array]:
        """The state after some rows, and the prediction of each before it was learned."""
        weight = np.ones(rows.n, self._dtype) if rows.weight is None else rows.weight
        blocks, start = [], 0
        while start < rows.n:
            stop = min(rows.n, start + self._record_length(seen + start))
            H, Y = rows.make(start, stop)
            block = (state, H, Y, weight[start:stop], seen + start)
            if look is not None:
                look(*block)
            state, errors = self._innovate(*block)
            blocks.append(Y - errors)
            start = stop
        return state, np.concatenate(blocks)

    @property
    def _started(self) -> bool:
        return hasattr(self, "n_samples_seen_")
