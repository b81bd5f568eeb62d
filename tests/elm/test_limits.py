"""What memory cannot hold, and numbers that are too large, are refused."""

import numpy as np
import pytest
from scipy import sparse

from greville import ELMClassifier, ELMRegressor, FourierLayer, RandomLayer, validation

from ..posix import resource

EMPTY = sparse.csr_matrix((3, 10**9))


@pytest.mark.posix("limits of resources")
@pytest.mark.host
@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: ELMRegressor().fit(EMPTY, [1, 2, 3]), "1,000,000,000 columns"),
        (lambda: ELMRegressor(3, "light").fit(EMPTY, [1, 2, 3]), "hidden=3"),
        (lambda: ELMClassifier(5).partial_fit(EMPTY, [1, 2, 3]), "hidden=5"),
        (lambda: RandomLayer(100).fit(EMPTY), "n_hidden=100"),
        (lambda: FourierLayer(100).fit(EMPTY), "n_hidden=100"),
        (lambda: ELMRegressor(FourierLayer(9)).fit(EMPTY, [1, 2, 3]), "1,000,000,000 columns"),
        (lambda: ELMRegressor(200_000).fit(np.ones((3, 2)), [1, 2, 3]), "hidden=200000"),
        (lambda: ELMRegressor(200_000).learn_one(np.ones(2), 1.0), "hidden=200000"),
        (lambda: ELMClassifier(200_000).fit(np.ones((3, 2)), [1, 2, 3]), "hidden=200000"),
    ],
)
def test_what_memory_cannot_hold_is_said_before_it_is_taken(call, named, monkeypatch):
    monkeypatch.setattr(validation, "_memory", lambda: 16e9)  # whatever this machine has
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(MemoryError, match=r"this takes [\d.,]+ [GT]B of memory") as error:
        call()
    assert named in str(error.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 18  # kilobytes


@pytest.mark.host
def test_messages_have_the_numbers_that_were_passed():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    model = ELMRegressor(10, random_state=0).partial_fit(X, 1e-160 * X[:, 0])
    for learn in (
        lambda: model.partial_fit(X[:1], [1e3]),
        lambda: model.learn_one(X[0], 1e3),
    ):
        with pytest.raises(ValueError, match=r"^y: got numbers from 1e\+03 to 1e\+03, which"):
            learn()
    relu = ELMRegressor(RandomLayer(10, activation="relu", random_state=0)).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"X, as it was passed, has numbers from 1e\+200 to 1e"):
        relu.predict(np.full((1, 2), 1e200))
