"""MNIST as in section 5 of the paper: 60,000 rows, 7840 hidden units, one pass, float32."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from greville import ELMClassifier, Opium, OpiumLight, RandomLayer
from greville.paper.measure import PeakMemory

from .measure import Array, in_a_fresh_process, mnist, seconds

UNITS = 7840
LIGHT_SEEDS = range(5)


def run() -> None:
    print(f"MNIST, one fit of 60,000 rows, {UNITS} hidden units, float32")
    opium = in_a_fresh_process(_opium, 1)
    print(f"OPIUM, seed 1: error {opium['error']:.2f} % (paper: 2.75 %)")
    print(
        f"  {opium['seconds']:.1f} s (paper: 20 h), {opium['seconds'] / opium['needed']:.2f} times"
    )
    print("  the matrix products it cannot avoid (hidden layer, syrk, one Cholesky; same process)")
    print(f"  peak memory beyond the data {opium['megabytes']:.0f} MB (paper: 1.8 GB)")
    light = [in_a_fresh_process(_light, seed) for seed in LIGHT_SEEDS]
    errors = ", ".join(f"{run['error']:.2f}" for run in light)
    print(f"OPIUM light, seeds {LIGHT_SEEDS.start} to {LIGHT_SEEDS.stop - 1}: errors {errors} %")
    print(f"  mean {np.mean([run['error'] for run in light]):.2f} % (paper: 3.7 %, one run)")
    print(f"  {np.mean([run['seconds'] for run in light]):.1f} s (paper: 7 min)")
    print(f"  peak memory beyond the data {light[0]['megabytes']:.0f} MB (paper: 1 GB)")


def _opium(seed: int) -> dict[str, float]:
    X, y, X_test, y_test = mnist()
    model = ELMClassifier(RandomLayer(UNITS), Opium(1e-3), random_state=seed)
    memory = PeakMemory()
    took = [seconds(lambda: model.fit(X, y))]
    megabytes = memory.beyond or 0.0
    needed = [_needed(X)]
    took.append(seconds(lambda: model.fit(X, y)))
    needed.append(_needed(X))
    return {
        "error": _error(model, X_test, y_test),
        "seconds": float(np.mean(took)),
        "needed": float(np.mean(needed)),
        "megabytes": megabytes,
    }


def _light(seed: int) -> dict[str, float]:
    X, y, X_test, y_test = mnist()
    model = ELMClassifier(RandomLayer(UNITS), OpiumLight(1.0), random_state=seed)
    memory = PeakMemory()
    took = seconds(lambda: model.fit(X, y))
    megabytes = memory.beyond or 0.0
    return {"error": _error(model, X_test, y_test), "seconds": took, "megabytes": megabytes}


def _error(model: Any, X: Array, y: Array) -> float:
    return 100 * float(np.mean(model.predict(X) != y))


def _needed(X: Array) -> float:
    """Seconds for the products alone: timed on a sixth of the rows, and for one Cholesky factor."""
    rows = len(X) // 6
    scale = 0.5 / np.sqrt(X.shape[1])  # keeps the sums small without a tanh
    weights = np.random.RandomState(0).uniform(-scale, scale, (X.shape[1], UNITS)).astype(X.dtype)
    G = np.zeros((UNITS, UNITS), X.dtype, order="F")

    def products() -> None:
        for start in range(0, rows, 1000):
            H_transposed = blas.sgemm(1.0, weights.T, X[start : start + 1000].T)
            blas.ssyrk(1.0, H_transposed, beta=1.0, c=G, overwrite_c=1)

    per_row = seconds(products) / rows
    G[np.diag_indices_from(G)] += 1e6
    return per_row * len(X) + seconds(lambda: lapack.spotrf(G, clean=0, overwrite_a=1))
