"""Unpacking: from a source, whatever it is packed in, to a file that can be read."""

from __future__ import annotations

import lzma
import os
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..batch import TableError, listed
from ..findings import Finding
from .formats import codec_of, format_of
from .source import BLOCK, Reading, Source, Unreadable, chosen_table

_CODECS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
}
_ZIP, _PARQUET = b"PK\x03\x04", b"PAR1"


class TemporaryFile:
    """A file that is removed when nothing refers to this object any more."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        descriptor, name = tempfile.mkstemp(prefix="greville-")
        self.path = Path(name)
        weakref.finalize(self, _remove, name)
        with open(descriptor, "wb") as file:
            file.writelines(blocks)


def _remove(name: str) -> None:
    if os.path.exists(name):
        os.unlink(name)


@dataclass(frozen=True)
class Content:
    """The bytes of a source in a file that is neither compressed nor an archive.

    Attributes
    ----------
    path : Path or Address
    name : Path
        The name that says what is in the file.
    findings : tuple of Finding
    owner : TemporaryFile or None
        What keeps a copy.
    """

    path: Any
    name: Path
    findings: tuple[Finding, ...] = ()
    owner: TemporaryFile | None = None

    def head(self, size: int) -> bytes:
        """Return the first bytes of the content."""
        with self.path.open("rb") as file:
            content: bytes = file.read(size)
            return content

    def copied(
        self, blocks: Iterable[bytes], name: Path, findings: tuple[Finding, ...] = ()
    ) -> Content:
        """Return the file that was made of the bytes."""
        file = TemporaryFile(blocks)
        return Content(file.path, name, self.findings + findings, file)


def unpacked(source: Source, reading: Reading, over: Callable[[], bool]) -> Content:
    """Unpack a source; a Parquet file at an address stays there."""
    name = Path("-" if source.path is None else source.path.name)
    wanted = reading.table
    content = Content(source.path, name)
    is_there = source.can_be_read_again and not source.remote
    if not is_there and not (source.remote and content.head(4) == _PARQUET):
        content = content.copied(source.blocks(over), name)
    while True:
        head = content.head(8)
        codec = next((codec for start, codec in _CODECS.items() if head.startswith(start)), None)
        codec = codec or codec_of(content.name)  # if it should be compressed, it is damaged
        if codec is not None:
            bare = content.name.with_suffix("") if codec_of(content.name) else content.name
            content = content.copied(_decompressed(source.name, content.path, codec), bare)
        elif head.startswith(_ZIP) and archive_format(content.path) is None:
            content, wanted = _extracted(source.name, content, wanted), None
        else:
            return content


def _decompressed(name: str, path: Any, codec: str) -> Iterator[bytes]:
    try:
        # Not a file of Python: Arrow would make another error of an interrupt while that is read.
        with lzma.open(path) if codec == "xz" else pa.input_stream(str(path), codec) as stream:
            while block := stream.read(BLOCK):
                yield block
    except (OSError, EOFError, lzma.LZMAError) as error:
        text = str(error) or type(error).__name__
        what = f"{name}: the compressed data are damaged or cut off ({text})"
        raise TableError(f"{what}; get the file again.") from error


def archive_format(path: Path) -> str | None:
    """The format of which an archive is, if it is not just one of files."""
    with _opened(path) as archive:
        names = archive.namelist()
    if any(name.startswith("xl/") for name in names):
        return "excel"
    return "npz" if names and all(name.endswith(".npy") for name in names) else None


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (NotImplementedError, RuntimeError, ValueError, zipfile.BadZipFile) as error:
        raise Unreadable(str(error)) from error


def _extracted(name: str, content: Content, wanted: str | None) -> Content:
    """The table in an archive."""
    with _opened(content.path) as archive:
        files = {
            entry.filename: entry
            for entry in archive.infolist()
            if entry.filename and not entry.is_dir() and not _is_hidden(entry.filename)
        }
        tables = [each for each in files if format_of(Path(each)) is not None]
        members = list(files) if len(files) == 1 else tables
        wanted = next((each for each in files if wanted in (each, Path(each).name)), wanted)
        chosen = chosen_table(name, "file", [*files], wanted, members)
        if files[chosen].flag_bits & 1:
            raise TableError(f"{name}: it is protected by a password; unpack it first.")
        others = [other for other in files if other != chosen]
        text = f"{name}: the file {chosen!r} in it is read"
        text += f", and not {listed(others)}." if others else "."
        finding = Finding("file in an archive", text)
        try:
            with archive.open(chosen) as stream:
                blocks = iter(lambda: stream.read(BLOCK), b"")
                return content.copied(blocks, Path(chosen), (finding,))
        except (*_DAMAGE, NotImplementedError, RuntimeError) as error:
            raise Unreadable(str(error) or type(error).__name__) from error


_DAMAGE = (zlib.error, lzma.LZMAError, zipfile.BadZipFile, EOFError)


def _is_hidden(name: str) -> bool:
    parts = Path(name).parts
    return parts[0] == "__MACOSX" or any(part.startswith(".") for part in parts)
