"""Unpacking: from a source, whatever it is packed in, to a file that can be read."""

from __future__ import annotations

import codecs
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, Self

import pyarrow as pa

from ..batch import TableError, listed
from ..findings import Finding
from . import source as sources
from .formats import codec_of, format_of
from .source import Source, Unreadable, chosen_table

_CODECS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}


class TemporaryFile:
    """A file that is removed when nothing refers to this object any more."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        descriptor, name = tempfile.mkstemp(prefix="greville-")
        self.path = Path(name)
        weakref.finalize(self, self.path.unlink, missing_ok=True)
        with open(descriptor, "wb") as file:
            file.writelines(blocks)


@dataclass(frozen=True)
class Content:
    """The bytes of a source in a file that is neither compressed nor an archive.

    Attributes
    ----------
    path : Path
    name : PurePath
        The name that says what is in the file.
    findings : tuple of Finding
        What archive it is from, and how its text is encoded.
    longest : int
        Bytes of the longest line of text; 0 if all are short.
    has_quotes : bool
        Whether there may be any in text.
    owner : TemporaryFile or None
        What keeps a copy.
    """

    path: Path
    name: PurePath
    findings: tuple[Finding, ...] = ()
    longest: int = 0
    has_quotes: bool = True
    owner: TemporaryFile | None = None

    def head(self, size: int) -> bytes:
        """Return the first bytes, without the byte order mark of UTF-8."""
        with self.path.open("rb") as file:
            return file.read(size).removeprefix(codecs.BOM_UTF8)

    def lines(self) -> Iterator[bytes]:
        """Yield all bytes in pieces that end where lines do."""
        held = b""
        with self.path.open("rb") as file:
            block = file.read(sources.BLOCK).removeprefix(codecs.BOM_UTF8)
            while block:
                piece, end, held = (held + block).rpartition(b"\n")
                yield piece + end
                block = file.read(sources.BLOCK)
        yield held

    def rewritten(self, blocks: Iterable[bytes], **changes: Any) -> Self:
        """Return a copy with other bytes, in a temporary file."""
        file = TemporaryFile(blocks)
        return replace(self, path=file.path, owner=file, **changes)


def unpacked(source: Source, table: str | None, stopped: Callable[[], bool]) -> Content:
    """Unpack a source; `table` names a file in an archive."""
    content = Content(source.path, PurePath("-" if source.path is None else source.path.name))
    if source.remote or not source.can_be_read_again:
        content = content.rewritten(source.blocks(stopped))
    if archive_format(content.path) == "zip":
        content = _extracted(source.name, content, table)
    head, bare = content.head(8), content.name
    codec = next((codec for start, codec in _CODECS.items() if head.startswith(start)), None)
    if codec_of(bare) is not None:  # if it is not compressed, it is damaged
        codec, bare = codec or codec_of(bare), bare.with_suffix("")
    if codec is None:
        return content
    return content.rewritten(_decompressed(source.name, content.path, codec), name=bare)


def _decompressed(name: str, path: Path, codec: str) -> Iterator[bytes]:
    try:
        # Not a file of Python: Arrow would make another error of an interrupt while that is read.
        with pa.input_stream(str(path), codec) as stream:
            while block := stream.read(sources.BLOCK):
                yield block
    except OSError as error:
        text = str(error) or type(error).__name__
        what = f"{name}: the compressed data are damaged or cut off ({text})"
        raise TableError(f"{what}; get the file again.") from error


def archive_format(path: Path) -> str | None:
    """Return the format that is a zip of files: excel, npz, or just zip; None for other files."""
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            return None
    with _opened(path) as archive:
        names = archive.namelist()
    if any(name.startswith("xl/") for name in names):
        return "excel"
    return "npz" if names and all(name.endswith(".npy") for name in names) else "zip"


def _extracted(name: str, content: Content, asked: str | None) -> Content:
    """Extract the table in an archive."""
    with _opened(content.path) as archive:
        entries = (entry for entry in archive.infolist() if not entry.is_dir())
        files = {e.filename: e for e in entries if e.filename and not _is_hidden(e.filename)}
        tables = [each for each in files if format_of(PurePath(each)) is not None]
        likely = list(files) if len(files) == 1 else tables
        asked = next((each for each in files if asked in (each, PurePath(each).name)), asked)
        chosen = chosen_table(name, "file", [*files], asked, likely)
        if files[chosen].flag_bits & 1:
            raise TableError(f"{name}: it is protected by a password; unpack it first.")
        others = [other for other in files if other != chosen]
        text = f"{name}: the file {chosen!r} in it is read"
        text += f", and not {listed(others)}." if others else "."
        finding = Finding("file in an archive", text)
        with archive.open(chosen) as stream:
            blocks = iter(lambda: stream.read(sources.BLOCK), b"")
            return content.rewritten(blocks, name=PurePath(chosen), findings=(finding,))


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """An archive; what is wrong with it is `Unreadable`."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (TableError, OSError):
        raise
    except Exception as error:  # a damaged archive raises whatever its parser does
        raise Unreadable(str(error) or type(error).__name__) from error


def _is_hidden(name: str) -> bool:
    parts = PurePath(name).parts
    return parts[0] == "__MACOSX" or any(part.startswith(".") for part in parts)
