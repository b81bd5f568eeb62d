"""Kernels for single rows, loaded before the first of them comes."""

from __future__ import annotations

import numpy as np

from ..elm import ELMClassifier, ELMRegressor

# Single rows after which kernels are certainly in use.
_ROWS_THAT_LOAD = 64


def load_kernels() -> None:
    """Have all that single rows need compiled or loaded before anyone waits for it."""
    X = np.random.default_rng(0).normal(size=(_ROWS_THAT_LOAD, 2))
    for model in (ELMRegressor(4, random_state=0), ELMClassifier(4, random_state=0)):
        y = X[:, 0] > 0
        model.fit(X, y if isinstance(model, ELMClassifier) else X[:, 0])
        for x, target in zip(X, model.predict(X), strict=True):
            model.predict_one(x)
            model.learn_one(x, target)
