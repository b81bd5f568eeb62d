"""Models of tables: how rows are cut changes nothing, and an error leaves a model as it was."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import greville
from greville.tables import Batch, TableError, TableModel

from ..houses import csv_bytes, houses, rows_of


@settings(max_examples=5, deadline=None)
@given(cuts=st.lists(st.integers(1, 299), max_size=6), first=st.sampled_from([64, 4096]))
def test_cutting_changes_nothing(cuts, first):
    table = houses()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("greville.tables.model.FIRST_ROWS", first)
        new = TableModel("price", hidden=60)
        want = new.twin().learn(table)
        model, recorded, start = new.twin(), new.twin(), 0
        for stop in [*sorted(set(cuts)), 300]:
            model.learn(table.slice(start, stop - start))
            recorded.record(table.slice(start, stop - start))
            start = stop
        recorded.learn(_as_batches(table.slice(0, 1))[0].part(0, 0))  # all are looked at
    for other in (model, recorded):
        assert np.array_equal(other.predict(table).shape, (300,))
        assert other.schema.columns == want.settle().schema.columns
        assert other.schema_may_change == want.schema_may_change
        assert other.n_rows == want.n_rows == 300
        np.testing.assert_allclose(other.predict(table), want.predict(table), rtol=1e-8)


def _as_batches(table):
    return [Batch(b, "here", np.arange(1, b.num_rows + 1), 1.0) for b in table.to_batches()]


def test_the_record_is_what_a_loop_says(few_first):
    n = 80
    table = houses(n)
    model, loop = TableModel("price", hidden=60), TableModel("price", hidden=60)
    got = np.concatenate([part.prediction for part in model.record(table)])
    want = []
    for i in range(n):
        row = table.slice(i, 1)
        want.append(loop.predict(row)[0] if i else np.nan)
        loop.record(row)
    np.testing.assert_allclose(got[1:].astype(float), want[1:], rtol=1e-6)


def test_files_in_the_middle_of_everything(tmp_path, few_first):
    table = houses(140)
    for stop in (1, 40, 64, 65, 130):
        model = TableModel("price").learn(table.slice(0, stop))
        greville.save(model, tmp_path / "m.greville")
        again = greville.load(tmp_path / "m.greville")
        for each in (model, again):
            each.learn(table.slice(stop))
        assert np.array_equal(model.predict(table), again.predict(table))


def test_first_rows_in_two_formats(tmp_path):
    """What was text in a CSV may come as numbers from Parquet later."""
    table = houses(60)
    (tmp_path / "a.csv").write_bytes(csv_bytes(table.slice(0, 25)))
    parquet.write_table(table.slice(25), tmp_path / "b.parquet")
    model = TableModel("price")
    for name in ("a.csv", "b.parquet"):
        model.learn(rows_of(tmp_path / name))
    want = TableModel("price").learn(table)
    assert model.settle().schema.columns == want.settle().schema.columns
    np.testing.assert_allclose(model.predict(table), want.predict(table), rtol=1e-8)


def test_columns_that_come_later_are_no_part_of_the_table():
    one, two = houses(40), houses(40, seed=1).append_column("new", pa.array(range(40)))
    model = TableModel("price").learn(one).learn(two).settle()
    assert "new" not in model.schema.names
    with pytest.raises(TableError, match="it has no column 'area', which the rows before had"):
        TableModel("price").learn(one).learn(one.drop_columns(["area"]))


@pytest.mark.full
def test_wide_and_long_text_in_the_first_rows_fits_into_a_file(tmp_path):
    rng = np.random.default_rng(0)
    columns = {f"c{i}": rng.normal(size=2000).astype(str) for i in range(120)}
    columns["essay"] = [f"{i} " + "word " * 800 for i in range(2000)]
    columns["y"] = rng.normal(size=2000)
    model = TableModel("y", hidden=5).learn(pa.table(columns)).settle()
    greville.save(model, tmp_path / "m")
    again = greville.load(tmp_path / "m")
    essay = pa.table({**{k: v[:50] for k, v in columns.items()}, "essay": ["an essay"] * 50})
    for each in (model, again):  # from here on the column is text of one value
        each.learn(essay)
    assert again.settle().schema.columns == model.settle().schema.columns
    assert np.array_equal(again.predict(essay), model.predict(essay))


def test_merging_and_unlearning(few_first):
    table = houses(800)
    part, rest = table.slice(0, 400), table.slice(400)
    both = TableModel("price", epsilon=0.1).learn(part).learn(rest)
    first = TableModel("price", epsilon=0.1).learn(part)
    second = first.forgotten().learn(rest)
    alone = first.twin()
    first.merge(second)
    assert first.n_rows == 800
    np.testing.assert_allclose(first.predict(table), both.predict(table), rtol=1e-8)
    assert first.unlearn(rest) == 400
    np.testing.assert_allclose(first.predict(table), alone.predict(table), rtol=1e-7)
    with pytest.raises(TableError, match="first.forgotten"):
        alone.merge(TableModel("price", epsilon=0.1).learn(houses(200, seed=3)))
    with pytest.raises(TableError, match="only those with the solver opium"):
        TableModel("price", solver="light").learn(part).unlearn(part)


# Errors


def test_an_error_leaves_everything_as_it_was(few_first):
    good = houses(200)
    bad = good.set_column(1, "rooms", pa.array(["x"] * 200))
    for rows in (good.slice(0, 30), good):  # with the first rows still open, and after
        model = TableModel("price").learn(rows)
        before, n = model.predict(good), model.n_rows
        for method in (model.learn, model.record, model.unlearn):
            with pytest.raises(TableError):
                method([*_as_batches(good), *_as_batches(bad)])
        assert np.array_equal(model.predict(good), before)
        assert model.n_rows == n


@pytest.mark.parametrize("columns", [["area"], ["area", "city"]])
def test_other_columns_when_predicting(columns):
    model = TableModel("price").learn(houses())
    with pytest.raises(TableError, match="no column.*'city'|no column.*'rooms'"):
        model.predict(houses().select(columns))
    shuffled = houses().select(["city", "garden", "built", "rooms", "area"])
    assert np.array_equal(model.predict(shuffled), model.predict(houses()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "magic"}, "choose one of"),
        ({"alpha": 1.1}, "^alpha=1.1: the solver opium has no such setting"),
        ({"solver": "dynamic", "alpha": 3.0}, "^alpha=3.0: "),
        ({"epsilon": -1.0}, "^epsilon=-1.0: "),
    ],
)
def test_settings_are_checked_at_once(settings, message):
    with pytest.raises(TableError, match=message):
        TableModel("y", **settings)


@pytest.mark.full
def test_table_models_refuse_too_many_names():
    table = pa.table({f"c{i}": [1.0, 2.0] for i in range(50_002)})
    with pytest.raises(ValueError, match="at most 50,000 can be used"):
        TableModel("c0").learn(table)


def test_errors_speak_of_arguments_and_can_be_worded_otherwise():
    with pytest.raises(TableError) as caught:
        TableModel("y").learn(
            pa.table({"x": range(60), "y": [f"{{{i}}}" for i in range(60)]})
        ).settle()
    error = caught.value
    assert str(error).endswith("or pass task='classification'.")
    assert "'{0}'" in error.message
    assert (
        error.advice(lambda name, value: f"<{name}: {value}>")
        == ", pass <na: None> with what stands for a missing one, or pass <task: classification>."
    )
    with pytest.raises(TableError, match=r"^hidden=0: ") as caught:
        TableModel("y", hidden=0)
    assert caught.value.argument == "hidden"
