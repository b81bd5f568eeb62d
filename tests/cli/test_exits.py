"""Commands end with an exit code and never with a signal, whatever is still being read."""

import os
import signal
import subprocess
import sys
import time

import pytest
from benchmarks.exits import GREVILLE, catches, exit_codes, prepare

from .. import children
from ..runner import run

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
    found = prepare(tmp_path_factory.mktemp("exits"), megabytes=20)
    return {name: (case, wanted) for name, case, wanted in found}


@pytest.mark.parametrize("name", NAMES)
def test_commands_end_with_an_exit_code(cases, name):
    """`make bench CASES=exits` has more runs."""
    case, wanted = cases[name]
    assert exit_codes(case, runs=3) == {wanted: 3}


def test_every_case_is_tried(cases):
    assert sorted(cases) == sorted(NAMES)


@pytest.mark.parametrize("command", ["--version", "--help", "info", "score", "train", "nonsense"])
def test_output_into_a_closed_pipe_is_no_error(command, tmp_path):
    """As with head; what is wrong with the command stays so."""
    table, model = tmp_path / "a.csv", tmp_path / "a.greville"
    table.write_text("a,y\n" + "".join(f"{i % 7},{i % 5 + 0.5}\n" for i in range(50)))
    train = ["train", str(table), "--target", "y", "--output", str(model), "--json"]
    if command in ("info", "score"):
        run(*train)
    rest = {"info": ["info", str(model)], "score": ["score", str(model), str(table)]}
    rest["train"] = train
    read, write = os.pipe()
    os.close(read)
    try:
        arguments = rest.get(command, [command])
        done = children.run([*GREVILLE, *arguments], stdout=write, stderr=-1, check=False)
    finally:
        os.close(write)
    assert done.returncode == (2 if command == "nonsense" else 0)
    assert b"Traceback" not in done.stderr


@pytest.mark.posix("SIGINT to another process")
def test_a_stream_leaves_signals_that_are_ignored(tmp_path):
    """As a shell ignores them for what it starts in the background."""
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        "sys.argv = ['greville', 'stream', '--target', 'y']; "
        "from greville.cli import main; main()"
    )
    command = [sys.executable, "-c", code]
    with children.started(command, stdin=-1, stdout=-1, cwd=tmp_path) as process:
        process.stdin.write(b'{"a": 1, "y": 1}\n')
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdin.write(b'{"a": 2, "y": 1}\n')
        process.stdin.close()
        assert b"prediction" in process.stdout.read()
        assert process.wait(children.LIMIT) == 0


@pytest.mark.posix("named pipes")
def test_training_that_waits_for_a_pipe_can_be_stopped(tmp_path):
    """A named pipe without a writer, and one that stays open."""
    for held in (False, True):
        pipe = tmp_path / f"pipe-{held}.csv"
        os.mkfifo(pipe)
        command = [*GREVILLE, "train", str(pipe), "--target", "y"]
        with children.started(command, stderr=subprocess.PIPE, cwd=tmp_path) as process:
            writer = open(pipe, "wb", buffering=0) if held else None  # noqa: SIM115
            if writer is not None:
                writer.write(b"a,y\n1,2\n")
            while process.poll() is None and not catches(process.pid, signal.SIGTERM):
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            said = process.communicate()[1]
            assert (process.returncode, said) == (143, b"Stopped after 0 rows.\n")
            if writer is not None:
                writer.close()
