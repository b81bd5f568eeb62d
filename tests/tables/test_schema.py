"""Schemas: what columns and targets are, and which inputs they become."""

import numpy as np
import pyarrow as pa
import pytest

import greville
from greville.fields import declaration_of
from greville.persistence.registry import from_fields
from greville.tables import Batch, RowErrors, TableError, TableModel
from greville.tables._values import Values
from greville.tables.numerals import Numerals
from greville.tables.schema import Schema

from ..houses import rows_of

HOSTILE_NUMERALS = (
    {"decimal": "x"},
    {"decimal": ",", "thousands": ","},
    {"unit": "k" * 99},
    {"gaps": ("1",)},
)


def test_the_inputs_of_every_kind_of_column():
    table = pa.table(
        {
            "a": pa.array([1.0, None, 3.0, 5.0]),
            "b": pa.array([True, False, None, True]),
            "c": pa.array(["x", "y", None, "x"]),
            "d": pa.array(["2024-01-01", "2024-01-02 06:00", None, "2024-01-08"]),
            "e": pa.array([[1.0, 2.0]] * 4),
            "f": pa.array([None] * 4, pa.string()),
        }
    )
    schema = Schema.fit({name: Values(table.column(name)) for name in table.column_names})
    batch = Batch(table.to_batches()[0], "here", np.arange(1, 5), 1.0)
    X, wrong = schema.encode(batch)
    assert not wrong
    named = dict(zip(schema.inputs, X.T, strict=True))
    np.testing.assert_array_equal(named["a"], [1, 3, 3, 5])
    np.testing.assert_array_equal(named["a is missing"], [0, 1, 0, 0])
    np.testing.assert_array_equal(named["b"], [1, 0, 0.5, 1])
    np.testing.assert_array_equal(named["b is missing"], [0, 0, 1, 0])
    np.testing.assert_array_equal(named["c = x"], [1, 0, 0, 1])
    np.testing.assert_array_equal(named["c = y"], [0, 1, 0, 0])
    np.testing.assert_array_equal(named["d: days"], [-1, 0.25, 0, 6])
    np.testing.assert_allclose(named["d: time of day, sin"], [0, 1, 0, 0], atol=1e-9)
    monday, week = named["d: day of week, cos"][0], named["d: day of week, cos"][3]
    assert monday == pytest.approx(week, abs=1e-9)
    np.testing.assert_array_equal(named["e[1]"], [2, 2, 2, 2])
    assert schema.columns[-1].kind == "ignored"
    declaration = declaration_of(Schema)
    again = declaration.make(Schema, declaration.read(schema))
    np.testing.assert_array_equal(again.encode(batch)[0], X)


def test_text_with_many_values():
    rng = np.random.default_rng(0)
    values = [f"v{k}" for k in rng.zipf(1.3, 2000).clip(max=400)]
    names = [f"person {i}" for i in range(2000)]
    columns = {"v": Values(pa.array(values)), "name": Values(pa.array(names))}
    schema = Schema.fit(columns)
    text, ignored = schema.columns
    assert len(text.values) == 50
    assert text.others
    assert min(map(values.count, text.late)) == 3
    (finding,) = [f for f in schema.findings if f.column == "v"]
    assert f"{len(set(values))} different values, and {50 + len(text.late)} of them" in finding.text
    assert f"categories={len(set(values))}" in finding.message
    assert "different value in nearly every row" in ignored.why
    batch = Batch(
        pa.RecordBatch.from_pydict({"v": ["v1", "never seen", None]}), "", np.arange(3), 1
    )
    X, _ = schema.encode(batch)
    assert X.sum(axis=1).tolist() == [1, 1, 1]  # none was missing: the most common one
    assert X[1, schema.inputs.index("v = another")] == 1


def test_a_slip_in_a_column_of_numbers_is_a_slip():
    values = [str(i) for i in range(100)]
    values[40] = "forty"
    table = pa.table({"x": values, "y": list(range(100))})
    model = TableModel("y", task="regression").learn(table)
    with pytest.raises(TableError, match="row 41: column 'x' should be a number, got 'forty'"):
        model.settle()
    assert model.n_rows == 0
    assert not model.has_schema
    row_errors = RowErrors(skip=True)
    model.settle(row_errors)
    assert (model.n_rows, row_errors.count) == (99, 1)
    assert model.schema.columns[0].kind == "number"


