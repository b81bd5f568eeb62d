"""Tables: every format, every kind of column, rows that are wrong, and streams."""

import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, feather, parquet
from sklearn import metrics

import greville
from greville.monitor import DriftMonitor
from greville.tables import (
    Batch,
    ClassificationScore,
    Reading,
    RegressionScore,
    Stream,
    TableError,
    TableModel,
    Troubles,
    _json,
    _model,
    find_sources,
    in_chunks,
    read,
)
from greville.tables._encoding import Encoding

CITIES = ["Bonn", "Kiel", "Ulm"]


def houses(n=300, seed=0):
    """Numbers with gaps, whole numbers, text, dates, true or false; the price is known of all."""
    rng = np.random.default_rng(seed)
    area, city, garden = rng.uniform(30, 200, n), rng.integers(0, 3, n), rng.integers(0, 2, n)
    price = 1000 * area * (1 + 0.3 * city) + 20_000 * garden
    area = [None if rng.random() < 0.05 else round(a, 3) for a in area]
    built = np.datetime64("1950-01-01") + rng.integers(0, 25_000, n)
    return pa.table(
        {
            "area": pa.array(area),
            "rooms": pa.array(rng.integers(1, 7, n)),
            "city": pa.array([CITIES[c] for c in city]),
            "built": pa.array(built),
            "garden": pa.array(garden.astype(bool)),
            "price": pa.array(price.round(2)),
        }
    )


def rows_of(path, how=None, troubles=None):
    return list(read(find_sources([str(path)]), how or Reading(), troubles or Troubles()))


def as_rows(table):
    return [
        {k: v.isoformat() if hasattr(v, "isoformat") else v for k, v in row.items()}
        for row in table.to_pylist()
    ]


def jsonl(table):
    return "".join(json.dumps(row) + "\n" for row in as_rows(table)).encode()


def csv_bytes(table, **options):
    out = io.BytesIO()
    csv.write_csv(table, out, csv.WriteOptions(quoting_style="needed", **options))
    return out.getvalue()


def write_stream(table, path):
    with pa.ipc.new_stream(str(path), table.schema) as out:
        out.write_table(table)


