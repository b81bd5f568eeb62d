"""What `train` says about how good the model is."""

import json

import numpy as np
import pyarrow as pa
import pytest

from greville.cli import _training
from greville.tables import Holdout, TableModel, _sample, evaluation

from ..houses import houses, write
from ..runner import refused, run

pytestmark = pytest.mark.usefixtures("here")


def trained(*more):
    out, said = run("train", "t.csv", *more, "--json")
    return json.loads(out), said


def test_leaving_out_is_learning_without_the_row(here):
    table = houses(60)
    write(table, "t.csv")
    scores = trained("--target", "price", "--hidden", "20", "--epsilon", "0.1")[0]["score"]
    assert scores["how"] == "leave-one-out"
    assert scores["rows"] == 60
    model = TableModel("price", hidden=20, epsilon=0.1).learn(table)
    errors = []
    for i in range(60):  # the columns and units of all rows, and one row unlearned
        other, row = model.twin(), table.slice(i, 1)
        other.unlearn(row)
        errors.append(other.predict(row)[0] - row["price"][0].as_py())
    assert scores["rmse"] == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-6)
    assert scores["target_std"] == pytest.approx(np.std(table["price"].to_numpy()))
    assert "Leave-one-out, 60 rows: RMSE" in run("train", "t.csv", "--target", "price")[1]


def test_many_rows_are_thinned_out(here, monkeypatch):
    monkeypatch.setattr(evaluation, "_ROWS_LEFT_OUT", 100)
    write(houses(350), "t.csv")
    scores = trained("--target", "price")[0]["score"]
    assert 50 <= scores["rows"] <= 100
    assert scores["r2"] > 0.5


def test_classes_beside_the_most_frequent_one(here):
    table = houses(300)
    middle = np.median(table["price"].to_numpy())
    kind = ["dear" if p > middle else "cheap" for p in table["price"].to_pylist()]
    write(table.drop(["price"]).append_column("kind", pa.array(kind)), "t.csv")
    found, said = trained("--target", "kind")
    scores = found["score"]
    share = max(kind.count("dear"), kind.count("cheap")) / 300
    assert scores["most_frequent_class"] == pytest.approx(share)
    assert scores["accuracy"] > share
    assert f"(predicting the most frequent class: {share:.3g})" in said


def test_rows_held_out_are_not_learned(here):
    table = houses(500)
    write(table, "t.csv")
    found, said = trained("--target", "price", "--test", "0.2")
    held = _sample.uniform(0, 500, _sample.HELD_OUT) < 0.2
    assert found["rows"] == 500 - held.sum()
    assert found["score"]["rows"] == held.sum() == pytest.approx(100, abs=30)
    assert f"On {held.sum()} rows that were held out: RMSE" in said
    model = TableModel("price").learn(table.filter(pa.array(~held))).choose()
    errors = model.predict(table.filter(pa.array(held))) - table["price"].to_numpy()[held]
    assert found["score"]["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-6)


@pytest.mark.full
def test_files_and_batches_do_not_change_what_is_held_out(here):
    table = houses(500)
    write(table.slice(0, 123), "a.csv")
    write(table.slice(123), "b.csv")
    write(table, "t.csv")
    one = trained("--target", "price", "--test", "0.3")[0]
    out, _ = run("train", "a.csv", "b.csv", "--target", "price", "--test", "0.3", "--json")
    assert json.loads(out)["score"]["rmse"] == pytest.approx(one["score"]["rmse"], rel=1e-9)


def test_other_solvers_predict_chunks_first(here, monkeypatch):
    write(houses(400), "t.csv")
    more = ("--target", "price", "--solver", "light", "--hidden", "20")
    found, said = trained(*more)
    assert found["score"] is None
    assert "pass --test 0.2" in said
    monkeypatch.setattr(_training, "_ROWS_PER_UPDATE", 100)
    monkeypatch.setattr("greville.tables.model.FIRST_ROWS", 100)
    scores = trained(*more)[0]["score"]
    assert (scores["how"], scores["rows"]) == ("before learning", 300)


def test_shares_that_are_none(here):
    write(houses(50), "t.csv")
    assert "--test" in refused("train", "t.csv", "--target", "price", "--test", "1")
    with pytest.raises(ValueError, match=r"test=-0\.1"):
        Holdout(-0.1)
    message = refused("train", "-", "--target", "price", "--test", "0.5")
    assert "cannot be read twice" in message


def test_rows_that_the_model_learned_are_no_test(here):
    table = houses(300)
    write(table.slice(0, 200), "t.csv")
    write(table.slice(200), "other.csv")
    trained("--target", "price", "-o", "m.greville")
    said = "Warning: the model has learned these rows"
    assert said in run("score", "m.greville", "t.csv")[1]
    assert said in run("score", "m.greville", "t.csv", "--prequential")[1]
    assert said not in run("score", "m.greville", "other.csv")[1]
