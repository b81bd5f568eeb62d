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

# "torch:cuda:0" is the backend for that device, and "torch:cuda:0:tf32" one with faster and less
# exact products.
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
    made = _made.get(name)
    if made is None:
        if name.startswith(_TORCH):
            made = _made[name] = _on_torch(name.removeprefix(_TORCH))
            return made
        if name not in _factories:
            known = ", ".join(map(repr, _factories))
            raise ValueError(f"backend={name!r}: choose one of {known}.")
        made = _made[name] = _factories[name]()
    return made


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


def _on_torch(device: str) -> Backend:
    made: Backend = import_module("greville.backend.torch").TorchBackend(
        device.removesuffix(":tf32"), tf32=device.endswith(":tf32")
    )
    return made
