"""Reservoirs next to reservoirpy: its own series, the same units, the same rows, one thread.

Errors are root mean squares over the range of the series; times are processor times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from greville import FourierLayer, LagLayer, Opium, ReservoirLayer
from greville.compiled import states_kernel
from greville.forecasting import forecast

from .measure import Array

SEEDS, WASHOUT, RIDGE, RLS_RIDGE = 3, 100, 1e-8, 1e-6


def run() -> None:
    """Batch readouts, online readouts, and forecasts with a layer."""
    from reservoirpy.datasets import lorenz, mackey_glass

    states_kernel(1 << 40)  # it is loaded before the clock runs
    series = {
        "Mackey-Glass": (_scaled(mackey_glass(2510, tau=17)), 2000),
        "Lorenz": (_scaled(lorenz(5010, h=0.03)), 4000),
    }
    for name, (S, n) in series.items():
        for steps in (1, 10):
            X, Y = S[:-steps], S[steps:]
            rows = X[:n], Y[:n], X[n:], Y[n:]
            for units in (100, 500):
                theirs = [_their_reservoir(units, seed, *rows) for seed in range(SEEDS)]
                for ridge, epsilon in (("the same ridge", RIDGE**0.5), ("a chosen one", "auto")):
                    ours = [_reservoir(units, seed, epsilon, *rows) for seed in range(SEEDS)]
                    _say(f"{name}, {steps} ahead, {units} units, {ridge}", ours, theirs)
            ours = [_lags(*rows)]
            _say(f"{name}, {steps} ahead, 4 lags, the same ridge", ours, [_their_lags(*rows)])
        X, Y = S[:-1], S[1:]
        theirs = [_their_online(X, Y)]
        for ridge, epsilon in (("the same ridge", RLS_RIDGE**0.5), ("a chosen one", "auto")):
            _say(f"{name}, online, 100 units, {ridge}", [_online(epsilon, X, Y)], theirs)
    values = mackey_glass(3000)[:, 0]
    noise = 0.03 * np.random.default_rng(0).normal(size=len(values))
    for name, y in (("Mackey-Glass", values), ("with noise of 0.03", values + noise)):
        for horizon in (1, 6):
            errors = [
                _forecast_error(y, horizon, layer)
                for layer in (None, ReservoirLayer(200, leak=0.5))
            ]
            print("  forecast of {}, {} ahead: {:.2e} without a layer, {:.2e} with a reservoir"
                  .format(name, horizon, *errors), flush=True)  # fmt: skip


def _scaled(S: Array) -> Array:
    low, high = S.min(axis=0), S.max(axis=0)
    return np.asarray(2 * (S - low) / (high - low) - 1)


def _measured(work: Callable[[], Array], want: Array) -> tuple[float, float]:
    start = time.process_time()
    got = work()
    took = time.process_time() - start
    return float(np.sqrt(np.mean((got - want) ** 2)) / (want.max() - want.min())), took


def _say(what: str, ours: list[tuple[float, float]], theirs: list[tuple[float, float]]) -> None:
    (e, t), (error, took) = np.mean(ours, axis=0), np.mean(theirs, axis=0)
    print(
        f"  {what}: error {e:.2e}, reservoirpy {error:.2e}, ratio {e / error:.2f}; "
        f"time {t:.3f} s, ratio {t / took:.2f}",
        flush=True,
    )


def _readout(layer: Any, epsilon: Any, X: Array, Y: Array, T: Array) -> Array:
    H = layer.fit(X).advance(X)
    readout = Opium(epsilon, intercept=True).fit(H[WASHOUT:], Y[WASHOUT:])
    return readout.predict(layer.advance(T))


def _reservoir(units: int, seed: int, epsilon: Any, X: Array, Y: Array, T: Array, S: Array) -> Any:
    layer = ReservoirLayer(units, spectral_radius=1.25, leak=0.3, scale=1.0, random_state=seed)
    return _measured(lambda: _readout(layer, epsilon, X, Y, T), S)


def _their_reservoir(units: int, seed: int, X: Array, Y: Array, T: Array, S: Array) -> Any:
    from reservoirpy.nodes import Reservoir, Ridge

    def work() -> Array:
        model = Reservoir(units, lr=0.3, sr=1.25, input_scaling=1.0, seed=seed) >> Ridge(RIDGE)
        model.fit(X, Y, warmup=WASHOUT)
        return np.asarray(model.run(T))

    return _measured(work, S)


def _lags(X: Array, Y: Array, T: Array, S: Array) -> Any:
    return _measured(lambda: _readout(LagLayer(4), RIDGE**0.5, X, Y, T), S)


def _their_lags(X: Array, Y: Array, T: Array, S: Array) -> Any:
    from reservoirpy.nodes import NVAR, Ridge

    def work() -> Array:
        model = NVAR(delay=4, order=2, strides=1) >> Ridge(RIDGE)
        model.fit(X, Y, warmup=WASHOUT)
        return np.asarray(model.run(T))

    return _measured(work, S)


def _online(epsilon: Any, X: Array, Y: Array) -> Any:
    """Each row predicted before it is learned, from the second half on."""
    half = len(X) // 2

    def work() -> Array:
        layer = ReservoirLayer(100, spectral_radius=1.25, leak=0.3, scale=1.0, random_state=0)
        readout = Opium(epsilon, intercept=True)
        return readout.prequential(layer.fit(X).advance(X), Y)[half:]

    return _measured(work, Y[half:])


def _their_online(X: Array, Y: Array) -> Any:
    """After all rows were learned, which is in its favour; without its bias it is more exact."""
    from reservoirpy.nodes import RLS, Reservoir

    half = len(X) // 2

    def work() -> Array:
        model = Reservoir(100, lr=0.3, sr=1.25, input_scaling=1.0, seed=0)
        states, readout = model.run(X), RLS(fit_bias=False)
        readout.partial_fit(states, Y)
        return np.asarray(readout.run(states[half:]))

    return _measured(work, Y[half:])


def kernels() -> None:
    """The tasks of kafbox (Van Vaerenbergh & Santamaria 2013), as its demonstrations have them.

    One step ahead from the last samples, each predicted before it is learned; the mean squared
    error after 1,000 samples, in dB. Its Lorenz series is the third number by Euler's method, in
    steps of 0.01 from (10, 7, 35), with six digits; here it is made again. Its Mackey-Glass series,
    with a delay of 30 and a sample every six seconds, is made after its description: other numbers.
    """
    for name, values, lags, theirs in (
        ("Lorenz", _lorenz(10_000), 6, "KRLS-T -56.82, FB-KRLS -55.00, RLS -48.16, KRLS -40.17"),
        ("Mackey-Glass", _delayed(5000), 11, "KRLS -45.61, KRLS-T -44.26, FB-KRLS -41.09"),
    ):
        print(f"  {name}, as published: {theirs} dB")
        some = values[:200]
        x = (values[:-1, None] - some.mean()) / some.std()
        embedded = LagLayer(lags, order=1).fit_transform(x)
        rows: dict[str, Array] = {
            "lags and products": LagLayer(lags, order=3 if lags < 10 else 2).fit_transform(x)
        }
        for units in (100, 300):
            fourier = FourierLayer(units, random_state=0).fit(embedded[lags:1000])
            rows[f"{units} Fourier units of the lags"] = fourier.transform(embedded)
            reservoir = ReservoirLayer(units, random_state=0)
            rows[f"reservoir of {units} units"] = reservoir.fit_transform(x)
        for what, H in rows.items():
            start = time.process_time()
            predicted = Opium("auto", intercept=True).prequential(H, values[1:])
            took = 1e6 * (time.process_time() - start) / len(H)
            error = 10 * np.log10(np.mean((predicted - values[1:])[1000:] ** 2))
            print(f"    {what}: {error:.2f} dB, {took:.0f} µs a sample", flush=True)


def _lorenz(n: int) -> Array:
    (x, y, z), values = (10.0, 7.0, 35.0), []
    for _ in range(n):
        values.append(z)
        x, y, z = x + 0.1 * (y - x), y + 0.01 * (x * (28 - z) - y), z + 0.01 * (x * y - 8 / 3 * z)
    return np.round(values, 6)


def _delayed(n: int, delay: int = 300, every: int = 60) -> Array:
    """Mackey and Glass' equation by Euler's method, in steps of a tenth of a second."""
    x = [1.2] * (delay + 1)
    for _ in range(n * every + 10 * delay):
        x.append(0.99 * x[-1] + 0.02 * x[-delay - 1] / (1 + x[-delay - 1] ** 10))
    return np.round(x[-n * every :: every], 6)


def _forecast_error(y: Array, horizon: int, layer: Any) -> float:
    found = forecast(y, horizon=horizon, layer=layer)
    late = (found.index >= 1000) & np.isfinite(found.target)
    return float(np.abs(found.target - found.prediction)[late].mean())
