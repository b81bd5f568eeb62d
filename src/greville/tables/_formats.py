"""Readers: a function for each format that yields Arrow record batches in constant memory.

Each gets a `Source` and yields record batches, the numbers of their rows from 1, and the share of
the source that was read.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ._batch import ADVICE, TableError, Troubles

# Bytes of text that are parsed at a time, and rows of what has rows.
_BLOCK = 1 << 22
_ROWS = 1 << 14

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
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
    ".npz": "npz",
}
# What stands for nothing in a CSV.
_NOTHING = [
    "",
    "NA",
    "N/A",
    "#N/A",
    "n/a",
    "NaN",
    "nan",
    "-nan",
    "NULL",
    "null",
    "None",
    "none",
    "?",
]

Piece = tuple[Any, NDArray[np.int64], float]


@dataclass(frozen=True)
class Reading:
    """How files are to be read, where they do not say it themselves."""

    format: str | None = None
    delimiter: str | None = None
    header: bool = True
    encoding: str = "utf8"


class Source:
    """One file, or standard input as ``-``."""

    def __init__(self, path: Path | None, stdin: IO[bytes] | None = None) -> None:
        self.path = path
        self.name = "standard input" if path is None else str(path)
        self.size = 0 if path is None else path.stat().st_size
        self._stdin = stdin

    @contextmanager
    def open(self) -> Iterator[tuple[Any, Callable[[], float]]]:
        """The bytes, uncompressed, and a function that says how much of the file was read."""
        size = max(self.size, 1)
        with ExitStack() as closing:
            if self.path is None:
                assert self._stdin is not None
                raw: Any = self._stdin
                head = raw.peek(4)[:4]
                kind = next((k for magic, k in _MAGIC.items() if head.startswith(magic)), None)
            else:
                raw = closing.enter_context(self.path.open("rb"))
                kind = _COMPRESSED.get(self.path.suffix.lower())
            stream = (
                raw if kind is None else pa.CompressedInputStream(pa.PythonFile(raw, "r"), kind)
            )
            yield stream, lambda: 0.0 if self.path is None else min(1.0, raw.tell() / size)

    def format(self, reading: Reading) -> str | None:
        if reading.format is not None:
            return reading.format
        suffixes = [s.lower() for s in self.path.suffixes] if self.path is not None else []
        if suffixes and suffixes[-1] in _COMPRESSED:
            suffixes.pop()
        return _FORMATS.get(suffixes[-1]) if suffixes else None


def is_known(path: Path) -> bool:
    """Whether a file in a folder is one to read."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return bool(suffixes) and suffixes[-1] in _FORMATS and not path.name.startswith((".", "_"))


def read_source(
    source: Source, reading: Reading, troubles: Troubles, columns: Sequence[str] | None
) -> Iterator[Piece]:
    """The batches of one source; only these columns, where that saves work."""
    kind = source.format(reading)
    try:
        if kind in ("parquet", "arrow", "npy", "npz") and source.path is None and kind != "arrow":
            raise TableError(
                f"{source.name}: {kind} cannot be read from a pipe; write it to a file first."
            )
        if kind == "parquet":
            yield from _parquet(source, columns)
        elif kind == "arrow":
            yield from _arrow(source)
        elif kind in ("npy", "npz"):
            yield from _numpy(source, kind)
        else:
            yield from _text(source, reading, troubles, kind)
    except TableError:
        raise
    except FileNotFoundError as error:
        raise TableError(f"{source.name}: there is no such file.") from error
    except PermissionError as error:
        raise TableError(f"{source.name}: it may not be read; look at its permissions.") from error
    except (pa.ArrowInvalid, pa.ArrowException, OSError, EOFError, zipfile.BadZipFile) as error:
        raise TableError(f"{source.name}: {_meaning(error, source)}") from error


