"""What is stored of a solver: its parameters and, once it has started, what it has learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..fields import (
    NEVER_STORED,
    Fields,
    Kind,
    count,
    flag,
    instance_of,
    require,
    require_finite,
    stored,
    text_array,
)
from ._publishing import CACHES
from ._ridge import RidgeState
from ._solver import Solver
from ._state import FrozenState, State

# Larger roots are not made from their sums to try them: it takes as much memory again.
_MAX_TRIED = 1 << 20

# What weights may not exceed: their products with activations would not be finite.
_MAX_WEIGHT = {"d": 1e300, "f": 1e37}

_NOT_STORED = (*CACHES, "_fitted", "_dtype", "_flat", "device", *NEVER_STORED)


def stored_solver(
    parameters: dict[str, Kind], *states: type[State]
) -> Callable[[type[Any]], type[Any]]:
    """Declare a solver with these parameters; its state is of one of the classes."""
    return stored(
        parameters=parameters,
        fitted={"state": instance_of(*states, FrozenState), "n_features_in_": count, "flat": flag},
        optional={"feature_names_in_": text_array},
        whole=True,
        check=_check_fitted,
        try_out=_try_out,
        compact=_compacted,
        to_fields=_to_fields,
        from_fields=_from_fields,
    )


def _compacted(solver: Solver) -> State | None:
    """Publish and return the state with no row pending; None if nothing was learned."""
    if not hasattr(solver, "fitted_"):
        return None

    def compacted(fitted: State) -> tuple[State, State]:
        same = fitted.compact()
        return same, same

    with solver._lock:
        state: State = solver.convert(compacted)
        solver._live_from = 0  # as of one that is loaded: both go on with equal bits
    return state


def _to_fields(solver: Solver) -> Fields:
    fields = {k: v for k, v in dict(vars(solver)).items() if k not in _NOT_STORED}
    state = _compacted(solver)
    return fields if state is None else {**fields, "state": state, "flat": solver._flat}


def _from_fields(cls: type[Solver], fields: Fields) -> Any:
    solver: Any = object.__new__(cls)
    fields = dict(fields)
    state, flat = fields.pop("state", None), fields.pop("flat", False)
    vars(solver).update(fields)
    return solver if state is None else solver.restore(state, flat=flat)


def _check_fitted(solver: Solver) -> None:
    if not hasattr(solver, "fitted_"):
        return
    state, n = solver.fitted_, solver.n_features_in_
    require(state.n_outputs >= 1 and state.shape.n_hidden >= 1, "the solver has no weights")
    require(state.n_outputs == 1 or not solver._flat, "1-d targets have several outputs")
    fits = type(state) is solver.state_class and state.fits(solver.settings())
    require(state.is_frozen or fits, "the state does not match the solver's parameters")
    if hasattr(solver, "feature_names_in_"):
        require(len(solver.feature_names_in_) == n, "feature_names_in_ has another length")


def takes_memory_to_read(state: State) -> bool:
    """Whether weights are read from a large root that has to be made from sums.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import Opium
    >>> from greville.solvers import takes_memory_to_read
    >>> takes_memory_to_read(Opium(1e-3).fit(np.eye(3), [1.0, 2.0, 3.0]).fitted_)
    False
    """
    return isinstance(state, RidgeState) and state.chooses and state.sums.rank**2 > _MAX_TRIED


def _try_out(solver: Solver) -> None:
    """Weights and a prediction must be finite."""
    if not hasattr(solver, "fitted_"):
        return
    state: Any = solver.fitted_
    b, largest = state.shape.backend, _MAX_WEIGHT[state.dtype.char]
    if takes_memory_to_read(state):
        R, Z = (b.to_numpy(A) for A in (state.sums.R, state.sums.Z))
        bound = float(np.abs(Z).sum(dtype=np.float64)) / (2 * state.epsilon)
        require(bound < largest, "the solution is too large")  # |W| <= |Z| / (2 epsilon)
        require(max(R.max(), -R.min()) < np.sqrt(largest) / len(R), "the state is too large")
        return
    state = state.compact()  # what is derived here must not stay
    W = b.to_numpy(state.weights())
    fits = len(W) - state.shape.n_hidden in (0, 1) and W.shape[1] == state.n_outputs
    require(fits and W.dtype == state.dtype, "the solution has another size or dtype")
    require_finite(W, "the solution")
    require(np.abs(W).max(initial=0.0) < largest, "the solution is too large")
    zeros = np.zeros((1, state.shape.n_hidden), state.dtype)
    require_finite(b.to_numpy(state.predict(zeros)), "a prediction")
