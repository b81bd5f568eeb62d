"""The solver of an estimator: made from its parameter, and which methods it makes available."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import MethodType
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


@cache  # every use of a method asks
def _named(solver: str) -> Any:
    """A solver by name; the name of what is none."""
    return registry.make(solver) if solver in registry.names() else solver


class _Available:
    """A method that only some solvers make available; without one, the error says why.

    What is no solver at all is refused later, when it is used.
    """

    def __init__(self, method: Any, capability: str, advice: str) -> None:
        self.__doc__, self.__module__ = method.__doc__, method.__module__  # for doctest
        self._method, self._capability, self._advice = method, capability, advice

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        if estimator is None:
            return self._method
        solver = estimator.solver
        solver = _named(solver) if isinstance(solver, str) else solver
        capabilities = getattr(solver, "capabilities", None)
        if capabilities is not None and not getattr(capabilities, self._capability):
            name = self._method.__name__
            raise AttributeError(f"{name}: {type(solver).__name__} {self._advice}")
        return MethodType(self._method, estimator)


def _available(capability: str, advice: str) -> Callable[[Any], Any]:
    return lambda method: _Available(method, capability, advice)


_NO_SUM = "is not a sum over rows; use the solver Opium to unlearn and merge."

solver_is_online = _available("online", "needs all rows at once; use fit, or another solver.")
solver_adds = _available("adds", _NO_SUM)
solver_removes = _available("removes", _NO_SUM)
solver_leaves_out = _available("leaves_out", "does not do this; use the solver Opium.")
solver_chooses = _available("chooses_epsilon", "does not choose epsilon; use the solver Opium.")
