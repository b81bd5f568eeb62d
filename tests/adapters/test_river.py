"""The models for river, with river itself: its checks, pipelines, evaluation and data."""

import copy
import csv
import math
import pickle
import sys
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

if not hasattr(csv.DictReader, "__class_getitem__"):  # river 0.26 needs it on Python 3.11
    csv.DictReader.__class_getitem__ = classmethod(lambda cls, _: cls)

pytest.importorskip("river", reason="river is not installed")

from river import (
    base,
    checks,
    compose,
    datasets,
    evaluate,
    linear_model,
    metrics,
    preprocessing,
    stream,
)

import greville
from greville.adapters.river import Classifier, Regressor

from .. import children


def both(**parameters):
    return [Regressor(**parameters), Classifier(**parameters)]


def river_checks():
    """All checks of river, with a small hidden layer, so that they take seconds.

    Classifiers are checked twice on the same rows, with labels bool and np.bool_: here once, with
    the latter. The former are in `test_labels_of_any_kind`.
    """
    for model in both(hidden=20):
        found = list(checks.yield_checks(model))
        for i, check in enumerate(found):
            names = [other.__name__ for other in found]
            if names.count(check.__name__) == 3 and check.__name__ not in names[:i]:
                continue
            name = f"{type(model).__name__}-{check.__name__}-{i}"
            yield pytest.param(type(model), check, id=name)


@pytest.mark.parametrize(("kind", "check"), list(river_checks()))
def test_river_checks(kind, check):
    check(kind(hidden=20))


def test_they_are_what_river_looks_for():
    regressor, classifier = both()
    assert isinstance(regressor, base.Regressor)
    assert isinstance(classifier, base.Classifier)
    assert classifier._multiclass
    assert not regressor._unit_test_skips()
    assert not classifier._unit_test_skips()


# River's tools


def test_progressive_validation_in_a_pipeline():
    def error(model):
        rows = datasets.TrumpApproval().take(400)
        return evaluate.progressive_val_score(rows, model, metrics.MAE()).get()

    alone = error(Regressor(hidden="stream"))
    scaled = error(preprocessing.StandardScaler() | Regressor(hidden="stream"))
    linear = error(preprocessing.StandardScaler() | linear_model.LinearRegression(intercept_lr=0.1))
    assert max(alone, scaled) < linear


def test_progressive_validation_of_a_classifier():
    def accuracy(model):
        rows = datasets.ImageSegments().take(500)
        steps = evaluate.iter_progressive_val_score(rows, model, metrics.Accuracy(), step=250)
        return list(steps)[-1]["Accuracy"].get()

    from river import multiclass

    ours = accuracy(Classifier(hidden="stream"))
    linear = multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
    assert ours > accuracy(preprocessing.StandardScaler() | linear)


def test_a_metric_of_probabilities():
    found = evaluate.progressive_val_score(
        datasets.Phishing().take(300), Classifier(hidden=40), metrics.ROCAUC()
    )
    assert found.get() > 0.9


def test_dates_text_and_chosen_features():
    model = compose.Select("month") | Regressor(hidden=30)
    found = evaluate.progressive_val_score(datasets.AirlinePassengers(), model, metrics.MAE())
    assert found.get() < 60


def test_targets_that_come_late():
    start = datetime(2020, 1, 1)
    rows = [({"at": start + timedelta(hours=i), "x": float(i % 7)}, i % 7) for i in range(80)]
    found = evaluate.progressive_val_score(
        rows, Regressor(hidden=30), metrics.MAE(), moment="at", delay=timedelta(hours=3)
    )
    assert found.get() < 2


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("kind", [Regressor, Classifier])
def test_copies_go_on_on_their_own(kind, copied):
    rows = [({"x": i / 7, "t": "abc"[i % 3]}, i % 4) for i in range(90)]
    model = kind(hidden=30)
    for x, y in rows[:50]:
        model.learn_one(x, y)
    other, before = copied(model), model.predict_one(rows[0][0])
    for x, y in rows[50:]:
        other.learn_one(x, y)
    assert model.predict_one(rows[0][0]) == pytest.approx(before, rel=1e-9)
    for x, y in rows[50:]:
        model.learn_one(x, y)
    for x, _ in rows:
        assert model.predict_one(x) == pytest.approx(other.predict_one(x))


