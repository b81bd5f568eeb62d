"""Time and memory by the number of rows, of which memory must not depend, and of hidden units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from greville import ELMRegressor, Opium, RandomLayer
from greville.paper.measure import PeakMemory

from .measure import Array, in_a_fresh_process, seconds

UNITS, CHUNK = 500, 1_000


def run(repeats: int = 1) -> dict[str, Any]:
    print(f"  rows, M = {UNITS}, chunks of up to {CHUNK:,}")
    rows = [in_a_fresh_process(_rows, n) for n in (1_000, 10_000, 100_000, 1_000_000)]
    for one in rows:
        print(f"    {one['n']:>9,} rows {one['seconds']:8.2f} s {one['megabytes']:8.1f} MB")
    print("  hidden units, 2 M rows, float32")
    sizes = (100, 200, 500, 1000, 2000, 4000, 7840, 16_000)
    units = [in_a_fresh_process(_units, M) for M in sizes]
    for one in units:
        print(
            f"    {one['M']:>6,} units {one['seconds']:8.2f} s {one['megabytes']:8.1f} MB, "
            f"{one['matrices']:.2f} M x M matrices beyond a block of rows"
        )
    return {"rows": rows, "units": units}


def _generated(n: int, dtype: Any) -> Iterator[tuple[Array, Array]]:
    rng = np.random.default_rng(0)
    for start in range(0, n, CHUNK):
        X = rng.normal(size=(min(CHUNK, n - start), 10)).astype(dtype)
        yield X, np.sin(X[:, 0]) * X[:, 1]


def _rows(n: int) -> dict[str, float]:
    _warm_up(np.float64)
    model = ELMRegressor(RandomLayer(UNITS), Opium(1e-3), random_state=0, standardize=False)
    memory, took = PeakMemory(), 0.0
    for X, y in _generated(n, np.float64):
        took += seconds(lambda: model.partial_fit(X, y))  # noqa: B023
    return {"n": n, "seconds": took, "megabytes": memory.beyond or 0.0}


def _units(M: int) -> dict[str, float]:
    """One fit, and its memory without one block of activations, in M x M matrices."""
    _warm_up(np.float32)
    X, y = (np.concatenate(part) for part in zip(*_generated(2 * M, np.float32), strict=True))
    model = ELMRegressor(RandomLayer(M), Opium(1e-1), random_state=0, standardize=False)
    memory = PeakMemory()
    took = seconds(lambda: model.fit(X, y))
    megabytes = memory.beyond or 0.0
    block = min(len(X) * M * 4 / 2**20, np.clip(M**2 * 2 / 2**20, 32, 128))
    return {
        "M": M,
        "seconds": took,
        "megabytes": megabytes,
        "matrices": (megabytes - block) / (M**2 * 4 / 2**20),
    }


def _warm_up(dtype: Any) -> None:
    """Load what only the first fit loads."""
    X = np.random.default_rng(0).normal(size=(300, 10)).astype(dtype)
    ELMRegressor(RandomLayer(50), Opium(1e-3), random_state=0).fit(X, X[:, 0])
