"""`greville stream`: a line out for every line in, at once, over restarts, for one at a time."""

import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import greville
from greville.tables import Stream

from ..houses import csv_bytes, houses, jsonl, number_rows, write
from ..runner import refused, run
from ._outside import outside, refused_stream, started, streamed

pytestmark = pytest.mark.usefixtures("here")


def test_a_line_out_for_every_line_in(here):
    lines = jsonl(houses(400))
    answers, said = streamed(lines, "-t", "price", "--checkpoint", "s.greville", "--every", "100")
    assert [json.loads(a)["line"] for a in answers] == list(range(1, 401))
    assert json.loads(answers[0])["prediction"] is None
    prices = houses(400)["price"].to_numpy()
    errors = prices[200:] - [json.loads(a)["prediction"] for a in answers[200:]]
    assert np.sqrt(np.mean(errors**2)) < 0.4 * prices.std()
    assert "400 lines; the state is in s.greville" in said
    stream = greville.load("s.greville")
    assert isinstance(stream, Stream)
    assert stream.settled().n_rows == 400
    run("predict", "s.greville", write(houses(5)), "-o", "p.csv", "-q")
    assert json.loads(run("info", "s.greville", "--json")[0])["rows"] == 400


@pytest.mark.posix("fork")
def test_answers_come_at_once(here):
    """A line is answered before the next one is sent; `--every` so many there is a checkpoint."""
    with started("stream", "-t", "y", "--checkpoint", "s", "--every", "50") as process:
        for i in range(20):
            process.stdin.write(json.dumps({"x": i, "y": 2 * i}).encode() + b"\n")
            assert json.loads(process.stdout.readline())["line"] == i + 1
        process.stdin.write(b'{"x": 1, "y": 2}\n' * 300)  # as from a file
        for _ in range(300):
            process.stdout.readline()
        assert greville.load("s").lines >= 50  # before the end
        process.stdin.close()
        assert process.wait() == 0
    assert greville.load("s").lines == 320


@pytest.mark.full
def test_a_csv_stream_goes_on(here):
    """Lines are counted as a text editor counts them; the line of names is sent again."""
    lines = csv_bytes(houses(60)).decode().splitlines(keepends=True)
    lines.insert(25, "\n")
    options = ["-t", "price", "--hidden", "20", "--checkpoint", "s"]
    streamed("".join(lines[:40]).encode(), *options)
    assert greville.load("s").lines == 40
    _, said = streamed("".join([lines[0], *lines[40:]]).encode(), *options)
    assert "send line 41 next" in said
    assert greville.load("s").lines == 62
    streamed("".join(lines).encode(), *options[:4], "--checkpoint", "t")
    one, two = greville.load("s"), greville.load("t")
    assert one.settled().n_rows == two.settled().n_rows == 60
    assert np.array_equal(one.settled().predict(houses(9)), two.settled().predict(houses(9)))


def test_a_stream_takes_the_fields_that_training_takes():
    rows = "a,y\n" + "".join(f"{'x' * 200_000},{i}\n" for i in range(3))
    Path("long.csv").write_text(rows)
    run("train", "long.csv", "--target", "y")
    done = outside("stream", "--target", "y", stdin=rows.encode())
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 4)


@pytest.mark.posix("SIGTERM and SIGINT to another process")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_asked_to_stop(here, number, code):
    with started("stream", "-t", "price", "--hidden", "20", "--checkpoint", "s") as process:
        process.stdin.write(jsonl(houses(37)))
        for _ in range(37):
            process.stdout.readline()
        process.send_signal(number)
        assert process.wait() == code, process.said()
    assert greville.load("s").lines == 37


# Two at once


@pytest.mark.posix("SIGKILL")
def test_two_streams_cannot_have_one_checkpoint():
    command = "stream", "--target", "y", "--checkpoint", "c.greville"
    with started(*command) as first:
        first.stdin.write(b'{"a": 1, "y": 1}\n{"a": 2, "y": 2}\n')
        first.stdout.readline()
        said = refused_stream('{"a": 1}\n', "--checkpoint", "c.greville")
        assert said.startswith("c.greville: another greville command is using it; wait until")
        first.send_signal(signal.SIGKILL)  # the lock goes with the process, its file does not
        first.wait()
    assert Path(".c.greville.lock").exists()
    lines = "".join(f'{{"a": {i}, "y": {i}}}\n' for i in range(5))
    assert outside(*command, stdin=lines.encode()).returncode == 0
    assert greville.load("c.greville").lines == 5
    assert not Path(".c.greville.lock").exists()


@pytest.mark.full
@pytest.mark.posix("named pipes")
def test_nor_can_training_and_unlearning(tmp_path):
    Path("a.csv").write_text(number_rows(300))
    run("train", "a.csv", "--target", "y", "-o", "m.greville")
    os.mkfifo("slow.csv")
    held = {
        "c.greville": ("train", "slow.csv", "--target", "y", "--checkpoint", "c.greville"),
        "m.greville": ("unlearn", "m.greville", "slow.csv"),
    }
    for name, command in held.items():
        with started(*command):
            wait_for(lambda name=name: Path(f".{name}.lock").exists())
            others = [command, ("train", "a.csv", "--resume", "m.greville")][: 1 + (name[0] == "m")]
            for other in others:
                assert refused(*other).startswith(f"{name}: another greville command is using it")
    run("train", "a.csv", "--resume", "m.greville")


def wait_for(ready, seconds=60):
    """Until something is there that another process makes."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
