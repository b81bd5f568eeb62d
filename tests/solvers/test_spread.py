"""How sure a prediction is."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone

from greville import DynamicOpium, ELMRegressor, Greville, Opium, OpiumLight, SlidingOpium

from ..every_pair import quick_first
from ..oracles import relative_error
from ..problems import problem

Z90 = norm.ppf(0.95)


@pytest.mark.parametrize(
    ("solver", "n"),
    [
        (Opium(), 60),
        (Opium(), 1000),
        (Greville(), 100),
        (Opium(3.0), 200),
        (DynamicOpium(1.003), 3000),
        (DynamicOpium(1.01), 3000),
        (SlidingOpium(150), 600),
    ],
    ids=str,
)
def test_nine_in_ten_targets_lie_in_their_intervals(rng, solver, n):
    M, noise = 30, 0.3
    inside = []
    for _ in range(40):
        H, W = rng.normal(size=(n + 200, M)), rng.normal(size=(M, 2)) * 0.1
        Y = H @ W + noise * np.array([1.0, 5.0]) * rng.normal(size=(n + 200, 2))
        model = clone(solver).fit(H[:n], Y[:n])
        predicted, std = model.predict(H[n:], return_std=True)
        assert std.shape == predicted.shape
        inside.append(np.abs(Y[n:] - predicted) < Z90 * std)
    share = np.mean(inside, axis=(0, 1))
    assert ((share > 0.87) & (share < 0.93)).all(), share


def test_coverage_of_the_regressor_and_of_the_record(rng):
    X = rng.uniform(-2, 2, size=(4000, 3))
    y = np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=4000)
    model = ELMRegressor(60, Opium(0.1), random_state=0)
    predicted, std = model.prequential(X[:2000], y[:2000], return_std=True)
    record = np.abs(y[:2000] - predicted)[300:] < Z90 * std[300:]
    predicted, std = model.predict(X[2000:], return_std=True)
    later = np.abs(y[2000:] - predicted) < Z90 * std
    assert 0.87 < record.mean() < 0.93
    assert 0.87 < later.mean() < 0.93
    far = model.predict(20 * X[:5], return_std=True)[1]
    assert (far > std.mean()).all()  # it knows what it has not seen


@pytest.mark.everywhere
@pytest.mark.parametrize(
    "solver",
    [Opium(0.3), Opium(1e-12), Greville(), DynamicOpium(1.01, 0.1), DynamicOpium(1.2, 0.1),
     DynamicOpium(1.01, 0.1, None), SlidingOpium(40, 0.1)],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("holes", quick_first([True], [False]))
def test_the_record_says_what_the_loop_says(rng, solver, holes):
    H, Y = problem(rng, 160, 8)
    weight = rng.uniform(0.5, 2, size=160)
    if holes:
        weight[[5, 70, 140]] = 0
    loop, want = clone(solver), []
    for k in range(160):
        want.append(loop.predict(H[k : k + 1], return_std=True)[1][0] if k else [np.inf, np.inf])
        loop.partial_fit(H[k : k + 1], Y[k : k + 1], weight[k : k + 1])
    model = clone(solver)
    first = model.prequential(H[:90], Y[:90], weight[:90], return_std=True)
    second = model.prequential(H[90:], Y[90:], weight[90:], return_std=True)
    got = np.vstack([first[1], second[1]])
    # The first rows leave next to nothing over, and rounding decides.
    got, want = got[12:], np.array(want)[12:]
    assert np.array_equal(np.isinf(got), np.isinf(want))
    assert relative_error(got[np.isfinite(want)], want[np.isfinite(want)]) < 1e-6
    plain = clone(solver).prequential(H[:90], Y[:90], weight[:90])
    assert np.array_equal(plain, first[0])


@pytest.mark.everywhere
def test_the_textbook_case(rng):
    """Without a prior: residual variance with n - M degrees of freedom, and 1 + a'(H'H)⁻¹a."""
    H, Y = problem(rng, 80, 10)
    model = Greville().fit(H, Y)
    W = np.linalg.lstsq(H, Y)[0]
    variance = np.sum((Y - H @ W) ** 2, axis=0) / 70
    a = rng.normal(size=(4, 10))
    lengths = np.einsum("ij,jk,ik->i", a, np.linalg.inv(H.T @ H), a)
    want = np.sqrt((1 + lengths)[:, None] * variance)
    assert relative_error(model.predict(a, return_std=True)[1], want) < 1e-10
    doubled = Greville().fit(H, Y, np.full(80, 2.0))
    assert relative_error(doubled.predict(a, return_std=True)[1], want) < 1e-10


def test_shapes_dtypes_and_refusals(rng):
    X = rng.normal(size=(200, 3)).astype(np.float32)
    y = X[:, 0]
    model = ELMRegressor(20, random_state=0).fit(X, y)
    predicted, std = model.predict(X, return_std=True)
    assert predicted.shape == std.shape == (200,)
    assert std.dtype == np.float32
    light = ELMRegressor(20, OpiumLight(), random_state=0).fit(X, y)
    before = light.solver_.coef_
    with pytest.raises(ValueError, match="return_std"):
        light.predict(X, return_std=True)
    with pytest.raises(ValueError, match="return_std"):
        light.prequential(X, y, return_std=True)
    assert np.array_equal(light.solver_.coef_, before)
    assert light.n_samples_seen_ == 200


def test_merged_and_unlearned_models_are_as_sure(rng):
    H, Y = problem(rng, 200, 10)
    whole = Opium(0.1).fit(H, Y)
    parts = [Opium(0.1).fit(H[:80], Y[:80]), Opium(0.1).fit(H[80:], Y[80:])]
    more = Opium(0.1).fit(np.vstack([H, H[:50]]), np.vstack([Y, Y[:50]]))
    more.unlearn(H[:50], Y[:50])
    want = whole.predict(H, return_std=True)[1]
    for model in (sum(parts), more):
        assert relative_error(model.predict(H, return_std=True)[1], want) < 1e-8
