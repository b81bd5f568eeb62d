"""When kernels are compiled, and for which dtype."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from ..threads import new_lock

# Predictions of single rows after which it is worth a quarter of a second to load the kernels.
_WORTH_LOADING = 32

_COMPILING = "Compiling code for single rows (once on a machine, some seconds) ..."

_lock = new_lock()


class _Process:
    """What is known in this process."""

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

    Attributes are the functions of `_kernels` by their names. `layout` is that module.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        with _uncollected():
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
    with _uncollected():
        try:
            kernel = layout.njit(cache=True, **layout.OPTIONS)(function)
            if not _is_stored(kernel, signature):
                _announce()
            kernel.compile(signature)
        except (RuntimeError, OSError):  # no folder, or no room, in which it can be kept
            _announce()
            kernel = layout.njit(signature, **layout.OPTIONS)(function)
        kernel.disable_compile()  # for other types, as where a signature is given
        return kernel


def _is_stored(kernel: Any, signature: Any) -> bool:
    """Whether numba has it on disk; only that which is not there takes long."""
    try:
        stored = kernel._cache._cache_file._load_index()
        return any(key[0] == signature for key in stored)
    except (AttributeError, TypeError):  # of another version of numba
        return True


def _announce() -> None:
    """Say on a terminal, once, why the first rows take long."""
    if _Process.announced:
        return
    _Process.announced = True
    with suppress(AttributeError, OSError, ValueError):  # no stderr, or one that is closed
        if sys.stderr.isatty():
            print(_COMPILING, file=sys.stderr, flush=True)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without garbage collections, a third of the time: numba makes very many objects."""
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
        wanted = os.environ.get("GREVILLE_COMPILED", "1") != "0"
        _Process.usable = wanted and has_lock and find_spec("numba") is not None
    return _Process.usable


def worth_loading() -> bool:
    """Whether there are kernels, and predictions of single rows are so many that they pay.

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
            _give_up(error)
    return kernels


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
