"""The hidden layer of a table: chosen as by `ELMRegressor`, wherever the table comes from."""

import json

import numpy as np
import pandas as pd
import pytest

import greville
from greville import ELMRegressor, RandomLayer, TableLayer
from greville.tables import TableModel, TableRegressor

from ..runner import run


def table(rng, n):
    X = rng.normal(size=(n, 3)) * [1, 50, 1e-3]
    y = 3.0 * (X[:, 0] > 0.5) + np.abs(X[:, 1]) / 50 + 0.3 * rng.normal(size=n)
    return pd.DataFrame(X, columns=["a", "b", "c"]), y


@pytest.mark.parametrize("n", [60, 800, pytest.param(5000, marks=pytest.mark.full)])
def test_estimators_and_the_command_agree(rng, tmp_path, n):
    X, y = table(rng, n)
    size = ELMRegressor(random_state=0).fit(X.to_numpy(), y).hidden_.n_hidden_
    assert size == {60: 200, 800: 800, 5000: 1600}[n]
    model = TableRegressor().fit(X, y)
    hidden = model.model_.estimator.hidden_
    assert isinstance(hidden, TableLayer)
    assert hidden.n_hidden_ == size
    path, made = tmp_path / "t.csv", tmp_path / "m.greville"
    X.assign(y=y).to_csv(path, index=False)
    summary, _ = run("train", path, "--target", "y", "-o", made, "--json", "-q")
    assert json.loads(summary)["units"] == size
    assert isinstance(greville.load(made).estimator.hidden_, TableLayer)


def test_rows_without_a_target_do_not_count(rng):
    X, y = table(rng, 800)
    y[60:] = np.nan
    whole = TableModel("y", task="regression").learn(X.assign(y=y)).settle()
    some = TableModel("y", task="regression").learn(X.assign(y=y)[:60]).settle()
    assert whole.estimator.hidden_.n_hidden_ == some.estimator.hidden_.n_hidden_ == 200


def test_numbers_and_other_solvers_are_as_they_were(rng):
    X, y = table(rng, 800)
    for options, size in (
        ({"hidden": 70}, 70),
        ({"hidden": "inputs"}, 100),
        ({"solver": "dynamic"}, 420),
        ({"epsilon": 0.1}, 420),
    ):
        hidden = TableRegressor(**options).fit(X, y).model_.estimator.hidden_
        assert isinstance(hidden, RandomLayer)
        assert hidden.n_hidden_ == size
