"""Greville's method: the Moore-Penrose solution after every row."""

import numpy as np
import pytest
from sklearn.base import clone

from greville import Batch, Greville, Opium

from .. import oracles
from ..every_pair import every_pair
from ..oracles import relative_error
from ..problems import learned, problem


@pytest.mark.everywhere
def test_greville_shows_theta_phi_psi_and_rank(rng):
    rows = rng.normal(size=(4, 9))
    H = np.vstack([rows, rows[:2].sum(0), rows[1]])
    Y = rng.normal(size=(6, 2))
    model = Greville().fit(H, Y)
    pinv = np.linalg.pinv(H)
    assert model.rank_ == 4
    np.testing.assert_allclose(model.theta_, pinv @ pinv.T, atol=1e-12)  # eq. (11)
    np.testing.assert_allclose(model.phi_, np.eye(9) - pinv @ H, atol=1e-12)  # eq. (19)
    np.testing.assert_allclose(model.psi_, Y.T @ H, atol=1e-12)
    full = model.partial_fit(rng.normal(size=(20, 9)), rng.normal(size=(20, 2)))
    assert full.rank_ == 9
    assert not full.phi_.any()


@pytest.mark.parametrize(
    ("solver", "length"), [(Greville(), 1), (Greville(), 180), (Opium(0), 20)], ids=repr
)
def test_greville_is_pinv_after_every_row(rng, solver, length):
    M, n = 60, 180
    H, Y = rng.normal(0.2, 1.0, size=(n, M)), rng.normal(size=(n, 3))
    for k in rng.choice(np.arange(20, n), size=14, replace=False):  # planted dependent rows
        H[k] = rng.normal(size=12) @ H[rng.choice(k, size=12)]
    H[7], H[11], H[50] = 0.0, H[3], 1e-7 * H[20]
    model, worst = clone(solver), 0.0
    for start in range(0, n, length):
        model.partial_fit(H[start : start + length], Y[start : start + length])
        k = min(n, start + length)
        worst = max(worst, relative_error(model.coef_.T, np.linalg.pinv(H[:k]) @ Y[:k]))
    assert worst < 1e-9


@pytest.mark.everywhere
def test_greville_is_its_printed_recursion(rng):
    H, Y = rng.normal(size=(45, 30)), rng.normal(size=(45, 2))
    H[12] = H[3] - 2 * H[5]
    after, errors = oracles.greville_method(H, Y)
    model = Greville()
    for k in range(45):
        model.partial_fit(H[k : k + 1], Y[k : k + 1])
        assert relative_error(model.coef_.T, after[k]) < 1e-9
    assert relative_error(Y - Greville().prequential(H, Y), errors) < 1e-9


def test_the_tolerance_of_greville_is_relative(rng):
    H, Y = rng.normal(size=(6, 10)), rng.normal(size=(6, 1))
    H[5] = H[:5].sum(0) + 1e-6 * rng.normal(size=10)
    for scale in (1e-140, 1.0, 1e140):
        assert Greville().fit(scale * H, Y).rank_ == 6
        assert Greville(tol=1e-4).fit(scale * H, Y).rank_ == 5


@pytest.mark.everywhere
@every_pair(
    solver=[Batch(), Greville(), Opium(0)],
    shape=[(90, 30, 30), (30, 90, 30), (40, 40, 40), (80, 40, 25)],
    condition=[1.0, 1e3, 1e6, 1e9, 1e12],
)
def test_known_answers(rng, solver, shape, condition):
    n, M, rank = shape
    H, W, Y = oracles.known_answer(rng, n, M, 2, condition, rank)
    eps = np.finfo(float).eps
    models = [clone(solver).fit(H, Y)]
    if not isinstance(solver, Batch):
        models += [learned(solver, H, Y, cuts) for cuts in ([7, 20], range(n))]
    for model in models:
        assert relative_error(model.coef_.T, W) < 100 * eps * condition * np.sqrt(n)


@pytest.mark.parametrize("solver", [Batch(), Batch(0.1), Greville(), Opium(0.1)], ids=repr)
def test_doubled_columns_share_the_weight(rng, solver):
    H, Y = problem(rng, 80, 10)
    doubled = clone(solver).fit(np.hstack([H, H]), Y).coef_
    np.testing.assert_allclose(doubled[:, :10], doubled[:, 10:], atol=1e-11)
    want = oracles.pseudoinverse_weights(np.hstack([H, H]), Y, getattr(solver, "epsilon", 0.0))
    assert relative_error(doubled.T, want) < 1e-10


def test_a_tolerance_holds_on_every_route(rng):
    H, Y = rng.normal(size=(40, 10)), rng.normal(size=(40, 1))
    H[:, 9] *= 0.05
    whole, rows = Greville(tol=0.3).fit(H, Y), learned(Greville(tol=0.3), H, Y, range(40))
    assert whole.rank_ == rows.rank_ == 9
    assert relative_error(whole.coef_, rows.coef_) < 1e-10
