"""The command, from outside."""

import http.server
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")

from greville import __version__, paper
from greville.datasets import _mnist
from greville.paper import _exactness
from greville.paper._result import Table

from .. import children
from ..children import GREVILLE, LIMIT
from ..runner import invoke


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """The quickest experiment, quicker."""
    monkeypatch.setattr(_exactness, "UNITS", 20)
    monkeypatch.setattr(_exactness, "ROWS", 60)


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No MNIST in any folder, and nobody to ask for it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("GREVILLE_DATA", raising=False)
    monkeypatch.setattr(_mnist, "HOMES", ("http://127.0.0.1:9/",))


@pytest.fixture(scope="module")
def results():
    sine = paper.sine(runs=1, long_samples=12_000, long_runs=1, n_workers=1)
    return [sine, paper.ecg(runs=1), paper.exactness()]


@pytest.fixture(scope="module")
def report(results, tmp_path_factory):
    """A report with every kind of block, from small experiments."""
    folder = tmp_path_factory.mktemp("report")
    path = paper.write_report(
        results,
        folder,
        command="greville paper <&>",
        skipped={"mnist": "It is <not> there."},
    )
    return path.parent


def run(*arguments):
    return invoke(arguments)


def test_help_and_version():
    shown = children.run([*GREVILLE, "--help"], capture_output=True, text=True)
    assert "paper" in shown.stdout
    helped = run("paper", "-h").stdout
    for option in ("--runs", "--seed", "--out", "--data", "--quick", "--quiet"):
        assert option in helped
    assert run("--version").stdout == f"greville {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["paper", "nonsense"], ["paper", "--runs", "0"], ["paper", "--data", "/nowhere"]]
)
def test_wrong_usage(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_the_same_seed_gives_the_same_numbers(tmp_path):
    numbers = []
    for folder, *experiments in (("a", "ecg", "exactness"), ("b", "exactness", "ecg")):
        out = tmp_path / folder
        result = run("paper", *experiments, "--runs", "1", "--seed", "5", "--out", str(out))
        assert result.exit_code == 0
        assert result.stderr == ""  # no progress where there is no terminal
        assert f"The report is in {out / 'report.html'}" in result.stdout
        assert "OPIUM light" in result.stdout
        facts = json.loads((out / "results.json").read_text())
        numbers.append(facts["experiments"])
    assert numbers[0] == numbers[1]
    assert sorted(numbers[0]) == ["ecg", "exactness"]
    assert numbers[0]["ecg"]["seed"] == 5


def test_quiet(tmp_path):
    result = run("paper", "exactness", "--quiet", "--out", str(tmp_path))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert (tmp_path / "report.html").exists()


def test_progress_on_a_terminal(tmp_path):
    master, slave = pty.openpty()
    command = [*GREVILLE, "paper", "exactness", "--out", str(tmp_path)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with children.started(command, stdout=slave, stderr=slave, env=environment) as process:
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
    assert process.returncode == 0
    facts = json.loads((tmp_path / "results.json").read_text())
    assert facts["command"] == f"greville paper exactness --out {tmp_path}"
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    assert re.search(r"exactness .*100 %.*left", text)


def test_without_mnist_the_rest_is_run(nowhere, tmp_path):
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


def test_mnist_that_is_damaged(nowhere, tmp_path):
    for name in _mnist.FILES:
        (tmp_path / f"{name}.gz").write_bytes(b"not a digit")
    out = tmp_path / "out"
    result = run("paper", "mnist", "exactness", "--data", str(tmp_path), "--out", str(out))
    assert result.exit_code == 2
    assert "is damaged" in result.stderr
    assert (out / "report.html").exists()


def test_a_report_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run("paper", "sine", "--out", str(tmp_path / "file" / "out"))  # told before the work
    assert result.exit_code == 1
    assert result.stderr.startswith("The report could not be written")
    assert "Traceback" not in result.stderr


def test_without_the_extras(monkeypatch, capsys):
    from greville import cli

    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "greville.cli._app")
    monkeypatch.delitem(sys.modules, "greville.cli._paper", raising=False)
    with pytest.raises(SystemExit, match=r"pip install 'greville\[cli\]'"):
        cli.main()


def test_a_failed_worker_costs_one_experiment(tmp_path, monkeypatch):
    def fail(**settings):
        raise paper.WorkerError("A worker process failed: out of memory")

    monkeypatch.setattr(paper, "ecg", fail)
    result = run("paper", "ecg", "exactness", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert result.stderr == "ecg is left out: A worker process failed: out of memory\n"
    facts = json.loads((tmp_path / "results.json").read_text())
    assert list(facts["experiments"]) == ["exactness"]
    assert "ecg" in facts["skipped"]


# `python -m greville`, once Python itself is ready: an interrupt before that is not ours to handle.
READY = """
print("ready", flush=True)
import runpy
runpy.run_module("greville", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("wait", [0, 0.05, 0.3, 1.0])
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
    assert stderr == "Interrupted; no report was written.\n"
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


def test_an_interrupt_while_writing_keeps_the_old_report(tmp_path, monkeypatch):
    from greville.paper import _report

    result = paper.exactness()
    path = paper.write_report([result], tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(_report, "page", interrupted)
    with pytest.raises(KeyboardInterrupt):
        paper.write_report([paper.ecg(runs=1)], tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert path.exists()


# The report


def test_the_report_shows_the_numbers(results, report):
    """Every cell of every table, in the order it was told."""
    page = (report / "report.html").read_text()
    cells = [re.sub("<.*?>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", page)]
    told = [
        cell.replace("`", "").replace("&", "&amp;")
        for result in results
        for block in result.blocks()
        if isinstance(block, Table)
        for row in block.rows
        for cell in row
    ]
    assert cells[: len(told)] == told
    facts = json.loads((report / "results.json").read_text())
    assert facts["experiments"] == {result.name: result.numbers for result in results}
    assert sorted(facts["files"]) == sorted(file.name for file in report.iterdir())


def test_figures_do_not_change_by_themselves(results, tmp_path):
    for name in ("a", "b"):
        paper.write_report(results[1:2], tmp_path / name)
    for file in ("figure-2.svg", "figure-2.png"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_another_report_takes_the_place_of_the_first(results, tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    paper.write_report(results, tmp_path)
    paper.write_report(results[2:], tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"mine.txt", "report.html", "results.json"}


def test_somebody_elses_files_stay(results, tmp_path):
    (tmp_path / "results.json").write_text('{"mine": 1}')
    with pytest.raises(OSError, match="not from a report"):
        paper.write_report(results[2:], tmp_path)
    assert (tmp_path / "results.json").read_text() == '{"mine": 1}'
    (tmp_path / "other" / "report.html").mkdir(parents=True)
    with pytest.raises(OSError, match="is a folder"):
        paper.write_report(results[2:], tmp_path / "other")
    assert [file.name for file in (tmp_path / "other").iterdir()] == ["report.html"]


def test_the_report_needs_nothing_else(report):
    page = (report / "report.html").read_text()
    for link in re.findall(r'(?:src|href|srcset)="([^"]*)"', page):
        assert link.startswith(("#", "data:")), link
    assert "url(" not in page
    assert "@import" not in page
    assert "greville paper &lt;&amp;&gt;" in page
    assert "It is &lt;not&gt; there." in page
    for word in ("scikit-learn", "openblas", "numpy", "cpu"):
        assert word in page
    names = {file.name for file in report.iterdir()}
    assert {"report.html", "results.json", "figure-1.png", "figure-1.svg", "figure-2.svg"} <= names
    assert not any(name.startswith(".") for name in names)


CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

# The page in a frame as wide as a phone and in one as wide as a desk; what is wrong becomes text.
FRAMES = """<!doctype html><title>frames</title><body><script>
const told = [];
let left = 2;
for (const width of [390, 1200]) {
  const frame = document.createElement("iframe");
  frame.style.width = width + "px"; frame.style.height = "800px"; frame.style.border = 0;
  frame.onload = () => {
    const page = frame.contentDocument;
    const images = [...page.images];
    const broken = images.filter(image => !image.complete || !image.naturalWidth).length;
    told.push(`width ${width} images ${images.length} broken ${broken} ` +
              `over ${page.documentElement.scrollWidth - width} ` +
              `paper ${frame.contentWindow.getComputedStyle(page.body).backgroundColor}`);
    if (!--left) document.body.textContent = told.sort().join("\\n") + " end";
  };
  frame.src = "report.html";
  document.body.append(frame);
}
</script>"""


@pytest.fixture
def served(report):
    """The folder of the report on a server, and what is asked of it."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            super().do_GET()

        def log_message(self, *args):
            pass

    (report / "frames.html").write_text(FRAMES)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Handler, directory=str(report))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.mark.skipif(CHROMIUM is None, reason="install chromium to see the report in a browser")
@pytest.mark.parametrize("dark", [False, True])
def test_the_report_in_a_browser(served, tmp_path, dark):
    address, asked = served
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    seen = children.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--enable-logging=stderr", f"--user-data-dir={tmp_path}",
            "--virtual-time-budget=20000", *scheme, "--dump-dom", f"{address}/frames.html",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "CONSOLE" not in seen.stderr  # no errors, no warnings
    told = re.findall(
        r"width (\d+) images (\d+) broken (\d+) over (-?\d+) paper rgb\((\d+)", seen.stdout
    )
    assert [int(line[0]) for line in told] == [1200, 390]
    for _, images, broken, over, paper_red in told:
        assert (int(images), int(broken)) == (4, 0)
        assert int(over) <= 0  # nothing sticks out to the side
        assert (int(paper_red) < 100) == dark
    assert {path for path in asked if path != "/favicon.ico"} == {"/frames.html", "/report.html"}
