"""Solvers are called as scikit-learn calls its regressors: fit(X, y), by position or by name."""

import inspect

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from greville import Batch, DynamicOpium, Greville, Opium, OpiumLight, SlidingOpium

SOLVERS = [Opium(), DynamicOpium(), SlidingOpium(50), OpiumLight(), Greville(), Batch()]


@pytest.mark.parametrize("model", SOLVERS, ids=str)
def test_rows_and_targets_are_called_x_and_y(model, rng):
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 2.0, 3.0]
    model.fit(X=X, y=y)
    assert model.predict(X=X).shape == y.shape
    assert model.score(X=X, y=y) > 0.9
    assert cross_val_score(model, X, y, params={"sample_weight": np.ones(60)}).mean() > 0.5
    for name in ("partial_fit", "prequential", "unlearn", "loo_predict"):
        if hasattr(model, name):
            getattr(model, name)(X=X, y=y, sample_weight=np.ones(60))
    if hasattr(model, "learn_one"):
        model.learn_one(x=X[0], y=y[0])
    assert np.isfinite(model.predict_one(x=X[0]))


@pytest.mark.parametrize("model", SOLVERS, ids=str)
def test_the_signature_is_that_of_scikit_learn(model):
    for name in ("fit", "partial_fit", "prequential", "unlearn", "score"):
        if hasattr(model, name):
            parameters = list(inspect.signature(getattr(model, name)).parameters)
            assert parameters[:3] == ["X", "y", "sample_weight"], name
