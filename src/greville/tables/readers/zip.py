"""Archives of files: the table in a zip."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from ..batch import Batch, TableError, listed
from ..findings import Finding
from .recognition import text_batches
from .registry import by_path
from .source import ReadRequest, Unreadable, with_findings


def kind_of(path: Path) -> str:
    """The format of which an archive is: Excel's and NumPy's files are archives too."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (NotImplementedError, RuntimeError, ValueError) as error:
        raise Unreadable(str(error)) from error
    if any(name.startswith("xl/") for name in names):
        return "excel"
    if names and all(name.endswith(".npy") for name in names):
        return "npz"
    return "zip"


def read(request: ReadRequest) -> Iterator[Batch]:
    """The batches of the table in an archive."""
    source = request.source
    assert source.path is not None
    with zipfile.ZipFile(source.path) as archive:
        entry, others = _entry(archive, request)
        format, codec = by_path(Path(entry.filename))
        if codec is not None or (format is not None and not format.text):
            raise TableError(
                f"{source.name}: of the files in it, {entry.filename!r} cannot be read from an "
                "archive; unpack it first."
            )
        text = f"{source.name}: the file {entry.filename!r} in it is read"
        text += f", and not {listed(others)}" if others else ""
        finding = Finding("file in an archive", text + ".")
        try:
            with archive.open(entry) as stream:
                yield from with_findings(text_batches(request, format, stream), [finding])
        except (NotImplementedError, RuntimeError, zlib.error) as error:
            raise Unreadable(str(error)) from error


def _entry(archive: zipfile.ZipFile, request: ReadRequest) -> tuple[zipfile.ZipInfo, list[str]]:
    """The file to read, and the names of the others."""
    name, wanted = request.source.name, request.reading.table
    named = [e for e in archive.infolist() if e.filename]  # damaged archives have other entries
    files = [e for e in named if not e.is_dir() and not _is_hidden(e.filename)]
    names = [entry.filename for entry in files]
    if wanted is not None:
        found = [entry for entry in files if wanted in (entry.filename, Path(entry.filename).name)]
        if len(found) != 1:
            raise TableError(f"{name}: there is no file {wanted!r} in it, but {listed(names)}.")
    else:
        tables = [entry for entry in files if by_path(Path(entry.filename))[0] is not None]
        found = files if len(files) == 1 else tables
    if not found:
        raise TableError(f"{name}: there is no table in it, but {listed(names) or 'nothing'}.")
    if len(found) > 1:
        several = listed([entry.filename for entry in found])
        raise TableError(
            f"{name}: there are several tables in it, {several}",
            "; name one with {table}, or unpack it and pass the folder.",
            table=None,
        )
    (entry,) = found
    if entry.flag_bits & 1:
        raise TableError(f"{name}: it is protected by a password; unpack it first.")
    return entry, [other for other in names if other != entry.filename]


def _is_hidden(name: str) -> bool:
    parts = Path(name).parts
    return parts[0] == "__MACOSX" or any(part.startswith(".") for part in parts)
