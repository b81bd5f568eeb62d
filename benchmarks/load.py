"""Learning beside another load on all cores: with BLAS's own number of threads, and with one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from greville.threads import cores

_LEARN = """
import json, sys, time
import numpy as np
from greville import ELMRegressor
n, M = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X = rng.normal(size=(n, 12))
y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
start = time.perf_counter()
ELMRegressor(M, random_state=0).fit(X, y)
print(json.dumps(time.perf_counter() - start))
"""


def run(rounds: int = 3) -> None:
    """A process for each core that only counts, and fits beside them, by turns."""
    count = [sys.executable, "-c", "while True: sum(range(10_000))"]
    others = [subprocess.Popen(count) for _ in range(cores())]
    try:
        for n, M in ((6000, 960), (6000, 2500)):
            times: dict[str, list[float]] = {"usual": [], "one thread": []}
            for _ in range(rounds):
                times["usual"].append(_seconds(n, M, {}))
                times["one thread"].append(_seconds(n, M, {"OPENBLAS_NUM_THREADS": "1"}))
            best = {name: min(values) for name, values in times.items()}
            ratio = best["usual"] / best["one thread"]
            print(
                f"    {n:,} rows, {M} units: {best['usual']:.2f} s, with OPENBLAS_NUM_THREADS=1 "
                f"{best['one thread']:.2f} s, ratio {ratio:.2f}"
            )
    finally:
        for other in others:
            other.kill()
            other.wait()


def _seconds(n: int, M: int, more: dict[str, str]) -> float:
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"} | more
    done = subprocess.run(
        [sys.executable, "-c", _LEARN, str(n), str(M)],
        env=environment,
        cwd=Path(__file__).parent,
        check=True,
        capture_output=True,
    )
    return float(json.loads(done.stdout))
