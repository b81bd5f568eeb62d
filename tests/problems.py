"""Rows to learn, and models that have learned them in pieces."""

import numpy as np
from sklearn.base import clone

from greville import DynamicOpium, Greville, Opium, OpiumLight, SlidingOpium


def problem(rng, n, M, N=2):
    """Activations with a mean, targets with noise."""
    H = np.tanh(rng.normal(0.3, 1.0, size=(n, M)))
    return H, H @ rng.normal(1.0, 1.0, size=(M, N)) + 0.1 * rng.normal(size=(n, N)) - 1.0


def learned(solver, H, Y, cuts=(), weight=None):
    model = clone(solver)
    for rows in np.split(np.arange(len(H)), cuts):
        if len(rows):
            w = None if weight is None else weight[rows]
            model.partial_fit(H[rows], Y[rows], sample_weight=w)
    return model


# One of each kind, and of each way it can be set to work.
ONLINE_SOLVERS = [
    Opium(1e-3),
    Opium(1e-6),
    Opium("auto"),
    Opium("auto", intercept=True),
    Opium(0.1, intercept=True),
    DynamicOpium(),
    DynamicOpium(1.05, 1e-3),
    DynamicOpium(1.01, floor=None),
    DynamicOpium(1.02, "auto"),
    DynamicOpium("auto"),
    SlidingOpium(50),
    Greville(),
    OpiumLight(0.5),
]
