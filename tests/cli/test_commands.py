"""The commands for people's own data, from outside."""

import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import greville
from greville.cli import _train
from greville.cli._app import app
from greville.tables import Stream, TableModel, _model

from .. import children
from ..children import GREVILLE, LIMIT
from ..runner import invoke
from ..tables.test_tables import as_rows, csv_bytes, houses, jsonl


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, code=0, stdin=None):
    """stdout of a command that ends with this code, and its stderr."""
    done = invoke(arguments, stdin)
    if done.exit_code != code:
        raise AssertionError(f"{arguments} ended with {done.exit_code}: {done.output}") from (
            done.exception
        )
    assert "Traceback" not in done.output
    return done.stdout, done.stderr


def refused(*arguments, **options):
    """The sentence with which a command says that something is for the user to mend."""
    out, err = run(*arguments, code=2, **options)
    assert out == ""
    assert "\n" not in err.strip()
    return err.strip()


def write(table, name="houses.csv"):
    if name.endswith(".parquet"):
        parquet.write_table(table, name)
    else:
        Path(name).write_bytes(jsonl(table) if "json" in name else csv_bytes(table))
    return name


def table_of(name):
    return csv.read_csv(name)


# train, predict, score, info


def test_from_a_csv_to_predictions(here):
    table = houses(600)
    write(table.slice(0, 400), "train.csv")
    write(table.slice(400), "test.csv")
    _, said = run("train", "train.csv", "--target", "price")
    assert re.search(r"Learned 'price', a number, from 5 columns and 400 rows", said)
    out, said = run("predict", "model.greville", "test.csv", "-o", "out.csv", "--std")
    assert out == ""
    assert "200 rows with predictions: see out.csv" in said
    found = table_of("out.csv")
    assert found.column_names == [*table.column_names, "prediction", "std"]
    model = greville.load("model.greville")
    want = TableModel("price").learn(table.slice(0, 400)).predict(table.slice(400))
    np.testing.assert_allclose(found["prediction"], want, rtol=1e-9)
    np.testing.assert_allclose(found["area"].to_numpy(), table["area"].slice(400).to_numpy())
    summary = json.loads(run("score", "model.greville", "test.csv", "--json")[0])
    error = found["prediction"].to_numpy() - found["price"].to_numpy()
    assert summary["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert summary["r2"] > 0.8
    shown = run("info", "model.greville")[0]
    for text in ("price", "regression", "400", "where it is missing", "Bonn, Kiel, Ulm", "date"):
        assert text in shown
    about = json.loads(run("info", "model.greville", "--json")[0])
    assert about["rows"] == model.n_rows == 400
    assert [column["kind"] for column in about["columns"]] == [
        "number", "number", "text", "time", "flag",
    ]  # fmt: skip


def test_classes(here):
    table = houses(500)
    labels = ["dear" if p > 120_000 else "fair" for p in table["price"].to_pylist()]
    table = table.set_column(5, "price", pa.array(labels))
    write(table)
    summary = json.loads(run("train", "houses.csv", "-t", "price", "--json", "-q")[0])
    assert summary["task"] == "classification"
    run("predict", "model.greville", "houses.csv", "-o", "out.parquet", "--proba")
    found = parquet.read_table("out.parquet")
    sums = found["p(dear)"].to_numpy() + found["p(fair)"].to_numpy()
    np.testing.assert_allclose(sums, 1)
    summary = json.loads(run("score", "model.greville", "houses.csv", "--json")[0])
    agree = np.mean(np.array(found["prediction"].to_pylist()) == np.array(labels))
    assert summary["accuracy"] == pytest.approx(agree)
    assert summary["accuracy"] > 0.9
    assert summary["roc_auc"] > 0.95
    shown = run("score", "model.greville", "houses.csv")[0]
    assert "balanced accuracy" in shown
    assert "most often taken for" in shown
    assert "--std: the model predicts classes" in refused(
        "predict", "model.greville", "houses.csv", "--std"
    )


@pytest.mark.parametrize("more", [[], ["--prequential"]])
@pytest.mark.parametrize("target", ["price", "city"])
def test_pictures_of_scores(here, target, more):
    write(houses(400))
    run("train", "houses.csv", "--target", target, "-q")
    for name in ("score.png", "score.svg"):
        run("score", "model.greville", "houses.csv", "--plot", name, "-q", *more)
        assert Path(name).stat().st_size > 5_000
    assert ".png, .svg or .pdf" in refused(
        "score", "model.greville", "houses.csv", "--plot", "x.gif", "-q"
    )
    assert not Path("x.gif").exists()


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


@pytest.mark.parametrize("cut", [3, 100, 577])
def test_resuming_is_one_run(here, monkeypatch, cut):
    monkeypatch.setattr(_model, "FIRST", 128)
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
    assert one.columns == two.columns
    assert one.n_rows == two.n_rows == 600
    np.testing.assert_allclose(two.predict(table), one.predict(table), rtol=1e-8)


def test_pipes_in_and_out(here):
    write(houses(200))
    content = Path("houses.csv").read_bytes()

    def piped(*arguments, stdin):
        return children.run([*GREVILLE, *arguments], input=stdin, capture_output=True)

    piped("train", "-", "--target", "price", "-q", stdin=content)
    out = piped("predict", "model.greville", "-", "-q", stdin=content).stdout.decode()
    assert out.splitlines()[0] == "area,rooms,city,built,garden,price,prediction"
    assert len(out.splitlines()) == 201
    lines = jsonl(houses(5))
    piped("predict", "model.greville", "-", "-o", "out.jsonl", stdin=lines)
    assert len([json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]) == 5


def test_nobody_reads_the_predictions(here):
    write(houses(30_000))
    run("train", "houses.csv", "--target", "price", "-q", "--hidden", "10")
    command = " ".join(GREVILLE) + " predict model.greville houses.csv | head -1"
    done = children.run(command, shell=True, capture_output=True, text=True)
    assert done.stderr == ""


def test_output_with_commas_and_quotes(here):
    Path("x.csv").write_text("name,x,y\n" + '"a, b",1,2\n"say ""so""",2,4\nplain,3,6\n' * 20)
    run("train", "x.csv", "--target", "y", "--task", "regression", "-q")
    run("predict", "model.greville", "x.csv", "-o", "out.csv", "-q")
    assert table_of("out.csv")["name"].to_pylist()[:3] == ["a, b", 'say "so"', "plain"]


def test_merge_and_unlearn(here):
    table = houses(9_000)
    write(table.slice(0, 5000), "a.csv")
    write(table.slice(5000), "b.csv")
    write(table, "all.csv")
    run("train", "a.csv", "-t", "price", "-o", "a.greville", "-q", "--epsilon", "0.1")
    run("train", "b.csv", "--like", "a.greville", "-o", "b.greville", "-q")
    run("train", "all.csv", "-t", "price", "-o", "all.greville", "-q", "--epsilon", "0.1")
    said = run("merge", "a.greville", "b.greville", "-o", "both.greville")[1]
    assert "has learned 9,000 rows" in said
    want, got = greville.load("all.greville"), greville.load("both.greville")
    np.testing.assert_allclose(got.predict(table), want.predict(table), rtol=1e-7)
    summary = json.loads(run("unlearn", "both.greville", "b.csv", "--json", "-q")[0])
    assert (summary["removed"], summary["rows"]) == (4000, 5000)
    first = greville.load("a.greville")
    got = greville.load("both.greville")
    np.testing.assert_allclose(got.predict(table), first.predict(table), rtol=1e-6)
    before = Path("both.greville").read_bytes()
    message = refused("unlearn", "both.greville", "b.csv", "-q")
    assert "b.csv, row 1" in message
    assert Path("both.greville").read_bytes() == before
    run("train", "b.csv", "-t", "price", "-o", "other.greville", "-q", "--hidden", "7")
    assert "cannot be merged" in refused(
        "merge", "a.greville", "other.greville", "-o", "x.greville"
    )


# What is the user's mistake


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "houses.csv"], "--target is missing"),
        (["train", "houses.csv", "-t", "prise"], "there is no column 'prise'.*it has 'area'"),
        (["train", "nothing.csv", "-t", "price"], "nothing.csv: there is no such file"),
        (["train", "*.parquet", "-t", "price"], r"\*.parquet: there is no such file"),
        (["train", "empty", "-t", "price"], "empty: a folder without any table"),
        (["train", "houses.csv", "-t", "price", "--hidden", "many"], "--hidden many"),
        (["train", "houses.csv", "-t", "price", "--hidden", "0"], "--hidden 0"),
        (["train", "houses.csv", "-t", "price", "--epsilon", "x"], "--epsilon x: pass a number"),
        (["train", "houses.csv", "-t", "price", "--window", "3"], "no such setting"),
        (["train", "houses.csv", "-t", "price", "--ignore", "nose"], "no column 'nose'"),
        (["train", "houses.csv", "-t", "price", "--features", "nose"], "no column 'nose'"),
        (["train", "houses.csv", "-t", "one"], "is 'only' in every row"),
        (["train", "houses.csv", "-t", "none"], "no row has a value of 'none'"),
        (["train", "houses.csv", "-t", "price", "-o", "no/where"], "the folder .* is not there"),
        (["train", "houses.csv", "-t", "price", "-o", "empty"], "it is a folder"),
        (["train", "houses.csv", "--resume", "houses.csv"], "houses.csv"),
        (["train", "houses.csv", "--resume", "gone.greville"], "gone.greville"),
        (["train", "houses.csv", "-t", "price", "--delimiter", "ab"], "one character"),
        (["train", "houses.csv", "-t", "price", "--encoding", "martian"], "no such encoding"),
        (["predict", "gone.greville", "houses.csv"], "gone.greville"),
        (["predict", "good.greville", "other.csv"], "other.csv: it has no column 'area'"),
        (["predict", "good.greville", "houses.csv", "-o", "x.doc"], "x.doc: its name does not say"),
        (
            ["predict", "good.greville", "houses.csv", "--proba"],
            "--proba: the model predicts a number",
        ),
        (["predict", "good.greville", "houses.csv", "--as", "area"], "has a column 'area' already"),
        (["predict", "layer.greville", "houses.csv"], "holds a RandomLayer saved from Python"),
        (["score", "good.greville", "other.csv"], "other.csv"),
        (["score", "good.greville", "unknown.csv"], "no row has a value of 'price'"),
        (["merge", "good.greville", "-o", "x"], "at least two"),
        (["forecast", "houses.csv", "--column", "nose"], "no column 'nose'"),
        (["forecast", "houses.csv", "--column", "city"], "row 1: column 'city' should be a number"),
        (["forecast", "few.csv", "--column", "x"], "2 samples are too few"),
        (["stream"], "--target is missing"),
        (["stream", "-t", "y", "--checkpoint", "good.greville"], "not written by greville stream"),
        (["info", "houses.csv"], "houses.csv"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_mistakes_are_one_sentence_and_exit_code_2(here, arguments, message):
    table = houses(40).append_column("one", pa.array(["only"] * 40))
    table = table.append_column("none", pa.nulls(40, pa.string()))
    write(table)
    (here / "empty").mkdir()
    Path("other.csv").write_text("x,price\n1,2\n")
    Path("few.csv").write_text("x\n1\n2\n")
    write(houses(40).set_column(5, "price", pa.nulls(40, pa.float64())), "unknown.csv")
    greville.save(TableModel("price", task="regression").learn(houses(40)), "good.greville")
    greville.save(greville.RandomLayer(3).fit(np.zeros((1, 2))), "layer.greville")
    before = set(os.listdir())
    said = refused(*arguments, "-q") if arguments[0] not in ("info",) else refused(*arguments)
    assert re.search(message, said)
    assert set(os.listdir()) == before


def test_rows_that_are_skipped_are_counted(here):
    lines = csv_bytes(houses(300)).decode().splitlines()
    area, _, *rest = lines[101].split(",")
    lines[101] = ",".join([area, "several", *rest])
    lines[150] += ",more"
    Path("houses.csv").write_text("\n".join(lines))
    assert "houses.csv, row 150 has 7 fields" in refused("train", "houses.csv", "-t", "price")
    said = run("train", "houses.csv", "-t", "price", "--on-error", "skip")[1]
    assert "2 rows were skipped" in said
    assert "houses.csv, row 101: column 'rooms' should be a number, got 'several'" in said
    said = run("predict", "model.greville", "houses.csv", "--on-error", "skip", "-o", "o.csv")[1]
    assert table_of("o.csv")["prediction"].null_count == 1
    assert "299 rows with predictions" in said


def test_a_full_disk(here):
    """Nothing half-written, and the old model is still there."""
    write(houses(300))
    run("train", "houses.csv", "-t", "price", "-q", "--hidden", "50")
    before, files = Path("model.greville").read_bytes(), set(os.listdir())

    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    for command in (
        ["train", "houses.csv", "-t", "price", "--hidden", "200"],
        ["predict", "model.greville", "houses.csv", "houses.csv", "houses.csv", "-o", "big.csv"],
    ):
        done = children.run(
            [*GREVILLE, *command], capture_output=True, text=True, preexec_fn=no_room, check=False
        )
        assert done.returncode == 2, done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
        assert Path("model.greville").read_bytes() == before
        assert set(os.listdir()) == files


def test_no_permission(here, monkeypatch):
    write(houses(50))
    (here / "locked").mkdir(mode=0o500)
    if os.geteuid() == 0:  # who may write everywhere
        monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("locked"))
    assert "look at its permissions" in refused(
        "train", "houses.csv", "-t", "price", "-o", "locked/model.greville"
    )


