"""Measures of the quality of predictions, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score

# What every model must beat.
BASELINES = {"regression": "always the mean", "classification": "the most frequent class"}


def measures_of(
    y: Any, predicted: Any, proba: Any = None, classes: Sequence[Any] | None = None
) -> dict[str, float]:
    """Accuracy and, with probabilities, log loss; of numbers (without classes) three errors."""
    if classes is None:
        rmse = float(np.sqrt(np.mean((y - predicted) ** 2)))
        size = float(mean_absolute_error(y, predicted))
        return {"RMSE": rmse, "mean size": size, "R²": float(r2_score(y, predicted))}
    measures = {"accuracy": float(accuracy_score(y, predicted))}
    if proba is not None:
        places = {label: i for i, label in enumerate(classes)}
        at = np.array([places.get(label, -1) for label in y.tolist()])
        chances = np.where(at >= 0, proba[np.arange(len(at)), at], 0.0)
        measures["log loss"] = float(-np.log(np.maximum(chances, 1e-15)).mean())
    return measures
