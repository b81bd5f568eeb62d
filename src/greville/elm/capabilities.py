"""The solver of an estimator: made from its parameter, and which methods it makes available."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from sklearn.base import clone

from ..solvers import OpiumLight, Solver, registry


def make_solver(solver: Any) -> Solver:
    """A solver by name, or like an object; not yet fitted."""
    if isinstance(solver, Solver):
        return clone(solver)
    if isinstance(solver, str) and solver in registry.names():
        return registry.make(solver)
    names = ", ".join(map(repr, registry.names()))
    raise ValueError(f"solver={solver!r}: choose one of {names}, or pass a solver object.")


def regularises(solver: Solver) -> bool:
    """Whether a solver can have more units than rows: ε is chosen, or each row moves W a little.

    Examples
    --------
    >>> from greville import Greville, Opium
    >>> from greville.elm import regularises
    >>> regularises(Opium("auto")), regularises(Greville())
    (True, False)
    """
    return getattr(solver, "epsilon", None) == "auto" or isinstance(solver, OpiumLight)


_named = cache(registry.make)  # every use of a method asks


def _available(capability: str, otherwise: str) -> Callable[[Any], bool]:
    """A condition for a method; what is no solver at all is refused later, when it is used."""

    def condition(estimator: Any) -> bool:
        solver = estimator.solver
        with suppress(KeyError):  # no such name
            solver = _named(solver) if isinstance(solver, str) else solver
        if isinstance(solver, Solver) and not getattr(solver.capabilities, capability):
            raise AttributeError(f"{type(solver).__name__} {otherwise}")
        return True

    return condition


_NO_SUM = "is not a sum over rows; use the solver Opium to unlearn and merge."

solver_is_online = _available("online", "needs all rows at once; use fit, or another solver.")
solver_adds = _available("adds", _NO_SUM)
solver_removes = _available("removes", _NO_SUM)
solver_leaves_out = _available("leaves_out", "does not do this; use the solver Opium.")
solver_chooses = _available("chooses_epsilon", "does not choose epsilon; use the solver Opium.")