WRITERS = {
    "houses.csv": lambda t, p: p.write_bytes(csv_bytes(t)),
    "houses.tsv": lambda t, p: p.write_bytes(csv_bytes(t, delimiter="\t")),
    "semicolons.csv": lambda t, p: p.write_bytes(csv_bytes(t, delimiter=";")),
    "houses.csv.gz": lambda t, p: p.write_bytes(gzip.compress(csv_bytes(t))),
    "houses.csv.zst": lambda t, p: p.write_bytes(pa.compress(csv_bytes(t), "zstd", asbytes=True)),
    "bom.csv": lambda t, p: p.write_bytes(b"\xef\xbb\xbf" + csv_bytes(t)),
    "windows.csv": lambda t, p: p.write_bytes(csv_bytes(t).replace(b"\n", b"\r\n")),
    "houses": lambda t, p: p.write_bytes(csv_bytes(t)),
    "houses.jsonl": lambda t, p: p.write_bytes(jsonl(t)),
    "houses.jsonl.gz": lambda t, p: p.write_bytes(gzip.compress(jsonl(t))),
    "no-suffix-json": lambda t, p: p.write_bytes(b"\n" + jsonl(t)),
    "houses.parquet": parquet.write_table,
    "houses.feather": lambda t, p: feather.write_feather(t, str(p)),
    "houses.arrow": write_stream,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_says_the_same(tmp_path, name):
    table = houses()
    WRITERS[name](table, tmp_path / name)
    model = TableModel("price").learn(rows_of(tmp_path / name))
    want = TableModel("price").learn(table)
    for each in (model, want):
        each.settle()
    assert model.task == "regression"
    assert model.columns == want.columns
    np.testing.assert_allclose(model.predict(table), want.predict(table), rtol=1e-9)


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_numpy_files(tmp_path, name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = X[:, 0] - X[:, 2]
    if name == "x.npy":
        np.save(tmp_path / name, np.column_stack([X, y]))
        target, kinds = "4", ["number"] * 4
    else:
        np.savez(tmp_path / name, X=X, y=y)
        target, kinds = "y", ["vector"]
    batches = rows_of(tmp_path / name)
    model = TableModel(target, hidden=100).learn(batches).settle()
    assert [column.kind for column in model.encoding.columns] == kinds
    want = greville.ELMRegressor(100, random_state=0).partial_fit(X, y)
    np.testing.assert_allclose(model.predict(batches[0]), want.predict(X), rtol=1e-7)


def test_arrays_of_objects_are_not_unpickled(tmp_path):
    np.save(tmp_path / "bad.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(TableError, match="bad.npy: it cannot be read.*objects are not"):
        rows_of(tmp_path / "bad.npy")


def test_folders_patterns_and_order(tmp_path):
    table = houses(90)
    for i in range(3):
        parquet.write_table(table.slice(30 * i, 30), tmp_path / f"part-{i}.parquet")
    (tmp_path / "notes.md").write_text("not a table")
    (tmp_path / "_SUCCESS").write_text("")
    for names in ([str(tmp_path)], [str(tmp_path / "part-*.parquet")]):
        found = list(read(find_sources(names), Reading(), Troubles()))
        assert sum(map(len, found)) == 90
        assert [b.source[-9:-8] for b in found] == ["0", "1", "2"]


# What columns become


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
    encoding = Encoding.learned({name: table.column(name) for name in table.column_names})
    batch = Batch(table.to_batches()[0], "here", np.arange(1, 5), 1.0)
    X, wrong = encoding.encode(batch)
    assert not wrong
    named = dict(zip(encoding.inputs, X.T, strict=True))
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
    assert encoding.columns[-1].kind == "ignored"
    again = Encoding.from_list(json.loads(json.dumps(encoding.as_list())))
    np.testing.assert_array_equal(again.encode(batch)[0], X)


def test_text_with_many_values():
    rng = np.random.default_rng(0)
    values = [f"v{k}" for k in rng.zipf(1.3, 2000).clip(max=400)]
    names = [f"person {i}" for i in range(2000)]
    encoding = Encoding.learned({"v": pa.array(values), "name": pa.array(names)})
    text, ignored = encoding.columns
    assert len(text.values) == 50
    assert text.others
    assert "different value in nearly every row" in ignored.why
    batch = Batch(
        pa.RecordBatch.from_pydict({"v": ["v1", "never seen", None]}), "", np.arange(3), 1
    )
    X, _ = encoding.encode(batch)
    assert X.sum(axis=1).tolist() == [1, 1, 0]
    assert X[1, -1] == 1


def test_a_slip_in_a_column_of_numbers_is_a_slip():
    values = [str(i) for i in range(100)]
    values[40] = "forty"
    table = pa.table({"x": values, "y": list(range(100))})
    model = TableModel("y", task="regression").learn(table)
    with pytest.raises(TableError, match="row 41: column 'x' should be a number, got 'forty'"):
        model.settle()
    assert model.n_rows == 0
    assert model.columns is None
    troubles = Troubles(skip=True)
    model.settle(troubles)
    assert (model.n_rows, troubles.count) == (99, 1)
    assert model.encoding.columns[0].kind == "number"


def test_codes_can_be_names():
    table = pa.table({"code": [1, 2, 3, 4] * 25, "y": [0.0, 1.0, 0.0, 5.0] * 25})
    model = TableModel("y", categorical=["code"]).learn(table).settle()
    assert model.encoding.inputs == [f"code = {i}" for i in range(1, 5)]
    np.testing.assert_allclose(model.predict(table)[:4], [0, 1, 0, 5], atol=0.1)


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
    assert (model.task, model.kept) == (task, kept)
    other = "regression" if task == "classification" else "classification"
    if kept in ("integer", "number") and len(set(values)) < 10:
        told = TableModel("y", task=other)
        told.learn(pa.table({"x": rng.normal(size=n), "y": values})).settle()
        assert told.task == other


def test_labels_come_back_as_they_were():
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    for labels in ([7, 9], ["no", "yes"], [False, True]):
        y = [labels[int(v > 0)] for v in x]
        model = TableModel("y").learn(pa.table({"x": x, "y": y}))
        assert (model.predict(pa.table({"x": [-2.0, 2.0]})) == labels).all()


def test_rows_without_a_target_are_left_out():
    table = houses(100)
    some = table.set_column(5, "price", pa.array([None, *table.column("price").to_pylist()[1:]]))
    model = TableModel("price").learn(some).settle()
    assert (model.n_rows, model.n_without_target) == (99, 1)


# How rows are cut changes nothing


@pytest.fixture
def few_first(monkeypatch):
    monkeypatch.setattr(_model, "FIRST", 64)


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(1, 299), max_size=6), first=st.sampled_from([64, 4096]))
def test_cutting_changes_nothing(cuts, first):
    table = houses()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_model, "FIRST", first)
        want = TableModel("price").learn(table)
        model, recorded, start = TableModel("price"), TableModel("price"), 0
        for stop in [*sorted(set(cuts)), 300]:
            model.learn(table.slice(start, stop - start))
            recorded.record(table.slice(start, stop - start))
            start = stop
        recorded.stale = recorded.first is not None  # so that all of them are looked at
    for other in (model, recorded):
        assert np.array_equal(other.predict(table).shape, (300,))
        assert other.columns == want.settle().columns
        assert (other.first is None) == (want.first is None)
        assert other.n_rows == want.n_rows == 300
        np.testing.assert_allclose(other.predict(table), want.predict(table), rtol=1e-8)


