"""Certificates that rows were unlearned."""

import json

import numpy as np
import pytest

import greville
from greville import persistence
from greville.proof import Proof
from greville.tables import TableModel

from .houses import houses, write
from .runner import refused, run

pytestmark = pytest.mark.usefixtures("here")


@pytest.mark.parametrize("kind", [greville.ELMRegressor, greville.ELMClassifier])
def test_a_certificate_of_an_estimator(kind, rng):
    X = rng.normal(size=(700, 3))
    y = X[:, 0] * X[:, 1] if kind is greville.ELMRegressor else np.where(X[:, 0] > 0, "a", "b")
    model = kind(60, random_state=0).fit(X, y)
    greville.save(model, "before")
    proof = Proof(model)
    model.unlearn(X[:80], y[:80])
    found = proof.certify(model, (X[80:], y[80:]))
    greville.save(model, "after")
    for name in ("before", "after"):
        assert found[name] == persistence.read(name)[2]["checksum"]
    assert (found["rows before"], found["rows after"], found["rows removed"]) == (700, 620, 80)
    assert found["largest difference"] < 1e-9
    assert found["rows compared"] == 620
    with pytest.raises(ValueError, match="others: 619 rows, but the model knows 620"):
        proof.certify(model, (X[81:], y[81:]))
    # Rows that only look like learned ones: the numbers agree, the model does not.
    wrong = kind(60, random_state=0).fit(X, y)
    proof = Proof(wrong)
    wrong.unlearn(X[:80] * 0.99, y[:80])
    assert proof.certify(wrong, (X[80:], y[80:]))["largest difference"] > 1e-4


def test_a_certificate_of_the_command():
    kept, removed = houses(300), houses(40, seed=1)
    names = write(kept, "kept.csv"), write(removed, "removed.csv")
    run("train", *names, "-t", "price", "-o", "m", "-q")
    before = json.loads(run("info", "m", "--json")[0])["checksum"]
    run("unlearn", "m", "removed.csv", "--certificate", "proof.json", "--others", "kept.csv", "-q")
    with open("proof.json", encoding="utf8") as file:
        found = json.load(file)
    assert found["before"] == before
    assert found["after"] == json.loads(run("info", "m", "--json")[0])["checksum"] != before
    assert (found["rows removed"], found["rows after"]) == (40, 300)
    assert found["largest difference"] < 1e-8
    said = refused("unlearn", "m", "removed.csv", "--others", "kept.csv")
    assert said.startswith("--others: they are for --certificate")


def test_a_certificate_of_classes_in_a_table():
    table = houses(400).append_column("dear", [["yes", "no"] * 200])
    model = TableModel("dear", hidden=30).learn(table)
    proof = Proof(model)
    model.unlearn(table.slice(0, 50))
    found = proof.certify(model, table.slice(50))
    assert found["rows removed"] == 50
    assert found["largest difference"] < 1e-8
