"""Models of Dask collections against those of one machine."""

from __future__ import annotations

import pickle
from copy import copy, deepcopy

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import greville
from greville import ClassLayer, ContrastLayer, FourierLayer, RandomLayer, StackedLayer
from greville.dask import ELMClassifier, ELMRegressor, Greville, Opium

from .problems import N, frame, numbers

# Sizes of blocks: one, few and many, and uneven ones with an empty one.
CHUNKS = [N, 700, (1, 999, 0, 1500, 500)]


def blocks(A, chunks):
    return da.from_array(A, chunks=(chunks, *A.shape[1:]))


def assert_same(model, known, X):
    """The same predictions, epsilon, classes and units."""
    local = model.to_local()
    assert type(local) is type(known)
    assert local.n_samples_seen_ == known.n_samples_seen_
    assert local.n_features_in_ == known.n_features_in_
    if hasattr(known, "epsilon_"):
        assert local.epsilon_ == known.epsilon_
    mine, theirs = local.fitted_, known.fitted_
    for one, other in ((mine.hidden.scaling, theirs.hidden.scaling),):
        for a, b in ((one.centre, other.centre), (one.unit, other.unit)):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max())
    if hasattr(known, "classes_"):
        np.testing.assert_array_equal(local.classes_, known.classes_)
        one, other = local.decision_function(X), known.decision_function(X)
    else:
        one, other = local.predict(X), known.predict(X)
    np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10 * np.abs(other).max())


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("weighted", [False, True])
def test_regression_equals_that_of_one_machine(client, chunks, weighted):
    X, y, _, weight = numbers()
    hidden = 150 if chunks != 700 or weighted else "auto"
    known = greville.ELMRegressor(hidden, random_state=0).fit(X, y, weight if weighted else None)
    w = blocks(weight, chunks) if weighted else None
    model = ELMRegressor(hidden, random_state=0)
    model.fit(blocks(X, chunks), blocks(y, chunks), w)
    assert_same(model, known, X)


@pytest.mark.parametrize("chunks", CHUNKS)
def test_classification_equals_that_of_one_machine(client, chunks):
    X, _, labels, _ = numbers()
    known = greville.ELMClassifier(150, random_state=0).fit(X, labels)
    model = ELMClassifier(150, random_state=0)
    model.fit(blocks(X, chunks), blocks(labels, chunks))
    assert_same(model, known, X)
    lazy = model.predict_proba(blocks(X, 500))
    assert isinstance(lazy, da.Array)
    assert lazy.shape == (N, 3)
    np.testing.assert_allclose(lazy.compute(), known.predict_proba(X), atol=1e-9)
    assert list(model.predict(blocks(X, 500)).compute()) == list(known.predict(X))
    score = model.score(blocks(X, 500), blocks(labels, 300))
    assert score == pytest.approx(known.score(X, labels), abs=1e-12)


LAYERS = [
    RandomLayer(80),
    FourierLayer(80),
    ContrastLayer(80),
    ClassLayer(80),
    StackedLayer(RandomLayer(40), ContrastLayer(80)),
]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_layers_that_look_at_samples(client, layer, monkeypatch):
    """All rows at first, then a few of them at equal distances."""
    X, _, labels, _ = numbers()
    for most, chunks in ((N, CHUNKS[1]), (400, CHUNKS[2])):
        monkeypatch.setattr("greville.elm.starting._MOST_ROWS", most)
        known = greville.ELMClassifier(layer, random_state=0, standardize=True).fit(X, labels)
        model = ELMClassifier(layer, random_state=0, standardize=True)
        model.fit(blocks(X, chunks), blocks(labels, chunks))
        assert_same(model, known, X)


SOLVERS = ["opium", "greville", greville.Opium(0.1), greville.Opium("auto")]


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_solvers_of_estimators(client, solver):
    X, y, _, _ = numbers()
    known = greville.ELMRegressor(60, clone(solver, safe=False), random_state=0).fit(X, y)
    model = ELMRegressor(60, solver, random_state=0)
    assert_same(model.fit(blocks(X, 700), blocks(y, 700)), known, X)


def test_data_frames_keep_names_and_index(client):
    table, names = frame()
    known = greville.ELMClassifier(100, random_state=0)
    known.fit(table[names], table["label"], table["weight"])
    parts = dd.from_pandas(table, npartitions=4)
    model = ELMClassifier(100, random_state=0)
    model.fit(parts[names], parts["label"], parts["weight"])
    assert list(model.feature_names_in_) == names
    assert_same(model, known, table[names])
    proba = model.predict_proba(parts[names])
    assert list(proba.columns) == ["above", "left", "right"]
    found = client.compute(proba).result()
    np.testing.assert_array_equal(found.index, table.index)
    np.testing.assert_allclose(found, known.predict_proba(table[names]), atol=1e-9)
    predicted = model.predict(parts[names])
    assert isinstance(predicted, dd.Series)
    assert list(client.compute(predicted).result()) == list(known.predict(table[names]))
    score = model.score(parts[names], parts["label"], parts["weight"])
    expected = known.score(table[names], table["label"], table["weight"])
    assert score == pytest.approx(expected, abs=1e-12)


