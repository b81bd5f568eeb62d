"""Models into files and back."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import __version__
from ._container import (
    DAMAGED,
    check_header,
    checksum,
    metadata_for,
    metadata_of,
    opened,
    parse,
    write_document,
)
from ._errors import ModelFileError, Wrong
from ._formats import FORMAT, check_format, upgraded
from ._kinds import json as tree
from ._known import KNOWN
from ._objects import entry_of, given, taken
from ._values import Decoder, Encoder, expect
from ._writing import replace_file

Path = str | os.PathLike[str]

_WRITTEN, _LOADED = "cannot be written", "cannot be loaded"


def save(model: Any, path: Path, extra: dict[str, Any] | None = None) -> None:
    """Write a model, with all that it has learned, into a file.

    A loaded model goes on as this one would have, to the last bit, also in the middle of a stream.
    A file that is there is replaced whole or not at all; the model itself stays as it is.

    Parameters
    ----------
    model : estimator, solver, layer, DriftMonitor, TableModel or Stream
        Fitted or not, with one of greville's layers.
    path : str or path-like
    extra : dict, optional
        Anything else to keep with it: a tree of None, bool, int, float, str, list and dict.

    Raises
    ------
    ModelFileError
        A ValueError, if there is something in the model that no file can hold, such as a function
        as activation or a transformer from elsewhere, or if the file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import greville
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = greville.ELMRegressor(50, random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "product.greville")
    ...     greville.save(model, path)
    ...     again = greville.load(path)
    >>> np.array_equal(again.predict(X), model.predict(X))
    True
    """
    with _about(path, _WRITTEN):
        replace_file(os.fspath(path), *_encoded(model, extra))


def check_fits(model: Any) -> None:
    """Raise a ValueError if a model has so many names and settings that no file can hold them.

    It tells before rows are learned what `save` would tell after.
    """
    try:
        _encoded(model, None)
    except Wrong as error:
        raise ValueError(f"{error}.") from None


def _encoded(
    model: Any, extra: dict[str, Any] | None
) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, str]]:
    """The tensors of a file, and what stands beside them."""
    if not entry_of(model)[1].whole:
        raise Wrong(f"a {type(model).__name__} is a part of a model; save the model")
    if extra is not None and not (type(extra) is dict and tree.holds(extra)):
        raise Wrong(f"extra must be a dict, and {tree.name}; {tree.instead}")
    encoder = Encoder(taken)
    document = write_document(
        {
            "greville": __version__,
            "model": encoder.encode(model, ""),
            "extra": encoder.encode(extra, "extra"),
        }
    )
    digest = checksum(FORMAT, document, encoder.tensors)
    metadata = metadata_for(FORMAT, digest, document)
    check_header(encoder.tensors, metadata)
    return encoder.tensors, metadata


def load(path: Path) -> Any:
    """Read a model that `save` has written.

    Nothing in the file is run, whoever made it. It is checked first: a file that is damaged, or
    that does not hold a model that works, is refused.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    model : what was saved

    Raises
    ------
    ModelFileError
        A ValueError that names the file and says what to do.

    Examples
    --------
    >>> import os, tempfile
    >>> import greville
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "empty.greville")
    ...     greville.save(greville.Opium(epsilon=0.1), path)
    ...     greville.load(path)
    Opium(epsilon=0.1)
    """
    return read(path)[0]


def read(path: Path) -> tuple[Any, dict[str, Any] | None, dict[str, Any]]:
    """Read a model and all else that is in its file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    model : what was saved
    extra : dict, or None
        What was passed as `extra`.
    header : dict
        Its "format", the "version" of greville that wrote it, the "class" of the model, the "size"
        of the file in bytes, and the "checksum", a SHA-256 of all that is in it.

    Raises
    ------
    ModelFileError
        A ValueError that names the file and says what to do.

    Examples
    --------
    >>> import os, tempfile
    >>> import greville
    >>> from greville import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "empty.greville")
    ...     files.save(greville.Opium(), path, extra={"city": "Oslo"})
    ...     model, extra, header = files.read(path)
    >>> extra, header["class"]
    ({'city': 'Oslo'}, 'Opium')
    """
    with _about(path, _LOADED), opened(os.fspath(path)) as file:
        number, digest, document = metadata_of(file.metadata)
        check_format(number)
        tensors = file.tensors()
        if checksum(number, document, tensors) != digest:
            raise Wrong("it is damaged: its checksum is not what it says")
        return _decoded(document, tensors, number, file.size, digest)


def _decoded(
    text: str, tensors: dict[str, Any], number: int, size: int, digest: str
) -> tuple[Any, dict[str, Any] | None, dict[str, Any]]:
    document = expect(dict, upgraded(parse(text), number), 3)
    version = document.get("greville")
    if type(version) is not str or "model" not in document or "extra" not in document:
        raise Wrong(DAMAGED)
    decoder = Decoder(tensors, given)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        model, extra = decoder.decode(document["model"]), decoder.decode(document["extra"])
    name = type(model).__name__
    if name not in KNOWN or not KNOWN[name].whole or decoder.left:
        raise Wrong("it holds something else than a model")
    if extra is not None and not (type(extra) is dict and tree.holds(extra)):
        raise Wrong("what it holds beside the model is not a tree")
    header = {
        "format": number,
        "version": version,
        "class": name,
        "size": size,
        "checksum": digest,
    }
    return model, extra, header


@contextmanager
def _about(path: Path, what: str) -> Iterator[None]:
    """Make one sentence, which names the file, of whatever goes wrong."""
    try:
        yield
    except ModelFileError:
        raise
    except Wrong as error:
        advice = "" if what == _WRITTEN or ";" in str(error) else "; take another copy of the file"
        raise ModelFileError(f"{os.fspath(path)} {what}: {error}{advice}.") from None
    except OSError as error:
        why = error.strerror or str(error)
        raise ModelFileError(
            f"{os.fspath(path)} {what}: {why}; see whether the folder is there, is yours to use, "
            "and has room."
        ) from error
    except Exception as error:
        message = str(error).strip().rstrip(".") or type(error).__name__
        raise ModelFileError(f"{os.fspath(path)} {what}: {message}.") from error
