"""greville beside other models on the same folds."""

import json

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import PredefinedSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greville.explain import comparison
from greville.explain.comparison import compare_models
from greville.tables import Batch, TableError

from ..runner import refused, run


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A forest and boosting take most of the time, and are scikit-learn's."""
    everyone = comparison._others

    def others(task):
        kept = everyone(task)
        return {name: kept[name] for name in kept if name not in ("random forest", "boosting")}

    monkeypatch.setattr(comparison, "_others", others)


def batches_of(columns, n):
    """The same rows in two batches."""
    cut = n // 3
    for start, stop in ((0, cut), (cut, n)):
        part = {name: values[start:stop] for name, values in columns.items()}
        yield Batch(pa.record_batch(part), "rows", np.arange(start, stop), 1.0)


def test_scores_are_those_of_scikit_learn_on_the_same_folds(rng):
    X = rng.normal(size=(150, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=150)
    rows = batches_of({"a": X[:, 0], "b": X[:, 1], "y": y}, 150)
    found = compare_models(rows, "y", folds=3)
    split = PredefinedSplit(comparison._folds(y, 3, classes=False))
    ridge = make_pipeline(StandardScaler(), RidgeCV(np.geomspace(1e-3, 1e4, 15)))
    expected = cross_val_score(ridge, X, y, cv=split)
    assert found.models["ridge"].scores == pytest.approx(expected, rel=1e-6)
    assert found.task == "regression"
    assert found.models["always the mean"].score < 0.02
    assert all(len(each.scores) == len(each.seconds) == 3 for each in found.models.values())
    scores = [each.score for each in found.models.values()]
    assert scores == sorted(scores, reverse=True)


def test_what_bends_is_learned_better_than_by_a_line(rng):
    x = rng.normal(size=300)
    found = compare_models(batches_of({"x": x, "y": np.sin(3 * x)}, 300), "y", folds=2)
    assert found.models["greville"].score > 0.9 > found.models["ridge"].score


def test_classes_that_are_in_no_other_fold_and_rows_without_a_target(rng):
    labels = np.array(["a", "b"] * 60 + ["rare"] + [""] * 9, object)
    x = np.where(labels == "a", 1.0, -1.0) + 0.3 * rng.normal(size=130)
    found = compare_models(batches_of({"x": x, "kind": labels}, 130), "kind", folds=4)
    assert (found.task, found.n_rows, found.n_total) == ("classification", 121, 130)
    assert found.models["greville"].score > 0.9 > found.models["the most frequent class"].score
    assert np.isfinite([each.loss for each in found.models.values()]).all()


def test_tables_that_cannot_be_compared(rng):
    rows = list(batches_of({"x": rng.normal(size=9), "y": rng.normal(size=9)}, 9))
    with pytest.raises(TableError, match="folds=5: there are 9 rows"):
        compare_models(rows, "y")
    with pytest.raises(TableError, match="no column 'z'"):
        compare_models(rows, "z")


def test_the_command(here, rng):
    lines = [f"{a:.3f},{a * a + b:.3f}" for a, b in rng.normal(size=(80, 2))]
    (here / "t.csv").write_text("\n".join(["x,y", *lines]))
    out, err = run("compare", "t.csv", "--target", "y", "--folds", 2, "--plot", "c.png")
    assert "greville, 200 units" in out
    assert "The picture is in c.png" in err
    assert (here / "c.png").stat().st_size > 5000
    out, _ = run("compare", "t.csv", "--target", "y", "--folds", 2, "--rows", 60, "--json")
    assert json.loads(out)["rows"] == 60
    assert "--target is missing" in refused("compare", "t.csv")
