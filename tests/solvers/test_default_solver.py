"""The solver that the estimators use by default: exact at its epsilon, in any units, however cut.

The oracle is a ridge with a free intercept at the reported `epsilon_`, on centred rows in float64.
Bounds are the condition number times the rounding of the dtype, with a margin.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from greville import DynamicOpium, ELMRegressor, Opium, SlidingOpium

from .. import oracles
from ..every_pair import every_pair, quick_first
from ..problems import learned, problem

SOLVERS = [Opium(0.3, intercept=True), Opium("auto", intercept=True)]
SHAPES = [(1, 1), (2, 6), (5, 6), (7, 6), (40, 6), (300, 20), (30, 60), (700, 33), (900, 130)]
ROUNDING = {"d": 2e-16, "f": 1.2e-7}


def distance(model, H, Y, weight=None):
    """How far predictions are from the oracle's, as a part of what rounding may do to them."""
    epsilon = model.epsilon_
    W, constant = oracles.ridge_with_intercept(H, Y, epsilon, weight)
    centre = H.mean(axis=0, dtype=float)
    A = np.vstack([H - centre, np.zeros((H.shape[1], H.shape[1]))])
    s = np.linalg.svd(A, compute_uv=False)
    condition = np.hypot(s[0], epsilon) / np.hypot(s[-1], epsilon)
    sizes = (np.abs(H.astype(float)) @ np.abs(W)).max() + np.abs(Y).max()
    error = np.abs(model.predict(H) - (H.astype(float) @ W + constant)).max()
    return error / (ROUNDING[H.dtype.char] * condition * sizes)


@pytest.mark.everywhere
@every_pair(solver=SOLVERS, shape=SHAPES, dtype=["d", "f"])
def test_it_is_the_oracles(rng, solver, shape, dtype):
    n, M = shape
    H, Y = (a.astype(dtype) for a in problem(rng, n, M))
    for model in (
        clone(solver).fit(H, Y),
        clone(solver).partial_fit(H, Y),
        learned(solver, H, Y, range(0, n, 7)),
    ):
        assert distance(model, H, Y) < 100
        assert model.predict(H).dtype == dtype
        weights, constant = model.coef_, model.intercept_
        np.testing.assert_allclose(model.predict(H), H @ weights.T + constant, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@given(data=st.data())
@settings(max_examples=20, deadline=None, derandomize=True)
def test_cutting_changes_neither_weights_nor_epsilon(solver, data):
    n, M = data.draw(st.integers(1, 400)), data.draw(st.integers(1, 30))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=8)))
    offset = data.draw(st.sampled_from([0.0, 1e2, 1e6]))
    H, Y = problem(np.random.default_rng(data.draw(st.integers(0, 99))), n, M)
    whole, cut = learned(solver, H + offset, Y), learned(solver, H + offset, Y, cuts)
    assert cut.epsilon_ == whole.epsilon_
    assert distance(cut, H + offset, Y) < 100
    assert distance(whole, H + offset, Y) < 100


@every_pair(solver=SOLVERS, offset=[1e4, 1e6, 1e7], cut=[1, 2, 127, 500])
def test_where_zero_is_does_not_matter(rng, solver, offset, cut):
    H = rng.normal(size=(1001, 5)) + offset
    Y = (H - offset) @ np.arange(1.0, 6)[:, None] + 0.1 * rng.normal(size=(1001, 1))
    model = learned(solver, H, Y, [cut])
    W, _ = oracles.ridge_with_intercept(H, Y, model.epsilon_)
    assert oracles.relative_error(model.coef_.T, W) < 1e-15 * offset
    assert model.epsilon_ == learned(solver, H, Y).epsilon_


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("offset", [0.0, 100.0, 1000.0])
def test_single_rows_in_float32_far_from_zero(rng, solver, offset):
    H = (rng.normal(size=(600, 8)) + offset).astype("f")
    Y = ((H - offset) @ np.ones(8) + 0.3 * rng.normal(size=600)).astype("f")
    model = clone(solver)
    for i, (h, y) in enumerate(zip(H, Y, strict=True)):
        if i:
            model.predict_one(h)
        model.learn_one(h, float(y))
    W, constant = oracles.ridge_with_intercept(H, Y[:, None], model.epsilon_)
    want = (H[:50].astype(float) @ W + constant)[:, 0]
    assert np.abs(model.predict(H[:50]) - want).max() < 2e-6 * (1 + offset) * Y.std()


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_a_mean_that_moves(rng, solver):
    """First rows around one mean, then around another, then single rows around a third."""
    H, Y = problem(rng, 900, 12)
    H[300:600] += 1e4
    H[600:] -= 1e4
    for cuts in ([], [300, 600], range(1, 900, 50)):
        assert distance(learned(solver, H, Y, cuts), H, Y) < 100
    model = learned(solver, H[:600], Y[:600])
    for h, y in zip(H[600:], Y[600:], strict=True):
        model.predict_one(h)
        model.learn_one(h, y)
    assert distance(model, H, Y) < 100


