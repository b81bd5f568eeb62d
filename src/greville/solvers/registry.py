"""The solvers by name: what ``solver="opium"`` means in an estimator."""

from __future__ import annotations

from collections.abc import Callable

from ._solver import Solver
from .batch import Batch
from .dynamic import DynamicOpium
from .greville import Greville
from .light import OpiumLight
from .opium import Opium
from .sliding import SlidingOpium

_factories: dict[str, Callable[[], Solver]] = {
    "batch": Batch,
    "greville": Greville,
    "opium": lambda: Opium(epsilon="auto", intercept=True),
    "light": OpiumLight,
    "dynamic": lambda: DynamicOpium(epsilon="auto", intercept=True),
    "sliding": SlidingOpium,
}


def register(name: str, factory: Callable[[], Solver]) -> None:
    """Make a solver available by name.

    Parameters
    ----------
    name : str
    factory : function
        Returns a new solver, as estimators use it by default.

    Examples
    --------
    >>> from greville import OpiumLight
    >>> from greville.solvers import registry
    >>> registry.register("light", OpiumLight)  # as it is
    """
    _factories[name] = factory


def names() -> list[str]:
    """The names of all solvers.

    Examples
    --------
    >>> from greville.solvers import registry
    >>> sorted(registry.names())[:3]
    ['batch', 'dynamic', 'greville']
    """
    return list(_factories)


def make(name: str) -> Solver:
    """A new solver by its name.

    Examples
    --------
    >>> from greville.solvers import registry
    >>> registry.make("opium")
    Opium(epsilon='auto', intercept=True)
    """
    return _factories[name]()
