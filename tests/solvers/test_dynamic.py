"""Forgetting that holds."""

import warnings

import numpy as np
import pytest

from greville import DynamicOpium, RandomLayer
from greville.datasets import sine_switch

from .. import oracles
from ..every_pair import every_pair
from ..lengths import at_length
from ..oracles import relative_error
from ..problems import learned
from .floors import observed, steps


def rms(errors):
    return np.sqrt(np.mean(errors**2))


@pytest.mark.parametrize(
    ("seed", "epsilon"),
    [(0, 10.0), *(pytest.param(*case, marks=pytest.mark.full) for case in [(1, 1e-3), (22, 10.0)])],
)
def test_the_papers_sine_goes_on(seed, epsilon):
    """It changes after 50,000 samples, when most directions have not been excited for long."""
    X, y = sine_switch(120_000, change=50_000)
    H = RandomLayer(100, random_state=seed).fit_transform(X)
    model = DynamicOpium(1.003, epsilon)
    errors = y - model.prequential(H, y)
    assert np.abs(errors).max() < 10
    assert rms(errors[-1000:]) < 1e-7
    assert np.linalg.norm(model.coef_) < 1e3


def test_the_printed_recursion_does_not():
    """It keeps no digits of what is not excited, and multiplies their errors with every row.

    When that shows depends on the last bits: in float64 after 15,000 samples in a run of four, in
    float32, with half the digits, after 8,000 in two of three. Twenty of these cannot all go well.
    """
    X, y = sine_switch(15_000, change=5_000)
    worst, seed = 0.0, 0
    while worst <= 1 and seed < 20:
        H = RandomLayer(100, random_state=seed).fit_transform(X).astype(np.float32)
        Y = y.astype(np.float32)[:, None]
        with np.errstate(all="ignore"):  # it may overflow
            errors = np.abs(oracles.opium(H, Y, 10.0, 1.003)[3])
        worst = np.nan_to_num(errors, nan=np.inf)[6_000:].max()
        ours = DynamicOpium(1.003, 10.0).prequential(H, Y) - Y
        assert np.abs(ours[6_000:]).max() < 1e-3
        seed += 1
    assert worst > 1


# Sequences that break recursive least squares. After each, ordinary rows come.

ALPHA = 1.01
WIDTH = 6


def _one_direction(rng, n):
    return np.outer(rng.normal(size=n), np.eye(WIDTH)[0])


