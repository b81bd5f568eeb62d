"""What all solvers share: the public methods, the checks, and rows that wait for company."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..linalg import DOT, Array, matmul
from ..threads import new_lock
from ..validation import (
    FLOATS,
    check_magnitude,
    check_one,
    check_one_target,
    check_rows,
    check_something_counts,
    check_targets,
    check_weights,
    largest_square,
    unchanged_on_error,
)
from ._rows import FEW, Held, Rows, Waiting

# Rows whose prequential errors are found together. The work grows by 2·rows·M a row, the price of
# one round of calls is shared by all of them.
_RECORD = 128

_KEEPING = new_lock()


class Solver(MultiOutputMixin, RegressorMixin, BaseEstimator, ABC):
    """A linear model of hidden activations without an intercept, learned in its own way.

    A subclass says how, with functions of a state that only it understands. They never change a
    state: they make another.
    """

    n_features_in_: int
    n_samples_seen_: int
    _held: Held
    _shape: tuple[int] | None = None

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

    def predict_one(self, h: Any) -> Any:
        """The prediction for one row, in a few microseconds more than the arithmetic takes.

        Parameters
        ----------
        h : array of shape (n_hidden,)

        Returns
        -------
        y : number, or ndarray of shape (n_outputs,)
            What ``predict([h])[0]`` gives, to rounding.
        """
        if not self._is_usual(h):
            h = self._checked_one(h)
        return self._one(self._predict_one(h))

    def _one(self, predicted: Any) -> Any:
        """One prediction in the shape of one target."""
        if self._flat:
            return self._dtype.type(predicted)
        return np.array(predicted, self._dtype).reshape(self._n_outputs)

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
        """W, of shape (n_hidden, n_outputs), below a row for the intercept if there is one."""

    def _predicted(self, H: Array, W: Array) -> Array:
        """The predictions for checked rows."""
        return matmul(H, W)

    # What the estimators in `elm` use: rows already checked

    def _begin(self, n_hidden: int, n_outputs: int, dtype: Any) -> None:
        self._check_parameters()
        self._held = (self._start(n_hidden, n_outputs, dtype), Waiting())
        self._dtype = np.dtype(dtype)
        self._shape, self._limit = (n_hidden,), largest_square(dtype)
        self._n_outputs = n_outputs
        self._flat = False
        self.n_features_in_ = n_hidden
        self.n_samples_seen_ = 0

    def _learn(self, rows: Rows) -> None:
        """Learn all of the rows or, if an exception comes out, none of them."""
        if rows.n < FEW:
            state, waiting = self._held
            waiting = waiting.with_rows(rows)
            self._held = (state, waiting)
            self.n_samples_seen_ += rows.n
            if waiting.n >= FEW:
                self._flush()
        else:
            state = self._absorb(self._flush(), rows, self.n_samples_seen_)
            self._held = (state, Waiting())
            self.n_samples_seen_ += rows.n
            self._look_no_further()

    def _fit(self, rows: Rows) -> None:
        """Learn the first rows, which may be all there will ever be."""
        self._learn(rows)
        self._flush()

    def _flush(self) -> Any:
        """Learn the rows that wait; return the state."""
        held = self._held
        state, waiting = held
        if waiting.n:
            state = self._absorb(state, waiting.rows(), self.n_samples_seen_ - waiting.n)
            self._look_no_further()
            learned = (state, Waiting())
            with _KEEPING:  # predictions flush too, maybe in another thread, and must lose no rows
                if self._held is held:
                    self._held = learned
        return state

    def _look_no_further(self) -> None:
        """Let go of what was kept beside a state that is no more."""

    def _predict_one(self, h: Array) -> Any:
        """The prediction for one row, of shape (n_outputs,); it may be a number if that is one."""
        predicted = self._predicted(h[None], self._weights())[0]
        return predicted if len(predicted) > 1 else predicted[0]

    def _weights(self) -> Array:
        """W after every row learned so far, with a row for the intercept first if there is one."""
        held = self._held
        if held[1].n:
            W = self._weights_after(held)
            if W is not None:
                return W
        return self._weights_of(self._flush())

    def _weights_after(self, held: Held) -> Array | None:
        """W after the rows that wait, without learning them, where there is a cheap way."""
        return None

    # Checks

    def _is_row(self, h: Any) -> bool:
        """Whether something is an array as rows should be."""
        return type(h) is np.ndarray and h.shape == self._shape and h.dtype == self._dtype

    def _is_usual(self, h: Any) -> bool:
        """Whether there is nothing to check about a row: the answer for nearly all of them."""
        # All of its numbers are finite, and none too large.
        return self._is_row(h) and DOT[self._dtype](h, h) < self._limit

    def _checked_one(self, h: Any) -> Array:
        """One row, if there is anything to make of it."""
        check_is_fitted(self)
        h = check_one(h, "h", self.n_features_in_, self._dtype)
        check_magnitude("h", h)
        return h

    @property
    def _started(self) -> bool:
        return hasattr(self, "n_samples_seen_")

    def __sklearn_is_fitted__(self) -> bool:
        return self._started

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

    def _check_going_on(self) -> None:
        """Raise a ValueError if somebody has set parameters with which it cannot."""
        self._check_outputs("y", np.empty((0, self._n_outputs)))

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

    def learn_one(self, h: Any, y: Any) -> Self:
        """Learn one row: what ``partial_fit([h], [y])`` does, without its checks of whole tables.

        Mixed with any other method at any point, the answers are those of either alone.

        Parameters
        ----------
        h : array of shape (n_hidden,)
        y : number, or array of shape (n_outputs,)

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from greville import Opium
        >>> model = Opium(epsilon=1e-6)
        >>> for h in np.random.default_rng(0).normal(size=(100, 3)):
        ...     if model.learn_one(h, h @ [1.0, 2.0, 3.0]).n_samples_seen_ > 50:
        ...         error = model.predict_one(h) - h @ [1.0, 2.0, 3.0]
        >>> bool(abs(error) < 1e-6)
        True
        """
        if not self._started:
            h = check_one(h, "h", None, FLOATS)
            return self.partial_fit(h[None], np.asarray(y)[None])
        if not self._is_usual(h):
            h = self._checked_one(h)
        if not self._flat or not isinstance(y, float) or not y * y < self._limit:
            y = check_one_target(y, "y", self._n_outputs, self._flat, self._dtype)
        self._learn_one(h, y)
        return self

    def _learn_one(self, h: Array, y: Any) -> None:
        """Learn one checked row, or if an exception comes out, nothing."""
        held, seen = self._held, self.n_samples_seen_
        try:
            waiting = held[1].with_one(h, y)
            self._held = (held[0], waiting)
            self.n_samples_seen_ = seen + 1
            if waiting.n >= FEW:
                self._check_going_on()
                self._flush()
        except BaseException:
            self._held, self.n_samples_seen_ = held, seen
            raise

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
        self._held = (self._with_outputs(self._flush(), n_outputs, old), Waiting())
        self._n_outputs = n_outputs

    def _record_length(self, seen: int) -> int:
        """How many rows `_innovate` may take at once after `seen` rows."""
        return _RECORD

    def _record(self, rows: Rows, look: Callable[..., None] | None = None) -> Array:
        """Learn the rows; return the prediction of each before it was learned.

        `look` sees every block of rows, and the state before it, first.
        """
        state, predicted = self._run(self._flush(), rows, self.n_samples_seen_, look)
        self._look_no_further()
        self._held = (state, Waiting())
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
