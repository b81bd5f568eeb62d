"""When kernels are compiled, and for which dtype."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from ..threads import new_lock

# How often it is asked before it is worth a quarter of a second to load the kernels: as many calls
# that only predict, and in streams a few thousand rows.
_WORTH_LOADING = 32

_lock = new_lock()


class _Process:
    """What is known in this process."""

    loaded: ClassVar[dict[str, Kernels]] = {}
    n_asked = 0
    usable: bool | None = None  # unknown before it is asked for


class Unavailable(Exception):
    """Kernels cannot be compiled here; a warning has said why."""


class Kernels:
    """The kernels for rows of one dtype, each compiled when it is first read.

    Attributes are the functions of `_kernels` by their names. `layout` is that module.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        from . import _kernels

        self.dtype = dtype
        self.layout = _kernels

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(self.layout, name)
        with _lock:
            compiled = vars(self).get(name)
            if compiled is None:
                try:
                    compiled = _compile(self.layout, function, self.dtype)
                except Exception as error:  # numba's own, and a lack of memory
                    _give_up(error)
                    raise Unavailable from error
                vars(self)[name] = compiled
        return compiled


def _compile(layout: Any, function: Any, dtype: np.dtype[Any]) -> Callable[..., Any]:
    signature = layout.signature(function, dtype.name)
    try:
        return layout.njit(signature, cache=True, **layout.OPTIONS)(function)
    except RuntimeError:  # no folder in which it can be kept
        return layout.njit(signature, **layout.OPTIONS)(function)


def wanted(n: int = 1) -> bool:
    """Whether rows should go through kernels; asked when no row is pending.

    Not for the first few of a process, for which they are not worth loading. To ask about thousands
    of rows at once counts as `n` questions.
    """
    if _Process.n_asked < _WORTH_LOADING:
        _Process.n_asked += n
        return False
    return _is_usable()


def load(dtype: np.dtype[Any]) -> Kernels | None:
    """The kernels for rows of a dtype; None where there are none."""
    if not _is_usable():
        return None
    kernels = _Process.loaded.get(dtype.name)
    if kernels is None:
        try:
            kernels = _Process.loaded[dtype.name] = Kernels(dtype)
        except (ImportError, OSError) as error:  # OSError where llvmlite has no memory
            _give_up(error)
    return kernels


def _is_usable() -> bool:
    if _Process.usable is None:
        has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()  # which kernels rely on
        _Process.usable = has_lock and find_spec("numba") is not None
    return _Process.usable


def _give_up(error: Exception) -> None:
    _Process.usable = False
    warnings.warn(
        f"numba is installed but does not work ({error}); single rows are learned without it, more "
        "slowly.",
        RuntimeWarning,
        stacklevel=2,
    )


@contextmanager
def use(kernels: bool) -> Iterator[None]:
    """Use kernels from the first row on, if they can be, or not at all; for tests."""
    before = _Process.n_asked, _Process.usable
    _Process.n_asked = _WORTH_LOADING
    _Process.usable = None if kernels else False
    try:
        yield
    finally:
        _Process.n_asked, _Process.usable = before