def test_the_record_is_what_a_loop_says(few_first):
    table = houses(150)
    model, loop = TableModel("price"), TableModel("price")
    got = np.concatenate([part.prediction for part in model.record(table)])
    want = []
    for i in range(150):
        row = table.slice(i, 1)
        want.append(loop.predict(row)[0] if i else np.nan)
        loop.record(row)
    np.testing.assert_allclose(got[1:].astype(float), want[1:], rtol=1e-6)


def test_files_in_the_middle_of_everything(tmp_path, few_first):
    table = houses(200)
    for stop in (1, 3, 40, 64, 65, 130):
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
    assert model.settle().columns == want.settle().columns
    np.testing.assert_allclose(model.predict(table), want.predict(table), rtol=1e-8)


@given(
    sizes=st.lists(st.integers(1, 40), max_size=12),
    size=st.integers(1, 30),
    skip=st.integers(0, 50),
)
def test_chunks_have_all_rows_once(sizes, size, skip):
    number, batches = 0, []
    for n in sizes:
        numbers = np.arange(number, number + n)
        table = pa.RecordBatch.from_pydict({"x": numbers})
        batches.append(Batch(table, "here", numbers, 0.0))
        number += n
    chunks = [[v for b in c for v in b.numbers.tolist()] for c in in_chunks(batches, size, skip)]
    assert [v for chunk in chunks for v in chunk] == list(range(min(skip, number), number))
    assert all(len(chunk) == size for chunk in chunks[:-1])


# Files that are not as they should be


def test_the_row_is_named_far_into_a_file(tmp_path):
    lines = [f"{i},{i % 7}" for i in range(1, 60_001)]
    lines[54_320] = "oops,1"
    path = tmp_path / "long.csv"
    path.write_text("x,y\n" + "\n".join(lines) + "\n")
    model = TableModel("y", task="regression")
    batches = rows_of(path)
    message = r"long.csv, row 54,321: column 'x' .* got 'oops'; mend it"
    with pytest.raises(TableError, match=message):
        model.learn(batches)


