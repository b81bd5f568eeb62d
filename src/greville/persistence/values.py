"""Values as JSON and tensors, and back.

None, flags, text, whole and finite numbers, and lists are themselves. All else is an object with
one name, which says what it is: ``{"tuple": [...]}``, ``{"array": ["R", "F"]}``.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np
from scipy import sparse

from ..fields import MAX_DEPTH, Fields, begin_file
from .container import Array
from .errors import Refused

# Nothing that is written is deeper: a tree, in a field of an object, in an object, ...
_MAX_NESTING = 3 * MAX_DEPTH

_SCALARS = {
    np.dtype(name).name: np.dtype(name)
    for name in ("?", "b", "B", "h", "H", "i", "I", "q", "Q", "e", "f", "d")
}
_FLOAT_WORDS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
_MATRICES = {
    kind.__name__: kind
    for kind in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)
}
_LAST_CHARACTER = 0x10FFFF

# How an object becomes its class and fields, and the other way; `registry` has both.
ToFields = Callable[[Any], tuple[str, Fields]]
FromFields = Callable[[str, Fields], Any]


class Encoder:
    """Turns values into JSON, and puts arrays aside as `tensors`, each named by the path to it."""

    def __init__(self, to_fields: ToFields) -> None:
        self.tensors: dict[str, Array] = {}
        self._to_fields = to_fields
        begin_file()

    def encode(self, value: Any, name: str) -> Any:
        """The value as JSON; `name` is the path to it."""
        if isinstance(value, str):
            return str(value)
        if value is None or isinstance(value, (bool, int)):
            return value
        if type(value) is float:
            return value if isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.generic) and value.dtype.name in _SCALARS:
            return {"numpy": [value.dtype.name, self.encode(value.item(), name)]}
        if isinstance(value, np.dtype):
            return {"dtype": value.name}
        if isinstance(value, list):
            return [self.encode(v, f"{name}.{i}") for i, v in enumerate(value)]
        if type(value) is tuple:
            return {"tuple": [self.encode(v, f"{name}.{i}") for i, v in enumerate(value)]}
        if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
            return {"pairs": self.encode(list(value.items()), name)}
        if isinstance(value, dict):
            return {"dict": {k: self.encode(v, f"{name}.{k}") for k, v in value.items()}}
        if type(value) is np.ndarray:
            return self._encode_array(value, name)
        if sparse.issparse(value):
            return self._encode_matrix(value, name)
        if type(value) is np.random.RandomState:
            return self._encode_random(value, name)
        kind, fields = self._to_fields(value)
        prefix = f"{name}." if name else ""
        return {
            "object": {
                "class": kind,
                "fields": {k: self.encode(v, prefix + k) for k, v in fields.items()},
            }
        }

    def _encode_array(self, a: Array, name: str) -> Any:
        if a.dtype.kind == "U":
            characters = np.ascontiguousarray(a).view(np.uint32).reshape(len(a), -1)
            return {"words": self._put(characters, name)}
        if a.dtype.kind == "O":
            return {"strings": a.tolist()}
        if a.dtype.name not in _SCALARS or a.ndim == 0:
            raise Refused(f"{name}: an array of {a.dtype} cannot be saved")
        a = a.astype(a.dtype.newbyteorder("="), copy=False)
        if a.flags.f_contiguous and not a.flags.c_contiguous:
            return {"array": [self._put(a.T, name), "F"]}
        return {"array": [self._put(np.ascontiguousarray(a), name), "C"]}

    def _encode_matrix(self, m: Any, name: str) -> Any:
        kind = type(m).__name__
        if kind not in _MATRICES:
            raise Refused(f"{name}: a {kind} cannot be saved")
        parts = (m.data, m.indices, m.indptr)
        names = ("data", "indices", "indptr")
        arrays = [self.encode(p, f"{name}.{n}") for p, n in zip(parts, names, strict=True)]
        return {"sparse": [kind, list(map(int, m.shape)), *arrays]}

    def _encode_random(self, random: np.random.RandomState, name: str) -> Any:
        state: Any = random.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            raise Refused(f"{name}: only a RandomState with MT19937 can be saved; pass a number")
        key = self._put(state["state"]["key"], name)
        position, has_gauss = int(state["state"]["pos"]), int(state["has_gauss"])
        return {"random": [key, position, has_gauss, self.encode(float(state["gauss"]), name)]}

    def _put(self, tensor: Array, name: str) -> str:
        if name in self.tensors:
            raise Refused(f"two arrays would have the name {name}")
        self.tensors[name] = tensor
        return name


class Decoder:
    """Turns JSON and `tensors` into values; each tensor is used once."""

    def __init__(self, tensors: dict[str, Array], from_fields: FromFields) -> None:
        self.left = dict(tensors)
        self._from_fields = from_fields
        begin_file()
        self._tags: dict[str, Callable[[Any, int], Any]] = {
            "float": self._float,
            "numpy": self._scalar,
            "dtype": self._dtype,
            "tuple": lambda items, depth: tuple(self._items(items, depth)),
            "dict": self._dict,
            "pairs": self._pairs,
            "array": self._array,
            "words": self._words,
            "strings": self._strings,
            "sparse": self._matrix,
            "random": self._random,
            "object": self._object,
        }

    def decode(self, written: Any, depth: int = 0) -> Any:
        if depth > _MAX_NESTING:
            raise Refused("values are nested too deeply")
        if isinstance(written, list):
            return self._items(written, depth)
        if not isinstance(written, dict):
            return written
        if len(written) == 1:
            [(tag, content)] = written.items()
            if tag in self._tags:
                return self._tags[tag](content, depth + 1)
        raise Refused(f"unknown kind of value, with the names {sorted(written)[:3]}")

    def _items(self, items: Any, depth: int) -> list[Any]:
        return [self.decode(item, depth + 1) for item in expect(list, items)]

    def _float(self, name: Any, depth: int) -> float:
        if type(name) is not str or name not in _FLOAT_WORDS:
            raise Refused("invalid number literal")
        return _FLOAT_WORDS[name]

    def _scalar(self, pair: Any, depth: int) -> Any:
        name, value = expect(list, pair, 2)
        value = self.decode(value, depth)
        if type(name) is not str or name not in _SCALARS or type(value) not in (bool, int, float):
            raise Refused("invalid number literal")
        return _SCALARS[name].type(value)

    def _dtype(self, name: Any, depth: int) -> Any:
        if type(name) is not str or name not in _SCALARS:
            raise Refused("unknown dtype")
        return _SCALARS[name]

    def _dict(self, content: Any, depth: int) -> dict[str, Any]:
        return {k: self.decode(v, depth) for k, v in expect(dict, content).items()}

    def _pairs(self, content: Any, depth: int) -> dict[Any, Any]:
        pairs = self._items(content, depth)
        if not all(type(p) is tuple and len(p) == 2 and _is_key(p[0]) for p in pairs):
            raise Refused("a dict has no pairs of keys and values")
        return dict(pairs)

    def _tensor(self, name: Any) -> Array:
        if type(name) is not str or name not in self.left:
            raise Refused("an array is missing, or is used twice")
        return self.left.pop(name)

    def _array(self, pair: Any, depth: int) -> Array:
        name, order = expect(list, pair, 2)
        if order not in ("C", "F"):
            raise Refused("an array has an unknown order")
        tensor = self._tensor(name)
        return tensor.T if order == "F" else tensor

    def _words(self, name: Any, depth: int) -> Array:
        tensor = self._tensor(name)
        usual = tensor.dtype == np.uint32 and tensor.ndim == 2 and tensor.shape[1] > 0
        if not usual or tensor.max(initial=0) > _LAST_CHARACTER:
            raise Refused("invalid text")
        return tensor.view(f"U{tensor.shape[1]}")[:, 0]

    def _strings(self, values: Any, depth: int) -> Array:
        if not all(type(value) is str for value in expect(list, values)):
            raise Refused("invalid text")
        strings = np.empty(len(values), object)
        strings[:] = values
        return strings

    def _matrix(self, content: Any, depth: int) -> Any:
        kind, shape, *written = expect(list, content, 5)
        if type(kind) is not str or kind not in _MATRICES:
            raise Refused("a sparse matrix is of an unknown kind")
        rows, columns = expect(list, shape, 2)
        if not all(type(n) is int and 0 <= n < 1 << 31 for n in (rows, columns)):
            raise Refused("a sparse matrix has an impossible shape")
        data, indices, indptr = (self.decode(part, depth) for part in written)
        major, minor = (rows, columns) if kind.startswith("csr") else (columns, rows)
        _check_indices(data, indices, indptr, major, minor)
        return _MATRICES[kind]((data, indices, indptr), shape=(rows, columns))

    def _random(self, content: Any, depth: int) -> np.random.RandomState:
        name, position, has_gauss, gauss = expect(list, content, 4)
        key, gauss = self._tensor(name), self.decode(gauss, depth)
        right = key.shape == (624,) and key.dtype == np.uint32 and bool(key.any())
        right = right and type(position) is int and 0 <= position <= 624
        right = right and type(has_gauss) is int and has_gauss in (0, 1)
        if not right or type(gauss) is not float or not isfinite(gauss):
            raise Refused("invalid state of a random number generator")
        random = np.random.RandomState(0)
        random.set_state(("MT19937", key, position, has_gauss, gauss))
        return random

    def _object(self, content: Any, depth: int) -> Any:
        content = expect(dict, content, 2)
        kind, written = content.get("class"), content.get("fields")
        if type(kind) is not str:
            raise Refused("an object has no class")
        fields = expect(dict, written)
        return self._from_fields(kind, {k: self.decode(v, depth) for k, v in fields.items()})


def _is_key(value: Any) -> bool:
    return type(value) in (str, int, float, bool) or isinstance(value, np.generic)


def expect(kind: type[Any], value: Any, length: int | None = None) -> Any:
    """A list or dict from a document, if it is one."""
    if type(value) is not kind or length not in (None, len(value)):
        raise Refused(f"expected a {kind.__name__} in the document")
    return value


def _check_indices(data: Any, indices: Any, indptr: Any, major: int, minor: int) -> None:
    """Raise where a product with this matrix would look beyond its arrays."""
    arrays = all(type(a) is np.ndarray and a.ndim == 1 for a in (data, indices, indptr))
    if not arrays or any(a.dtype.char not in "ilq" for a in (indices, indptr)):
        raise Refused("a sparse matrix lacks its arrays")
    right = len(indptr) == major + 1 and len(data) == len(indices)
    right = right and indptr[0] == 0 and indptr[-1] == len(indices)
    right = right and bool((indptr[1:] >= indptr[:-1]).all())
    if not right or indices.min(initial=0) < 0 or indices.max(initial=-1) >= minor:
        raise Refused("the indices of a sparse matrix are out of range")
