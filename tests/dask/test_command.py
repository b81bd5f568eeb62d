"""``train --workers`` and ``--scheduler``: the models of one process."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import greville

from .. import children
from ..houses import houses
from ..runner import refused, run


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def there(cluster):
    return ("--scheduler", cluster.scheduler_address, "-q")


def many_houses(n=9000):
    """More rows than the schema is from, and a city that comes late."""
    table = houses(n)
    cities = table["city"].to_pylist()
    cities[-20:] = ["Hof"] * 20
    return table.set_column(2, "city", pa.array(cities))


def write(table, name):
    if name.endswith(".csv"):
        csv.write_csv(table, name)
    else:
        parquet.write_table(table, name, row_group_size=700)


def assert_same_models(one, other, table):
    one, other = (greville.load(name) for name in (one, other))
    assert one.n_rows == other.n_rows
    assert one.classes == other.classes
    assert one.schema.columns == other.schema.columns
    assert one.estimator.epsilon_ == other.estimator.epsilon_
    first, second = one.predict(table), other.predict(table)
    if one.classes:
        assert list(first) == list(second)
    else:
        scale = np.abs(first).max()
        np.testing.assert_allclose(first, second, rtol=1e-10, atol=1e-10 * scale)


OF_PROBABILITIES = ("log_loss", "brier", "calibration_error")


@pytest.mark.parametrize(("file", "target"), [("t.parquet", "city"), ("t.csv", "price")])
def test_models_are_those_of_one_process(there, file, target, monkeypatch):
    monkeypatch.setattr("greville.dask.tables._LEAST_PART", 1 << 14)  # many parts
    table = many_houses()
    write(table, file)
    options = ("--target", target, "--hidden", "60")
    one = run("train", file, *options, "-o", "one.greville", "--json", "-q")[0]
    found = json.loads(run("train", file, *options, "-o", "two.greville", "--json", *there)[0])
    assert found["workers"] == 2
    assert found["rows"] == 9000
    assert found["score"]["how"] == "leave-one-out"
    for name, value in json.loads(one)["score"].items():
        # How sharp probabilities are comes from other rows; what is predicted does not.
        rel = 0.1 if name in OF_PROBABILITIES else 1e-6
        same = pytest.approx(value, rel=rel) if isinstance(value, float) else value
        assert found["score"][name] == same
    assert_same_models("one.greville", "two.greville", table)
    run("train", file, "--resume", "one.greville", "-q")
    run("train", file, "--resume", "two.greville", *there)
    assert_same_models("one.greville", "two.greville", table)


def test_few_rows_and_rows_that_are_held_out(there):
    write(houses(300), "few.csv")
    run("train", "few.csv", "--target", "price", "-o", "one.greville", "-q")
    run("train", "few.csv", "--target", "price", "-o", "two.greville", *there)
    assert_same_models("one.greville", "two.greville", houses(300))
    write(many_houses(5000), "t.parquet")
    options = ("train", "t.parquet", "--target", "price", "--test", "0.2", "--hidden", "50")
    one = json.loads(run(*options, "--json", "-o", "one.greville", "-q")[0])
    two = json.loads(run(*options, "--json", "-o", "two.greville", *there)[0])
    assert one["rows"] == two["rows"] < 5000
    assert one["score"]["how"] == two["score"]["how"] == "held out"
    assert one["score"]["rows"] == two["score"]["rows"]
    assert one["score"]["rmse"] == pytest.approx(two["score"]["rmse"], rel=1e-9)


def test_classes_and_addresses(there):
    """Input by fsspec; a folder of this machine, which all workers see."""
    folder = Path("data").resolve()
    folder.mkdir()
    write(houses(2000), str(folder / "a.parquet"))
    write(houses(2000, seed=1), str(folder / "b.parquet"))
    run("train", f"file://{folder}/*.parquet", "--target", "city", "--hidden", "40", *there)
    run("train", "data", "--target", "city", "--hidden", "40", "-o", "one.greville", "-q")
    assert_same_models("one.greville", "model.greville", houses(500))


def test_what_is_refused(there, cluster):
    write(houses(300), "t.csv")
    run("train", "t.csv", "--target", "price", "-q")
    said = refused("train", "t.csv", "--target", "price", "--workers", 2, *there)
    assert said == "--workers and --scheduler: pass one of them."
    said = refused("train", "-", "--target", "price", *there, stdin="a,price\n1,2\n")
    assert "a pipe cannot be read twice" in said
    said = refused("train", "t.csv", "--target", "price", "--checkpoint", "c", *there)
    assert said.startswith("--checkpoint: ")
    said = refused("train", "t.csv", "--target", "price", "--solver", "dynamic", *there)
    assert "only those with the solver opium or greville can" in said
    Path("bad.csv").write_text("a,price\n" + "1,2\n" * 500 + "x,3\n" + "1,2\n" * 500)
    said = refused("train", "bad.csv", "--target", "price", "-o", "bad.greville", *there)
    assert said.startswith("bad.csv, line 502: ")
    assert "--on-error skip" in said
    assert not Path("bad.greville").exists()
    assert list(Path().glob(".*")) == []


def test_a_scheduler_that_does_not_answer(monkeypatch, client):
    monkeypatch.setattr("greville.cli._cluster._PATIENCE", 2)
    write(houses(300), "t.csv")
    options = ("train", "t.csv", "--target", "price", "-q", "--scheduler")
    for address in ("tcp://127.0.0.1:9", "banana", "http://127.0.0.1:9"):
        said = refused(*options, address)
        assert "is a Dask scheduler running there, whose workers have greville" in said
    worker = next(iter(client.scheduler_info(n_workers=-1)["workers"]))
    assert "is a Dask scheduler running there" in refused(*options, worker)


def test_scores_that_only_one_process_can_tell(there):
    write(houses(300), "t.csv")
    options = ("--target", "price", "--solver", "greville", "--hidden", "50", "--json")
    found = json.loads(run("train", "t.csv", *options, *there)[0])
    assert found["score"] is None


def test_columns_that_only_later_files_have(there):
    write(houses(300), "a.csv")
    write(houses(300, seed=1).append_column("view", pa.array(["sea"] * 300)), "b.csv")
    options = ("train", "a.csv", "b.csv", "--target", "price", "--hidden", "30", "--json")
    one, two = (json.loads(run(*options, *more)[0]) for more in (("-q",), there))
    kinds = [[each["kind"] for each in found["findings"]] for found in (one, two)]
    assert kinds[0] == kinds[1]
    assert "new columns" in kinds[0]


def _workers_of(pid):
    return [
        p for p in psutil.Process(pid).children(recursive=True) if "spawn" in " ".join(p.cmdline())
    ]


@pytest.mark.posix("signals to a group of processes")
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cluster_that_was_started_ends_with_the_command(number):
    """Ctrl-C, as a terminal sends it to all processes, and SIGTERM to the command alone."""
    parquet.write_table(many_houses(100_000), "t.parquet", row_group_size=3000)
    command = [*children.GREVILLE, "train", "t.parquet", "--target", "price", "--workers", "2"]
    with children.started(
        [*command, "--hidden", "900"],
        stderr=children.subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        started, workers = time.monotonic(), []
        while len(workers) < 2 and time.monotonic() < started + 60:
            time.sleep(0.2)
            workers = _workers_of(process.pid)
        time.sleep(1)
        assert process.poll() is None
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else 143), said
    assert "Traceback" not in said
    assert len(workers) >= 2
    psutil.wait_procs(workers, timeout=20)
    assert not [p for p in workers if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    assert not Path("model.greville").exists()
