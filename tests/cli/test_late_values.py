"""Values of text columns in files that are sorted by them, and values that were never learned."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import greville
from greville.cli import _training
from greville.tables.readers.source import Source

from ..houses import csv_bytes
from ..runner import run

pytestmark = pytest.mark.usefixtures("here")


def part(value, n=900, seed=0):
    rng = np.random.default_rng([seed, value])
    x, z = rng.normal(size=(2, n))
    y = 4 * (-1) ** value * value + x + np.sin(2 * z) + 0.05 * rng.normal(size=n)
    return pa.table({"x": x, "z": z, "fruit": [f"kind {value}"] * n, "y": y})


def r2_of(model, *more):
    return json.loads(run("score", model, "test.csv", "--json", "-q")[0])["r2"]


@pytest.mark.full
@pytest.mark.parametrize("kind", ["folder", pytest.param("parquet", marks=pytest.mark.full)])
def test_a_file_for_each_value_is_as_good_as_shuffled_rows(kind):
    parts = [part(value) for value in range(6)]
    table = pa.concat_tables(parts)
    order = np.random.default_rng(0).permutation(len(table))
    Path("shuffled.csv").write_bytes(csv_bytes(table.take(order)))
    Path("test.csv").write_bytes(csv_bytes(pa.concat_tables(part(i, 100, 1) for i in range(6))))
    Path("folder").mkdir()
    for i, each in enumerate(parts):
        Path(f"folder/{i}.csv").write_bytes(csv_bytes(each))
    if kind == "parquet":
        parquet.write_table(table, "parquet", row_group_size=900)
    options = ["-t", "y", "--hidden", "150", "-q"]
    source = ["folder"] if kind == "folder" else ["parquet", "--format", "parquet"]
    run("train", *source, *options, "-o", "sorted.greville")
    run("train", "shuffled.csv", *options, "-o", "shuffled.greville")
    want, got = r2_of("shuffled.greville"), r2_of("sorted.greville")
    assert min(want, got) > 0.99
    assert abs(want - got) < 0.005


def test_a_pipe_that_is_sorted_goes_on_to_the_bit(monkeypatch):
    """Late values are learned from their first row on, over checkpoints and restarts."""
    monkeypatch.setattr("greville.tables.model.FIRST_ROWS", 200)
    monkeypatch.setattr(_training, "_ROWS_PER_UPDATE", 250)
    monkeypatch.setattr(Source, "can_be_read_again", False)  # as a pipe
    table = pa.concat_tables(part(value, 300) for value in range(4))
    Path("rows.csv").write_bytes(csv_bytes(table))
    Path("test.csv").write_bytes(csv_bytes(pa.concat_tables(part(i, 100, 1) for i in range(4))))
    options = ["train", "rows.csv", "-t", "y", "--hidden", "60", "-q"]
    run(*options, "-o", "one")
    assert r2_of("one") > 0.97
    real, saved = _training.Training.save_checkpoint, []

    def stops(self):
        real(self)
        saved.append(self.rows)
        if len(saved) < 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(_training.Training, "save_checkpoint", stops)
    options += ["-o", "two", "--checkpoint", "point", "--every", "250"]
    for _ in range(3):
        run(*options, code=130)
    run(*options)
    assert saved[:3] == [250, 500, 750]
    assert Path("one").read_bytes() == Path("two").read_bytes()
    (fruit,) = (c for c in greville.load("two").schema.columns if c.name == "fruit")
    assert fruit.late == ["kind 1", "kind 2", "kind 3"]
