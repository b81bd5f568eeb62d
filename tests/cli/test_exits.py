"""Commands end with an exit code and never with a signal, whatever is still being read."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from benchmarks.exits import GREVILLE, catches, exit_codes, prepare

from .. import children
from ..runner import run
from ._outside import started

NAMES = [
    "train, no such target",
    "train, a ragged row",
    "predict into a closed pipe",
    "score",
    "train, SIGTERM",
    "train, SIGINT",
    "train, a broken line of JSON",
]


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    found = prepare(tmp_path_factory.mktemp("exits"), megabytes=5)
    return {name: (case, wanted) for name, case, wanted in found}


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_commands_end_with_an_exit_code(cases, name):
    """`make bench CASES=exits` has more runs."""
    case, wanted = cases[name]
    assert exit_codes(case, runs=1) == {wanted: 1}


@pytest.mark.full
def test_every_case_is_tried(cases):
    assert sorted(cases) == sorted(NAMES)


@pytest.mark.parametrize(
    "command",
    ["--help", "nonsense", pytest.param("info", marks=pytest.mark.full)],
)
def test_output_into_a_closed_pipe_is_no_error(command, tmp_path):
    """As with head; what is wrong with the command stays so."""
    arguments = [command]
    if command == "info":
        table, model = tmp_path / "a.csv", tmp_path / "a.greville"
        table.write_text("a,y\n" + "".join(f"{i % 7},{i % 5 + 0.5}\n" for i in range(50)))
        run("train", table, "--target", "y", "--output", model, "-q")
        arguments.append(str(model))
    read, write = os.pipe()
    os.close(read)
    try:
        done = children.run([*GREVILLE, *arguments], stdout=write, stderr=-1, check=False)
    finally:
        os.close(write)
    assert done.returncode == (2 if command == "nonsense" else 0)
    assert b"Traceback" not in done.stderr


@pytest.mark.posix("fork")
def test_predictions_into_a_closed_pipe(here):
    Path("a.csv").write_text("a,y\n" + "".join(f"{i % 7},{i % 5 + 0.5}\n" for i in range(30_000)))
    run("train", "a.csv", "--target", "y", "--hidden", "5", "-q")
    with started("predict", "model.greville", "a.csv") as process:
        assert process.stdout.readline() == b"a,y,prediction\n"
        process.stdout.close()  # as head does
        assert (process.wait(), process.said()) == (0, "")


def ignore_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.posix("SIGINT to another process")
def test_a_stream_leaves_signals_that_are_ignored(here):
    """As a shell ignores them for what it starts in the background."""
    with started("stream", "--target", "y", prepare=ignore_interrupts) as process:
        process.stdin.write(b'{"a": 1, "y": 1}\n')
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdin.write(b'{"a": 2, "y": 1}\n')
        process.stdin.close()
        assert b"prediction" in process.stdout.read()
        assert process.wait() == 0


@pytest.mark.posix("named pipes")
@pytest.mark.parametrize("source", ["pipe without a writer", "pipe", "-"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_training_that_waits_for_a_pipe_can_be_stopped(here, number, source):
    """One that stays open, with a first row in it, and one that nobody writes to."""
    if source != "-":
        os.mkfifo(source)
    with started("train", source, "--format", "csv", "--target", "y") as process:
        writer = open(source, "wb", buffering=0) if source == "pipe" else process.stdin  # noqa: SIM115
        with writer:
            writer.write(b"a,y\n1,2\n")
            while not catches(process.pid, signal.SIGTERM):
                time.sleep(0.01)
            process.send_signal(number)
            ends = {signal.SIGINT: (130, ""), signal.SIGTERM: (143, "Stopped after 0 rows.\n")}
            assert (process.wait(), process.said()) == ends[number]


@pytest.mark.skipif(sys.platform == "win32", reason="there, processes do not end by signals")
def test_an_interrupt_in_executed_source_is_an_exit_code(tmp_path):
    source = [
        "from greville.cli import _app, main",
        "_app.app = lambda: exec('raise KeyboardInterrupt')",
        "main()",
    ]
    (tmp_path / "interrupted.py").write_text("\n".join(source))
    command = [sys.executable, "-m", "interrupted"]
    done = children.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")
