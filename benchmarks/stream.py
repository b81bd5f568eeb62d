"""Predict, then learn, in chunks of 100 with 2000 hidden units: next to pyoselm."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from greville import ELMRegressor

from ._measure import Array, seconds

UNITS, START, LENGTH, ROUNDS = 2000, 2000, 100, 5


def run() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(START + LENGTH * ROUNDS, 20))
    y = np.sin(X.sum(axis=1))
    streams: dict[str, Callable[[int], None]] = {
        "float64": _ours(X, y),
        "float32": _ours(X.astype(np.float32), y),
    }
    try:
        streams["pyoselm"] = _pyoselm(X, y)
    except ImportError:
        print("pyoselm is not installed; `make bench` installs it.")
    times: dict[str, list[float]] = {name: [] for name in streams}
    for start in range(START, len(X), LENGTH):  # interleaved: noise hits all alike
        for name, step in streams.items():
            times[name].append(seconds(partial(step, start)) / LENGTH * 1e6)
    print(f"predict then learn, chunks of {LENGTH}, M = {UNITS}: microseconds a sample, median")
    for name, micros in times.items():
        line = f"  {name:10}{np.median(micros):10.0f}"
        if "pyoselm" in times and name != "pyoselm":
            line += f"{np.median(np.divide(times['pyoselm'], micros)):10.0f} times faster"
        print(line)


def _ours(X: Array, y: Array) -> Callable[[int], None]:
    model = ELMRegressor(UNITS, random_state=0).fit(X[:START], y[:START])

    def step(start: int) -> None:
        rows = slice(start, start + LENGTH)
        model.predict(X[rows])
        model.partial_fit(X[rows], y[rows])
        model.solver_.coef_  # noqa: B018 - the learning is done when the weights are there

    return step


def _pyoselm(X: Array, y: Array) -> Callable[[int], None]:
    from pyoselm import OSELMRegressor

    model = OSELMRegressor(n_hidden=UNITS, activation_func="tanh", random_state=0)
    model.fit(X[:START], y[:START])

    def step(start: int) -> None:
        rows = slice(start, start + LENGTH)
        model.predict(X[rows])
        model.fit(X[rows], y[rows])

    return step
