"""How the commands use model files: each is read once, and checkpoints change nothing."""

from collections import Counter

import numpy as np
import pytest

import greville
from greville.persistence import api

from ..runner import run

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
    reads, real = Counter(), api.opened

    def counted(path):
        reads[path] += 1
        return real(path)

    monkeypatch.setattr(api, "opened", counted)
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


def test_checkpoints_change_no_bit_of_the_model(here):
    """Also where chunks of rows have so few targets that these wait to be learned together."""
    write_rows(here / "rows.csv", 70_000, every=300)
    run("train", "rows.csv", "--target", "y", "-o", "one")
    run("train", "rows.csv", "--target", "y", "-o", "two", "--checkpoint", "c", "--every", "1")
    one, two = (greville.load(name).estimator for name in ("one", "two"))
    assert one.n_samples_seen_ == two.n_samples_seen_ > 200
    assert np.array_equal(one.solver_.coef_, two.solver_.coef_)
