"""What would be wrong in silence, and is said."""

import json

import numpy as np
import pandas as pd
import pytest

from greville import TableRegressor
from greville.tables import TableModel

from ..runner import refused, run

pytestmark = pytest.mark.usefixtures("here")


def test_columns_that_only_later_files_have(here):
    (here / "1.csv").write_text("x,y\n1,2.5\n2,4.5\n3,6.5\n")
    (here / "2.csv").write_text("x,z,y\n1,1,5.5\n2,1,7.5\n3,2,12.5\n")
    said = run("train", "1.csv", "2.csv", "--target", "y")[1]
    assert "2.csv has the column 'z', which the first file does not have" in said
    assert "'z'" in refused("train", "2.csv", "1.csv", "--target", "y")
    assert "'z'" in run("check", "1.csv", "2.csv")[1]


def test_gaps_that_no_learned_row_has(here):
    rows = "".join(f"{i},{'ab'[i % 2]},{2 * i}.5\n" for i in range(60))
    (here / "t.csv").write_text("x,kind,y\n" + rows)
    (here / "q.csv").write_text("x,kind\n7,a\n,a\n,b\n")
    run("train", "t.csv", "--target", "y", "-q")
    said = "2 rows have values of 'x' that were never learned: none at all"
    assert said in run("predict", "model.greville", "q.csv")[1]
    (here / "q.csv").write_text("x,kind\n7,a\n")
    assert "never learned" not in run("predict", "model.greville", "q.csv")[1]


@pytest.mark.full
def test_series_with_a_row_of_totals_or_a_slip(here):
    days = [str(day)[:10] for day in pd.date_range("2020-01-01", periods=60)]
    values = [10 + np.sin(i) for i in range(60)]
    lines = [f"{day},{value:.3f}" for day, value in zip(days, values, strict=True)]
    (here / "total.csv").write_text("\n".join(["day,v", *lines, f"Total,{sum(values):.3f}"]))
    said = run("forecast", "total.csv", "--column", "v", "--time", "day")[1]
    assert "a last row is left out: it is the total of the others (Total)" in said
    lines[30] = f"{days[30]},1e12"
    (here / "slip.csv").write_text("\n".join(["day,v", *lines]))
    notes = json.loads(run("forecast", "slip.csv", "--column", "v", "--json")[0])["notes"]
    assert any("very far from the others, such as 1e+12" in note for note in notes)
    lines[30] = f"{days[30]},-999"
    lines[40] = f"{days[40]},-999"
    (here / "gap.csv").write_text("\n".join(["day,v", *lines]))
    notes = json.loads(run("forecast", "gap.csv", "--column", "v", "--json")[0])["notes"]
    assert any("-999" in note and "missing value" in note for note in notes)


def test_estimators_warn_and_tell():
    n = 60
    frame = pd.DataFrame(
        {"day": [f"{1 + i % 12:02d}/{1 + i % 11:02d}/2020" for i in range(n)], "kind": ["a"] * n}
    )
    frame["x"] = np.arange(n) / 7
    with pytest.warns(UserWarning, match="can be read in two ways"):
        model = TableRegressor(hidden=20).fit(frame, frame["x"] * 2)
    assert {finding.column for finding in model.findings_} >= {"day", "kind"}
    frame.loc[3, "x"] = np.nan
    with pytest.warns(UserWarning, match="value of 'x' that was never learned: none at all"):
        model.predict(frame)


def test_a_single_row_without_a_target():
    model = TableModel("y", task="regression")
    for i in range(50):
        model.learn_one({"x": i / 10, "kind": "ab"[i % 2], "y": i / 5})
    model.predict_one({"x": 2.5, "kind": "a"})  # the last rows are learned here
    before = model.predict_one({"x": 2.5, "kind": "a"})
    model.learn_one({"x": 2.5, "kind": "a"})
    model.learn_one({"x": 2.5, "kind": "new"})
    assert model.predict_one({"x": 2.5, "kind": "a"}) == before
    assert model.n_rows == 50
