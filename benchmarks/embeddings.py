"""Intents of an assistant as sentence embeddings: at once, and ten groups of classes in turn.

CLINC150 (Larson et al. 2019; CC BY 3.0), 150 intents, encoded by all-MiniLM-L6-v2: 384 numbers a
sentence. `$GREVILLE_DATA/clinc/clinc150-minilm.npz` has arrays `train`, `test`, `oos_test` and
labels `train_y`, `test_y`. The output is in docs/embeddings.md.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV, SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestCentroid

from greville import ELMClassifier, Opium, RandomLayer

from .measure import Array

GROUPS, GROUP = 10, 15


def run() -> None:
    """All of it."""
    data = _data()
    print("  all intents at once, 15,000 sentences")
    _others(data)
    for units in (0, 2000, 5000):
        _at_once(units, data)
    _at_once("auto", data)
    print("  ten groups of 15 intents, each learned once, in the order of the groups")
    for units in (2000, 5000):
        _in_groups(units, data)
    _other_in_groups(data)


def _data() -> dict[str, Array]:
    folder = os.environ.get("GREVILLE_DATA")
    path = Path(folder or ".") / "clinc" / "clinc150-minilm.npz"
    if folder is None or not path.exists():
        sys.exit("set GREVILLE_DATA to a folder that has clinc/clinc150-minilm.npz")
    with np.load(path, allow_pickle=False) as file:
        return {k: v.astype(np.float32) if v.dtype.kind == "f" else v for k, v in file.items()}


def layer(units: int | str) -> Any:
    """Rectified units, which suit embeddings a little better than tanh (on `val`: 95.6, 95.1 %)."""
    if units == 0:
        return None
    if isinstance(units, str):
        return units
    return RandomLayer(units, activation="relu", weights="normal", random_state=0)


def _others(data: dict[str, Array]) -> None:
    models: dict[str, Any] = {
        "logistic regression (C=10)": LogisticRegression(C=10, max_iter=1000),
        "RidgeClassifierCV": RidgeClassifierCV(),
        "nearest class mean": NearestCentroid(),
    }
    for name, model in models.items():
        start = time.perf_counter()
        model.fit(data["train"], data["train_y"])
        took = time.perf_counter() - start
        print(f"    {name}: {_accuracy(model, data):.1f} %, {took:.1f} s", flush=True)


def _at_once(units: int | str, data: dict[str, Array]) -> None:
    start = time.perf_counter()
    model = ELMClassifier(layer(units), random_state=0).fit(data["train"], data["train_y"])
    took = time.perf_counter() - start
    inside, outside = (model.decision_function(data[k]).max(axis=1) for k in ("test", "oos_test"))
    known = np.repeat([1, 0], [len(inside), len(outside)])
    area = roc_auc_score(known, np.concatenate([inside, outside]))
    print(
        f"    {units} units: {_accuracy(model, data):.1f} %, {took:.1f} s; out of scope by the "
        f"largest score: AUROC {area:.3f}",
        flush=True,
    )


def groups(labels: Array) -> list[Array]:
    """The rows of each group of intents, in random order."""
    random = np.random.RandomState(0)
    names = random.permutation(np.unique(labels))
    parts = [names[start : start + GROUP] for start in range(0, GROUP * GROUPS, GROUP)]
    return [random.permutation(np.flatnonzero(np.isin(labels, part))) for part in parts]


def _in_groups(units: int, data: dict[str, Array]) -> None:
    X, y = data["train"], data["train_y"]
    whole = ELMClassifier(layer(units)).fit(X, y)
    growing, took, met = ELMClassifier(layer(units)), [], []
    for rows in groups(y):
        start = time.perf_counter()
        growing.partial_fit(X[rows], y[rows])
        took.append(time.perf_counter() - start)
        known = np.isin(data["test_y"], growing.classes_)
        met.append(100 * growing.score(data["test"][known], data["test_y"][known]))
    print(
        f"    {units} units: {met[-1]:.2f} % at the end (at once {_accuracy(whole, data):.2f} %), "
        f"{np.mean(met):.1f} % on average; {min(took):.2f} to {max(took):.2f} s a group",
        flush=True,
    )
    if units > 2000:
        return
    X = X.astype(np.float64)
    fixed = Opium(whole.epsilon_, intercept=True)
    same = ELMClassifier(layer(units), fixed)
    for rows in groups(y):
        same.partial_fit(X[rows], y[rows])
    once = ELMClassifier(layer(units), fixed).fit(X, y)
    test = data["test"].astype(np.float64)
    apart = np.abs(same.decision_function(test) - once.decision_function(test)).max()
    print(f"      with the same epsilon, float64: scores differ by {apart:.1e}", flush=True)


def _other_in_groups(data: dict[str, Array]) -> None:
    X, y = data["train"], data["train_y"]
    classes = np.unique(y)
    model = SGDClassifier(loss="log_loss", random_state=0)
    for rows in groups(y):
        model.partial_fit(X[rows], y[rows], classes=classes)
    print(f"    SGDClassifier.partial_fit, no rows kept: {_accuracy(model, data):.1f} %")


def _accuracy(model: Any, data: dict[str, Array]) -> float:
    return float(100 * model.score(data["test"], data["test_y"]))
