"""Rows that a signal handler learns while the first rows of a model are made ready."""

import numpy as np
import pytest
from sklearn.base import clone

from greville import ELMClassifier, ELMRegressor, Opium, OpiumLight


@pytest.mark.parametrize(
    "model",
    [
        Opium("auto", intercept=True),
        OpiumLight(),
        ELMRegressor(10, random_state=0),
        ELMClassifier(10, random_state=0),
    ],
)
def test_the_first_rows_follow_those_of_a_signal_handler(model):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    model, expected = clone(model), clone(model)

    class Interrupting:
        """Rows that are ready only when a signal handler has learned others."""

        interrupts = 1

        def __array__(self, dtype=None, copy=None):
            if self.interrupts:
                self.interrupts = 0
                model.partial_fit(X[:40], y[:40])
            return X[40:]

    model.partial_fit(Interrupting(), y[40:])
    expected.partial_fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    assert model.n_samples_seen_ == 60
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
