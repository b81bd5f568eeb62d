"""What a field may hold: tests of values, with a name for messages and documentation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

# Deeper trees than this are nobody's settings.
DEEPEST = 32

# Whole numbers beyond this mean nothing here, and make loops and shifts long.
_LARGEST = 1 << 63

# Numbers looked at together, so that looking needs no memory next to the array.
_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Kind:
    """A test of values.

    Attributes
    ----------
    name : what passes, in words
    holds : the test
    instead : what to do about a value that does not pass
    """

    name: str
    holds: Callable[[Any], bool]
    instead: str = ""

    def __or__(self, other: Kind) -> Kind:
        return Kind(
            f"{self.name} or {other.name}",
            lambda value: self.holds(value) or other.holds(value),
            self.instead or other.instead,
        )

    def or_else(self, instead: str) -> Kind:
        """The same test, with advice."""
        return replace(self, instead=instead)


def _is_flag(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_integer(value: Any) -> bool:
    whole = isinstance(value, (int, np.integer)) and not _is_flag(value)
    return whole and -_LARGEST <= int(value) < _LARGEST


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


def choice(*texts: str) -> Kind:
    """One of some texts."""
    names = " or ".join(map(repr, texts))
    return Kind(names, lambda value: isinstance(value, str) and value in texts)


def array(ndim: int | tuple[int, ...], kinds: str = "f", *, any_number: bool = False) -> Kind:
    """Numbers in so many dimensions, of these kinds of NumPy; finite ones, unless `any_number`."""
    dimensions = (ndim,) if isinstance(ndim, int) else ndim

    def holds(value: Any) -> bool:
        usual = type(value) is np.ndarray and value.ndim in dimensions and value.dtype.kind in kinds
        return usual and (any_number or all_finite(value))

    return Kind(f"an array in {' or '.join(map(str, dimensions))} dimensions", holds)


def all_finite(values: Any) -> bool:
    """Whether there is no inf or nan in an array, without a mask of its size."""
    if values.dtype.kind != "f":
        return True
    flat = values.ravel(order="K")
    pieces = range(0, flat.size, _AT_ONCE)
    return all(bool(np.isfinite(flat[start : start + _AT_ONCE]).all()) for start in pieces)


def _is_words(value: Any) -> bool:
    if type(value) is not np.ndarray or value.ndim != 1:
        return False
    return value.dtype.kind == "U" or (
        value.dtype.kind == "O" and all(type(word) is str for word in value)
    )


words = Kind("an array of text", _is_words)


def matrix(*formats: str) -> Kind:
    """A sparse matrix of numbers, in one of these formats of SciPy."""
    return Kind(
        "a sparse matrix",
        lambda value: sparse.issparse(value) and value.format in formats and all_finite(value.data),
    )


def known(*names: str) -> Kind:
    """An object of one of these classes of the table."""
    return Kind(" or ".join(names), lambda value: type(value).__name__ in names)


def each(of: Kind, container: type[Any] = list, length: int | None = None) -> Kind:
    """A list, or a tuple, of as many values as there are, all of one kind."""

    def holds(value: Any) -> bool:
        fits = type(value) is container and length in (None, len(value))
        return fits and all(of.holds(item) for item in value)

    return Kind(f"a {container.__name__} of which each is {of.name}", holds)


def row(*kinds: Kind) -> Kind:
    """A tuple of values, each of its own kind."""

    def holds(value: Any) -> bool:
        fits = type(value) is tuple and len(value) == len(kinds)
        return fits and all(kind.holds(v) for kind, v in zip(kinds, value, strict=True))

    return Kind(f"a tuple of ({'; '.join(kind.name for kind in kinds)})", holds)


def _is_tree(value: Any, depth: int = 0) -> bool:
    if depth > DEEPEST:
        return False
    if type(value) is dict:
        return all(type(k) is str and _is_tree(v, depth + 1) for k, v in value.items())
    if type(value) is list:
        return all(_is_tree(v, depth + 1) for v in value)
    if type(value) is int:
        return _is_integer(value)
    return value is None or type(value) in (bool, float, str)


json = Kind(
    f"a tree of None, bool, int, float, str, list and dict, at most {DEEPEST} deep",
    _is_tree,
    "turn what is in it into these first",
)
