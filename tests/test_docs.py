"""What the README and the docs say."""

import json
import re
from pathlib import Path

import pytest

from greville.paper._result import power

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


def test_the_readme_quotes_the_reproduction():
    numbers = json.loads((ROOT / "docs/reproduction/results.json").read_text())["experiments"]
    readme = PAGES[0].read_text()
    for run in ("opium_60000", "light_60000", "opium_10000", "light_10000"):
        assert f"{numbers['mnist'][run]['error']:.2f} %" in readme
        assert f"{numbers['mnist'][run]['seconds']:.0f} s" in readme
    for solver in ("opium", "light", "dynamic"):
        assert power(numbers["sine"]["readings"]["long"][solver]["mean"]) in readme
