"""Models as sums over rows: added, and started anew with the same layer and units."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pickle import PicklingError
from typing import Any, Self, TypeVar

import joblib
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._solvers import solver_is_additive
from .fitted import FittedELM

Model = TypeVar("Model", bound="Merging")


class Merging:
    """`merge` of the estimators."""

    # What `ELM` has
    fitted_: FittedELM
    solver_: Any
    _all_or_nothing: Any
    _restart_solver: Any
    _merge: Any

    @available_if(solver_is_additive)
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
        with self._all_or_nothing():
            for other in others:
                self._check_mergeable(other)
                self._merge(other)
                self.fitted_ = replace(self.fitted_, warmup=None)
        return self

    def __add__(self, other: Any) -> Self:
        """A new model that has learned what both have."""
        if not isinstance(other, type(self)):
            return NotImplemented
        check_is_fitted(self)
        return copy(self).merge(other)

    def __radd__(self, other: Any) -> Self:
        return copy(self) if isinstance(other, int) and other == 0 else NotImplemented  # sum()

    def _check_mergeable(self, other: Any) -> None:
        if type(other) is not type(self):
            raise ValueError(
                f"other: expected {type(self).__name__}, got {type(other).__name__}; only models "
                "of one kind can be merged."
            )
        check_is_fitted(other)
        if not self.fitted_.has_units_of(other.fitted_):
            raise ValueError(
                "other: it has learned other units for its inputs or targets than this model; "
                "bring the data to order one yourself, and pass standardize=False."
            )
        if not _is_same_layer(self.fitted_.hidden.layer, other.fitted_.hidden.layer):
            raise ValueError(
                "other: its hidden layer is not that of this model; give both the same "
                "random_state, or the same fitted transformer as hidden."
            )


def emptied(model: Model) -> Model:
    """A copy that has learned nothing, with the hidden layer and the units of a fitted model."""
    empty = copy(model)
    empty.fitted_ = replace(model.fitted_, warmup=None)
    empty._restart_solver()
    return empty


def _is_same_layer(a: Any, b: Any) -> bool:
    """Whether two fitted transformers do the same; how they were seeded does not matter."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    fitted = ({k: v for k, v in vars(t).items() if k != "random_state"} for t in (a, b))
    try:
        first, second = map(joblib.hash, fitted)
    except (TypeError, AttributeError, PicklingError):  # they cannot be compared
        return False
    return bool(first == second)