@pytest.mark.parametrize("n", [0, 60, 700])
def test_files_of_models_go_on(n, tmp_path):
    rng = np.random.default_rng(0)
    rows = [{"x": x, 3: "ab"[int(x > 0)]} for x in rng.normal(size=n + 300)]
    targets = [x["x"] ** 2 for x in rows], [("up", 0, True)[int(x["x"] * 9) % 3] for x in rows]
    for model, y in zip(both(hidden=10, seed=3, categorical=["x1"]), targets, strict=True):
        for each, target in zip(rows[:n], y, strict=False):
            model.learn_one(each, target)
        greville.save(model, tmp_path / "model")
        again = greville.load(tmp_path / "model")
        assert type(again) is type(model)
        assert again._get_params() == model._get_params()
        for each, target in zip(rows[n:], y[n:], strict=True):
            assert again.predict_one(each) == model.predict_one(each)
            again.learn_one(each, target)
            model.learn_one(each, target)


def test_weights_are_counts():
    rng = np.random.default_rng(0)
    rows = [{"x": x} for x in rng.normal(size=200)]
    for kind, of in ((Regressor, lambda x: 3 * x + rng.normal()), (Classifier, lambda x: x > 0)):
        weighted, repeated = kind(hidden=10, follow=False), kind(hidden=10, follow=False)
        for each in rows:
            y, w = of(each["x"]), int(rng.integers(0, 3))
            weighted.learn_one(each, y, w=w)
            for _ in range(w):
                repeated.learn_one(each, y)
        assert weighted.table_model.n_rows == repeated.table_model.n_rows
        assert weighted.predict_one(rows[0]) == pytest.approx(repeated.predict_one(rows[0]))
        for wrong in (-1, 0.5, "2", math.nan):
            with pytest.raises(ValueError, match="w="):
                weighted.learn_one(rows[0], y, w=wrong)


def test_a_clone_has_the_parameters_and_no_rows():
    model = Regressor(hidden=7, solver="dynamic", alpha=1.01, categorical=["code"], seed=3)
    model.learn_one({"x": 1.0}, 2.0)
    other = model.clone({"seed": 4})
    assert other.table_model.n_rows == 0
    wanted = {**model._get_params(), "seed": 4}
    assert other._get_params() == wanted
    assert other.table_model.settings.alpha == 1.01
    assert other.table_model.settings.seed == 4


# Rows


def test_before_the_first_row():
    assert Regressor().predict_one({"x": 1.0}) == 0.0
    assert Classifier().predict_one({"x": 1.0}) is None
    assert Classifier().predict_proba_one({"x": 1.0}) == {}
    X = pd.DataFrame({"x": [1.0, 2.0]}, index=[5, 6])
    assert Regressor().predict_many(X).to_dict() == {5: 0.0, 6: 0.0}
    assert Classifier().predict_many(X).to_dict() == {5: None, 6: None}
    assert Classifier().predict_proba_many(X).shape == (2, 0)


def test_the_first_row_is_learned():
    model = Regressor()
    model.learn_one({"x": 1.0}, 7.0)
    assert model.predict_one({"x": 1.0}) == pytest.approx(7.0)
    model = Classifier()
    model.learn_one({"x": 1.0}, "a")
    assert model.predict_proba_one({"x": 2.0}) == {"a": 1.0}


def test_gaps_of_all_kinds_are_the_same():
    model = Regressor(hidden=30)
    for i in range(60):
        x = [float(i % 5), None, math.nan, np.float32("nan")][i % 4]
        model.learn_one({"x": x, "z": i % 3, "t": [None, "a", "b"][i % 3]}, float(i % 5))
    want = model.predict_one({"z": 1})
    for x in (None, math.nan, np.float64("nan")):
        assert model.predict_one({"x": x, "z": 1, "t": None}) == pytest.approx(want)


def test_a_row_without_a_value():
    model = Regressor(hidden=30)
    model.learn_one({}, 1.0)
    model.learn_one({"x": None}, 1.0)
    assert model.table_model.n_rows == 0
    assert model.predict_one({}) == 0.0
    for i in range(20):
        model.learn_one({"x": float(i)}, 2.0 * i)
    model.learn_one({}, 100.0)
    model.learn_one({"other": None}, 100.0)
    assert model.table_model.n_rows == 22
    want = model.predict_one({"x": None})
    assert want > 40
    assert model.predict_one({}) == pytest.approx(want)
    assert model.predict_one({"unheard": 3}) == pytest.approx(want)


def test_features_come_and_go():
    model = Regressor(hidden=30)
    for i in range(40):
        model.learn_one({"x": float(i % 5)}, float(i % 5))
    for i in range(100):
        model.learn_one({"x": float(i % 5), "later": float(i % 3)}, i % 5 + 10.0 * (i % 3))
    assert "later" in model.table_model.schema.names
    low, high = (model.predict_one({"x": 2.0, "later": z}) for z in (0.0, 2.0))
    assert high - low == pytest.approx(20, abs=2)
    for i in range(20):
        model.learn_one({"later": float(i % 3)}, 10.0 * (i % 3))
    assert math.isfinite(model.predict_one({"later": 1.0}))


