"""What tests start ends, and hears its signals, in whatever shell the suite was started."""

import re
import signal
import sys
import time
from pathlib import Path

import pytest

from . import children

DEFAULT = "signal.getsignal(signal.SIGINT) is signal.default_int_handler"


@pytest.fixture
def ignoring():
    """As in the background and under nohup."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


def test_children_hear_an_interrupt(ignoring):
    code = f"import signal; print({DEFAULT})"
    done = children.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\n"
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN

    def work():
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    assert children.forked(work) == 0


@pytest.mark.posix("SIGKILL")
def test_children_that_hang_are_killed():
    assert children.forked(lambda: time.sleep(1000), limit=0.1) == -signal.SIGKILL
    with children.started([sys.executable, "-c", "input()"], stdin=-1, limit=0.1) as process:
        assert process.wait(children.LIMIT) == -signal.SIGKILL


def test_all_tests_start_processes_there():
    for file in Path(__file__).parent.rglob("*.py"):
        # smoke.py and record/ are used without the other tests, and have limits of their own
        if file.name in ("children.py", "smoke.py", Path(__file__).name):
            continue
        if file.parent.name != "record":
            started = re.findall(r"subprocess\.(?:run|Popen|call|check_\w+)\(", file.read_text())
            assert not started, f"{file.name}: use tests/children.py, which has a time limit"
