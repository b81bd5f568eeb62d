"""`greville check`: what columns are, before anything is learned."""

import json

import numpy as np
import pyarrow as pa
import pytest

from greville.tables import look_at

from ..houses import houses, write
from ..runner import refused, run

pytestmark = pytest.mark.usefixtures("here")


def checked(*arguments):
    found = json.loads(run("check", *arguments, "--json")[0])
    return found, {column["name"]: column for column in found["columns"]}


def test_every_column_is_described(here):
    table = houses(200)
    write(table, "t.csv")
    found, columns = checked("t.csv", "--target", "price")
    assert (found["rows"], found["looked_at"]) == (200, 200)
    assert list(columns) == table.column_names
    assert columns["price"]["use"] == "target"
    assert "regression" in found["task"]
    city = columns["city"]
    assert city["inputs"] == city["different"] == len(set(table["city"].to_pylist()))
    assert set(city["examples"]) <= set(table["city"].to_pylist())
    area = table["area"].to_numpy()
    assert columns["area"]["missing"] == np.isnan(area).sum()
    assert float(columns["area"]["least"]) == pytest.approx(np.nanmin(area), rel=1e-5)
    assert columns["built"]["least"] == min(map(str, table["built"].to_pylist()))
    out, said = run("check", "t.csv", "--target", "price")
    assert "target: a number" in " ".join(out.split())
    assert "Traceback" not in said


def test_nothing_has_to_be_asked_for(here):
    write(houses(100), "t.csv")
    found, columns = checked("t.csv")
    assert found["task"] is None
    assert columns["price"]["use"] == "input"


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


def test_all_rows_are_sampled_and_counted(here):
    n = 10_000
    table = pa.table({"x": np.arange(n) * 0.5, "kind": ["a"] * (n // 2) + ["b"] * (n // 2)})
    write(table, "t.csv")
    found, columns = checked("t.csv")
    assert (found["rows"], found["looked_at"]) == (n, 4096)
    assert columns["kind"]["different"] == 2
    assert float(columns["x"]["most"]) > 4900


def test_options_and_columns_left_out(here):
    (here / "t.csv").write_text("a,b,y\n" + "".join(f"{i},x{i % 3},{i % 5}.5\n" for i in range(40)))
    _, columns = checked("t.csv", "--target", "y", "--ignore", "b")
    assert columns["b"]["use"] == "not used"
    _, columns = checked("t.csv", "--target", "y", "--categorical", "a", "--na", "7")
    assert columns["a"]["inputs"] == 39
    assert "no column 'z'" in refused("check", "t.csv", "--target", "z")


def test_from_python():
    table = pa.table({"x": range(50), "y": [0.5, 1.5] * 25})
    found = look_at(table.to_batches(), target="y")
    assert [column.use for column in found.columns] == ["input", "target"]
