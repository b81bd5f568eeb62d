"""`Sums`: all exact operations on rows are sums of them, whatever the rows."""

import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError
from itertools import pairwise

import numpy as np
import pytest

import greville
from greville import Opium, Sums

from ..every_pair import every_pair
from ..oracles import ridge_with_intercept

TOL = {np.float64: 1e-9, np.float32: 2e-3}


def problem(seed, n, M, outputs, dtype=np.float64):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, M)) + 0.5
    Y = H @ rng.normal(size=(M, outputs)) + 0.3 * rng.normal(size=(n, outputs))
    return H.astype(dtype), Y.astype(dtype), rng.uniform(0.5, 2, size=n).astype(dtype)


def oracle(H, Y, epsilon, weight, intercept):
    """The weights and the intercept by singular values, in float64."""
    H, Y, weight = (np.asarray(A, float) for A in (H, Y, weight))
    row, target = np.zeros(H.shape[1]), np.zeros(Y.shape[1])
    if intercept:
        row, target = weight @ H / weight.sum(), weight @ Y / weight.sum()
    root = np.sqrt(weight)[:, None]
    A = np.vstack([root * (H - row), epsilon * np.eye(H.shape[1])])
    W = np.linalg.pinv(A) @ np.vstack([root * (Y - target), np.zeros((H.shape[1], Y.shape[1]))])
    return W, target - row @ W


def close(got, want, tol):
    return np.abs(np.asarray(got) - want).max() <= tol * np.abs(want).max()


