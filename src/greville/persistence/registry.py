"""The classes whose objects can be in a file, and the way from an object to its fields and back."""

from __future__ import annotations

import reprlib
from importlib import import_module
from typing import Any, TypeVar

from ..fields import Declaration, FieldError, Fields, declaration_of, declared_class

C = TypeVar("C", bound=type)

# The classes of each package that can be in files. A package is imported when an object of one of
# its classes is met; where in it a class is declared does not matter.
_CLASSES = {
    "greville.layers": (
        *("RandomLayer", "TableLayer", "FourierLayer", "ReceptiveFieldLayer", "ContrastLayer"),
        *("ClassLayer", "PatchLayer", "StackedLayer", "MiniRocketLayer"),
        *("ReservoirLayer", "LagLayer"),
    ),
    "greville.solvers": (
        *("Batch", "Greville", "Opium", "OpiumLight", "DynamicOpium", "SlidingOpium"),
        *("Sums", "Mean", "Path", "RidgeState", "FadingState", "MemoriesState", "WindowState"),
        *("LightState", "BatchState", "FrozenState"),
    ),
    "greville.elm": (
        *("ELMRegressor", "ELMClassifier", "LinearRegressor", "LinearClassifier"),
        *("TimeSeriesRegressor", "TimeSeriesClassifier"),
        *("FittedELM", "HiddenMap", "Scaling"),
        *("NumericTargets", "ClassTargets", "IndicatorTargets", "Warmup", "Chunk"),
        "Calibration",
    ),
    "greville.following": ("Follower",),
    "greville.monitor": ("DriftMonitor",),
    "greville.tables": ("TableModel", "TableRegressor", "TableClassifier", "Stream", "FirstRows"),
}
_PACKAGES = {name: package for package, names in _CLASSES.items() for name in names}

_REGISTERED: dict[str, type] = {}


def register(cls: C) -> C:
    """Let objects of a class be saved and loaded; it may be used as a decorator.

    The class, or one that it is derived from, declares what is stored of it with
    `greville.fields.stored`. A program that loads such a file registers the class first.

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
    other = _REGISTERED.get(cls.__name__, cls)
    same = (other.__module__, other.__qualname__) == (cls.__module__, cls.__qualname__)
    taken = cls.__name__ in _PACKAGES or _in_registries().get(cls.__name__, cls) is not cls
    if taken or not same:
        raise ValueError(f"{cls.__name__}: another class of this name can be saved; rename it.")
    _REGISTERED[cls.__name__] = cls
    return cls


def registered_names() -> list[str]:
    """The names of all classes whose objects can be in a file."""
    return [*dict.fromkeys((*_PACKAGES, *_in_registries(), *_REGISTERED))]


def _in_registries() -> dict[str, type]:
    """The classes in the registries of layers and solvers."""
    layers = import_module("greville.layers").registry
    solvers = import_module("greville.solvers").registry
    made = [solvers.make(name) for name in solvers.names()]
    found = [*map(type, made), *(each.state_class for each in made)]
    found += map(layers.layer_class, layers.names())
    return {cls.__name__: cls for cls in found}


def _class_named(name: str) -> type | None:
    package = _PACKAGES.get(name)
    if package is None:
        return _REGISTERED.get(name) or _in_registries().get(name)
    module = import_module(package)
    for each in _CLASSES[package]:  # a package may import its classes when they are named
        getattr(module, each, None)
    return declared_class(name, package)


def declared(name: str) -> tuple[type, Declaration]:
    """The class of this name, which is imported, and what it declares."""
    cls = _class_named(name)
    declaration = None if cls is None else declaration_of(cls)
    if cls is None or declaration is None:
        raise FieldError(
            f"it has a {reprlib.repr(name)}, a class which this greville does not know"
        )
    return cls, declaration


def to_fields(thing: Any) -> tuple[str, Fields]:
    """The class and the fields of an object, which is compacted first."""
    name, declaration = type(thing).__name__, declaration_for(thing)
    declaration.compact(thing)
    fields = declaration.read(thing)
    _check_kinds(name, declaration, fields, saving=True)
    declaration.check(thing)
    return name, dict(sorted(fields.items()))


def declaration_for(thing: Any) -> Declaration:
    """What the class of an object declares; a `FieldError` if such objects cannot be saved."""
    name = type(thing).__name__
    if _class_named(name) is type(thing):
        return declared(name)[1]
    raise FieldError(
        f"a {name} from {type(thing).__module__} cannot be saved; only greville's own models and "
        "their parts can, and classes passed to greville.persistence.register"
    )


def from_fields(name: str, fields: Fields) -> Any:
    """An object of the class and the fields in a file."""
    cls, declaration = declared(name)
    _check_kinds(name, declaration, fields, saving=False)
    thing = declaration.make(cls, fields)
    declaration.check(thing)
    declaration.try_out(thing)
    return thing


def _check_kinds(name: str, declaration: Declaration, fields: Fields, *, saving: bool) -> None:
    needed = set(declaration.parameters)
    if any(field in fields for field in declaration.fitted):
        needed |= set(declaration.fitted)
    missing = sorted(needed - set(fields))
    if missing:
        raise FieldError(f"{name} lacks {missing[0]}")
    kinds = declaration.kinds
    for field, value in fields.items():
        if field not in kinds:
            what = f"{name} has {reprlib.repr(field)}, which cannot be saved"
            advice = "delete it, or pass what it says as `extra`"
            raise FieldError(f"{what}; {advice}" if saving else f"{name} has an unknown {field!r}")
        kind = kinds[field]
        if not kind.holds(value):
            advice = f"; {kind.advice}" if saving and kind.advice else ""
            got = f"{type(value).__name__} {reprlib.repr(value)}"
            raise FieldError(f"{name}.{field} must be {kind.name}, and is {got}{advice}")
