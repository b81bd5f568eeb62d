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


def gathered(model, H, Y, weight, cuts, n_rows):
    """Rows added up in as many places as there are pieces, some in two calls, and merged."""
    parts = []
    for rows in np.split(np.arange(len(H)), cuts):
        part = deepcopy(model).restore(model.fitted_.gathering(n_rows))
        for call in np.array_split(rows, 2):
            if len(call):
                part.partial_fit(H[call], Y[call], weight[call])
        parts.append(part)
    return parts[0].merge(*parts[1:]).fitted_


def started(model, n_units, n_outputs):
    return model.start(n_units, n_outputs, np.float64)


@pytest.mark.everywhere
@every_pair(
    shape=[(3, 5, 1), (900, 30, 3), (40, 60, 1)],
    epsilon=EPSILONS,
    intercept=[False, True],
    exact=[False, True],
)
def test_gathered_rows_are_learned_as_by_fit(shape, epsilon, intercept, exact):
    n, n_units, n_outputs = shape
    H, Y, weight = problem(n, n_units, n_outputs, shift=3.0 * intercept)
    known = Opium(epsilon, intercept).fit(H, Y, weight)
    model = started(Opium(epsilon, intercept), n_units, n_outputs)
    found = gathered(model, H, Y, weight, [n // 4, n // 2], None if exact else n)
    joined = model.fitted_.join(found)
    if joined is None:  # the fast way did not suit these rows
        assert not exact
        joined = model.fitted_.join(gathered(model, H, Y, weight, [n // 3], None))
    model.restore(joined)
    assert model.epsilon_ == known.epsilon_
    assert model.n_samples_seen_ == n
    scale = np.abs(known.coef_).max()
    np.testing.assert_allclose(model.coef_, known.coef_, rtol=0, atol=1e-10 * scale)
    np.testing.assert_allclose(model.predict(H), known.predict(H), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.loss_, known.loss_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_gathered_rows_are_added_to_what_was_learned(epsilon, exact):
    H, Y, weight = problem(600, 20, 2, shift=1.0)
    first, more = slice(0, 200), slice(200, 600)
    model = Opium(epsilon, True).fit(H[first], Y[first], weight[first])
    found = gathered(model, H[more], Y[more], weight[more], [100], None if exact else 400)
    model.restore(model.fitted_.join(found))
    known = Opium(epsilon, True).fit(H, Y, weight)
    assert model.epsilon_ == known.epsilon_
    np.testing.assert_allclose(model.predict(H), known.predict(H), rtol=1e-10, atol=1e-10)


@every_pair(n_removed=[1, 30, 200, 300], epsilon=EPSILONS, intercept=[False, True])
def test_gathered_rows_are_removed(epsilon, intercept, n_removed):
    H, Y, weight = problem(300, 20, 2, shift=1.0)
    model = Opium(epsilon, intercept).fit(H, Y, weight)
    out = slice(0, n_removed)
    found = gathered(model, H[out], Y[out], weight[out], [n_removed // 2], None)
    left = Opium(epsilon, intercept).restore(model.fitted_.leave(found))
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
    others = 2 * H[:n_removed] + 1, Y[:n_removed], weight[:n_removed]
    found = gathered(model, *others, [10], None)
    with pytest.raises(ValueError, match="cannot be unlearned"):
        model.fitted_.leave(found)
    more = gathered(model, np.tile(H, (2, 1)), np.tile(Y, (2, 1)), np.tile(weight, 2), [10], None)
    with pytest.raises(ValueError, match="got 600 rows to unlearn"):
        model.fitted_.leave(more)


@pytest.mark.everywhere
@pytest.mark.parametrize("rank", [3, 20])
def test_grevilles_method_gathers_rows(rank):
    random = np.random.default_rng(1)
    H = random.normal(size=(100, rank)) @ random.normal(size=(rank, 20))
    Y = random.normal(size=(100, 2))
    model = started(Greville(), 20, 2)
    model.restore(model.fitted_.join(gathered(model, H, Y, np.ones(100), [30, 40], 100)))
    assert model.rank_ == rank
    expected = (np.linalg.pinv(H) @ Y).T
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-9, atol=1e-10)
    found = gathered(model, H[50:], Y[50:], np.ones(50), [20], None)
    left = Greville().restore(model.fitted_.leave(found))
    np.testing.assert_allclose(left.coef_, (np.linalg.pinv(H[:50]) @ Y[:50]).T, atol=1e-8)


def test_sums_are_values():
    """What was gathered stays as it is when more is added to a copy of it."""
    H, Y, weight = problem(400, 20, 1)
    model = started(Opium(), 20, 1)
    for n_rows in (400, None):
        before = gathered(model, H[:200], Y[:200], weight[:200], [50], n_rows)
        kept = deepcopy(before)
        more = deepcopy(model).restore(before).partial_fit(H[200:], Y[200:], weight[200:])
        more.merge(deepcopy(model).restore(before))
        assert more.n_samples_seen_ == 600
        first, second = (model.fitted_.join(fitted) for fitted in (before, kept))
        numpy = model.fitted_.shape.backend.to_numpy
        for name in ("R", "Z"):
            one, other = (numpy(getattr(f.state.sums, name)) for f in (first, second))
            np.testing.assert_array_equal(one, other)


def test_gathered_rows_do_not_predict():
    H, Y, _ = problem(10, 5, 1)
    model = started(Opium(), 5, 1)
    part = Opium().restore(model.fitted_.gathering()).partial_fit(H, Y)
    with pytest.raises(ValueError, match="not a fitted model"):
        part.predict(H)


def test_a_gram_matrix_that_loses_digits_is_noticed():
    random = np.random.default_rng(0)
    H = random.normal(size=(3000, 60)) * np.logspace(0, -9, 60) @ random.normal(size=(60, 60))
    Y = H @ random.normal(size=(60, 1))
    model = started(Opium(1e-9), 60, 1)
    fast = gathered(model, H, Y, np.ones(3000), [1000], 3000)
    assert fast.algorithm.by_gram
    assert model.fitted_.join(fast) is None
    exact = model.fitted_.join(gathered(model, H, Y, np.ones(3000), [1000], None))
    known = Opium(1e-9).fit(H, Y)
    np.testing.assert_allclose(Opium(1e-9).restore(exact).predict(H), known.predict(H), rtol=1e-6)
