"""Whether tables are read as they were: every column whose kind or values differ.

``python -m benchmarks.readers OLD FILE ...`` reads each file with the code in OLD/src and
with that of this folder, and prints what differs; a folder stands for all files in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# What is said of a column beside its values.
_FACTS = ("use", "what", "least", "most", "missing", "different")


def main(old: str, *names: str) -> None:
    files = [str(file) for name in names for file in _files(Path(name))]
    here = Path(__file__).parents[1]
    before, after = (_described(Path(folder), files) for folder in (old, here))
    n_columns = n_same = 0
    for file in files:
        one, other = before[file], after[file]
        for column in dict.fromkeys([*one, *other]):
            n_columns += 1
            facts = one.get(column, {}), other.get(column, {})
            n_same += facts[0] == facts[1]
            if not (facts[0] and facts[1]):
                there, what = ("gone", facts[0]) if facts[0] else ("new", facts[1])
                print(f"{file}: {column!r}: {there}: {what}")
                continue
            for fact in dict.fromkeys([*facts[0], *facts[1]]):
                values = [each.get(fact) for each in facts]
                if values[0] != values[1]:
                    print(f"{file}: {column!r}: {fact}\n    was {values[0]}\n    is  {values[1]}")
    print(f"{len(files)} files, {n_columns} columns, of which {n_same} are the same.")


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(p for p in path.rglob("*") if p.is_file() and p.name[0] not in "._")
    else:
        yield path


def _described(folder: Path, files: list[str]) -> dict[str, Any]:
    """What the code in a folder reads in each file."""
    command = [sys.executable, str(Path(__file__).resolve()), "--describe"]
    done = subprocess.run(
        command,
        input=json.dumps(files),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(folder.resolve() / "src")},
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def describe() -> None:
    """Print what each of the files on standard input has in its columns."""
    files = json.load(sys.stdin)
    with contextlib.redirect_stderr(io.StringIO()):
        found = {file: {**_values(file), **_checked(file)} for file in files}
    print(json.dumps(found))


def _values(file: str) -> dict[str, dict[str, Any]]:
    """The rows of a file, and a digest of each column as text; or why it cannot be read."""
    from greville import tables

    errors = getattr(tables, "RowErrors", None) or tables.Troubles
    digests: dict[str, Any] = {}
    ends: list[str] = []
    try:
        for batch in tables.read(tables.find_sources([file]), tables.Reading(), errors()):
            ends = [*ends[:1], batch.where(0), batch.where(len(batch) - 1)]
            for name in batch.table.schema.names:
                digest = digests.setdefault(name, hashlib.sha256())
                for value in batch.table.column(name).to_pylist():
                    digest.update(f"{value!r}\n".encode())
    except tables.TableError as error:
        return {"the rows": {"error": str(error)}}
    values = {name: {"values": digest.hexdigest()[:12]} for name, digest in digests.items()}
    return {"the rows": {"first and last": f"{ends[0]} to {ends[-1]}"}, **values}


def _checked(file: str) -> dict[str, dict[str, Any]]:
    """What ``greville check`` says of each column."""
    from greville.cli import main as command

    sys.argv = ["greville", "check", file, "--json"]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        command()
    if not out.getvalue():
        return {}
    values = _values(file)
    return {
        each["name"]: {**values.get(each["name"], {}), **{fact: each[fact] for fact in _FACTS}}
        for each in json.loads(out.getvalue())["columns"]
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["--describe"]:
        describe()
    else:
        main(*sys.argv[1:])
