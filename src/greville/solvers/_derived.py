"""Immutable values, their derived values (computed at the first read), and their storage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from .. import backend
from ..devices import on_host
from ..fields import Fields, stored

V = TypeVar("V")


class Value:
    """A frozen dataclass whose derived values are neither copied nor pickled with it."""

    # The fields that are arrays of the backend, or other values
    arrays: ClassVar[tuple[str, ...]] = ()

    def __getstate__(self) -> dict[str, Any]:
        mine = vars(self)
        return {name: mine[name] for name in names_of(type(self))}

    def on(self, b: backend.Backend) -> Self:
        """Return the value with its arrays on another backend."""
        changes: dict[str, Any] = {}
        for name in self.arrays:
            A = getattr(self, name)
            if A is not None:
                changes[name] = A.on(b) if isinstance(A, Value) else b.copy(b.asarray(on_host(A)))
        if "backend" in names_of(type(self)):
            changes["backend"] = b
        return replace(self, **changes)


def stored_value(
    check: Callable[[Any], None], *, whole: bool = False
) -> Callable[[type[Any]], type[Any]]:
    """Declare a value, whose arrays are NumPy's in files, and on the default backend when loaded.

    Neither its backend nor rows that are pending are stored.
    """

    def to_fields(value: Any) -> Fields:
        names = names_of(type(value)) - {"backend", "pending"}
        values = {name: getattr(value, name) for name in names}
        arrays = [name for name in value.arrays if not isinstance(values[name], Value)]
        return values | {name: on_host(values[name]) for name in arrays}

    def from_fields(cls: Any, values: Fields) -> Any:
        b, values = backend.default(), dict(values)
        for name in cls.arrays:
            if isinstance(values[name], np.ndarray):
                usual = name in ("R", "Z")  # in which order their columns are
                values[name] = b.asarray(np.asfortranarray(values[name]) if usual else values[name])
        return cls(**values, **({"backend": b} if "backend" in names_of(cls) else {}))

    return stored(
        derived=("backend", "pending"),
        whole=whole,
        check=check,
        to_fields=to_fields,
        from_fields=from_fields,
    )


_names: dict[type, frozenset[str]] = {}


def names_of(cls: Any) -> frozenset[str]:
    """The names of the fields of a dataclass."""
    names = _names.get(cls)
    if names is None:
        names = _names[cls] = frozenset(field.name for field in fields(cls))
    return names


def replace(value: V, **changes: Any) -> V:
    """A value with some fields changed: `dataclasses.replace` in a fifth of the time."""
    new: V = object.__new__(type(value))
    mine = vars(value)
    vars(new).update({name: mine[name] for name in names_of(type(value))}, **changes)
    return new


class derived:
    """A value computed from an immutable object when it is first read, and kept with it.

    `functools.cached_property` takes a lock in Python 3.11, which a forked child may never get.
    """

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, obj: Any, owner: Any = None) -> Any:
        if obj is None:
            return self
        value = vars(obj)[self._name] = self._compute(obj)
        return value


def is_derived(obj: Any, name: str) -> bool:
    """Whether a derived value is computed already."""
    return name in vars(obj)


def with_derived(obj: V, **values: Any) -> V:
    """Store derived values, computed by another way, in a new immutable object."""
    vars(obj).update(values)
    return obj
