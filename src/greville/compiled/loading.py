"""Loading of kernels: when they are compiled, and for which dtype."""

from __future__ import annotations

import gc
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from ..threads import new_lock

# What kernels return for a row after which something else is due; less than zero is not learned.
DUE = 1

# Predictions of single rows after which it is worth a quarter of a second to load the kernels.
_WORTH_LOADING = 32

# What is said where compiling takes longer than so many seconds. Code on disk is loaded in less.
_COMPILING = "Compiling code for single rows (once on a machine, some seconds) ..."
_LONG = 0.6

_lock = new_lock()


class _Process:
    """State of the kernels in this process."""

    loaded: ClassVar[dict[str, Kernels]] = {}
    n_asked = 0
    announced = False
    usable: bool | None = None  # unknown before it is asked for


class Unavailable(TypeError):
    """Kernels cannot be compiled here; a warning has said why.

    What calls a kernel expects a TypeError for rows that it is not compiled for.
    """


class Kernels:
    """The kernels for rows of one dtype, each compiled when it is first read.

    Attributes are the functions of `_kernels` that have a signature. `layout` is that module, and
    `refusals` are the errors for arguments that a kernel is not compiled for. No others are caught
    where one is called: a signal handler may raise them, after the kernel is done.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        with uncollected():
            from numba.core.errors import NumbaError

            from . import _kernels

        self.refusals = (TypeError, ValueError, NumbaError)
        self.dtype = dtype
        self.layout = _kernels

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        if _Process.usable is False:
            raise Unavailable
        with _lock:
            compiled = vars(self).get(name)
            if compiled is None:
                try:
                    compiled = _compile(self.layout, name, self.dtype)
                except Exception as error:  # numba's own, and a lack of memory
                    give_up(error)
                    raise Unavailable from error
                vars(self)[name] = compiled
        return compiled


def _compile(layout: Any, name: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    with uncollected(), announced():
        return compiled(layout.signature(name, dtype.name), **layout.OPTIONS)(getattr(layout, name))


def compiled(signature: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator that compiles a function at once, and keeps it on disk where that is possible."""
    from numba import njit

    def decorate(function: Any) -> Any:
        try:
            return njit(signature, cache=True, **options)(function)
        except (RuntimeError, OSError):  # no folder, or no room, in which it can be kept
            return njit(signature, **options)(function)

    return decorate


@contextmanager
def announced() -> Iterator[None]:
    """Say why a call takes long, once, if compiling takes longer than loading from disk."""
    timer = threading.Timer(_LONG, _announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _announce() -> None:
    if _Process.announced:
        return
    _Process.announced = True
    with suppress(AttributeError, OSError, ValueError):  # no stderr, or one that is closed
        if sys.stderr.isatty():
            print(_COMPILING, file=sys.stderr, flush=True)


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch garbage collection off, which saves two thirds of numba's time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def usable() -> bool:
    """Whether there are kernels: numba is installed, and GREVILLE_COMPILED is not 0."""
    if _Process.usable is None:
        has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()  # which kernels rely on
        switched_on = os.environ.get("GREVILLE_COMPILED", "1") != "0"
        _Process.usable = switched_on and has_lock and find_spec("numba") is not None
    return _Process.usable


def worth_loading() -> bool:
    """Whether kernels are available, and single rows are so many that loading pays.

    Asked once for every prediction. Rows that are learned do not ask: when their kernels are
    loaded must not depend on what else this process has done.
    """
    if _Process.n_asked < _WORTH_LOADING:
        _Process.n_asked += 1
        return False
    return usable()


def load(dtype: np.dtype[Any]) -> Kernels | None:
    """The kernels for rows of a dtype; None where there are none."""
    if not usable():
        return None
    kernels = _Process.loaded.get(dtype.name)
    if kernels is None:
        try:
            kernels = _Process.loaded[dtype.name] = Kernels(dtype)
        except (ImportError, OSError) as error:  # OSError where llvmlite has no memory
            give_up(error)
    return kernels


def give_up(error: Exception) -> None:
    _Process.usable = False
    warnings.warn(
        f"numba is installed but does not work ({error}); work goes on without it, more slowly.",
        RuntimeWarning,
        stacklevel=2,
    )


@contextmanager
def use(kernels: bool) -> Iterator[None]:
    """Use kernels from the first row on, if numba is installed, or not at all.

    Models that have begun with kernels go on with them.
    """
    before = _Process.n_asked, _Process.usable
    _Process.n_asked = _WORTH_LOADING
    _Process.usable = kernels and find_spec("numba") is not None
    try:
        yield
    finally:
        _Process.n_asked, _Process.usable = before
