"""Data for tests of clusters."""

from __future__ import annotations

import numpy as np
import pandas as pd

N = 3000


def numbers(n=N, seed=0):
    """Columns in different units, numeric targets, labels and weights."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5)) * [1, 10, 1000, 1, 1e-3] + [0, 50, 0, 7, 0]
    y = 10 * np.sin(X[:, 0]) + X[:, 1] + random.normal(size=n)
    labels = np.where(y > np.median(y), "above", np.where(X[:, 3] > 7, "right", "left"))
    return X, y, labels, random.uniform(0.5, 2, n)


def frame(n=N, seed=0):
    """The same as a data frame."""
    X, y, labels, weight = numbers(n, seed)
    names = [f"x{i}" for i in range(X.shape[1])]
    return pd.DataFrame(X, columns=names).assign(y=y, label=labels, weight=weight), names
