"""Models as sums over rows."""

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
    """`merge` and ``+`` of the estimators."""

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
