"""TableRegressor and TableClassifier: data frames and dicts behind scikit-learn's API.

They are the model of the command, take frames of any kind, row by row or in parts, give labels
back as they came, and say what is wrong.
"""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import greville
from greville import TableClassifier, TableRegressor
from greville.tables import TableModel

from .. import children
from ..houses import houses


def expected_failures(estimator):
    """Every check that an estimator does not pass, with the reason."""
    units = "the hidden layer and the units of columns come from the rows as they are"
    found = {"check_sample_weight_equivalence_on_dense_data": units}
    if isinstance(estimator, TableRegressor):
        alpha = "the check sets alpha to 0.01, which the solver opium does not have"
        found["check_regressors_train"] = alpha
    return found


HANDFUL = [
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_fit2d_1sample",
    "check_n_features_in",
    "check_readonly_memmap_input",
]


@pytest.mark.parametrize("model", [TableRegressor(), TableClassifier()], ids=str)
@pytest.mark.parametrize("check", HANDFUL)
def test_a_handful_of_scikit_learn_checks(model, check):
    getattr(estimator_checks, check)(type(model).__name__, model)


@pytest.mark.full
@parametrize_with_checks(
    [TableRegressor(), TableClassifier()], expected_failed_checks=expected_failures
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def frame():
    table = houses(300).to_pandas()
    table.index = np.arange(1000, 1300)  # which says nothing
    return table.drop(columns="price"), table["price"]


def test_frames_of_all_kinds_are_the_table_of_the_command(frame):
    X, y = frame
    table = houses(300)
    want = TableModel("price", task="regression").learn(table).predict(table)
    model = TableRegressor().fit(X, y)
    assert model.score(X, y) > 0.95
    for other in (
        X,
        X.to_dict("list"),
        table.drop_columns("price"),
        X[["city", "garden", "built", "rooms", "area"]].assign(more=1),
    ):
        np.testing.assert_allclose(model.predict(other), want, rtol=1e-8)
        again = TableRegressor(hidden=20).fit(other, y)
        assert again.n_features_in_ == len(again.feature_names_in_)


@pytest.mark.full
def test_frames_of_polars_are_those_of_pandas(frame):
    import polars as pl

    X, y = frame
    other = pl.DataFrame(X.to_dict("list"))
    want = TableRegressor().fit(X, y).predict(X)
    np.testing.assert_allclose(TableRegressor().fit(other, y).predict(other), want, rtol=1e-8)
    table = pl.DataFrame(houses(300).to_pydict())
    model = TableModel("price", task="regression").learn(table)
    np.testing.assert_allclose(model.predict(table), want, rtol=1e-8)


def test_text_dates_and_gaps_are_worth_something(frame):
    X, y = frame
    scores = cross_val_score(TableRegressor(hidden=100), X, y, cv=3)
    assert scores.min() > 0.8
    labels = np.where(y > y.median(), "dear", "cheap")
    assert cross_val_score(TableClassifier(hidden=100), X, labels, cv=3).min() > 0.8


def test_standard_deviations(frame):
    X, y = frame
    model = TableRegressor().fit(X[:200], y[:200])
    predicted, std = model.predict(X[200:], return_std=True)
    assert 0.8 < np.mean(np.abs(y[200:] - predicted) < 1.64 * std) <= 1


def test_in_parts_and_row_by_row(frame):
    X, y = frame
    whole = TableRegressor(hidden=50).fit(X, y)
    parts, rows = TableRegressor(hidden=50), TableRegressor(hidden=50)
    for start in range(0, 300, 70):
        parts.partial_fit(X[start : start + 70], y[start : start + 70])
    for row, target in zip(X.to_dict("records"), y, strict=True):
        rows.learn_one(row, target)
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-7)
    assert rows.score(X, y) > 0.95
    one = X.iloc[5].to_dict()
    assert whole.predict_one(one) == pytest.approx(whole.predict(X)[5])


