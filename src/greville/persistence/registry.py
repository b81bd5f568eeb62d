"""The classes whose objects can be in a file, and the way from an object to its fields and back."""

from __future__ import annotations

import reprlib
from contextlib import suppress
from importlib import import_module
from typing import Any, TypeVar

from ..fields import STORABLE, Declaration, FieldError, Fields, add_class, declaration_of

C = TypeVar("C", bound=type)

# The packages that declare classes, and names by which their modules are imported. One that is not
# imported yet is when a file has a class of which nothing is known.
_PACKAGES = {
    "solvers": (),
    "layers": (),
    "elm": (),
    "monitor": (),
    "tables": ("TableModel", "TableRegressor", "Stream"),
}


def register(cls: C) -> C:
    """Let objects of a class be saved and loaded; it may be used as a decorator.

    The class is derived from one that declares what is stored of it with `greville.fields.stored`.
    (One that declares it itself need not be registered.) A program that loads such a file registers
    the class first.

    Parameters
    ----------
    cls : type
        Its name must not be that of another class that can be saved.

    Returns
    -------
    cls

    Examples
    --------
    >>> from greville import RandomLayer, persistence
    >>> @persistence.register
    ... class LoudLayer(RandomLayer):
    ...     def transform(self, X):
    ...         return 10 * super().transform(X)
    """
    if declaration_of(cls) is None:
        raise TypeError(
            f"{cls.__name__}: its stored fields are not declared; declare its fields with "
            "greville.fields.stored."
        )
    _import_all()
    add_class(cls)
    return cls


def _import_all() -> None:
    for package, names in _PACKAGES.items():
        module = import_module(f"greville.{package}")
        for name in names:
            getattr(module, name)
    with suppress(ImportError):  # without river
        import_module("greville.adapters.river")


def declared(name: str) -> tuple[type, Declaration]:
    """Import and return the class of this name, and its declaration."""
    if name not in STORABLE:
        _import_all()
    cls = STORABLE.get(name)
    declaration = None if cls is None else declaration_of(cls)
    if cls is None or declaration is None:
        raise FieldError(
            f"it has a {reprlib.repr(name)}, a class which this greville does not know, or for "
            "which a package is missing: river for models of river"
        )
    return cls, declaration


def declaration_for(thing: Any) -> Declaration:
    """Return the declaration of an object's class; a `FieldError` if the class has none."""
    cls = type(thing)
    declaration = declaration_of(cls)
    if declaration is None or STORABLE.get(cls.__name__) is not cls:
        raise FieldError(
            f"a {cls.__name__} from {cls.__module__} cannot be saved; only greville's own models "
            "and their parts can, and classes passed to greville.persistence.register"
        )
    return declaration


def to_fields(thing: Any) -> tuple[str, Fields]:
    """Compact an object; return the name of its class and its fields."""
    name, declaration = type(thing).__name__, declaration_for(thing)
    declaration.compact(thing)
    fields = declaration.read(thing)
    unknown = next((field for field in fields if field not in declaration.kinds), None)
    if unknown is not None:
        raise FieldError(
            f"{name} has {reprlib.repr(unknown)}, which cannot be saved; delete it, or pass what "
            "it says as `extra`"
        )
    _check_kinds(name, declaration, fields, saving=True)
    declaration.check(thing)
    return name, dict(sorted(fields.items()))


def from_fields(name: str, fields: Fields) -> Any:
    """An object of the class and the fields in a file."""
    cls, declaration = declared(name)
    _check_kinds(name, declaration, fields)
    thing = declaration.make(cls, fields)
    declaration.check(thing)
    declaration.try_out(thing)
    return thing


def _check_kinds(
    name: str, declaration: Declaration, fields: Fields, *, saving: bool = False
) -> None:
    fitted = declaration.fitted if fields.keys() & declaration.fitted.keys() else {}
    for field in sorted({*declaration.parameters, *fitted} - fields.keys()):
        raise FieldError(f"{name} lacks {field}")
    for field, value in fields.items():
        kind = declaration.kinds.get(field)
        if kind is None:
            raise FieldError(f"{name} has an unknown {field!r}")
        if not kind.holds(value):
            advice = f"; {kind.advice}" if saving and kind.advice else ""
            got = f"{type(value).__name__} {reprlib.repr(value)}"
            raise FieldError(f"{name}.{field} must be {kind.name}, and is {got}{advice}")
