"""Inputs that come late, and are hidden units themselves: as if always there."""

import numpy as np
import pytest

import greville
from greville import DynamicOpium, ELMClassifier, ELMRegressor, Opium
from greville.elm import set_direct_inputs

SOLVERS = ["opium", "dynamic", "sliding", "light", "greville", Opium(epsilon=0.1)]
SOLVERS += [DynamicOpium(alpha="auto")]


def problem(n=600):
    """Inputs of which the fourth and the fifth are zero in the first 400 and 300 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    X[:, 3:] = 0
    X[300:450, 4] = 1
    X[400:, 3] = 1
    return X, X[:, 0] * X[:, 1] + 3 * X[:, 3] - 5 * X[:, 4] + 0.1 * rng.normal(size=n) + 7


def started(X, y, solver, kind=ELMRegressor):
    return kind(40, solver, random_state=0).prepare(X[:300, :3], y[:300])


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_late_inputs_change_nothing_of_what_was_learned(solver, tmp_path):
    X, y = problem()
    want = set_direct_inputs(started(X, y, solver), 2, [])
    got = started(X, y, solver)
    for start in range(0, 600, 50):
        rows = slice(start, start + 50)
        want.partial_fit(X[rows], y[rows])
        if start == 300:
            set_direct_inputs(got, 1, [])
        if start == 400:
            before = got.predict(X[:, [0, 1, 2, 4]])
            set_direct_inputs(got, 2, [1])
            here = X[:, 3] == 0
            np.testing.assert_allclose(got.predict(X)[here], before[here], rtol=1e-9)
        columns = [[0, 1, 2], [0, 1, 2, 4], [0, 1, 2, 3, 4]][(start >= 300) + (start >= 400)]
        got.partial_fit(X[rows][:, columns], y[rows])
    # Where something is done every so many rows, that depends on the number of units.
    np.testing.assert_allclose(got.predict(X), want.predict(X), rtol=1e-7, atol=1e-7)
    one = [got.predict_one(x) for x in X[::50]]
    np.testing.assert_allclose(one, got.predict(X)[::50], rtol=1e-9, atol=1e-9)
    greville.save(got, tmp_path / "m")
    assert np.array_equal(greville.load(tmp_path / "m").predict(X), got.predict(X))


def test_late_inputs_of_a_classifier_unlearned_and_merged():
    X, y = problem()
    y = np.where(y > 7, "high", "low")
    solver = Opium(epsilon=0.1)
    whole = set_direct_inputs(started(X, y, solver, ELMClassifier), 2, [])
    first, second = (started(X, y, solver, ELMClassifier) for _ in range(2))
    whole.partial_fit(X, y)
    first.partial_fit(X[:300, :3], y[:300])
    with pytest.raises(ValueError, match="5 and 3 inputs"):
        first.merge(whole)
    set_direct_inputs(first, 2, [])
    set_direct_inputs(second, 2, []).partial_fit(X[300:], y[300:])
    both = first + second
    np.testing.assert_allclose(both.decision_function(X), whole.decision_function(X), atol=1e-9)
    both.unlearn(X[300:], y[300:])
    np.testing.assert_allclose(both.decision_function(X), first.decision_function(X), atol=1e-8)


def test_late_inputs_of_sparse_rows_and_of_the_first():
    from scipy import sparse

    X, y = problem()
    dense, thin = (ELMRegressor(40, Opium(0.1), random_state=0) for _ in range(2))
    dense.partial_fit(X[:100, :3], y[:100])  # the units are still measured
    thin.partial_fit(sparse.csr_array(X[:100, :3]), y[:100])
    for model, rows in ((dense, X), (thin, sparse.csr_array(X))):
        set_direct_inputs(model, 2, [])
        for start in range(100, 600, 100):
            model.partial_fit(rows[start : start + 100], y[start : start + 100])
    np.testing.assert_allclose(thin.predict(X), dense.predict(X), rtol=1e-7)
    assert np.sqrt(np.mean((dense.predict(X) - y) ** 2)) < 0.5