@pytest.mark.parametrize(
    "labels",
    [["b", "a", "10", "9"], [3, -1, 7, 2**40], [True, False], [1.0, 2.0, 5.0], ["", " x ", "NA"]],
)
@pytest.mark.filterwarnings("ignore:'x' counts the rows")
def test_labels_come_back_as_they_were(labels, tmp_path):
    y = np.array(labels)[np.arange(120) % len(labels)]
    X = pd.DataFrame({"kind": [f"k{i % len(labels)}" for i in range(120)], "x": np.arange(120.0)})
    model = TableClassifier().partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    assert np.array_equal(model.classes_, np.unique(y))
    assert np.array_equal(model.predict(X), y)
    found = model.predict_proba(X)
    assert np.array_equal(model.classes_[found.argmax(axis=1)], y)
    assert model.predict_one({"kind": "k1", "x": 3.0}) == y[1]
    proba = model.predict_proba_one({"kind": "k1", "x": 3.0})
    assert max(proba, key=proba.get) == y[1]
    greville.save(model, tmp_path / "m")
    again = greville.load(tmp_path / "m")
    assert np.array_equal(again.predict(X), y)
    with pytest.raises(ValueError, match="labels"):
        model.partial_fit(X[:2], ["other", "kind"] if y.dtype.kind != "U" else [1, 2])


def test_arrays_have_columns_without_names():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    X[::7, 3] = np.nan
    model = TableRegressor().fit(X, X[:, 0])
    assert model.score(X, X[:, 0]) > 0.9
    assert not hasattr(model, "feature_names_in_")
    assert [column.name for column in model.model_.schema.used][:2] == ["x0", "x1"]
    mixed = np.array([[1.0, "a"], [2.0, "b"], [None, "a"]] * 20, dtype=object)
    assert (
        TableClassifier().fit(mixed, ["p", "q", "r"] * 20).score(mixed, ["p", "q", "r"] * 20) == 1
    )


def test_a_new_label_with_the_first_row():
    model = TableClassifier()
    for i, label in enumerate(["a", "a", "b", "c"]):
        model.learn_one({"x": float(i)}, label)
    assert model.classes_.tolist() == ["a", "b", "c"]


def test_files_pickles_copies_and_words(frame, tmp_path):
    X, y = frame
    model = TableRegressor(hidden=120, ignore=["built"], random_state=3).fit(X, y)
    greville.save(model, tmp_path / "m")
    for again in (greville.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert again.get_params() == model.get_params()
        assert np.array_equal(again.feature_names_in_, model.feature_names_in_)
        assert np.array_equal(again.predict(X), model.predict(X))
    assert repr(model) == "TableRegressor(hidden=120, ignore=['built'], random_state=3)"
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    greville.save(TableRegressor(), tmp_path / "empty")
    assert greville.load(tmp_path / "empty").fit(X, y).score(X, y) > 0.9


@pytest.mark.full
@pytest.mark.parametrize("kind", ["TableRegressor", "TableModel"])
def test_files_are_read_by_a_process_that_has_imported_nothing(kind, tmp_path):
    model = TableRegressor(5).fit({"x": [1.0, 2.0, 4.0], "k": ["a", "b", "a"]}, [1.0, 2.0, 3.0])
    greville.save(model if kind == "TableRegressor" else model.model_, tmp_path / "m")
    code = "import greville, sys; print(type(greville.load(sys.argv[1])).__name__)"
    done = children.run([sys.executable, "-c", code, tmp_path / "m"], capture_output=True)
    assert done.stdout.decode().strip() == kind


def test_how_values_are_written(tmp_path):
    days = [f"0{i % 9 + 1}/05/2020" for i in range(60)]
    rows = {"x": [f"{i},{i % 7}" for i in range(60)], "day": days}
    y = [i + i % 7 / 10 for i in range(60)]
    model = TableRegressor(decimal=",", date_format="%d/%m/%Y", na=["0,0"]).fit(rows, y)
    assert [column.kind for column in model.model_.schema.used] == ["number", "time"]
    assert model.predict_one({"x": "12,5", "day": "06/05/2020"}) == pytest.approx(12.5, abs=0.5)
    greville.save(model, tmp_path / "m")
    assert greville.load(tmp_path / "m").get_params() == model.get_params()


def test_what_is_wrong_is_said(frame, few_first):
    X, y = frame
    model = TableRegressor().fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="X: it has no column 'city', which this model was fitted"):
        model.predict(X.drop(columns="city"))
    with pytest.raises(ValueError, match="row 3: column 'rooms' should be a number, got 'many'"):
        model.predict(X[:5].assign(rooms=[1, 2, "many", 4, 5]))
    with pytest.raises(ValueError, match="column 'rooms'"):
        model.partial_fit(X.assign(rooms="many"), y).predict(X)
    assert np.array_equal(model.predict(X), before)
    with pytest.raises(ValueError, match="^y: "):
        model.fit(X, y.where(y > 1e5))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:5])
    with pytest.raises(ValueError, match="different lengths"):
        model.fit({"a": [1, 2], "b": [1]}, [1, 2])
    with pytest.raises(ValueError, match="X: column 'city' is one value, 'Ulm'; pass a list"):
        model.predict({"city": "Ulm"})