def test_a_column_of_numbers_that_becomes_text():
    model = Regressor(hidden=30, follow=False)
    for i in range(20):
        model.learn_one({"x": i % 2, "z": float(i)}, float(i % 2))
    unknown, gap = (model.predict_one(row) for row in ({"x": "unknown", "z": 1.0}, {"z": 1.0}))
    assert unknown == pytest.approx(gap, rel=1e-12)
    for i in range(20):
        model.learn_one({"x": ["unknown", 0, 1][i % 3], "z": float(i)}, float(i % 3))
    assert model.predict_one({"x": "unknown", "z": 3.0}) == pytest.approx(0, abs=0.5)
    assert model.table_model.n_rows == 40


def test_text_where_many_rows_have_numbers():
    model = Regressor(hidden=30)
    for i in range(200):
        model.learn_one({"x": i / 3, "z": float(i % 3)}, float(i % 3))
    assert math.isfinite(model.predict_one({"x": "odd", "z": 1.0}))
    with pytest.raises(ValueError, match="column 'x' should be a number, got 'odd'"):
        model.learn_one({"x": "odd", "z": 1.0}, 1.0)
    assert model.table_model.n_rows == 200


def test_names_of_any_kind():
    model, plain = Regressor(hidden=30), Regressor(hidden=30)
    for i in range(30):
        values = float(i), float(i % 4), float(i % 3), i % 2 == 0
        model.learn_one(dict(zip([1, "1", ("a", 2), "y"], values, strict=True)), float(i))
        plain.learn_one(dict(zip("cbad", values, strict=True)), float(i))
    assert len(model.table_model.schema.names) == 4
    assert model.predict_one({1: 3.0}) == pytest.approx(plain.predict_one({"c": 3.0}))
    assert model.predict_one({"y": True}) == pytest.approx(plain.predict_one({"d": True}))
    assert model.predict_one({1: 3.0}) != model.predict_one({"1": 3.0})
    rows = list(stream.iter_array(np.eye(4), [1.0, 2.0, 3.0, 4.0]))
    evaluate.progressive_val_score(rows, Regressor(hidden=5), metrics.MAE())


LABELS = [(False, True), ("b", "a", ""), (3, 1, 2), ("nan", "x"), (np.True_, np.False_), (1.5, 2.5)]


@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_labels_of_any_kind(labels):
    model = Classifier(hidden=30)
    for i in range(60):
        k = i % len(labels) if i >= 20 else 0  # the others come late
        model.learn_one({"x": float(k)}, labels[k])
    for k, label in enumerate(labels):
        assert model.predict_one({"x": float(k)}) == label
        found = model.predict_proba_one({"x": float(k)})
        assert set(found) == set(labels)
        assert sum(found.values()) == pytest.approx(1)


def test_true_or_false_as_a_number():
    model = Regressor(hidden=10)
    for i in range(20):
        model.learn_one({"x": float(i % 2)}, i % 2 == 1)
    assert model.predict_one({"x": 1.0}) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ({"x": math.inf}, 1.0, r"^x\['x'\] is infinite; pass finite numbers"),
        ({"x": 1.0}, math.nan, "y=nan: pass a finite number"),
        ({"x": 1.0}, None, "y=None: pass a finite number"),
        ({"x": 1.0}, "a", "y='a': pass a finite number"),
        ({"x": object()}, 1.0, "column 'x' should be numbers, text"),
    ],
)
def test_what_cannot_be_learned_changes_nothing(x, y, words):
    model = Regressor(hidden=10)
    for i in range(20):
        model.learn_one({"x": float(i)}, 2.0 * i)
    before = model.predict_one({"x": 3.0})
    with pytest.raises(ValueError, match=words):
        model.learn_one({"new": 1.0, **x}, y)
    with pytest.raises(ValueError, match=words):
        model.learn_many(pd.DataFrame([{"x": 1.0}, x]), pd.Series([1.0, y], dtype=object))
    assert model.predict_one({"x": 3.0}) == pytest.approx(before, rel=1e-9)
    assert model.table_model.n_rows == 20
    assert model._columns == {"x": "x"}


def test_vectors_as_arrays():
    model = Regressor(hidden=10)
    for i in range(40):
        model.learn_one({"v": np.array([i / 10, 1.0])}, i / 5)
    assert model.predict_one({"v": np.array([2.0, 1.0])}) == pytest.approx(4, abs=0.2)


def test_a_label_must_be_there():
    model = Classifier(hidden=10)
    model.learn_one({"x": 1.0}, "a")
    for missing in (None, math.nan):
        with pytest.raises(ValueError, match="pass a label"):
            model.learn_one({"x": 1.0}, missing)
    with pytest.raises(ValueError, match="infinite"):
        model.learn_one({"x": math.inf}, "b")
    assert set(model.predict_proba_one({"x": 1.0})) == {"a"}