def test_rows_with_too_many_fields(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n3,4,5\n6,7\n8\n9,zehn\n")
    with pytest.raises(TableError, match=r"x.csv, row 2 has 3 fields instead of 2; mend"):
        rows_of(path)
    (batch,) = rows_of(path, troubles=Troubles(skip=True))
    assert batch.numbers.tolist() == [1, 3, 5]
    assert [number for number, _ in batch.skipped] == [2, 4]
    assert [number for number, _ in batch.part(1, 2).skipped] == [2]
    assert [number for number, _ in batch.part(2, 3).skipped] == [4]
    assert batch.where(2).endswith("x.csv, row 5")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "it is empty"),
        ("blank.csv", b"\n\n", "it is empty"),
        ("header.csv", b"a,b\n", "it has no rows"),
        ("twice.csv", b"a,a\n1,2\n", "several columns are called 'a'"),
        ("latin.csv", "a,b\nä,1\n".encode("latin-1"), "--encoding latin-1"),
        ("list.json", b'[{"a": 1}]', "one JSON list"),
        ("x.parquet", b"PAR1 is not enough", "it cannot be read"),
        ("x.arrow", b"nothing of the kind", "it cannot be read"),
        ("x.npy", b"\x93NUMPY broken", "it cannot be read"),
        ("x.npz", b"no zip", "it cannot be read"),
        ("x.csv.gz", gzip.compress(str(list(range(9999))).encode())[:9000], "damaged or cut off"),
        ("x.csv.gz", b"no gzip at all", "damaged or cut off"),
        ("x.csv.zst", b"no zstd at all", "damaged or cut off"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message) as caught:
        rows_of(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert "\n" not in str(caught.value)


def test_other_encodings(tmp_path):
    (tmp_path / "x.csv").write_bytes("stadt,y\nKöln,1\n".encode("latin-1"))
    (batch,) = rows_of(tmp_path / "x.csv", Reading(encoding="latin-1"))
    assert batch.table.column("stadt").to_pylist() == ["Köln"]


def test_quotes_and_lines_in_fields(tmp_path):
    (tmp_path / "x.csv").write_text('a,b\n"one, and\ntwo",1\n"say ""so""",2\n')
    (batch,) = rows_of(tmp_path / "x.csv")
    assert batch.table.column("a").to_pylist() == ["one, and\ntwo", 'say "so"']


def test_no_header(tmp_path):
    (tmp_path / "x.csv").write_text("1,2\n3,4\n")
    (batch,) = rows_of(tmp_path / "x.csv", Reading(header=False))
    assert batch.table.to_pydict() == {"0": ["1", "3"], "1": ["2", "4"]}


def test_json_lines_one_of_which_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(_json, "_BLOCK", 100)
    path = tmp_path / "x.jsonl"
    lines = [json.dumps({"x": i, "y": f"t{i}"}) for i in range(50)]
    lines[30] = '{"x": 1,'
    lines.insert(10, "")
    path.write_text("\n".join(lines))
    with pytest.raises(TableError, match="row 32: it is not JSON"):
        rows_of(path)
    troubles = Troubles(skip=True)
    batches = rows_of(path, troubles=troubles)
    numbers = [n for b in batches for n in b.numbers.tolist()]
    assert numbers == [n for n in range(1, 52) if n not in (11, 32)]
    assert [v for b in batches for v in b.table.column("x").to_pylist()][-1] == 49


def test_json_of_mixed_types(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"x": 1, "y": 1}\n{"x": "a", "y": 2}\n{"y": 3}\n')
    (batch,) = rows_of(path)
    assert batch.table.column("x").to_pylist() == ["1", "a", None]


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
        ({"alpha": 1.1}, "--alpha: the solver opium has no such setting"),
        ({"solver": "dynamic", "alpha": 3.0}, "--alpha=3.0"),
        ({"epsilon": -1.0}, "--epsilon"),
    ],
)
def test_settings_are_checked_at_once(settings, message):
    with pytest.raises(TableError, match=message):
        TableModel("y", **settings)


