"""Errors on streams of numbers: every default next to the last target and the mean of all.

``python -m benchmarks streams`` prints the tables of docs/forgetting.md. Each row is answered
before it is learned, as `greville stream` does. The rules for mixing predictions and for the size
of the hidden layer were chosen on the first group of streams; the second is what they are judged
by.
"""

from __future__ import annotations

import csv
import datetime
import json
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from greville import DynamicOpium, ELMRegressor
from greville.datasets import ecg
from greville.tables import RowErrors, Stream, TableModel

from .measure import Array

EXAMPLES = Path(__file__).parent.parent / "examples"
LONGEST = 3000
Rows = list[dict[str, Any]]
Streams = dict[str, tuple[Rows, Array]]

DEFAULTS: dict[str, dict[str, Any]] = {
    "opium": {},
    "dynamic": {"solver": "dynamic"},
    "alpha=auto": {"solver": "dynamic", "alpha": "auto"},
    "sliding": {"solver": "sliding"},
    "light": {"solver": "light"},
    "greville": {"solver": "greville"},
}


def run() -> None:
    try:
        groups = {"chosen on": chosen_on(), "judged by": judged_by()}
    except ImportError:
        print("river is not installed; `make bench` installs it.")
        return
    for group, streams in groups.items():
        print(f"{group}: root mean square error / that of the better of last target and mean")
        print(f"{'':26}{'rows':>6}{'last':>8}{'mean':>8}{'model':>8}", end="")
        print("".join(f"{name:>12}" for name in DEFAULTS))
        worst = dict.fromkeys(DEFAULTS, 0.0)
        for name, (rows, y) in streams.items():
            last, mean = simple_errors(y)
            best = min(last, mean)
            alone = error_of(rows, y, follow=False) / best
            print(f"{name:26}{len(y):6}{last / best:8.3f}{mean / best:8.3f}{alone:8.3f}", end="")
            for default, settings in DEFAULTS.items():
                found = error_of(rows, y, **settings) / best
                worst[default] = max(worst[default], found)
                print(f"{found:12.3f}", end="", flush=True)
            print()
        print(f"{'the worst':56}" + "".join(f"{value:12.3f}" for value in worst.values()))
    estimators(groups["chosen on"])


def estimators(streams: Streams) -> None:
    """What the estimators alone make of two streams, without what the last targets say."""
    print("R² of the estimators' prequential")
    for name in ("TrumpApproval", "ChickWeights"):
        rows, y = streams[name]
        X = np.array([list(row.values()) for row in rows], float)
        print(f"{name:26}", end="")
        for solver in (
            "opium",
            "dynamic",
            DynamicOpium(),
            DynamicOpium("auto", "auto", intercept=True),
        ):
            predicted = ELMRegressor(solver=solver, random_state=0).prequential(X, y)
            r2 = 1 - np.mean((y - predicted)[1:] ** 2) / y[1:].var()
            print(f"  {solver} {r2:.3f}", end="")
        print()


def simple_errors(y: Array) -> tuple[float, float]:
    """Root mean square errors of the last target and of the mean of all before each."""
    means = np.cumsum(y) / np.arange(1, len(y) + 1)
    return _rms(np.diff(y)), _rms(y[1:] - means[:-1])


def error_of(rows: Rows, y: Array, *, follow: bool = True, **settings: Any) -> float:
    """The root mean square error of a stream, from its second row on."""
    model = TableModel("target", task="regression", **{"hidden": "stream", **settings})
    stream = Stream(model, follow=follow)
    lines = [{**row, "target": float(t)} for row, t in zip(rows, y, strict=True)]
    answers = stream.answer(lines, 1, RowErrors())
    predicted = [answer["prediction"] for answer in answers]
    return _rms(np.array(predicted[1:], float) - y[1:])


def _rms(errors: Array) -> float:
    return float(np.sqrt(np.nanmean(errors**2)))


# Streams


def chosen_on() -> Streams:
    """Those that rules were chosen on."""
    datasets, synth = _river()
    streams: Streams = {}
    for name in (
        *("WaterFlow", "ChickWeights", "TrumpApproval", "AirlinePassengers", "SP500Stocks"),
    ):
        streams[name] = _taken(getattr(datasets, name)())
    flares = list(datasets.SolarFlare())
    for name in ("c", "m", "x"):
        pairs = ((x, y[f"{name}-class-flares"]) for x, y in flares)
        streams[f"SolarFlare, {name}"] = _taken(pairs)
    streams["Friedman"] = _taken(synth.Friedman(seed=1))
    gradual = synth.FriedmanDrift(drift_type="gra", position=(1000, 2000), seed=2)
    streams["Friedman, gradual drift"] = _taken(gradual)
    local = synth.FriedmanDrift(drift_type="lea", position=(1000, 1500, 2000), seed=2)
    streams["Friedman, local drift"] = _taken(local)
    streams["Mv"] = _taken(synth.Mv(seed=3))
    streams["Planes2D"] = _taken(synth.Planes2D(seed=4))
    for seed, (name, make) in enumerate(_FIRST.items(), 10):
        streams[name] = _made(seed, make)
    return streams


