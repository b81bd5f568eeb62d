"""Accuracy of the defaults on public tables, next to models that are given scaled inputs.

Every method on the same five folds, on the same columns: an input of zeros and ones for each value
of a text. The tables for development, on which the defaults were chosen, and those that judge have
a mean rank each. The output is in docs/accuracy.md.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from greville import ELMClassifier, ELMRegressor

from .measure import Array
from .public_tables import Missing, Table, check_installed, public_tables

COSTS = [1, 10, 100]  # of the support vector machines, chosen by three folds


def _scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


def _scaled_target(model: Any) -> Any:
    return TransformedTargetRegressor(_scaled(model), transformer=StandardScaler())


# For classes and for numbers, by a seed.
METHODS: dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]] = {
    "greville": (
        lambda seed: ELMClassifier(random_state=seed),
        lambda seed: ELMRegressor(random_state=seed),
    ),
    "LogisticRegressionCV, RidgeCV": (
        lambda seed: _scaled(LogisticRegressionCV(max_iter=1000, cv=3)),
        lambda seed: _scaled(RidgeCV(np.logspace(-3, 4, 15))),
    ),
    "RandomForest": (
        lambda seed: RandomForestClassifier(random_state=seed),
        lambda seed: RandomForestRegressor(random_state=seed),
    ),
    "HistGradientBoosting": (
        lambda seed: HistGradientBoostingClassifier(random_state=seed),
        lambda seed: HistGradientBoostingRegressor(random_state=seed),
    ),
    "SVM": (
        lambda seed: GridSearchCV(_scaled(SVC()), {"svc__C": COSTS}, cv=3),
        lambda seed: GridSearchCV(_scaled_target(SVR()), {"regressor__svr__C": COSTS}, cv=3),
    ),
    "MLP": (
        lambda seed: _scaled(MLPClassifier(max_iter=500, random_state=seed)),
        lambda seed: _scaled_target(MLPRegressor(max_iter=500, random_state=seed)),
    ),
}


def run() -> None:
    """All tables, and the mean ranks of those that judge and of the others."""
    try:
        check_installed()
    except Missing as error:
        print(f"skipped: {error}")
        return
    found = []
    seconds = dict.fromkeys(METHODS, 0.0)
    for classes in (False, True):
        for table in public_tables(classes=classes):
            found.append((table, _scores(table, seconds)))
            print(f"  {table.name}: {' '.join(f'{s:.3f}' for s in found[-1][1])}", flush=True)
    for judges in (True, False):
        print("\ntables that judge" if judges else "\ntables for development")
        print("| | " + " | ".join(METHODS) + " |")
        print("|---" * (len(METHODS) + 1) + "|")
        some = [(table, scores) for table, scores in found if table.judges == judges]
        for table, scores in some:
            n, columns = table.X.shape
            cells = " | ".join(f"{score:.3f}" for score in scores)
            print(f"| {table.name}, {n} x {columns} | {cells} |")
        for what, kinds in (("numbers", [False]), ("classes", [True]), ("all", [False, True])):
            ranks = [_ranks(scores) for table, scores in some if table.classes in kinds]
            cells = " | ".join(f"{rank:.2f}" for rank in np.mean(ranks, axis=0))
            print(f"| mean rank, {what} | {cells} |")
    print("\n| seconds, all | " + " | ".join(f"{s:.0f}" for s in seconds.values()) + " |")


def _scores(table: Table, seconds: dict[str, float]) -> Array:
    """The mean accuracy or R² of each method over five folds."""
    kind = StratifiedKFold if table.classes else KFold
    folds = list(kind(5, shuffle=True, random_state=0).split(table.X, table.y))
    means = []
    for name, makers in METHODS.items():
        make, scores = makers[0 if table.classes else 1], []
        start = time.perf_counter()
        for seed, (train, test) in enumerate(folds):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an MLP that has not converged
                model = make(seed).fit(table.X[train], table.y[train])
                scores.append(model.score(table.X[test], table.y[test]))
        seconds[name] += time.perf_counter() - start
        means.append(np.mean(scores))
    return np.array(means)


def _ranks(scores: Array) -> Array:
    """1 for the best; equal ones share the mean of their ranks."""
    return np.array([1 + np.sum(scores > s) + (np.sum(scores == s) - 1) / 2 for s in scores])
