"""Many rows recorded on two cores, and where that is given up."""

import numpy as np
import pytest

from greville import ELMRegressor, Greville, Opium
from greville.solvers import _record

from ..oracles import opium, relative_error
from ..problems import problem

M = 130


@pytest.fixture
def recorded(monkeypatch):
    """What came out of each attempt; None where it was given up."""
    seen, real = [], _record.record

    def spy(*args):
        found = real(*args)
        seen.append(None if isinstance(found, int) else found)
        return found

    monkeypatch.setattr(_record, "record", spy)
    return seen


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_record_is_the_printed_one(rng, recorded, outputs):
    H, Y = problem(rng, 1500, M, outputs)
    model = Opium(0.1)
    got = model.prequential(H, Y)
    W, *_, errors = opium(H, Y, 0.1)
    assert recorded[-1] is not None
    assert relative_error(got, Y - errors) < 1e-9
    assert relative_error(model.coef_.T, W) < 1e-9
    assert model.n_samples_seen_ == 1500
    state = model.fitted_.state.sums
    assert np.array_equal(state.R, np.triu(state.R))
    assert state.count == 1500
    assert relative_error(model.loss_, Opium(0.1).fit(H, Y).loss_) < 1e-9
    recorded.clear()
    model.prequential(H, Y)
    assert len(recorded) == 1
    assert recorded[-1] is not None


def test_with_weights(rng, recorded):
    H, Y = problem(rng, 1200, M)
    weight = rng.uniform(0.5, 2, size=1200)
    model, other = Opium(0.1), Opium(0.1)
    got = model.prequential(H, Y, weight)
    assert recorded[-1] is not None
    weight[-1] = np.nextafter(weight[-1], 3)  # a weight of zero elsewhere forbids it
    parts = [other.prequential(H[i : i + 200], Y[i : i + 200], weight[i : i + 200])
             for i in range(0, 1200, 200)]  # fmt: skip
    assert relative_error(got, np.concatenate(parts)) < 1e-9
    assert relative_error(model.coef_, other.coef_) < 1e-9
    weight[700] = 0
    recorded.clear()
    zero = Opium(0.1).prequential(H, Y, weight)
    assert all(found is None for found in recorded)
    assert np.isfinite(zero).all()


def test_given_up_where_digits_would_be_lost(rng, recorded):
    H, Y = problem(rng, 1500, M)
    H[:, 1] = H[:, 0] + 1e-6 * rng.normal(size=1500)  # two units that are nearly the same
    model, whole = Opium(1e-9), Opium(1e-9)
    got = model.prequential(H, Y)
    assert not recorded
    parts = [whole.prequential(H[i : i + 300], Y[i : i + 300]) for i in range(0, 1500, 300)]
    assert relative_error(got, np.concatenate(parts)) < 1e-6
    H, Y = problem(rng, 1500, M)
    H[1200] *= 1e6  # one long row
    model = Opium(0.1)
    got = model.prequential(H, Y)
    assert recorded[-1] is None
    assert len(recorded) <= 2  # the first attempt may be given up early
    errors = opium(H, Y, 0.1)[3]
    assert relative_error(got[:1200], (Y - errors)[:1200]) < 1e-9
    assert relative_error(got[1300:], (Y - errors)[1300:]) < 1e-6


def test_who_else_records(rng, recorded):
    H, Y = problem(rng, 1500, M)
    got = Greville().prequential(H, Y)
    assert recorded[-1] is not None
    alone = Greville()
    parts = [alone.prequential(H[i : i + 300], Y[i : i + 300]) for i in range(0, 1500, 300)]
    assert relative_error(got[200:], np.concatenate(parts)[200:]) < 1e-8
    recorded.clear()
    X = rng.normal(size=(1500, 5))
    model = ELMRegressor(M, Opium(0.1), random_state=0, standardize=False)
    model.prequential(X, np.sin(X[:, 0]))
    assert recorded
    recorded.clear()
    Opium(0.1).prequential(H.astype(np.float32), Y)
    assert not recorded


def test_an_error_on_the_way_changes_nothing(rng, monkeypatch):
    H, Y = problem(rng, 1500, M)
    model = Opium(0.1).fit(H, Y)
    before = model.coef_

    def broken(*args):
        raise MemoryError

    monkeypatch.setattr(_record.linalg, "innovations", broken)
    with pytest.raises(MemoryError):
        model.prequential(H, Y)
    assert np.array_equal(model.coef_, before)
    assert model.n_samples_seen_ == 1500


@pytest.mark.parametrize("intercept", [False, True])
def test_where_epsilon_is_chosen_on_the_way(rng, recorded, monkeypatch, intercept):
    H, Y = problem(rng, 2500, M)
    H += 3
    fast, slow = Opium("auto", intercept=intercept), Opium("auto", intercept=intercept)
    weight = rng.uniform(0.5, 2, size=2500)
    got = fast.prequential(H, Y, weight)
    assert recorded
    assert recorded[-1] is not None
    monkeypatch.setattr(_record, "attempts", lambda *args: [])
    want = slow.prequential(H, Y, weight)
    assert relative_error(got, want) < 1e-9
    assert fast.epsilon_ == slow.epsilon_
    assert fast.path().chosen == slow.path().chosen == fast.epsilon_
    assert relative_error(fast.coef_, slow.coef_) < 1e-9
    for model in (fast, slow):  # and goes on
        model.partial_fit(H[:500], Y[:500])
    assert fast.epsilon_ == slow.epsilon_
    assert relative_error(fast.coef_, slow.coef_) < 1e-8


def test_a_choice_that_a_gram_matrix_cannot_make(rng, recorded):
    """Without noise the smallest epsilon is the best: all of it again, in the other way."""
    H, Y = problem(rng, 2500, M)
    Y = H @ np.ones((M, 1))
    model = Opium("auto", intercept=True)
    got = model.prequential(H, Y)
    assert recorded.count(None) == len(recorded)
    assert np.abs(got - Y)[500:].max() < 1e-9