def _meaning(error: Exception, source: Source) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    compressed = source.path is None or source.path.suffix.lower() in _COMPRESSED
    if compressed and any(
        word in text.lower() for word in ("truncated", "zlib", "zstd", "bz2", "inflate")
    ):
        return f"the compressed data are damaged or cut off ({text}); get the file again."
    if "UTF8" in text:
        return "it is not in UTF-8; pass its encoding, for instance --encoding latin-1."
    if "straddl" in text:
        return "a row is longer than 4 MB; is this the right format or delimiter?"
    return f"it cannot be read ({text}); is it whole, and what its name says?"


# Text


class _PutBack(io.RawIOBase):
    """A stream whose first bytes were read already."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head:
            some, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        else:
            some = self._rest.read(len(buffer))
        buffer[: len(some)] = some
        return len(some)


def _text(
    source: Source, reading: Reading, troubles: Troubles, kind: str | None
) -> Iterator[Piece]:
    with source.open() as (stream, done):
        head = stream.read(1 << 16)
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if not start:
            raise TableError(f"{source.name}: it is empty; there is nothing to read.")
        if kind is None:
            if start.startswith(b"ARROW1") or start.startswith(b"PAR1"):
                raise TableError(
                    f"{source.name}: it looks like Arrow or Parquet; pass --format arrow or "
                    "--format parquet."
                )
            kind = "jsonl" if start[:1] in b"{[" else "csv"
        if kind == "jsonl":
            if start.startswith(b"["):
                raise TableError(
                    f"{source.name}: it is one JSON list; one object a line is wanted, which "
                    "jq -c '.[]' makes of it."
                )
            yield from _json_lines(
                source, head.removeprefix(b"\xef\xbb\xbf"), stream, troubles, done
            )
        else:
            delimiter = reading.delimiter or ("\t" if kind == "tsv" else _delimiter(start))
            whole = io.BufferedReader(_PutBack(head, stream))
            yield from _csv(source, whole, delimiter, reading, troubles, done)


def _delimiter(start: bytes) -> str:
    """The candidate that stands most often in the first line."""
    line = start.splitlines()[0]
    return max(",\t;|", key=lambda mark: line.count(mark.encode()))


def _csv(
    source: Source,
    stream: Any,
    delimiter: str,
    reading: Reading,
    troubles: Troubles,
    done: Callable[[], float],
) -> Iterator[Piece]:
    """Everything as text, which costs no more: what a column is, the model says."""
    from pyarrow import csv

    skipped: list[int] = []
    refused: list[str] = []

    def invalid(row: Any) -> str:
        number = row.number - int(reading.header)
        what = f"row {number:,} has {row.actual_columns} fields instead of {row.expected_columns}"
        if not troubles.skip:
            refused.append(what)
            return "error"
        troubles.meet(f"{source.name}, {what}")
        skipped.append(number)
        return "skip"

    try:
        reader = csv.open_csv(
            pa.PythonFile(stream, "r"),
            read_options=csv.ReadOptions(
                block_size=_BLOCK,
                use_threads=False,  # so that rows are numbered
                encoding=reading.encoding,
                autogenerate_column_names=not reading.header,
            ),
            parse_options=csv.ParseOptions(
                delimiter=delimiter, invalid_row_handler=invalid, newlines_in_values=True
            ),
            convert_options=csv.ConvertOptions(
                default_column_type=pa.string(), strings_can_be_null=True, null_values=_NOTHING
            ),
        )
        names = [name.strip() for name in reader.schema.names]
        if not reading.header:
            names = [name.removeprefix("f") for name in names]
        _check_names(source, names)
        number, at = 0, 0
        for batch in reader:
            numbers = np.arange(number + 1, number + 1 + batch.num_rows, dtype=np.int64)
            while at < len(skipped) and len(numbers) and skipped[at] <= numbers[-1]:
                numbers[numbers >= skipped[at]] += 1
                at += 1
            number = int(numbers[-1]) if len(numbers) else number
            if batch.num_rows:
                yield pa.RecordBatch.from_arrays(batch.columns, names=names), numbers, done()
    except pa.ArrowInvalid as error:
        if refused:
            raise TableError(f"{source.name}, {refused[0]}; {ADVICE}") from error
        raise


def _json_lines(
    source: Source, head: bytes, stream: Any, troubles: Troubles, done: Callable[[], float]
) -> Iterator[Piece]:
    number, rest, more = 0, head, True
    while more:
        block = stream.read(_BLOCK)
        more = bool(block)
        rest += block
        whole, _, rest = rest.rpartition(b"\n") if more else (rest, b"", b"")
        if not whole.strip():
            number += whole.count(b"\n") + bool(more and whole)
            continue
        lines = whole.split(b"\n")
        numbers = (
            number + 1 + np.array([i for i, line in enumerate(lines) if line.strip()], np.int64)
        )
        number += len(lines)
        batch = _parsed_at_once(whole, len(numbers))
        if batch is None:
            batch, numbers = _parsed_one_by_one(source, lines, number - len(lines), troubles)
        if batch is not None and batch.num_rows:
            _check_names(source, batch.schema.names)
            yield batch, numbers, done()


def _parsed_at_once(block: bytes, n_rows: int) -> Any:
    from pyarrow import json as arrow_json

    try:
        table = arrow_json.read_json(
            pa.BufferReader(block),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        )
    except (pa.ArrowInvalid, pa.ArrowException):
        return None
    return table.combine_chunks().to_batches()[0] if table.num_rows == n_rows else None


def _parsed_one_by_one(
    source: Source, lines: list[bytes], before: int, troubles: Troubles
) -> tuple[Any, NDArray[np.int64]]:
    rows, numbers = [], []
    for i, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            troubles.meet(f"{source.name}, row {before + i + 1:,}: it is not JSON ({error})")
            continue
        if not isinstance(row, dict):
            troubles.meet(f"{source.name}, row {before + i + 1:,}: it is not a JSON object")
            continue
        rows.append(row)
        numbers.append(before + i + 1)
    return from_rows(rows), np.array(numbers, np.int64)


def from_rows(rows: Sequence[dict[str, Any]]) -> Any:
    """Rows as a record batch; a column whose values do not go together becomes text."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: array_of([row.get(name) for row in rows]) for name in names}
    return record_batch(columns) if columns else None


