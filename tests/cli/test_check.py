"""`greville check`: what columns are, before anything is learned."""

import json

import numpy as np
import pytest

from ..runner import refused, run

pytestmark = pytest.mark.usefixtures("here")


def checked(*arguments):
    found = json.loads(run("check", *arguments, "--json")[0])
    return found, {column["name"]: column for column in found["columns"]}


def test_every_cell_is_read(here):
    """Also far behind the rows from which the types come."""
    rng = np.random.default_rng(0)
    cells = [f"{x:.4f}" for x in rng.normal(size=60_000)]
    y = [f"{x:.2f}" for x in rng.uniform(size=60_000)]
    cells[58_999], cells[20_000], y[-1] = "bad", "99.5", ""
    lines = [f"{a},{b}" for a, b in zip(cells, y, strict=True)]
    (here / "t.csv").write_text("a,y\n" + "\n".join(lines) + "\n")
    found, columns = checked("t.csv", "--target", "y")
    assert (found["rows"], found["looked_at"]) == (60_000, 60_000)
    assert columns["a"]["most"] == "99.5"
    assert columns["y"]["missing"] == 1
    (wrong,) = (finding for finding in found["findings"] if finding["kind"] == "wrong")
    said = refused("train", "t.csv", "--target", "y", "--hidden", "20")
    assert said.startswith("t.csv, line 59,001: column 'a' should be a number, got 'bad'; fix it")
    assert wrong["message"].startswith(said.partition("; fix it")[0])
    assert "--on-error skip" in wrong["message"]


def test_what_train_will_say_is_said_before(here):
    rows = ["n,day,amount,code,y"]
    rows += [
        f'{i},{1 + i % 28:02d}.{1 + i % 12:02d}.2021,"{i},5",0{i % 7},{i % 11 + 0.5}'
        for i in range(80)
    ]
    (here / "t.csv").write_text("\n".join(rows))
    found, columns = checked("t.csv", "--target", "y")
    kinds = {(finding["column"], finding["kind"]) for finding in found["findings"]}
    assert ("amount", "written numbers") in kinds
    assert float(columns["amount"]["most"]) == 79.5
    assert columns["day"]["least"] == "2021-01-01"
    assert columns["code"]["inputs"] == 7
    trained = json.loads(run("train", "t.csv", "--target", "y", "--json")[0])
    assert trained["findings"] == found["findings"]
    said = run("train", "t.csv", "--target", "y")[1]
    for finding in found["findings"]:
        assert finding["message"] in said
