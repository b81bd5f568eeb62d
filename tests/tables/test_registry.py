"""A format of one file and one registration works in the library and in every command."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import greville
from greville.tables import Reading, RowErrors, TableError, TableModel, find_sources, read, register
from greville.tables.readers import formats

from .. import children
from ..houses import rows_of
from ..runner import refused, run
from .pairs import PAIRS


@pytest.fixture(autouse=True)
def _pairs(here):
    register(PAIRS)
    yield
    formats.unregister("pairs")


def write_pairs(name, n=80, seed=0):
    rng = np.random.default_rng(seed)
    lines = []
    for x, kind in zip(rng.normal(size=n), rng.choice(["a", "b"], n), strict=True):
        lines.append(f"x={x:.4f} kind={kind} y={2 * x + (kind == 'a'):.4f}")
    Path(name).write_text("\n".join(lines) + "\n")
    return name


def columns_of(name):
    (batch,) = rows_of(name)
    return batch.table.to_pydict()


def test_commands_train_predict_and_score():
    write_pairs("train.pairs", 300)
    write_pairs("test.pairs", seed=1)
    run("train", "train.pairs", "--target", "y", "-o", "m.greville", "-q")
    run("predict", "m.greville", "test.pairs", "-o", "out.pairs", "-q")
    found = columns_of("out.pairs")
    assert list(found) == ["x", "kind", "y", "prediction"]
    y, predicted = (np.array(found[name], float) for name in ("y", "prediction"))
    assert np.sqrt(np.mean((y - predicted) ** 2)) < 0.1 * y.std()
    model = greville.load("m.greville")
    assert [column.kind for column in model.schema.columns] == ["number", "text"]
    np.testing.assert_allclose(model.predict(rows_of("test.pairs")), predicted, rtol=1e-12)
    summary = json.loads(run("score", "m.greville", "test.pairs", "--json", "-q")[0])
    assert summary["rows"] == 80


def test_the_same_rows_of_another_format_make_the_same_model():
    write_pairs("rows.pairs")
    table = pa.table(columns_of("rows.pairs"))
    run("train", "rows.pairs", "--target", "y", "-q")
    want = TableModel("y").learn(table).choose()
    np.testing.assert_array_equal(
        greville.load("model.greville").predict(table), want.predict(table)
    )


def test_a_name_that_says_nothing_and_compressed_output():
    Path(write_pairs("rows.pairs")).rename("rows.txt")
    run("train", "rows.txt", "--target", "y", "--format", "pairs", "-q")
    run("predict", "model.greville", "rows.txt", "--format", "pairs", "-o", "out.pairs.gz", "-q")
    assert Path("out.pairs.gz").read_bytes().startswith(b"\x1f\x8b")
    assert len(columns_of("out.pairs.gz")["prediction"]) == 80
    batches = list(read(find_sources(["rows.txt"]), Reading(format="pairs"), RowErrors()))
    assert batches[0].table.schema.names == ["x", "kind", "y"]


def test_folders_messages_and_wrong_rows():
    Path("folder").mkdir()
    write_pairs("folder/one.pairs")
    Path("folder/two.pairs").write_text("x=1 kind=a y=2\nnothing\nx=2 kind=b y=4\n")
    said = refused("train", "folder", "--target", "y", "-q")
    assert said == (
        "folder/two.pairs, row 2: it has no name=value; fix it, or pass --on-error skip to go on "
        "without such rows."
    )
    out = run("train", "folder", "--target", "y", "--on-error", "skip", "--json", "-q")[0]
    assert (json.loads(out)["rows"], json.loads(out)["rows_skipped"]) == (82, 1)
    said = refused("predict", "model.greville", "folder/one.pairs", "-o", "out.npy", "-q")
    assert ".arrow or .pairs" in said


def test_a_format_that_cannot_be_written():
    register(formats.TableFormat("pairs", (".pairs",), PAIRS.read, text=True))
    write_pairs("rows.pairs")
    run("train", "rows.pairs", "--target", "y", "-q")
    said = refused("predict", "model.greville", "rows.pairs", "-o", "out.pairs", "-q")
    assert "its name does not say in which format to write" in said


def test_formats_that_are_not_there():
    write_pairs("rows.pairs")
    with pytest.raises(TableError, match=r"^format='fish': choose one of csv, .*, pairs\.$"):
        list(read(find_sources(["rows.pairs"]), Reading(format="fish"), RowErrors()))
    formats.unregister("pairs")
    try:
        assert run("train", "rows.pairs", "-t", "y", "--format", "pairs", code=2)[0] == ""
    finally:
        register(PAIRS)


def test_the_formats_are_there_without_arrow():
    code = "import sys; from greville.tables.readers.formats import formats; assert formats(); "
    code += "assert not {'pyarrow', 'duckdb', 'numpy', 'sklearn'} & set(sys.modules)"
    children.run([sys.executable, "-c", code], stderr=subprocess.PIPE)
