"""Rows of some labels count more than those of others."""

from copy import deepcopy

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

import greville
from greville import ELMClassifier, LinearClassifier, Opium

LABELS = np.array(["common", "rare", "some"])
GIVEN = {"rare": 7.0, "some": 2.5, "late": 4.0}


def problem(rng, n=240):
    X = rng.normal(size=(n, 3))
    return X, LABELS[np.digitize(X[:, 0] + rng.normal(size=n), [1.2, 1.9])]


def classifier(class_weight=None, **settings):
    return ELMClassifier(
        15, Opium(0.3, intercept=True), random_state=0, class_weight=class_weight, **settings
    )


@pytest.mark.parametrize("class_weight", ["balanced", GIVEN])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_a_weight_of_rows(rng, class_weight, weighted):
    X, y = problem(rng)
    weight = rng.integers(0, 4, size=240).astype(float) if weighted else np.ones(240)
    copies = np.repeat(y, weight.astype(int))
    factor = dict(zip(copies, compute_sample_weight(
        class_weight if isinstance(class_weight, str) else {"common": 1.0, **class_weight}, copies
    ), strict=True))  # fmt: skip
    expected = classifier().fit(X, y, weight * np.array([factor[label] for label in y]))
    model = classifier(class_weight).fit(X, y, weight)
    np.testing.assert_allclose(
        model.decision_function(X), expected.decision_function(X), atol=1e-10
    )


def test_later_rows_count_by_it_too(rng, either_way):
    X, y = problem(rng)
    late = np.where(np.arange(240) > 200, "late", y)
    whole = classifier(GIVEN, standardize=False).fit(X, late)
    online = classifier(GIVEN, standardize=False).partial_fit(X[:50], late[:50])
    for x, label in zip(X[50:], late[50:], strict=True):
        online.learn_one(x, label)
    np.testing.assert_allclose(whole.decision_function(X), online.decision_function(X), atol=1e-8)
    less = deepcopy(whole).unlearn(X[100:], late[100:])
    part = classifier(GIVEN, standardize=False).fit(X[:100], late[:100])
    np.testing.assert_allclose(
        less.decision_function(X)[:, [0, 2, 3]], part.decision_function(X), atol=1e-8
    )


def test_it_is_learned_from_prepared_rows(rng):
    X, y = problem(rng)
    whole = classifier("balanced").fit(X, y)
    online = classifier("balanced").prepare(X, y).partial_fit(X, y)
    np.testing.assert_allclose(whole.decision_function(X), online.decision_function(X), atol=1e-8)


def test_rare_classes_are_found(rng):
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + 0.7 * rng.normal(size=600) > 1.8
    plain, balanced = (LinearClassifier(class_weight=w).fit(X, y) for w in (None, "balanced"))
    assert plain.predict(X)[y].mean() < 0.2
    assert balanced.predict(X)[y].mean() > 0.8


def test_a_file_holds_it(rng, tmp_path):
    X, y = problem(rng)
    for weight, labels in ((GIVEN, y), ({0: 2.0, 1: 1.0}, (y == "rare").astype(int))):
        model = classifier(weight).partial_fit(X[:90], labels[:90])
        greville.save(model, tmp_path / "model.greville")
        loaded = greville.load(tmp_path / "model.greville")
        assert loaded.class_weight == weight
        for each in (model, loaded):
            each.partial_fit(X[90:], labels[90:])
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("wrong", ["even", {"rare": -1}, {"rare": "2"}, {1: 2.0}, [1, 2]])
def test_what_is_no_weight_of_classes(rng, wrong):
    X, y = problem(rng)
    for learn in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match="class_weight"):
            getattr(classifier(wrong), learn)(X, y)


def test_a_stream_does_not_know_what_is_balanced(rng):
    X, y = problem(rng)
    for learn in (lambda m: m.partial_fit(X, y), lambda m: m.learn_one(X[0], y[0])):
        with pytest.raises(ValueError, match=r"class_weight='balanced'.*prepare"):
            learn(classifier("balanced"))


def test_models_with_other_weights_are_not_merged(rng):
    X, y = problem(rng)
    one, other = classifier(GIVEN).fit(X, y), classifier().fit(X, y)
    with pytest.raises(ValueError, match="class_weight"):
        one.merge(other)
