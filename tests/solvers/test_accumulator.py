"""Rows that are added up in several places, and learned by one model."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from greville import Greville, Opium

from ..every_pair import every_pair

EPSILONS = ["auto", 1e-3, 1.0]


def problem(n, n_units, n_outputs, shift=0.0, seed=0):
    random = np.random.default_rng(seed)
    H = random.normal(size=(n, n_units)) * np.logspace(0, -2, n_units) + shift
    Y = H @ random.normal(size=(n_units, n_outputs)) + 0.3 * random.normal(size=(n, n_outputs))
    return H, Y + 5, random.uniform(0.5, 2, n)


def added_up(model, H, Y, weight, cuts):
    """Rows added up in as many places as there are pieces, some in two calls, and merged."""
    parts = []
    for rows in np.split(np.arange(len(H)), cuts):
        part = model.accumulator()
        for call in np.array_split(rows, 2):
            if len(call):
                part.partial_fit(H[call], Y[call], weight[call])
        parts.append(part)
    return sum(parts).fitted_


def started(model, n_units, n_outputs):
    return model.start(n_units, n_outputs, np.float64)


@pytest.mark.everywhere
@every_pair(shape=[(3, 5, 1), (900, 30, 3), (40, 60, 1)], epsilon=EPSILONS, intercept=[False, True])
def test_sums_are_learned_as_rows_by_fit(shape, epsilon, intercept):
    n, n_units, n_outputs = shape
    H, Y, weight = problem(n, n_units, n_outputs, shift=3.0 * intercept)
    known = Opium(epsilon, intercept).fit(H, Y, weight)
    model = started(Opium(epsilon, intercept), n_units, n_outputs)
    model.restore(model.fitted_.merge(added_up(model, H, Y, weight, [n // 4 + 1, n // 2 + 1])))
    assert model.epsilon_ == known.epsilon_
    assert model.n_samples_seen_ == n
    scale = np.abs(known.coef_).max()
    np.testing.assert_allclose(model.coef_, known.coef_, rtol=0, atol=1e-10 * scale)
    np.testing.assert_allclose(model.predict(H), known.predict(H), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.loss_, known.loss_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_sums_are_added_to_what_was_learned(epsilon):
    H, Y, weight = problem(600, 20, 2, shift=1.0)
    first, more = slice(0, 200), slice(200, 600)
    model = Opium(epsilon, True).fit(H[first], Y[first], weight[first])
    sums = added_up(model, H[more], Y[more], weight[more], [100])
    model.restore(model.fitted_.merge(sums))
    known = Opium(epsilon, True).fit(H, Y, weight)
    assert model.epsilon_ == known.epsilon_
    np.testing.assert_allclose(model.predict(H), known.predict(H), rtol=1e-10, atol=1e-10)


@every_pair(n_removed=[1, 30, 200, 300], epsilon=EPSILONS, intercept=[False, True])
def test_sums_are_removed(epsilon, intercept, n_removed):
    H, Y, weight = problem(300, 20, 2, shift=1.0)
    model = Opium(epsilon, intercept).fit(H, Y, weight)
    out = slice(0, n_removed)
    cuts = [n_removed // 2] if n_removed > 1 else []
    sums = added_up(model, H[out], Y[out], weight[out], cuts)
    left = Opium(epsilon, intercept).restore(model.fitted_.without(sums))
    assert left.n_samples_seen_ == 300 - n_removed
    if n_removed == 300:
        assert not left.predict(H).any()
        return
    rest = slice(n_removed, 300)
    known = Opium(epsilon, intercept).fit(H[rest], Y[rest], weight[rest])
    assert left.epsilon_ == known.epsilon_
    np.testing.assert_allclose(left.predict(H), known.predict(H), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(left.loss_, known.loss_, rtol=1e-8)


@pytest.mark.parametrize("n_removed", [30, 300])
def test_rows_that_were_never_learned_are_not_removed(n_removed):
    H, Y, weight = problem(300, 20, 2)
    model = Opium("auto", True).fit(H, Y, weight)
    others = added_up(model, 2 * H[:n_removed] + 1, Y[:n_removed], weight[:n_removed], [10])
    with pytest.raises(ValueError, match="cannot be unlearned"):
        model.fitted_.without(others)
    more = added_up(model, np.tile(H, (2, 1)), np.tile(Y, (2, 1)), np.tile(weight, 2), [10])
    with pytest.raises(ValueError, match="got 600 rows to unlearn"):
        model.fitted_.without(more)


@pytest.mark.everywhere
@pytest.mark.parametrize("rank", [3, 20])
def test_grevilles_method_learns_sums(rank):
    random = np.random.default_rng(1)
    H = random.normal(size=(100, rank)) @ random.normal(size=(rank, 20))
    Y = random.normal(size=(100, 2))
    model = started(Greville(), 20, 2)
    model.restore(model.fitted_.merge(added_up(model, H, Y, np.ones(100), [30, 40])))
    assert model.rank_ == rank
    expected = (np.linalg.pinv(H) @ Y).T
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-9, atol=1e-10)
    sums = added_up(model, H[50:], Y[50:], np.ones(50), [20])
    left = Greville().restore(model.fitted_.without(sums))
    np.testing.assert_allclose(left.coef_, (np.linalg.pinv(H[:50]) @ Y[:50]).T, atol=1e-8)


def test_roots_of_wide_layers_are_joined():
    """By a Gram matrix in one case, and by QR in the other, where digits would be lost."""
    random = np.random.default_rng(0)
    for smallest in (1.0, 1e-7):
        H = random.normal(size=(2400, 1030)) * np.geomspace(1, smallest, 1030)
        y = H @ random.normal(size=(1030, 1)) + 0.1 * random.normal(size=(2400, 1))
        known = Opium("auto", True).fit(H, y)
        model = started(Opium("auto", True), 1030, 1)
        model.restore(model.fitted_.merge(added_up(model, H, y, np.ones(2400), [1200])))
        assert model.epsilon_ == known.epsilon_
        np.testing.assert_allclose(model.predict(H), known.predict(H), rtol=1e-9, atol=1e-9)


def test_sums_are_values():
    """They stay as they are when more is added to a copy of them."""
    H, Y, weight = problem(4000, 20, 1)
    model = started(Opium(), 20, 1)
    before = added_up(model, H[:2000], Y[:2000], weight[:2000], [50])
    kept = deepcopy(before)
    more = Opium().accumulator().restore(before).partial_fit(H[2000:], Y[2000:], weight[2000:])
    more.merge(Opium().accumulator().restore(before))
    assert more.n_samples_seen_ == 6000
    first, second = (model.fitted_.merge(fitted) for fitted in (before, kept))
    for name in ("R", "Z"):
        one, other = (getattr(fitted.sums, name) for fitted in (first, second))
        np.testing.assert_array_equal(one, other)


def test_sums_do_not_predict():
    H, Y, _ = problem(10, 5, 1)
    part = Opium().accumulator().partial_fit(H, Y)
    with pytest.raises(ValueError, match="not a fitted model"):
        part.predict(H)


@pytest.mark.parametrize("exponent", [0, -3, -9])
def test_no_digits_are_lost_where_a_gram_matrix_would_lose_them(exponent):
    """Columns of very different sizes, in a mixture: nobody knows yet at which ε sums are read."""
    random = np.random.default_rng(0)
    scales = np.logspace(0, exponent, 60)
    H = random.normal(size=(6000, 60)) * scales @ random.normal(size=(60, 60))
    Y = H @ random.normal(size=(60, 1))
    model = started(Opium(1e-9), 60, 1)
    found = model.fitted_.merge(added_up(model, H, Y, np.ones(6000), [3000]))
    known = Opium(1e-9).fit(H, Y)
    np.testing.assert_allclose(Opium(1e-9).restore(found).predict(H), known.predict(H), rtol=1e-6)
