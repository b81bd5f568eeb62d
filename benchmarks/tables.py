"""Time and memory of `greville train` on files of 2 GB.

The yardsticks are pyarrow reading the same file and doing nothing with it, and the library learning
as many rows that are in memory already. Training should take at most twice the slower of the two.
"""

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
from pyarrow import csv, parquet

from greville import ELMRegressor

from .measure import in_a_fresh_process

BYTES, COLUMNS, UNITS = 2_000_000_000, 20, 500


def run(repeats: int = 1) -> dict[str, Any]:
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("csv", "parquet"):
            path = Path(folder) / f"large.{kind}"
            n = _generate(path)
            reading = in_a_fresh_process(_read, str(path))
            learning = in_a_fresh_process(_learn, 400_000) * n / 400_000
            took, megabytes = _train(path)
            slower = max(reading, learning)
            found[kind] = {
                "rows": n,
                "gigabytes": path.stat().st_size / 1e9,
                "reading": reading,
                "learning": learning,
                "training": took,
                "megabytes": megabytes,
                "ratio": took / slower,
            }
            print(
                f"  {kind}: {path.stat().st_size / 1e9:.2f} GB, {n:,} rows; pyarrow reads it in "
                f"{reading:.1f} s, the library learns as many rows in {learning:.1f} s; greville "
                f"train took {took:.1f} s, {took / slower:.2f} of the slower, with a peak of "
                f"{megabytes:.0f} MB"
            )
            path.unlink()
    return found


def _generate(path: Path) -> int:
    rng, n, block = np.random.default_rng(0), 0, 200_000
    names = [f"x{i}" for i in range(COLUMNS)]
    writer: Any = None
    with path.open("wb") as file:
        while file.tell() < BYTES:
            X = rng.normal(size=(block, COLUMNS)).astype(np.float32).astype(np.float64)
            y = np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=block)
            columns = [pa.array(column) for column in X.T] + [pa.array(y)]
            table = pa.table(columns, names=[*names, "y"])
            if writer is None:
                make = parquet.ParquetWriter if path.suffix == ".parquet" else csv.CSVWriter
                writer = make(pa.PythonFile(file, "w"), table.schema)
            writer.write_table(table)
            n += block
        writer.close()
    return n


def _read(path: str) -> float:
    start = time.perf_counter()
    if path.endswith(".parquet"):
        for _ in parquet.ParquetFile(path).iter_batches():
            pass
    else:
        for _ in csv.open_csv(path):
            pass
    return time.perf_counter() - start


def _learn(n: int) -> float:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, COLUMNS))
    y = np.sin(X[:, 0]) * X[:, 1]
    model = ELMRegressor(UNITS, random_state=0).partial_fit(X[:16_384], y[:16_384])
    start = time.perf_counter()
    for i in range(0, n, 16_384):
        model.partial_fit(X[i : i + 16_384], y[i : i + 16_384])
    return time.perf_counter() - start


def _train(path: Path) -> tuple[float, float]:
    command = [sys.executable, "-m", "greville", "train", str(path), "--target", "y"]
    command += ["--hidden", str(UNITS), "-o", str(path.with_suffix(".greville")), "--json", "-q"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"greville train ended with {status}")
    return json.loads(printed)["seconds"], used.ru_maxrss / 1024
