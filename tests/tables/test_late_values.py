"""Values of text columns that come after the first rows, or that were never learned."""

import numpy as np
import pyarrow as pa
import pytest

import greville
from greville.tables import (
    Batch,
    RowErrors,
    Stream,
    TableError,
    TableModel,
    UnlearnedValues,
)
from greville.tables._sample import sampled

EFFECTS = {"a": 0.0, "b": 4.0, "c": -5.0, "d": 8.0, "e": -9.0}


def table_of(colours, seed=0):
    """No noise, so that weights become large: what leaves the learned rows then explodes."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, len(colours)))
    y = [EFFECTS.get(c, 3.0) for c in colours] + x + np.sin(2 * z)
    return pa.table({"x": x, "z": z, "colour": pa.array(colours, pa.string()), "y": y})


def colours(n, names="abcde", seed=1):
    return np.random.default_rng(seed).choice(list(names), n).tolist()


def late(n=400):
    """Two values first, then three more."""
    return colours(n, "ab") + ["c"] * 50 + colours(n, "abcd") + ["e"] * 50


def model(**settings):
    return TableModel("y", task="regression", **{"hidden": 40, **settings})


def errors_of(answers, table):
    return np.concatenate([part.prediction for part in answers]) - table["y"].to_numpy()


@pytest.mark.full
@pytest.mark.parametrize("hidden", [40, 200])
def test_a_stream_with_late_values_is_bounded_and_as_good_as_one_that_knew_them(few_first, hidden):
    table = table_of(late())
    knew = model(hidden=hidden).learn(table_of(colours(64))).settle().forgotten()
    error = errors_of(model(hidden=hidden).record(table), table)
    want = errors_of(knew.record(table), table)
    assert np.abs(error[64:]).max() < 20  # targets are within ±13
    for start, stop in ((410, 450), (460, 850), (855, 900)):
        root = np.sqrt(np.mean(error[start:stop] ** 2))
        assert root < 1.5 * np.sqrt(np.mean(want[start:stop] ** 2)) + 0.1


def test_a_late_value_is_learned_exactly_from_its_first_row(few_first):
    """As by the model that had an input for it from the start."""
    table = table_of(late())
    grown = model(epsilon=0.1)
    for start in range(0, len(table), 90):
        grown.learn(table.slice(start, 90))
    knew = grown.forgotten().learn(table)
    assert [c.late for c in grown.schema.columns if c.name == "colour"] == [["c", "d", "e"]]
    np.testing.assert_allclose(grown.predict(table), knew.predict(table), rtol=1e-9, atol=1e-9)
    first = model(epsilon=0.1).learn(table.slice(0, 400))
    first.learn(table.slice(400, 1))  # one row of "c"
    red = pa.table({"x": [0.0], "z": [0.0], "colour": ["c"]})
    assert abs(first.predict(red)[0] - EFFECTS["c"]) < 1.5


def test_merging_models_that_met_different_values(few_first):
    start = table_of(colours(200, "ab"))
    parts = [table_of(colours(300, "adc", 2), 2), table_of(colours(300, "bec", 3), 3)]
    whole = model(epsilon=0.1).learn(start)
    one, two = whole.twin().learn(parts[0]), whole.forgotten().learn(parts[1])
    whole.learn(parts[1]).learn(parts[0])
    one.merge(two)
    assert one.n_rows == 800
    assert one.schema.columns == whole.schema.columns
    table = table_of(colours(50, "abcdef"), 4)
    np.testing.assert_allclose(one.predict(table), whole.predict(table), rtol=1e-8)
    one.unlearn(parts[1])
    alone = model(epsilon=0.1).learn(start).learn(parts[0])
    known = table_of(colours(50, "abcd"), 4)
    np.testing.assert_allclose(one.predict(known), alone.predict(known), rtol=1e-6)
    with pytest.raises(TableError, match="first.forgotten"):
        one.merge(model(epsilon=0.1).learn(table_of(colours(300, "abc"))))


@pytest.mark.parametrize("value", ["never", None])
@pytest.mark.parametrize("solver", ["opium", "light", "dynamic"])
def test_values_that_were_never_learned(few_first, value, solver, tmp_path):
    table = table_of(colours(600, "bc"))
    known = model(solver=solver).learn(table)
    strange = table_of([value] * 100, 5)
    for each in (known, known.twin().learn(table_of(["d"] * 5))):
        answers = each.answers(Batch(strange.to_batches()[0], "here", np.arange(1, 101), 1.0))
        assert answers.unlearned == {"colour": [value or ""] * 100}
        assert np.abs(answers.prediction).max() < 20
        common = max("bc", key=table["colour"][:64].to_pylist().count)
        usual = strange.set_column(2, "colour", [[common] * 100])
        np.testing.assert_allclose(answers.prediction, each.predict(usual), rtol=1e-9)
    counted = UnlearnedValues()
    counted.add(answers)
    assert counted.as_dict() == {"colour": {"rows": 100, "values": [value]}}
    assert "100 rows have values of 'colour'" in counted.findings()[0].message


def test_a_known_value_that_no_learned_row_had_is_predicted_as_one_that_was(few_first):
    """Weights in a direction without rows have no meaning, and may be large."""
    like = model().learn(table_of(colours(600, "abc"))).settle().forgotten()
    only = like.learn(table_of(["c"] * 300))
    strange = table_of(["a"] * 50, 5)
    want = only.predict(strange.set_column(2, "colour", [["c"] * 50]))
    np.testing.assert_allclose(only.predict(strange), want, rtol=1e-9)
    (answers,) = only.twin().record(strange)
    assert np.abs(answers.prediction - want)[0] < 1e-6
    assert answers.guessed == {0}


def test_missing_values_and_too_many_that_come_late(few_first, tmp_path):
    names = [f"k{i}" for i in range(80)]
    known = model().learn(table_of(colours(100, "ab"))).settle()
    known.learn(table_of([None] * 20 + names))
    (column,) = (c for c in known.schema.columns if c.name == "colour")
    assert len(column.values) + len(column.late) == 50 + 2
    assert {"= k0", "is missing", "is another"} < {n[7:] for n in column.late_inputs}
    greville.save(known, tmp_path / "m")
    again = greville.load(tmp_path / "m")
    table = table_of([None, "a", "k0", "k79", "k81"])
    assert np.array_equal(again.predict(table), known.predict(table))
    assert np.abs(known.predict(table) - table["y"].to_numpy())[[0, 2, 3]].max() < 1.5
    unlearned = known.answers(Batch(table.to_batches()[0], "here", np.arange(5), 1.0)).unlearned
    assert not unlearned  # one that is too many is like the others


@pytest.mark.full
def test_files_and_streams_in_the_middle_of_late_values(few_first, tmp_path):
    table = table_of(late(40))
    rows = table.to_pylist()
    whole, parts = Stream(model()), Stream(model())
    whole.answer(rows, 1, RowErrors())
    for start in range(0, len(rows), 47):
        parts.answer(rows[start : start + 47], start + 1, RowErrors())
        greville.save(parts, tmp_path / "s")
        parts = greville.load(tmp_path / "s")
    for stream in (whole, parts):
        greville.save(stream, tmp_path / "s")
    assert np.array_equal(whole.settled().predict(table), parts.settled().predict(table))
    assert not whole.unlearned.rows  # what has a target is learned
    whole.answer([{"x": 0.0, "z": 0.0, "colour": "never"}], 1, RowErrors())
    assert whole.unlearned.rows == {"colour": 1}


# Samples


def batches(colours, size):
    table = table_of(colours)
    for start in range(0, len(table), size):
        rows = table.slice(start, size).combine_chunks().to_batches()[0]
        yield Batch(rows, "here", np.arange(start + 1, start + 1 + len(rows)), 1.0)


def test_a_sample_is_of_all_rows_and_always_the_same():
    sorted_rows = ["a"] * 5000 + ["b"] * 4000 + ["c"] * 1000
    in_turn = ["a", "b", "c", "d"] * 2500
    for rows in (sorted_rows, in_turn):
        ((one,), n), ((two,), _) = (sampled(batches(rows, size), 200) for size in (700, 999))
        assert n == len(rows)
        assert len(one) == 200
        assert one.table.equals(two.table)
        assert np.array_equal(one.numbers, two.numbers)
        shares = {c: rows.count(c) / len(rows) for c in set(rows)}
        found = one.table.column("colour").to_pylist()
        for colour, share in shares.items():
            assert abs(found.count(colour) / 200 - share) < 0.1
    few, n = sampled(batches(in_turn[:150], 70), 200)
    assert sum(map(len, few)) == n == 150


def test_a_model_that_has_seen_a_sample(few_first):
    rows = ["a"] * 500 + ["b"] * 400 + ["c"] * 100
    table = table_of(rows)
    prepared = model().prepare(batches(rows, 300)).learn(table)
    mixed = model().learn(table.take(np.random.default_rng(0).permutation(1000)))
    errors = []
    for each in (prepared, mixed):
        assert each.settle().schema.columns[2].values == ["a", "b", "c"]
        assert not each.schema.columns[2].late
        errors.append(np.std(each.predict(table) - table["y"].to_numpy()))
    assert errors[0] < 1.3 * errors[1] < 0.5
    with pytest.raises(TableError, match="make a new one"):
        prepared.prepare(table)
    small = model().prepare(table.slice(0, 60))
    assert not small.has_schema
