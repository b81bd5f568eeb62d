"""What the README and the docs say."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_the_docs_runs(page, capsys):
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(code, page.name, "exec"), {})


def test_the_readme_has_an_example():
    assert "```python" in PAGES[0].read_text()


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_demo_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    code = (ROOT / "examples" / "demo.py").read_text()
    exec(compile(code, "demo.py", "exec"), {"__name__": "__main__"})
    assert (tmp_path / "demo.png").stat().st_size > 10_000
    rows = {
        line[:16].strip(): line[16:].split()[:3] for line in capsys.readouterr().out.split("\n")
    }
    at_the_end = {name: float(rows[name][2]) for name in ("OPIUM", "OPIUM light", "dynamic OPIUM")}
    assert at_the_end["dynamic OPIUM"] < 1e-6 < at_the_end["OPIUM light"] < at_the_end["OPIUM"]
