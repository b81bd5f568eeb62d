"""A million samples through every online solver, with checks on the way; and the paper's sine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from greville import (
    DynamicOpium,
    Greville,
    Opium,
    OpiumLight,
    RandomLayer,
    SlidingOpium,
)
from greville.datasets import sine_switch

from .measure import Array, relative_error, seconds

ROWS, UNITS, CHUNK, TIMES = 1_000_000, 50, 1000, 10
EPSILON, ALPHA, WINDOW = 1e-3, 1.003, 1000


def run() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 5))
    H = RandomLayer(UNITS, random_state=0).fit_transform(X)
    Y = np.sin(X[:, :2]) + 0.1 * rng.normal(size=(ROWS, 2))
    print(f"{ROWS:,} rows, M = {UNITS}, chunks of {CHUNK}; relative error of the weights, worst of")
    print(f"{TIMES} times, against a solution from the rows themselves; seconds in all")
    oracles: dict[str, tuple[Any, Callable[[int], Array]]] = {
        "Opium": (Opium(EPSILON), lambda n: _ridge(H[:n], Y[:n], EPSILON**2)),
        "Greville": (Greville(), lambda n: _ridge(H[:n], Y[:n], 0.0)),
        "DynamicOpium": (DynamicOpium(ALPHA), lambda n: _fading(H[:n], Y[:n])),
        "SlidingOpium": (
            SlidingOpium(WINDOW, EPSILON),
            lambda n: _ridge(H[max(0, n - WINDOW) : n], Y[max(0, n - WINDOW) : n], EPSILON**2),
        ),
        "OpiumLight": (OpiumLight(), lambda n: _light(H[:n], Y[:n])),
    }
    checks = set(np.linspace(CHUNK, ROWS, TIMES).astype(int) // CHUNK * CHUNK)
    for name, (model, oracle) in oracles.items():
        worst, took = 0.0, 0.0
        for stop in range(CHUNK, ROWS + 1, CHUNK):
            rows = slice(stop - CHUNK, stop)
            took += seconds(partial(model.partial_fit, H[rows], Y[rows]))
            if stop in checks and (name != "OpiumLight" or stop == ROWS):
                worst = max(worst, relative_error(model.coef_.T, oracle(stop)))
        print(f"  {name:14}{worst:10.1e}{took:10.1f} s")
    _sine()


def _sine() -> None:
    X, y = sine_switch(ROWS)
    print(f"the paper's sine, {ROWS:,} samples, alpha = {ALPHA}, the change half-way")
    for epsilon in (10.0, 1e-3):
        for seed in range(3):
            H = RandomLayer(100, random_state=seed).fit_transform(X)
            errors = y - DynamicOpium(ALPHA, epsilon).prequential(H, y)
            rms = float(np.sqrt(np.mean(errors[-1000:] ** 2)))
            print(
                f"  epsilon = {epsilon:g}, seed {seed}: RMS of the last 1000 {rms:.1e}, "
                f"largest error {np.abs(errors).max():.2g}"
            )


def _ridge(H: Array, Y: Array, ridge: float) -> Array:
    G = sum(block.T @ block for block in np.array_split(H, max(1, len(H) // 10_000)))
    return np.linalg.solve(G + ridge * np.eye(UNITS), H.T @ Y)


def _fading(H: Array, Y: Array) -> Array:
    """Rows older than 15,000 count less than 1e-19; the floor is far below the data."""
    H, Y = H[-15_000:], Y[-15_000:]
    root = (2 - ALPHA) ** (np.arange(len(H) - 1, -1, -1.0) / 2)[:, None]
    return np.linalg.lstsq(root * H, root * Y)[0]


def _light(H: Array, Y: Array) -> Array:
    """Eqs. (27)-(28), row by row."""
    W = np.zeros((UNITS, Y.shape[1]))
    for a, y in zip(H, Y, strict=True):
        W += np.outer(a / (1 + a @ a), y - a @ W)
    return W
