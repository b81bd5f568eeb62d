"""Tables in JSON lines, compressed files and folders: how the command reads each of them."""

import gzip
import json
import zipfile
from pathlib import Path

from .cases import case
from .printed import printed
from .tables import TARGET, TEXTS, WAVE, N, column, numbers


def _rows():
    return [
        {"x": x, "z": float(z), "y": float(y)}
        for x, z, y in zip(numbers(), WAVE, TARGET, strict=True)
    ]


def _json(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


JSON_LINES = {
    "plain": _json(_rows()),
    "nested": _json({"a": {"x": row["x"], "t": {"z": row["z"]}}, "y": row["y"]} for row in _rows()),
    "lists": _json({"v": [row["x"], row["z"]], "y": row["y"]} for row in _rows()),
    "late-columns": _json(
        {**row, **({"late": i} if i > 40 else {})} for i, row in enumerate(_rows())
    ),
    "mixed-types": _json(
        {**row, "x": str(row["x"]) if i % 3 else row["x"]} for i, row in enumerate(_rows())
    ),
    "booleans-and-nulls": _json(
        {**row, "b": [True, False, None][i % 3]} for i, row in enumerate(_rows())
    ),
    "one-bad-line": _json(_rows()[:30]) + "{broken\n" + _json(_rows()[30:]),
    "array": json.dumps(_rows()),
}


@case("tables/json/{text}", text=JSON_LINES)
def checks_json_lines(text):
    """JSON lines, nested and uneven."""
    Path("table.jsonl").write_text(text, encoding="utf-8")
    return printed("check", "table.jsonl", "--target", "y", "--json")


def _gz():
    Path("table.csv.gz").write_bytes(gzip.compress(TEXTS["comma"].encode()))
    return "table.csv.gz"


def _zip(*names):
    with zipfile.ZipFile("table.zip", "w") as archive:
        for name in names:
            archive.writestr(name, TEXTS["comma"])
    return "table.zip"


def _folder():
    for value in ("fog", "sun"):
        Path("data", f"weather={value}").mkdir(parents=True)
        Path("data", f"weather={value}", "part.csv").write_text(TEXTS["comma"], encoding="utf-8")
    return "data"


def _latin():
    Path("latin.csv").write_bytes(column(["Köln", "Bonn"] * (N // 2)).encode("latin-1"))
    return "latin.csv"


FILES = {
    "gz": _gz,
    "damaged-gz": lambda: (
        Path(_gz()).write_bytes(gzip.compress(TEXTS["comma"].encode())[:300]) and "table.csv.gz"
    ),
    "zip": lambda: _zip("one.csv"),
    "zip-of-two": lambda: _zip("one.csv", "two.csv"),
    "folder": _folder,
    "latin-1": _latin,
    "no-file": lambda: "nothing.csv",
    "no-pattern": lambda: "nothing-*.csv",
}


@case("tables/files/{write}", write=FILES)
def checks_files(write):
    """Compressed files, folders, and what is none."""
    path = write()
    found = printed("check", path, "--target", "y", "--json")
    if path == "latin.csv":
        found = {
            "plain": found,
            "printed": printed("check", path, "-t", "y", "--json", "--encoding", "latin-1"),
        }
    return found
