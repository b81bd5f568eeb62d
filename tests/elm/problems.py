"""Small problems, and the solvers that learn online, for the tests of the estimators."""

import numpy as np

from greville import DynamicOpium, Greville, Opium, OpiumLight

SOLVERS = [Opium(0.2), Greville(), OpiumLight(0.5), DynamicOpium(1.01, 0.2, 1e-3)]


def regression(rng, n=300, outputs=2):
    """Odd functions: the units have no bias."""
    X = rng.normal(size=(n, 4))
    return X, 3 * np.sin(X @ rng.normal(0, 0.5, size=(4, outputs)))


def classification(rng, n=300, classes=4):
    X = rng.normal(size=(n, 4))
    return X, (X @ rng.normal(size=(4, classes))).argmax(axis=1)
