"""Solvers whose state is a sum over rows: rows can be taken away, and states added."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..linalg import column_squares
from ..validation import unchanged_on_error
from ._exact import RootSolver
from ._mean import Mean
from ._rows import FEW, Rows, Waiting

# Rows removed together: as many as there are weights, since each time costs a factorisation, but
# not so many that the eigenvalues of rows x rows cost more than that.
_MOST = 1024


# What removing a row must leave of its direction, as a power of eps. The relative error of
# the weights, measured, is about three times eps over what is left: 1e-8 at this limit in float64.
_LEAST_LEFT = 0.46


# How far the sums of squares of all rows may be from what was learned, when all are unlearned.
_ALIKE = {"d": 1e-6, "f": 1e-2}

_CANNOT_UNLEARN = (
    "these rows cannot be unlearned: either some of them, or their targets or weights, were not "
    "learned like this, or the rows that are left do not determine the weights any more (a larger "
    "epsilon helps). The model is as it was."
)


class AdditiveSolver(RootSolver):
    """A solver that can also unlearn, and be merged with others."""

    def unlearn(self, H: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Remove rows learned earlier: as if they had never been there, to rounding.

        Rows cannot be told from their sums. Where they were never learned, this is noticed only if
        what is left is not a sum of squares any more.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_hidden)
        Y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
            The weights they were learned with.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If they cannot be removed; the model is then as it was.
        """
        check_is_fitted(self)
        with unchanged_on_error(self):
            self._unlearn(self._checked(H, Y, sample_weight, reset=False))
        return self

    def merge(self, *others: Self) -> Self:
        """Learn all that other models have learned: as if this one had seen all of their rows.

        Parameters
        ----------
        *others : solvers of the same kind, with the same parameters

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            for other in others:
                self._merge(other)
        return self

    def __add__(self, other: Any) -> Self:
        """A new model that has learned what both have."""
        return copy(self).merge(other) if isinstance(other, type(self)) else NotImplemented

    def __radd__(self, other: Any) -> Self:
        return copy(self) if isinstance(other, int) and other == 0 else NotImplemented  # sum()

    def _unlearn(self, rows: Rows) -> None:
        if rows.n > self.n_samples_seen_:
            raise ValueError(
                f"got {rows.n} rows to unlearn, but only {self.n_samples_seen_} were learned."
            )
        state = self._flush().copy()
        if rows.n == self.n_samples_seen_:
            self._unlearn_all(state, rows)
            return
        least = float(np.finfo(self._dtype).eps) ** _LEAST_LEFT
        for part in rows.slices(int(np.clip(self.n_features_in_, FEW, _MOST))):
            H, Y = rows.make(part.start, part.stop)
            weight = None if rows.weight is None else rows.weight[part]
            mean = state.mean
            if mean is not None:
                H, Y, mean = mean.remove(H, Y, weight)
            elif weight is not None:
                root = np.sqrt(weight)[:, None]
                H, Y = root * H, root * Y
            if not state.remove(np.ascontiguousarray(H), np.ascontiguousarray(Y), least):
                raise ValueError(_CANNOT_UNLEARN)
            state.mean = mean
        state.tally(-np.ones(rows.n) if rows.weight is None else -rows.weight)
        self._held = (self._changed(state), Waiting())
        self.n_samples_seen_ -= rows.n

    def _unlearn_all(self, state: Any, rows: Rows) -> None:
        """Start again, if these are the rows that were learned: if their sums of squares agree."""
        mean, n_outputs = state.mean, self._n_outputs
        start = None if mean is None else Mean.of_nothing(self.n_features_in_, n_outputs)
        blocks, found = self._blocks(rows, start), np.zeros(1 + n_outputs)
        for H, Y in blocks():
            found += np.append(column_squares(H).sum(), column_squares(Y))
        known = np.append(*state.squares())
        alike = _ALIKE[self._dtype.char]
        slack = alike * np.maximum(found, known)
        slack[0] += state.slack
        if mean is not None:
            sizes = mean.count * np.append(mean.row @ mean.row, mean.target**2)
            slack += alike * sizes
            moved = blocks.after.row - mean.row, blocks.after.target - mean.target  # type: ignore[union-attr]
            steps = mean.count * np.append(moved[0] @ moved[0], moved[1] ** 2)
            if (steps > alike**2 * (sizes + np.maximum(found, known)) + alike * slack).any():
                raise ValueError(_CANNOT_UNLEARN)
        if (np.abs(found - known) > slack).any():
            raise ValueError(_CANNOT_UNLEARN)
        self._begin_again()

    def _begin_again(self) -> None:
        """Forget all rows."""
        start = self._start(self.n_features_in_, self._n_outputs, self._dtype)
        self._held, self.n_samples_seen_ = (start, Waiting()), 0

    def _changed(self, state: Any) -> Any:
        """The state after it has lost rows, or met another."""
        return state

    def _merge(self, other: Any) -> None:
        check_is_fitted(self)
        if type(other) is not type(self):
            raise ValueError(
                f"other: expected {type(self).__name__}, got {type(other).__name__}; only models "
                "of one kind can be merged."
            )
        check_is_fitted(other)
        for name, mine, theirs in (
            *((k, v, other.get_params()[k]) for k, v in self.get_params().items()),
            ("dtype", self._dtype, other._dtype),
            ("number of hidden units", self.n_features_in_, other.n_features_in_),
            ("number of outputs", self._n_outputs, other._n_outputs),
        ):
            if mine != theirs:
                raise ValueError(
                    f"other: its {name} is {theirs}, that of this model {mine}; only models that "
                    "were started alike can be merged."
                )
        state = self._flush().copy()
        if not state.merge(other._flush()):
            raise ValueError("other: the two models cannot be merged; a larger epsilon helps.")
        self._held = (self._changed(state), Waiting())
        self.n_samples_seen_ += other.n_samples_seen_
