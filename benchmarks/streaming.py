"""Lines per second of `greville stream` on one core, from JSON to JSON; single rows in Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from greville.tables import Stream, TableModel

INPUTS, UNITS, LONG, SHORT = 10, 100, 110_000, 10_000


def run(repeats: int = 3) -> dict[str, Any]:
    """Measured as the time of 110,000 lines minus that of 10,000, which includes the start."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(LONG, INPUTS)).round(6)
    y = (np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=LONG)).round(6)
    names = [f"x{i}" for i in range(INPUTS)]
    rows = [dict(zip(names, x, strict=True)) for x in X.tolist()]
    learned = [{**row, "y": target} for row, target in zip(rows, y.tolist(), strict=True)]
    inputs = {
        "short": learned[:SHORT],
        "with targets": learned,
        "without": learned[:SHORT] + rows[SHORT:],
    }
    rates: dict[str, list[float]] = {"with targets": [], "without": []}
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.jsonl" for name in inputs}
        for name, path in files.items():
            path.write_text("".join(json.dumps(row) + "\n" for row in inputs[name]))
        for _ in range(repeats):
            short = _seconds(files["short"])
            for name, values in rates.items():
                values.append((LONG - SHORT) / (_seconds(files[name]) - short))
    print(f"  {INPUTS} inputs, {UNITS} units, one core; {SHORT:,} lines with the start of the")
    print(f"  process take {short:.1f} s")
    for name, values in rates.items():
        print(
            f"    {name:14}{np.median(values):,.0f} lines/s ({min(values):,.0f} to "
            f"{max(values):,.0f})"
        )
    return {
        "lines_per_second": rates["with targets"],
        "lines_per_second_without_targets": rates["without"],
        "microseconds_a_row": _single_rows(rows, learned),
        "default_stream": _default_stream(learned[:SHORT]),
    }


def _single_rows(rows: list[dict[str, Any]], learned: list[dict[str, Any]]) -> dict[str, float]:
    """Rows as dicts, one at a time, in Python."""
    model = TableModel("y", hidden=UNITS).learn(pa.Table.from_pylist(learned[:SHORT])).settle()
    found = {}
    for name, act, some in (
        ("predict_one", model.predict_one, rows[:5000]),
        ("learn_one", model.learn_one, learned[:5000]),
    ):
        start = time.perf_counter()
        for row in some:
            act(row)
        found[name] = 1e6 * (time.perf_counter() - start) / len(some)
        print(f"    TableModel.{name}: {found[name]:.0f} µs a row")
    return found


def _default_stream(learned: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Time rows that the default stream predicts and then learns, numbers and classes.

    Of each: processor time in microseconds a row after the first half, and of the slowest call in
    milliseconds.
    """
    found = {}
    for name in ("numbers", "classes"):
        for _ in range(2):  # the first loads kernels
            stream, calls = Stream("y", blocks=False), list[float]()
            for row in learned:
                target = row["y"] if name == "numbers" else ["low", "high"][row["y"] > 0]
                start = time.process_time()
                if stream.n_rows:
                    stream.predict_one(row)
                middle = time.process_time()
                stream.learn_one({**row, "y": target})
                calls += [middle - start, time.process_time() - middle]
        half = calls[len(calls) // 2 :]
        found[name] = [2e6 * float(np.mean(half)), 1e3 * max(calls)]
        print(f"    Stream, {name}: {found[name][0]:.0f} µs a row, {found[name][1]:.0f} ms at most")
    return found


def _seconds(path: Path) -> float:
    command = [sys.executable, "-m", "greville", "stream", "--target", "y"]
    command += ["--hidden", str(UNITS), "--quiet"]
    start = time.perf_counter()
    with path.open("rb") as lines:
        subprocess.run(
            command, stdin=lines, stdout=subprocess.DEVNULL, check=True, preexec_fn=_one_core
        )
    return time.perf_counter() - start


def _one_core() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
