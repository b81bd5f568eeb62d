"""Probabilities: as sharp as rows that were not learned say, however the rows came."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.metrics import log_loss

import greville
from greville import ELMClassifier, Opium, OpiumLight, RandomLayer
from greville.elm.calibration import (
    Calibration,
    log_losses,
    probabilities,
    rows_of_fit,
    rows_until_bound,
    window_at,
)

from ..oracles import nearest_probabilities


def noisy(rng, n=900, classes=3):
    X = rng.normal(size=(n, 5))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + 0.8 * rng.normal(size=n), [-0.5, 0.7])
    return X, y % classes


def best_sharpness(scores, labels, weight=None):
    def loss(log_a):
        own = log_softmax(np.exp(log_a) * scores, axis=1)[np.arange(len(labels)), labels]
        return -np.average(own, weights=weight)

    return float(np.exp(minimize_scalar(loss, bounds=(-1, 6), method="bounded").x))


def sharpness_of(model, X):
    """Read off the probabilities."""
    scores, logits = model._predicted(X)[1][0], np.log(model.predict_proba(X))
    apart = scores[:, 0] - scores[:, 1]
    use = np.abs(apart) > 0.05
    return float(np.median((logits[:, 0] - logits[:, 1])[use] / apart[use]))


def test_the_sharpness_of_a_fit_is_the_best_for_leave_one_out_scores(rng):
    X, y = noisy(rng)
    model = ELMClassifier(RandomLayer(60, bias=True), random_state=0).fit(X, y)
    scores = model.loo_predict(X, y, method="decision_function")
    assert sharpness_of(model, X) == pytest.approx(best_sharpness(scores, y), rel=0.02)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(
        p, softmax(sharpness_of(model, X) * model.decision_function(X), axis=1), atol=1e-6
    )
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))


def test_probabilities_are_better_than_the_nearest_ones(rng):
    problems = [
        (load_wine(return_X_y=True)),
        (load_digits(return_X_y=True)),
        make_classification(600, 8, n_informative=5, n_classes=3, flip_y=0.1, random_state=0),
        make_classification(500, 6, flip_y=0.2, random_state=1),
    ]
    for X, y in problems:
        order = rng.permutation(len(X))
        train, test = order[len(X) // 3 :], order[: len(X) // 3]
        model = ELMClassifier(random_state=0).fit(X[train], y[train])
        p = model.predict_proba(X[test])
        assert p.min() > 0
        before = nearest_probabilities(model._predicted(X[test])[1][0])
        assert log_loss(y[test], p) < log_loss(y[test], np.clip(before, 1e-15, 1))


@pytest.mark.parametrize(
    ("solver", "n"),
    [("opium", 100), (Opium(0.3), 260),
     pytest.param("opium", 700, marks=pytest.mark.full),
     pytest.param(OpiumLight(gain=0.5), 260, marks=pytest.mark.full),
     pytest.param("greville", 260, marks=pytest.mark.full),
     pytest.param(Opium(0.3), 900, marks=pytest.mark.full)],
)  # fmt: skip
def test_cutting_a_stream_changes_no_probability(rng, solver, n):
    X, y = noisy(rng, n)
    whole = ELMClassifier(30, solver, random_state=0).partial_fit(X, y)
    for lengths in ([1] * n, [64, 64, 1, 200, n], [500, 13, n]):
        model, start = ELMClassifier(30, solver, random_state=0), 0
        for length in lengths:
            if start < n:
                model.partial_fit(X[start : start + length], y[start : start + length])
            start += length
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    ones = ELMClassifier(30, solver, random_state=0)
    for x, label in zip(X, y, strict=True):
        ones.learn_one(x, label)
    np.testing.assert_allclose(ones.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    record = ELMClassifier(30, solver, random_state=0)
    record.prequential(X, y)
    np.testing.assert_allclose(record.predict_proba(X), whole.predict_proba(X), atol=1e-6)


@pytest.mark.full
def test_single_rows_of_a_long_stream(rng):
    """Longer than the warm-up, so that compiled code learns them where there is some."""
    X, y = noisy(rng, 2700)
    ones, whole = (ELMClassifier(20, Opium(0.3), random_state=0) for _ in range(2))
    for x, label in zip(X, y, strict=True):
        ones.learn_one(x, label)
    whole.partial_fit(X, y)
    assert sharpness_of(ones, X) == pytest.approx(sharpness_of(whole, X), rel=1e-6)


def test_the_sharpness_of_a_stream_follows_what_it_scored_before_it_learned(rng):
    X, y = noisy(rng, 1300)
    model = ELMClassifier(RandomLayer(50, bias=True), random_state=0)
    scores = model.prequential(X, y, method="decision_function")
    window = slice(1024, 1280)
    best = best_sharpness(scores[window], y[window])
    assert sharpness_of(model, X) == pytest.approx(best, rel=0.03)


def test_saved_merged_cloned_and_reset(rng, tmp_path):
    X, y = noisy(rng)
    model = ELMClassifier(20, Opium(0.3), random_state=0, standardize=False)
    model.partial_fit(X[:600], y[:600])
    greville.save(model, tmp_path / "m.greville")
    loaded = greville.load(tmp_path / "m.greville")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    for each in (model, loaded):
        each.partial_fit(X[600:], y[600:])
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    other = clone(model).fit(X[:300], y[:300])
    merged = model + other
    low, high = sorted(sharpness_of(m, X) for m in (model, other))
    assert low * 0.99 <= sharpness_of(merged, X) <= high * 1.01
    before = sharpness_of(model, X)
    assert sharpness_of(model.unlearn(X[:100], y[:100]), X) == pytest.approx(before, rel=1e-6)


def test_weights_count_as_repetitions(rng):
    X, y = noisy(rng, 200)
    weight = rng.integers(0, 4, size=200)
    weighted = ELMClassifier(15, Opium(0.3), random_state=0, standardize=False)
    repeated = clone(weighted).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    weighted.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_late_classes(rng):
    X, y = noisy(rng, 800)
    order = np.argsort(y == 2, kind="stable")
    X, y = X[order], y[order]
    model = ELMClassifier(30, Opium(0.3), random_state=0)
    told = ELMClassifier(30, Opium(0.3), random_state=0)
    for start in range(0, 800, 90):
        model.partial_fit(X[start : start + 90], y[start : start + 90])
    told.partial_fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), told.predict_proba(X), atol=1e-8)


def test_two_classes_have_one_score_in_every_method(rng):
    X, y = noisy(rng, 200, classes=2)
    model = ELMClassifier(20, Opium(0.3), random_state=0).fit(X, y)
    left_out = model.loo_predict(X, y, method="decision_function")
    assert left_out.shape == (200,)
    np.testing.assert_array_equal(left_out > 0, model.loo_predict(X, y) == 1)
    scores = ELMClassifier(20, random_state=0).prequential(X, y, method="decision_function")
    assert scores.shape == (200,)


def test_one_class_and_one_row():
    model = ELMClassifier(5, random_state=0).fit([[1.0], [2.0]], [3, 3])
    np.testing.assert_array_equal(model.predict_proba([[1.0]]), [[1.0]])
    p = ELMClassifier(5, random_state=0).partial_fit([[1.0]], ["a"], classes=["a", "b"])
    assert p.predict_proba([[1.0]]).shape == (1, 2)


def test_far_scores_leave_no_class_impossible():
    p = probabilities(np.array([[1e6, 0.0, -1e6], [1.0, -np.inf, 0.5]]), 10.0)
    assert 0 < p[0, 1] < 1e-20
    assert p[1, 1] == 0  # a class that was not known
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_windows():
    inside = [window_at(n) is not None for n in range(5000)]
    assert not any(inside[:128])
    assert all(inside[128:768])
    assert not any(inside[768:1024])
    assert all(inside[1024:1280])
    assert not any(inside[1280:2048])
    for n in range(0, 5000, 37):
        following = next(k for k in range(n + 1, 10_000) if window_at(k) != window_at(n))
        assert rows_until_bound(n) == following - n
    assert len(rows_of_fit(100)) == 100
    assert len(rows_of_fit(10**7)) == 1024


def test_losses_against_the_definition(rng):
    scores, labels = rng.normal(size=(50, 4)), rng.integers(0, 4, size=50)
    weight = rng.uniform(size=50)
    losses = log_losses(scores, labels, weight)
    grid = np.geomspace(0.5, 200, 28)
    for a, loss in list(zip(grid, losses, strict=True))[:12]:
        expected = -(weight * log_softmax(a * scores, axis=1)[np.arange(50), labels]).sum()
        assert loss == pytest.approx(expected)
    best = Calibration(losses=1000 * losses).sharpness(4)
    assert best == pytest.approx(max(0.5, best_sharpness(scores, labels, weight)), rel=0.3)
