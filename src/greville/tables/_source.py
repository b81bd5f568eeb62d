"""Where the bytes of a table come from."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ._batch import TableError

_COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
    ".npz": "npz",
}


@dataclass(frozen=True)
class Reading:
    """How files are to be read, where they do not say it themselves."""

    format: str | None = None
    delimiter: str | None = None
    header: bool = True
    encoding: str = "utf8"


class Source:
    """One file, or standard input as ``-``."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.name = "standard input" if path is None else str(path)
        self.size = 0 if path is None else path.stat().st_size

    @contextmanager
    def open(self) -> Iterator[tuple[Any, Callable[[], float]]]:
        """The bytes, uncompressed, and a function that says how much of the file was read."""
        with ExitStack() as closing:
            if self.path is None:
                # Not Python's own: what a thread is waiting for there cannot be let go of.
                try:
                    raw: Any = closing.enter_context(open(os.dup(0), "rb"))
                except OSError as error:
                    raise TableError("standard input: it is closed.") from error
            else:
                raw = closing.enter_context(self.path.open("rb"))
            head = raw.peek(4)[:4]
            kind = next((k for magic, k in _MAGIC.items() if head.startswith(magic)), None)
            if kind is None and self.path is not None:
                kind = format_of(self.path)[1]  # and it is damaged
            stream = raw
            if kind is not None:
                stream = pa.CompressedInputStream(pa.PythonFile(raw, "r"), kind)
            size = self.size if raw.seekable() else 0
            yield stream, lambda: min(1.0, raw.tell() / size) if size else 0.0

    def format(self, reading: Reading) -> str | None:
        if reading.format is not None:
            return reading.format
        return None if self.path is None else format_of(self.path)[0]


def format_of(path: Path) -> tuple[str | None, str | None]:
    """The format and the compression that the name of a file says."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    codec = _COMPRESSED.get(suffixes.pop()) if suffixes and suffixes[-1] in _COMPRESSED else None
    return _FORMATS.get(suffixes[-1]) if suffixes else None, codec


def is_known(path: Path) -> bool:
    """Whether a file in a folder is one to read."""
    return format_of(path)[0] is not None and not path.name.startswith((".", "_"))


def check_names(source: Source, names: Sequence[str]) -> None:
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise TableError(
            f"{source.name}: several columns are called {name!r}; give each a name of its own."
        )
