"""Values as JSON and tensors, and back.

None, flags, text, whole and finite numbers, and lists are themselves. All else is an object with
one name, which says what it is: ``{"tuple": [...]}``, ``{"array": ["H", "F"]}``. Of an upper
triangular matrix, such as a root, a file has the upper half.
"""

from __future__ import annotations

from math import isfinite, isqrt
from typing import Any, Literal

import numpy as np
from scipy import sparse

from ..fields import MAX_DEPTH, begin_file
from .container import Array, Refused
from .registry import from_fields, to_fields

# Nothing that is written is deeper: a tree, in a field of an object, in an object, ...
_MAX_NESTING = 3 * MAX_DEPTH

_DTYPES = {np.dtype(name).name: np.dtype(name) for name in "?bBhHiIqQefd"}
_NOT_FINITE = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


class Encoder:
    """Turns values into JSON, and puts arrays aside as `tensors`, each named by the path to it."""

    def __init__(self) -> None:
        self.tensors: dict[str, Array] = {}
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
        if isinstance(value, np.random.RandomState):
            return None  # how the next draw would be made is no part of what was learned
        if type(value) in (list, tuple):
            items = [self.encode(v, f"{name}.{i}") for i, v in enumerate(value)]
            return items if type(value) is list else {"tuple": items}
        if isinstance(value, dict):
            return {
                "dict": [[self.encode(k, ""), self.encode(value[k], f"{name}.{k}")] for k in value]
            }
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if sparse.issparse(value) and value.format == "csr":
            parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
            arrays = [self.encode(part, f"{name}.{n}") for n, part in parts.items()]
            return {"sparse": [*map(int, value.shape), *arrays]}
        kind, fields = to_fields(value)
        prefix = f"{name}." if name else ""
        written = {k: self.encode(v, prefix + k) for k, v in fields.items()}
        return {"object": {"class": kind, "fields": written}}

    def _array(self, a: Array, name: str) -> Any:
        if a.dtype.kind in "UO":
            return {"words" if a.dtype.kind == "U" else "strings": a.tolist()}
        if a.dtype.name not in _DTYPES or a.ndim == 0:
            raise Refused(f"{name}: an array of {a.dtype} cannot be saved")
        a = a.astype(a.dtype.newbyteorder("="), copy=False)
        if a.ndim == 2 and a.shape[0] == a.shape[1] > 1 and not np.tril(a, -1).any():
            half = a.T[np.tril_indices(len(a))]  # by columns, as LAPACK packs them
            return {"triangle": [self._put(half, name), "F" if a.flags.f_contiguous else "C"]}
        if a.flags.f_contiguous and not a.flags.c_contiguous:
            return {"array": [self._put(a.T, name), "F"]}
        return {"array": [self._put(np.ascontiguousarray(a), name), "C"]}

    def _put(self, tensor: Array, name: str) -> str:
        if name in self.tensors:
            raise Refused(f"two arrays would have the name {name}")
        self.tensors[name] = tensor
        return name


class Decoder:
    """Turns JSON and `tensors` into values; each tensor is used once, and `left` has the others."""

    def __init__(self, tensors: dict[str, Array]) -> None:
        self.left = dict(tensors)
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
            case "dict", list():
                return _dict(self.decode(content, depth + 1))
            case "array", [name, "C" | "F" as order]:
                tensor = self._tensor(name)
                return tensor.T if order == "F" else tensor
            case "triangle", [name, "C" | "F" as order]:
                return _triangle(self._tensor(name), order)
            case "sparse", [int(rows), int(columns), *parts]:
                return _sparse(rows, columns, self.decode(parts, depth + 1))
            case "object", {"class": str(kind), "fields": dict(fields), **more} if not more:
                return from_fields(kind, {k: self.decode(v, depth + 1) for k, v in fields.items()})
            case "float", "inf" | "-inf" | "nan":
                return _NOT_FINITE[content]
            case "dtype", str() if content in _DTYPES:
                return _DTYPES[content]
            case "words" | "strings", list() if all(type(value) is str for value in content):
                return np.array(content, str if tag == "words" else object)
        raise Refused(f"a value of an unknown kind, {tag[:40]!r}")

    def _tensor(self, name: Any) -> Array:
        if type(name) is not str or name not in self.left:
            raise Refused("an array is missing, or is used twice")
        return self.left.pop(name)


def _dict(pairs: list[Any]) -> dict[Any, Any]:
    usual = all(type(pair) is list and len(pair) == 2 for pair in pairs)
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
