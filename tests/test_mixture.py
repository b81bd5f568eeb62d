"""Experts weighted by their recent errors, against the formula written out."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greville import DynamicOpium
from greville.mixture import Mixture, mix


def weights_by_hand(log_prior, decay, errors, sample_weight):
    """From all errors at once: `errors` has the shape (experts, rows, outputs)."""
    counted = [k for k, w in enumerate(sample_weight) if w > 0]
    faded = {k: decay**age * sample_weight[k] for age, k in enumerate(reversed(counted))}
    n, logs = sum(faded.values()), list(log_prior)
    for e in range(len(log_prior)):
        for o in range(errors.shape[2]):
            if n > 0:
                square = sum(f * float(errors[e, k, o]) ** 2 for k, f in faded.items())
                logs[e] -= n / 2 * math.log(square / n)
    shares = [math.exp(each - max(logs)) for each in logs]
    return np.array(shares) / sum(shares)


@pytest.mark.parametrize("n_outputs", [1, 3, 9])
@pytest.mark.parametrize("decay", [0.92, 0.98, 1.0])
def test_by_hand(n_outputs, decay, rng):
    log_prior = -np.log(3.0) * np.array([0, 0, 1, 2])
    errors = rng.normal(size=(4, 30, n_outputs)) * np.linspace(1, 1.5, 4)[:, None, None]
    weight = rng.uniform(0.5, 2, size=30) * (rng.random(30) > 0.2)
    after, weights = Mixture.start(log_prior, n_outputs, decay).update_many(errors, weight)
    for k in range(31):
        expected = weights_by_hand(log_prior, decay, errors[:, :k], weight[:k])
        np.testing.assert_allclose(weights[k], expected, rtol=1e-9)
    np.testing.assert_array_equal(after.weights(), weights[-1])
    expected = [weights[k] @ errors[:, k] for k in range(30)]
    np.testing.assert_allclose(mix(weights[:-1], errors), expected, rtol=1e-9, atol=1e-12)


@settings(deadline=None)
@given(st.lists(st.integers(1, 40), max_size=4), st.booleans())
def test_how_rows_are_cut_changes_no_bit(cuts, singly):
    rng = np.random.default_rng(0)
    errors, weight = rng.normal(size=(6, 40, 2)).astype(np.float32), rng.integers(0, 3, 40)
    start = Mixture.start(-np.arange(6.0), 2, 0.92)
    whole, expected = start.update_many(errors, weight)
    mixture, found = start, [start.weights()]
    for part in np.split(np.arange(40), range(1, 40) if singly else sorted(cuts)):
        mixture, weights = mixture.update_many(errors[:, part], weight[part])
        found.extend(weights[1:])
    assert np.array_equal(found, expected)
    assert np.array_equal(mixture.squares, whole.squares)
    assert mixture.count == whole.count


def test_one_row_is_a_block_of_one(rng):
    start = Mixture.start([0.0, -1.0], 3, 0.9)
    mixture, errors, weight = start, rng.normal(size=(2, 5, 3)), [1.0, 0.0, 2.5, 1.0, 0.25]
    for k in range(5):
        mixture = mixture.update(errors[:, k], weight[k])
    whole, _ = start.update_many(errors, np.array(weight))
    assert np.array_equal(mixture.squares, whole.squares)
    assert mixture.count == whole.count
    assert start.count == 0  # the one they started from is unchanged
    assert not start.squares.any()


def test_before_any_error_the_prior_decides():
    weights = Mixture.start(-np.log(20.0) * np.arange(3), 2, 0.92).weights()
    np.testing.assert_allclose(weights, np.array([400, 20, 1]) / 421, rtol=1e-14)


def test_an_expert_without_errors_has_all_the_weight():
    mixture = Mixture.start([-5.0, 0.0], 1, 0.9)
    for _ in range(3):
        mixture = mixture.update([[0.0], [1e-3]])
    np.testing.assert_array_equal(mixture.weights().round(12), [1, 0])
    both = Mixture.start([0.0, 0.0], 1, 0.9).update([[0.0], [0.0]])
    np.testing.assert_array_equal(both.weights(), [0.5, 0.5])


def test_more_outputs(rng):
    mixture = Mixture.start([0.0, 0.0], 2, 0.9).update(rng.normal(size=(2, 2)))
    wider = mixture.with_outputs(3, [2, 0])
    np.testing.assert_array_equal(wider.squares[:, [2, 0]], mixture.squares)
    assert not wider.squares[:, 1].any()
    np.testing.assert_allclose(wider.weights(), mixture.weights(), rtol=1e-12)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_memories_of_dynamic_opium(n_outputs, rng):
    """alpha="auto" is a mixture of two memories, which prefers the longer ones."""
    H = rng.normal(size=(150, 4))
    Y = H @ rng.normal(size=(4, n_outputs)) + 0.1 * rng.normal(size=(150, n_outputs))
    Y[80:] += 3 * H[80:, :1]
    weight = rng.uniform(0.5, 2, size=150)
    weight[[3, 20, 90]] = 0
    alphas = [1.0, 1.003]
    models = [DynamicOpium(alpha) for alpha in alphas]
    predicted = np.array([model.prequential(H, Y, weight) for model in models])
    start = Mixture.start(-np.log(100.0) * np.arange(2), n_outputs, 0.95)
    mixture, weights = start.update_many(Y - predicted, weight)
    auto = DynamicOpium("auto")
    found = auto.prequential(H, Y, weight)
    np.testing.assert_allclose(found, mix(weights[:-1], predicted), rtol=1e-9, atol=1e-9)
    assert auto.alpha_ == pytest.approx(mixture.weights() @ alphas, rel=1e-12)
    coef = sum(p * model.coef_ for p, model in zip(mixture.weights(), models, strict=True))
    np.testing.assert_allclose(auto.coef_, coef, rtol=1e-9, atol=1e-12)
