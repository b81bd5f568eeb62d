"""A hidden layer and a solver behind scikit-learn's API: what both estimators share."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..backend import Array
from ..layers import UNITS_PER_INPUT, RandomLayer
from ..solvers import Opium, OpiumLight
from ..threads import new_lock
from ..validation import check_number, check_rows, check_something_counts
from ._merging import Merging
from ._single import SingleRows
from .capabilities import make_solver, solver_chooses
from .chunk import Chunk
from .fitted import WARMUP_ROWS, FittedELM
from .hidden import HiddenMap
from .sizing import check_size, hidden_size, most_units
from .targets import Targets
from .transformers import seeded
from .units import Scaling
from .warmup import Warmup

# Held while a model is published, never while it learns.
_publish_lock = new_lock()


class ELM(SingleRows, Merging, BaseEstimator, ABC):
    """The layer, the solver, and the way of rows through both.

    What was learned is one immutable value, `fitted_`. A method that learns makes another and
    publishes it with one assignment; an exception on the way leaves the model as it was, and other
    threads see the model before or after. A method that reads takes `fitted_` once.
    """

    fitted_: FittedELM

    # The last `solver_`, and the template that it is a copy of.
    _shown_solver: tuple[Any, Any] | None = None

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

    def _make_layer(self, solver: Any, n_inputs: int, n_rows: int | None, dtype: Any) -> Any:
        """A transformer as `hidden` describes it, not yet fitted."""
        if isinstance(self.hidden, str) and self.hidden == "auto":
            if isinstance(solver, Opium) and solver.epsilon == "auto":
                size = hidden_size(n_inputs, n_rows, most=most_units(dtype), doubled=True)
            else:
                size = UNITS_PER_INPUT * n_inputs
            return RandomLayer(size, bias=True, random_state=self.random_state)
        if self._has_own_layer:
            return seeded(clone(self.hidden), self.random_state)
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

    def _check_size(self, solver: Any, n_inputs: int, dtype: Any) -> None:
        """Raise a NotEnoughMemory if layer and solver do not fit, before they are made."""
        size, what = 0, f"X with {n_inputs:,} columns"
        if isinstance(self.hidden, Integral):
            size, what = int(self.hidden), f"hidden={self.hidden!r} and {what}"
        elif isinstance(self.hidden, str) and self.hidden == "auto":
            size = hidden_size(n_inputs, most=most_units(dtype))
        check_size(what, n_inputs, size, dtype, square=not isinstance(solver, OpiumLight))

    # Rows as they are passed

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        # Integers stay integers: they become floats block by block, in the hidden layer.
        return check_rows(self, X, "X", reset=reset, dtype="numeric", accept_sparse="csr")

    def _dtype_for(self, X: Any, *, reset: bool) -> Any:
        """float32 for float32, else float64; a model keeps that of its first rows."""
        if not reset:
            return self.fitted_.hidden.dtype
        return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)

    @contextmanager
    def _columns_restored_on_error(self) -> Iterator[None]:
        """The first check of rows sets the number and names of columns: undo that on an error."""
        before = {name: getattr(self, name) for name in _COLUMNS if hasattr(self, name)}
        try:
            yield
        except BaseException:
            for name in _COLUMNS:
                if name in before:
                    setattr(self, name, before[name])
                else:
                    self.__dict__.pop(name, None)
            raise

    @property
    def _started(self) -> bool:
        return hasattr(self, "fitted_")

    # Learning

    def _start(self, chunk: Chunk, targets: Targets, *, whole: bool) -> FittedELM:
        """A layer and a solver that has learned nothing, for the `whole` of the rows or a stream.

        A transformer of the user's is fitted once, to the first rows, and so are the units then.
        """
        n_inputs, dtype, solver = chunk.X.shape[1], targets.dtype, make_solver(self.solver)
        self._check_size(solver, n_inputs, dtype)
        none, scaling = chunk.part(slice(0)), Scaling()
        if whole or self._has_own_layer:
            scaling, targets = self._measure(chunk, targets)
        seen = chunk.X if self._has_own_layer else chunk.X[:1]  # a RandomLayer counts columns only
        layer = self._make_layer(solver, n_inputs, chunk.n if whole else None, dtype)
        layer.fit(scaling.apply(seen, dtype), chunk.y)
        warms_up = not whole and not self._has_own_layer and self._standardizes()
        return FittedELM.start(
            HiddenMap(scaling, layer, n_inputs, dtype),
            targets,
            solver,
            Warmup(none, 0, WARMUP_ROWS) if warms_up else None,
        )

    def _fit(self, chunk: Chunk, targets: Targets) -> None:
        """Forget everything, then learn these rows; all of them set the units."""
        check_something_counts(chunk.weight)
        self._publish(self._start(chunk, targets, whole=True).learn_all(chunk))

    def _ready(self, chunk: Chunk, targets: Targets) -> FittedELM:
        """What was learned so far of a stream, with an output for each target."""
        if not self._started:
            return self._start(chunk, targets, whole=False)
        return self._current().with_targets(targets)

    def _current(self) -> FittedELM:
        """What was learned so far, with the parameters that `solver_` has now."""
        fitted, shown = self.fitted_, self._shown_solver
        if shown is None or shown[0] is not fitted.template:
            return fitted
        algorithm = shown[1].algorithm()
        if algorithm == fitted.solver.algorithm:
            return fitted
        template, solver = clone(shown[1]), fitted.solver.with_algorithm(algorithm)
        self._shown_solver = template, shown[1]
        return fitted._replace(solver=solver, template=template)

    def _measure(self, chunk: Chunk, targets: Any) -> tuple[Scaling, Any]:
        """The units of inputs and targets, from these rows."""
        if not self._standardizes():
            return Scaling(), targets.unmeasured()
        scaling = Scaling.of_inputs(
            chunk.X,
            chunk.weight,
            always=not isinstance(self.standardize, str),
            centre_sparse=not self._has_own_layer,
        )
        return scaling, targets.measured(chunk.y, chunk.weight)

    def _publish(self, fitted: FittedELM) -> None:
        """Show what was learned, all of it at once."""
        with _publish_lock:
            self.fitted_ = fitted

    def _keep_flushed(self, fitted: FittedELM) -> None:
        """Publish a value that was flushed while it was read, unless there is a newer one."""
        self._exchange(fitted, fitted.flushed())

    def _exchange(self, fitted: FittedELM, same: FittedELM) -> None:
        """Publish another form of what was learned, unless more has been learned since."""
        if same is not fitted:
            with _publish_lock:
                if self.fitted_ is fitted:
                    self.fitted_ = same

    def _compact(self) -> None:
        if self._started:
            fitted = self.fitted_
            self._exchange(fitted, fitted.compact())

    # Predicting

    def _predicted(self, X: Any, *, spread: bool = False) -> tuple[Any, list[Array]]:
        """The targets, the outputs of shape (n_samples, n_outputs), and standard deviations."""
        check_is_fitted(self)
        fitted = self.fitted_
        self._check_spread(fitted, spread)
        outputs = fitted.predict(self._checked_rows(X, reset=False), spread=spread)
        self._keep_flushed(fitted)
        return fitted.targets, outputs

    @staticmethod
    def _check_spread(fitted: FittedELM, spread: bool) -> None:
        if spread and not fitted.template.capabilities.tells_spread:
            raise ValueError(
                f"return_std=True: {type(fitted.template).__name__} does not know how sure it is; "
                "use the solver Opium, DynamicOpium, SlidingOpium or Greville."
            )

    # What was learned

    @available_if(solver_chooses)
    def path(self) -> Any:
        """The evidence for each epsilon that was tried when it was last chosen.

        Returns
        -------
        path : Path
            With arrays `epsilon` and `evidence`, the number `chosen`, and a method `plot`.
        """
        check_is_fitted(self)
        solver: Any = self.solver_
        return solver.path()

    @property
    def hidden_(self) -> Any:
        """The fitted hidden layer."""
        return self.fitted_.hidden.layer

    @property
    def solver_(self) -> Any:
        """The fitted solver, as it is now; parameters set on it count for the next rows."""
        fitted, shown = self.fitted_, self._shown_solver
        if shown is None or shown[0] is not fitted.template:
            self._shown_solver = shown = fitted.template, clone(fitted.template)
        if not shown[1].__sklearn_is_fitted__() or shown[1].fitted_ is not fitted.solver:
            shown[1].restore(fitted.solver)
        return shown[1]

    @property
    def epsilon_(self) -> float:
        """The epsilon in use, for the solvers Opium and DynamicOpium."""
        check_is_fitted(self)
        solver = self.solver_
        if not solver.capabilities.chooses_epsilon:
            raise AttributeError(f"{type(solver).__name__} has no epsilon_.")
        return float(solver.epsilon_)

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned so far."""
        check_is_fitted(self)
        return self.fitted_.solver.n_seen

    def __getstate__(self) -> Any:
        return {k: v for k, v in super().__getstate__().items() if k not in CACHES}

    def __sklearn_is_fitted__(self) -> bool:
        return self._started

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# Attributes that are found again when they are wanted.
CACHES = ("_last_one", "_shown_solver")

# What scikit-learn's checks remember about X.
_COLUMNS = ("n_features_in_", "feature_names_in_")
