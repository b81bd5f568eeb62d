"""Readers: a function for each format that yields batches of rows in constant memory."""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ._batch import ADVICE, Batch, TableError
from ._columns import text_of

# Bytes of text that are parsed at a time, and rows of what has rows.
_BLOCK = 1 << 22
_ROWS = 1 << 14
_LONGEST_LINE = 1 << 26

_COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
_BINARY = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
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


def read_source(
    source: Source, reading: Reading, skip: bool, columns: Sequence[str] | None
) -> Iterator[Batch]:
    """The batches of one source; only these columns, where that saves work."""
    kind = source.format(reading)
    try:
        if kind in ("parquet", "npy", "npz") and source.path is None:
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
            yield from _text(source, reading, skip, kind)
    except TableError:
        raise
    except FileNotFoundError as error:
        raise TableError(f"{source.name}: there is no such file.") from error
    except PermissionError as error:
        raise TableError(f"{source.name}: it may not be read; look at its permissions.") from error
    except UnicodeError as error:
        raise TableError(f"{source.name}: it is not in {reading.encoding} ({error}).") from error
    except (pa.ArrowException, OSError, EOFError, zipfile.BadZipFile) as error:
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


def _text(source: Source, reading: Reading, skip: bool, kind: str | None) -> Iterator[Batch]:
    with source.open() as (stream, done):
        head = stream.read(1 << 16)
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if not start:
            raise TableError(f"{source.name}: it is empty; there is nothing to read.")
        for magic, format in _BINARY.items():
            if start.startswith(magic):
                raise TableError(f"{source.name}: it looks like {format}; pass --format {format}.")
        if start.startswith((b"\xff\xfe", b"\xfe\xff")) and reading.encoding == "utf8":
            raise TableError(f"{source.name}: it is in UTF-16; pass --encoding utf-16.")
        if kind is None:
            kind = "jsonl" if start[:1] in b"{[" else "csv"
        if kind == "jsonl":
            if start.startswith(b"["):
                raise TableError(
                    f"{source.name}: it is one JSON list; one object a line is wanted, which "
                    "jq -c '.[]' makes of it."
                )
            yield from _json_lines(source, head.removeprefix(b"\xef\xbb\xbf"), stream, skip, done)
        else:
            delimiter = reading.delimiter or ("\t" if kind == "tsv" else _delimiter(start))
            whole = io.BufferedReader(_PutBack(head, stream))
            yield from _csv(
                source, whole, _names(start, delimiter, reading), delimiter, reading, skip, done
            )


def _delimiter(start: bytes) -> str:
    """The candidate that stands most often in the first line."""
    line = start.splitlines()[0]
    return max(",\t;|", key=lambda mark: line.count(mark.encode()))


def _names(start: bytes, delimiter: str, reading: Reading) -> list[str]:
    """What Arrow will call the columns."""
    text = start.decode(reading.encoding, "replace")
    first: list[str] = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    return first if reading.header else [f"f{i}" for i in range(len(first))]