def record_batch(columns: dict[str, Any]) -> Any:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def array_of(values: list[Any]) -> Any:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([_as_text(value) for value in values], pa.string())


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


# Tables


def _parquet(source: Source, columns: Sequence[str] | None) -> Iterator[Piece]:
    from pyarrow import parquet

    assert source.path is not None
    with parquet.ParquetFile(source.path, memory_map=False, pre_buffer=False) as file:
        names = file.schema_arrow.names
        _check_names(source, names)
        wanted = None if columns is None else [name for name in names if name in set(columns)]
        n = max(file.metadata.num_rows, 1)
        yield from _numbered(file.iter_batches(batch_size=_ROWS, columns=wanted), n)


def _arrow(source: Source) -> Iterator[Piece]:
    with source.open() as (stream, done):
        if source.path is not None and stream.read(6) == b"ARROW1":
            with pa.memory_map(str(source.path)) as file:
                reader = pa.ipc.open_file(file)
                count = reader.num_record_batches
                _check_names(source, reader.schema.names)
                batches = ((reader.get_batch(i), (i + 1) / count) for i in range(count))
                yield from _sliced(batches)
        else:
            if source.path is not None:
                stream.seek(0)
            reader = pa.ipc.open_stream(pa.PythonFile(stream, "r"))
            _check_names(source, reader.schema.names)
            yield from _sliced((batch, done()) for batch in reader)


def _sliced(batches: Iterator[tuple[Any, float]]) -> Iterator[Piece]:
    """Batches of at most so many rows; a file may be all one."""
    number = 0
    for batch, done in batches:
        for start in range(0, batch.num_rows, _ROWS):
            piece = batch.slice(start, _ROWS)
            numbers = np.arange(number + 1, number + 1 + piece.num_rows, dtype=np.int64)
            number += piece.num_rows
            yield piece, numbers, done