def test_our_own_mistakes_end_with_1(here, monkeypatch):
    write(houses(50))
    monkeypatch.setattr(TableModel, "learn", lambda *_: 1 / 0)
    said = run("train", "houses.csv", "-t", "price", "-q", code=1)[1]
    assert "a mistake in greville, not in your data: ZeroDivisionError" in said


# forecast


def test_forecasting_the_ecg(here):
    data = Path(greville.__file__).parent / "datasets" / "ecg.npz"
    out, said = run("forecast", data, "--column", "ecg", "--json")
    summary = json.loads(out)
    assert summary["ratio"]["persistence"] < 0.5
    assert summary["rms"]["greville"] < summary["rms"]["linear"]
    assert abs(summary["coverage"] - 0.9) < 0.03
    found = table_of("ecg-forecast.csv")
    assert found.num_rows == 21_600 - 10 + 1
    assert found["target"].to_pylist()[-1] is None
    assert found["prediction"].to_pylist()[-1] is not None
    error = found["prediction"].to_numpy() - found["target"].to_numpy(zero_copy_only=False)
    counted = found["sample"].to_numpy() > summary["burn_in"]
    rms = np.sqrt(np.nanmean(error[counted] ** 2))
    assert summary["rms"]["greville"] == pytest.approx(rms)
    assert Path("ecg-forecast.png").stat().st_size > 20_000
    assert "the picture is in ecg-forecast.png" in said


