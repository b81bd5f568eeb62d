"""`greville paper`: what it writes, what it leaves out, and how it ends; early interrupts."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from greville import cli, paper
from greville.datasets import ecg
from greville.paper._report import read_results

from .. import children
from ..children import GREVILLE, LIMIT
from ..posix import pty
from ..runner import invoke
from ._outside import command

RESULTS = Path(__file__).parents[2] / "docs" / "reproduction" / "results.json"


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No MNIST in any folder, and no network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("GREVILLE_DATA", raising=False)
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # no server
    monkeypatch.setenv("no_proxy", "")


@pytest.fixture
def measured(monkeypatch):
    """An experiment whose results are there already, since the command is what is tested."""
    results, _ = read_results(RESULTS)
    (result,) = (each for each in results if each.name == "exactness")

    def exactness(seed, progress):
        with progress("exactness", 3) as advance:
            advance(3)
        return result

    monkeypatch.setattr(paper, "exactness", exactness)


def run(*arguments):
    return invoke(arguments)


@pytest.mark.parametrize(
    "arguments", [["paper", "nonsense"], ["paper", "--runs", "0"], ["paper", "--data", "/nowhere"]]
)
def test_wrong_usage(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


@pytest.mark.full
def test_the_same_seed_gives_the_same_numbers(tmp_path, monkeypatch):
    """Of the first ten seconds of the electrocardiogram; a run of one hidden layer is done here."""
    monkeypatch.setattr("greville.paper._ecg.ecg_signal", lambda: ecg(3600))
    numbers = []
    for folder, *experiments in (("a", "ecg"), ("b", "exactness", "ecg")):
        out = tmp_path / folder
        result = run("paper", *experiments, "--runs", "1", "--seed", "5", "--out", str(out))
        assert result.exit_code == 0
        assert "OPIUM light" in result.stdout
        facts = json.loads((out / "results.json").read_text())
        assert list(facts["experiments"]) == experiments
        numbers.append(facts["experiments"]["ecg"])
    assert numbers[0] == numbers[1]
    assert numbers[0]["seed"] == 5


def test_one_experiment_and_its_report(tmp_path):
    result = run("paper", "exactness", "--seed", "5", "--out", str(tmp_path))
    assert result.exit_code == 0
    assert result.stderr == ""  # no progress where there is no terminal
    assert f"The report is in {tmp_path / 'report.html'}" in result.stdout
    facts = json.loads((tmp_path / "results.json").read_text())
    assert facts["experiments"]["exactness"]["seed"] == 5


def test_quiet(measured, tmp_path):
    result = run("paper", "exactness", "--quiet", "--out", str(tmp_path))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert (tmp_path / "report.html").exists()


@pytest.mark.posix("a pseudo-terminal")
def test_progress_on_a_terminal(measured, tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    master, slave = pty.openpty()
    child = command(["paper", "exactness", "--out", str(tmp_path)], slave, slave, slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    assert children.exit_code(child) == 0
    facts = json.loads((tmp_path / "results.json").read_text())
    assert facts["command"] == f"greville paper exactness --out {tmp_path}"
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    assert re.search(r"exactness .*100%", text)


def test_without_mnist_the_rest_is_run(nowhere, measured, tmp_path):
    result = run("paper", "mnist", "exactness", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert result.stderr.startswith("mnist is left out: MNIST was not found")
    assert result.stderr.count("\n") == 1
    assert "GREVILLE_DATA" in result.stderr
    facts = json.loads((tmp_path / "results.json").read_text())
    assert list(facts["experiments"]) == ["exactness"]
    assert "mnist" in facts["skipped"]
    assert "mnist was not run" in (tmp_path / "report.html").read_text()


def test_with_mnist_alone_and_none_there_is_no_report(nowhere, tmp_path):
    result = run("paper", "mnist", "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()


def test_mnist_that_is_damaged(nowhere, measured, tmp_path):
    for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        (tmp_path / f"{name}-ubyte.gz").write_bytes(b"not a digit")
    out = tmp_path / "out"
    result = run("paper", "mnist", "exactness", "--data", str(tmp_path), "--out", str(out))
    assert result.exit_code == 2
    assert "is damaged" in result.stderr
    assert (out / "report.html").exists()


def test_a_report_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run("paper", "sine", "--out", str(tmp_path / "file" / "out"))  # told before the work
    assert result.exit_code == 2
    assert "file" in result.stderr
    assert "Traceback" not in result.stderr


def test_without_the_extras(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "greville.cli._app")
    monkeypatch.delitem(sys.modules, "greville.cli._paper", raising=False)
    with pytest.raises(SystemExit, match=r"pip install 'greville\[cli\]'"):
        cli.main()


def test_a_failed_worker_costs_one_experiment(measured, tmp_path, monkeypatch):
    def fail(**settings):
        raise paper.WorkerError("A worker process failed: out of memory")

    monkeypatch.setattr(paper, "ecg", fail)
    result = run("paper", "ecg", "exactness", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert result.stderr == "ecg is left out: A worker process failed: out of memory\n"
    facts = json.loads((tmp_path / "results.json").read_text())
    assert list(facts["experiments"]) == ["exactness"]
    assert "ecg" in facts["skipped"]


# The command from its first line on; before it, Python drops interrupts inside callbacks.
READY = """
import greville.cli
print("ready", flush=True)
greville.cli.main()
"""


@pytest.mark.posix("SIGINT to another process")
@pytest.mark.parametrize("wait", [0, 0.3, 1.0])
def test_an_early_interrupt(tmp_path, wait):
    command = [sys.executable, "-c", READY, "paper", "sine", "--out", str(tmp_path / "out")]
    with children.started(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=LIMIT)
    # A shell says 130 for both; it is the signal before there is anything of ours to catch it.
    assert process.returncode in (130, -signal.SIGINT), stderr
    assert not (tmp_path / "out").exists()


def test_an_interrupt_that_python_drops():
    """As it does inside a callback of a weak reference."""
    code = """
import signal, time, weakref
from greville import cli
from greville.cli import _app

class Thing:
    pass

def app():
    thing = Thing()
    reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing
    time.sleep(1000)

_app.app = app
cli.main()
"""
    done = children.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")


@pytest.mark.full
@pytest.mark.posix("SIGINT to a group of processes")
def test_an_interrupt_leaves_nothing(tmp_path):
    out = tmp_path / "out"
    command = [*GREVILLE, "paper", "sine", "--out", str(out)]
    with children.started(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        deadline = time.monotonic() + LIMIT
        while len(_group(process.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)  # until there is a worker
        time.sleep(1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of them
        stdout, stderr = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert stdout == ""
    assert stderr == ""
    assert not out.exists()
    assert _group(process.pid) == []


def _group(leader):
    """The processes of a group that are alive."""
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == leader and fields[0] != "Z":
            members.append(int(stat.parent.name))
    return members


if not Path("/proc/self/stat").exists():
    test_an_interrupt_leaves_nothing = pytest.mark.skip("needs /proc")(
        test_an_interrupt_leaves_nothing
    )