def _csv(
    source: Source,
    stream: Any,
    fields: Sequence[str],
    delimiter: str,
    reading: Reading,
    skip: bool,
    done: Callable[[], float],
) -> Iterator[Batch]:
    """Everything as text, which costs no more: what a column is, the model says."""
    from pyarrow import csv as arrow_csv

    skipped: list[tuple[int, str]] = []
    refused: list[str] = []

    def invalid(row: Any) -> str:
        number = row.number - int(reading.header)
        what = f"row {number:,} has {row.actual_columns} fields instead of {row.expected_columns}"
        if not skip:
            refused.append(what)
            return "error"
        skipped.append((number, f"{source.name}, {what}"))
        return "skip"

    try:
        reader = arrow_csv.open_csv(
            pa.PythonFile(stream, "r"),
            read_options=arrow_csv.ReadOptions(
                block_size=_BLOCK,
                use_threads=False,  # so that rows are numbered
                encoding=reading.encoding,
                autogenerate_column_names=not reading.header,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, invalid_row_handler=invalid, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(fields, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
        names = [name.strip() for name in reader.schema.names]
        if not reading.header:
            names = [name.removeprefix("f") for name in names]
        _check_names(source, names)
        number, held = 0, None
        for table in reader:
            numbers = np.arange(number + 1, number + 1 + table.num_rows, dtype=np.int64)
            for bad, _ in skipped:
                numbers[numbers >= bad] += 1 if bad > number else 0
            if not table.num_rows:
                continue
            number = int(numbers[-1])
            before = tuple(each for each in skipped if each[0] < number)
            del skipped[: len(before)]
            if held is not None:
                yield held
            renamed = pa.RecordBatch.from_arrays(table.columns, names=names)
            held = Batch(renamed, source.name, numbers, done(), skipped=before)
        if held is not None:  # and what was left out after the last row
            yield replace(held, skipped=(*held.skipped, *skipped))
    except pa.ArrowInvalid as error:
        if refused:
            raise TableError(f"{source.name}, {refused[0]}; {ADVICE}") from error
        raise


def _json_lines(
    source: Source, head: bytes, stream: Any, skip: bool, done: Callable[[], float]
) -> Iterator[Batch]:
    number, rest, more = 0, head, True
    texts: dict[str, Any] = {}  # columns that Arrow would take for dates
    order: dict[str, None] = {}
    while more:
        block = stream.read(_BLOCK)
        more = bool(block)
        rest += block
        whole, _, rest = rest.rpartition(b"\n") if more else (rest, b"", b"")
        if len(rest) > _LONGEST_LINE:
            raise TableError(f"{source.name}, row {number + 1:,}: it is longer than 64 MB.")
        if not whole.strip():
            number += whole.count(b"\n") + bool(more and whole)
            continue
        lines = whole.split(b"\n")
        rows = [i for i, line in enumerate(lines) if line.strip()]
        numbers = number + 1 + np.array(rows, np.int64)
        skipped: list[tuple[int, str]] = []
        number += len(lines)
        table = _parsed_at_once(whole, len(numbers), texts, order)
        if table is None:
            before = number - len(lines)
            table, numbers, skipped = _parsed_one_by_one(source, lines, before, skip)
        if table is not None and table.num_rows:
            _check_names(source, table.schema.names)
            yield Batch(table, source.name, numbers, done(), sparse=True, skipped=tuple(skipped))


def _parsed_at_once(
    block: bytes, n_rows: int, texts: dict[str, Any], order: dict[str, None]
) -> Any:
    from pyarrow import json as arrow_json

    read = arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    for _ in range(2):
        schema = pa.schema(list(texts.items())) if texts else None
        parse = arrow_json.ParseOptions(explicit_schema=schema)
        try:
            table = arrow_json.read_json(pa.BufferReader(block), read, parse)
        except pa.ArrowException:
            return None
        if not texts:
            order |= dict.fromkeys(table.schema.names)
        dates = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
        if not dates:
            break
        texts |= dict.fromkeys(dates, pa.string())  # once more, and from now on, as they came
    if table.num_rows != n_rows:
        return None
    # What is in the schema and in no line of this block is not there.
    order |= dict.fromkeys(table.schema.names)
    known = set(table.schema.names)
    there = [n for n in order if n in known and table.column(n).null_count < n_rows]
    return table.select(there).combine_chunks().to_batches()[0] if there else None


def _parsed_one_by_one(
    source: Source, lines: list[bytes], before: int, skip: bool
) -> tuple[Any, NDArray[np.int64], list[tuple[int, str]]]:
    rows, numbers, skipped = [], [], []
    for number, line in enumerate(lines, before + 1):
        if not line.strip():
            continue
        row = parsed_line(line)
        if isinstance(row, dict):
            rows.append(row)
            numbers.append(number)
        elif skip:
            skipped.append((number, f"{source.name}, row {number:,}: {row}"))
        else:
            raise TableError(f"{source.name}, row {number:,}: {row}; {ADVICE}")
    return from_rows(rows), np.array(numbers, np.int64), skipped


def parsed_line(line: bytes) -> dict[str, Any] | str:
    """A line of JSON as a row, or what is wrong with it."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"it is not JSON ({error})"
    return row if isinstance(row, dict) else "it is not a JSON object"


def from_rows(rows: Sequence[dict[str, Any]]) -> Any:
    """Rows as a record batch; a column whose values do not go together becomes text."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: array_of([row.get(name) for row in rows]) for name in names}
    return record_batch(columns) if columns else None


def record_batch(columns: dict[str, Any]) -> Any:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def array_of(values: list[Any]) -> Any:
    """JSON values as a column; as text if they are not of one kind."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError):
        return pa.array([text_of(value) for value in values], pa.string())


# Tables


def _parquet(source: Source, columns: Sequence[str] | None) -> Iterator[Batch]:
    from pyarrow import parquet

    assert source.path is not None
    with parquet.ParquetFile(source.path, memory_map=False, pre_buffer=False) as file:
        names = file.schema_arrow.names
        _check_names(source, names)
        asked = None if columns is None else set(columns)
        wanted = None if asked is None else [name for name in names if name in asked]
        n = max(file.metadata.num_rows, 1)
        yield from _numbered(source, file.iter_batches(batch_size=_ROWS, columns=wanted), n)


def _arrow(source: Source) -> Iterator[Batch]:
    with source.open() as (stream, done):
        if source.path is not None and stream.read(6) == b"ARROW1":
            with pa.memory_map(str(source.path)) as file:
                reader = pa.ipc.open_file(file)
                count = reader.num_record_batches
                _check_names(source, reader.schema.names)
                batches = ((reader.get_batch(i), (i + 1) / count) for i in range(count))
                yield from _sliced(source, batches)
        else:
            if source.path is not None:
                stream.seek(0)
            reader = pa.ipc.open_stream(pa.PythonFile(stream, "r"))
            _check_names(source, reader.schema.names)
            yield from _sliced(source, ((batch, done()) for batch in reader))


def _sliced(source: Source, batches: Iterator[tuple[Any, float]]) -> Iterator[Batch]:
    """Batches of at most so many rows; a file may be all one."""
    number = 0
    for batch, done in batches:
        for start in range(0, batch.num_rows, _ROWS):
            piece = batch.slice(start, _ROWS)
            numbers = np.arange(number + 1, number + 1 + piece.num_rows, dtype=np.int64)
            number += piece.num_rows
            yield Batch(piece, source.name, numbers, done)


def _numbered(source: Source, tables: Iterator[Any], n_rows: int) -> Iterator[Batch]:
    number = 0
    for table in tables:
        numbers = np.arange(number + 1, number + 1 + table.num_rows, dtype=np.int64)
        number += table.num_rows
        if table.num_rows:
            yield Batch(table, source.name, numbers, number / n_rows)


def _numpy(source: Source, kind: str) -> Iterator[Batch]:
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

        yield from _numbered(source, batches(), max(n, 1))


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
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise TableError(
            f"{source.name}: several columns are called {name!r}; give each a name of its own."
        )
