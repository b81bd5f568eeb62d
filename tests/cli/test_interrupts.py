"""Commands that are killed or stopped at any moment, and go on."""

import json
import os
import random
import re
import signal
import sys
import time
from pathlib import Path

import pytest

import greville
from greville.cli import _training
from greville.cli._app import app
from greville.cli._process import stopping_on
from greville.tables import Stopped, TableModel

from .. import children
from ..houses import as_rows, csv_bytes, houses, write
from ..lengths import at_length
from ..runner import refused, run

pytestmark = pytest.mark.usefixtures("here")


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


@pytest.mark.full
@pytest.mark.posix("fork")
def test_a_stream_survives_kills(here):
    n, many = 3_000, at_length(6, 50)
    rows = as_rows(houses(n))
    Path("all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["-t", "price", "--hidden", "20", "--every", "100", "--replay"]
    child = stream_in_a_child("all.jsonl", "whole.out", *options, "--checkpoint", "whole")
    assert children.exit_code(child) == 0
    want = greville.load("whole")
    assert want.lines == n
    chance, kills, rounds = random.Random(0), 0, 0
    while kills < many:
        Path("again").unlink(missing_ok=True)
        rounds += 1
        assert rounds < 60 + many
        while kills < many:
            child = stream_in_a_child("all.jsonl", "again.out", *options, "--checkpoint", "again")
            if not killed_after(child, chance.uniform(0.0, 0.25)):
                break
            kills += 1
            if Path("again").exists():
                assert 0 < greville.load("again").lines <= n  # whole, whatever the moment
        else:
            child = stream_in_a_child("all.jsonl", "again.out", *options, "--checkpoint", "again")
            assert children.exit_code(child) == 0
        got = greville.load("again")
        assert got.lines == n
        greville.save(want.model, "one")
        greville.save(got.model, "two")
        assert Path("one").read_bytes() == Path("two").read_bytes()
        assert repr(got.rows) == repr(want.rows)  # nan is not equal to itself
    # A process that is killed may leave half a line, and the next one writes on behind it.
    answered = re.findall(r'\{"line": (\d+), "prediction": [^{}]*\}', Path("again.out").read_text())
    assert set(map(int, answered)) == set(range(1, n + 1))


@pytest.mark.posix("fork")
def test_training_survives_kills(here, monkeypatch):
    monkeypatch.setattr(_training, "_ROWS_PER_UPDATE", 500)
    write(houses(8_000))
    options = ["train", "houses.csv", "-t", "price", "--hidden", "30", "-q"]
    run(*options, "-o", "whole.greville")
    options += ["-o", "again.greville", "--checkpoint", "point", "--every", "500"]
    chance, kills = random.Random(1), 0
    while kills < at_length(3, 50):
        child = children.fork(lambda: app(options, standalone_mode=True))
        kills += killed_after(child, chance.uniform(0.0, 0.3))
        if Path("again.greville").exists():
            assert not Path("point").exists()
            assert Path("again.greville").read_bytes() == Path("whole.greville").read_bytes()
            Path("again.greville").unlink()
    child = children.fork(lambda: app(options, standalone_mode=True))
    assert children.exit_code(child) == 0
    assert Path("again.greville").read_bytes() == Path("whole.greville").read_bytes()


@pytest.mark.full
def test_stopped_when_all_was_learned(here, monkeypatch):
    """Loading a checkpoint leaves no trace in what is saved next, not even a cached product."""
    monkeypatch.setattr(_training, "_ROWS_PER_UPDATE", 500)
    write(houses(8_000))
    options = ["train", "houses.csv", "-t", "price", "--hidden", "30", "-q"]
    run(*options, "-o", "whole.greville")
    options += ["-o", "again.greville", "--checkpoint", "point", "--every", "500"]

    def stop(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_training.Training, "finish", stop)
        run(*options, code=130)
    run(*options)
    one, two = (Path(f"{name}.greville").read_bytes() for name in ("whole", "again"))
    documents = [re.sub(rb"finished\W+\w+|sha256\W+\w+", b"", each) for each in (one, two)]
    assert documents[0] == documents[1]


# Checkpoints


def test_a_checkpoint_of_another_run(here, monkeypatch):
    monkeypatch.setattr(_training, "_ROWS_PER_UPDATE", 50)
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
    assert "Going on after 100 rows" in run(*options)[1]
    assert greville.load("model.greville").n_rows == 200


def test_a_checkpoint_is_not_the_model(here):
    write(houses(50))
    options = ["train", "houses.csv", "-t", "price", "-o", "m", "--checkpoint", "./m"]
    assert "name two files" in refused(*options)


def test_skipped_rows_are_counted_once_over_checkpoints(here, monkeypatch):
    monkeypatch.setattr(_training, "_ROWS_PER_UPDATE", 50)
    monkeypatch.setattr("greville.tables.model.FIRST_ROWS", 64)
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
    monkeypatch.setattr(_training, "_ROWS_PER_UPDATE", 50)
    monkeypatch.setattr(Path, "unlink", lambda self, **options: None)
    options = ["train", "b.csv", "--resume", "model.greville", "--checkpoint", "p", "--every", "50"]
    run(*options, "-q")
    monkeypatch.setattr(Path, "unlink", unlink)
    assert Path("p").exists()
    assert "That run has ended" in run(*options)[1]
    assert greville.load("model.greville").n_rows == 200
    assert not Path("p").exists()


class Callback:
    """What Python calls where it ignores exceptions, as the callbacks of gc."""

    def __del__(self):
        signal.raise_signal(signal.SIGTERM)


def _wait_after_callback(steps):
    Callback()
    while len(steps) < 1000:
        time.sleep(0.01)
        steps.append(1)


def test_a_signal_in_a_destructor_still_ends_the_block(capsys):
    steps = []
    with stopping_on(signal.SIGTERM) as stop, pytest.raises(Stopped), stop.at_once():
        _wait_after_callback(steps)
    assert len(steps) < 1000
    assert "Traceback" not in capsys.readouterr().err


def test_a_result_is_not_used_after_a_signal_in_a_destructor():
    with stopping_on(signal.SIGTERM) as stop, pytest.raises(Stopped), stop.at_once():
        Callback()
