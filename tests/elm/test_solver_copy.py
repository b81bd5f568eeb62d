"""`solver_` is a copy: to read it changes nothing, and neither does what is done with it."""

import numpy as np
import pytest

import greville
from greville import DynamicOpium, ELMClassifier, ELMRegressor


@pytest.mark.parametrize("solver", ["opium", "light", DynamicOpium(1.003, 0.1)], ids=str)
def test_reading_changes_nothing(rng, either_way, solver, tmp_path):
    X = 100 * rng.normal(size=(1700, 3))
    y = np.sin(X[:, 0] / 100)
    seen, unseen = (ELMRegressor(12, solver, random_state=0).fit(X[:1200], y[:1200]) for _ in "ab")
    for i in range(1200, 1500):
        seen.learn_one(X[i], y[i])
        unseen.learn_one(X[i], y[i])
        if i % 100 == 0:
            assert seen.solver_.n_samples_seen_ == i + 1
            assert (seen._live is None) == (unseen._live is None)
    np.testing.assert_allclose(seen.predict(X), unseen.predict(X), rtol=1e-9, atol=1e-9)
    greville.save(seen, tmp_path / "m")
    loaded = greville.load(tmp_path / "m")
    for i in range(1500, 1700):
        seen.learn_one(X[i], y[i])
        loaded.learn_one(X[i], y[i])
    np.testing.assert_array_equal(seen.predict(X), loaded.predict(X))


def test_nothing_that_is_done_with_it_counts(rng):
    X = rng.normal(size=(60, 3))
    for model in (
        ELMRegressor(8, "light", random_state=0).fit(X, X[:, 0]),
        ELMClassifier(8, "light", random_state=0).fit(X, X[:, 0] > 0),
    ):
        before = model.predict(X)
        solver = model.solver_.set_params(gain=-1.0)
        model.solver_.partial_fit(np.ones((5, 8)), np.ones((5, solver.coef_.shape[0])))
        np.testing.assert_array_equal(model.predict(X), before)
        assert model.solver_.gain == 1.0
        assert model.n_samples_seen_ == 60
        model.learn_one(X[0], model.predict(X[:1])[0])
        assert solver.n_samples_seen_ == 60
