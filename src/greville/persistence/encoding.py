"""Values as JSON and tensors, and back.

None, flags, text, whole and finite numbers, and lists are themselves. All else is an object with
one name, which says what it is: ``{"tuple": [...]}``, ``{"array": ["H", "F"]}``. Of an upper
triangular matrix, such as a root, a file has the upper half.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, isqrt
from typing import Any, Literal

import numpy as np
from scipy import sparse

from ..fields import MAX_DEPTH, Fields, begin_file
from .container import Array, Refused

# Nothing that is written is deeper: a tree, in a field of an object, in an object, ...
_MAX_NESTING = 3 * MAX_DEPTH

_DTYPES = {np.dtype(name).name: np.dtype(name) for name in "?bBhHiIqQefd"}
_FLOAT_WORDS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
_LAST_CHARACTER = 0x10FFFF


class Encoder:
    """Turns values into JSON, and puts arrays aside as `tensors`, each named by the path to it.

    Parameters
    ----------
    to_fields : callable
        From an object to its class and its fields.
    """

    def __init__(self, to_fields: Callable[[Any], tuple[str, Fields]]) -> None:
        self.tensors: dict[str, Array] = {}
        self._to_fields = to_fields
        begin_file()

    def encode(self, value: Any, name: str) -> Any:
        """The value as JSON; `name` is the path to it."""
        if isinstance(value, np.generic) and value.dtype.name in _DTYPES:
            value = value.item()
        if isinstance(value, str):
            return str(value)
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            return value if isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.dtype):
            return {"dtype": value.name}
        if type(value) in (list, tuple):
            items = [self.encode(v, f"{name}.{i}") for i, v in enumerate(value)]
            return items if type(value) is list else {"tuple": items}
        if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
            return {"pairs": self.encode(list(value.items()), name)}
        if isinstance(value, dict):
            return {"dict": {k: self.encode(v, f"{name}.{k}") for k, v in value.items()}}
        if type(value) is np.ndarray:
            return self._array(value, name)
        if sparse.issparse(value) and value.format == "csr":
            parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
            arrays = [self.encode(part, f"{name}.{n}") for n, part in parts.items()]
            return {"sparse": [*map(int, value.shape), *arrays]}
        if type(value) is np.random.RandomState:
            return self._random(value, name)
        kind, fields = self._to_fields(value)
        prefix = f"{name}." if name else ""
        written = {k: self.encode(v, prefix + k) for k, v in fields.items()}
        return {"object": {"class": kind, "fields": written}}

    def _array(self, a: Array, name: str) -> Any:
        if a.dtype.kind == "U":
            characters = np.ascontiguousarray(a).view(np.uint32).reshape(len(a), -1)
            return {"words": self._put(characters, name)}
        if a.dtype.kind == "O":
            return {"strings": a.tolist()}
        if a.dtype.name not in _DTYPES or a.ndim == 0:
            raise Refused(f"{name}: an array of {a.dtype} cannot be saved")
        a = a.astype(a.dtype.newbyteorder("="), copy=False)
        if a.ndim == 2 and a.shape[0] == a.shape[1] > 1 and not np.tril(a, -1).any():
            half = a.T[np.tril_indices(len(a))]  # by columns, as LAPACK packs them
            return {"triangle": [self._put(half, name), "F" if a.flags.f_contiguous else "C"]}
        if a.flags.f_contiguous and not a.flags.c_contiguous:
            return {"array": [self._put(a.T, name), "F"]}
        return {"array": [self._put(np.ascontiguousarray(a), name), "C"]}

    def _random(self, random: np.random.RandomState, name: str) -> Any:
        state: Any = random.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            raise Refused(f"{name}: only a RandomState with MT19937 can be saved; pass a number")
        key, numbers = self._put(state["state"]["key"], name), state["state"]["pos"]
        return {"random": [key, int(numbers), int(state["has_gauss"]), float(state["gauss"])]}

    def _put(self, tensor: Array, name: str) -> str:
        if name in self.tensors:
            raise Refused(f"two arrays would have the name {name}")
        self.tensors[name] = tensor
        return name


class Decoder:
    """Turns JSON and `tensors` into values; each tensor is used once.

    Parameters
    ----------
    tensors : dict of str to ndarray
        `left` has those that were not used.
    from_fields : callable
        From a class and fields to an object.
    """

    def __init__(
        self, tensors: dict[str, Array], from_fields: Callable[[str, Fields], Any]
    ) -> None:
        self.left = dict(tensors)
        self._from_fields = from_fields
        begin_file()

    def decode(self, written: Any, depth: int = 0) -> Any:
        """The value that was written."""
        if depth > _MAX_NESTING:
            raise Refused("values are nested too deeply")
        if isinstance(written, list):
            return [self.decode(item, depth + 1) for item in written]
        if not isinstance(written, dict):
            return written
        [(tag, content)] = written.items() if len(written) == 1 else [("", None)]
        match tag, content:
            case "tuple", list():
                return tuple(self.decode(content, depth + 1))
            case "dict", dict():
                return {k: self.decode(v, depth + 1) for k, v in content.items()}
            case "pairs", list():
                return _dict(self.decode(content, depth + 1))
            case "array", [name, "C" | "F" as order]:
                tensor = self._tensor(name)
                return tensor.T if order == "F" else tensor
            case "triangle", [name, "C" | "F" as order]:
                return _triangle(self._tensor(name), order)
            case "words", _:
                return _words(self._tensor(content))
            case "sparse", [int(rows), int(columns), *parts]:
                return _sparse(rows, columns, self.decode(parts, depth + 1))
            case "random", [name, *numbers]:
                return _random_state(self._tensor(name), numbers)
            case "object", {"class": str(kind), "fields": dict(fields), **more} if not more:
                return self._from_fields(
                    kind, {k: self.decode(v, depth + 1) for k, v in fields.items()}
                )
        return _leaf(tag, content)

    def _tensor(self, name: Any) -> Array:
        if type(name) is not str or name not in self.left:
            raise Refused("an array is missing, or is used twice")
        return self.left.pop(name)


def _leaf(tag: str, content: Any) -> Any:
    match tag, content:
        case "float", "inf" | "-inf" | "nan":
            return _FLOAT_WORDS[content]
        case "dtype", str() if content in _DTYPES:
            return _DTYPES[content]
        case "strings", list() if all(type(value) is str for value in content):
            strings = np.empty(len(content), object)
            strings[:] = content
            return strings
    raise Refused(f"a value of an unknown kind, {tag[:40]!r}")


def _dict(pairs: list[Any]) -> dict[Any, Any]:
    usual = all(type(p) is tuple and len(p) == 2 for p in pairs)
    if not usual or not all(type(key) in (str, int, float, bool) for key, _ in pairs):
        raise Refused("a dict has no pairs of keys and values")
    return dict(pairs)


def _triangle(half: Array, order: Literal["C", "F"]) -> Array:
    n = isqrt(2 * half.size)
    if half.ndim != 1 or n * (n + 1) != 2 * half.size:
        raise Refused("a triangle has another number of numbers")
    whole = np.zeros((n, n), half.dtype, order)
    whole.T[np.tril_indices(n)] = half
    return whole


def _words(tensor: Array) -> Array:
    usual = tensor.dtype == np.uint32 and tensor.ndim == 2 and tensor.shape[1] > 0
    if not usual or tensor.max(initial=0) > _LAST_CHARACTER:
        raise Refused("invalid text")
    return tensor.view(f"U{tensor.shape[1]}")[:, 0]


def _sparse(rows: int, columns: int, parts: list[Any]) -> Any:
    arrays = len(parts) == 3 and all(type(a) is np.ndarray and a.ndim == 1 for a in parts)
    if not arrays or any(a.dtype.char not in "ilq" for a in parts[1:]):
        raise Refused("a sparse matrix lacks its arrays")
    try:
        matrix = sparse.csr_array(tuple(parts), shape=(rows, columns))
        matrix.check_format(full_check=True)
    except (ValueError, OverflowError):
        raise Refused("the indices of a sparse matrix are out of range") from None
    return matrix


def _random_state(key: Array, numbers: list[Any]) -> np.random.RandomState:
    fits = key.shape == (624,) and key.dtype == np.uint32 and bool(key.any())
    if not fits or [type(n) for n in numbers] != [int, int, float]:
        raise Refused("invalid state of a random number generator")
    position, has_gauss, gauss = numbers
    if not (0 <= position <= 624 and has_gauss in (0, 1) and isfinite(gauss)):
        raise Refused("invalid state of a random number generator")
    random = np.random.RandomState(0)
    random.set_state(("MT19937", key, position, has_gauss, gauss))
    return random