def test_forecasts_with_inputs_times_and_gaps(here):
    rng = np.random.default_rng(0)
    n = 400
    temperature = np.sin(np.arange(n) / 12) + 0.1 * rng.normal(size=n)
    load = 100 + 10 * np.roll(temperature, 3)
    load[100] = np.nan
    days = np.datetime64("2024-01-01") + np.arange(n)
    table = pa.table(
        {"day": days, "load": pa.array(load, from_pandas=True), "temperature": temperature}
    )
    write(table, "load.csv")
    options = ["--column", "load", "--horizon", "3", "--lags", "5", "--alpha", "1"]
    alone = json.loads(run("forecast", "load.csv", *options, "--json", "-q")[0])
    options += ["--inputs", "temperature", "--time", "day", "-o", "out.csv", "--plot", "out.png"]
    both = json.loads(run("forecast", "load.csv", *options, "--json", "-q")[0])
    assert both["rms"]["greville"] < 0.7 * alone["rms"]["greville"]
    found = table_of("out.csv")
    assert found["day"].to_pylist()[-4:-3] == [days[-1].astype(object)]
    assert found["prediction"].null_count >= 5
    shown = run("forecast", "load.csv", *options)[0]
    assert "persistence" in shown
    assert "What comes next" in shown


def test_no_forecast_sees_its_future(here):
    """Change the end of the file: nothing that was predicted before it was known may change."""
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.normal(size=300))
    y = x.copy()
    y[200:] = rng.normal(size=100) * 50
    for name, values in (("x.csv", x), ("y.csv", y)):
        write(pa.table({"v": values}), name)
        run("forecast", name, "--column", "v", "--horizon", "4", "-q")
    one, two = (table_of(f"{name}-forecast.csv") for name in "xy")
    known = one["sample"].to_numpy() <= 200 + 4 - 1  # made at sample 199 or before, counted from 0
    for column in ("prediction", "lower", "upper", "linear", "persistence"):
        a, b = (t[column].to_numpy(zero_copy_only=False)[known] for t in (one, two))
        assert np.array_equal(a, b, equal_nan=True)


