"""The one list of hidden layers, by the name of the class: what files may hold."""

from __future__ import annotations

from .protocol import Layer

_LAYERS: dict[str, type[Layer]] = {}


def register(cls: type[Layer]) -> type[Layer]:
    """Add a class of layers; raise a ValueError if another has its name. Usable as a decorator.

    Examples
    --------
    >>> from greville import RandomLayer
    >>> from greville.layers import registry
    >>> registry.register(RandomLayer) is RandomLayer  # it was registered before
    True
    """
    if _LAYERS.setdefault(cls.__name__, cls) is not cls:
        raise ValueError(f"a layer named {cls.__name__!r} is registered already; choose another.")
    return cls


def names() -> tuple[str, ...]:
    """The names of all layers.

    Examples
    --------
    >>> from greville.layers import registry
    >>> "RandomLayer" in registry.names()
    True
    """
    return tuple(_LAYERS)


def layer_class(name: str) -> type[Layer]:
    """The class of layers with this name.

    Examples
    --------
    >>> from greville.layers import registry
    >>> registry.layer_class("RandomLayer").__name__
    'RandomLayer'
    """
    if name not in _LAYERS:
        known = ", ".join(_LAYERS)
        raise ValueError(f"there is no layer named {name!r}; there are {known}.")
    return _LAYERS[name]
