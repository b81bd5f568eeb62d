"""The bytes: a safetensors file with a document, its tensors and a checksum of both.

Files are read here and not by the safetensors library: a file may come from anywhere, and nothing
in it is trusted. Reading takes no more memory than the file is long, and a little.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .errors import Refused

Array = NDArray[Any]

# The document is small: it has names and settings; rows are tensors.
MAX_HEADER = 1 << 24

# What JSON may become as Python's objects, in bytes.
_MAX_TREE = 40 << 20

_MAX_TENSORS = 100_000
_MAX_DIMENSIONS = 4

_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "U64": "<u8", "I32": "<i4",
    "U32": "<u4", "I16": "<i2", "U16": "<u2", "I8": "i1", "U8": "u1", "BOOL": "?",
}  # fmt: skip

DAMAGED = "it is damaged or not a greville model"


@dataclass(frozen=True)
class Place:
    """Where a tensor lies in the file."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class Opened:
    """A file of which the header was read."""

    file: BinaryIO
    size: int
    metadata: dict[str, str]
    places: tuple[Place, ...]

    def tensors(self) -> dict[str, Array]:
        """All tensors, in the order of the file."""
        return {place.name: _read_tensor(self.file, place) for place in self.places}


@contextmanager
def opened(path: str) -> Iterator[Opened]:
    """The file, open; an OSError if it cannot be."""
    # Without O_NONBLOCK, opening a pipe would block until something is written to it.
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise Refused("it is not a plain file")
        yield _header(file, found.st_size)


def _header(file: BinaryIO, size: int) -> Opened:
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or not 2 <= length <= min(size - 8, MAX_HEADER):
        raise Refused(DAMAGED)
    header = parse(file.read(length))
    if type(header) is not dict or len(header) > _MAX_TENSORS:
        raise Refused(DAMAGED)
    metadata = header.pop("__metadata__", None)
    if type(metadata) is not dict or not all(type(v) is str for v in metadata.values()):
        raise Refused("it is not a greville model")
    places = sorted((_place(*item) for item in header.items()), key=lambda p: (p.start, p.stop))
    stop = 0
    for place in places:  # one behind the other, without holes and to the end
        if place.start != stop:
            raise Refused(DAMAGED)
        stop = place.stop
    if stop != size - 8 - length:
        raise Refused("it is damaged: its length is not the one in its header")
    return Opened(file, size, metadata, tuple(places))


def _place(name: str, entry: Any) -> Place:
    if type(entry) is not dict or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise Refused(DAMAGED)
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if type(kind) is not str or kind not in _DTYPES:
        raise Refused(DAMAGED)
    for numbers in (shape, offsets):
        if type(numbers) is not list or not all(type(n) is int and n >= 0 for n in numbers):
            raise Refused(DAMAGED)
    dtype = np.dtype(_DTYPES[kind])
    if len(shape) > _MAX_DIMENSIONS or max(shape, default=0) > 1 << 40 or len(offsets) != 2:
        raise Refused(DAMAGED)
    if offsets[1] - offsets[0] != prod(shape) * dtype.itemsize:
        raise Refused(DAMAGED)
    return Place(name, dtype, tuple(shape), *offsets)


def _read_tensor(file: BinaryIO, place: Place) -> Array:
    tensor = np.empty(place.shape, place.dtype)
    if tensor.size:
        view = _bytes(tensor)
        if file.readinto(view) != len(view):  # type: ignore[attr-defined]
            raise Refused("it is incomplete")
        if place.dtype.kind == "b" and tensor.view(np.uint8).max() > 1:
            raise Refused(DAMAGED)
    return tensor


def _bytes(tensor: Array) -> memoryview:
    flat: Any = tensor.reshape(-1).view(np.uint8)
    return memoryview(flat) if tensor.size else memoryview(b"")


def parse(text: bytes | str) -> Any:
    """JSON without anything that JSON does not have: no NaN, and no name twice in an object."""
    _check_size(text)
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise Refused("its document is nested too deeply") from None
    except ValueError:
        raise Refused(DAMAGED) from None


def _check_size(text: bytes | str) -> None:
    comma, brace, bracket = (b",", b"{", b"[") if isinstance(text, bytes) else (",", "{", "[")
    needed = 250 * text.count(brace) + 80 * (text.count(bracket) + text.count(comma))  # type: ignore[arg-type]
    if needed > _MAX_TREE or len(text) > MAX_HEADER:
        raise Refused("its document is too large")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def write_document(document: Any) -> str:
    """A document as text, which `parse` will take."""
    written = json.dumps(document, allow_nan=False, separators=(",", ":"))
    with _stating_the_limit():
        parse(written)
    return written


def check_header(tensors: dict[str, Array], metadata: dict[str, str]) -> None:
    """Raise if `opened` would not take the header of such a file."""
    places = {
        name: {"dtype": "F64", "shape": tensor.shape, "data_offsets": [tensor.nbytes] * 2}
        for name, tensor in tensors.items()
    }
    with _stating_the_limit():
        _check_size(json.dumps({"__metadata__": metadata, **places}, separators=(",", ":")))
        if len(tensors) >= _MAX_TENSORS:
            raise Refused("it has too many arrays")


@contextmanager
def _stating_the_limit() -> Iterator[None]:
    try:
        yield
    except Refused as error:
        raise Refused(f"{error}; a file holds at most some megabytes beside its arrays") from None


def checksum(number: int, document: str, tensors: dict[str, Array]) -> str:
    """SHA-256 of all that is in a file: names, dtypes, shapes and bytes."""
    total = sha256(f"{number} {len(document)} ".encode())
    total.update(document.encode("utf-8", "surrogatepass"))
    for name in sorted(tensors):
        tensor = tensors[name]
        entry = [name, tensor.dtype.str, list(tensor.shape), sha256(_bytes(tensor)).hexdigest()]
        total.update(json.dumps(entry).encode())
    return total.hexdigest()


# All of it is one entry: safetensors writes several in any order, and the same model should give
# the same bytes. It is JSON, always with these names in this order.
_ENTRY = '{"format":%d,"sha256":"%s","document":%s}'
_ENTRY_READ = re.compile(
    r'\{"format":([0-9]{1,9}),"sha256":"([0-9a-f]{64})","document":(.*)\}', re.DOTALL
)


def metadata_for(number: int, digest: str, document: str) -> dict[str, str]:
    """What the file says beside its tensors."""
    return {"greville": _ENTRY % (number, digest, document)}


def metadata_of(metadata: dict[str, str]) -> tuple[int, str, str]:
    """The number of the format, the checksum and the document."""
    entry = metadata.get("greville")
    if entry is None or len(metadata) != 1:
        raise Refused("it is not a greville model")
    found = _ENTRY_READ.fullmatch(entry)
    if found is None:
        raise Refused(DAMAGED)
    return int(found[1]), found[2], found[3]


FORMAT = 4


def check_format(found: int) -> None:
    """Raise unless this version of greville can read the format."""
    if found > FORMAT:
        raise Refused(
            f"it was written by a newer greville, in format {found}, and this one reads up to "
            f"{FORMAT}; upgrade with: pip install -U greville"
        )
    if found < 1:
        raise Refused("it is not a greville model")
    if found < FORMAT:
        raise Refused(
            f"it is in format {found}, of a greville before its first release, and this one reads "
            f"format {FORMAT}; train the model again"
        )