# stream


def streamed(lines, *arguments, code=0):
    done = children.run(
        [*GREVILLE, "stream", *arguments], input=lines, capture_output=True, check=False
    )
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode().splitlines(), done.stderr.decode()


def test_a_line_out_for_every_line_in(here):
    lines = jsonl(houses(700))
    answers, said = streamed(lines, "-t", "price", "--checkpoint", "s.greville", "--every", "100")
    assert [json.loads(a)["line"] for a in answers] == list(range(1, 701))
    assert json.loads(answers[0])["prediction"] is None
    prices = houses(700)["price"].to_numpy()
    errors = prices[300:] - [json.loads(a)["prediction"] for a in answers[300:]]
    assert np.sqrt(np.mean(errors**2)) < 0.4 * prices.std()
    assert "700 lines; the state is in s.greville" in said
    stream = greville.load("s.greville")
    assert isinstance(stream, Stream)
    assert stream.settled().n_rows == 700
    run("predict", "s.greville", write(houses(5)), "-o", "p.csv", "-q")
    assert json.loads(run("info", "s.greville", "--json")[0])["rows"] == 700


def test_a_stream_of_csv_with_late_targets_and_slips(here):
    rows = as_rows(houses(200))
    names = [*rows[0], "id"]
    lines = [",".join(names)]
    for i, row in enumerate(rows):
        lines.append(
            ",".join("" if v is None or k == "price" else str(v) for k, v in row.items()) + f",{i}"
        )
        if i >= 1:
            lines.append(",,,,," + str(rows[i - 1]["price"]) + f",{i - 1}")
    lines.insert(50, "too,few")
    content = "\n".join(lines).encode()
    _, said = streamed(content, "-t", "price", "--id", "id", code=2)
    assert "line 51: it has 2 fields instead of 7" in said
    answers, said = streamed(
        content, "-t", "price", "--id", "id", "--on-error", "skip", "--checkpoint", "s"
    )
    assert answers[0] == "line,id,prediction,error"
    assert len(answers) == len(lines)
    assert "1 row was skipped" in said
    stream = greville.load("s")
    assert stream.settled().n_rows == 199
    assert len(stream.waiting) == 1


