"""Section 5 on MNIST: error, time and memory; the gain of OPIUM light; and the elements of θ."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from .. import ELMClassifier, Opium, OpiumLight, RandomLayer
from ..backend import Array
from ..datasets import find_mnist
from ..datasets import mnist as mnist_data
from ..progress import Progress, silent
from ..validation import check_number
from ._mnist_result import CORNER, MNIST_PAPER, MNIST_UNITS, MNISTResult
from ._workers import SEED, run_alone, seed_range
from .measure import PeakMemory
from .result import ALGORITHMS

EPSILON, GAIN = 1e-3, 1.0
GAINS = (100.0, 4.0, 1.0, 0.4, 0.01)
SUBSET = 10_000
ROWS = {"all": "60,000 digits", "drawn": "10,000 digits", "first": "the first 10,000 digits"}


def mnist(
    *,
    seed: int = SEED,
    units: int = MNIST_UNITS,
    spread: int = 5,
    directory: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> MNISTResult:
    """The paper's classification of handwritten digits, in float32.

    Parameters
    ----------
    seed : int, default=22
        Of the hidden weights and of the draw of 10,000 digits.
    units : int, default=7840
        Hidden units; the paper's ten per pixel by default.
    spread : int, default=5
        Seeds, from 0 on, that show how much OPIUM light varies; for all 60,000 digits half as many.
    directory : path, optional
        Where the data are; see `greville.datasets.mnist`.
    progress : callable, optional
        Called as the work goes on; see `greville.progress`.

    Returns
    -------
    MNISTResult

    Raises
    ------
    greville.datasets.DataError
        If the data are not found.

    Examples
    --------
    >>> from greville import paper
    >>> result = paper.mnist(units=1000)  # doctest: +SKIP
    """
    check_number("units", units, low=CORNER, whole=True)
    check_number("spread", spread, low=2, whole=True)
    seed_range(seed, 1)
    folder = find_mnist(directory, progress=progress)
    common = {"folder": str(folder), "units": units}

    def run(what: str, function: str = "mnist_run", **job: Any) -> Any:
        with progress(f"mnist: {what}", 1) as advance:
            answer = run_alone(function, {**common, **job})
            advance(1)
        return answer

    def one(solver: str, rows: str, **job: Any) -> Any:
        what = f"{ALGORITHMS[solver]}, {ROWS[rows]}"
        return run(what, solver=solver, rows=rows, seed=seed, **job)

    runs = {
        "opium_60000": one("opium", "all", with_theta=True),
        "light_60000": one("light", "all"),
        "opium_10000": one("opium", "drawn"),
        "light_10000": one("light", "drawn"),
        "opium_first_10000": one("opium", "first"),
        "light_first_10000": one("light", "first"),
    }
    theta = runs["opium_60000"].pop("theta")
    others = [gain for gain in GAINS if gain != GAIN]
    errors = run("OPIUM light, other gains", "gain_errors", seed=seed, gains=others)
    gains = {GAIN: runs["light_60000"]["error"], **dict(zip(others, errors, strict=True))}
    plan = [["all", s] for s in range(spread // 2)]
    plan += [[rows, s] for rows in ("drawn", "first") for s in range(spread)]
    errors = run("OPIUM light, other seeds", "light_errors", plan=plan)
    light = {
        key: [error for (of, _), error in zip(plan, errors, strict=True) if of == rows]
        for key, rows in (
            ("light_60000", "all"),
            ("light_10000", "drawn"),
            ("light_first_10000", "first"),
        )
    }
    numbers = {
        "seed": seed,
        "units": units,
        "dtype": "float32",
        "paper": MNIST_PAPER,
        **runs,
        "gains": {f"{gain:g}": gains[gain] for gain in GAINS},
        "light_spread": light,
        "theta": {key: value for key, value in theta.items() if not isinstance(value, list)},
    }
    return MNISTResult(numbers, {"theta": theta})


def mnist_run(
    folder: str,
    units: int,
    seed: int,
    solver: str,
    rows: str,
    with_theta: bool = False,
) -> dict[str, Any]:
    """Run one pass over the digits and the test: per cent of errors, seconds, megabytes."""
    X, y, X_test, y_test = mnist_data(folder)
    X, y = _select(X, y, rows, seed)
    solvers = {"opium": Opium(EPSILON), "light": OpiumLight(GAIN)}
    model = ELMClassifier(RandomLayer(units), solvers[solver], random_state=seed)
    memory, start = PeakMemory(), time.perf_counter()
    model.fit(X, y)
    trained = time.perf_counter()
    error = _percent(model.predict(X_test) != y_test)
    done = time.perf_counter()
    measured: dict[str, Any] = {
        "error": error,
        "seconds": done - start,
        "training_seconds": trained - start,
        "megabytes": memory.total,
        "megabytes_beyond_data": memory.beyond,
    }
    if with_theta:
        measured["theta"] = _theta_statistics(model.solver_.theta_)
    return measured


def light_errors(folder: str, units: int, plan: list[tuple[str, int]]) -> list[float]:
    """Per cent of errors of OPIUM light for several choices of digits and seeds."""
    X, y, X_test, y_test = mnist_data(folder)
    errors = []
    for rows, seed in plan:
        model = ELMClassifier(RandomLayer(units), OpiumLight(GAIN), random_state=seed)
        model.fit(*_select(X, y, rows, seed))
        errors.append(_percent(model.predict(X_test) != y_test))
    return errors


def gain_errors(folder: str, units: int, seed: int, gains: list[float]) -> list[float]:
    """Per cent of errors of OPIUM light for several gains.

    The activations take most of the time; they are computed once for all gains.
    """
    X, y, X_test, y_test = mnist_data(folder)
    layer = RandomLayer(units, random_state=seed).fit(X)
    models = [OpiumLight(gain) for gain in gains]
    Y = np.eye(10, dtype=X.dtype)[y]
    for start in range(0, len(X), 1000):
        H = layer.transform(X[start : start + 1000])
        for model in models:
            model.partial_fit(H, Y[start : start + 1000])
    runs = [
        [model.predict(H).argmax(axis=1) for model in models]
        for H in map(layer.transform, np.split(X_test, 10))
    ]
    return [_percent(np.concatenate(digits) != y_test) for digits in zip(*runs, strict=True)]


def _select(X: Array, y: Array, rows: str, seed: int) -> tuple[Array, Array]:
    """All digits in the order of the file, 10,000 chosen at random, or the first 10,000."""
    if rows == "all":
        return X, y
    if rows == "first":
        return X[:SUBSET].copy(), y[:SUBSET].copy()
    chosen = np.random.RandomState(seed).permutation(len(X))[:SUBSET]
    return X[chosen], y[chosen]


def _percent(wrong: Array) -> float:
    return round(100 * float(np.mean(wrong)), 4)  # of 10,000 digits: two decimals


def _theta_statistics(theta: Array) -> dict[str, Any]:
    """Statistics of θ/g, with g the mean of its diagonal: the claim of section 3 is θ ≈ gI."""
    diagonal = np.diagonal(theta).astype(np.float64)
    g = float(diagonal.mean())
    limits = (-2.0, 2.0)
    counts = np.zeros(400)
    sizes = squares = 0.0
    within = 0
    for start in range(0, len(theta), 500):
        others = theta[start : start + 500].astype(np.float64) / g
        rows = np.arange(len(others))
        others[rows, start + rows] = np.nan  # without the diagonal
        others = others[~np.isnan(others)]
        counts += np.histogram(others, len(counts), limits)[0]
        sizes += float(np.abs(others).sum())
        squares += float(np.sum(others**2))
        within += int(np.sum(np.abs(others) < 0.1))
    inner = len(theta) * (len(theta) - 1)
    low, high = np.percentile(diagonal, [0.5, 99.5])
    return {
        "g": g,
        "diagonal_max_over_min": float(diagonal.max() / diagonal.min()),
        "diagonal_max_over_min_of_99_percent": float(high / low),
        "off_diagonal_mean_size_over_g": sizes / inner,
        "off_diagonal_rms_over_g": float(np.sqrt(squares / inner)),
        "off_diagonal_below_a_tenth_of_g": within / inner,
        "diagonal": (diagonal / g).tolist(),
        "off_diagonal_counts": counts.tolist(),
        "edges": np.linspace(*limits, len(counts) + 1).tolist(),
        "corner": (theta[:CORNER, :CORNER].astype(np.float64) / g).tolist(),
    }