def _another_direction(rng, n):
    half = _one_direction(rng, n // 2)
    return np.vstack([half, half[:, ::-1]])


HOSTILE = {
    "zeros": lambda rng, n: np.zeros((n, WIDTH)),
    "constant": lambda rng, n: np.ones((n, WIDTH)),
    "one direction": _one_direction,
    "one, then another": _another_direction,
    "periodic": lambda rng, n: np.sin(np.arange(n)[:, None] * 0.1 + np.arange(WIDTH)),
    "tiny": lambda rng, n: 1e-6 * rng.normal(size=(n, WIDTH)),
}


def check_hostile_rows(rng, name, dtype, scale, n):
    """Nothing overflows on the way, and ordinary rows afterwards are learned as by a new model."""
    after = int(5 / (ALPHA - 1))
    before = rng.normal(size=(500, WIDTH))
    rows = rng.normal(size=(after, WIDTH))
    H = scale * np.vstack([before, HOSTILE[name](rng, n), rows])
    W = rng.normal(size=WIDTH) / scale
    y = H @ W + 0.1 * rng.normal(size=len(H))
    H, y = H.astype(dtype), y.astype(dtype)
    model = DynamicOpium(ALPHA)
    predicted = model.prequential(H, y)
    assert np.isfinite(predicted).all()
    assert np.abs(predicted[:-after]).max() < 50 * np.abs(y).max()
    test = scale * rng.normal(size=(1000, WIDTH))
    fresh = DynamicOpium(ALPHA).fit(H[-after:], y[-after:])
    error, best = (rms(test @ (m.coef_ - W)) for m in (model, fresh))
    assert error <= 2 * best
    return H, y, model


@every_pair(name=HOSTILE, dtype=[np.float64, np.float32], scale=[1.0, 1e6, 1e-6])
def test_hostile_sequences(rng, name, dtype, scale):
    check_hostile_rows(rng, name, dtype, scale, 5_000)


@pytest.mark.full
@pytest.mark.parametrize("name", HOSTILE)
def test_long_hostile_sequences(rng, name):
    n = at_length(20_000, 100_000)
    H, y, model = check_hostile_rows(rng, name, np.float64, 1.0, n)
    in_chunks = DynamicOpium(ALPHA)
    for start in range(0, len(H), 7919):
        in_chunks.partial_fit(H[start : start + 7919], y[start : start + 7919])
    assert relative_error(in_chunks.coef_, model.coef_) < 1e-8
    check_hostile_rows(rng, name, np.float32, 1.0, n)


@pytest.mark.everywhere
def test_nothing_but_zeros(rng):
    """As if it had just been made."""
    model = DynamicOpium(1.01, 0.1).partial_fit(np.zeros((50_000, 3)), np.ones(50_000))
    assert not model.coef_.any()
    H, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    want = DynamicOpium(1.01, 0.1).fit(H, y).coef_
    assert relative_error(model.partial_fit(H, y).coef_, want) < 0.01


def test_weights_are_bounded_for_targets_that_cannot_be_met(rng):
    """Tiny activations ask for huge weights; the floor says how huge."""
    H = 1e-12 * rng.normal(size=(50_000, 3))
    H[0] = 1.0
    model = DynamicOpium(1.01).partial_fit(H, np.ones(len(H)))
    assert np.isfinite(model.coef_).all()


@pytest.mark.everywhere
@pytest.mark.parametrize("alpha", [1.05, 1.003])
@pytest.mark.parametrize("n", [1, 300, 1000])
def test_the_automatic_floor(rng, alpha, n):
    """A part of the mean square activation, as the rows learned so far have it."""
    H, Y = rng.normal(size=(n, 5)) * [1, 1, 1, 0, 0], rng.normal(size=(n, 2))

    def floor(rows):
        counts = (2 - alpha) ** np.arange(len(rows) - 1, -1, -1.0)
        return np.sqrt(1e-9 * (counts @ np.mean(rows**2, axis=1)) / counts.sum())

    want = oracles.forgetting_ridge(H, Y, 0.3, alpha, floor, observed(alpha, H.shape[1]))
    for cuts in ([], [n // 3], range(0, n, 7)):
        got = learned(DynamicOpium(alpha, 0.3), H, Y, cuts).coef_.T
        assert relative_error(got, want) < 1e-8


@pytest.mark.everywhere
@pytest.mark.parametrize("factor", [1e-5, 1e5])
def test_units_do_not_matter(rng, factor):
    H = np.hstack([rng.normal(size=(2000, 3)), np.zeros((2000, 2))])
    H[:500, 3:] = rng.normal(size=(500, 2))
    y = H @ rng.normal(size=5) + 0.1 * rng.normal(size=2000)
    got = DynamicOpium(1.01, 0.1 * factor).fit(factor * H, y).coef_ * factor
    assert relative_error(got, DynamicOpium(1.01, 0.1).fit(H, y).coef_) < 1e-8


# The paper's rule, floor=None


@pytest.mark.everywhere
@pytest.mark.host
def test_without_a_floor_it_warns_once_and_then_stops(rng):
    H, y = np.zeros((200, 3)), np.zeros(200)
    H[:, 0] = 1
    model = DynamicOpium(1.5, 1.0, floor=None)
    model.partial_fit(H[:100], y[:100]).predict(H[:1])
    with pytest.warns(RuntimeWarning, match="floor='auto'") as caught:
        model.partial_fit(H, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(8):
            model.partial_fit(H, y)
        before = model.coef_
        H, y = np.vstack([H] * 9), np.concatenate([y] * 9)
        for learn in (model.partial_fit, model.prequential):
            with pytest.raises(FloatingPointError, match="floor='auto'"):
                learn(H, y)
            assert np.array_equal(model.coef_, before)
            assert model.n_samples_seen_ == 1900


@pytest.mark.parametrize(
    ("floor", "dtype"),
    [("auto", np.float64), ("auto", np.float32), (None, np.float64), (1e-3, np.float32)],
)
@pytest.mark.filterwarnings("ignore:Without a floor")
def test_forgetting_never_ends_in_nan(rng, floor, dtype):
    H = np.zeros((1300, 5), dtype)
    H[:100, 0] = 1
    H[300:] = rng.normal(size=(1000, 5))
    y = H.sum(axis=1)
    for alpha in (1.05, 1.9):
        if floor is None and alpha == 1.9:
            continue  # it ends in an error, as above
        model = DynamicOpium(alpha, 1e-3, floor)
        predicted = model.prequential(H, y)
        assert np.isfinite(predicted).all()
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.theta_).all()
        assert np.isfinite(DynamicOpium(alpha, 0, floor).fit(H, y).coef_).all()
        np.testing.assert_allclose(model.coef_, np.ones(5), atol=0.05)


@pytest.mark.everywhere
@pytest.mark.parametrize(
    ("alpha", "M"), [(1.1, 3), (1.4, 40), pytest.param(1.01, 40, marks=pytest.mark.full)]
)
def test_between_the_floors_it_is_the_printed_recursion(alpha, M):
    """And what the floor adds is a multiple of I, around a part of the weights."""
    period, share, pull = observed(alpha, M)
    keep = 2 - alpha
    half_life = np.log(2) / -np.log(keep)
    assert max(1, int(half_life)) <= period <= max(10 * half_life, M / 4)
    assert share == pytest.approx(1 - keep**period, rel=1e-6)  # what was forgotten meanwhile
    assert 0 < pull < 1
    for k, (more, pulled, W) in enumerate(steps(alpha, M, 3 * period + 1, floor=0.5), start=1):
        due = k % period == 0
        np.testing.assert_allclose(more, due * share * 0.25 * np.eye(M), atol=1e-7)
        np.testing.assert_allclose(pulled, due * share * 0.25 * pull * W, atol=1e-7)
