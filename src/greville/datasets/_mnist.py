"""MNIST: from a folder that the user names, from the cache, or from the network."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..backend import Array
from ..progress import Progress, silent


class DataError(OSError):
    """Data that were not found or are damaged. The message says what to do."""


class _File(NamedTuple):
    shape: tuple[int, ...]
    archive: str  # SHA-256 of the .gz that the mirrors below serve
    contents: str  # SHA-256 of the decompressed file


FILES = {
    "train-images-idx3-ubyte": _File(
        (60_000, 784),
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ),
    "train-labels-idx1-ubyte": _File(
        (60_000,),
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    "t10k-images-idx3-ubyte": _File(
        (10_000, 784),
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ),
    "t10k-labels-idx1-ubyte": _File(
        (10_000,),
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
}

MIRRORS = (
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
)

_TIMEOUT = (5, 30)  # seconds to connect, and between two packets


def mnist(
    directory: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    progress: Progress = silent,
) -> tuple[Array, Array, Array, Array]:
    """Handwritten digits: 60,000 to learn from and 10,000 to test with.

    They are taken from `directory`, from the folder that the environment variable `GREVILLE_DATA`
    names, or from the user's cache; else they are downloaded into the cache (12 MB). A folder may
    hold the four files itself or in a folder `mnist`, compressed (``.gz``) or not. Wherever they
    come from, their checksums are compared with the known ones.

    Parameters
    ----------
    directory : path, optional
    download : bool, default=True
        Whether the network may be used.
    progress : callable, optional
        Called as the download goes on; see `greville.progress`.

    Returns
    -------
    X_train : ndarray of shape (60000, 784)
        Pixels from 0 to 1, float32, in rows of 28.
    y_train : ndarray of shape (60000,)
        Digits, int64.
    X_test : ndarray of shape (10000, 784)
    y_test : ndarray of shape (10000,)

    Raises
    ------
    DataError
        If they are not found, or damaged.

    References
    ----------
    LeCun, Cortes & Burges, *The MNIST database of handwritten digits*.

    Examples
    --------
    >>> from greville.datasets import mnist
    >>> X_train, y_train, X_test, y_test = mnist()  # doctest: +SKIP
    """
    folder = _find(directory, download, progress)
    arrays = [_read(folder, name) for name in FILES]
    return (
        arrays[0].astype(np.float32) / np.float32(255),
        arrays[1].astype(np.int64),
        arrays[2].astype(np.float32) / np.float32(255),
        arrays[3].astype(np.int64),
    )


def find_mnist(
    directory: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    progress: Progress = silent,
) -> Path:
    """The folder that holds the four files, checked, after the download if there was one.

    The arguments and errors are those of `mnist`.

    Examples
    --------
    >>> from greville.datasets import find_mnist
    >>> folder = find_mnist()  # doctest: +SKIP
    """
    folder = _find(directory, download, progress)
    for name in FILES:
        _read(folder, name)
    return folder


def _find(directory: str | os.PathLike[str] | None, download: bool, progress: Progress) -> Path:
    searched = []
    for named in (directory, os.environ.get("GREVILLE_DATA")):
        if named:
            for folder in (Path(named), Path(named) / "mnist"):
                if all(_existing_path(folder, name) for name in FILES):
                    return folder
            searched.append(str(named))
    try:
        return _cached(download, progress)
    except DataError as error:
        if not searched:
            raise
        where = f"MNIST was not found (not all of its files are in {' or '.join(searched)})"
        raise DataError(str(error).replace("MNIST was not found", where)) from None


def _cached(download: bool, progress: Progress) -> Path:
    try:
        import pooch
    except ModuleNotFoundError:
        raise DataError(
            f"MNIST was not found; {_PLACE}, or install greville[cli] to have them downloaded."
        ) from None
    cache = Path(pooch.os_cache("greville")) / "mnist"
    missing = [name for name in FILES if not _is_intact(cache / f"{name}.gz", FILES[name].archive)]
    if missing and not download:
        raise DataError(f"MNIST was not found; {_PLACE}, or allow the download.")
    for name in missing:
        _fetch(pooch, cache, name, progress)
    return cache


_PLACE = (
    "put its four files (train-images-idx3-ubyte.gz and so on) into a folder, and name that with "
    "--data DIR or GREVILLE_DATA"
)


def _fetch(pooch: Any, cache: Path, name: str, progress: Progress) -> None:
    """Download one file from the first mirror that serves it whole.

    It is written to a temporary file and renamed once its checksum is right.
    """
    failures = []
    pooch.get_logger().setLevel("ERROR")
    for mirror in MIRRORS:
        try:
            with progress(f"download {name}.gz", 1) as advance:
                pooch.retrieve(
                    f"{mirror}{name}.gz",
                    known_hash=f"sha256:{FILES[name].archive}",
                    fname=f"{name}.gz",
                    path=cache,
                    downloader=pooch.HTTPDownloader(timeout=_TIMEOUT),
                )
                advance(1)
            return
        except (OSError, ValueError) as error:  # errors of the network; a wrong checksum
            failures.append(f"{mirror}: {_reason(error)}")
    raise DataError(
        f"MNIST was not found, and could not be downloaded ({'; '.join(failures)}): {_PLACE}."
    )


def _reason(error: Exception) -> str:
    """Say in one line why a download failed."""
    from requests import exceptions

    if isinstance(error, exceptions.HTTPError) and error.response is not None:
        return f"the server answered {error.response.status_code}"
    for kind, reason in (
        (exceptions.Timeout, "no answer in time"),
        (exceptions.ChunkedEncodingError, "the transfer broke off"),
        (exceptions.ConnectionError, "no connection"),
        (ValueError, "the file is damaged"),
    ):
        if isinstance(error, kind):
            return reason
    return str(error)


def _existing_path(folder: Path, name: str) -> Path | None:
    for path in (folder / f"{name}.gz", folder / name):
        with suppress(OSError):  # a name too long, a folder without permission
            if path.is_file():
                return path
    return None


def _is_intact(path: Path, sha256: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def _read(folder: Path, name: str) -> Array:
    path = _existing_path(folder, name)
    if path is None:
        raise DataError(f"{folder / name}.gz has been removed; put it back.")
    try:
        contents = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    if path.suffix == ".gz":
        try:
            contents = gzip.decompress(contents)
        except (OSError, EOFError, zlib.error):
            contents = b""
    if hashlib.sha256(contents).hexdigest() != FILES[name].contents:
        raise DataError(f"{path} is damaged, or not a file of MNIST; replace it, or remove it.")
    shape = FILES[name].shape
    header = 4 + 4 * (3 if len(shape) == 2 else 1)  # a magic number and the lengths
    return np.frombuffer(contents, np.uint8, offset=header).reshape(shape)
