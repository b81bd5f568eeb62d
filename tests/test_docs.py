"""The code, the commands, the links and the numbers in the README and the docs."""

import json
import os
import re
import shlex
import sys
import tomllib
from itertools import chain, groupby
from pathlib import Path

import numpy as np
import pytest

from greville.cli._app import COMMANDS
from greville.paper.result import scientific

from . import children
from .cli._outside import command
from .kernels import as_installed  # noqa: F401

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


# Without the page that needs a server: tests/serve/test_docs.py runs it
ALONE = [page for page in PAGES if page.name != "serve.md"]


def quick_is_the_readme(pages):
    """Parameters: the README is what every change is tested with."""
    full = pytest.mark.full
    return [
        pytest.param(page, id=page.name, marks=() if page.name == "README.md" else full)
        for page in pages
    ]


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("page", quick_is_the_readme(ALONE))
def test_python_in_the_docs_runs(page, capsys):
    if page.name == "river.md":
        pytest.importorskip("river")
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(code, page.name, "exec"), {})


def test_the_readme_has_an_example():
    assert "```python" in PAGES[0].read_text()


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_readme_quotes_the_reproduction():
    numbers = json.loads((ROOT / "docs/reproduction/results.json").read_text())["experiments"]
    readme = PAGES[0].read_text()
    run = numbers["mnist"]["opium_60000"]
    assert f"{run['error']:.2f} % errors in {run['seconds']:.0f} s" in readme
    assert scientific(numbers["sine"]["readings"]["long"]["dynamic"]["mean"]) in readme


# What needs no environment of its own, and does not take minutes
RUNNABLE = re.compile(r"^(greville (?!paper\b|serve\b|--)|cat |gzip |head |printf )")


# In one interpreter, since Dask's threads do not go with a fork. The workers are threads of it:
# tests/dask/test_command.py has those that are processes.
WITH_WORKERS = """
import shlex, sys
import distributed
from greville.cli._app import app

start = distributed.LocalCluster
distributed.LocalCluster = lambda **options: start(**options | {"processes": False})
for line in sys.argv[1:]:
    app(shlex.split(line)[1:], standalone_mode=False)
"""


def run_line(line, outputs):
    """A line of the docs: commands with pipes between them, and files at the ends."""
    with open(os.devnull, "rb") as nothing:
        given = nothing
        for stage in line.split(" | "):
            words = shlex.split(stage, comments=True)
            out = Path(outputs) / f"{len(os.listdir(outputs))}"
            for mark in ("<", ">"):
                if mark in words:
                    at = words.index(mark)
                    if mark == "<":
                        given = open(words[at + 1], "rb")  # noqa: SIM115
                    else:
                        out = Path(words[at + 1])
                    del words[at : at + 2]
            with out.open("wb") as file:
                if words[0] == "greville":
                    numbers = (each.fileno() for each in (given, file, sys.__stderr__))
                    code = children.exit_code(command(words[1:], *numbers))
                else:
                    code = children.run(words, stdin=given, stdout=file, check=False).returncode
            given.close()
            assert code == 0, (line, code)
            given = out.open("rb")
        given.close()


ECG = "src/greville/datasets/ecg.npz"

# Pages with commands, and how many there are at least
WITH_COMMANDS = {
    "README.md": 5,
    "docs/cli.md": 19,
    "docs/forecasting.md": 1,
    "docs/merging.md": 2,
    "docs/streams.md": 3,
    "docs/tutorial.md": 4,
    "docs/unlearning.md": 2,
    "docs/when-not.md": 1,
}


@pytest.mark.usefixtures("as_installed")
@pytest.mark.posix("a POSIX shell")
@pytest.mark.parametrize("page", quick_is_the_readme(ROOT / name for name in WITH_COMMANDS))
def test_commands_in_the_docs_run(page, tmp_path, monkeypatch):
    """All of them, one after the other, in a folder that has what a clone has; a shorter ECG."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "outputs").mkdir()
    data = tmp_path / ECG
    data.parent.mkdir(parents=True)
    np.savez(data, ecg=np.load(ROOT / ECG)["ecg"][:400])
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in re.sub(r"\|\n\s*", "| ", block).splitlines()]
    lines = [line for line in lines if RUNNABLE.match(line)]
    assert len(lines) >= WITH_COMMANDS[page.relative_to(ROOT).as_posix()]
    for with_workers, some in groupby(lines, lambda line: "--workers" in line):
        if with_workers:
            children.run([sys.executable, "-c", WITH_WORKERS, *some])
        else:
            for line in some:
                run_line(line, tmp_path / "outputs")


def test_the_docs_name_every_command():
    text = (ROOT / "docs/cli.md").read_text()
    assert all(f"`{name}`" in text for name in COMMANDS)


def test_every_lower_bound_is_tested():
    """`make test-lowest` installs what pyproject.toml declares."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    bare = [re.sub(r"\[.*\]|;.*", "", line) for line in declared]
    bounds = dict(line.split(">=") for line in bare if ">=" in line)
    assert len(bounds) > 8
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    lowest = dict(line.split("==") for line in lines if not line.startswith("#"))
    for name, bound in bounds.items():  # 2.0 is 2.0.0
        if name in NOT_LOWEST:
            continue
        assert f"{lowest[name]}.0".startswith(f"{bound}.0"), name
    for line in declared:
        name = re.match(r"[\w-]+", line)[0]
        assert name in bounds or name == "greville" or line in UNBOUNDED, line


# torch: the lowest version is for GPUs, takes gigabytes, and is tested on a machine that has one.
# river: every version that runs on NumPy 2 needs a newer SciPy than the lowest.
NOT_LOWEST = {"river", "torch"}

# Tools of the tests and of the site, for which no lowest version is promised
UNBOUNDED = {
    "array-api-strict",
    "onnxruntime",
    "httpx2",
    "hypothesis",
    "import-linter",
    "mypy",
    "myst-parser",
    "numpydoc",
    "pandas",
    "playwright",
    "polars",
    "pydata-sphinx-theme",
    "pytest-xdist",
    "ruff",
    "sphinx",
    "sphinx-copybutton",
    "sphinx-design",
    "sphinx-gallery",
}
