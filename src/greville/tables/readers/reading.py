"""Files, folders, patterns and pipes as one sequence of batches."""

from __future__ import annotations

import glob
import lzma
import zipfile
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from ..batch import Batch, TableError, Troubles, listed
from ..findings import Finding
from ._partitions import partitions_of, with_partitions
from .query import Query, filtered, is_query
from .recognition import recognised, text_batches
from .registry import by_path
from .remote import RemoteSource, is_remote, remote_sources
from .source import Reading, ReadRequest, Source, Stopped, Unreadable, with_findings


def find_sources(names: Sequence[str]) -> list[Source]:
    """What the arguments of a command name: files, folders, patterns, queries, or - for a pipe.

    A query is a SELECT of SQL, or a file of one whose name ends in ``.sql``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import find_sources
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> len(find_sources([str(path)]))
    1
    """
    sources: list[Source] = []
    for name in names:
        if name == "-":
            sources.append(Source(None))
            continue
        if is_remote(name):
            sources += _remote(name)
            continue
        if is_query(name):
            sources.append(Query(name))
            continue
        path, findings = Path(name), []
        try:
            if path.is_dir():
                found, left_out = _tables_in(path)
                findings = _findings_in(path, found, left_out)
            elif path.exists():
                found = [path]
            else:
                found = sorted(map(Path, glob.glob(name, recursive=True)))
        except OSError as error:
            raise TableError(f"{name}: it cannot be read ({error.strerror}).") from error
        if not found:
            what = "a folder without any table in it" if path.is_dir() else "there is no such file"
            raise TableError(f"{name}: {what}; pass files, folders, patterns, or - for a pipe.")
        sources += [
            Query(file.read_text(encoding="utf8"))
            if file.suffix == ".sql"
            else Source(file, partitions_of(file), findings)
            for file in found
        ]
    return sources


def _remote(name: str) -> list[Source]:
    """The files at an address, in a folder there, or those that a pattern of addresses names."""
    found = remote_sources(name)
    hidden = [
        address for address, inside in found if inside and address.name.startswith((".", "_"))
    ]
    used = [
        address
        for address, inside in found
        if address not in hidden and (not inside or by_path(address)[0] is not None)
    ]
    if not used:
        raise TableError(f"{name}: there is no such file, and no table in a folder of this name.")
    left_out = [str(a) for a, _ in found if a not in used and a not in hidden]
    findings = []
    if left_out:
        text = f"{name}: {listed(left_out)}: the names are not those of tables, they are not read"
        findings.append(Finding("files left out", f"{text}; to read them, name them."))
    return [RemoteSource(address, partitions_of(address), findings) for address in used]


def _tables_in(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files in a folder that are to be read, and those that are not, without hidden ones."""
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if not any(
            part.startswith((".", "_")) and "=" not in part
            for part in file.relative_to(folder).parts
        )
        and file.is_file()
    ]
    tables = [file for file in files if by_path(file)[0] is not None]
    return tables, [file for file in files if by_path(file)[0] is None]


def _findings_in(folder: Path, found: list[Path], left_out: list[Path]) -> list[Finding]:
    """What there is to say about the files of a folder."""
    findings = []
    if left_out:
        names = listed([str(file.relative_to(folder)) for file in left_out])
        text = f"{folder}: {names} in it: the names are not those of tables, they are not read"
        findings.append(Finding("files left out", f"{text}; to read them, name them."))
    first: dict[str, Path] = {}
    for file in found:
        stem = str(file).removesuffix("".join(file.suffixes))
        if stem in first and file.suffixes != first[stem].suffixes:
            names = f"{first[stem].name!r} and {file.name!r}"
            text = f"{folder}: {names} may hold the same rows, and both are read; pass one of them."
            findings.append(Finding("files twice", text, warning=True))
        first.setdefault(stem, file)
    return findings


def read(
    sources: Sequence[Source],
    reading: Reading,
    troubles: Troubles,
    columns: Sequence[str] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Generator[Batch, None, None]:
    """All batches of all sources, in order.

    Raises `Stopped` as soon as `stopped` says so. Close it when no more are wanted.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import Reading, Troubles, find_sources, read
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> batches = list(read(find_sources([str(path)]), Reading(), Troubles()))
    >>> batches[0].table.num_rows
    16384
    """
    names: list[str] | None = None
    for source in sources:
        empty = True
        needed = None if reading.where else columns  # the condition may need others
        request = ReadRequest(source, reading, troubles.skip, needed, stopped)
        batches: Iterator[Batch] = (
            with_partitions(each, source.partitions, needed) for each in _rows_of(request)
        )
        if reading.where:
            batches = filtered(batches, reading.where)
        for batch in batches:
            if stopped():
                raise Stopped
            if empty and not batch.sparse:
                names, finding = _new_names(batch, names)
                yield (
                    batch
                    if finding is None
                    else replace(batch, findings=(*batch.findings, finding))
                )
            else:
                yield batch
            empty = False
        if empty and reading.where:
            what = f"where={reading.where!r}: no row of {source.name} is like that."
            raise TableError(what, argument="where")
        if empty:
            raise TableError(f"{source.name}: it has no rows; there is nothing to read.")


def _new_names(batch: Batch, names: list[str] | None) -> tuple[list[str], Finding | None]:
    """The names of the first source, and which others the source of a batch has."""
    present = batch.table.schema.names
    return names or present, new_columns(batch.source, present, names or present)


def new_columns(source: str, present: Sequence[str], names: Sequence[str]) -> Finding | None:
    """Findings about columns that a source has, but the first source has not."""
    new = [name for name in present if name not in names]
    if not new:
        return None
    what = f"column {new[0]!r}" if len(new) == 1 else f"columns {listed(new)}"
    message = (
        f"{source} has the {what}, which the first file does not have; only columns of all files "
        "can be learned from."
    )
    return Finding("new columns", message, new[0], warning=True)


def _rows_of(request: ReadRequest) -> Iterator[Batch]:
    """The batches of one source, whose errors say what is wrong with it."""
    source = request.source
    if isinstance(source, Query):
        yield from source.batches(request)
        return
    try:
        format, findings = recognised(source, request.reading)
        if format is not None and source.path is None and not format.from_pipe:
            raise TableError(
                f"{source.name}: {format.name} cannot be read from a pipe; write it to a file "
                "first."
            )
        if source.remote and format is not None and not (format.text or format.remote):
            raise TableError(
                f"{source.name}: {format.name} cannot be read from an address; copy it to this "
                "machine first."
            )
        findings = (*source.findings, *findings)
        if format is None or format.text:
            yield from with_findings(text_batches(request, format), findings)
        else:
            yield from with_findings(format.batches(request), findings)
    except TableError:
        raise
    except FileNotFoundError as error:
        raise TableError(f"{source.name}: there is no such file.") from error
    except PermissionError as error:
        raise TableError(
            f"{source.name}: no permission to read it; check its permissions."
        ) from error
    except (
        *(pa.ArrowException, OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile, Unreadable),
    ) as error:
        raise _unreadable(source, error) from error


def _unreadable(source: Source, error: Exception) -> TableError:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    compressed = source.path is None or by_path(source.path)[1] is not None
    if compressed and any(
        word in text.lower()
        for word in ("truncated", "zlib", "zstd", "bz2", "inflate", "end-of-stream", "lzma")
    ):
        return TableError(
            f"{source.name}: the compressed data are damaged or cut off ({text}); get the file "
            "again."
        )
    return TableError(
        f"{source.name}: it cannot be read ({text}); is it complete, and in the format of its name?"
    )
