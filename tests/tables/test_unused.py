"""Columns that are not what they seem: indices, ids, codes, constants, extremes, free text."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import greville
from greville.tables import RowErrors, Stream, TableModel

from ..runner import run

N = 400
RNG = np.random.default_rng(0)
X = RNG.uniform(0, 40, N)
Z = RNG.normal(size=N)
Y = np.sin(X / 5) + 0.3 * Z


def fitted(column, name="c", **settings):
    rows = pa.table({"x": X, name: column, "y": Y})
    return TableModel("y", hidden=50, **settings).learn(rows).settle()


def kinds(model):
    return [finding.kind for finding in model.findings]


def r2(model, rows):
    return 1 - np.mean((model.predict(rows) - Y) ** 2) / Y.var()


@pytest.mark.parametrize(("start", "name"), [(0, ""), (1, "Unnamed: 0")])
def test_the_index_of_a_data_frame_is_left_out(here, start, name):
    order = np.argsort(Y)
    lines = [f"{i + start},{Z[k]},{Y[k]}" for i, k in enumerate(order)]
    (here / "x.csv").write_text(f"{name},z,y\n" + "\n".join(lines) + "\n")
    run("train", "x.csv", "--target", "y", "-q")
    model = greville.load("model.greville")
    assert model.schema.inputs == ["z"]
    assert kinds(model) == ["pandas index"]


def test_the_index_in_parquet_is_left_out(here):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"z": Z, "y": Y})
    frame[frame.z > 0].to_parquet("x.parquet")
    assert "__index_level_0__" in parquet.read_schema("x.parquet").names
    run("train", "x.parquet", "--target", "y", "-q")
    model = greville.load("model.greville")
    assert model.schema.inputs == ["z"]
    assert kinds(model) == ["pandas index"]


def test_what_is_asked_for_is_used():
    assert kinds(fitted(np.arange(N), "id")) == ["id"]
    assert "id" in fitted(np.arange(N), "id", features=["x", "id"]).schema.inputs
    only = TableModel("y", task="regression").learn(pa.table({"id": range(N), "y": Y})).settle()
    assert only.schema.inputs == ["id"]


@pytest.mark.parametrize("name", ["id", "customer_id", "PassengerId", "order no", "ROWID"])
def test_ids_are_left_out(name):
    for column in (np.arange(N), RNG.integers(0, 10**7, N)):
        model = fitted(column, name)
        assert model.schema.inputs == ["x"]
        assert kinds(model) == ["id"]
    assert "passengerid" not in fitted(np.arange(N), "passengerid").schema.inputs


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("population", RNG.lognormal(10, 2, N).round()),
        ("altitude", RNG.integers(0, 9000, N)),
        ("paid", RNG.integers(0, 10**6, N)),
        ("year", 1900 + np.arange(N) % 120),
        ("store_id", np.arange(N) % 12),
        ("id", RNG.normal(size=N)),
    ],
)
def test_measurements_are_not_ids(name, column):
    model = fitted(column, name)
    assert model.schema.inputs == ["x", name]
    assert model.findings == ()


def test_what_may_be_an_id_is_used_and_said():
    model = fitted(np.arange(N), "t")
    assert "t" in model.schema.inputs
    assert kinds(model) == ["row numbers"]
    assert "ignore=['t']" in model.findings[0].message
    model = fitted(RNG.integers(100_000, 999_999, N), "account")
    assert "account" in model.schema.inputs
    assert kinds(model) == ["id"]


def test_leading_zeros_are_a_code():
    codes = [f"{k:05d}" for k in RNG.integers(0, 9, N) * 1037]
    effect = dict(zip(sorted(set(codes)), RNG.normal(size=9) * 9, strict=True))
    y = np.array([effect[code] for code in codes])
    model = TableModel("y", task="regression").learn(pa.table({"zip": codes, "x": X, "y": y}))
    assert kinds(model.settle()) == ["code"]
    assert "zip = 00000" in model.schema.inputs
    np.testing.assert_allclose(model.predict(pa.table({"zip": codes, "x": X})), y, atol=0.3)
    labels = TableModel("zip").learn(pa.table({"zip": codes, "x": X})).settle()
    assert (labels.task, labels.target_kind) == ("classification", "text")
    assert fitted(["0.5", "0", "10", "07.5"] * 100).schema.columns[1].kind == "number"


@pytest.mark.parametrize("value", [7.5, True, "3,5"])
def test_constant_columns_are_left_out(value):
    model = fitted([value] * N)
    assert model.schema.inputs == ["x"]
    assert kinds(model) == ["constant"]
    assert "c" in fitted([value] * (N - 1) + [None]).schema.inputs


def test_a_stream_of_constants_is_answered():
    stream = Stream(TableModel("y", task="numbers", hidden=20))
    answers = stream.answer([{"c": 1.0, "y": 2.0}] * 300, 1, RowErrors())
    assert answers[-1]["prediction"] == pytest.approx(2.0)


def test_one_value_of_1e12_does_not_ruin_a_column(tmp_path):
    rows = pa.table({"x": X, "z": Z, "y": Y})
    clean = r2(TableModel("y", hidden=300).learn(rows), rows)
    far = X.copy()
    far[77] = 1e12
    spoiled = rows.set_column(0, "x", pa.array(far))
    model = TableModel("y", hidden=300).learn(spoiled).settle()
    assert clean > 0.999
    assert r2(model, spoiled) > 0.99
    assert kinds(model) == ["extremes"]
    assert model.schema.inputs == ["x", "x is missing", "z"]
    greville.save(model, tmp_path / "m")
    assert r2(greville.load(tmp_path / "m"), spoiled) == r2(model, spoiled)


@pytest.mark.parametrize("far", [-999.0, -1234.0])
def test_a_number_for_gaps_does_not_ruin_a_column(far):
    column = np.where(np.arange(N) % 20 == 0, far, X)
    model = TableModel("y", hidden=300).learn(pa.table({"x": column, "z": Z, "y": Y}))
    rest = np.arange(N) % 20 != 0
    error = (model.predict(pa.table({"x": column, "z": Z})) - Y)[rest]
    assert 1 - np.mean(error**2) / Y.var() > 0.98


@pytest.mark.parametrize(
    "column",
    [
        RNG.lognormal(0, 2.5, N),
        RNG.normal(size=N),
        np.where(RNG.random(N) < 0.95, 0, RNG.uniform(0, 1000, N)),
        np.arange(N) % 2 * 1000.0,
    ],
)
def test_usual_columns_stay_as_they_are(column):
    assert fitted(column).schema.columns[1].limits == []


def test_free_text_becomes_words(tmp_path):
    good, bad = ["superb", "great", "moving"], ["dull", "awful", "boring"]
    filler = ["the", "film", "was", "with", "plot", "actors", "and", "story", "in", "its"]
    y = RNG.integers(0, 2, N).astype(bool)
    texts = [
        f"{' '.join(RNG.choice(filler, 5))} {RNG.choice(good if v else bad)} "
        f"{' '.join(RNG.choice(filler, 3))} {i}"
        for i, v in enumerate(y)
    ]
    rows = pa.table({"text": texts, "y": y})
    model = TableModel("y", hidden=200).learn(rows.slice(0, 300)).settle()
    assert kinds(model) == ["free text"]
    assert len(model.schema.inputs) == 128
    assert (model.predict(rows.slice(300)) == y[300:]).mean() > 0.9
    greville.save(model, tmp_path / "m")
    again = greville.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert again.schema.columns == model.schema.columns


def test_words_have_the_same_inputs_in_every_process():
    """Of Python's own hash, they would not."""
    from greville.tables._values import Values
    from greville.tables.kinds import Words

    out = np.zeros((2, 128))
    Words("t", 128).fill(Values(pa.array(["Hello, hello world", None])), out)
    assert np.flatnonzero(out[0]).tolist() == sorted(
        [(0x3610A686 >> 1) % 128, (0x3A771143 >> 1) % 128]
    )
    assert np.linalg.norm(out, axis=1).tolist() == pytest.approx([1, 0])


@pytest.mark.parametrize("text", ["Person {}", "{0:08x}-{0:x}-{0:x}-{0:x}", "user{}@example.org"])
def test_names_are_left_out(text):
    model = fitted([text.format(i * 7919) for i in range(N)])
    assert model.schema.inputs == ["x"]
    assert kinds(model) == ["unique text"]