def test_unknown_divisions_and_lengths(client, tmp_path):
    """Parquet, a filter that leaves some partitions empty, and blocks whose length is unknown."""
    table, names = frame()
    table.assign(day=np.arange(N) // 500).to_parquet(
        tmp_path / "t.parquet", row_group_size=250, index=False
    )
    read = dd.read_parquet(tmp_path / "t.parquet", split_row_groups=1)
    assert not read.known_divisions
    some = read[(read["day"] != 2) & (read["x0"] > -1)]
    kept = table[(np.arange(N) // 500 != 2) & (table["x0"] > -1)]
    known = greville.ELMRegressor(80, random_state=0).fit(kept[names], kept["y"])
    model = ELMRegressor(80, random_state=0).fit(some[names], some["y"])
    assert_same(model, known, table[names])
    with dask.config.set({"optimization.tune.active": False}):  # as many blocks for both
        unknown = some[names].to_dask_array(), some["y"].to_dask_array()
    known = greville.ELMRegressor(80, random_state=0).fit(kept[names].to_numpy(), kept["y"])
    model = ELMRegressor(80, random_state=0).fit(*unknown)
    assert_same(model, known, table[names].to_numpy())
    score = model.score(*unknown)
    assert score == pytest.approx(known.score(kept[names].to_numpy(), kept["y"]), abs=1e-12)


def test_sparse_blocks(client):
    X, y, _, _ = numbers()
    X = np.where(np.abs(X) > 5, X, 0)
    known = greville.ELMRegressor(50, random_state=0).fit(sparse.csr_array(X), y)
    rows = blocks(X, 700).map_blocks(sparse.csr_array, meta=np.zeros((0, 0)))
    model = ELMRegressor(50, random_state=0).fit(rows, blocks(y, 700))
    assert_same(model, known, X)


def test_several_outputs_and_standard_deviations(client):
    X, y, _, _ = numbers()
    Y = np.column_stack([y, 1e6 * y + 1, np.cos(y)])
    known = greville.ELMRegressor(60, random_state=0).fit(X, Y)
    model = ELMRegressor(60, random_state=0).fit(blocks(X, 700), blocks(Y, 700))
    assert_same(model, known, X)
    predicted, std = model.predict(blocks(X, 900), return_std=True)
    expected = known.predict(X, return_std=True)
    for found, wanted in zip((predicted, std), expected, strict=True):
        np.testing.assert_allclose(found.compute(), wanted, rtol=1e-8, atol=1e-8)
    assert model.score(blocks(X, 700), blocks(Y, 700)) == pytest.approx(known.score(X, Y))
    frames = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    table = ELMRegressor(60, random_state=0).fit(
        frames, dd.from_pandas(pd.DataFrame(Y), npartitions=3)
    )
    assert table.predict(frames).compute().shape == (N, 3)


def test_float32_stays_float32(client):
    X, y, _, _ = numbers()
    X = (X / [1, 10, 1000, 1, 1e-3]).astype(np.float32)
    known = greville.ELMRegressor(60, random_state=0).fit(X.astype(float), y)
    model = ELMRegressor(60, random_state=0)
    model.fit(blocks(X, 700), blocks(y.astype(np.float32), 700))
    assert model.predict(blocks(X, 700)).dtype == np.float32
    np.testing.assert_allclose(model.predict(blocks(X, 700)).compute(), known.predict(X), atol=0.1)


def test_more_rows_and_fewer(client):
    """Tomorrow's rows are added, and those of today can be removed."""
    X, _, labels, _ = numbers()
    today, tomorrow = slice(0, 1800), slice(1800, N)
    known = greville.ELMClassifier(80, random_state=0).fit(X[today], labels[today])
    model = ELMClassifier(80, random_state=0)
    model.partial_fit(blocks(X[today], 500), blocks(labels[today], 500))
    assert_same(model, known, X)
    model.partial_fit(blocks(X[tomorrow], 500), blocks(labels[tomorrow], 500))
    known.partial_fit(X[tomorrow], labels[tomorrow]).choose()
    assert_same(model, known, X)
    model.unlearn(blocks(X[today], 700), blocks(labels[today], 700))
    known.unlearn(X[today], labels[today])
    assert model.epsilon_ == known.epsilon_
    assert model.n_samples_seen_ == N - 1800
    found = model.decision_function(blocks(X, 700)).compute()
    np.testing.assert_allclose(found, known.decision_function(X), atol=1e-7)


def test_labels_that_come_later(client):
    X, _, labels, _ = numbers()
    known = labels != "left"
    model = ELMClassifier(80, random_state=0)
    model.fit(blocks(X[known], 500), blocks(labels[known], 500))
    assert list(model.classes_) == ["above", "right"]
    model.partial_fit(blocks(X[~known], 300), blocks(labels[~known], 300), classes=["never"])
    assert list(model.classes_) == ["above", "left", "never", "right"]
    assert model.n_samples_seen_ == N


def test_models_that_were_trained_elsewhere_go_on(client):
    """Local rows and those of a cluster, in one model."""
    X, y, _, _ = numbers()
    model = ELMRegressor(80, random_state=0)
    model.fit(blocks(X[:2000], 500), blocks(y[:2000], 500))
    model.partial_fit(X[2000:], y[2000:])
    assert model.n_samples_seen_ == N
    assert isinstance(model.predict(X), np.ndarray)
    local = model.to_local()
    np.testing.assert_array_equal(local.predict(X), model.predict(X))
    local.partial_fit(X, y)
    assert model.n_samples_seen_ == N


def test_solvers_take_dask_arrays(client):
    X, y, _, _ = numbers()
    H = np.tanh(X[:, :3])
    for mine, theirs in (
        (Opium("auto", True), greville.Opium("auto", True)),
        (Opium(0.5), greville.Opium(0.5)),
        (Greville(), greville.Greville()),
    ):
        model, known = mine.fit(blocks(H, 700), blocks(y, 700)), theirs.fit(H, y)
        np.testing.assert_allclose(model.coef_, known.coef_, rtol=1e-10, atol=1e-10)
        assert model.coef_.shape == (3,)
        np.testing.assert_allclose(model.predict(blocks(H, 700)).compute(), known.predict(H))
        assert model.score(blocks(H, 700), blocks(y, 700)) == pytest.approx(known.score(H, y))
        model.unlearn(blocks(H[:500], 100), blocks(y[:500], 100))
        model.partial_fit(blocks(H[:500], 100), blocks(y[:500], 100))
        np.testing.assert_allclose(model.to_local().coef_, known.coef_, rtol=1e-8, atol=1e-8)


def test_without_a_cluster_threads_do_the_work():
    X, y, _, _ = numbers()
    known = greville.ELMRegressor(80, random_state=0).fit(X, y)
    for scheduler in ("threads", "synchronous"):
        with dask.config.set(scheduler=scheduler):
            model = ELMRegressor(80, random_state=0).fit(blocks(X, 500), blocks(y, 500))
            assert_same(model, known, X)


def test_columns_in_several_blocks(client):
    X, y, _, _ = numbers()
    known = greville.ELMRegressor(80, random_state=0).fit(X, y)
    model = ELMRegressor(80, random_state=0)
    rows = da.from_array(X, chunks=(700, 2))
    assert_same(model.fit(rows, da.from_array(y, chunks=1100)), known, X)
    np.testing.assert_allclose(model.predict(rows).compute(), known.predict(X), rtol=1e-9)


def test_predictions_are_lazy(client, tmp_path):
    read = tmp_path / "read"

    def load(block):
        read.write_text("yes")
        return block

    X, y, _, _ = numbers()
    model = ELMRegressor(50, random_state=0).fit(blocks(X, 700), blocks(y, 700))
    lazy = model.predict(blocks(X, 700).map_blocks(load, meta=X[:0]))
    assert not read.exists()
    client.compute(lazy).result()
    assert read.exists()


def test_number_of_walks_changes_nothing(monkeypatch):
    X, y, _, _ = numbers()
    known = greville.ELMRegressor(80, random_state=0).fit(X, y)
    for walks, chunks in ((1, 250), (3, 1000), (7, 250)):
        monkeypatch.setattr("dask.system.CPU_COUNT", walks)
        model = ELMRegressor(80, random_state=0)
        assert_same(model.fit(blocks(X, chunks), blocks(y, chunks)), known, X)


def test_copies_files_and_pickles(client, tmp_path):
    X, y, _, _ = numbers()
    for model in (ELMRegressor(20, random_state=0), Opium("auto")):
        model.fit(blocks(X, 700), blocks(y, 700))
        assert not hasattr(clone(model), "fitted_")
        for copied in (copy(model), deepcopy(model), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(copied.predict(X), model.predict(X))
        greville.save(model, tmp_path / "m.greville")
        loaded = greville.load(tmp_path / "m.greville")
        assert type(loaded) is type(model).local
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert (model + model).n_samples_seen_ == 2 * N