def judged_by() -> Streams:
    """Those that were not looked at before the rules were fixed."""
    datasets, _ = _river()
    streams: Streams = {}
    lines = [json.loads(line) for line in (EXAMPLES / "sensor.jsonl").open()]
    lines = [line for line in lines if line.get("flow") is not None]
    streams["examples/sensor.jsonl"] = _of_column(lines, "flow")
    streams["SP500Stocks, AAPL"] = _of_column([x for x, _ in datasets.SP500Stocks()], "AAPL")
    shuttle = [x for x, _ in islice(datasets.Shuttle(), LONGEST)]
    for column in list(shuttle[0])[:2]:
        streams[f"Shuttle, {column}"] = _of_column(shuttle, column)
    segments = [x for x, _ in datasets.ImageSegments()]
    streams["ImageSegments, hue-mean"] = _of_column(segments, "hue-mean")
    streams["Bananas, 2 from 1"] = _of_column([x for x, _ in datasets.Bananas()], "2")
    streams["Phishing as a number"] = _taken(datasets.Phishing())
    X, y = ecg()
    streams["ECG, the next sample"] = _table(X[:LONGEST], y[:LONGEST])
    for seed, (name, make) in enumerate(_SECOND.items(), 100):
        streams[name] = _made(seed, make)
    return streams


def _river() -> tuple[Any, Any]:
    if not hasattr(csv.DictReader, "__class_getitem__"):  # river 0.26 needs it on Python 3.11
        csv.DictReader.__class_getitem__ = classmethod(lambda cls, item: cls)  # type: ignore
    from river import datasets
    from river.datasets import synth

    return datasets, synth


def _taken(pairs: Iterable[tuple[dict[Any, Any], Any]]) -> tuple[Rows, Array]:
    """Rows and targets of a data set of river."""
    rows, targets = [], []
    for x, y in islice(pairs, LONGEST):
        rows.append({str(k): _plain(v) for k, v in x.items()})
        targets.append(float(y))
    return rows, np.array(targets)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, (datetime.date, datetime.datetime)) else value


def _of_column(rows: Rows, target: str) -> tuple[Rows, Array]:
    """A stream of rows, one of whose numbers is to be predicted from the others."""
    rows = [{str(k): _plain(v) for k, v in row.items()} for row in rows[:LONGEST]]
    y = np.array([float(row[target]) for row in rows])
    return [{k: v for k, v in row.items() if k != target} for row in rows], y


def _table(X: Array, y: Array) -> tuple[Rows, Array]:
    names = [f"x{i}" for i in range(X.shape[1])]
    return [dict(zip(names, x, strict=True)) for x in X.tolist()], y


Make = Callable[[Any, Array, Array, Array], Array]


def _made(seed: int, make: Make, n: int = 2000) -> tuple[Rows, Array]:
    """Three inputs, a rule f of them, noise e, and a target that is made of these."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    e = rng.normal(size=n)
    return _table(X, make(rng, X, f, e))


def _autoregressive(rate: float, steps: Array) -> Array:
    y = np.zeros(len(steps))
    for t in range(1, len(y)):
        y[t] = rate * y[t - 1] + steps[t]
    return y


def _season(length: int, n: int, amplitude: float) -> Array:
    return amplitude * np.sin(2 * np.pi * np.arange(n) / length)


_FIRST: dict[str, Make] = {
    "random walk": lambda rng, X, f, e: np.cumsum(e),
    "rule + random walk": lambda rng, X, f, e: f + np.cumsum(0.3 * e),
    "noise": lambda rng, X, f, e: 10 + e,
    "autoregressive": lambda rng, X, f, e: _autoregressive(0.9, e),
    "rule + autoregressive": lambda rng, X, f, e: f + _autoregressive(0.7, 0.5 * e),
    "rule + levels": lambda rng, X, f, e: (
        f + np.repeat(5 * rng.normal(size=20), len(e) // 20) + 0.3 * e
    ),
    "rare events": lambda rng, X, f, e: 100.0 * (rng.random(len(e)) < 0.01) + 0.1 * e,
    "rule, heavy tails": lambda rng, X, f, e: f + rng.standard_t(2, size=len(e)),
    "rule + trend": lambda rng, X, f, e: 0.01 * np.arange(len(e)) + 0.3 * e + 0.5 * f,
    "rule": lambda rng, X, f, e: f + 0.3 * e,
    "only upwards": lambda rng, X, f, e: np.cumsum(np.abs(e)),
    "rule that flips": lambda rng, X, f, e: (
        np.where(np.arange(len(e)) // 250 % 2 == 0, f, -f) + 0.2 * e
    ),
}

_SECOND: dict[str, Make] = {
    "season without input": lambda rng, X, f, e: _season(60, len(e), 3.0) + 0.3 * e,
    "rule + season": lambda rng, X, f, e: f + _season(200, len(e), 2.0) + 0.2 * e,
    "slow walk in noise": lambda rng, X, f, e: np.cumsum(0.05 * rng.normal(size=len(e))) + e,
    "growth": lambda rng, X, f, e: np.exp(0.003 * np.arange(len(e)) + 0.05 * e),
    "rule, noise grows": lambda rng, X, f, e: f + e * np.linspace(0.1, 2, len(e)),
    "rule that turns slowly": lambda rng, X, f, e: (
        X[:, 0] * np.cos(np.arange(len(e)) / 300)
        + X[:, 1] * np.sin(np.arange(len(e)) / 300)
        + 0.1 * e
    ),
    "telegraph": lambda rng, X, f, e: (
        3.0 * (np.cumsum(rng.random(len(e)) < 0.02) % 2) + 0.2 * e + 0.3 * f
    ),
    "outliers": lambda rng, X, f, e: f + 0.1 * e + 50 * e * (rng.random(len(e)) < 0.005),
    "counts": lambda rng, X, f, e: rng.poisson(np.exp(0.5 * f)).astype(float),
    "calm, then a walk": lambda rng, X, f, e: np.cumsum(e * (np.arange(len(e)) > 1000)) + 0.1 * e,
}
