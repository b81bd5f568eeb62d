"""greville next to river's and MOA's models on river's own data and generators, losses included.

``make bench CASES=field`` prints the tables of docs/field.md and draws its picture. All models get
the same rows in the same order: each row is predicted, then learned. Generators and models have
three seeds. Times are processor time, of one process on one thread.

What was measured is kept in benchmarks/results/field.json. A second run measures what is missing
there, and greville again.
"""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from greville import ELMRegressor
from greville.adapters.river import Classifier, Regressor

ROWS, SEEDS = 5000, (1, 2, 3)
PREPARED = 1000  # rows from which the second model of intervals takes its layer
PYTHON_WITH_CAPYMOA = Path(".venv-capymoa/bin/python")
Pairs = list[tuple[dict[str, Any], Any]]
Found = dict[str, tuple[float, float]]  # "stream|model|seed": score, microseconds a row


def run(out: Path = Path("benchmarks/results")) -> None:
    """Measure what is missing, print the tables and draw the picture."""
    try:
        _river()
    except ImportError:
        print("river is not installed; `make bench` installs it.")
        return
    out.mkdir(parents=True, exist_ok=True)
    store = out / "field.json"
    found: Found = json.loads(store.read_text()) if store.exists() else {}
    found = {key: value for key, value in found.items() if "|greville|" not in key}
    jobs = [
        (stream, model, seed)
        for stream in STREAMS
        for model in MODELS[kind_of(stream)]
        for seed in SEEDS
        if _key(stream, model, seed) not in found
    ]
    with get_context("spawn").Pool(_processes(), maxtasksperchild=1) as pool:
        for key, measured in pool.imap_unordered(_measured, jobs):
            found[key] = measured
            store.write_text(json.dumps(found, indent=0, sort_keys=True))
    found |= _capymoa(found)
    store.write_text(json.dumps(found, indent=0, sort_keys=True))
    for kind in ("classes", "numbers"):
        print_table(kind, found)
    print_intervals()
    _draw(found, out / "field.png")
    print(f"the picture is {out / 'field.png'}")


def print_intervals(n: int = 40_000, burn_in: int = 10_000) -> None:
    """Width and coverage of intervals of 90 % on Friedman's function, whose noise is N(0, 1)."""
    pairs = list(islice(iter(_river()[1].Friedman(seed=1)), n))
    X, y = np.array([list(x.values()) for x, _ in pairs]), np.array([y for _, y in pairs])
    prepared = ELMRegressor(random_state=1).prepare(X[:PREPARED], y[:PREPARED])
    for name, model in (("as it comes", ELMRegressor(random_state=1)), ("prepared", prepared)):
        predicted, std = model.prequential(X, y, return_std=True)
        half = 1.6449 * std[burn_in:]
        covered = float((np.abs(y - predicted)[burn_in:] <= half).mean())
        width = f"width {2 * half.mean():.2f} (ideal 3.29), coverage {covered:.3f}"
        print(f"intervals of 90 %, {name}, {model.solver_.coef_.shape[-1]} units: {width}")


def _processes() -> int:
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)


def _key(stream: str, model: str, seed: int) -> str:
    return f"{stream}|{model}|{seed}"


# Streams


def _river() -> tuple[Any, Any]:
    if not hasattr(csv.DictReader, "__class_getitem__"):  # river 0.26.0 needs it on Python 3.11
        csv.DictReader.__class_getitem__ = classmethod(lambda cls, item: cls)  # type: ignore
    from river import datasets
    from river.datasets import synth

    return datasets, synth


