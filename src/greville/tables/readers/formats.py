"""The formats of tables: by which names, or first bytes, files of them are recognised.

Nothing is imported for a format before it is used, so that the command can list them at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..batch import Batch
    from .source import ReadRequest

_CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}


@dataclass(frozen=True)
class TableFormat:
    """A format of tables.

    Attributes
    ----------
    name : str
        What `Reading.format` and ``--format`` call it.
    suffixes : tuple of str
        How names of its files end.
    module : str
        The module of this package whose `read` takes a `ReadRequest` and yields batches.
    magic : tuple of bytes
        With what contents begin; nothing for lines of text.
    """

    name: str
    suffixes: tuple[str, ...]
    module: str
    magic: tuple[bytes, ...] = ()

    def batches(self, request: ReadRequest) -> Iterator[Batch]:
        """Read the batches of one source."""
        batches: Iterator[Batch] = import_module(f".{self.module}", __package__).read(request)
        return batches


_ZIP = b"PK\x03\x04"
_FORMATS = (
    TableFormat("csv", (".csv",), "csv"),
    TableFormat("tsv", (".tsv", ".tab"), "csv"),
    TableFormat("jsonl", (".jsonl", ".ndjson", ".json"), "json"),
    TableFormat("parquet", (".parquet", ".pq"), "parquet", (b"PAR1",)),
    TableFormat(
        "arrow", (".arrow", ".arrows", ".feather", ".ipc"), "arrow", (b"ARROW1", b"\xff" * 4)
    ),
    TableFormat("npy", (".npy",), "numpy", (b"\x93NUMPY",)),
    TableFormat("npz", (".npz",), "numpy", (_ZIP,)),
    TableFormat("excel", (".xlsx", ".xlsm"), "excel", (_ZIP,)),
    TableFormat("sqlite", (".sqlite", ".sqlite3"), "sqlite", (b"SQLite format 3\0",)),
)


def formats() -> dict[str, TableFormat]:
    """Return all formats by name."""
    return {format.name: format for format in _FORMATS}


def codec_of(path: Any) -> str | None:
    """Return the compression that the name of a file says."""
    return _CODECS.get(path.suffix.lower())


def format_of(path: Any) -> TableFormat | None:
    """Return the format that the name of a file says."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _CODECS:
        del suffixes[-1]
    return next((f for f in _FORMATS if suffixes and suffixes[-1] in f.suffixes), None)


def format_by_start(start: bytes) -> TableFormat | None:
    """Return the format, other than of text, whose contents begin like this."""
    return next((f for f in _FORMATS if f.magic and start.startswith(f.magic)), None)