@pytest.mark.everywhere
@every_pair(
    n=[3, 20, 60, 300],
    M=[1, 8, 50],
    outputs=[1, 2],
    intercept=[False, True],
    dtype=[np.float64, np.float32],
    epsilon=[0.3, 5.0],
)
def test_weights_are_those_of_all_rows(n, M, outputs, intercept, dtype, epsilon):
    """Cut anywhere, added in any order, with weights: the weights are those of the whole."""
    H, Y, weight = problem(0, n, M, outputs, dtype)
    W, constant = oracle(H, Y, epsilon, weight, intercept)
    cuts = [0, n // 3, 2 * n // 3, n]
    parts = [Sums.of(H[i:j], Y[i:j], weight[i:j], intercept=intercept) for i, j in pairwise(cuts)]
    for sums in (Sums.of(H, Y, weight, intercept=intercept), sum(parts), sum(parts[::-1])):
        assert sums.n_rows == n
        assert close(sums.solve(epsilon), W, TOL[dtype])
        assert np.abs(sums.intercept(epsilon) - constant).max() <= TOL[dtype] * np.abs(Y).max()
        predicted = sums.predict(H[:2], epsilon)
        assert np.abs(predicted - (H[:2] @ W + constant)).max() <= TOL[dtype] * np.abs(Y).max()


@every_pair(n=[30, 90], M=[5, 60], intercept=[False, True], epsilon=[0.5, None])
def test_what_is_subtracted_was_never_there(n, M, intercept, epsilon):
    H, Y, weight = problem(1, n + 25, M, 2)
    whole = Sums.of(H, Y, weight, intercept=intercept)
    gone = Sums.of(H[:25], Y[:25], weight[:25], intercept=intercept)
    left = whole - gone
    want = Sums.of(H[25:], Y[25:], weight[25:], intercept=intercept)
    assert left.n_rows == n
    epsilon = want.choose() if epsilon is None else epsilon
    assert left.choose() == want.choose()
    assert close(left.solve(epsilon), want.solve(epsilon), 1e-7)
    nothing = whole - whole
    assert nothing.n_rows == 0
    assert not nothing.solve(1.0).any()
    assert close((nothing + want).solve(1.0), want.solve(1.0), 1e-9)


def test_rows_that_are_not_among_them_cannot_be_subtracted():
    H, Y, _ = problem(2, 50, 4, 1)
    with pytest.raises(ValueError, match="cannot be unlearned"):
        Sums.of(H, Y) - Sums.of(10 * H[:5], Y[:5])


@pytest.mark.parametrize("intercept", [False, True])
def test_a_number_times_sums_forgets(intercept):
    H, Y, _ = problem(3, 200, 6, 1)
    sums, weight = Sums.of(H[:1], Y[:1], intercept=intercept), 0.97 ** np.arange(199, -1, -1.0)
    for i in range(1, 200):
        sums = 0.97 * sums + Sums.of(H[i : i + 1], Y[i : i + 1], intercept=intercept)
    W, constant = oracle(H, Y, 0.1, weight, intercept)
    assert close(sums.solve(0.1), W, 1e-8)
    assert close(sums.intercept(0.1), constant, 1e-8) or not intercept
    assert sums.n_rows == pytest.approx(weight.sum())
    for factor in (0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="factor"):
            factor * sums
    with pytest.raises(TypeError):
        "2" * sums


def test_without_a_ridge_the_weights_have_minimum_norm():
    """Also where rows depend on each other, or are fewer than units."""
    for n, M in ((4, 10), (30, 10), (200, 600)):
        H, Y, _ = problem(4, n, M, 2)
        H[n // 2 :] = H[: n - n // 2]
        assert close(Sums.of(H, Y).solve(0), np.linalg.pinv(H, rcond=1e-12) @ Y, 1e-8)


def test_evidence_and_choice():
    H, Y, _ = problem(5, 80, 10, 1)
    sums = Sums.of(H, Y[:, 0])
    path = sums.path()
    np.testing.assert_allclose([sums.evidence(e) for e in path.epsilon], path.evidence, rtol=1e-7)
    assert sums.choose() == path.chosen == Opium("auto").fit(H, Y[:, 0]).epsilon_
    assert close(sums.solve(), Opium("auto").fit(H, Y[:, 0]).coef_, 1e-9)
    with pytest.raises(ValueError, match="there is no path"):
        Sums.of(np.zeros((3, 2)), np.ones(3)).choose()


@pytest.mark.parametrize("intercept", [False, True])
def test_spread_and_rows_left_out(intercept):
    H, Y, weight = problem(6, 60, 5, 1)
    y = Y[:, 0]
    sums = Sums.of(H, y, weight, intercept=intercept)
    for i in (0, 17, 59):
        rest = np.arange(60) != i
        W, constant = oracle(H[rest], Y[rest], 0.4, weight[rest], intercept)
        got = sums.leave_one_out(H, y, 0.4, weight)[i]
        assert got == pytest.approx((H[i] @ W + constant)[0], rel=1e-8)
    model = Opium(0.4, intercept).fit(H, y, weight)
    np.testing.assert_allclose(sums.spread(H, 0.4), model.predict(H, return_std=True)[1])
    assert np.isinf(Sums.of(H[:1], y[:1], intercept=True).spread(H[:1], 1e-3)).all()


def test_it_is_a_value():
    H, Y, _ = problem(7, 30, 4, 1)
    sums = Sums.of(H, Y)
    before = sums.solve(0.1).copy()
    sums + sums, sums - Sums.of(H[:3], Y[:3]), 0.5 * sums, sums.choose()
    assert np.array_equal(sums.solve(0.1), before)
    with pytest.raises(FrozenInstanceError):
        sums.count = 3
    for copied in (deepcopy(sums), pickle.loads(pickle.dumps(sums))):
        assert np.array_equal(copied.solve(0.1), before)
    assert repr(sums) == "<Sums over 30 rows: 4 units, 1 outputs, float64>"


def test_sums_of_different_kinds_cannot_be_added():
    H, Y, _ = problem(8, 30, 4, 2)
    for other in (
        Sums.of(H[:, :3], Y),
        Sums.of(H, Y[:, :1]),
        Sums.of(H.astype("f"), Y),
        Sums.of(H, Y, intercept=True),
    ):
        with pytest.raises(ValueError, match="started alike"):
            Sums.of(H, Y) + other
    with pytest.raises(TypeError):
        Sums.of(H, Y) + 1
    with pytest.raises(ValueError, match="NaN"):
        Sums.of(np.full((2, 2), np.nan), [1.0, 2.0])


def test_few_rows_of_many_units_stay_small():
    """The state is as large as the rows, and goes on exactly when more come."""
    rng = np.random.default_rng(9)
    H, y = rng.normal(size=(130, 800)), rng.normal(size=130)
    for epsilon in (0.7, "auto"):
        model = Opium(epsilon, True).fit(H[:50], y[:50])
        assert len(pickle.dumps(model)) < 3 * H[:50].nbytes
        for i in (50, 90):
            model.partial_fit(H[i : i + 40], y[i : i + 40])
            W, _ = ridge_with_intercept(H[: i + 40], y[: i + 40, None], model.epsilon_)
            assert close(model.coef_, W[:, 0], 1e-9)
        rest = model.unlearn(H[:30], y[:30])
        W, _ = ridge_with_intercept(H[30:], y[30:, None], rest.epsilon_)
        assert close(rest.coef_, W[:, 0], 1e-7)
        other = Opium(epsilon, True).fit(H[:30], y[:30])
        merged = other + rest
        W, _ = ridge_with_intercept(H, y[:, None], merged.epsilon_)
        assert close(merged.coef_, W[:, 0], 1e-7)
        record = Opium(epsilon, True).prequential(H, y)
        loop = Opium(epsilon, True)
        for i in range(0, 130, 26):
            got = loop.prequential(H[i : i + 26], y[i : i + 26])
            np.testing.assert_allclose(got, record[i : i + 26], rtol=1e-6, atol=1e-8)


def test_it_can_be_saved(tmp_path):
    H, Y, _ = problem(10, 30, 4, 2)
    sums = Sums.of(H, Y, intercept=True)
    greville.save(sums, tmp_path / "sums.greville")
    assert np.array_equal(greville.load(tmp_path / "sums.greville").solve(0.2), sums.solve(0.2))
