"""Commands that train, predict and score, from files to files."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import greville
from greville.tables import TableModel
from greville.tables.readers.source import Source

from ..houses import houses, table_of, write
from ..runner import refused, run

pytestmark = pytest.mark.usefixtures("here")


def test_from_a_csv_to_predictions(here):
    table = houses(600)
    write(table.slice(0, 400), "train.csv")
    write(table.slice(400), "test.csv")
    _, said = run("train", "train.csv", "--target", "price")
    assert re.search(r"Learned 'price', a number, from 5 columns and 400 rows", said)
    out, said = run("predict", "model.greville", "test.csv", "-o", "out.csv", "--std")
    assert out == ""
    assert "200 rows with a prediction: see out.csv" in said
    found = table_of("out.csv")
    assert found.column_names == [*table.column_names, "prediction", "std"]
    want = TableModel("price").learn(table.slice(0, 400)).predict(table.slice(400))
    np.testing.assert_allclose(found["prediction"], want, rtol=1e-9)
    np.testing.assert_allclose(found["area"].to_numpy(), table["area"].slice(400).to_numpy())
    summary = json.loads(run("score", "model.greville", "test.csv", "--json")[0])
    error = found["prediction"].to_numpy() - found["price"].to_numpy()
    assert summary["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert summary["r2"] > 0.8


@pytest.mark.full
def test_prequential_scores_learn_and_keep_the_file(here):
    table = houses(500)
    write(table.slice(0, 50), "first.csv")
    write(table.slice(50), "rest.csv")
    run("train", "first.csv", "--target", "price", "-q")
    before = Path("model.greville").read_bytes()
    plain = json.loads(run("score", "model.greville", "rest.csv", "--json")[0])
    live = json.loads(run("score", "model.greville", "rest.csv", "--json", "--prequential")[0])
    assert live["rmse"] < 0.95 * plain["rmse"]
    assert live["rows"] == 450
    assert Path("model.greville").read_bytes() == before


@pytest.mark.parametrize("cut", [3, pytest.param(100, marks=pytest.mark.full), 577])
def test_resuming_is_one_run(here, monkeypatch, cut):
    """Of pipes; files are looked at as a whole, so that a run with more of them sees more."""
    monkeypatch.setattr("greville.tables.model.FIRST_ROWS", 128)
    monkeypatch.setattr(Source, "can_be_read_again", False)
    table = houses(600)
    for name, part in (
        ("a.csv", table.slice(0, cut)),
        ("b.parquet", table.slice(cut)),
        ("all.csv", table),
    ):
        write(part, name)
    run("train", "all.csv", "--target", "price", "-o", "one.greville", "-q", "--task", "regression")
    run("train", "a.csv", "--target", "price", "-o", "two.greville", "-q", "--task", "regression")
    run("train", "b.parquet", "--resume", "two.greville", "-q")
    one, two = greville.load("one.greville"), greville.load("two.greville")
    assert one.schema.columns == two.schema.columns
    assert one.n_rows == two.n_rows == 600
    np.testing.assert_allclose(two.predict(table), one.predict(table), rtol=1e-8)


def test_merge_and_unlearn(here, monkeypatch):
    monkeypatch.setattr("greville.tables.model.FIRST_ROWS", 400)
    table = houses(900)
    write(table.slice(0, 500), "a.csv")
    write(table.slice(500), "b.csv")
    write(table, "all.csv")
    run("train", "a.csv", "-t", "price", "-o", "a.greville", "-q", "--epsilon", "0.1")
    run("train", "b.csv", "--like", "a.greville", "-o", "b.greville", "-q")
    run("train", "all.csv", "--like", "a.greville", "-o", "all.greville", "-q")
    said = run("merge", "a.greville", "b.greville", "-o", "both.greville")[1]
    assert "has learned 900 rows" in said
    want, got = greville.load("all.greville"), greville.load("both.greville")
    np.testing.assert_allclose(got.predict(table), want.predict(table), rtol=1e-7)
    summary = json.loads(run("unlearn", "both.greville", "b.csv", "--json", "-q")[0])
    assert (summary["removed"], summary["rows"]) == (400, 500)
    first = greville.load("a.greville")
    got = greville.load("both.greville")
    np.testing.assert_allclose(got.predict(table), first.predict(table), rtol=1e-6)
    before = Path("both.greville").read_bytes()
    message = refused("unlearn", "both.greville", "b.csv", "-q")
    assert "b.csv, line 2" in message
    assert Path("both.greville").read_bytes() == before
    run("train", "b.csv", "-t", "price", "-o", "other.greville", "-q", "--hidden", "7")
    assert "cannot be merged" in refused(
        "merge", "a.greville", "other.greville", "-o", "x.greville"
    )


# Output


def test_columns_come_out_as_they_were(here):
    """Types that change between files, quotes, times and nothings."""
    run("train", write(houses(60)), "-t", "price", "-q", "--features", "area,rooms")
    Path("a.jsonl").write_text('{"area": 50, "rooms": 3, "k": 1, "t": "2024-01-01"}\n')
    Path("b.jsonl").write_text('{"area": 60.5, "rooms": 2, "k": 2.75, "t": "x, y"}\n')
    run("predict", "model.greville", "a.jsonl", "b.jsonl", "-o", "o.csv", "-q")
    lines = Path("o.csv").read_text().splitlines()
    assert lines[1].startswith("50,3,1,2024-01-01,")
    assert lines[2].startswith('60.5,2,2.75,"x, y",')
    Path("c.jsonl").write_text('{"area": 60.5, "rooms": 2, "more": null, "extra": 1}\n')
    message = refused("predict", "model.greville", "a.jsonl", "c.jsonl", "-o", "p.csv", "-q")
    assert "column 'extra' is not in the first rows; write .jsonl" in message
    assert not Path("p.csv").exists()
    run("predict", "model.greville", "a.jsonl", "c.jsonl", "-o", "p.jsonl", "-q")
    assert json.loads(Path("p.jsonl").read_text().splitlines()[1])["extra"] == 1
    Path("q.csv").write_text('area,rooms,t\n50,3,"a\nb"\nNA,2,NA\n')
    run("predict", "model.greville", "q.csv", "-o", "r.csv", "-q")
    text = Path("r.csv").read_bytes().decode()
    assert '50,3,"a\nb",' in text
    assert "\nNA,2,NA," in text


def test_the_data_are_not_overwritten(here):
    write(houses(50))
    run("train", "houses.csv", "-t", "price", "-q")
    before = Path("houses.csv").read_bytes()
    for command in (
        ["train", "houses.csv", "-t", "price", "-o", "houses.csv"],
        ["predict", "model.greville", "houses.csv", "-o", "./houses.csv"],
        ["forecast", "houses.csv", "-c", "price", "-o", "houses.csv"],
    ):
        assert "it is one of the files to read" in refused(*command, "-q")
    assert Path("houses.csv").read_bytes() == before