@pytest.mark.parametrize("solver", ["opium", "dynamic", "sliding", "light", "greville"])
def test_every_solver(solver, tmp_path):
    table = houses()
    model = TableModel("price", solver=solver).learn(table)
    greville.save(model, tmp_path / "m")
    again = greville.load(tmp_path / "m")
    assert np.array_equal(again.predict(table), model.predict(table))
    assert np.isfinite(model.predict(table)).all()


# Sums


def test_merging_and_unlearning(few_first):
    table = houses(2400)
    part, rest = table.slice(0, 1200), table.slice(1200)
    both = TableModel("price", epsilon=0.1).learn(part).learn(rest)
    first = TableModel("price", epsilon=0.1).learn(part)
    second = first.forgotten().learn(rest)
    alone = first.twin()
    first.merge(second)
    assert first.n_rows == 2400
    np.testing.assert_allclose(first.predict(table), both.predict(table), rtol=1e-8)
    assert first.unlearn(rest) == 1200
    np.testing.assert_allclose(first.predict(table), alone.predict(table), rtol=1e-7)
    with pytest.raises(TableError, match="--like"):
        alone.merge(TableModel("price", epsilon=0.1).learn(houses(200, seed=3)))
    with pytest.raises(TableError, match="only those with the solver opium"):
        TableModel("price", solver="light").learn(part).unlearn(part)


# Scores


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
    assert found["brier"] == pytest.approx(brier)
    matrix = metrics.confusion_matrix(true, predicted, labels=labels)
    assert found["confusion"]["counts"] == matrix.tolist()
    if len(labels) == 2:
        area = metrics.roc_auc_score(y, proba[:, 1])
        assert found["roc_auc"] == pytest.approx(area, abs=1e-3)
    _, right, n = np.array(score.calibration()).T
    assert n.sum() == 800
    assert np.average(right, weights=n) == pytest.approx(found["accuracy"])


def test_labels_that_no_model_knows_count_as_wrong():
    score = ClassificationScore(["a", "b"])
    score.add(np.array(["a", "z"]), np.array(["a", "a"]), np.array([[0.9, 0.1], [0.8, 0.2]]))
    found = score.summary()
    assert found["accuracy"] == 0.5
    assert found["classes"]["z"]["recall"] == 0


# Streams


def bursts(stream, rows, cuts):
    answers, start = [], 0
    for stop in [*cuts, len(rows)]:
        answers += stream.answer(rows[start:stop], start + 1, Troubles())
        start = stop
    return answers


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, 700), max_size=8).map(sorted), data=st.data())
def test_bursts_change_no_bit_of_the_model(cuts, data):
    rows = as_rows(houses(700))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_model, "FIRST", data.draw(st.sampled_from([64, 4096])))
        want, stream = Stream(TableModel("price")), Stream(TableModel("price"))
        wanted, got = bursts(want, rows, []), bursts(stream, rows, cuts)
    assert [a["line"] for a in got] == list(range(1, 701))
    np.testing.assert_allclose(
        [a["prediction"] for a in got[2:]], [a["prediction"] for a in wanted[2:]], rtol=1e-5
    )
    table = houses(50, seed=9)
    assert np.array_equal(stream.model.predict(table), want.model.predict(table))
    assert np.array_equal(stream.settled().predict(table), want.settled().predict(table))
    assert stream.settled().n_rows == 700


def test_late_targets():
    rows = as_rows(houses(400))
    stream, plain = Stream(TableModel("price"), "id"), Stream(TableModel("price"))
    bursts(plain, rows, [])
    answers = []
    for i, row in enumerate(rows):
        asked = {**row, "id": i, "price": None}
        answers += stream.answer([asked], stream.lines + 1, Troubles())
        if i >= 3:  # three rows later
            late = {"id": i - 3, "price": rows[i - 3]["price"]}
            answers += stream.answer([late], stream.lines + 1, Troubles())
    assert len(stream.waiting) == 3
    assert answers[-1]["id"] == 396
    assert answers[-1]["learned"]
    first = next(a for a in answers if a["id"] == 396)
    assert first["prediction"] == answers[-1]["prediction"]
    assert stream.settled().n_rows == 397
    table = houses(50, seed=9)
    rest = [{"id": i, "price": rows[i]["price"]} for i in (397, 398, 399)]
    stream.answer(rest, stream.lines + 1, Troubles())
    np.testing.assert_allclose(
        stream.settled().predict(table), plain.settled().predict(table), rtol=1e-7
    )