def test_learn_many_wants_a_target_for_each_row():
    for model in both():
        with pytest.raises(ValueError, match="y: got 2 targets for 3 rows of X"):
            model.learn_many(pd.DataFrame({"a": [1, 2, 3]}), pd.Series([1, 2]))
        assert model.table_model.n_rows == 0


def test_decimals_and_arrays_without_dimensions_are_numbers():
    models = [Regressor(), Regressor()]
    for i in range(8):
        models[0].learn_one({"a": float(i)}, Decimal(i) if i % 2 else np.array(float(i)))
        models[1].learn_one({"a": float(i)}, float(i))
    assert models[0].predict_one({"a": 2.5}) == models[1].predict_one({"a": 2.5})
    with pytest.raises(ValueError, match="pass a finite number"):
        models[0].learn_one({"a": 1.0}, Decimal("Infinity"))


def test_parameters_are_checked_at_once():
    with pytest.raises(ValueError, match="solver='none'"):
        Regressor(solver="none")
    with pytest.raises(ValueError, match="hidden=0"):
        Classifier(hidden=0)


def test_a_seed_of_none_is_another_one_each_time():
    first, second = Regressor(seed=None), Regressor(seed=None)
    assert first.table_model.settings.seed != second.table_model.settings.seed
    assert first._is_stochastic


def test_what_comes_after_the_first_rows(monkeypatch):
    monkeypatch.setattr("greville.tables.model.FIRST_ROWS", 64)
    model = Classifier(hidden=30)
    for i in range(80):
        model.learn_one({"x": float(i % 2), "t": "ab"[i % 2]}, i % 2)
    assert not model.table_model.schema_may_change
    model.learn_one({"x": 5.0, "t": "late", "new": 1.0}, 2)
    assert model.predict_one({"x": 5.0, "t": "late"}) == 2
    assert set(model._columns) == {"x", "t"}
    with pytest.raises(ValueError, match="column 'x' should be a number, got 'text'"):
        model.predict_one({"x": "text"})
    X = pd.DataFrame({"x": [0.0, 1.0] * 10, "t": ["a", "b"] * 10})
    model.learn_many(X, pd.Series([0, 1] * 10))
    assert model.table_model.n_rows == 101


def test_rows_are_unlearned_and_predictions_have_a_distribution():
    rng, rows = np.random.default_rng(0), []
    for x in rng.normal(size=400):
        rows.append(({"x": float(x)}, float(np.sin(x) + 0.1 * rng.normal())))
    model, z = Regressor(hidden=20), []
    for k, (x, y) in enumerate(rows):
        if k >= 100:
            found = model.predict_one(x, with_dist=True)
            assert found.mu == pytest.approx(model.predict_one(x))
            z.append((y - found.mu) / found.sigma)
        model.learn_one(x, y)
    assert 0.7 < np.sqrt(np.mean(np.square(z))) < 1.5
    model.learn_one({"x": 0.5}, 1e4)
    assert model.predict_one({"x": 0.5}) > 10
    model.unlearn_one({"x": 0.5}, 1e4)
    assert model.predict_one({"x": 0.5}) == pytest.approx(np.sin(0.5), abs=0.2)
    assert model.table_model.n_rows == 400
    other = Classifier(hidden=10)
    other.learn_one({"x": 1.0}, "a")
    with pytest.raises(ValueError, match="no row with this label"):
        other.unlearn_one({"x": 1.0}, "b")


# Mini-batches


def test_frames_are_learned_as_their_rows(monkeypatch):
    monkeypatch.setattr("greville.tables.model.FIRST_ROWS", 64)
    values = {"x": [1.5, None, 2.5, 4.0] * 30, "n": range(120), "t": ["a", None, "b"] * 40}
    X, y = pd.DataFrame(values, index=range(7, 127)), pd.Series([1.0, 2.0, 4.0] * 40)
    one, many = Regressor(hidden=30), Regressor(hidden=30)
    for x, target in zip(X.to_dict("records"), y, strict=True):
        one.learn_one(x, target)
    for start in range(0, 120, 25):
        assert many.learn_many(X[start : start + 25], y[start : start + 25]) is None
    predicted = many.predict_many(X)
    assert predicted.index.equals(X.index)
    np.testing.assert_allclose(
        predicted, [one.predict_one(x) for x in X.to_dict("records")], rtol=1e-6
    )


# Without river


def test_without_river_it_says_what_to_install():
    code = (
        "import sys; sys.modules['river'] = None\n"
        "import greville.adapters\n"
        "try:\n    import greville.adapters.river\n"
        "except ImportError as error: print(error)"
    )
    found = children.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'greville[river]'" in found.stdout
