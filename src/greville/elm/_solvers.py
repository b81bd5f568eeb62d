"""Solvers by name, and what each can do."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from ..solvers import Batch, DynamicOpium, Greville, Opium, OpiumLight
from ..solvers._additive import AdditiveSolver
from ..solvers._base import Solver
from ..solvers._choosing import ChoosingSolver

SOLVERS: dict[str, Solver] = {
    "batch": Batch(),
    "greville": Greville(),
    "opium": Opium(epsilon="auto", intercept=True),
    "light": OpiumLight(),
    "dynamic": DynamicOpium(),
}


def make_solver(solver: Any) -> Solver:
    """A solver by name, or like an object; not yet fitted."""
    if isinstance(solver, Solver):
        return clone(solver)
    if isinstance(solver, str) and solver in SOLVERS:
        return clone(SOLVERS[solver])
    names = ", ".join(map(repr, SOLVERS))
    raise ValueError(f"solver={solver!r}: choose one of {names}, or pass a solver object.")


def solver_is_online(estimator: Any) -> bool:
    """Whether there is partial_fit; a solver that is none says what is wrong when it is used."""
    if estimator.solver == "batch" or isinstance(estimator.solver, Batch):
        raise AttributeError("Batch needs all rows at once; use fit, or another solver.")
    return True


def solver_is_additive(estimator: Any) -> bool:
    """Whether rows can be unlearned, and models merged."""
    kind = solver_kind(estimator)
    if not issubclass(kind, AdditiveSolver):
        raise AttributeError(
            f"{kind.__name__} is not a sum over rows; use the solver Opium to unlearn and merge."
        )
    return True


def solver_is_opium(estimator: Any) -> bool:
    """Whether rows can be left out."""
    kind = solver_kind(estimator)
    if not issubclass(kind, Opium):
        raise AttributeError(f"{kind.__name__} does not do this; use the solver Opium.")
    return True


def solver_chooses(estimator: Any) -> bool:
    """Whether epsilon can be chosen."""
    kind = solver_kind(estimator)
    if not issubclass(kind, ChoosingSolver):
        raise AttributeError(f"{kind.__name__} does not choose epsilon; use the solver Opium.")
    return True


def solver_kind(estimator: Any) -> type:
    if isinstance(estimator.solver, str) and estimator.solver in SOLVERS:
        return type(SOLVERS[estimator.solver])
    return type(estimator.solver)