def _drifting(first: Any, second: Any, seed: int) -> Any:
    """Half of the rows by one rule, then another, which takes over in some 500 rows."""
    _, synth = _river()
    return synth.ConceptDriftStream(first, second, position=ROWS // 2, width=500, seed=seed)


def _sea(variant: int, seed: int) -> Any:
    return _river()[1].SEA(variant, noise=0.1, seed=seed)


def _agrawal(rule: int, seed: int) -> Any:
    return _river()[1].Agrawal(rule, seed=seed, perturbation=0.05)


def _friedman(drift: str, position: tuple[int, ...], seed: int) -> Any:
    synth = _river()[1]
    return synth.FriedmanDrift(drift, position=position, transition_window=500, seed=seed)


STREAMS: dict[str, Callable[[int], Any]] = {
    "Bananas": lambda seed: _river()[0].Bananas(),
    "Phishing": lambda seed: _river()[0].Phishing(),
    "ImageSegments": lambda seed: _river()[0].ImageSegments(),
    "SEA": lambda seed: _sea(0, seed),
    "SEA, drift": lambda seed: _drifting(_sea(0, seed), _sea(2, seed), seed),
    "Agrawal": lambda seed: _agrawal(5, seed),
    "Agrawal, drift": lambda seed: _drifting(_agrawal(0, seed), _agrawal(5, seed), seed),
    "LED": lambda seed: _river()[1].LED(seed, 0.1, True),
    "LED, drift": lambda seed: _drifting(
        _river()[1].LED(seed, 0.1, True), _river()[1].LEDDrift(seed, 0.1, True, 5), seed
    ),
    "RandomRBF": lambda seed: _river()[1].RandomRBF(seed, seed, 4),
    "RandomRBF, drift": lambda seed: _river()[1].RandomRBFDrift(
        seed, seed, 4, change_speed=0.001, n_drift_centroids=50
    ),
    "Hyperplane, drift": lambda seed: _river()[1].Hyperplane(seed, mag_change=0.001),
    "TrumpApproval": lambda seed: _river()[0].TrumpApproval(),
    "ChickWeights": lambda seed: _river()[0].ChickWeights(),
    "Friedman": lambda seed: _river()[1].Friedman(seed=seed),
    "Friedman, gradual drift": lambda seed: _friedman("gra", (1500, 3500), seed),
    "Friedman, local drift": lambda seed: _friedman("lea", (1250, 2500, 3750), seed),
    "Friedman, abrupt drift": lambda seed: _friedman("gsg", (1500, 3500), seed),
}
NUMBERS = ("TrumpApproval", "ChickWeights", "Friedman")


def kind_of(stream: str) -> str:
    """Whether a stream has numbers or classes to predict."""
    return "numbers" if stream.split(",", maxsplit=1)[0] in NUMBERS else "classes"


def pairs_of(stream: str, seed: int) -> Pairs:
    """The rows and targets of a stream."""
    return list(islice(iter(STREAMS[stream](seed)), ROWS))


# Models


class LastTarget:
    """The target before: the simplest model of a stream of numbers."""

    def __init__(self) -> None:
        self.last = 0.0

    def predict_one(self, x: Any) -> float:
        return self.last

    def learn_one(self, x: Any, y: float) -> None:
        self.last = y


def _scaled(model: Any) -> Any:
    from river.preprocessing import StandardScaler

    return StandardScaler() | model


def _imported(path: str) -> Any:
    import importlib

    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(f"river.{module}"), name)


def _mean() -> Any:
    return _imported("dummy.StatisticRegressor")(_imported("stats.Mean")())


def _logistic() -> Any:
    each = _imported("linear_model.LogisticRegression")()
    return _scaled(_imported("multiclass.OneVsRestClassifier")(each))


def _srp(kind: str, seed: int) -> Any:
    """Ten trees; trees and drift detectors as river's class has them."""
    return _imported(f"ensemble.SRP{kind}")(n_models=10, seed=seed)


MODELS: dict[str, dict[str, Callable[[int], Any]]] = {
    "classes": {
        "greville": lambda seed: Classifier(seed=seed),
        "no change": lambda seed: _imported("dummy.NoChangeClassifier")(),
        "most frequent": lambda seed: _imported("dummy.PriorClassifier")(),
        "linear": lambda seed: _logistic(),
        "kNN": lambda seed: _scaled(_imported("neighbors.KNNClassifier")()),
        "HAT": lambda seed: _imported("tree.HoeffdingAdaptiveTreeClassifier")(seed=seed),
        "AMF": lambda seed: _imported("forest.AMFClassifier")(n_estimators=10, seed=seed),
        "ARF": lambda seed: _imported("forest.ARFClassifier")(n_models=10, seed=seed),
        "SRP": lambda seed: _srp("Classifier", seed),
    },
    "numbers": {
        "greville": lambda seed: Regressor(seed=seed),
        "no change": lambda seed: LastTarget(),
        "mean": lambda seed: _mean(),
        "linear": lambda seed: _scaled(_imported("linear_model.LinearRegression")()),
        "kNN": lambda seed: _scaled(_imported("neighbors.KNNRegressor")()),
        "HAT": lambda seed: _imported("tree.HoeffdingAdaptiveTreeRegressor")(seed=seed),
        "AMF": lambda seed: _imported("forest.AMFRegressor")(n_estimators=10, seed=seed),
        "ARF": lambda seed: _imported("forest.ARFRegressor")(n_models=10, seed=seed),
        "SRP": lambda seed: _srp("Regressor", seed),
    },
}
OF_MOA = ("ARF of MOA", "SRP of MOA")  # for classes: benchmarks/capymoa_models.py


def _measured(job: tuple[str, str, int]) -> tuple[str, tuple[float, float]]:
    """The score of a model on a stream, and its microseconds a row."""
    stream, name, seed = job
    kind = kind_of(stream)
    pairs, model = pairs_of(stream, seed), MODELS[kind][name](seed)
    predictions, start = [], time.process_time()
    for x, y in pairs:
        predictions.append(model.predict_one(x))
        model.learn_one(x, y)
    elapsed = time.process_time() - start
    return _key(*job), (_score(kind, pairs, predictions), 1e6 * elapsed / len(pairs))


