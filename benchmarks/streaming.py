"""Lines per second of `greville stream` on one core, from JSON to JSON, each of them learned."""

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

INPUTS, UNITS, LONG, SHORT = 10, 100, 110_000, 10_000


def run(repeats: int = 3) -> dict[str, Any]:
    """Measured as the time of 110,000 lines minus that of 10,000, which includes the start."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(LONG, INPUTS)).round(6)
    y = (np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=LONG)).round(6)
    names = [f"x{i}" for i in range(INPUTS)]
    lines = [
        json.dumps({**dict(zip(names, x, strict=True)), "y": t}) + "\n"
        for x, t in zip(X.tolist(), y.tolist(), strict=True)
    ]
    rates = []
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for n in (SHORT, LONG):
            files.append(Path(folder) / f"{n}.jsonl")
            files[-1].write_text("".join(lines[:n]))
        for _ in range(repeats):
            short, long = map(_seconds, files)
            rates.append((LONG - SHORT) / (long - short))
    print(
        f"  {INPUTS} inputs, {UNITS} units, one core: {np.median(rates):,.0f} lines/s "
        f"({min(rates):,.0f} to {max(rates):,.0f}); {SHORT:,} lines with the start of the process "
        f"take {short:.1f} s"
    )
    return {"lines_per_second": rates}


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