def _numbered(batches: Iterator[Any], n_rows: int) -> Iterator[Piece]:
    number = 0
    for batch in batches:
        numbers = np.arange(number + 1, number + 1 + batch.num_rows, dtype=np.int64)
        number += batch.num_rows
        if batch.num_rows:
            yield batch, numbers, number / n_rows


def _numpy(source: Source, kind: str) -> Iterator[Piece]:
    with ExitStack() as closing:
        try:
            arrays = _arrays(source, kind, closing)
        except ValueError as error:
            raise TableError(
                f"{source.name}: it cannot be read ({error}); numbers and text are, "
                "objects are not."
            ) from error
        lengths = {array.n for array in arrays.values()}
        if len(lengths) != 1:
            raise TableError(f"{source.name}: its arrays do not have the same number of rows.")
        n = lengths.pop()

        def batches() -> Iterator[Any]:
            for start in range(0, n, _ROWS):
                columns: dict[str, Any] = {}
                for name, array in arrays.items():
                    columns |= _columns_of(name, array.read(min(_ROWS, n - start)), source)
                yield record_batch(columns)

        yield from _numbered(batches(), max(n, 1))


def _arrays(source: Source, kind: str, closing: ExitStack) -> dict[str, _ArrayRows]:
    assert source.path is not None
    if kind == "npy":
        return {"": _ArrayRows(closing.enter_context(source.path.open("rb")))}
    archive = closing.enter_context(zipfile.ZipFile(source.path))
    return {
        name.removesuffix(".npy"): _ArrayRows(closing.enter_context(archive.open(name)))
        for name in archive.namelist()
    }


class _ArrayRows:
    """An array in a file, a few rows at a time."""

    def __init__(self, file: Any) -> None:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        shape, in_columns, self._dtype = read(file)
        if self._dtype.hasobject:
            raise ValueError("it holds objects")
        if not shape:
            raise ValueError("an array in it is a single number")
        self.n, self._rest = shape[0], shape[1:]
        self._row = self._dtype.itemsize * int(np.prod(self._rest, dtype=np.int64))
        self._file = file
        if in_columns and len(shape) > 1:  # a row of it lies all over the file
            whole = self._bytes(self.n * self._row).reshape(shape[::-1]).T
            self._file = io.BytesIO(np.ascontiguousarray(whole).tobytes())

    def read(self, n: int) -> NDArray[Any]:
        return self._bytes(n * self._row).reshape(n, *self._rest)

    def _bytes(self, size: int) -> NDArray[Any]:
        content = self._file.read(size)
        if len(content) < size:
            raise EOFError("it ends before its last row")
        return np.frombuffer(content, self._dtype)


def _columns_of(name: str, array: Any, source: Source) -> dict[str, Any]:
    """The columns of an array: 0, 1, 2, ... in an .npy, one column of its name in an .npz."""
    if array.dtype.names:
        return {field: pa.array(np.ascontiguousarray(array[field])) for field in array.dtype.names}
    if array.ndim == 1:
        return {name or "0": pa.array(np.ascontiguousarray(array))}
    rows = array.reshape(len(array), -1)
    if name == "":
        return {str(i): pa.array(np.ascontiguousarray(rows[:, i])) for i in range(rows.shape[1])}
    if rows.dtype.kind not in "fiub":
        raise TableError(
            f"{source.name}: {name!r} has text in several columns; give each its own name."
        )
    flat = pa.array(np.ascontiguousarray(rows, dtype=np.float64).ravel())
    return {name: pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])}


def _check_names(source: Source, names: Sequence[str]) -> None:
    twice = {name for name in names if list(names).count(name) > 1}
    if twice:
        raise TableError(
            f"{source.name}: several columns are called {sorted(twice)[0]!r}; give each a name of "
            "its own."
        )
