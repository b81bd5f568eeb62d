"""Accuracy on digits, by layer and number of units; and of an epsilon chosen in two ways.

The output is in docs/accuracy.md and docs/evidence.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets as tables

from greville import (
    ClassLayer,
    ContrastLayer,
    ELMClassifier,
    ELMRegressor,
    Opium,
    RandomLayer,
    ReceptiveFieldLayer,
)

from .measure import Array, mnist

RESULTS = Path(__file__).parent / "results"
SHAPE = (28, 28)
SIZES = (400, 800, 1600, 3200, 8000)
SEEDS = range(3)


@dataclass(frozen=True)
class Table:
    """A data set: rows, targets, and whether these are classes."""

    name: str
    X: Array
    y: Array
    classes: bool


def _tables() -> Iterator[Table]:
    for name in ("iris", "breast_cancer"):
        X, y = getattr(tables, f"load_{name}")(return_X_y=True)
        yield Table(name, X, y, classes=True)
    X, y = tables.load_diabetes(return_X_y=True)
    yield Table("diabetes", X, y, classes=False)
    X, y = tables.make_friedman3(1000, noise=0.1, random_state=0)
    yield Table("Friedman 3", X, y, classes=False)


def _row(values: Any) -> str:
    return " ".join(f"{value:.3f}" for value in values)


LAYERS: dict[str, Callable[[int, int], Any]] = {
    "RandomLayer": lambda n, seed: RandomLayer(n, random_state=seed),
    "ReceptiveFieldLayer": lambda n, seed: ReceptiveFieldLayer(SHAPE, n, random_state=seed),
    "ClassLayer": lambda n, seed: ClassLayer(n, receptive_fields=SHAPE, random_state=seed),
    "ContrastLayer": lambda n, seed: ContrastLayer(n, receptive_fields=SHAPE, random_state=seed),
}


def run() -> None:
    """MNIST: the error against the number of units, for each layer."""
    X, y, X_test, y_test = mnist()
    few = np.random.RandomState(0).permutation(len(X))[:10_000]
    print("10,000 digits, 7840 units of a RandomLayer, float32")
    for solver in (Opium(1e-3), Opium("auto")):
        model, took = _fitted(RandomLayer(7840, random_state=0), solver, X[few], y[few])
        print(f"  {solver}: {_error(model, X_test, y_test):.2f} %, {took:.1f} s", flush=True)
    print("60,000 digits, float32: error in % (seconds to fit)")
    errors: dict[str, list[float]] = {}
    for name, make in LAYERS.items():
        cells = []
        for n in SIZES:
            seeds = SEEDS if name == "ContrastLayer" and n in (1600, 8000) else range(1)
            runs = [_fitted(make(n, seed), "opium", X, y) for seed in seeds]
            wrong = [_error(model, X_test, y_test) for model, _ in runs]
            errors.setdefault(name, []).append(float(np.mean(wrong)))
            listed = ", ".join(f"{error:.2f}" for error in wrong)
            cells.append(f"{listed} ({np.mean([took for _, took in runs]):.0f} s)")
            print(f"  {name} {n}: {cells[-1]}", flush=True)
    RESULTS.mkdir(exist_ok=True)
    _draw(errors, RESULTS / "accuracy.png")
    print(f"picture: {RESULTS / 'accuracy.png'}")


def criteria() -> None:
    """The test error with epsilon chosen by evidence and by generalised cross-validation."""
    print("mean error (1 - accuracy, 1 - R²): by evidence, by generalised cross-validation")
    for table in _tables():
        for n in (10, 20, 50, 100):
            errors = np.array([_by_criteria(table, n, seed) for seed in range(20)])
            print(f"  {table.name}, {n} rows: " + _row(errors.mean(axis=0)), flush=True)


def _by_criteria(table: Table, n: int, seed: int) -> tuple[float, float]:
    """The test errors with 100 units and n rows, for both ways to choose."""
    order = np.random.RandomState(seed).permutation(len(table.X))
    train, test = order[:n], order[n:]
    kind = ELMClassifier if table.classes else ELMRegressor
    model = kind(100, random_state=seed).fit(table.X[train], table.y[train])
    H = model.fitted_.hidden.activations(table.X[train])
    y = table.y[train]
    Y = np.eye(table.y.max() + 1)[y] if table.classes else y[:, None]
    U, s, _ = np.linalg.svd(H - H.mean(axis=0), full_matrices=False)
    z = U.T @ (Y - Y.mean(axis=0))
    grid = 10 ** np.arange(-4, 3, 1 / 8)
    scores = []
    for epsilon in grid:
        shrink = epsilon**2 / (s**2 + epsilon**2)
        rest = ((Y - Y.mean(axis=0) - U @ z) ** 2).sum() + ((z * shrink[:, None]) ** 2).sum()
        free = n - 1 - (1 - shrink).sum()
        scores.append(rest / max(free, 1e-9) ** 2)
    chosen = Opium(grid[int(np.argmin(scores))], intercept=True)
    other = kind(100, chosen, random_state=seed).fit(table.X[train], table.y[train])
    X, y = table.X[test], table.y[test]
    return 1 - model.score(X, y), 1 - max(-4.0, other.score(X, y))


def _fitted(layer: Any, solver: Any, X: Array, y: Array) -> tuple[Any, float]:
    model = ELMClassifier(layer, solver)
    start = time.perf_counter()
    model.fit(X, y)
    return model, time.perf_counter() - start


def _error(model: Any, X: Array, y: Array) -> float:
    return float(100 * np.mean(model.predict(X) != y))


def _draw(errors: dict[str, list[float]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4), layout="constrained")
    ax = figure.subplots()
    for name, values in errors.items():
        ax.plot(SIZES, values, "o-", label=name)
        ax.annotate(
            f"{values[-1]:.2g} %",
            (SIZES[-1], values[-1]),
            (6, 0),
            textcoords="offset points",
            va="center",
        )
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="hidden units",
        ylabel="test error in %",
        title="MNIST, 60,000 digits, one pass, nothing tuned",
    )
    ax.set_xticks(SIZES, [str(n) for n in SIZES])
    ax.set_xticks([], minor=True)
    ticks = (1, 2, 3, 5, 10)
    ax.set_yticks(ticks, [str(t) for t in ticks])
    ax.set_yticks([], minor=True)
    ax.set_xlim(right=SIZES[-1] * 1.45)
    ax.grid(alpha=0.3)
    ax.legend()
    figure.savefig(path, dpi=130)
