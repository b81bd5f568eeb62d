"""Classes: one output each, whenever they come, and the probabilities of them."""

import warnings

import numpy as np
import pandas as pd
import pytest

from greville import ELMClassifier, Opium, RandomLayer

from ..every_pair import quick_first
from ..oracles import pseudoinverse_weights, relative_error
from .problems import SOLVERS, classification


def test_the_classifier_learns_one_hot_targets(rng):
    X, y = classification(rng)
    model = ELMClassifier(30, Opium(0.2), random_state=5).fit(X, y)
    H = RandomLayer(30, bias=True, random_state=5).fit_transform(X)
    W = pseudoinverse_weights(H, np.eye(4)[y], 0.2)
    assert relative_error(model.solver_.coef_.T, W) < 1e-11
    np.testing.assert_allclose(model.decision_function(X), H @ W, atol=1e-11)
    np.testing.assert_array_equal(model.predict(X), (H @ W).argmax(1))
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("length", quick_first([50], [120, 1]))
def test_a_class_that_comes_late(rng, solver, length):
    X, y = classification(rng, n=240)
    names = np.array(["delta", "alpha", "charlie", "bravo"])
    late = np.concatenate([np.flatnonzero(y != 2), np.flatnonzero(y == 2)])
    X, y = X[late], names[y[late]]
    model = ELMClassifier(25, solver, random_state=0)
    told = ELMClassifier(25, solver, random_state=0)
    told.partial_fit(X[:1], y[:1], classes=names)
    for start in range(0, 240, length):
        rows = slice(start, start + length)
        model.partial_fit(X[rows], y[rows])
        if start or length > 1:
            rows = slice(max(1, start), start + length)
            told.partial_fit(X[rows], y[rows])
    assert list(model.classes_) == ["alpha", "bravo", "charlie", "delta"]
    assert relative_error(model.solver_.coef_, told.solver_.coef_) < 1e-10
    np.testing.assert_array_equal(model.predict(X), told.predict(X))


@pytest.mark.parametrize("method", quick_first(["predict_proba"], ["predict", "decision_function"]))
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_prequential_classes_take_part_once_seen(rng, solver, method):
    X, y = classification(rng, n=120, classes=5)
    y[:40] %= 2
    record = ELMClassifier(25, solver, random_state=0).partial_fit(X[:3], y[:3])
    loop = ELMClassifier(25, solver, random_state=0).partial_fit(X[:3], y[:3])
    got = record.prequential(X[3:], y[3:], method=method)
    for k in range(3, 120):
        if method == "predict":
            assert got[k - 3] == loop.predict(X[k : k + 1])[0]
        else:
            known = np.searchsorted(record.classes_, loop.classes_)
            row = np.full(5, -np.inf if method == "decision_function" else 0.0)
            row[known] = loop._predicted(X[k : k + 1])[1][0][0]
            if method == "predict_proba":
                row[known] = loop.predict_proba(X[k : k + 1])[0]
            np.testing.assert_allclose(got[k - 3], row, atol=1e-8)
        loop.partial_fit(X[k : k + 1], y[k : k + 1])


def test_prequential_classes_named_ahead_take_part_at_once(rng):
    X, y = classification(rng, n=30)
    scores = ELMClassifier(9, random_state=0).prequential(
        X, y, classes=[0, 1, 2, 3, 9], method="decision_function"
    )
    assert scores.shape == (30, 5)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, -1, 7]),
        np.array([0.0, 1.0, 2.0]),
        np.array(["b", "a", "c"]),
        np.array(["b", "a", "c"], dtype=object),
        np.array([True, False, True]),
        pd.Series(["x", "y", "z"]).astype("category"),
        pd.Series(["x", "y", "z"]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_any_kind_of_label(rng, labels):
    X, y = classification(rng, classes=3)
    y = labels[y] if isinstance(labels, np.ndarray) else labels.iloc[y]
    model = ELMClassifier(40, random_state=0)
    model.partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    assert model.score(X, y) > 0.8
    np.testing.assert_array_equal(model.classes_, np.unique(np.asarray(y)))


def test_probabilities(rng):
    X, y = classification(rng)
    for classes in (1, 2, 4):
        model = ELMClassifier(30, random_state=0).fit(X, y % classes)
        for x in (X, 100 * X):
            p = model.predict_proba(x)
            assert p.shape == (300, classes)
            assert (p >= 0).all()
            np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
            np.testing.assert_array_equal(model.classes_[p.argmax(1)], model.predict(x))
    binary = ELMClassifier(30, random_state=0).fit(X, y > 1)
    assert binary.decision_function(X).shape == (300,)
    np.testing.assert_array_equal(binary.decision_function(X) > 0, binary.predict(X))


def test_streams_of_many_classes_do_not_warn(rng):
    """scikit-learn takes a chunk with as many labels as rows for a regression."""
    X = rng.normal(size=(60, 3))
    model = ELMClassifier(10, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for start in range(0, 60, 30):
            model.partial_fit(X[start : start + 30], np.arange(30))
