"""What is released: its version, its files, and the workflows that test and upload it."""

import re
import runpy
import tomllib
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path

import pytest

import greville

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
full = pytest.mark.full  # for those that read YAML, too
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def parsed(name):
    import yaml

    return yaml.safe_load(read(name))


def jobs():
    for path in WORKFLOWS:
        for name, job in parsed(path)["jobs"].items():
            yield f"{path.name}: {name}", job


def commands():
    """What the workflows run."""
    for name, job in jobs():
        for step in job["steps"]:
            if "run" in step:
                yield name, step["run"]


def test_there_is_one_version():
    cited = re.search(r"^version: (.+)$", read("CITATION.cff"), re.MULTILINE)
    assert cited[1] == greville.__version__
    newest = re.search(r"^## (\S+) \((.+)\)$", read("CHANGELOG.md"), re.MULTILINE)
    assert newest[1] == greville.__version__
    assert newest[2] == "unreleased" or re.fullmatch(r"\d{4}-\d\d-\d\d", newest[2])


@full
def test_the_citation_has_what_its_format_requires():
    citation = parsed("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["license"] == PROJECT["project"]["license"]
    [paper] = citation["references"]
    assert citation["preferred-citation"] == paper
    assert [author["family-names"] for author in paper["authors"]] == ["van Schaik", "Tapson"]


def test_types_are_for_users_too():
    assert (Path(greville.__file__).parent / "py.typed").is_file()
    assert "Typing :: Typed" in PROJECT["project"]["classifiers"]


@full
def test_workflows_run_targets_of_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    named = {
        word
        for _, command in commands()
        for words in re.findall(r"^make (.+)$", command, re.MULTILINE)
        for word in words.split()
        if re.fullmatch(r"[a-z-]+", word)
    }
    assert named >= {"check", "test", "test-lowest", "dist"}
    assert not named - targets


def test_the_makefile_declares_its_targets():
    """A file or folder of the same name, such as docs, does not keep `make` from running one."""
    makefile = read("Makefile")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    declared = set(re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split())
    assert declared == targets


@full
def test_workflows_test_what_is_supported():
    prefix = "Programming Language :: Python :: "
    versions = [each.removeprefix(prefix) for each in PROJECT["project"]["classifiers"]]
    versions = [each for each in versions if re.fullmatch(r"\d\.\d+", each)]
    matrix = parsed(".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == versions
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"
    assert {image.partition("-")[0] for image in matrix["os"]} == {"ubuntu", "macos", "windows"}


@full
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_are_careful(path):
    """Pinned actions, few rights, limits of time; no text of others in a command."""
    text, content = read(path), parsed(path)
    assert content["permissions"] in ({}, {"contents": "read"})
    assert "concurrency" in content
    for job in content["jobs"].values():
        assert job["timeout-minutes"] <= 120
        assert "latest" not in job["runs-on"]
    for action in re.findall(r"uses: (.+)", text):
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    for _, command in commands():
        assert not re.search(r"\$\{\{(?! *matrix\.)", command), command


def test_the_description_has_no_link_that_leads_nowhere():
    shorten = _hook()["without_relative_links"]
    assert shorten("a [b](docs/c.md), [d](https://e.f)\n") == "a b, [d](https://e.f)\n"
    assert shorten("a\n\n![b](c.png)\n\nd\n") == "a\n\nd\n"
    assert not re.search(r"\]\((?!https?://)", shorten(read("README.md")))


def _hook():
    pytest.importorskip("hatchling")
    return runpy.run_path(str(ROOT / "hatch_build.py"))


def included(name):
    """Whether the source distribution has a file or folder of the root."""
    patterns = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    return any(fnmatch(f"/{name}", each) for each in patterns)


def test_the_source_distribution_has_what_tests_read():
    """Every file and folder at the root that a test or a recipe names."""
    sources = chain((ROOT / "tests").rglob("*.py"), [ROOT / "Makefile", ROOT / ".ci" / "run"])
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    here = {path.name for path in ROOT.iterdir()}
    ignored = set(read(".gitignore").split()) | {".git", "dist", "build"}
    named = {
        name
        for name in here
        if re.search(rf"[\"'/ ]{re.escape(name)}\b", text)
        and not any(fnmatch(name, each.strip("/")) for each in ignored)
    }
    assert named >= {"docs", "examples", "benchmarks", "src", "README.md", "pyproject.toml"}
    missing = {name for name in named if not included(name)}
    assert missing <= {"pyproject.toml"}  # which hatchling adds itself


def test_the_image_of_the_server_has_what_a_build_reads():
    """The Dockerfile copies all that hatchling reads, and .dockerignore leaves it there."""
    copied = re.findall(
        r"^COPY (.+) /tmp/greville", read("examples/serve/Dockerfile"), re.MULTILINE
    )
    needed = {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "src"}
    assert needed <= {name for names in copied for name in names.split()}
    assert not needed & set(read(".dockerignore").split())
