"""The page about a model, as a command writes it."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from ..runner import refused, run

EVIL = '<script>alert("x")</script>'


def table(path, rng, n=400):
    """A number, a category with markup in its name, a flag, a date; and a number or a class."""
    x, city = rng.normal(size=n), rng.choice(["Bonn", EVIL.replace('"', "'"), "Ulm"], n)
    flag = rng.random(n) < 0.5
    day = np.datetime64("2024-01-01") + rng.integers(0, 300, n)
    y = 3 * x + (city == "Ulm") + flag + 0.1 * rng.normal(size=n)
    rows = [
        f'{a:.4f},"{c}",{str(f).lower()},{d},{v:.4f},{"high" if v > 1 else "low"}'
        for a, c, f, d, v in zip(x, city, flag, day, y, strict=True)
    ]
    path.write_text("\n".join([f"x $a^b$,{EVIL.replace(chr(34), '')},flag,day,y,kind", *rows]))


class Page(HTMLParser):
    """Tags that are open, and addresses that a browser would fetch."""

    def __init__(self, path):
        super().__init__()
        self.open, self.fetched, self.tags = [], [], []
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            outside = value and not value.startswith(("#", "data:"))
            if name in ("src", "href", "xlink:href") and outside:
                self.fetched.append(value)


@pytest.mark.parametrize("task", ["y", "kind"])
def test_a_page_after_training(task, here, rng):
    table(here / "t.csv", rng)
    other = "kind" if task == "y" else "y"
    run("train", "t.csv", "--target", task, "--ignore", other, "--report", "page.html")
    page = Page(here / "page.html")
    assert not page.fetched
    assert "script" not in page.tags
    assert page.tags.count("svg") == 2 + 1 + 5
    assert "each predicted as if it had not been learned" in page.text
    assert "a linear model, each row left out" in page.text
    assert "prefers-color-scheme: dark" in page.text
    ids = re.findall(r'<clipPath id="([^"]+)"', page.text)
    assert len(ids) == len(set(ids))


def test_a_page_of_rows_that_were_held_out_or_are_new(here, rng):
    table(here / "t.csv", rng)
    options = ("--target", "y", "--ignore", "kind", "--test", "0.3", "-o", "m.greville")
    run("train", "t.csv", *options, "--report", "page.html")
    held_out = re.search(r"<p>(\d+) rows, taken as new", Page(here / "page.html").text)
    assert 60 < int(held_out[1]) < 180
    out, err = run("explain", "m.greville", "t.csv", "-o", "new.html")
    assert "The page is in new.html" in err
    assert "x $a^b$" in out
    assert "taken as new" in (here / "new.html").read_text()
    run("train", "t.csv", "--target", "y", "--ignore", "kind", "-o", "m.greville")
    run("explain", "m.greville", "t.csv", "-o", "new.html", "--learned")
    assert "as if it had not been learned" in (here / "new.html").read_text()


def test_solvers_without_sums_have_a_page(here, rng):
    table(here / "t.csv", rng)
    run("train", "t.csv", "--target", "y", "--solver", "light", "-o", "m.greville")
    run("explain", "m.greville", "t.csv", "-o", "page.html", "--learned")
    assert "taken as new" in (here / "page.html").read_text()


def test_the_command_without_rows(here, rng):
    table(here / "t.csv", rng)
    run("train", "t.csv", "--target", "y", "--ignore", "kind", "-o", "m.greville")
    found = json.loads(run("explain", "m.greville", "--json")[0])["importance"]
    assert next(iter(found)) == "x $a^b$"
    assert set(found["flag"]) == {"evidence", "error"}
    assert "a page needs rows" in refused("explain", "m.greville", "-o", "p.html")
    run("train", "t.csv", "--target", "y", "-o", "light.greville", "--solver", "light")
    assert "name files of rows" in refused("explain", "light.greville")
    assert "does not exist" in refused("explain", "m.greville", "t.csv", "-o", "no/p.html")
    assert "a pipe cannot be read twice" in refused(
        *("train", "-", "--target", "y", "--report", "p.html"), stdin="x,y\n1,2\n"
    )
    assert not (here / "p.html").exists()


def test_why_beside_predictions(here, rng):
    table(here / "t.csv", rng)
    run("train", "t.csv", "--target", "kind", "--ignore", "y", "-o", "m.greville")
    run("predict", "m.greville", "t.csv", "--why", "-o", "out.csv")
    header, first = (here / "out.csv").read_text().splitlines()[:2]
    assert header.endswith(",prediction,why")
    assert re.search(r"x \$a\^b\$ [+-][0-9.e-]+;", first)
