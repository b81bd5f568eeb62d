"""Rows with several labels each: zeros and ones in two dimensions, as scikit-learn has them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

import greville
from greville import ELMClassifier, LinearClassifier, Opium


def problem(rng, n=300):
    X = rng.normal(size=(n, 4))
    noise = 0.3 * rng.normal(size=(n, 3))
    return X, (X @ rng.normal(size=(4, 3)) + noise > 0.5).astype(int)


def test_each_label_is_a_ridge_regression(rng):
    X, Y = problem(rng)
    weight = rng.uniform(0.5, 2, size=300)
    model = LinearClassifier(Opium(0.5, intercept=True)).fit(X, Y, weight)
    ridge = Ridge(0.25).fit(X, Y, weight)
    np.testing.assert_allclose(model.decision_function(X), 2 * ridge.predict(X) - 1, atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), ridge.predict(X) > 0.5)
    margins = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(margins, model.decision_function(X), atol=1e-10)


def test_chunks_and_single_rows_are_the_same_model(rng, either_way):
    X, Y = problem(rng, 150)
    whole, single = (ELMClassifier(20, random_state=0, standardize=False) for _ in range(2))
    before = whole.prequential(X, Y, method="decision_function")
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        if i > 30:
            np.testing.assert_array_equal(single.predict_one(x), before[i] > 0)
        single.learn_one(x, y)
    np.testing.assert_allclose(whole.decision_function(X), single.decision_function(X), atol=1e-7)
    np.testing.assert_allclose(whole.predict_proba(X), single.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_probabilities_are_as_sharp_as_they_should_be(rng, learn):
    X, Y = problem(rng, 3000)
    model = getattr(ELMClassifier(50, random_state=0), learn)(X[:2000], Y[:2000])
    P, T = model.predict_proba(X[2000:]), Y[2000:]
    assert ((P > 0) & (P < 1)).all()
    loss = -np.mean(T * np.log(P) + (1 - T) * np.log(1 - P))
    hits = np.where(model.predict(X[2000:]) == T, 0.97, 0.03)
    assert loss < -np.log(hits).mean()
    np.testing.assert_array_equal(P > 0.5, model.predict(X[2000:]))


def test_lists_and_sparse_labels_are_labels_too(rng):
    X, Y = problem(rng)
    expected = LinearClassifier().fit(X, Y).predict(X)
    for labels in (Y.tolist(), Y == 1, sparse.csr_matrix(Y), Y.astype(np.float32)):
        np.testing.assert_array_equal(LinearClassifier().fit(X, labels).predict(X), expected)


def test_rows_are_unlearned_merged_and_left_out(rng):
    X, Y = problem(rng)
    solver = Opium(0.5, intercept=True)
    whole, half, other, without = (LinearClassifier(solver) for _ in range(4))
    whole.fit(X, Y), half.fit(X[:200], Y[:200]), other.fit(X[200:], Y[200:])
    np.testing.assert_allclose((half + other).coef_, whole.coef_, atol=1e-10)
    without.fit(np.delete(X, 7, 0), np.delete(Y, 7, 0))
    left_out = whole.loo_predict(X, Y, method="decision_function")
    np.testing.assert_allclose(left_out[7], without.decision_function(X[7:8])[0], atol=1e-10)
    np.testing.assert_allclose(whole.unlearn(X[200:], Y[200:]).coef_, half.coef_, atol=1e-10)


def test_a_file_holds_it(rng, tmp_path):
    X, Y = problem(rng)
    model = ELMClassifier(20, random_state=0).partial_fit(X[:90], Y[:90])
    greville.save(model, tmp_path / "model.greville")
    loaded = greville.load(tmp_path / "model.greville")
    for each in (model, loaded):
        each.partial_fit(X[90:], Y[90:])
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (lambda Y: 2 * Y, "zeros and ones"),
        (lambda Y: Y.astype(str), "zeros and ones"),
        (lambda Y: Y[:, :2], "2 labels"),
        (lambda Y: Y[:, 0], "zeros and ones"),
        (lambda Y: Y[:20], "y"),
    ],
)
def test_what_cannot_be_learned_changes_nothing(rng, labels, message):
    X, Y = problem(rng)
    model = ELMClassifier(20, random_state=0).fit(X, Y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, labels(Y))
    np.testing.assert_array_equal(model.decision_function(X), before)
    with pytest.raises(ValueError, match="class_weight"):
        ELMClassifier(class_weight="balanced").fit(X, Y)
    with pytest.raises(ValueError, match="classes"):
        ELMClassifier().partial_fit(X, Y, classes=[0, 1])