@pytest.mark.everywhere
@pytest.mark.parametrize("solver", [Opium(0.3, intercept=True), Opium("auto", intercept=True)])
@pytest.mark.parametrize("n", quick_first([2, 90], [1, 150]))
def test_prequential_is_the_loop(rng, solver, n):
    H, Y = problem(rng, n, 9)
    H += 50
    weight = rng.uniform(0, 2, size=n) * (rng.random(n) < 0.7)
    for w in (None, weight):
        record, loop, want = clone(solver), clone(solver), np.zeros_like(Y)
        for i in range(n):
            if i:
                want[i] = loop.predict(H[i : i + 1])
            loop.partial_fit(H[i : i + 1], Y[i : i + 1], None if w is None else w[i : i + 1])
        got, std = clone(solver).prequential(H, Y, w, return_std=True)
        np.testing.assert_allclose(record.prequential(H, Y, w), want, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(record.coef_, loop.coef_, rtol=1e-7, atol=1e-9)
        assert record.epsilon_ == loop.epsilon_
        if w is None and n > 2:
            again = clone(solver).partial_fit(H[:-1], Y[:-1]).predict(H[-1:], return_std=True)[1]
            np.testing.assert_allclose(std[-1:], again, rtol=1e-6)


def test_the_fast_record_has_an_intercept(rng):
    H, Y = problem(rng, 3000, 150)
    H += 20
    model, start = Opium(1.0, intercept=True), 600
    model.partial_fit(H[:start], Y[:start])
    got = model.prequential(H[start:], Y[start:])
    slow = Opium(1.0, intercept=True).partial_fit(H[:start], Y[:start])
    want = np.concatenate(
        [slow.prequential(H[i : i + 100], Y[i : i + 100]) for i in range(start, 3000, 100)]
    )
    np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-7)
    assert distance(model, H, Y) < 100


# Sums over rows


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_a_merge_has_one_epsilon(rng, solver, dtype):
    H = (rng.normal(size=(2600, 100)) / 10 + 3).astype(dtype)
    Y = (H @ rng.normal(size=(100, 1)) + 0.1 * rng.normal(size=(2600, 1))).astype(dtype)
    merged = sum(learned(solver, H[k : k + 650], Y[k : k + 650]) for k in range(0, 2600, 650))
    assert distance(merged, H, Y) < 100
    whole = clone(solver).fit(H, Y)
    assert merged.epsilon_ == pytest.approx(whole.epsilon_, rel=1e-6)


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_a_merge_of_what_is_left(rng, solver):
    H, Y = problem(rng, 40, 6)
    parts = [learned(solver, H[k : k + 20], Y[k : k + 20]) for k in (0, 20)]
    left = [0, 1, 2, 20, 21, 22]
    both = parts[0].unlearn(H[3:20], Y[3:20]) + parts[1].unlearn(H[23:], Y[23:])
    W, _ = oracles.ridge_with_intercept(H[left], Y[left], both.epsilon_)
    assert oracles.relative_error(both.coef_.T, W) < 1e-6
    assert both.epsilon_ == pytest.approx(clone(solver).fit(H[left], Y[left]).epsilon_, rel=1e-6)


@pytest.mark.parametrize("left", [1, 2, 28])
def test_unlearned_rows_leave_no_floor(rng, left):
    """Nearly all of the first rows are unlearned; what is chosen later knows nothing of them."""
    H = rng.normal(size=(5000, 6))
    Y = H @ np.ones(6) + 1e-3 * rng.normal(size=5000)
    first, noise = 10 * rng.normal(size=(30, 6)), rng.normal(size=30)
    model = Opium("auto", intercept=True).partial_fit(first, noise)
    model.unlearn(first[left:], noise[left:]).partial_fit(H, Y)
    never = Opium("auto", intercept=True).partial_fit(first[:left], noise[:left]).partial_fit(H, Y)
    assert model.epsilon_ == pytest.approx(never.epsilon_, rel=0.5)  # a step of the grid
    np.testing.assert_allclose(model.coef_, never.coef_, rtol=1e-5)


