"""The estimators as named values, which is what files hold, and back."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import clone

from .chunk import Chunk
from .fitted import WARMUP_ROWS, FittedELM
from .hidden import HiddenMap
from .targets import Targets
from .warmup import Warmup

# Attributes that are not among the fields as they are.
_OTHERWISE = ("fitted_", "_last_one", "_shown_solver")


class NamedFields:
    """`to_fields` and `from_fields` of the estimators."""

    def to_fields(self) -> dict[str, Any]:
        """Parameters and, of a fitted estimator, what it has learned; for files."""
        fields = {k: v for k, v in vars(self).items() if k not in _OTHERWISE}
        fitted: FittedELM | None = getattr(self, "fitted_", None)
        if fitted is not None:
            hidden, warmup = fitted.hidden, fitted.warmup
            fields["hidden_"], fields["solver_"] = hidden.layer, fitted.solver_object()
            fields["_dtype"] = hidden.dtype
            fields["_scaling"], fields["_target_scaling"] = hidden.scaling, fitted.targets.scaling
            fields["_early"] = None if warmup is None else tuple(warmup.rows)
            fields |= self._target_fields(fitted.targets)
        return fields

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """The estimator of these fields; they are not checked."""
        estimator, fields = object.__new__(cls), dict(fields)
        if "hidden_" in fields:
            dtype, scaling = fields.pop("_dtype"), fields.pop("_scaling")
            hidden = HiddenMap(scaling, fields.pop("hidden_"), fields["n_features_in_"], dtype)
            early, warmup = fields.pop("_early"), None
            if early is not None:
                rows = Chunk(*early)
                warmup = Warmup(rows, rows.n, WARMUP_ROWS)
            solver, targets = fields.pop("solver_"), cls._targets_of(fields, dtype)
            fitted = FittedELM(hidden, targets, solver.fitted_, clone(solver), warmup)
            fields["fitted_"] = fitted
        vars(estimator).update(fields)
        return estimator

    def _target_fields(self, targets: Any) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def _targets_of(cls, fields: dict[str, Any], dtype: Any) -> Targets:
        """What is known about targets, taken out of the fields."""
        raise NotImplementedError
