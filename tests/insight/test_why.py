"""Shares of columns, and the influence of rows."""

from copy import copy

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from greville import (
    ELMClassifier,
    ELMRegressor,
    FourierLayer,
    LinearRegressor,
    Opium,
    OpiumLight,
    PatchLayer,
    RandomLayer,
    TableLayer,
    TableRegressor,
)
from greville.tables import Batch

LAYERS = [
    *(
        RandomLayer(30, activation=a, bias=True, random_state=0)
        for a in ("tanh", "sigmoid", "relu")
    ),
    *(RandomLayer(30, activation=a, random_state=0) for a in ("cos", "sin", "identity")),
    FourierLayer(31, random_state=0),
    TableLayer(60, random_state=0),
    None,
]


def rows(rng, n=300):
    X = rng.normal(size=(n, 4)) * [1, 3, 0.2, 1] + [0, 5, 0, 2]
    return X, 3 * np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_shares_are_integrals_of_derivatives_and_add_up(layer, rng):
    X, y = rows(rng)
    model = LinearRegressor() if layer is None else ELMRegressor(layer, standardize=True)
    model = model.fit(X, np.c_[y, 100 * y**2 + 5])
    why = model.why(X[:5], X)
    assert why.base + why.shares.sum(axis=1) == pytest.approx(model.predict(X[:5]), rel=1e-9)
    mean, way = X.mean(axis=0), (np.arange(4000) + 0.5) / 4000
    points = mean + way[:, None] * (X[0] - mean)
    for j in range(4):
        step = np.zeros(4)
        step[j] = 1e-5
        slopes = (model.predict(points + step) - model.predict(points - step)) / 2e-5
        expected = slopes.mean(axis=0) * (X[0, j] - mean[j])
        assert abs(why.shares[0, j] - expected).max() < 1e-3 * abs(why.shares[0]).max() + 1e-6


def test_the_mean_row_has_no_shares(rng):
    X, y = rows(rng)
    model = ELMRegressor(30, random_state=0).fit(X * 100, y)
    why = model.why((X * 100).mean(axis=0)[None])
    assert abs(why.shares).max() < 1e-9
    assert why.largest(0, 2)[0][0] in "0123"


def test_layers_that_are_more_are_refused(rng):
    X = rng.uniform(size=(60, 64))
    model = ELMRegressor(PatchLayer((8, 8), 4, random_state=0)).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="PatchLayer is not one"):
        model.why(X[:2])


def table_of(rng, n=500):
    city = rng.choice(["Bonn", "Kiel", "Ulm"], n)
    frame = pd.DataFrame(
        {"area": rng.uniform(30, 200, n), "city": city, "noise": rng.normal(size=n)}
    )
    return frame, 3 * frame["area"] + 200 * (city == "Ulm")


def test_columns_of_tables(rng):
    frame, y = table_of(rng)
    model = TableRegressor().fit(frame, y).model_
    some = frame[:20].copy()
    some.loc[[3, 7], "city"] = ["Atlantis", None]  # never learned: the most common one
    record = pa.RecordBatch.from_pandas(some, preserve_index=False)
    batch = Batch(record, "rows", np.arange(20), 1.0)
    why, wrong = model.why(batch)
    assert not wrong
    assert why.names == ("area", "city", "noise")
    total = why.base[0] + why.shares[:, :, 0].sum(axis=1)
    assert total == pytest.approx(model.predict(batch), rel=1e-9)
    expected = 3 * (frame["area"][:20] - frame["area"].mean())
    assert abs(why.shares[:, 0, 0] - expected).mean() < 0.05 * y.std()
    assert why.largest(0, 1)[0][0] in ("area", "city")
    assert abs(why.shares[:, 2, 0]).max() < 0.1 * y.std()


@pytest.mark.parametrize(
    "solver", [Opium(0.5), Opium(0.5, intercept=True), Opium("auto", intercept=True)], ids=str
)
def test_the_influence_of_a_row_is_what_unlearning_it_does(solver, rng):
    X, y = rows(rng, 80)
    Y = np.c_[y, 1000 - 50 * y**2]
    model = ELMRegressor(RandomLayer(20, random_state=0), solver, standardize=True).fit(X, Y)
    fixed = ELMRegressor(RandomLayer(20, random_state=0), standardize=True)
    fixed.solver = Opium(model.epsilon_, intercept=solver.intercept)
    fixed.fit(X, Y)
    found = model.influence(X[3] + 0.1, X, Y)
    for i in (0, 17):
        less = copy(fixed).unlearn(X[i : i + 1], Y[i : i + 1])
        without = fixed.predict(X[3:4] + 0.1) - less.predict(X[3:4] + 0.1)
        assert found[i] == pytest.approx(without[0], rel=1e-6, abs=1e-9)


def test_influence_on_classes_and_refusals(rng):
    X, y = rows(rng, 60)
    model = ELMClassifier(10, random_state=0).fit(X, (y > 5).astype(int))
    assert model.influence(X[0], X, (y > 5).astype(int)).shape == (60, 2)
    with pytest.raises(ValueError, match="never learned"):
        model.influence(X[0], X, np.full(60, 7))
    light = ELMRegressor(10, OpiumLight(), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="does not keep the sums"):
        light.influence(X[0], X, y)
