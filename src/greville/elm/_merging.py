"""Models as sums over rows, and what is done once all of them were learned."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..solvers import Publishing
from .capabilities import solver_adds
from .fitted import FittedELM
from .transformers import is_same_transformer


class Merging(Publishing):
    """`merge` and ``+`` of the estimators, and what they do after all rows were learned."""

    _checked_known: Any  # what `ELM` has

    @available_if(solver_adds)
    def merge(self, *others: Self) -> Self:
        """Learn all that other models have learned: as if this one had seen all of their rows.

        Parameters
        ----------
        *others : estimators of the same kind with the same hidden layer and solver
            Give them the same `random_state`, or the same fitted transformer.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        for other in others:
            self._check_mergeable(other)

        def merged(fitted: FittedELM) -> tuple[FittedELM, None]:
            for other in others:
                fitted = fitted.merge(other.fitted_)
            return fitted, None

        self.change(merged)
        return self

    def __add__(self, other: Any) -> Self:
        """A new model that has learned what both have."""
        return copy(self).merge(other) if isinstance(other, type(self)) else NotImplemented

    def __radd__(self, other: Any) -> Self:
        return copy(self) if isinstance(other, int) and other == 0 else NotImplemented  # sum()

    def _check_mergeable(self, other: Any) -> None:
        if type(other) is not type(self):
            raise ValueError(
                f"other: expected {type(self).__name__}, got {type(other).__name__}; only models "
                "of one kind can be merged."
            )
        check_is_fitted(other)
        mine, theirs = self.fitted_, other.fitted_
        units = [(f.hidden.scaling, f.targets.scaling) for f in (mine, theirs)]
        if units[0] != units[1]:
            raise ValueError(
                "other: it has learned other units for its inputs or targets than this model; "
                "let one model prepare from some rows, and give copies of it to all, or bring the "
                "data to order one yourself, and pass standardize=False."
            )
        weights = getattr(mine.targets, "has_weights_of", None)
        if weights is not None and not weights(theirs.targets):
            raise ValueError(
                "other: its rows count by other weights of classes than those of this model; "
                "pass both the same dict as class_weight."
            )
        if mine.hidden.dtype != theirs.hidden.dtype:
            raise ValueError(
                f"other: it has learned in {theirs.hidden.dtype}, and this model in "
                f"{mine.hidden.dtype}; only models of one dtype can be merged."
            )
        if mine.hidden.n_inputs != theirs.hidden.n_inputs:
            raise ValueError("other: it does not have as many inputs as this model.")
        if not is_same_transformer(mine.hidden.layer, theirs.hidden.layer):
            raise ValueError(
                "other: its hidden layer is not that of this model; give both the same "
                "random_state, or the same fitted transformer as hidden; hidden='auto' is chosen "
                "from the rows: let one model prepare from some, and give copies of it to all."
            )

    # After all rows

    @property
    def learns_from_left_out(self) -> bool:
        """Whether `calibrate` is to be called with some rows, after all were learned."""
        return self.fitted_.can_leave_out

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn how sharp probabilities are, from leave-one-out scores of rows that were learned.

        `fit` does so with the rows at `calibration.rows_of_fit`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        check_is_fitted(self)
        chunk = self._checked_known(X, y, sample_weight)
        self.change(lambda fitted: (fitted.calibrated_by(chunk), None))
        return self

    def frozen(self) -> Self:
        """A model that predicts the same and cannot learn: small enough to be sent anywhere."""
        check_is_fitted(self)
        other: Any = copy(self)
        other.publish(self.fitted_.frozen())
        return other

    def choose(self) -> Self:
        """Choose epsilon again from all rows, as at the end of `fit`, where it is chosen."""
        check_is_fitted(self)
        self.change(lambda fitted: (fitted.chosen(), None))
        return self