def test_names_are_the_same_however_they_are_written():
    table = pa.table({"code": pa.array([1, 2, 3] * 30), "y": [0.0, 5.0, 9.0] * 30})
    model = TableModel("y", task="regression", categorical=["code"]).learn(table)
    for values in (["1", "2", "3"], ["1.0", "2.0", "3.0"], [1.0, 2.0, 3.0]):
        np.testing.assert_allclose(model.predict(pa.table({"code": values})), [0, 5, 9], atol=0.2)
    large = pa.table({"id": pa.array([2**60, 2**60 + 1] * 30), "y": [0.0, 5.0] * 30})
    model = TableModel("y", task="regression", categorical=["id"]).learn(large)
    got = model.predict(pa.table({"id": [2**60, 2**60 + 1]}))
    np.testing.assert_allclose(got, [0, 5], atol=0.2)


def test_namibia_is_not_missing(tmp_path):
    (tmp_path / "x.csv").write_text("land,x,y\n" + "NA,1,2\nDE,NA,3\nNA,3,4\nDE,4,5\n" * 10)
    batches = rows_of(tmp_path / "x.csv")
    assert batches[0].table.column("x").to_pylist()[1] == "NA"
    model = TableModel("y", task="regression").learn(batches).settle()
    land, x = model.schema.columns
    assert land.values == ["DE", "NA"]
    assert (x.kind, x.missing) == ("number", True)


def test_flags_with_words_for_gaps():
    rows = pa.table({"f": ["true", "false", "unknown"] * 20, "y": [1.5, 2.5, 7.5] * 20})
    model = TableModel("y").learn(rows).settle()
    assert model.schema.inputs == ["f", "f is missing"]
    np.testing.assert_allclose(model.predict(rows)[:3], [1.5, 2.5, 7.5], atol=0.2)


@pytest.mark.parametrize("column", [[float("nan")] * 50, [" "] * 50, [[]] * 50, [None] * 50])
def test_columns_of_nothing_are_not_used(column, tmp_path):
    table = pa.table({"x": np.arange(50.0), "n": column, "y": np.arange(50.0)})
    model = TableModel("y", task="regression").learn(table).settle()
    assert model.schema.inputs == ["x"]
    greville.save(model, tmp_path / "m")
    greville.load(tmp_path / "m")


def test_lengths_of_time():
    spans = pa.array([1_500_000, None, 2_000_000] * 10, pa.duration("us"))
    model = TableModel("y", task="regression")
    model.learn(pa.table({"t": spans, "y": range(30)})).settle()
    assert model.schema.columns[0].median == 1.75


def test_hostile_columns_of_a_model():
    good = {"name": "x", "median": 0.0, "missing": False, "limits": [], "numerals": Numerals()}
    from_fields("Number", good)
    text = {"name": "t", "values": ["a"], "others": False, "numbers": False, "gaps": True}
    text |= {"common": 0, "late": [], "folds": False, "most": 50}
    from_fields("Text", text)
    for kind, bad in (
        ("Numbers", good),
        ("Number", {**good, "median": "0"}),
        ("Number", {**good, "more": 1}),
        ("Number", {k: v for k, v in good.items() if k != "missing"}),
        ("Number", {**good, "limits": [1.0, 0.0]}),
        ("Number", {**good, "limits": [1.0]}),
        ("Number", {**good, "limits": [float("nan"), 1.0]}),
        ("Number", {**good, "numerals": {}}),
        *(("Numerals", {**vars(Numerals()), **bad}) for bad in HOSTILE_NUMERALS),
        ("Time", {"name": "t", "origin": 0.0, "clock": False, "format": "%Q"}),
        ("Words", {"name": "t", "width": 10**9}),
        ("Vector", {"name": "v", "width": 10**12}),
        ("Text", {**text, "values": [1]}),
        ("Text", {**text, "common": 1}),
        ("Text", {**text, "late": ["b", "a"]}),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            from_fields(kind, bad)


# Targets


@pytest.mark.parametrize(
    ("values", "task", "kept"),
    [
        ([0.5, 1.5, 2.5] * 30, "regression", "number"),
        (["cat", "dog", "cow"] * 30, "classification", "text"),
        ([1, 2, 3] * 30, "classification", "integer"),
        ([True, False, True] * 30, "classification", "flag"),
        ([2, 4], "regression", "number"),
        ([0, 1, 1] * 3, "classification", "integer"),
        (["true", "False", "true"] * 30, "classification", "flag"),
        (["1", "2", "3"] * 30, "classification", "integer"),
        (list(range(90)), "regression", "number"),
    ],
)
def test_what_the_target_is(values, task, kept):
    rng, n = np.random.default_rng(0), len(values)
    model = TableModel("y").learn(pa.table({"x": rng.normal(size=n), "y": values})).settle()
    assert (model.task, model.target_kind) == (task, kept)
    other = "regression" if task == "classification" else "classification"
    if kept in ("integer", "number") and len(set(values)) < 10:
        told = TableModel("y", task=other)
        told.learn(pa.table({"x": rng.normal(size=n), "y": values})).settle()
        assert told.task == other
