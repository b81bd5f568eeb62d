"""Models into files and back."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from .. import __version__
from ..fields import FieldError
from ..fields import json as tree
from . import container, registry
from .atomic import whole_file
from .container import Array, ModelFileError, Refused
from .encoding import Decoder, Encoder

Path = str | os.PathLike[str]

_WRITTEN, _LOADED = "cannot be written", "cannot be loaded"


def save(model: Any, path: Path, extra: dict[str, Any] | None = None) -> None:
    """Write a model, with all that it has learned, into a file.

    The model first learns the rows that are pending inside it, which changes it only by rounding.
    From then on the model and its loaded copy stay bit-identical, also in the middle of a stream.
    An existing file is replaced completely or not at all.

    Parameters
    ----------
    model : estimator, solver, layer, DriftMonitor, TableModel or Stream
        Fitted or not, with one of greville's layers; or an object of a class that was passed to
        `greville.persistence.register`. Of a model of `greville.dask`, ``to_local()`` is saved.
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
    with _naming(path, _WRITTEN):
        local = model.to_local() if hasattr(model, "to_local") else model
        document, tensors = _encoded(local, extra)
        with whole_file(path) as new:
            container.write(new, document, tensors)


def check_fits(model: Any) -> None:
    """Raise a ValueError if a model has so many names and settings that no file can hold them.

    It tells before rows are learned what `save` would tell after.

    Examples
    --------
    >>> from greville import Opium
    >>> from greville.persistence import check_fits
    >>> check_fits(Opium().fit([[1.0], [2.0]], [1.0, 2.0]))
    """
    try:
        container.metadata_of(*_encoded(model, None))
    except (Refused, FieldError) as error:
        raise ValueError(f"{error}.") from None


def fingerprint(model: Any) -> str:
    """The checksum of a file with this model, which ``greville info`` shows: SHA-256.

    Examples
    --------
    >>> from greville import Opium
    >>> from greville.persistence import fingerprint
    >>> fingerprint(Opium(epsilon=0.1)) == fingerprint(Opium(epsilon=0.1))
    True
    """
    return container.checksum(*_encoded(model, None))


def _encoded(model: Any, extra: dict[str, Any] | None) -> tuple[Any, dict[str, Array]]:
    """The document and the tensors of a file."""
    if not registry.declaration_for(model).whole:
        raise FieldError(f"a {type(model).__name__} is a part of a model; save the model")
    if extra is not None and not (type(extra) is dict and tree.holds(extra)):
        raise Refused(f"extra must be a dict, and {tree.name}; {tree.advice}")
    encoder = Encoder()
    written = {"model": encoder.encode(model, ""), "extra": encoder.encode(extra, "extra")}
    return {"greville": __version__, **written}, encoder.tensors


def load(path: Path, device: Any = None) -> Any:
    """Read a model that `save` has written.

    Nothing in the file is executed. A file that is damaged, or that does not hold a working model,
    is refused. The model is loaded onto the CPU, wherever it was learned.

    Parameters
    ----------
    path : str or path-like
    device : str, optional
        Move it there, as by its method `to`: "cuda", or another device of torch.

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
    model = open_file(path).model
    if device is None:
        return model
    if not hasattr(model, "to"):
        raise ValueError(f"device={device!r}: a {type(model).__name__} cannot be moved.")
    return model.to(device)


def read(path: Path) -> tuple[Any, dict[str, Any] | None, dict[str, Any]]:
    """Read a model and all else that is in its file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    model, extra, header
        As of `ModelFile`.

    Raises
    ------
    ModelFileError
        A ValueError that names the file and says what to do.

    Examples
    --------
    >>> import os, tempfile
    >>> import greville
    >>> from greville import persistence
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "empty.greville")
    ...     persistence.save(greville.Opium(), path, extra={"city": "Oslo"})
    ...     model, extra, header = persistence.read(path)
    >>> extra, header["class"]
    ({'city': 'Oslo'}, 'Opium')
    """
    file = open_file(path)
    return file.model, file.extra, file.header


class ModelFile:
    """A model file that was read once, and whose checksum is right.

    Attributes
    ----------
    path : str
    header : dict
        Its "format", the "version" of greville that wrote it, the "class" of the model, the "size"
        of the file in bytes, and the "checksum", a SHA-256 of all that is in it.
    extra : dict, or None
        What was passed as `extra`.
    model : what was saved
        It is made when it is first asked for, which raises a ModelFileError if it does not work.
    """

    def __init__(self, path: str, content: container.Content, size: int) -> None:
        self.path = path
        self._content: container.Content | None = content
        match content.document:
            case {
                "greville": str(version),
                "model": {"object": {"class": str(name)}},
                "extra": extra,
                **more,
            } if not more:
                with _quiet():
                    self.extra: Any = Decoder({}).decode(extra)
            case _:
                raise Refused("it does not hold a model")
        if self.extra is not None and not (type(self.extra) is dict and tree.holds(self.extra)):
            raise Refused("its extra data are not a tree of JSON values")
        self.header: dict[str, Any] = {
            "format": container.FORMAT,
            "version": version,
            "class": name,
            "size": size,
            "checksum": content.checksum,
        }

    @cached_property
    def model(self) -> Any:
        assert self._content is not None
        decoder = Decoder(self._content.tensors)
        with _naming(self.path, _LOADED), _quiet():
            model = decoder.decode(self._content.document["model"])
            if not registry.declaration_for(model).whole or decoder.left:
                raise Refused("it does not hold a model")
        self._content = None  # its memory is the model's now
        return model


def open_file(path: Path) -> ModelFile:
    """Read a file; its model is made when it is asked for.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    file : ModelFile

    Raises
    ------
    ModelFileError
        A ValueError that names the file and says what to do.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import greville
    >>> from greville.persistence import open_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.greville"
    ...     greville.save(greville.Opium().fit([[1.0], [2.0]], [1.0, 2.0]), path)
    ...     print(open_file(path).header["class"])
    Opium
    """
    name = os.fspath(path)
    with _naming(path, _LOADED):
        return ModelFile(name, container.read(name), os.path.getsize(name))


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence warnings about numbers that are checked anyway."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _naming(path: Path, what: str) -> Iterator[None]:
    """Turn any exception into a ModelFileError of one sentence that names the file."""
    try:
        yield
    except ModelFileError:
        raise
    except (Refused, FieldError) as error:
        advice = "" if what == _WRITTEN or ";" in str(error) else "; take another copy of the file"
        raise ModelFileError(f"{os.fspath(path)} {what}: {error}{advice}.") from None
    except OSError as error:
        if what == _LOADED and isinstance(error, FileNotFoundError):
            raise ModelFileError(f"{os.fspath(path)}: there is no such file.") from error
        why = error.strerror or str(error)
        raise ModelFileError(
            f"{os.fspath(path)} {what}: {why}; check that the folder exists, that "
            "you may use it, and that it has room."
        ) from error
    except Exception as error:  # a check of a class, or one of its parameters
        message = str(error).strip().rstrip(".") or type(error).__name__
        raise ModelFileError(f"{os.fspath(path)} {what}: {message}.") from error
