"""The backends by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

import numpy as np

from .base import Backend

_factories: dict[str, Callable[[], Backend]] = {
    "scipy": lambda: import_module("greville.backend.scipy").ScipyBackend(),
    "plain": lambda: Backend(np, "plain"),
}
_made: dict[str, Backend] = {}
_default = ["scipy"]

# "torch:cuda:0" is the backend for that device.
_TORCH = "torch:"


def register(name: str, factory: Callable[[], Backend]) -> None:
    """Add a backend, which is made when it is first used."""
    _factories[name] = factory


def names() -> list[str]:
    """The names of all backends."""
    return list(_factories)


def get(name: str) -> Backend:
    """The backend of this name.

    Raises
    ------
    ValueError
        If there is none.
    """
    if name not in _made:
        if name.startswith(_TORCH):
            torch = import_module("greville.backend.torch")
            _made[name] = torch.TorchBackend(name.removeprefix(_TORCH))
        elif name in _factories:
            _made[name] = _factories[name]()
        else:
            names = ", ".join(map(repr, _factories))
            raise ValueError(f"backend={name!r}: choose one of {names}.")
    return _made[name]


def default() -> Backend:
    """The backend on which new models start."""
    return get(_default[0])


@contextmanager
def use(name: str) -> Iterator[Backend]:
    """Start new models on another backend inside a ``with`` block, in all threads."""
    chosen, before = get(name), _default[0]
    _default[0] = name
    try:
        yield chosen
    finally:
        _default[0] = before
