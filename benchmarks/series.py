"""Time series next to aeon: accuracy, features, fits; and very many series in constant memory.

`make bench CASES=series` has an environment of its own, since aeon needs an older numba. The data
come with aeon: seven problems of the UCR and UEA archives (Dau et al. 2019; Bagnall et al. 2018).

`CASES=many-series` needs no other library: $GREVILLE_CASES synthetic series of length 128 (20,000
by default), $GREVILLE_UNITS units (2,016; MiniRocket has 9,996), on $GREVILLE_DEVICE.
"""

from __future__ import annotations

import os
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifierCV, SGDClassifier

from greville import MiniRocketLayer, TimeSeriesClassifier
from greville.compiled import proportions_kernel

from .measure import Array

PROBLEMS = (
    *("ACSF1", "ArrowHead", "BasicMotions", "GunPoint", "ItalyPowerDemand", "JapaneseVowels"),
    "OSULeaf",
)
SEEDS, LENGTH, CHUNK = 5, 128, 2000
SHAPES = ((1000, 1, 24), (500, 1, 128), (200, 1, 500), (200, 6, 100))


def run() -> None:
    """Accuracy, and processor time as ratios, on one thread."""
    from aeon.classification.convolution_based import MiniRocketClassifier
    from aeon.transformations.collection.convolution_based import MiniRocket

    warnings.simplefilter("ignore")
    proportions_kernel(1 << 40)  # it is loaded before the clock runs
    print("  features: greville's processor time as a part of aeon's, one thread, the median of 5")
    for shape in SHAPES:
        X = np.random.default_rng(0).normal(size=shape).cumsum(axis=2).astype(np.float32)
        theirs, ours = MiniRocket(random_state=0).fit(X), MiniRocketLayer(random_state=0).fit(X)
        times = [[_took(m.transform, X)[1] for m in (theirs, ours)] for _ in range(6)][1:]
        a, b = np.median(times, axis=0)
        print(f"    {shape}: {b / a:.2f} ({1e3 * b / len(X):.3f} ms a series)", flush=True)
    print("  accuracy over 5 seeds; fit and predict: greville's processor time over aeon's;")
    print("  readout: fit of the weights alone over RidgeClassifierCV on the same features")
    means = []
    for name in PROBLEMS:
        (X, y), (T, labels) = _problem(name)
        scores, times = [], []
        for seed in range(SEEDS):
            theirs, fit = _took(MiniRocketClassifier(random_state=seed).fit, X, y)
            predicted, predict = _took(theirs.predict, T)
            ours, own_fit = _took(TimeSeriesClassifier(random_state=seed).fit, X, y)
            own, own_predict = _took(ours.predict, T)
            readout = _readout(ours, X, y)
            scores.append([np.mean(predicted == labels), np.mean(own == labels)])
            times.append([own_fit / fit, own_predict / predict, readout])
        a, b = 100 * np.mean(scores, axis=0)
        means.append([a, b])
        ratios = "fit {:.2f}, predict {:.2f}, readout {:.2f}".format(*np.median(times, axis=0))
        print(f"    {name} {X.shape}: aeon {a:.2f} %, greville {b:.2f} %; {ratios}", flush=True)
    a, b = np.mean(means, axis=0)
    print(f"    mean: aeon {a:.2f} %, greville {b:.2f} %")


def _took(work: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    start = time.process_time()
    found = work(*args)
    return found, time.process_time() - start


def _readout(model: TimeSeriesClassifier, X: Array, y: Array) -> float:
    from greville import ELMClassifier

    H = model.hidden_.transform(X)
    _, theirs = _took(RidgeClassifierCV(alphas=np.logspace(-3, 3, 10)).fit, H, y)
    return _took(ELMClassifier(None, standardize=False).fit, H, y)[1] / theirs


def _problem(name: str) -> list[tuple[Array, Array]]:
    """The rows to learn and to predict, with zeros after shorter series."""
    from aeon.datasets import load_classification

    parts = [load_classification(name, split=split) for split in ("train", "test")]
    length = max(x.shape[1] for X, _ in parts for x in X)
    return [
        (np.array([np.pad(x, ((0, 0), (0, length - x.shape[1]))) for x in X], np.float32), y)
        for X, y in parts
    ]


def many() -> None:
    """Series that never are in memory together; a stochastic gradient on the same features."""
    n, units = (
        int(os.environ.get(name, default))
        for name, default in (("GREVILLE_CASES", "20000"), ("GREVILLE_UNITS", "2016"))
    )
    device = os.environ.get("GREVILLE_DEVICE")
    layer = MiniRocketLayer(units, random_state=0)
    model = TimeSeriesClassifier(layer, random_state=0, device=device)
    start, seen = time.perf_counter(), 0
    chunk = max(CHUNK, 2 * units)  # a Gram matrix pays
    for X, y in chunks(n, chunk=chunk):
        model.partial_fit(X, y)
        seen += len(y)
        if seen == n or seen == chunk * (n // chunk // 2):
            took = time.perf_counter() - start
            print(f"    {seen:,} series: {took:.0f} s, at most {_peak():.2f} GB", flush=True)
    print(f"    all features of {n:,} series at once would be {4e-9 * n * units:.1f} GB of float32")
    X, y = next(chunks(5000, seed=1, chunk=5000))
    print(f"    greville: {100 * model.score(X, y):.2f} %", flush=True)
    sgd, start = SGDClassifier(random_state=0), time.perf_counter()
    for rows, labels in chunks(n):
        sgd.partial_fit(model.hidden_.transform(rows), labels, classes=np.arange(4))
    took = time.perf_counter() - start
    score = 100 * sgd.score(model.hidden_.transform(X), y)
    print(f"    SGDClassifier.partial_fit on the same features: {score:.2f} %, {took:.0f} s")


def chunks(n: int, seed: int = 0, chunk: int = CHUNK) -> Iterator[tuple[Array, Array]]:
    """Four kinds of waves in noise, some at a time."""
    rng, t = np.random.default_rng(seed), np.arange(LENGTH)
    for start in range(0, n, chunk):
        y = rng.integers(4, size=min(chunk, n - start))
        phase = rng.uniform(0, 2 * np.pi, size=(len(y), 2, 1))
        first = np.sin(t / np.where(y % 2, 3.0, 3.4)[:, None] + phase[:, 0])
        second = np.sin(t / np.where(y // 2, 7.0, 8.0)[:, None] + phase[:, 1])
        noise = rng.normal(size=(len(y), LENGTH))
        yield (first + second + 2.0 * noise).astype(np.float32), y


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