def _score(kind: str, pairs: Pairs, predictions: list[Any]) -> float:
    """The accuracy in percent, or the mean absolute error; the first row counts too."""
    both = zip(pairs, predictions, strict=True)
    if kind == "classes":
        return 100 * fmean(float(predicted == y) for (_, y), predicted in both)
    return fmean(abs((predicted or 0.0) - y) for (_, y), predicted in both)


def _capymoa(found: Found) -> Found:
    """What is missing of MOA's models, in the environment that has CapyMOA."""
    streams = [stream for stream in STREAMS if kind_of(stream) == "classes"]
    missing = [
        (stream, seed)
        for stream in streams
        for seed in SEEDS
        if any(_key(stream, model, seed) not in found for model in OF_MOA)
    ]
    if not missing or not _has_capymoa():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        for stream, seed in missing:
            pairs = pairs_of(stream, seed)
            X = np.array([[float(value) for value in x.values()] for x, _ in pairs])
            _, y = np.unique([str(y) for _, y in pairs], return_inverse=True)
            np.savez(Path(folder) / f"{stream}|{seed}.npz", X=X, y=y)
        command = [str(PYTHON_WITH_CAPYMOA), "-m", "benchmarks.capymoa_models", folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    measured: Found = json.loads(done.stdout.splitlines()[-1])
    return measured


def _has_capymoa() -> bool:
    if not PYTHON_WITH_CAPYMOA.exists():
        return False
    tried = [str(PYTHON_WITH_CAPYMOA), "-c", "import capymoa.stream"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


# Tables and picture


def _means(kind: str, found: Found) -> Iterator[tuple[str, dict[str, tuple[float, float]]]]:
    """For each stream, the mean score and time of each model over the seeds."""
    models = [*MODELS[kind], *(OF_MOA if kind == "classes" else ())]
    for stream in STREAMS:
        if kind_of(stream) != kind:
            continue
        row = {}
        for model in models:
            values = [found[key] for s in SEEDS if (key := _key(stream, model, s)) in found]
            if len(values) == len(SEEDS):
                row[model] = fmean(v[0] for v in values), fmean(v[1] for v in values)
        yield stream, row


def print_table(kind: str, found: Found) -> None:
    """A table in Markdown, the best score of each stream in bold."""
    means = dict(_means(kind, found))
    models = [m for m in (*MODELS[kind], *OF_MOA) if any(m in row for row in means.values())]
    best, digits = (max, 1) if kind == "classes" else (min, 3)
    print("| stream | " + " | ".join(models) + " |")
    print("|---" * (len(models) + 1) + "|")
    for stream, row in means.items():
        top = round(best(score for score, _ in row.values()), digits)
        cells = []
        for model in models:
            score = round(row[model][0], digits) if model in row else math.nan
            text = f"{score:.{digits}f}"
            cells.append(f"**{text}**" if score == top else text)
        print(f"| {stream} | " + " | ".join(cells) + " |")
    ranks, times = _ranks(kind, means), _times(means)
    print("| mean rank | " + " | ".join(f"{ranks[model]:.1f}" for model in models) + " |")
    print("| µs a row | " + " | ".join(f"{times[model]:,.0f}" for model in models) + " |")
    print()


def _ranks(kind: str, means: dict[str, dict[str, tuple[float, float]]]) -> dict[str, float]:
    """The mean rank of each model; equal scores share their ranks."""
    sign = -1 if kind == "classes" else 1
    ranks: dict[str, list[float]] = {}
    for row in means.values():
        for model, (score, _) in row.items():
            better = sum(sign * other < sign * score for other, _ in row.values())
            same = sum(other == score for other, _ in row.values())
            ranks.setdefault(model, []).append(better + (same + 1) / 2)
    return {model: fmean(values) for model, values in ranks.items()}


def _times(means: dict[str, dict[str, tuple[float, float]]]) -> dict[str, float]:
    """The geometric mean of the microseconds a row."""
    logs: dict[str, list[float]] = {}
    for row in means.values():
        for model, (_, microseconds) in row.items():
            logs.setdefault(model, []).append(math.log(max(microseconds, 0.1)))
    return {model: math.exp(fmean(values)) for model, values in logs.items()}


def _draw(found: Found, path: Path) -> None:
    """Mean rank against time, a point for each model."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, kind in zip(figure.subplots(1, 2), ("classes", "numbers"), strict=True):
        means = dict(_means(kind, found))
        ranks, times = _ranks(kind, means), _times(means)
        for model, rank in ranks.items():
            own = model == "greville"
            axes.scatter(times[model], rank, s=60 if own else 30, color="C3" if own else "C0")
            axes.annotate(
                model,
                (times[model], rank),
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                fontweight="bold" if own else "normal",
            )
        axes.set(xscale="log", xlabel="µs a row, predicted and learned", ylabel="mean rank")
        axes.invert_yaxis()
        axes.margins(0.12)
        axes.set_title(f"{len(means)} streams of {kind}")
    figure.savefig(path, dpi=150)
