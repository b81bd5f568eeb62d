"""What is stored of a solver: its parameters and, once it has started, what it has learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .. import backend
from ..fields import (
    NEVER_STORED,
    Fields,
    Kind,
    array,
    count,
    flag,
    floating,
    known,
    require,
    require_finite,
    stored,
    words,
)
from ._checks import size_of, structure_of
from ._frozen import Frozen
from ._publishing import CACHES
from ._ridge import Ridge
from ._solver import Solver
from .fitted import Fitted
from .protocol import Shape

# Larger roots are not made from their sums to try them: it takes as much memory again.
_MAX_TRIED = 1 << 20

# What weights may not exceed: their products with activations would not be finite.
_MAX_WEIGHT = {"d": 1e300, "f": 1e37}

_NOT_STORED = (
    *CACHES,
    "_fitted",
    "_dtype",
    "_flat",
    "device",
    "precision",
    *NEVER_STORED,
)


def stored_solver(
    parameters: dict[str, Kind],
    *states: type,
    check: Callable[[Any], None] | None = None,
) -> Callable[[type[Any]], type[Any]]:
    """Declare a solver with these parameters; its state is of one of the classes, or an array.

    `check` raises a ValueError if the state of a fitted solver does not go with its parameters.
    """

    def check_fields(solver: Solver) -> None:
        if hasattr(solver, "fitted_"):
            _check_fitted(solver)
            if check is not None and not solver.fitted_.is_frozen:
                check(solver)

    return stored(
        parameters=parameters,
        fitted={
            "state": known(*states) | array(2) if states else array(2),
            "n_seen": count,
            "n_features_in_": count,
            "n_outputs": count,
            "dtype": floating,
            "flat": flag,
        },
        optional={"feature_names_in_": words, "frozen": flag},
        whole=True,
        check=check_fields,
        try_out=_try_out,
        compact=_compacted,
        to_fields=_to_fields,
        from_fields=_from_fields,
    )


def _compacted(solver: Solver) -> Fitted | None:
    """What it has learned with no row pending, which is published; None if nothing was."""
    if not hasattr(solver, "fitted_"):
        return None
    fitted = solver.fitted_
    current = fitted if fitted.is_frozen else fitted.with_algorithm(solver.algorithm())
    compacted = current.compact()
    solver.exchange(fitted, compacted)
    solver._live_from = 0  # as of one that is loaded: both go on with equal bits
    return compacted


def _to_fields(solver: Solver) -> Fields:
    fields = {k: v for k, v in dict(vars(solver)).items() if k not in _NOT_STORED}
    fitted = _compacted(solver)
    if fitted is not None:
        state, shape = fitted.state, fitted.shape
        fields |= {
            "state": shape.backend.to_numpy(state) if hasattr(state, "shape") else state,
            "n_seen": fitted.n_seen,
            "n_outputs": shape.n_outputs,
            "dtype": shape.dtype,
            "flat": solver._flat,
        }
        if fitted.is_frozen:
            fields["frozen"] = True
    return fields


def _from_fields(cls: type[Solver], fields: Fields) -> Any:
    solver: Any = object.__new__(cls)
    fields = dict(fields)
    learned = [fields.pop(k, None) for k in ("state", "n_seen", "n_outputs", "dtype", "flat")]
    frozen = fields.pop("frozen", False)
    vars(solver).update(fields)
    state, n_seen, n_outputs, dtype, flat = learned
    if state is not None:
        b = backend.default()
        shape = Shape(b, fields["n_features_in_"], n_outputs, dtype)
        state = b.asarray(state) if isinstance(state, np.ndarray) else state
        algorithm = Frozen() if frozen else solver.algorithm()
        solver.restore(Fitted(algorithm, shape, state, n_seen), flat=flat)
    return solver


def _check_fitted(solver: Solver) -> None:
    fitted = solver.fitted_
    shape, state = fitted.shape, fitted.state
    require(shape.n_hidden >= 1 and shape.n_outputs >= 1, "the solver has no weights")
    size = shape.n_hidden, shape.n_outputs, shape.dtype
    if fitted.is_frozen and isinstance(state, np.ndarray) and len(state) == shape.n_hidden + 1:
        size = shape.n_hidden + 1, *size[1:]  # with an intercept
    fits = size_of(state) in (None, size)
    require(fits, "the state has another size or dtype than the solver")
    require(shape.n_outputs == 1 or not solver._flat, "1-d targets have several outputs")
    small = fitted.algorithm.start(replace(shape, n_hidden=1, n_outputs=1))
    fits = structure_of(small) == structure_of(state)
    require(fits, "the state does not match the solver's parameters")
    if hasattr(solver, "feature_names_in_"):
        fits = len(solver.feature_names_in_) == shape.n_hidden
        require(fits, "feature_names_in_ has another length")


def takes_memory_to_read(fitted: Fitted) -> bool:
    """Whether weights are read from a large root that has to be made from sums.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import Opium
    >>> from greville.solvers import takes_memory_to_read
    >>> takes_memory_to_read(Opium(1e-3).fit(np.eye(3), [1.0, 2.0, 3.0]).fitted_)
    False
    """
    state = getattr(fitted.state, "ridge", fitted.state)
    return isinstance(state, Ridge) and state.chooses and state.sums.rank**2 > _MAX_TRIED


def _try_out(solver: Solver) -> None:
    """Weights and a prediction must be finite."""
    if not hasattr(solver, "fitted_"):
        return
    fitted = solver.fitted_
    largest = _MAX_WEIGHT[fitted.dtype.char]
    if takes_memory_to_read(fitted):
        state = getattr(fitted.state, "ridge", fitted.state)
        R, Z = (fitted.shape.backend.to_numpy(A) for A in (state.sums.R, state.sums.Z))
        bound = float(np.abs(Z).sum(dtype=np.float64)) / (2 * state.epsilon)
        require(bound < largest, "the solution is too large")  # |W| <= |Z| / (2 epsilon)
        require(max(R.max(), -R.min()) < np.sqrt(largest) / len(R), "the state is too large")
        return
    shape, fitted = fitted.shape, fitted.compact()  # what is derived here must not stay
    W = shape.backend.to_numpy(fitted.weights())
    fits = len(W) - shape.n_hidden in (0, 1) and W.shape[1] == shape.n_outputs
    require(fits and W.dtype == shape.dtype, "the solution has another size or dtype")
    require_finite(W, "the solution")
    require(np.abs(W).max(initial=0.0) < largest, "the solution is too large")
    zeros = np.zeros((1, fitted.shape.n_hidden), fitted.dtype)
    require_finite(shape.backend.to_numpy(fitted.predict(zeros)), "a prediction")
