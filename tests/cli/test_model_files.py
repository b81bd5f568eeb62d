"""How the commands use model files: each is read once, and checkpoints change nothing."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import greville
from greville.persistence import container
from greville.tables import RowErrors, Stream, TableModel

from ..runner import refused, run

pytestmark = pytest.mark.usefixtures("here")


def write_rows(path, n, every=1):
    """Rows of which one in so many has a target."""
    x = np.random.default_rng(0).normal(size=(n, 2))
    targets = [f"{a + b * b}" if i % every == 0 else "" for i, (a, b) in enumerate(x)]
    rows = [f"{a},{b},{y}" for (a, b), y in zip(x, targets, strict=True)]
    path.write_text("\n".join(["a,b,y", *rows]))


def test_every_file_is_read_once(here, monkeypatch):
    write_rows(here / "rows.csv", 50)
    run("train", "rows.csv", "--target", "y", "-o", "one")
    run("train", "rows.csv", "--like", "one", "-o", "two")
    reads, real = Counter(), container.read

    def counted(path):
        reads[path] += 1
        return real(path)

    monkeypatch.setattr(container, "read", counted)
    for command in (
        ("info", "one"),
        ("predict", "one", "rows.csv"),
        ("score", "one", "rows.csv"),
        ("train", "rows.csv", "--resume", "one", "-o", "three"),
        ("train", "rows.csv", "--like", "one", "-o", "three"),
        ("merge", "one", "two", "-o", "three"),
        ("unlearn", "one", "rows.csv", "-o", "three"),
    ):
        run(*command)
        assert set(reads.values()) == {1}, command
        reads.clear()
    run("stream", "--target", "y", "--model", "one", stdin='{"a": 1, "b": 2}\n')
    assert reads == {"one": 1}


@pytest.mark.full
def test_checkpoints_change_no_bit_of_the_model(here):
    """Also where chunks of rows have so few targets that these wait to be learned together."""
    write_rows(here / "rows.csv", 70_000, every=300)
    run("train", "rows.csv", "--target", "y", "-o", "one")
    run("train", "rows.csv", "--target", "y", "-o", "two", "--checkpoint", "c", "--every", "1")
    one, two = (greville.load(name).estimator for name in ("one", "two"))
    assert one.n_samples_seen_ == two.n_samples_seen_ > 200
    assert np.array_equal(one.solver_.coef_, two.solver_.coef_)


def test_files_that_are_more_than_a_model_are_not_replaced(here):
    """A plain model in the place of a checkpoint would be the end of its stream."""
    lines = '{"x": 1, "y": 2}\n{"x": 2, "y": 4.5}\n{"x": 3, "y": 6}\n'
    Path("rows.jsonl").write_text(lines)
    stream = Stream(TableModel("y"))
    stream.answer([json.loads(line) for line in lines.splitlines()], 1, RowErrors())
    greville.save(stream, "c.greville")
    before = Path("c.greville").read_bytes()
    for command in (
        ("unlearn", "c.greville", "rows.jsonl"),
        ("train", "rows.jsonl", "--resume", "c.greville"),
    ):
        said = refused(*command)
        assert "checkpoint of a stream" in said
        assert "-o" in said
    assert Path("c.greville").read_bytes() == before
    run("unlearn", "c.greville", "rows.jsonl", "-o", "none.greville")
    said = refused("predict", "none.greville", "rows.jsonl", "-o", "out.csv")
    assert "has learned no rows" in said
    assert not Path("out.csv").exists()


@pytest.mark.full
def test_columns_that_change_with_more_rows_are_said(here):
    for name, n in (("one.csv", 600), ("two.csv", 200)):
        rows = [f"{i},{i % 7},{3.5 * (i % 7) + 0.01 * i}" for i in range(1, n + 1)]
        Path(name).write_text("\n".join(["order id,days,total", *rows]) + "\n")
    run("train", "one.csv", "--target", "total")
    _, said = run("train", "two.csv", "--resume", "model.greville")
    assert "Column 'order id' was: not used" in said
    assert "With the new rows it is: number." in said