def test_sorted_rows_are_learned_as_mixed_ones():
    rng = np.random.default_rng(0)
    n = 9000
    x, kind = rng.normal(size=n), np.repeat(["a", "b", "c"], n // 3)
    y = np.where(kind == "c", -2 * x, x) + (kind == "b")
    frame = pd.DataFrame({"x": x, "kind": kind})
    model = TableRegressor(hidden=50).fit(frame, y)
    assert model.score(frame, y) > 0.99


@pytest.mark.parametrize("kind", [TableRegressor, TableClassifier])
def test_dicts_before_and_after_the_first(kind):
    model = kind(hidden=20)
    with pytest.raises(NotFittedError):
        model.predict_one({"x": 1.0})
    with pytest.raises(ValueError, match="column 'x' is infinite"):
        model.learn_one({"x": np.inf}, 1)
    with pytest.raises(TypeError, match="pass a dict"):
        model.learn_one([1.0], 1)
    with pytest.raises(ValueError, match="the names of columns are text, got 1"):
        model.learn_one({1: 1.0}, 1)
    assert not hasattr(model, "model_")
    assert model.learn_one({"x": 0.0, "t": "a"}, 0) is model
    assert model.predict_one({"x": 0.0}) == pytest.approx(0)
    for i in range(1, 40):
        model.learn_one({"x": float(i % 2), "t": "ab"[i % 2], "extra": i}, i % 2)
    assert model.feature_names_in_.tolist() == ["x", "t"]
    want = model.predict_one({"x": 1.0, "t": None})
    assert model.predict_one({"x": 1.0, "extra": "?"}) == pytest.approx(want)
    for ask in (model.predict_one, lambda row: model.learn_one(row, 1)):
        with pytest.raises(ValueError, match="column 'x' is infinite"):
            ask({"x": -np.inf, "t": "a"})
    with pytest.raises(ValueError, match="none of the columns"):
        model.predict_one({"extra": 1})
    assert model.model_.n_rows == 40


def test_dicts_with_arrays_and_values_that_are_not_used():
    """A vector may be an array, as an embedding is; what other columns have does not matter."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(80, 3))
    single, lists = TableRegressor(hidden=20), TableRegressor(hidden=20)
    for vector in vectors[:60]:
        single.learn_one({"x": 1.0, "v": vector}, vector[0])
        lists.learn_one({"x": 1.0, "v": vector.tolist()}, vector[0])
    for vector in vectors[60:]:
        row = {"x": 1.0, "v": vector, "extra": np.ones(2), "more": np.inf}
        want = lists.predict_one({"x": 1.0, "v": vector.tolist()})
        assert single.predict_one(row) == pytest.approx(want)
    with pytest.raises(ValueError, match="column 'x' is infinite"):
        single.predict_one({"x": np.inf, "v": vectors[0]})


def test_a_row_of_a_data_frame_is_a_row():
    X = houses(60).to_pandas()
    y = X.pop("price")
    model = TableRegressor().fit(X, y)
    np.testing.assert_allclose(model.predict_one(X.iloc[3]), model.predict(X[3:4])[0])
    model.learn_one(X.iloc[3], 1.0)
    assert model.model_.n_rows == 61
    for row in (X.to_numpy()[0], X["area"]):
        with pytest.raises(TypeError, match="for several rows use partial_fit and predict"):
            model.predict_one(row)


@pytest.mark.parametrize(
    ("model", "wanted"), [(TableRegressor(), "number"), (TableClassifier(), "label")]
)
def test_a_row_without_a_target(model, wanted):
    with pytest.raises(ValueError, match=f"y=None: pass a {wanted}"):
        clone(model).learn_one({"x": 1.0}, None)


def test_layers_that_grow_can_be_stored(tmp_path):
    model = TableRegressor(hidden="stream").fit(pd.DataFrame({"x": [1.0, 2.0, 4.0]}), [1.0, 2, 3])
    greville.save(model, tmp_path / "m")
    assert greville.load(tmp_path / "m").hidden == "stream"


def test_what_a_model_says_of_its_columns():
    X = pd.DataFrame({"a, b": [1.0, 2.0, 5.0] * 20, "one": [1] * 60, "kind": ["u", "v", "v"] * 20})
    assert repr(TableModel("y")) == "<TableModel: 'y', 0 rows>"
    model = TableRegressor().fit(X, [*range(15)] * 4)
    assert repr(model.model_) == "<TableModel: 'y', regression, 60 rows, from 'a, b', 'kind'>"
    assert repr(model.model_.schema).splitlines() == [
        "Schema of 3 columns:",
        "  'a, b': number",
        "  'one': not used: it is 1 in every row",
        "  'kind': one of 2: u, v",
    ]
    shown = "3: 'a, b', one, kind (1 number, 1 not used, 1 text)"
    assert model.summary()["columns"] == shown
    wide = TableRegressor(hidden=5).fit(np.random.default_rng(0).random((9, 40)), range(9))
    assert repr(wide.model_.schema).endswith("\n  ... and 10 more")


@pytest.mark.parametrize("n", [300, 5000])  # 4,096 are the first rows
def test_rows_count_as_their_weights_say(n):
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c"], n)
    X = pd.DataFrame({"x": rng.normal(size=n), "kind": kind})
    y = X["x"].to_numpy() * np.where(kind == "a", 2.0, -1.0) + 0.1 * rng.normal(size=n)
    plain, ones = TableRegressor(20).fit(X, y), TableRegressor(20).fit(X, y, np.ones(n))
    np.testing.assert_allclose(ones.predict(X), plain.predict(X), atol=1e-5)
    assert ones.model_.n_rows == n
    wrong = rng.random(n) < 0.3
    spoilt = np.where(wrong, 50 + y, y)
    model = TableRegressor(20).fit(X, spoilt, sample_weight=np.where(wrong, 0.0, 1.0))
    assert np.abs(model.predict(X) - y).mean() < 0.15
    rare = X["x"].to_numpy() + rng.normal(size=n) > 2.2
    plain = TableClassifier(20).fit(X, rare)
    model = TableClassifier(20).fit(X, rare, sample_weight=np.where(rare, 10.0, 1.0))
    assert plain.predict(X)[rare].mean() < 0.4
    assert model.predict(X)[rare].mean() > 0.7


def test_weights_that_do_not_fit_change_nothing(frame):
    X, y = frame
    model = TableRegressor(20).fit(X, y)
    before = model.predict(X)
    for weight in (np.ones(3), np.full(300, -1.0), np.zeros(300), np.full(300, np.nan)):
        with pytest.raises(ValueError, match="weight"):
            model.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("weight", ["balanced", {"rare": 10.0, "never": 2.0}])
def test_rows_count_by_the_weights_of_their_classes(rng, weight, tmp_path):
    X = rng.normal(size=(900, 2))
    y = np.where(X[:, 0] + rng.normal(size=900) > 2, "rare", "usual")
    model = TableClassifier(hidden=30, class_weight=weight).fit(X, y)
    plain = TableClassifier(hidden=30).fit(X, y)
    found, before = ((each.predict(X)[y == "rare"] == "rare").mean() for each in (model, plain))
    assert found > before + 0.2
    assert ("never" in model.classes_) == isinstance(weight, dict)
    greville.save(model, tmp_path / "m")
    again = greville.load(tmp_path / "m")
    assert again.class_weight == weight
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