def test_a_stream_in_a_file_goes_on_to_the_bit(tmp_path):
    rows = as_rows(houses(600))
    monitor = DriftMonitor()
    stream = Stream(TableModel("price"), "id", monitor)
    for k, row in enumerate(rows):
        row["id"] = k
        if k % 5 == 0:
            row["price"] = None
    stream.answer(rows[:431], 1, Troubles())
    greville.save(stream, tmp_path / "s")
    again = greville.load(tmp_path / "s")
    late = [{"id": 0, "price": 1e5}, {"id": 425, "price": 2e5}]
    for each in (stream, again):
        assert each.lines == 431
        each.answer(rows[431:], 432, Troubles())
        each.answer(late, each.lines + 1, Troubles())
    greville.save(stream.model, tmp_path / "one")
    greville.save(again.model, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert len(stream.rows) == len(again.rows)
    assert stream.waiting.keys() == again.waiting.keys()
    assert np.array_equal(stream.settled().predict(houses(20)), again.settled().predict(houses(20)))


def test_wrong_rows_of_a_stream():
    rows = as_rows(houses(100))
    rows[50]["rooms"] = "many"
    rows[60] = "it is not JSON"
    stream, troubles = Stream(TableModel("price")), Troubles(skip=True)
    answers = stream.answer(rows, 1, troubles)
    assert len(answers) == 100
    assert [a["line"] for a in answers if "error" in a] == [51, 61]
    assert troubles.count == 2
    assert stream.settled().n_rows == 98
    with pytest.raises(TableError, match=r"standard input, row 101: column 'rooms'"):
        stream.answer([{**rows[0], "rooms": "several"}], 101, Troubles())
    assert stream.lines == 100


def test_hostile_columns_of_a_model():
    good = {"kind": "number", "name": "x", "median": 0.0, "missing": False}
    for bad in (
        {**good, "kind": "os"},
        {**good, "median": "0"},
        {**good, "more": 1},
        {k: v for k, v in good.items() if k != "missing"},
        {"kind": "vector", "name": "v", "width": 10**12},
        {"kind": "text", "name": "t", "values": [1], "others": False, "numbers": False},
    ):
        with pytest.raises((ValueError, KeyError)):
            Encoding.from_list([bad])


# What a second reader found


def test_sorted_categories_are_all_seen():
    """Also those after the largest power of two."""
    kinds = ["a"] * 70 + ["b"] * 25 + ["c"] * 25
    y = [{"a": 0.0, "b": 9.0, "c": -9.0}[k] for k in kinds]
    model = TableModel("y", task="regression").learn(pa.table({"kind": kinds, "y": y}))
    got = model.predict(pa.table({"kind": ["a", "b", "c"]}))
    np.testing.assert_allclose(got, [0, 9, -9], atol=0.2)


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


def _as_batches(table):
    return [Batch(b, "here", np.arange(1, b.num_rows + 1), 1.0) for b in table.to_batches()]


def test_targets_too_large_for_an_estimator_are_wrong_rows():
    rows = as_rows(houses(600))
    rows[400]["price"] = 1e200
    rows[500]["area"] = 1e200
    stream, troubles = Stream(TableModel("price")), Troubles(skip=True)
    answers = stream.answer(rows, 1, troubles)
    assert [a["line"] for a in answers if "error" in a] == [401, 501]
    assert stream.settled().n_rows == 598


def test_fields_may_be_left_out_in_a_stream():
    rows = [{"x": 1.0, "z": 2.0, "y": 3.0}, {"x": 2.0, "z": 1.0, "y": 3.0}, {"x": 2.0, "y": 3.0}]
    together, alone = Stream(TableModel("y")), Stream(TableModel("y"))
    together.answer(rows, 1, Troubles())
    for i, row in enumerate(rows):
        alone.answer([row], i + 1, Troubles())
    asked = alone.answer([{"x": 1.0}], 4, Troubles())
    assert asked[0]["prediction"] is not None
    assert together.settled().columns == alone.settled().columns


def test_a_column_that_turns_out_to_be_text_in_a_stream():
    values = ["5", "abc", "q", "abc", "5", "7", "q", "8"]
    rows = [{"x": v, "y": float(i)} for i, v in enumerate(values)]
    stream, troubles = Stream(TableModel("y")), Troubles()
    for i, row in enumerate(rows):
        assert "error" not in stream.answer([row], i + 1, troubles)[0]
    model = stream.settled()
    assert model.n_rows == 8
    assert model.encoding.columns[0].kind == "text"


def test_a_target_that_nobody_waits_for():
    stream = Stream(TableModel("y"), "id")
    stream.answer([{"id": 1, "x": 1.0}, {"id": 1, "y": 2.0}], 1, Troubles())
    with pytest.raises(TableError, match="line 3: no row with the id 1 waits for its target"):
        stream.answer([{"id": 1, "y": 2.0}], 3, Troubles())
    assert stream.settled().n_rows == 1
    skip = Troubles(skip=True)
    (answer,) = stream.answer([{"id": [1], "x": 2.0}], 3, skip)
    assert "should be text or a number" in answer["error"]


def test_answers_before_an_error_are_given():
    stream, said = Stream(TableModel("y")), []
    rows = [{"x": 1.0, "y": 2.0}, {"x": 2.0, "y": 3.0}, "it is not JSON"]
    parts = stream.answers(rows, 1, Troubles())
    said += next(parts)
    with pytest.raises(TableError, match="line 3: it is not JSON"):
        next(parts)
    assert [a["line"] for a in said] == [1, 2]
    assert stream.lines == 2


def test_many_rows_that_wait(tmp_path):
    rng = np.random.default_rng(0)
    stream = Stream(TableModel("y"), "id")
    stream.answer([{"id": -1, "x": 0.5, "t": "a", "y": 1.0}], 1, Troubles())
    big = 2**64 - 1
    for i, x in enumerate(rng.normal(size=3000).tolist()):
        stream.waiting[big - i] = {"id": big - i, "x": x, "t": f"w{i % 7}"}, 0.5
    greville.save(stream, tmp_path / "s")
    again = greville.load(tmp_path / "s")
    assert list(again.waiting) == list(stream.waiting)
    for each in (stream, again):
        answers = each.answer([{"id": big - 1234, "y": 7.0}], 2, Troubles())
        assert answers == [{"line": 2, "id": big - 1234, "prediction": 0.5, "learned": True}]
    assert np.array_equal(
        stream.settled().predict(pa.table({"x": [1.0], "t": ["a"]})),
        again.settled().predict(pa.table({"x": [1.0], "t": ["a"]})),
    )


def test_wide_and_long_text_in_the_first_rows_fits_into_a_file(tmp_path):
    rng = np.random.default_rng(0)
    columns = {f"c{i}": rng.normal(size=2000).astype(str) for i in range(120)}
    columns["essay"] = [f"{i} " + "word " * 800 for i in range(2000)]
    columns["y"] = rng.normal(size=2000)
    model = TableModel("y", hidden=5).learn(pa.table(columns)).settle()
    greville.save(model, tmp_path / "m")
    again = greville.load(tmp_path / "m")
    assert again.first.rows.columns["essay"].equals(model.first.rows.columns["essay"])


@pytest.mark.parametrize("column", [[float("nan")] * 50, [" "] * 50, [[]] * 50, [None] * 50])
def test_columns_of_nothing_are_not_used(column, tmp_path):
    table = pa.table({"x": np.arange(50.0), "n": column, "y": np.arange(50.0)})
    model = TableModel("y", task="regression").learn(table).settle()
    assert model.encoding.inputs == ["x"]
    greville.save(model, tmp_path / "m")
    greville.load(tmp_path / "m")


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
    land, x = model.encoding.columns
    assert land.values == ["DE", "NA"]
    assert (x.kind, x.missing) == ("number", True)


def test_frames_of_pandas_and_polars():
    import pandas as pd
    import polars as pl

    table = houses(100)
    want = TableModel("price").learn(table).predict(table)
    for frame in (pd.DataFrame(table.to_pydict()), pl.DataFrame(table.to_pydict())):
        model = TableModel("price").learn(frame)
        np.testing.assert_allclose(model.predict(frame), want, rtol=1e-8)


def test_json_dates_stay_as_they_came(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"b": 1, "d": "2024-01-01"}\n{"b": 2, "d": "2024-01-02"}\n')
    (batch,) = rows_of(tmp_path / "x.jsonl")
    assert batch.table.to_pydict() == {"b": [1, 2], "d": ["2024-01-01", "2024-01-02"]}


def test_optional_fields_of_json(tmp_path, monkeypatch):
    monkeypatch.setattr(_json, "_BLOCK", 20_000)
    rows = [{"x": float(i), "y": 2.0 * i} | ({"z": 1.0} if i < 5 else {}) for i in range(5000)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    batches = rows_of(tmp_path / "x.jsonl")
    assert len(batches) > 3
    model = TableModel("y", task="regression").learn(batches)
    assert len(np.concatenate([model.answers(b).prediction for b in batches])) == 5000
    with pytest.raises(TableError, match="it has no column 'x'"):
        model.predict(
            Batch(pa.RecordBatch.from_pydict({"q": [1]}), "q", np.ones(1, int), 1.0, True)
        )


def test_a_target_that_is_different_in_every_row():
    table = pa.table({"x": range(60), "y": [f"{i},5" for i in range(60)]})
    with pytest.raises(TableError, match="60 different values in 60 rows, such as '0,5'"):
        TableModel("y").learn(table).settle()


def test_columns_that_come_later_are_no_part_of_the_table():
    one, two = houses(40), houses(40, seed=1).append_column("new", pa.array(range(40)))
    model = TableModel("price").learn(one).learn(two).settle()
    assert "new" not in model.encoding.names
    with pytest.raises(TableError, match="it has no column 'area', which the rows before had"):
        TableModel("price").learn(one).learn(one.drop_columns(["area"]))


def test_lines_without_a_row_are_counted():
    stream = Stream(TableModel("y"))
    rows = [None, {"x": 1.0, "y": 1.0}, None, {"x": 2.0, "y": 1.0}]
    assert [a["line"] for a in stream.answer(rows, 1, Troubles())] == [2, 4]
    assert stream.lines == 4
    skip = Troubles(skip=True)
    (answer,) = stream.answer([{"foo": 1}], 5, skip)
    assert answer == {"line": 5, "error": "it has none of the columns 'x'"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b"PAR1....", "looks like parquet"),
        ("x.csv", b"ARROW1....", "looks like arrow"),
        ("x.csv", "a,b\n1,2\n".encode("utf-16"), "--encoding utf-16"),
    ],
)
def test_names_that_do_not_say_what_is_in_a_file(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message):
        rows_of(tmp_path / name)
    (tmp_path / "zipped.csv").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert rows_of(tmp_path / "zipped.csv")[0].table.to_pydict() == {"a": ["1"], "b": ["2"]}


def test_lengths_of_time():
    spans = pa.array([1_500_000, None, 2_000_000] * 10, pa.duration("us"))
    model = TableModel("y", task="regression")
    model.learn(pa.table({"t": spans, "y": range(30)})).settle()
    assert model.encoding.columns[0].median == 1.75
