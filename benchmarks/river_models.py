"""The models of `greville.adapters.river` next to linear models of river, on its own data.

    python -m benchmarks.river_models

Every row is predicted before it is learned. Prints the table of docs/river.md.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any, NamedTuple

if not hasattr(csv.DictReader, "__class_getitem__"):  # river 0.26 on Python 3.11
    csv.DictReader.__class_getitem__ = classmethod(lambda cls, _: cls)  # type: ignore[attr-defined]

from river import datasets, evaluate, linear_model, metrics, multiclass, preprocessing

from greville.adapters.river import Classifier, Regressor


class Case(NamedTuple):
    """A data set of river, how predictions are measured, and river's model."""

    data: Callable[[], Any]
    metric: Callable[[], Any]
    linear: Callable[[], Any]
    model: Callable[..., Any]


CASES = [
    Case(
        datasets.TrumpApproval,
        metrics.MAE,
        lambda: linear_model.LinearRegression(intercept_lr=0.1),
        Regressor,
    ),
    Case(datasets.ChickWeights, metrics.MAE, linear_model.LinearRegression, Regressor),
    Case(datasets.Phishing, metrics.Accuracy, linear_model.LogisticRegression, Classifier),
    Case(
        datasets.ImageSegments,
        metrics.Accuracy,
        lambda: multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
        Classifier,
    ),
]


def score(case: Case, model: Any) -> str:
    found = evaluate.progressive_val_score(case.data(), model, case.metric()).get()
    return f"{found:.3f}" if case.model is Regressor else f"{100 * found:.1f} %"


def main() -> None:
    for case in CASES:
        models = [
            case.model(),
            case.model(hidden="stream"),
            preprocessing.StandardScaler() | case.linear(),
        ]
        name = f"{case.data.__name__}, {case.data().n_samples:,} rows"
        cells = [name, case.metric.__name__, *(score(case, model) for model in models)]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
