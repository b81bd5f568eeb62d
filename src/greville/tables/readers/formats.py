"""The formats of tables: by which names they are known, and what reads and writes them.

Nothing is imported for a format before it is used, so that the command can list them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..batch import Batch
    from .source import ReadRequest

_HERE = __package__

_CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}


@dataclass(frozen=True)
class TableFormat:
    """A format of tables.

    Parameters
    ----------
    name : str
        What `Reading.format` and ``--format`` call it.
    suffixes : tuple of str
        How names of its files end, such as ``".csv"``.
    read : function, or str
        It takes a `ReadRequest` and yields batches; as "module:function" it is imported when it is
        first used.
    write : function or class, or str, optional
        It takes a binary stream and returns an object with the methods ``write(record_batch)`` and
        ``close()``.
    text : bool
        Whether files are lines of text. Then the request has their `text`, in UTF-8, and
        compressed files can be written too.
    magic : tuple of bytes
        With what contents begin: a file is recognised by it, whatever its name says.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville.tables import format_of
    >>> csv = format_of(Path("flow.csv"))
    >>> csv.name, csv.suffixes
    ('csv', ('.csv',))
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[ReadRequest], Iterator[Batch]] | str
    write: Callable[[Any], Any] | str | None = None
    text: bool = False
    magic: tuple[bytes, ...] = ()

    def batches(self, request: ReadRequest) -> Iterator[Batch]:
        """The batches of one source."""
        return _imported(self.read)(request)

    def writer(self, stream: Any) -> Any:
        """A writer of record batches to a stream."""
        return _imported(self.write)(stream)


def _imported(function: Any) -> Any:
    if isinstance(function, str):
        module, name = function.split(":")
        return getattr(import_module(module), name)
    return function


_formats: dict[str, TableFormat] = {}


def register(format: TableFormat) -> None:
    """Add a format, or replace the one of its name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville.tables import format_of, register
    >>> register(format_of(Path("flow.csv")))  # the one that there is
    """
    _formats[format.name] = format


def unregister(name: str) -> None:
    """Remove a format."""
    del _formats[name]


def formats() -> tuple[TableFormat, ...]:
    """All formats, in the order in which they were registered."""
    return tuple(_formats.values())


def by_name(name: str) -> TableFormat:
    """The format of this name; a KeyError if there is none."""
    return _formats[name]


def codec_of(path: Any) -> str | None:
    """The compression that the name of a file says."""
    return _CODECS.get(path.suffix.lower())


def format_of(path: Any) -> TableFormat | None:
    """The format that the name of a file says.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville.tables import format_of
    >>> format_of(Path("flow.parquet")).name
    'parquet'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _CODECS:
        del suffixes[-1]
    found = [f for f in formats() if suffixes and suffixes[-1] in f.suffixes]
    return found[0] if found else None


def by_start(start: bytes) -> TableFormat | None:
    """The format, other than of text, whose contents begin like this."""
    found = [f for f in formats() if not f.text and f.magic and start.startswith(f.magic)]
    return found[0] if found else None


_TEXT, _ARROW = f"{_HERE}.csv", f"{_HERE}.arrow"
_JSON, _NUMPY = f"{_HERE}.json", f"{_HERE}.numpy"

for format in (
    TableFormat("csv", (".csv",), f"{_TEXT}:read", f"{_TEXT}:Writer", text=True),
    TableFormat("tsv", (".tsv", ".tab"), f"{_TEXT}:read_tsv", f"{_TEXT}:TsvWriter", text=True),
    TableFormat(
        "jsonl", (".jsonl", ".ndjson", ".json"), f"{_JSON}:read", f"{_JSON}:Writer", text=True
    ),
    TableFormat(
        *("parquet", (".parquet", ".pq"), f"{_ARROW}:read_parquet", f"{_ARROW}:ParquetWriter"),
        magic=(b"PAR1",),
    ),
    TableFormat(
        *("arrow", (".arrow", ".arrows", ".feather", ".ipc"), f"{_ARROW}:read", f"{_ARROW}:Writer"),
        magic=(b"ARROW1", b"\xff\xff\xff\xff"),
    ),
    TableFormat("npy", (".npy",), f"{_NUMPY}:read", magic=(b"\x93NUMPY",)),
    TableFormat("npz", (".npz",), f"{_NUMPY}:read", magic=(b"PK\x03\x04",)),
    TableFormat("excel", (".xlsx", ".xlsm"), f"{_HERE}.excel:read", magic=(b"PK\x03\x04",)),
    TableFormat(
        *("sqlite", (".sqlite", ".sqlite3"), f"{_HERE}.sqlite:read"),
        magic=(b"SQLite format 3\0",),
    ),
):
    register(format)
