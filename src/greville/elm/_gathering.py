"""Rows in many places: looked at and added up there, and learned by one model."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..solvers import Publishing
from .capabilities import solver_adds
from .chunk import Chunk
from .fitted import FittedELM
from .survey import Survey


class Gathering(Publishing):
    """What estimators offer to those who bring rows together from many places."""

    # What `ELM` has
    _start: Any
    _checked: Any
    _checked_known: Any
    _check_mergeable: Any

    def survey(self, X: Any, y: Any, sample_weight: Any = None) -> Survey:
        """What must be known of rows before the first is learned; learns nothing.

        Surveys of different rows can be joined, and `start_from` takes that of all.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,); for a regression also (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
        """
        other: Any = clone(self)
        chunk, targets = other._checked(X, y, sample_weight, reset=True)
        return Survey.of(chunk, targets, getattr(other, "feature_names_in_", None))

    def start_from(self, survey: Survey, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything; take units, hidden layer and classes from a survey; learn nothing.

        Parameters
        ----------
        survey : Survey
            Of all rows.
        X : array-like of shape (n_samples, n_features)
            The rows that the hidden layer is fitted to or chosen from: those at `places_for_layer`,
            or any one row without `looks_at_rows`.
        y : array-like of shape (n_samples,); for a regression also (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with self.replacement() as new:
            chunk: Chunk = new._checked(X, y, sample_weight, reset=True)[0]
            new._fitted = self._start(chunk, survey.targets, whole=True, survey=survey)[0]
        return self

    @available_if(solver_adds)
    def gathering(self, n_rows: int | None = None) -> Self:
        """A model with the same layer, units and classes that only adds rows up.

        It learns with `partial_fit`, can be merged with others of its kind, and cannot predict.
        `join` and `leave` of this model then take all of its rows at once.

        Parameters
        ----------
        n_rows : int, optional
            How many rows there will be, for a faster way that does not suit all data.
        """
        check_is_fitted(self)
        other: Any = copy(self)
        other.publish(self.fitted_.gathering(n_rows))
        return other

    @available_if(solver_adds)
    def join(self, gathered: Self) -> bool:
        """Learn all rows that another model has gathered, as if they had come in one call.

        Returns
        -------
        joined : bool
            False if too many digits were lost on the fast way; nothing was learned then, and the
            rows are to be gathered again, without `n_rows`.
        """
        check_is_fitted(self)
        self._check_mergeable(gathered)

        def joined(fitted: FittedELM) -> tuple[FittedELM, bool]:
            joined = fitted.join(gathered.fitted_)
            return (fitted, False) if joined is None else (joined, True)

        return bool(self.change(joined))

    @available_if(solver_adds)
    def leave(self, gathered: Self) -> Self:
        """Unlearn all rows that another model has gathered, without `n_rows`.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._check_mergeable(gathered)
        self.change(lambda fitted: (fitted.leave(gathered.fitted_), None))
        return self

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
