"""Declarations of the fields of a class that are saved in files, and their types.

A class declares its fields beside its definition, with the decorator `stored`; a dataclass does so
in the annotations of its fields::

    @stored(parameters={"epsilon": number}, fitted={"weights_": array(2)}, whole=True)
    class Ridge: ...

    @stored()
    @dataclass(frozen=True)
    class Mean:
        count: Annotated[float, finite]
        row: Annotated[Array, array(1)]

    @stored(fitted={"weights_": array(2)}, whole=True)
    @dataclass(eq=False, repr=False)
    class Layer(BaseEstimator):  # its parameters are annotated, what `fit` sets is listed
        scale: Annotated[float, within(0)] = 1.0

`greville.persistence` writes these fields, and reads nothing into an object that is not among them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar, get_type_hints

import numpy as np
from scipy import sparse

# The depth of nested lists and dicts that a field may have.
MAX_DEPTH = 32

# Whole numbers beyond this have no meaning in any field, and make loops and shifts long.
_MAX_INTEGER = 1 << 63

# Numbers tested together, so that a test needs no memory next to the array.
_BLOCK = 1 << 20

Fields = dict[str, Any]
T = TypeVar("T")


class FieldError(ValueError):
    """A field of a stored object that is missing, of the wrong kind, or does not fit the others."""


def require(condition: Any, message: str) -> None:
    """Raise a `FieldError` unless the condition holds."""
    if not condition:
        raise FieldError(message)


def require_finite(array: Any, what: str) -> None:
    """Raise a `FieldError` if there is inf or nan in an array."""
    require(all_finite(array), f"{what} has numbers that are not finite")


# Numbers that are not in a file, and are made again when it is read

# All of those of one file. Without a limit a small file could ask for any memory.
_MOST_MADE = 1 << 22

_made: ContextVar[int] = ContextVar("made", default=0)


def begin_file() -> None:
    """Count numbers that are not in a file afresh, before one is written or read."""
    _made.set(0)


def may_be_left_out(n: int) -> bool:
    """Whether n more numbers may be left out of a file; if so, these are counted."""
    total = _made.get() + n
    if total > _MOST_MADE:
        return False
    _made.set(total)
    return True


# Kinds: what a field may hold


@dataclass(frozen=True)
class Kind:
    """A test of values.

    Attributes
    ----------
    name : what passes, in words
    holds : the test
    advice : what to do about a value that does not pass
    attribute : where an object keeps the field, if not under the field's own name
    """

    name: str
    holds: Callable[[Any], bool]
    advice: str = ""
    attribute: str = ""

    def __or__(self, other: Kind) -> Kind:
        return Kind(
            f"{self.name} or {other.name}",
            lambda value: self.holds(value) or other.holds(value),
            self.advice or other.advice,
        )

    def or_else(self, advice: str) -> Kind:
        """Return this test with advice in its message."""
        return replace(self, advice=advice)

    def kept_in(self, attribute: str) -> Kind:
        """Return this test for a field that an object keeps in another attribute."""
        return replace(self, attribute=attribute)


def _is_flag(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_integer(value: Any) -> bool:
    whole = isinstance(value, (int, np.integer)) and not _is_flag(value)
    return whole and -_MAX_INTEGER <= int(value) < _MAX_INTEGER


def _is_number(value: Any) -> bool:
    return _is_integer(value) or isinstance(value, (float, np.floating))


nothing = Kind("None", lambda value: value is None)
flag = Kind("True or False", _is_flag)
integer = Kind("a whole number", _is_integer)
count = Kind("a whole number >= 0", lambda value: _is_integer(value) and value >= 0)
number = Kind("a number", _is_number)
finite = Kind("a finite number", lambda value: _is_number(value) and bool(np.isfinite(value)))
text = Kind("text", lambda value: isinstance(value, str))
floating = Kind(
    "float32 or float64",
    lambda value: isinstance(value, np.dtype) and value in (np.dtype("f"), np.dtype("d")),
)


def within(
    low: float, high: float = np.inf, *, include_low: bool = True, whole: bool = False
) -> Kind:
    """Make the test of a number, or a whole number, in [low, high) or (low, high)."""
    name = f"a {'whole ' * whole}number {'>=' if include_low else '>'} {low:g}"
    kind = integer if whole else number

    def holds(value: Any) -> bool:
        return kind.holds(value) and low <= value < high and (include_low or value > low)

    return Kind(name + (f" and < {high:g}" if high < np.inf else ""), holds)


def choice(*texts: str) -> Kind:
    """Make the test of a field that is one of some texts."""
    names = " or ".join(map(repr, texts))
    return Kind(names, lambda value: isinstance(value, str) and value in texts)


def array(ndim: int, kinds: str = "f", *, any_number: bool = False) -> Kind:
    """Numbers in so many dimensions, of these kinds of NumPy; finite ones, unless `any_number`."""

    def holds(value: Any) -> bool:
        fits = type(value) is np.ndarray and value.ndim == ndim and value.dtype.kind in kinds
        return fits and (any_number or all_finite(value))

    return Kind(f"an array in {ndim} dimension{'s' * (ndim > 1)}", holds)


def all_finite(values: Any) -> bool:
    """Whether there is no inf or nan in an array, without a mask of its size."""
    if values.dtype.kind != "f":
        return True
    flat = values.ravel(order="K")
    starts = range(0, flat.size, _BLOCK)
    return all(bool(np.isfinite(flat[start : start + _BLOCK]).all()) for start in starts)


def _is_text_array(value: Any) -> bool:
    if type(value) is not np.ndarray or value.ndim != 1:
        return False
    return value.dtype.kind == "U" or (
        value.dtype.kind == "O" and all(type(text) is str for text in value)
    )


text_array = Kind("an array of text", _is_text_array)


def matrix(*formats: str) -> Kind:
    """A sparse matrix of numbers, in one of these formats of SciPy."""
    return Kind(
        "a sparse matrix",
        lambda value: sparse.issparse(value) and value.format in formats and all_finite(value.data),
    )


def instance_of(*classes: type) -> Kind:
    """Make the test of a field that is an object of one of these classes."""
    names = " or ".join(cls.__name__ for cls in classes)
    return Kind(names, lambda value: isinstance(value, classes))


storable = Kind("an object that can be saved", lambda value: bool(declaration_of(type(value))))


def each(of: Kind, container: type[Any] = list, length: int | None = None) -> Kind:
    """A list, or a tuple, of values of one kind."""

    def holds(value: Any) -> bool:
        fits = type(value) is container and length in (None, len(value))
        return fits and all(of.holds(item) for item in value)

    return Kind(f"a {container.__name__} of which each is {of.name}", holds)


def _is_tree(value: Any, depth: int = 0) -> bool:
    if depth > MAX_DEPTH:
        return False
    if type(value) is dict:
        return all(type(k) is str and _is_tree(v, depth + 1) for k, v in value.items())
    if type(value) is list:
        return all(_is_tree(v, depth + 1) for v in value)
    if type(value) is int:
        return _is_integer(value)
    return value is None or type(value) in (bool, float, str)


json = Kind(
    f"a tree of None, bool, int, float, str, list and dict, at most {MAX_DEPTH} deep",
    _is_tree,
    "turn what is in it into these first",
)
random_state = Kind(
    "None or a whole number >= 0 or a RandomState",
    lambda v: v is None or count.holds(v) or isinstance(v, np.random.RandomState),
    "pass a number as random_state",
)


# Declarations: the fields of a class

# What scikit-learn keeps of `set_output` and `set_fit_request`. It says how an object is used in a
# program, and is no part of what was learned.
NEVER_STORED = ("_metadata_request", "_sklearn_output_config")


def _no_action(_: Any) -> None:
    """Do nothing: for classes that need no check, trial or compaction."""


@dataclass(frozen=True)
class Declaration:
    """Declaration of what is stored of the objects of a class.

    Attributes
    ----------
    parameters : fields that every object has
    fitted : fields that an object has all of, or none: those of a fitted one
    optional : fields that may be absent
    derived : attributes that are not stored, since they can be computed from the fields
    whole : whether an object may be a file of its own; the others are parts of one
    check : raises a ValueError if the fields do not go together
    try_out : raises one if a loaded object does not work
    compact : called before an object is saved, to learn rows that are pending and to drop what a
        loaded object would not have; it changes the object only to rounding
    to_fields, from_fields : the fields of an object, and an object of a class and its fields
    """

    parameters: Mapping[str, Kind]
    fitted: Mapping[str, Kind] = field(default_factory=dict)
    optional: Mapping[str, Kind] = field(default_factory=dict)
    derived: tuple[str, ...] = ()
    whole: bool = False
    check: Callable[[Any], None] = _no_action
    try_out: Callable[[Any], None] = _no_action
    compact: Callable[[Any], None] = _no_action
    to_fields: Callable[[Any], Fields] | None = None
    from_fields: Callable[[Any, Fields], Any] | None = None

    @property
    def kinds(self) -> Fields:
        return {**self.parameters, **self.fitted, **self.optional}

    def read(self, thing: Any) -> Fields:
        """The fields of an object, and attributes that are not declared under their own names."""
        if self.to_fields is not None:
            return self.to_fields(thing)
        if _is_value(type(thing)):
            return {name: getattr(thing, name) for name in self.kinds}
        kinds, values = self.kinds, vars(thing)
        names = {k: f"attribute {k}" if k in kinds else k for k in values}
        names |= {kind.attribute or name: name for name, kind in kinds.items()}
        left_out = (*self.derived, *NEVER_STORED)
        return {names[k]: v for k, v in values.items() if k not in left_out}

    def make(self, cls: type, fields: Fields) -> Any:
        """An object of its fields, which are of the kinds declared."""
        if self.from_fields is not None:
            return self.from_fields(cls, fields)
        if _is_value(cls):
            return cls(**fields)
        thing: Any = object.__new__(cls)
        vars(thing).update({self.kinds[name].attribute or name: v for name, v in fields.items()})
        return thing


_DECLARED: dict[type, dict[str, Any]] = {}

# The classes whose objects can be in files, by their names.
STORABLE: dict[str, type] = {}


def stored(**declared: Any) -> Callable[[type[T]], type[T]]:
    """Declare what is stored of the objects of a class; see `Declaration` for the arguments.

    For a dataclass without `parameters`, the fields are those of the dataclass, each annotated
    with a kind.
    """

    def declare(cls: type[T]) -> type[T]:
        _DECLARED[cls] = declared
        return add_class(cls)

    return declare


def declaration_of(cls: type) -> Declaration | None:
    """Return the declaration of a class or of its nearest base class; None if there is none."""
    base = next((base for base in cls.__mro__ if base in _DECLARED), None)
    return None if base is None else _declaration(cls, base)


def add_class(cls: type[T]) -> type[T]:
    """Let objects of a class be in files; a ValueError if another class of its name can."""
    other = STORABLE.get(cls.__name__, cls)
    same = (other.__module__, other.__qualname__) == (cls.__module__, cls.__qualname__)
    if not (same or cls.__module__.startswith("greville.")):
        raise ValueError(f"{cls.__name__}: another class of this name can be saved; rename it.")
    STORABLE[cls.__name__] = cls
    return cls


def _is_value(cls: type[Any]) -> bool:
    """Whether objects of a class are made from their fields, and never change."""
    frozen = getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
    return frozen or issubclass(cls, tuple)


def compact(thing: Any) -> None:
    """Compact an object before it is saved, if its class declares how."""
    declaration = declaration_of(type(thing))
    if declaration is not None:
        declaration.compact(thing)


@cache
def _declaration(cls: type, base: type) -> Declaration:
    declared = _DECLARED[base]
    if "parameters" not in declared:
        declared = {**declared, "parameters": _annotated(cls, declared.get("derived", ()))}
    return Declaration(**declared)


def _annotated(cls: type[Any], derived: tuple[str, ...]) -> dict[str, Kind]:
    """The kinds in the annotations of a dataclass."""
    hints = get_type_hints(cls, include_extras=True)
    kinds = {}
    for declared in (f for f in dataclasses.fields(cls) if f.name not in derived):
        of_field = [k for k in getattr(hints[declared.name], "__metadata__", ()) if type(k) is Kind]
        if len(of_field) != 1:
            raise TypeError(f"{cls.__name__}.{declared.name}: annotate it with one kind.")
        kinds[declared.name] = of_field[0]
    return kinds
