"""Compiled features of sequences, where numba is installed: loaded when there is much to do."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from .loading import announced, give_up, uncollected, usable

# Operations on single numbers after which it is worth loading compiled code: half a second's in
# NumPy.
_WORTH_LOADING = 1 << 31


class _Process:
    """Count of the operations of features in this process."""

    n_operations: ClassVar[int] = 0


def proportions_kernel(n: int) -> Callable[..., Any] | None:
    """The compiled function for n more comparisons of `MiniRocketLayer`; None where there is none.

    It is loaded when so many were asked for that it pays.

    Examples
    --------
    >>> from greville.compiled import proportions_kernel
    >>> callable(proportions_kernel(1 << 31) or print)
    True
    """
    return _worthwhile("_convolutions", "proportions", n)


def states_kernel(n: int) -> Callable[..., Any] | None:
    """The compiled function for n more states of units of `ReservoirLayer`; None if there is none.

    Examples
    --------
    >>> from greville.compiled import states_kernel
    >>> callable(states_kernel(1 << 21) or print)
    True
    """
    return _worthwhile("_states", "states", 1000 * n)  # most of the time NumPy is called


def _worthwhile(module: str, name: str, n: int) -> Callable[..., Any] | None:
    _Process.n_operations += n
    if _Process.n_operations < _WORTH_LOADING or not usable():
        return None
    return _loaded(module, name)


@cache
def _loaded(module: str, name: str) -> Callable[..., Any] | None:
    try:
        with uncollected(), announced():
            function: Callable[..., Any] = getattr(import_module(f".{module}", __package__), name)
    except Exception as error:  # numba's own, and a lack of memory or of a folder
        give_up(error)
        return None
    return function
