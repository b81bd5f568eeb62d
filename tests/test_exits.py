"""Commands end with an exit code and never with a signal, whatever is still being read."""

import os
import signal
import subprocess
import time

import pytest
from benchmarks.exits import GREVILLE, catches, counted, prepared

from . import children

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
    found = prepared(tmp_path_factory.mktemp("exits"), megabytes=20)
    return {name: (case, wanted) for name, case, wanted in found}


@pytest.mark.parametrize("name", NAMES)
def test_commands_end_with_an_exit_code(cases, name):
    """`make bench CASES=exits` has more runs."""
    case, wanted = cases[name]
    assert counted(case, runs=3) == {wanted: 3}


def test_every_case_is_tried(cases):
    assert sorted(cases) == sorted(NAMES)


def test_training_that_waits_for_a_pipe_can_be_stopped(tmp_path):
    """A named pipe that nobody writes to, and one that nobody closes."""
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
            assert (process.returncode, said) == (143, b"Stopped after row 0.\n")
            if writer is not None:
                writer.close()
