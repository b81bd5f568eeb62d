"""Many rows predicted and learned in one call: block by block, and as the printed recursion."""

import numpy as np
import pytest

from greville import ELMRegressor, Greville, Opium
from greville.solvers import _qr

from ..oracles import opium, relative_error
from ..problems import problem

M = 130


def in_parts(model, H, Y, *weight, length=300):
    slices = [slice(i, i + length) for i in range(0, len(H), length)]
    return np.concatenate([model.prequential(H[s], Y[s], *(w[s] for w in weight)) for s in slices])


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_record_is_the_printed_one(rng, outputs):
    H, Y = problem(rng, 1500, M, outputs)
    model = Opium(0.1)
    got = model.prequential(H, Y)
    W, *_, errors = opium(H, Y, 0.1)
    assert relative_error(got, Y - errors) < 1e-9
    assert relative_error(model.coef_.T, W) < 1e-9
    assert model.n_samples_seen_ == 1500
    assert relative_error(model.loss_, Opium(0.1).fit(H, Y).loss_) < 1e-9


def test_with_weights(rng):
    H, Y = problem(rng, 1200, M)
    weight = rng.uniform(0.5, 2, size=1200)
    weight[700] = 0
    model, other = Opium(0.1), Opium(0.1)
    got = model.prequential(H, Y, weight)
    assert relative_error(got, in_parts(other, H, Y, weight, length=200)) < 1e-9
    assert relative_error(model.coef_, other.coef_) < 1e-9


def test_units_that_are_nearly_the_same_and_a_long_row(rng):
    H, Y = problem(rng, 1500, M)
    H[:, 1] = H[:, 0] + 1e-6 * rng.normal(size=1500)
    assert relative_error(Opium(1e-9).prequential(H, Y), in_parts(Opium(1e-9), H, Y)) < 1e-6
    H, Y = problem(rng, 1500, M)
    H[1200] *= 1e6
    got, errors = Opium(0.1).prequential(H, Y), opium(H, Y, 0.1)[3]
    assert relative_error(got[:1200], (Y - errors)[:1200]) < 1e-9
    assert relative_error(got[1300:], (Y - errors)[1300:]) < 1e-6


def test_who_else_records(rng):
    H, Y = problem(rng, 1500, M)
    got = Greville().prequential(H, Y)
    assert relative_error(got[200:], in_parts(Greville(), H, Y)[200:]) < 1e-8
    X = rng.normal(size=(1500, 5))
    model, other = (
        ELMRegressor(M, Opium(0.1), random_state=0, standardize=False) for _ in range(2)
    )
    y = np.sin(X[:, 0])
    assert relative_error(model.prequential(X, y), in_parts(other, X, y)) < 1e-8


def test_an_error_on_the_way_changes_nothing(rng, monkeypatch):
    H, Y = problem(rng, 1500, M)
    model = Opium(0.1).fit(H, Y)
    before = model.coef_

    def broken(*args):
        raise MemoryError

    monkeypatch.setattr(_qr.linalg, "innovations", broken)
    with pytest.raises(MemoryError):
        model.prequential(H, Y)
    assert np.array_equal(model.coef_, before)
    assert model.n_samples_seen_ == 1500


@pytest.mark.parametrize("intercept", [False, True])
def test_where_epsilon_is_chosen_on_the_way(rng, intercept):
    H, Y = problem(rng, 2500, M)
    H += 3
    whole, parts = Opium("auto", intercept=intercept), Opium("auto", intercept=intercept)
    weight = rng.uniform(0.5, 2, size=2500)
    got = whole.prequential(H, Y, weight)
    assert relative_error(got, in_parts(parts, H, Y, weight)) < 1e-9
    assert whole.epsilon_ == parts.epsilon_ == whole.path().chosen
    assert relative_error(whole.coef_, parts.coef_) < 1e-9
    for model in (whole, parts):  # and goes on
        model.partial_fit(H[:500], Y[:500])
    assert whole.epsilon_ == parts.epsilon_
    assert relative_error(whole.coef_, parts.coef_) < 1e-8


def test_targets_without_noise(rng):
    """The smallest epsilon is the best."""
    H, Y = problem(rng, 2500, M)
    Y = H @ np.ones((M, 1))
    got = Opium("auto", intercept=True).prequential(H, Y)
    assert np.abs(got - Y)[500:].max() < 1e-9
