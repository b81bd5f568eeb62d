"""The bytes: a safetensors file with a document, its tensors and a checksum of both.

A file may come from anywhere, and nothing in it is trusted: safetensors checks where its tensors
lie, and here is checked all else.
"""

from __future__ import annotations

import json
import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

FORMAT = 6

# The document is small: it has names and settings; rows are tensors.
MAX_HEADER = 1 << 24

# What JSON may become as Python's objects, in bytes.
_MAX_TREE = 40 << 20

_MAX_TENSORS = 100_000

DAMAGED = "it is damaged or not a greville model"


class ModelFileError(ValueError):
    """A file cannot be written, or is not a model that can be trusted to work.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import greville
    >>> from greville.persistence import ModelFileError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.greville"
    ...     _ = path.write_text("something else")
    ...     try:
    ...         greville.load(path)
    ...     except ModelFileError:
    ...         print("this is no model")
    this is no model
    """


class Refused(Exception):
    """The reason why a file is refused; `api` adds the name of the file."""


class Content(NamedTuple):
    """Content of a file: its checksum, its document as it is in JSON, and its arrays."""

    checksum: str
    document: Any
    tensors: dict[str, Array]


def _library() -> Any:
    """The library, or a ModelFileError that says how to get it."""
    try:
        import safetensors.numpy
    except ImportError as error:
        raise ModelFileError(
            "models are kept in files of safetensors, which is not installed; "
            "run: pip install 'greville[files]'"
        ) from error
    return safetensors


def write(path: str, document: Any, tensors: dict[str, Array]) -> None:
    """Write a file, which `metadata_of` has taken."""
    library = _library()
    try:
        library.numpy.save_file(tensors, path, metadata=metadata_of(document, tensors))
    except library.SafetensorError as error:
        raise OSError(str(error)) from error


def metadata_of(document: Any, tensors: dict[str, Array]) -> dict[str, str]:
    """Return the metadata of a file that `read` accepts; else raise `Refused`.

    It is one entry: safetensors writes several in any order, and the same model should give the
    same bytes.
    """
    digest = checksum(document, tensors)
    entry = _text({"format": FORMAT, "sha256": digest, "document": document})
    header = len(json.dumps(entry)) + sum(len(json.dumps(name)) + 150 for name in tensors)
    if len(tensors) > _MAX_TENSORS or header > MAX_HEADER or _size_in_memory(entry) > _MAX_TREE:
        raise Refused(
            "its names and settings are too large; a file holds at most some megabytes beside its "
            "arrays"
        )
    return {"greville": entry}


def read(path: str) -> Content:
    """The content of a file whose checksum is right; `Refused` for all others."""
    library = _library()
    if not stat.S_ISREG(os.stat(path).st_mode):  # to open a pipe would wait for whoever writes
        raise Refused("it is not a plain file")
    with Path(path).open("rb") as opened:
        if int.from_bytes(opened.read(8), "little") > MAX_HEADER:
            raise Refused(DAMAGED)
    try:
        with library.safe_open(path, "numpy") as file:
            metadata, names = file.metadata() or {}, sorted(file.keys())
            if len(metadata) != 1 or "greville" not in metadata:
                raise Refused("it is not a greville model")
            if len(names) > _MAX_TENSORS:
                raise Refused(DAMAGED)
            tensors = {name: file.get_tensor(name) for name in names}
    except (library.SafetensorError, ValueError, TypeError, AttributeError):  # an unknown dtype
        raise Refused(DAMAGED) from None
    entry = _parsed(metadata["greville"])
    if type(entry) is not dict or sorted(entry) != ["document", "format", "sha256"]:
        raise Refused(DAMAGED)
    number, document = entry["format"], entry["document"]
    if type(number) is not int or number < 1:
        raise Refused("it is not a greville model")
    if number != FORMAT:
        raise Refused(
            f"it is in format {number}, and this greville reads format {FORMAT}; upgrade with: pip "
            "install -U greville, or train the model again"
        )
    digest = checksum(document, tensors)
    if digest != entry["sha256"]:
        raise Refused("it is damaged: its checksum does not match its content")
    return Content(digest, document, tensors)


def checksum(document: Any, tensors: dict[str, Array]) -> str:
    """SHA-256 of all that is in a file: names, dtypes, shapes and bytes."""
    total = sha256(f"{FORMAT} {_text(document)}".encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        content = sha256(np.ascontiguousarray(tensor).data).hexdigest()
        total.update(_text([name, tensor.dtype.str, list(tensor.shape), content]).encode())
    return total.hexdigest()


def _text(document: Any) -> str:
    try:
        return json.dumps(document, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise Refused("its document is nested too deeply") from None


def _parsed(text: str) -> Any:
    """JSON without anything that JSON does not have: no NaN, and no name twice in an object."""
    if _size_in_memory(text) > _MAX_TREE:
        raise Refused("its document is too large")
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise Refused("its document is nested too deeply") from None
    except ValueError:
        raise Refused(DAMAGED) from None


def _size_in_memory(text: str) -> int:
    return 250 * text.count("{") + 80 * (text.count("[") + text.count(","))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError("a name comes twice")
    return entries


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
