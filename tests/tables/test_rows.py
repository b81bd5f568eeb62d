"""Rows as dicts: the same numbers and the same models as tables."""

import json
import math
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greville.tables import Batch, RowErrors, Stream, TableError, TableModel
from greville.tables._rows import RowEncoder, batches_of_rows
from greville.tables._values import Values
from greville.tables.decisions import Hints
from greville.tables.frames import array_of
from greville.tables.kinds import KINDS
from greville.tables.schema import Schema

from ..houses import as_rows, houses

START = datetime(2020, 1, 1)
FIRST = {
    "number": [1.5, -2.0, None, 7.0, 3.25] * 20,
    "extreme": [*(i / 7 for i in range(99)), 1e9],
    "sentinel": [-999.0 if i % 20 == 3 else i % 17 + 0.5 for i in range(100)],
    "price": [f"{i},{i % 10}5 €" for i in range(100)],
    "words": [f"the {'red' if i % 2 else 'blue'} house number {i} by the sea" for i in range(100)],
    "flag": [True, False, None, True, False] * 20,
    "text": ["a", "b", None, "c", "d"] * 20,
    "codes": [1, 2, 3, 4, 5] * 20,
    "time": [(START + timedelta(hours=7 * i)).isoformat() for i in range(100)],
    "vector": [[i / 10, 1.0, -float(i)] for i in range(100)],
    "tags": [["a", "b", "c"][: i % 4] for i in range(100)],
}
VALUES = {
    "number": st.one_of(
        st.none(), st.floats(), st.integers(-(2**70), 2**70), st.booleans(),
        st.sampled_from(["1.5", " 2 ", "n.n.", "nan", "", "-1e3"]), st.just({"a": 1}),
    ),
    "extreme": st.one_of(st.none(), st.floats(-1e12, 1e12), st.floats(0, 14)),
    "sentinel": st.one_of(st.none(), st.floats(-1e3, 1e3), st.sampled_from([-999, -999.0, "-999"])),
    "price": st.one_of(st.none(), st.floats(0, 99), st.sampled_from(["3,5 €", "3.5", "5 €"])),
    "words": st.one_of(st.none(), st.sampled_from(["a red house", "the sea, blue", "", 3.5])),
    "flag": st.one_of(st.none(), st.booleans(), st.sampled_from([0, 1, 2, 1.0, "true", "no", ""])),
    "text": st.one_of(st.none(), st.text(max_size=3), st.sampled_from(["a", "b", 1, 2.0, True])),
    "codes": st.one_of(
        st.none(), st.integers(-3, 9), st.sampled_from(["1", "2.0", "x", 3.0, 2.5, math.nan])
    ),
    "time": st.one_of(
        st.none(), st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1)).map(str),
        st.sampled_from(["2020-05-01", "soon", "", 3.0, datetime(2021, 5, 1, 12)]),
    ),
    "vector": st.one_of(
        st.none(), st.lists(st.floats(), min_size=2, max_size=4), st.just([1, 2, 3]),
        st.just([1.0, None, 2.0]), st.just("1 2 3"),
    ),
    "tags": st.one_of(st.none(), st.lists(st.sampled_from("abcd")), st.just("a"), st.just(1.5)),
}  # fmt: skip


@pytest.fixture(scope="module")
def schema():
    columns = {name: Values(array_of(values)) for name, values in FIRST.items()}
    return Schema.fit(columns, Hints(categorical=["codes"]))


def test_the_columns_are_of_all_kinds(schema):
    assert {column.kind for column in schema.used} == KINDS.keys() - {"ignored"}
    columns = {column.name: column for column in schema.used}
    assert columns["extreme"].limits
    assert columns["sentinel"].numerals.gaps == (-999.0,)
    assert not columns["price"].numerals.is_plain


def test_values_that_stand_for_a_gap(few_first):
    rows = [{"x": [float(i), -1.0][i % 5 == 0], "k": "ab?"[i % 3], "y": 2.0 * i} for i in range(90)]
    model = TableModel("y", na=["-1", "?"])
    for row in rows:
        model.learn_one(row)
    for row in rows[:6]:
        want = model.predict(pa.Table.from_pylist([row]))[0]
        assert model.predict_one(row) == pytest.approx(want)
    gaps = {"x": None, "k": None}
    model.predict_one(gaps)  # with numba, the next ones are predicted by kernels
    assert model.predict_one({"x": -1.0, "k": "?"}) == model.predict_one(gaps)
    model.learn_one({**rows[1], "y": -1.0})
    assert model.n_without_target == 1


