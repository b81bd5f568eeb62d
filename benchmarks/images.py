"""MNIST through two stages: one pass, how its settings were chosen, and distorted digits.

The output is in docs/accuracy.md. Where there is a GPU, `image-settings` and `augmentation` use it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from greville import ELMClassifier, augment, image_layer

from .measure import Array, mnist

SHAPE = (28, 28)
SEEDS = range(3)

# Small distortions: larger ones make digits that nobody writes.
DISTORTIONS = {
    "shift": 1.0,
    "rotation": 8.0,
    "zoom": 0.1,
    "shear": 0.1,
    "elastic": 0.5,
    "smoothness": 5.0,
}

# The settings of `image_layer` on the left; each other one is tried with the rest as it is.
SETTINGS: dict[str, dict[str, Any]] = {
    "the default": {},
    "patch 5": {"patch": 5},
    "patch 9": {"patch": 9},
    "16 filters": {"n_filters": 16},
    "64 filters": {"n_filters": 64},
    "threshold 0.3": {"threshold": 0.3},
    "threshold 0.6": {"threshold": 0.6},
    "threshold 1.5": {"threshold": 1.5},
    "smoothing 0.3": {"smoothing": 0.3},
    "smoothing 3": {"smoothing": 3.0},
    "grid 5 x 5": {"grid": (5, 5)},
    "grid 9 x 9": {"grid": (9, 9)},
    "length x 0.5": {"length": 0.5},
    "length x 0.7": {"length": 0.7},
    "length x 1.4": {"length": 1.4},
    "length x 2": {"length": 2.0},
}


def run(sizes: tuple[int, ...] = (500, 1000, 2000, 5000, 10_000)) -> None:
    """All training digits in one pass, on the CPU."""
    X, y, X_test, y_test = mnist()
    for units in sizes:
        errors, took = [], []
        for seed in SEEDS:
            start = time.perf_counter()
            model = _model(units, seed).fit(X, y)
            took.append(time.perf_counter() - start)
            errors.append(_error(model, X_test, y_test))
        listed = ", ".join(f"{error:.2f}" for error in errors)
        print(
            f"  {units:>6,} units: {np.mean(errors):.2f} % ({listed}), {min(took):.0f} to "
            f"{max(took):.0f} s",
            flush=True,
        )


def settings(units: int = 10_000) -> None:
    """Learned on the first 50,000 training digits, and judged on the last 10,000 of them."""
    X, y, _, _ = mnist()
    for name, changed in SETTINGS.items():
        errors = []
        for seed in SEEDS:
            model = _model(units, seed, device="auto", **changed).fit(X[:50_000], y[:50_000])
            errors.append(_error(model, X[50_000:], y[50_000:]))
        listed = ", ".join(f"{error:.2f}" for error in errors)
        print(f"  {name}: {np.mean(errors):.2f} % ({listed})", flush=True)


def augmentation(units: int = 30_000, epochs: int = 10) -> None:
    """One pass over the digits as they are, then ten over digits distorted differently each time.

    The distortions were chosen on the last 10,000 training digits.
    """
    X, y, X_test, y_test = mnist()
    for seed in range(2):
        distorted(units, epochs, seed, (X, y), (X_test, y_test))


def distorted(
    units: int,
    epochs: int,
    seed: int,
    train: tuple[Array, Array],
    test: tuple[Array, Array],
    **changed: float,
) -> None:
    """Learn distorted digits, and print the error now and then."""
    start = time.perf_counter()
    model = _model(units, seed, device="auto").fit(*train)
    print(f"  {units:,} units, seed {seed}: as they are {_error(model, *test):.2f} %", flush=True)
    for epoch in range(epochs):
        options: dict[str, Any] = {**DISTORTIONS, **changed}
        seed_here = 1000 * seed + epoch
        stream = augment.stream(*train, SHAPE, epochs=1, random_state=seed_here, **options)
        for X, y in _larger(stream, 2 * units):
            model.partial_fit(X, y)
        if (epoch + 1) % 5 == 0:
            took, error = time.perf_counter() - start, _error(model, *test)
            print(f"    after {epoch + 1} distorted epochs {error:.2f} %, {took:.0f} s", flush=True)


def _larger(stream: Any, rows: int) -> Any:
    """The chunks of a stream joined to larger ones, which are learned faster."""
    kept: list[tuple[Array, Array]] = []
    for chunk in stream:
        kept.append(chunk)
        if sum(len(X) for X, _ in kept) >= rows:
            yield tuple(np.concatenate(parts) for parts in zip(*kept, strict=True))
            kept = []
    if kept:
        yield tuple(np.concatenate(parts) for parts in zip(*kept, strict=True))


def _model(
    units: int, seed: int, *, length: float = 1.0, device: str | None = None, **settings: Any
) -> Any:
    layer = image_layer(SHAPE, units, **settings)
    layer.second.set_params(scale=length * layer.second.scale)
    return ELMClassifier(layer, random_state=seed, device=device)


def _error(model: Any, X: Array, y: Array) -> float:
    return float(100 * np.mean(model.predict(X) != y))