def test_unlearning_all_but_one(rng):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        H, Y = rng.normal(size=(10, 6)), rng.normal(7.7, 1e-3, size=10)
        model = Opium("auto", intercept=True).partial_fit(H, Y).unlearn(H[1:], Y[1:])
        np.testing.assert_allclose(model.predict(H), Y[0], rtol=1e-6)


@pytest.mark.parametrize(("n", "gone"), [(100, 1), (200, 100), (400, 300)])
def test_unlearning_does_not_move_epsilon(n, gone):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n + 50, 30))
        y = np.sin(2 * X[:, 0])
        model = ELMRegressor(300, random_state=0, standardize=False).partial_fit(X[:n], y[:n])
        model.unlearn(X[:gone], y[:gone])
        never = ELMRegressor(300, random_state=0, standardize=False).fit(X[gone:n], y[gone:n])
        assert model.epsilon_ == never.epsilon_
        np.testing.assert_allclose(model.predict(X[n:]), never.predict(X[n:]), atol=1e-8)


@pytest.mark.parametrize("solver", [*SOLVERS, Opium("auto"), Opium(0.3)], ids=str)
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_unlearning_row_by_row(solver, dtype):
    """Errors of many small steps are counted together; what is left is exact, or it is refused."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, M = int(rng.integers(2, 12)), int(rng.integers(1, 4))
        H = (rng.normal(size=(n, M)) * rng.choice([1, 100])).astype(dtype)
        Y = (H @ rng.normal(size=M) + 0.1 * rng.normal(size=n)).astype(dtype)
        left = int(rng.integers(0, 3))
        model = clone(solver).fit(H, Y)
        try:
            for i in range(left, n):
                model.unlearn(H[i : i + 1], Y[i : i + 1])
        except ValueError:
            assert i < n - 1 or left, "the last row of all can be unlearned"
            continue
        if left == 0:
            assert model.n_samples_seen_ == 0
            assert not model.coef_.any()
            model.partial_fit(H[:1], Y[:1])
            left = 1
        if getattr(solver, "intercept", False):
            W, constant = oracles.ridge_with_intercept(H[:left], Y[:left, None], model.epsilon_)
        else:
            W = oracles.pseudoinverse_weights(H[:left], Y[:left, None], model.epsilon_)
            constant = 0.0
        want = (H.astype(float) @ W + constant)[:, 0]
        limit = {"d": 1e-6, "f": 0.05}[dtype] * (np.abs(want).max() + np.abs(Y).max())
        assert np.abs(model.predict(H) - want).max() < limit


@pytest.mark.parametrize("solver", [*SOLVERS, Opium("auto"), Opium(0.3)], ids=str)
def test_rows_without_any_spread_can_be_unlearned(solver):
    for targets in ([3.0], [3.0, 4.0, 5.0], [2.0, 2.0]):
        rows = [[1.0, 2.0]] * len(targets)
        model = clone(solver).fit(rows, targets).unlearn(rows[:1], targets[:1])
        never = clone(solver)
        if len(targets) > 1:
            never.fit(rows[1:], targets[1:])
            np.testing.assert_allclose(model.predict(rows), never.predict(rows), atol=1e-8)
        else:
            assert model.n_samples_seen_ == 0
            np.testing.assert_array_equal(model.predict([[5.0, 5.0]]), [0.0])


def test_all_rows_of_another_model_cannot_be_unlearned(rng):
    H, Y = problem(rng, 30, 4)
    for solver in (*SOLVERS, Opium(0.3)):
        model = clone(solver).fit(H, Y)
        for rows, targets in ((H + 1, Y), (H, Y + 1), (2 * H, Y), (H, 2 * Y)):
            with pytest.raises(ValueError, match="cannot be unlearned"):
                model.unlearn(rows, targets)
        assert model.unlearn(H[::-1], Y[::-1]).n_samples_seen_ == 0


def test_what_was_never_learned_cannot_be_unlearned(rng):
    H, Y = problem(rng, 50, 6)
    model = Opium("auto", intercept=True).partial_fit(H, Y)
    before = model.coef_, model.intercept_
    for rows, targets in ((100 * H[:5], Y[:5]), (H[:5], 1000 * Y[:5])):
        with pytest.raises(ValueError, match="cannot be unlearned"):
            model.unlearn(rows, targets)
        np.testing.assert_array_equal(model.coef_, before[0])
        np.testing.assert_array_equal(model.intercept_, before[1])


# Units


@pytest.mark.everywhere
@pytest.mark.parametrize("unit", [1e-120, 1e-32, 1e-12, 1e-7, 1e-6, 1.0, 1e5, 1e100])
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_the_unit_of_features_does_not_matter(rng, unit, dtype):
    if dtype == "f" and not 1e-13 < unit < 1e6:
        unit = min(max(unit, 1e-13), 1e6)  # as far as float32 goes
    H = rng.normal(size=(1000, 5)).astype(dtype)
    Y = H @ np.ones(5, dtype) + 0.1 * rng.normal(size=1000).astype(dtype)
    want = Opium("auto", intercept=True).fit(H, Y)
    scaled = (unit * H).astype(dtype)
    model = Opium("auto", intercept=True).fit(scaled, Y)
    assert model.epsilon_ / unit == pytest.approx(want.epsilon_, rel=0.4)  # a step of the grid
    np.testing.assert_allclose(model.predict(scaled), want.predict(H), atol=1e-3)


@pytest.mark.parametrize(("dtype", "sizes"), [("f", [1e3, 1e4, 1e5]), ("d", [1e7, 1e9])])
@pytest.mark.parametrize("intercept", [False, True])
def test_rows_next_to_which_epsilon_is_nothing(rng, dtype, sizes, intercept):
    """It is then the solution of minimum norm, also with fewer rows than units."""
    for size in sizes:
        H = (rng.normal(size=(40, 12)) * size).astype(dtype)
        Y = (H @ np.ones((12, 1)) + 0.1 * size * rng.normal(size=(40, 1))).astype(dtype)
        record = Opium(intercept=intercept).prequential(H, Y)
        chunks, single = Opium(intercept=intercept), Opium(intercept=intercept)
        for i in range(40):
            if i > 1:
                if intercept:
                    W, constant = oracles.ridge_with_intercept(H[:i], Y[:i], 0.0)
                else:
                    W, constant = oracles.pseudoinverse_weights(H[:i], Y[:i], 0.0), 0.0
                want = H[i].astype(float) @ W + constant
                rows = H[:i].astype(float) - intercept * H[:i].mean(axis=0)
                s = np.linalg.svd(rows, compute_uv=False)
                condition = s[0] / s[s > 1e-5 * s[0]][-1]
                sizes_of_parts = np.abs(Y).max() + np.abs(H[i].astype(float)) @ np.abs(W)[:, 0]
                bound = 30 * ROUNDING[dtype] * condition * sizes_of_parts
                assert np.abs(record[i] - want).max() < bound
                assert np.abs(chunks.predict(H[i : i + 1])[0] - want).max() < bound
                assert np.abs(single.predict_one(H[i]) - want).max() < bound
            chunks.partial_fit(H[i : i + 1], Y[i : i + 1])
            single.learn_one(H[i], Y[i])


@every_pair(dtype_size=[("f", 1e5), ("d", 1e9)], intercept=[False, True], cuts=[[], [8], range(20)])
def test_rows_that_outgrow_epsilon_later(rng, dtype_size, intercept, cuts):
    dtype, size = dtype_size
    """Small rows first, with which the ridge is in the root from the start; then huge ones."""
    H, Y = problem(rng, 20, 30)
    H, Y = H.astype(dtype), Y.astype(dtype)
    H[8:] *= size
    Y[8:] *= size
    model = learned(Opium(1e-2, intercept=intercept), H, Y, cuts)
    got = model.predict(H[8:])
    largest = (np.abs(H[8:].astype(float)) @ np.abs(model.coef_.T)).max()
    # Fewer rows than units: all of them are met.
    assert np.abs(got - Y[8:]).max() < 100 * ROUNDING[dtype] * largest


@pytest.mark.everywhere
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_rows_that_do_not_vary_say_nothing(rng, solver, dtype):
    """Rounding around a mean is not taken for a signal, however the same row comes."""
    row = rng.normal(size=7).astype(dtype)
    H, Y = np.tile(row, (120, 1)), rng.normal(size=(120, 1)).astype(dtype)
    weight = rng.uniform(0.5, 2, size=120).astype(dtype) * (rng.random(120) < 0.6)
    for w in (None, weight):
        models = [learned(solver, H, Y, cuts, w) for cuts in ([], [3, 50], range(120))]
        models.append(clone(solver))
        models[-1].prequential(H, Y, w)
        merged = learned(solver, H[:40], Y[:40], (), None if w is None else w[:40])
        models.append(merged + learned(solver, H[40:], Y[40:], (), None if w is None else w[40:]))
        want = np.average(Y, axis=0, weights=w)
        for model in models:
            np.testing.assert_allclose(model.predict(H[:2] + 1), [want] * 2, rtol=1e-3, atol=1e-4)
    model = clone(solver).partial_fit(H[:1], Y[:1])
    for h, y in zip(H[1:], Y[1:], strict=True):
        model.predict_one(h)
        model.learn_one(h, y)
    np.testing.assert_allclose(model.predict_one(row + 1), Y.mean(axis=0), rtol=1e-3, atol=1e-4)


# Robust choices


def test_repeated_rows_count_once():
    """Equal rows with equal targets are no proof that there is no noise."""
    scores = {0: [], 5: []}
    for seed in range(5):
        for repeated, found in scores.items():
            rng = np.random.default_rng(seed)
            X, T = rng.normal(size=(80, 5)), rng.normal(size=(500, 5))
            y, t = (np.sin(2 * A[:, 0]) + 0.5 * A[:, 1] for A in (X, T))
            y = y + 0.2 * rng.normal(size=80)
            if repeated:
                X[-repeated:], y[-repeated:] = X[:repeated], y[:repeated]
            model = ELMRegressor(300, random_state=0).fit(X, y)
            found.append(model.score(T, t))
            assert model.epsilon_ > 1e-2
    assert np.median(scores[5]) > np.median(scores[0]) - 0.1


@pytest.mark.parametrize("n_hidden", [300, 600, 1100])  # by singular values, Cholesky and Gram
def test_repeated_rows_in_layers_of_any_size(rng, n_hidden):
    X = rng.normal(size=(160, 8))
    y = X[:, 0] + 0.5 * rng.normal(size=160)
    once = ELMRegressor(n_hidden, random_state=0).fit(X, y)
    repeated = ELMRegressor(n_hidden, random_state=0).fit(
        X[[*range(160), 0, 1, 2, 3]], y[[*range(160), 0, 1, 2, 3]]
    )
    assert repeated.epsilon_ > 0.3 * once.epsilon_


# Forgetting and windows


@pytest.mark.parametrize("size", [1e3, 1e8])
def test_one_huge_row_is_forgotten(rng, size):
    """A chosen ridge is no slower to forget it than a given one."""
    H = rng.normal(size=(6000, 5))
    Y = H @ np.arange(1.0, 6)
    errors = []
    for epsilon in ("auto", 1e-3):
        model = DynamicOpium(1.01, epsilon).partial_fit(H[:500], Y[:500])
        model.partial_fit(size * np.ones((1, 5)), [size])
        found = []
        for start in range(0, 6000, 500):
            model.partial_fit(H[start : start + 500], Y[start : start + 500])
            found.append(np.abs(model.coef_ - np.arange(1, 6)).max())
        errors.append(found)
    assert errors[0][-1] < 1e-6
    for auto, given_one in zip(*errors, strict=True):
        assert auto < 2 * given_one + 1e-6


@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("window", quick_first([6, 40], [5, 7]))
def test_a_window_as_long_as_it_is_wide(dtype, window):
    """Nearly singular windows come and go; none leaves its errors to the next."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        H = rng.normal(size=(100, 6)).astype(dtype)
        Y = (H @ rng.normal(size=6) + 1).astype(dtype)
        model = SlidingOpium(window)
        for i in range(100):
            if i >= 20:
                rows, targets = H[max(0, i - window) : i], Y[max(0, i - window) : i, None]
                W = oracles.pseudoinverse_weights(rows, targets, 1e-3)
                want = float((H[i].astype(float) @ W)[0])
                got = model.predict(H[i : i + 1])[0]
                limit = {"d": 1e-8, "f": 5e-3}[dtype] * (abs(want) + np.abs(Y).max())
                assert abs(got - want) < limit
            model.partial_fit(H[i : i + 1], Y[i : i + 1])
