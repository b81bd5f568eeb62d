"""A hidden layer and a solver behind scikit-learn's API: what both estimators share."""

from __future__ import annotations

from abc import ABC
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..layers import UNITS_PER_INPUT, RandomLayer
from ..linalg import Array
from ..solvers import Opium, OpiumLight
from ..solvers._choosing import ChoosingSolver
from ..solvers._evidence import Path
from ..solvers._exact import RootSolver
from ..solvers._rows import FEW, block_length
from ..threads import one_thread
from ..validation import check_number, check_rows, check_something_counts, unchanged_on_error
from ._fields import NamedFields
from ._merging import Merging
from ._single import SingleRows
from ._solvers import make_solver, solver_chooses
from .chunk import Chunk
from .fitted import WARMUP_ROWS, FittedELM
from .hidden import HiddenMap
from .sizing import check_size, hidden_size, most_units
from .targets import Targets
from .units import Scaling
from .warmup import Warmup


class ELM(SingleRows, Merging, NamedFields, BaseEstimator, ABC):
    """The layer, the solver, and the way of rows through both, block by block."""

    def __init__(
        self,
        hidden: Any = "auto",
        solver: Any = "opium",
        random_state: Any = None,
        *,
        standardize: Any = "auto",
    ) -> None:
        self.hidden = hidden
        self.solver = solver
        self.random_state = random_state
        self.standardize = standardize

    # Parameters

    def _make_layer(self, n_inputs: int, n_rows: int | None, dtype: Any) -> Any:
        """A transformer as `hidden` describes it, not yet fitted."""
        if isinstance(self.hidden, str) and self.hidden == "auto":
            solver = self.solver_
            if isinstance(solver, Opium) and solver.epsilon == "auto":
                size = hidden_size(n_inputs, n_rows, most=most_units(dtype), doubled=True)
            else:
                size = UNITS_PER_INPUT * n_inputs
            return RandomLayer(size, bias=True, random_state=self.random_state)
        if self._has_own_layer:
            return _seeded(clone(self.hidden), self.random_state)
        if not isinstance(self.hidden, Integral) or isinstance(self.hidden, bool):
            raise ValueError(
                f"hidden={self.hidden!r}: pass 'auto', a number of units or a transformer object."
            )
        check_number("hidden", self.hidden, low=1, whole=True)
        return RandomLayer(int(self.hidden), bias=True, random_state=self.random_state)

    @property
    def _has_own_layer(self) -> bool:
        """Whether `hidden` is a transformer, which then gets X as it is."""
        return hasattr(self.hidden, "transform") and not isinstance(self.hidden, type)

    def _standardizes(self) -> bool:
        if isinstance(self.standardize, str) and self.standardize == "auto":
            return not self._has_own_layer or getattr(self.hidden, "wants_order_one", False)
        if not isinstance(self.standardize, (bool, np.bool_)):
            raise ValueError(f"standardize={self.standardize!r}: pass 'auto', True or False.")
        return bool(self.standardize)

    def _check_size(self, n_inputs: int, dtype: Any) -> None:
        """Raise a NotEnoughMemory if layer and solver do not fit, before they are made."""
        size, what = 0, f"X with {n_inputs:,} columns"
        if isinstance(self.hidden, Integral):
            size, what = int(self.hidden), f"hidden={self.hidden!r} and {what}"
        elif isinstance(self.hidden, str) and self.hidden == "auto":
            size = hidden_size(n_inputs, most=most_units(dtype))
        square = not isinstance(make_solver(self.solver), OpiumLight)
        check_size(what, n_inputs, size, dtype, square=square)

    # Rows as they are passed

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        # Integers stay integers: they become floats block by block, in the hidden layer.
        return check_rows(self, X, "X", reset=reset, dtype="numeric", accept_sparse="csr")

    def _dtype_for(self, X: Any, *, reset: bool) -> Any:
        """float32 for float32, else float64; a model keeps that of its first rows."""
        if not reset:
            return self.fitted_.hidden.dtype
        return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)

    def _all_or_nothing(self) -> AbstractContextManager[None]:
        """An error in the block leaves the model as it was."""
        return unchanged_on_error(self, *([self.solver_] if self._started else []))

    @property
    def _started(self) -> bool:
        return hasattr(self, "fitted_")

    # Learning

    def _fit(self, chunk: Chunk, targets: Targets) -> None:
        """Forget everything, then learn these rows; all of them set the units."""
        check_something_counts(chunk.weight)
        self._start(chunk, targets, chunk.n, chunk)
        self.solver_._fit(self.fitted_.rows(chunk))

    def _learn(self, chunk: Chunk, targets: Targets) -> None:
        """Learn more rows of a stream, or its first."""
        self._start_or_continue(chunk, targets)
        if not self._extend_warmup(chunk):
            self.solver_._learn(self.fitted_.rows(chunk))

    def _record(self, chunk: Chunk, targets: Targets, *, spread: bool = False) -> list[Array]:
        """Learn more rows of a stream; the prediction of each before it, and its spread."""
        self._start_or_continue(chunk, targets)
        parts: list[tuple[Array, ...]] = []
        warmup = self.fitted_.warmup
        for piece in [slice(0, chunk.n)] if warmup is None else warmup.pieces(chunk.n):
            part, units = chunk.part(piece), self.fitted_.targets.scaling
            rows = self.fitted_.rows(part)
            if spread:
                predicted, spreads = self._exact_solver()._record_with_spread(rows)
                parts.append((units.undo(predicted), units.undo_spread(spreads)))
            else:
                parts.append((units.undo(self.solver_._record(rows)),))
            self._extend_warmup(part)
        return [np.concatenate(part) for part in zip(*parts, strict=True)]

    def _start_or_continue(self, chunk: Chunk, targets: Targets) -> None:
        """Make ready for the first rows of a stream, or for targets with more outputs."""
        if not self._started:
            warms_up = not self._has_own_layer  # which is fitted once: so are the units
            self._start(chunk, targets, None, chunk.part(slice(0)) if warms_up else chunk)
            if warms_up and self._standardizes():
                warmup = Warmup(chunk.part(slice(0)), 0, WARMUP_ROWS)
                self.fitted_ = replace(self.fitted_, warmup=warmup)
        elif targets is not self.fitted_.targets:
            self._add_outputs(targets)

    def _start(self, chunk: Chunk, targets: Targets, n_rows: int | None, measured: Chunk) -> None:
        """A new layer and a solver that has learned nothing, in the units of the rows measured."""
        n_inputs, dtype = chunk.X.shape[1], targets.dtype
        self._check_size(n_inputs, dtype)
        scaling, targets = self._measure(measured, targets)
        self.solver_ = make_solver(self.solver)
        seen = chunk.X if self._has_own_layer else chunk.X[:1]  # a RandomLayer counts columns only
        layer = self._make_layer(n_inputs, n_rows, dtype).fit(scaling.apply(seen, dtype), chunk.y)
        self.fitted_ = FittedELM(HiddenMap(scaling, layer, n_inputs, dtype), targets)
        self._restart_solver()

    def _restart_solver(self) -> None:
        """Let the solver start anew, for the layer and the targets there are."""
        hidden, targets = self.fitted_.hidden, self.fitted_.targets
        self.solver_._begin(hidden.n_units(), targets.n_outputs, hidden.dtype)

    def _extend_warmup(self, chunk: Chunk) -> bool:
        """Keep the first rows; where their units have changed learn all again, and return True."""
        before = self.fitted_.warmup
        if before is None:
            return False
        rows, changed = before.rows.joined(chunk), False
        warmup = before.with_rows(rows, rows.n)
        fitted = replace(self.fitted_, warmup=None if warmup.is_over else warmup)
        if warmup.is_due_after(before):
            scaling, targets = self._measure(rows.part(slice(warmup.n_measured)), fitted.targets)
            new = replace(fitted, hidden=replace(fitted.hidden, scaling=scaling), targets=targets)
            changed = not new.has_units_of(fitted)
            fitted = new if changed else fitted
        self.fitted_ = fitted
        if changed:
            self._restart_solver()
            self.solver_._learn(fitted.rows(rows))
        return changed

    def _measure(self, chunk: Chunk, targets: Targets) -> tuple[Scaling, Targets]:
        """The units of inputs and targets, from these rows."""
        if not (self._standardizes() and chunk.n):
            return Scaling(), targets.unmeasured()
        scaling = Scaling.of_inputs(
            chunk.X,
            chunk.weight,
            always=not isinstance(self.standardize, str),
            centre_sparse=not self._has_own_layer,
        )
        return scaling, targets.measured(chunk.y, chunk.weight)

    # Predicting

    def _scores(self, X: Any, *, spread: bool = False) -> tuple[FittedELM, list[Array]]:
        """The solver's outputs, of shape (n_samples, n_outputs), and their standard deviations."""
        check_is_fitted(self)
        fitted, solver, state = self.fitted_, self.solver_, None
        if spread:
            solver = self._exact_solver()
            state = solver._flush()
        X = self._checked_rows(X, reset=False)
        W = solver._weights() if state is None else solver._weights_of(state)
        length = block_length(W.shape[0], fitted.hidden.dtype)
        parts: list[tuple[Array, ...]] = []
        with one_thread if X.shape[0] < FEW else nullcontext():
            for start in range(0, X.shape[0], length):
                H = fitted.hidden.activations(X[start : start + length])
                predicted = solver._predicted(H, W)
                parts.append((predicted,) if state is None else (predicted, state.spread(H)))
        return fitted, [np.concatenate(part) for part in zip(*parts, strict=True)]

    def _exact_solver(self) -> RootSolver:
        if not isinstance(self.solver_, RootSolver):
            raise ValueError(
                f"return_std=True: {type(self.solver_).__name__} does not know how sure it is; use "
                "the solver Opium, DynamicOpium, SlidingOpium or Greville."
            )
        return self.solver_

    # What was learned

    @available_if(solver_chooses)
    def path(self) -> Path:
        """The evidence for each epsilon that was tried when it was last chosen.

        Returns
        -------
        path : Path
            With arrays `epsilon` and `evidence`, the number `chosen`, and a method `plot`.
        """
        check_is_fitted(self)
        assert isinstance(self.solver_, ChoosingSolver)
        return self.solver_.path()

    @property
    def hidden_(self) -> Any:
        """The fitted hidden layer."""
        return self.fitted_.hidden.layer

    @property
    def epsilon_(self) -> float:
        """The epsilon in use, for the solvers Opium and DynamicOpium."""
        check_is_fitted(self)
        if not isinstance(self.solver_, ChoosingSolver):
            raise AttributeError(f"{type(self.solver_).__name__} has no epsilon_.")
        return self.solver_.epsilon_

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned so far."""
        check_is_fitted(self)
        return self.solver_.n_samples_seen_

    def __getstate__(self) -> Any:
        return {k: v for k, v in super().__getstate__().items() if k != "_last_one"}

    def __copy__(self) -> Self:
        """A copy that learns on its own: what both share is never changed in place."""
        twin: Any = object.__new__(type(self))
        vars(twin).update(vars(self))
        if self._started:
            twin.solver_ = copy(self.solver_)
        return twin

    def __sklearn_is_fitted__(self) -> bool:
        return self._started

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _seeded(transformer: Any, random_state: Any) -> Any:
    """Seed whatever in the transformer has a random_state that is None."""
    for name, value in transformer.get_params().items():
        if value is None and (name == "random_state" or name.endswith("__random_state")):
            transformer.set_params(**{name: random_state})
    return transformer
