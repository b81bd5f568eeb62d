"""What commands print, as JSON: exit codes, lines, and the structure of JSON output."""

import csv
import json
import re
from pathlib import Path

from .doors import command
from .outcome import rounded

# Fields of JSON that are different in every run or version.
CHANGING = {
    "seconds": "<time>",
    "rows_per_second": "<rate>",
    "version": "<version>",
    "size": "<size>",
    "checksum": "<checksum>",
}
# Fields that are rounding where they are small next to another.
NEXT_TO = {"bias": "rmse", "mean_error": "rmse"}
FRAMES = "─━│┃┌┐└┘├┤┬┴┼┏┓┗┛┡┩╇╈┳┻╞╡╪═╭╮╰╯"


def printed(*arguments, stdin=b""):
    """The exit code of a command, and what it said on stdout and stderr."""
    code, out, err = command(*arguments, stdin=stdin)
    found = {"exit": code}
    if "--json" in arguments and out.strip():
        found["stdout"] = steady_json(json.loads(out))
    elif out.strip():
        found["stdout"] = lines(out)
    if err.strip():
        found["stderr"] = lines(err)
    return found


def lines(text):
    """The lines of a text, without frames of tables and with single blanks."""
    shown = re.sub(rf"[{FRAMES}]", " ", text)
    shown = re.sub(r"^(\s*(?:version|size|checksum)) .*", r"\1 <...>", shown, flags=re.MULTILINE)
    shown = re.sub(r"-?\d+\.\d{7,}(e-?\d+)?", lambda found: repr(rounded(float(found[0]))), shown)
    found = (re.sub(r"\s+", " ", line).strip() for line in shown.splitlines())
    return [line for line in found if line]


def steady_json(value):
    """The value without times, rates, sizes and versions."""
    if isinstance(value, list):
        return [steady_json(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, each in value.items():
        large = value.get(NEXT_TO.get(key))
        if key in CHANGING and each is not None and not isinstance(each, (dict, list)):
            found[key] = CHANGING[key]
        elif isinstance(large, float) and isinstance(each, float) and abs(each) < 1e-5 * large:
            found[key] = 0.0
        else:
            found[key] = steady_json(each)
    return found


def cells(path, *columns, n=5):
    """The first values of columns of a CSV file, or all of its names."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        delimiter = ";" if ";" in file.readline() else ","
        file.seek(0)
        rows = list(csv.DictReader(file, delimiter=delimiter))
    found = {"rows": len(rows), "columns": list(rows[0]) if rows else []}
    if delimiter == ";":
        found["delimiter"] = delimiter
    return {**found, **{name: [_value(row[name]) for row in rows[:n]] for name in columns}}


def _value(text):
    try:
        return rounded(float(text.replace(",", ".")))
    except ValueError:
        return text


def answers(text):
    """Lines of JSON, each as it is."""
    return [json.loads(line) for line in text.splitlines()]
