"""Scores are those of scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics

from greville.tables import ClassificationScore, RegressionScore


def test_scores_of_numbers_are_scikit_learns(rng):
    y, p = rng.normal(5, 2, 900), rng.normal(5, 2, 900)
    score = RegressionScore()
    for part in np.split(np.arange(900), [7, 300]):
        score.add(y[part], p[part], np.full(len(part), 3.0))
    found = score.summary()
    assert found["rmse"] == pytest.approx(metrics.root_mean_squared_error(y, p))
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(y, p))
    assert found["r2"] == pytest.approx(metrics.r2_score(y, p))
    inside = np.mean(abs(p - y) <= 1.6449 * 3)
    assert found["within_90_percent_interval"] == pytest.approx(inside)


@pytest.mark.parametrize("labels", [["no", "yes"], ["a", "b", "c"]])
def test_scores_of_labels_are_scikit_learns(rng, labels):
    y = rng.integers(0, len(labels), 800)
    proba = rng.dirichlet(np.ones(len(labels)), 800)
    proba[np.arange(800), y] += 0.5
    proba /= proba.sum(axis=1, keepdims=True)
    predicted, true = np.array(labels)[proba.argmax(axis=1)], np.array(labels)[y]
    score = ClassificationScore(labels)
    for part in np.split(np.arange(800), [100, 101]):
        score.add(true[part], predicted[part], proba[part])
    found = score.summary()
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(true, predicted))
    balanced = metrics.balanced_accuracy_score(true, predicted)
    assert found["balanced_accuracy"] == pytest.approx(balanced)
    assert found["log_loss"] == pytest.approx(metrics.log_loss(true, proba))
    brier = np.mean(((proba - np.eye(len(labels))[y]) ** 2).sum(axis=1))
    if len(labels) == 2:
        assert brier / 2 == pytest.approx(metrics.brier_score_loss(y, proba[:, 1]))
        brier /= 2
    assert found["brier"] == pytest.approx(brier)
    matrix = metrics.confusion_matrix(true, predicted, labels=labels)
    assert found["confusion"]["counts"] == matrix.tolist()
    if len(labels) == 2:
        area = metrics.roc_auc_score(y, proba[:, 1])
        assert found["roc_auc"] == pytest.approx(area, abs=1e-3)


def test_labels_that_no_model_knows_count_as_wrong():
    score = ClassificationScore(["a", "b"])
    score.add(np.array(["a", "z"]), np.array(["a", "a"]), np.array([[0.9, 0.1], [0.8, 0.2]]))
    found = score.summary()
    assert found["accuracy"] == 0.5
    assert found["classes"]["z"]["recall"] == 0


def test_scores_that_are_no_better_than_guessing_are_said():
    score = ClassificationScore(["a", "b"])
    score.add(np.array(["a", "b", "a"]), np.array(["a", "a", "a"]))
    assert score.summary()["no_better_than_guessing"]
    score.add(np.array(["b", "b"]), np.array(["b", "b"]))
    assert "no_better_than_guessing" not in score.summary()
    numbers = RegressionScore()
    numbers.add(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0]))
    assert numbers.summary()["no_better_than_guessing"]
