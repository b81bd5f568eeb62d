"""The delay until a change is detected: DriftMonitor next to ADWIN and Page-Hinkley of river.

All get the same errors, divided by their predicted standard deviations. Each has the most sensitive
setting of a list that raises at most a few false alarms on streams without a change.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from greville import DynamicOpium, RandomLayer
from greville.datasets import sine_switch
from greville.monitor import DriftMonitor

from .measure import Array

LENGTH, CHANGE, STREAMS, FALSE_ALARMS = 4000, 2000, 40, 3
Detector = Callable[[Array], list[int]]


def run() -> None:
    if not hasattr(
        csv.DictReader, "__class_getitem__"
    ):  # river 0.26 needs it, and Python 3.11 does not have it
        csv.DictReader.__class_getitem__ = classmethod(lambda cls, item: cls)  # type: ignore
    try:
        from river.drift import ADWIN, PageHinkley
    except ImportError:
        print("river is not installed; `make bench` installs it.")
        return

    def alarms_of(make: Callable[[], Any]) -> Detector:
        def alarms(sizes: Array) -> list[int]:
            detector, found = make(), []
            for k, size in enumerate(sizes):
                detector.update(float(size))
                if detector.drift_detected:
                    found.append(k)
            return found

        return alarms

    quiet = [np.abs(z) for z in _linear(np.zeros_like)]

    def false_alarms(detector: Detector) -> int:
        return sum(k > 200 for sizes in quiet for k in detector(sizes))

    def ours(rate: float) -> Detector:
        return lambda sizes: list(DriftMonitor(rate).update_many(sizes))

    candidates = {
        "DriftMonitor": [ours(rate) for rate in (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)],
        "ADWIN": [alarms_of(partial(ADWIN, delta=d)) for d in (0.5, 0.1, 0.02, 2e-3, 1e-4, 1e-6)],
        "Page-Hinkley": [
            alarms_of(partial(PageHinkley, threshold=t, min_instances=30))
            for t in (2, 5, 10, 20, 30, 50, 100, 200)
        ],
    }
    detectors = {
        name: next(d for d in settings if false_alarms(d) <= FALSE_ALARMS)
        for name, settings in candidates.items()
    }
    print(f"false alarms in {STREAMS} streams of {LENGTH} samples: ", end="")
    print(", ".join(f"{name} {false_alarms(d)}" for name, d in detectors.items()))
    print("samples from the change to the alarm, median (not found)")
    print(f"{'':24}" + "".join(f"{name:>18}" for name in detectors))
    streams = {
        "the paper's sine": list(_sine()),
        "another rule at once": list(_linear(lambda k: (k >= CHANGE) * 1.0)),
        "slowly, in 1000 samples": list(_linear(lambda k: np.clip((k - CHANGE) / 1000, 0, 1))),
    }
    for name, errors in streams.items():
        cells = []
        for detector in detectors.values():
            delays = [_delay(detector(np.abs(z))) for z in errors]
            missed = sum(np.isinf(delays))
            cells.append(f"{np.median(delays):.0f} ({missed})")
        print(f"{name:24}" + "".join(f"{cell:>18}" for cell in cells))


def _delay(alarms: list[int]) -> float:
    return min((k - CHANGE for k in alarms if k >= CHANGE), default=float("inf"))


def _sine() -> Iterator[Array]:
    X, y = sine_switch(LENGTH, change=CHANGE)
    for seed in range(10):
        H = RandomLayer(100, random_state=seed).fit_transform(X)
        yield _normalised(DynamicOpium(1.003, 10.0), H, y)


def _linear(progress: Callable[[Array], Array]) -> Iterator[Array]:
    """A linear rule that changes into another, learned with a memory of 1000 rows."""
    share = progress(np.arange(LENGTH))[:, None]
    for seed in range(STREAMS):
        rng = np.random.default_rng(seed)
        H = rng.normal(size=(LENGTH, 10))
        W, V = rng.normal(size=(2, 10))
        y = np.einsum("ij,ij->i", H, (1 - share) * W + share * V) + rng.normal(size=LENGTH)
        yield _normalised(DynamicOpium(1.001), H, y)


def _normalised(model: DynamicOpium, H: Array, y: Array) -> Array:
    predicted, std = model.prequential(H, y, return_std=True)
    return np.divide(y - predicted, std, out=np.zeros(len(y)), where=std > 0)
