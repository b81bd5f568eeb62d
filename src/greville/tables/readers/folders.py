"""Which files are meant: by their names, by folders, patterns and addresses; columns from folders.

The names of folders are columns where they are as in ``weather=fog/part.parquet``.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from urllib.parse import unquote

import pyarrow as pa

from ..batch import Batch, TableError, listed
from ..findings import Finding, distinct
from .formats import format_of
from .relation import Query, is_query
from .remote import RemoteSource, is_remote, remote_files
from .source import Source

# The folder of rows in which the column has no value.
_MISSING = "__HIVE_DEFAULT_PARTITION__"


def find_sources(names: Sequence[str]) -> list[Source]:
    """Find the sources that arguments name: files, folders, patterns, queries, or - for a pipe.

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
        elif is_query(name):
            sources.append(Query(name))
        else:
            sources += _sources(name)
    return sources


def _sources(name: str) -> list[Source]:
    """The files, queries and named pipes that a name stands for."""
    if is_remote(name):
        files = remote_files(name)
        if not files:
            text = f"{name}: there is no such file; pass a file, or a pattern such as {name}/*.csv."
            raise TableError(text)
        return [RemoteSource(file, partitions_of(PurePath(file.path))) for file in files]
    paths, depth = _local_paths(name)
    left_out: list[Path] = []
    if depth:  # what a folder has
        paths = [path for path in paths if not _is_hidden(path.parts[depth:])]
        tables = [path for path in paths if format_of(path) or path.suffix.lower() == ".zip"]
        left_out, paths = [path for path in paths if path not in tables], tables
    if not paths:
        what = "a folder without any table in it" if depth else "there is no such file"
        raise TableError(f"{name}: {what}; pass files, folders, patterns, or - for a pipe.")
    findings = []
    if left_out:
        inside = listed(["/".join(path.parts[depth:]) for path in left_out])
        text = f"{name}: {inside} in it: the names are not those of tables, they are not read"
        findings.append(Finding("files left out", f"{text}; to read them, name them."))
    stems: dict[str, Path] = {}
    for path in paths if depth else ():
        other = stems.setdefault(str(path).removesuffix("".join(path.suffixes)), path)
        if other != path:
            what = f"{other.name!r} and {path.name!r} may hold the same rows, and both are read"
            text = f"{name}: {what}; pass one of them."
            findings.append(Finding("files twice", text, warning=True))
    return [
        Query(path.read_text(encoding="utf8"))
        if path.suffix == ".sql"
        else Source(path, partitions_of(path), findings)
        for path in paths
    ]


def _local_paths(name: str) -> tuple[list[Path], int]:
    """Return the files of a name and, for a folder, the number of parts of the folder's path."""
    path = Path(name)
    try:
        if path.is_dir():
            return sorted(file for file in path.rglob("*") if file.is_file()), len(path.parts)
        return ([path] if path.exists() else sorted(map(Path, glob.glob(name, recursive=True)))), 0
    except OSError as error:
        raise TableError(f"{name}: it cannot be read ({error.strerror}).") from error


def _is_hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith((".", "_")) and "=" not in part for part in parts)


def partitions_of(path: PurePath) -> dict[str, str | None]:
    """The names and values that the folders of a path have; None is a missing value."""
    partitions: dict[str, str | None] = {}
    for part in path.parent.parts:
        name, sign, value = map(unquote, part.partition("="))
        if sign and name:
            partitions[name] = None if value in ("", _MISSING) else value
    return partitions


def with_partitions(
    batch: Batch, partitions: Mapping[str, str | None], needed: Sequence[str] | None
) -> Batch:
    """Add the values that folders name as columns to rows, if they are needed.

    A column that is in the file too stays as it is there.
    """
    table, findings = batch.table, list(batch.findings)
    for name, value in partitions.items():
        if name in table.schema.names or (needed is not None and name not in needed):
            continue
        table = table.append_column(name, pa.repeat(pa.scalar(value, pa.string()), len(batch)))
        text = f"column {name!r} is from the names of folders, such as {name}=..."
        text += "; all rows of a folder have its value."
        findings.append(Finding("folder column", text, name))
    return replace(batch, table=table, findings=distinct(findings))
