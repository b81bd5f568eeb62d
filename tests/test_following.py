"""Predictions that are mixed with what the last targets say."""

import numpy as np
import pytest

from greville.following import Follower
from greville.mixture import Mixture, weights_for_one_output


def rms(errors):
    return np.sqrt(np.mean(errors**2))


def followed(predicted, y):
    return record(predicted, y)[1]


def record(predicted, y, std=None):
    """A follower after some rows, and what it predicted before each."""
    follower, found = Follower(), []
    for k, (p, target) in enumerate(zip(predicted, y, strict=True)):
        found.append(follower.predict(p, *([] if std is None else [std[k]])))
        follower = follower.learn(p, target)
    return follower, np.array(found)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "kind", ["walk", "noise", "rule", "rule and walk", "wild model", "constant", "jumps"]
)
def test_never_much_worse_than_the_last_target_or_the_mean(kind, seed):
    rng = np.random.default_rng(seed)
    e, f = rng.normal(size=(2, 1500))
    y, predicted = {
        "walk": (np.cumsum(e), f),
        "noise": (50 + e, f),
        "rule": (f + 0.1 * e, f),
        "rule and walk": (f + np.cumsum(0.2 * e), f),
        "wild model": (50 + e, 1e6 * f),
        "constant": (np.full(1500, 3.0), 3 + 0.1 * f),
        "jumps": (np.repeat(10 * e[:30], 50) + 0.1 * f, e),
    }[kind]
    means = np.cumsum(y) / np.arange(1, 1501)
    best = min(rms(np.diff(y)), rms(y[1:] - means[:-1]))
    assert rms((followed(predicted, y) - y)[1:]) <= 1.05 * best + 1e-12


def test_it_is_better_than_all_where_the_level_wanders(rng):
    e, f = rng.normal(size=(2, 2000))
    y = 2 * f + np.cumsum(0.3 * e)
    found = rms((followed(2 * f, y) - y)[1:])
    assert found < 0.3 * rms(2 * f - y)
    assert found < 0.3 * rms(np.diff(y))


def test_the_five_predictions_by_hand():
    follower = Follower()
    assert follower.predict(7.0) == 7.0
    for predicted, target in ((7.0, 1.0), (2.0, 4.0), (3.0, 2.0)):
        follower = follower.learn(predicted, target)
    assert (follower.n, follower.last, follower.low, follower.high) == (3, 2.0, 1.0, 4.0)
    assert follower.mean == pytest.approx(7 / 3)
    assert follower.levels == pytest.approx((0.5 * -1 + 0.5 * (0.5 * 2), 0.15 * -1 + 0.85 * 0.3))
    first = np.full(5, 4 - 1)  # all are clipped to the one target so far
    second = np.array([2 - 3, 2 - 4, 2 - 2.5, 2 - (3 + 1), 2 - (3 + 0.3)])
    squares = 0.99 * first**2 + second**2
    assert follower.squares == pytest.approx(tuple(squares))
    prior = np.log([1, 20, 20, 1, 1])
    more = squares + squares.mean() / 1.99  # as after one more row, on which all are alike
    weights = Mixture(more[:, None], 2.99, 0.99, prior).weights()
    values = np.array([3.0, 2.0, 7 / 3, 3.0, 3 + 0.105])
    assert follower.predict(3.0) == pytest.approx(weights @ values)
    mean, std = follower.predict(3.0, 0.5)
    variances = np.array([0.25, *more[1:] / 2.99])
    assert mean == pytest.approx(weights @ values)
    assert std == pytest.approx(np.sqrt(weights @ (variances + (values - mean) ** 2)))
    assert follower.predict(np.nan) == pytest.approx(
        weights @ [7 / 3, 2.0, 7 / 3, 7 / 3, 7 / 3 + 0.105]
    )


def test_predictions_are_clipped_to_what_was_seen(rng):
    y = rng.uniform(0, 1, size=200)
    follower, _ = record(y, y)  # the model is right, and trusted
    assert follower.predict(100.0) == pytest.approx(
        follower.high + 0.15 * (follower.high - follower.low)
    )
    trained = Follower(trained=True).learn(0.5, 0.5).learn(0.6, 0.6)
    assert trained.predict(100.0) > 50  # a trained model knows a larger range


def test_a_trained_model_is_trusted_at_once():
    new, trained = Follower().learn(1.0, 1.0), Follower(trained=True).learn(1.0, 1.0)
    assert trained.predict(2.0) > 1.8
    assert new.predict(2.0) < 1.2


def test_weights_in_numbers_of_python(rng):
    squares, prior = rng.uniform(size=4), rng.normal(size=4)
    want = Mixture(squares[:, None], 7.0, 0.9, prior).weights()
    np.testing.assert_allclose(weights_for_one_output(prior, squares, 7.0), want, rtol=1e-12)


def test_large_numbers_give_numbers():
    _, found = record([0, 1e140, 1, 2], [0, -1e140, 1, 2], [1, 1, 1, 1])
    assert np.isfinite(found[:, 0]).all()
    assert not np.isnan(found).any()


def test_a_guess_of_the_model_counts_as_no_error():
    follower = Follower()
    for k in range(50):
        follower = follower.learn(float(k % 7), float(k % 7))  # the model is right
    met = follower.meet(0.0, 1000.0)
    assert (met.last, met.high, met.n) == (1000.0, 1000.0, 51)
    assert met.predict(3.0) == pytest.approx(3.0, abs=0.1)
    assert abs(follower.learn(0.0, 1000.0).predict(3.0) - 3.0) > 1
    assert np.isfinite(Follower().meet(0.0, 1.0).meet(0.0, 2.0).learn(0.0, 3.0).predict(1.0))


def test_two_targets_that_are_the_same_make_nothing_certain():
    follower = Follower(trained=True)
    for predicted, target in ((100.0, 150.0), (120.0, 150.0)):
        follower = follower.learn(predicted, target)
    small, large = (follower.predict(each, 10.0) for each in (80.0, 200.0))
    assert large[0] - small[0] > 40  # the model still counts most
    assert min(small[1], large[1]) > 5
