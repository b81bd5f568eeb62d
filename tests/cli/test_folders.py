"""Folders of tables, whose names may say more about the rows."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import greville
from greville.tables import Reading, RowErrors, TableError, find_sources, read

from ..runner import run

EFFECT = {"fog": 3.0, "sun shine": -2.0, None: 0.0}


def write_folders(format, n=120):
    """A folder for each weather, on which the target depends."""
    rng = np.random.default_rng(0)
    for weather, effect in EFFECT.items():
        name = "__HIVE_DEFAULT_PARTITION__" if weather is None else weather.replace(" ", "%20")
        folder = Path("data") / f"weather={name}" / "year=2024"
        folder.mkdir(parents=True)
        x = rng.normal(size=n)
        table = pa.table({"x": x, "y": x + effect})
        if format == "parquet":
            parquet.write_table(table, folder / "part.parquet")
        else:
            lines = [json.dumps(row) for row in table.to_pylist()]
            rows = [f"{row['x']},{row['y']}" for row in table.to_pylist()]
            text = "\n".join(lines if format == "jsonl" else ["x,y", *rows])
            (folder / f"part.{format}").write_text(text)


def batches_of(name, columns=None):
    return list(read(find_sources([name]), Reading(), RowErrors(), columns))


@pytest.mark.full
@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_names_of_folders_are_columns(here, format):
    write_folders(format)
    run("train", "data", "--target", "y", "-q")
    model = greville.load("model.greville")
    columns = {column.name: column for column in model.schema.columns}
    assert columns["weather"].kind == "text"
    score = json.loads(run("score", "model.greville", "data", "--json", "-q")[0])
    assert score["r2"] > 0.99
    run("predict", "model.greville", "data", "-o", "out.jsonl", "-q")
    found = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert {row["weather"] for row in found} == set(EFFECT)
    assert max(abs(row["prediction"] - float(row["y"])) for row in found) < 0.5
    some = f"data/weather=fog/year=2024/part.{format}"
    for name in (some, "data/weather=fog", "data/weather=f*/*/*"):
        for batch in batches_of(name):
            assert set(batch.table.column("weather").to_pylist()) == {"fog"}
    message = {f.column: f.message for f in batch.findings}["weather"]
    assert message.startswith("column 'weather' is from the names of folders, such as weather=...")


def test_only_the_columns_that_are_needed(here):
    write_folders("parquet")
    for columns in (["y", "weather"], ["weather"], ["x"]):
        for batch in batches_of("data", columns):
            assert batch.table.schema.names == columns
            assert len(batch) == 120


def test_a_column_that_is_in_the_file_too(here):
    Path("data/kind=1").mkdir(parents=True)
    Path("data/kind=1/a.csv").write_text("kind,y\n1,2\n2,3\n")
    (batch,) = batches_of("data")
    assert batch.table.to_pydict() == {"kind": ["1", "2"], "y": ["2", "3"]}


def test_what_else_is_in_a_folder(here):
    Path("data/.hidden").mkdir(parents=True)
    Path("data/a.csv").write_text("x,y\n1,2\n")
    Path("data/.hidden/a-copy.csv").write_text("x,y\n1,2\n")
    Path("data/notes.md").write_text("")
    parquet.write_table(pa.table({"x": ["1"], "y": ["2"]}), "data/a.parquet")
    batches = batches_of("data")
    assert [batch.source for batch in batches] == ["data/a.csv", "data/a.parquet"]
    found = {f.kind: f for f in batches[0].findings}
    assert "'notes.md' in it: the names are not those of tables" in found["files left out"].message
    assert "'a.csv' and 'a.parquet' may hold the same rows" in found["files twice"].message
    assert found["files twice"].warning
    Path("empty").mkdir()
    with pytest.raises(TableError, match="a folder without any table in it"):
        find_sources(["empty"])