def test_answers_come_at_once(here):
    """A line is answered before the next one is sent."""
    with children.started(
        [*GREVILLE, "stream", "-t", "y"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        for i in range(20):
            process.stdin.write(json.dumps({"x": i, "y": 2 * i}) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["line"] == i + 1
        process.stdin.close()
        assert process.wait(LIMIT) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_asked_to_stop(here, number, code):
    with children.started(
        [*GREVILLE, "stream", "-t", "price", "--checkpoint", "s"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        process.stdin.write(jsonl(houses(37)))
        process.stdin.flush()
        for _ in range(37):
            process.stdout.readline()
        process.send_signal(number)
        _, said = process.communicate(timeout=LIMIT)
    assert process.returncode == code, said
    assert greville.load("s").lines == 37


def test_watching(here):
    lines = jsonl(houses(400))
    _, said = streamed(lines, "-t", "price", "--watch", "-q")
    assert "400" in said
    assert "drift alarms: " in said
    assert "mean error" in said


# Kill -9 at any moment


def stream_in_a_child(source, out, *arguments):
    def work():
        os.dup2(os.open(source, os.O_RDONLY), 0)
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        app(["stream", *arguments, "-q"], standalone_mode=True)

    return children.fork(work)


def killed_after(child, seconds):
    """Whether it was still there to be killed."""
    return children.exit_code(child, limit=seconds) == -signal.SIGKILL


def test_a_stream_survives_50_kills(here):
    rows = as_rows(houses(6_000))
    Path("all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["-t", "price", "--hidden", "20", "--every", "100", "--replay"]
    child = stream_in_a_child("all.jsonl", "whole.out", *options, "--checkpoint", "whole")
    assert children.exit_code(child) == 0
    want = greville.load("whole")
    assert want.lines == 6_000
    chance, kills, rounds = random.Random(0), 0, 0
    while kills < 50:
        Path("again").unlink(missing_ok=True)
        rounds += 1
        assert rounds < 60
        while kills < 50:
            child = stream_in_a_child("all.jsonl", "again.out", *options, "--checkpoint", "again")
            if not killed_after(child, chance.uniform(0.0, 0.25)):
                break
            kills += 1
            if Path("again").exists():
                assert 0 < greville.load("again").lines <= 6_000  # whole, whatever the moment
        else:
            child = stream_in_a_child("all.jsonl", "again.out", *options, "--checkpoint", "again")
            assert children.exit_code(child) == 0
        got = greville.load("again")
        assert got.lines == 6_000
        greville.save(want.model, "one")
        greville.save(got.model, "two")
        assert Path("one").read_bytes() == Path("two").read_bytes()
        assert repr(got.rows) == repr(want.rows)  # nan is not equal to itself
    # A process that is killed may leave half a line, and the next one writes on behind it.
    answered = re.findall(r'\{"line": (\d+), "prediction": [^{}]*\}', Path("again.out").read_text())
    assert set(map(int, answered)) == set(range(1, 6_001))


def test_training_survives_kills(here, monkeypatch):
    monkeypatch.setattr(_train, "_CHUNK", 500)
    write(houses(8_000))
    options = ["train", "houses.csv", "-t", "price", "--hidden", "30", "-q"]
    run(*options, "-o", "whole.greville")
    options += ["-o", "again.greville", "--checkpoint", "point", "--every", "500"]
    chance, kills = random.Random(1), 0
    while kills < 20:
        child = children.fork(lambda: app(options, standalone_mode=True))
        kills += killed_after(child, chance.uniform(0.0, 0.3))
        if Path("again.greville").exists():
            assert not Path("point").exists()
            assert Path("again.greville").read_bytes() == Path("whole.greville").read_bytes()
            Path("again.greville").unlink()
    child = children.fork(lambda: app(options, standalone_mode=True))
    assert children.exit_code(child) == 0
    assert Path("again.greville").read_bytes() == Path("whole.greville").read_bytes()


def test_stopped_when_all_was_learned(here, monkeypatch):
    """Loading a checkpoint leaves no trace in what is saved next, not even a cached product."""
    monkeypatch.setattr(_train, "_CHUNK", 500)
    write(houses(8_000))
    options = ["train", "houses.csv", "-t", "price", "--hidden", "30", "-q"]
    run(*options, "-o", "whole.greville")
    options += ["-o", "again.greville", "--checkpoint", "point", "--every", "500"]

    def stop(model):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_train, "_check_learned", stop)
        run(*options, code=130)
    run(*options)
    one, two = (Path(f"{name}.greville").read_bytes() for name in ("whole", "again"))
    documents = [re.sub(rb"finished\W+\w+|sha256\W+\w+", b"", each) for each in (one, two)]
    assert documents[0] == documents[1]


def test_a_checkpoint_of_another_run(here, monkeypatch):
    monkeypatch.setattr(_train, "_CHUNK", 50)
    write(houses(200))
    options = ["train", "houses.csv", "-t", "price", "-q", "--checkpoint", "point", "--every", "50"]
    learn, calls = TableModel.learn, []

    def fails_later(self, *arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return learn(self, *arguments)

    monkeypatch.setattr(TableModel, "learn", fails_later)
    run(*options, code=130)
    monkeypatch.setattr(TableModel, "learn", learn)
    assert "not written by this command" in refused(*options, "--hidden", "9")
    assert "Going on after row 100" in run(*options)[1]
    assert greville.load("model.greville").n_rows == 200


# Help


def test_help_has_examples():
    for command in ("train", "predict", "score", "forecast", "stream", "info", "merge", "unlearn"):
        shown = run(command, "--help")[0]
        assert "Examples:" in shown
        assert f"greville {command}" in shown


def test_shell_completion():
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = children.run(
        [*GREVILLE, "--show-completion", "bash"], capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert "complete" in done.stdout


# What a second reader found


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
    Path("q.csv").write_text('area,rooms,t\n50,3,"a\rb"\nNA,2,NA\n')
    run("predict", "model.greville", "q.csv", "-o", "r.csv", "-q")
    text = Path("r.csv").read_bytes().decode()
    assert '50,3,"a\rb",' in text
    assert "\nNA,2,NA," in text


def test_a_checkpoint_is_not_the_model(here):
    write(houses(50))
    options = ["train", "houses.csv", "-t", "price", "-o", "m", "--checkpoint", "./m"]
    assert "name two files" in refused(*options)


def test_skipped_rows_are_counted_once_over_checkpoints(here, monkeypatch):
    monkeypatch.setattr(_train, "_CHUNK", 50)
    monkeypatch.setattr(_model, "FIRST", 64)
    lines = csv_bytes(houses(400)).decode().splitlines()
    for i in (20, 130, 131, 399):
        lines[i] += ",more"
    Path("houses.csv").write_text("\n".join(lines))
    options = ["train", "houses.csv", "-t", "price", "--on-error", "skip", "--json"]
    options += ["--checkpoint", "point", "--every", "50"]
    learn, calls = TableModel.learn, []

    def fails_later(self, *arguments):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return learn(self, *arguments)

    monkeypatch.setattr(TableModel, "learn", fails_later)
    run(*options, "-q", code=130)
    monkeypatch.setattr(TableModel, "learn", learn)
    summary = json.loads(run(*options, "-q")[0])
    assert (summary["rows"], summary["rows_skipped"]) == (396, 4)


def test_a_run_that_had_ended_is_not_done_again(here, monkeypatch):
    """Killed between the last two steps, with the model resumed in place."""
    write(houses(100), "a.csv")
    write(houses(100, seed=1), "b.csv")
    run("train", "a.csv", "-t", "price", "-q")
    unlink = Path.unlink
    monkeypatch.setattr(_train, "_CHUNK", 50)
    monkeypatch.setattr(Path, "unlink", lambda self, **options: None)
    options = ["train", "b.csv", "--resume", "model.greville", "--checkpoint", "p", "--every", "50"]
    run(*options, "-q")
    monkeypatch.setattr(Path, "unlink", unlink)
    assert Path("p").exists()
    assert "That run has ended" in run(*options)[1]
    assert greville.load("model.greville").n_rows == 200
    assert not Path("p").exists()


def test_settings_that_a_model_has_already(here):
    write(houses(100))
    run("train", "houses.csv", "-t", "price", "-q")
    for option in (["--hidden", "7"], ["--solver", "light"], ["--ignore", "area"]):
        message = refused("train", "houses.csv", "--resume", "model.greville", *option, "-q")
        assert "has settings of its own" in message


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_while_a_pipe_is_open(here, number):
    with children.started(
        [*GREVILLE, "train", "-", "-t", "price", "-q"], stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        process.stdin.write(csv_bytes(houses(100)))
        process.stdin.flush()
        for _ in range(10 * LIMIT):  # until it listens
            status = Path(f"/proc/{process.pid}/status").read_text()
            if int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16) >> (signal.SIGTERM - 1) & 1:
                break
            time.sleep(0.1)
        time.sleep(0.5)
        process.send_signal(number)
        said = process.stderr.read().decode()  # the other pipe is still open
        assert process.wait(LIMIT) == {signal.SIGINT: 130, signal.SIGTERM: 143}[number], said
        assert "Fatal" not in said


def test_scoring_files_without_targets(here):
    table = houses(100)
    write(table, "a.csv")
    write(table.set_column(2, "city", pa.nulls(100, pa.string())), "b.csv")
    run("train", "a.csv", "-t", "city", "-q")
    summary = json.loads(run("score", "model.greville", "a.csv", "b.csv", "--json", "-q")[0])
    assert (summary["rows"], summary["rows_without_target"]) == (100, 100)


def test_answers_before_a_broken_line_are_said(here):
    lines = jsonl(houses(5)) + b"{broken\n"
    answers, said = streamed(lines, "-t", "price", "--checkpoint", "s", code=2)
    assert len(answers) == 5
    assert "line 6: it is not JSON" in said
    assert greville.load("s").lines == 5


def test_json_has_no_nan(here):
    write(pa.table({"v": np.arange(14.0)}), "v.csv")
    out = run("forecast", "v.csv", "-c", "v", "--json", "-q")[0]
    assert "NaN" not in out
    json.loads(out)
    assert Path("v-forecast.csv").exists()


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


def test_a_csv_stream_goes_on(here):
    """Lines are counted as a text editor counts them; the line of names is sent again."""
    lines = csv_bytes(houses(120)).decode().splitlines(keepends=True)
    lines.insert(50, "\n")
    options = ["-t", "price", "--checkpoint", "s"]
    streamed("".join(lines[:80]).encode(), *options)
    assert greville.load("s").lines == 80
    _, said = streamed("".join([lines[0], *lines[80:]]).encode(), *options)
    assert "send line 81 next" in said
    assert greville.load("s").lines == 122
    streamed("".join(lines).encode(), *options[:2], "--checkpoint", "t")
    one, two = greville.load("s"), greville.load("t")
    assert one.settled().n_rows == two.settled().n_rows == 120
    assert np.array_equal(one.settled().predict(houses(9)), two.settled().predict(houses(9)))