@settings(max_examples=15, deadline=None)
@given(rows=st.lists(st.fixed_dictionaries({}, optional=VALUES), min_size=1, max_size=30))
def test_rows_become_what_tables_become(schema, rows):
    """A row that needs no table has the inputs of a table of it alone."""
    encoder = RowEncoder(schema)
    for row in rows:
        inputs, (want, why) = encoder.encode(row), as_a_table(schema, row)
        if inputs is not None:
            assert why is None
            np.testing.assert_array_equal(inputs, want)


def as_a_table(schema, row):
    if not any(name in row for name in schema.names):
        return None, "no column"
    columns = {name: array_of([value]) for name, value in row.items()}
    table = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    try:
        X, wrong = schema.encode(Batch(table, "here", np.ones(1, np.int64), 1.0, sparse=True))
    except TableError as error:
        return None, str(error)
    return X[0], wrong.get(0)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_single_rows_give_the_model_of_tables(few_first, task):
    rows = [{**row, "price": row["price"] // 40_000} for row in as_rows(houses(150))]
    single = TableModel("price", task=task, hidden=60)
    for row in rows:
        single.learn_one(row)
    table = pa.Table.from_pylist(rows)
    whole = TableModel("price", task=task, hidden=60).learn(table)
    assert single.n_rows == whole.n_rows == 150
    predicted = [single.predict_one(row) for row in rows[:50]]
    assert {type(p) for p in predicted} == {float if task == "regression" else int}
    np.testing.assert_allclose(predicted, whole.predict(table.slice(0, 50)), rtol=1e-6)
    if task == "classification":
        found = single.predict_proba_one(rows[0])
        assert list(found) == single.classes
        assert sum(found.values()) == pytest.approx(1)
        assert max(found, key=found.get) == predicted[0]
    else:
        with pytest.raises(TableError, match="no probabilities"):
            single.predict_proba_one(rows[0])


def test_a_wrong_row_leaves_the_model_as_it_was(few_first):
    rows = as_rows(houses(100))
    model = TableModel("price")
    for row in rows:
        model.learn_one(row)
    before = model.predict_one(rows[0])
    for wrong, message in (
        ({**rows[0], "rooms": "many"}, "column 'rooms' should be a number, got 'many'"),
        ({**rows[0], "price": "dear"}, "the target 'price' should be a number, got 'dear'"),
        ({**rows[0], "area": {"m": 1}}, "column 'area': its type"),
        ({"price": 3.0}, "none of the columns 'area', 'rooms'"),
    ):
        with pytest.raises(TableError, match=message):
            model.learn_one(wrong)
        assert "price" not in message or model.predict_one(wrong)
    with pytest.raises(TypeError, match="pass a dict"):
        model.predict_one([1.0, 2.0])
    model.learn_one({**rows[0], "price": None})
    assert (model.n_rows, model.n_without_target) == (100, 1)
    assert model.predict_one(rows[0]) == pytest.approx(before, rel=1e-12)


@pytest.mark.full
def test_questions_are_answered_as_if_one_by_one(few_first):
    """What is learned between them counts, however lines come."""
    rows = as_rows(houses(150))
    for i, row in enumerate(rows):
        if i % 3 == 0 or 90 <= i < 120:
            del row["price"]
    single = Stream(TableModel("price", hidden=60))
    want = [single.answer([row], i + 1, RowErrors())[0] for i, row in enumerate(rows)]
    scale = max(abs(a["prediction"]) for a in want[5:])
    for cuts in ([], [60, 61, 80], [7, 100, 140]):
        bursts, got = Stream(TableModel("price", hidden=60)), []
        for start, stop in zip([0, *cuts], [*cuts, 150], strict=True):
            got += bursts.answer(rows[start:stop], start + 1, RowErrors())
        assert [a["line"] for a in got] == [a["line"] for a in want]
        for one, other in zip(want, got, strict=True):
            if one["prediction"] is None:
                assert other["prediction"] is None
            else:
                assert other["prediction"] == pytest.approx(one["prediction"], abs=1e-6 * scale)


def test_late_targets_of_rows_in_the_same_burst():
    rows = [{"id": i, "x": float(i)} for i in range(5)] + [
        {"id": i, "y": 2.0 * i} for i in range(5)
    ]
    stream = Stream(TableModel("y"), "id")
    answers = stream.answer(rows, 1, RowErrors())
    assert [a.get("learned", False) for a in answers] == [False] * 5 + [True] * 5
    assert stream.settled().n_rows == 5
    assert json.dumps(answers)


def test_values_that_come_late_one_by_one(few_first):
    """As with tables: learned from their first row on; unknown ones are the most common one."""
    rows = [{"x": i / 50, "k": "ab"[i % 2], "y": i / 50 + (i % 2)} for i in range(80)]
    rows += [{"x": i / 50, "k": "cab"[i % 3], "y": i / 50 + 9 * (i % 3 == 0)} for i in range(40)]
    single, whole = (TableModel("y", task="regression") for _ in range(2))
    for row in rows:
        single.learn_one(row)
    whole.learn(pa.Table.from_pylist(rows))
    asked = [{"x": 0.5, "k": k} for k in ("a", "c", "never", None, "")] + [{"x": 0.5}]
    want = [whole.predict(pa.Table.from_pylist([{"k": None, **row}]))[0] for row in asked]
    np.testing.assert_allclose([single.predict_one(row) for row in asked], want, rtol=1e-6)
    many = asked * 3
    np.testing.assert_allclose(single.answers_to_rows(many).prediction, want * 3, rtol=1e-6)
    assert single.answers_to_rows(many).unlearned["k"].count("never") == 3


def warm_up_rows():
    """Rows with gaps, values of several types, and values and columns that come late."""
    rows = []
    for i in range(150):
        row = {"x": i / 7, "n": i % 5, "flag": i % 2 == 0, "text": "abc"[i % 3], "y": float(i % 11)}
        if i % 6 == 0:
            del row["n"]
        if i % 9 == 0:
            row["x"] = None
        if i > 20:
            row["late"] = -i / 3
        if i == 40:
            row["text"] = "new"
        if i > 70:
            row["n"] = [7, 3, 2.5, -1.0][i % 4]
        row["mixed"] = ["many", 3, True, None, 2.5][i % 5]
        if i % 50 == 49:
            row["y"] = None
        rows.append(row)
    return rows


@pytest.mark.parametrize("first", [64, pytest.param(4096, marks=pytest.mark.full)])
def test_rows_together_and_one_by_one(monkeypatch, first):
    monkeypatch.setattr("greville.tables.model.FIRST_ROWS", first)
    rows = [{k: v for k, v in row.items() if k != "n"} for row in warm_up_rows()]
    one, many = (TableModel("y", task="regression", hidden=30) for _ in range(2))
    for row in rows:
        one.learn_one(row)
    for start in range(0, 150, 40):
        many.record(batches_of_rows(rows[start : start + 40], "the rows"))
    assert many.n_rows == one.n_rows == 147
    for row in rows[::15]:
        assert many.predict_one(row) == pytest.approx(one.predict_one(row), rel=1e-6)


@pytest.mark.parametrize("name", [5, "\ud800"])
def test_names_that_no_column_can_have_are_refused_at_once(name):
    """Also where rows are learned without a table: the columns are made of them later."""
    rows = [{"x": float(i), "y": float(i)} for i in range(40)]
    model = TableModel("y", task="regression", hidden=10)
    for row in rows[:20]:
        model.learn_one(row)
    with pytest.raises((TableError, UnicodeEncodeError)):
        model.learn_one({**rows[20], name: 1.0})
    assert model.n_rows == 20
    for row in rows[20:]:
        model.learn_one(row)
    assert model.n_rows == 40


def test_more_names_than_there_can_be_columns(monkeypatch):
    monkeypatch.setattr("greville.tables.batch.MOST_COLUMNS", 10)
    model, refused = TableModel("y", task="regression", hidden=10), 0
    for i in range(40):
        try:
            model.learn_one({"x": float(i), f"x{i}": 1.0, "y": float(i)})
        except TableError:
            refused += 1
    assert model.n_rows == 40 - refused == 8
    model.learn_one({"x": 1.0, "y": 1.0})
    assert model.n_rows == 9


def test_what_no_column_can_be():
    for row, words in (
        ({1: 2.0, "y": 1.0}, "the names of columns are text, got 1"),
        (
            {"x": object(), "y": 1.0},
            "column 'x' should be numbers, text.* got values of type object",
        ),
    ):
        with pytest.raises(TableError, match=words):
            TableModel("y").learn_one(row)
