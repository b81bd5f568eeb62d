"""Workers that die, and arguments that cannot be learned from."""

from __future__ import annotations

import os
import signal
import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import greville
from greville.dask import ELMClassifier, ELMRegressor, Opium

from .problems import N, frame, numbers


@pytest.mark.full
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
def test_workers_are_killed_in_the_middle_of_a_fit(cluster, client, tmp_path, monkeypatch):
    """The model is that of a fit which nobody disturbed: no row is lost, and none counts twice.

    20 workers are killed, in all parts of the fit: with each second block when it is loaded to be
    looked at, and again when its rows are added to the sums of others. Each has a successor.
    """

    def fatal(block, block_info):  # in here, so that workers need not import this file
        i = block_info[0]["chunk-location"][0]
        for k in range(2 if i % 2 else 0):
            death, loaded = tmp_path / f"{i} died {k}", tmp_path / f"{i} loaded {k}"
            if not death.exists():
                death.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            if not loaded.exists():
                loaded.touch()
                break
        return block

    X, y, _, _ = numbers()
    known = greville.ELMRegressor(60, random_state=0).fit(X, y)
    rows = da.from_array(X, chunks=(150, X.shape[1])).map_blocks(fatal, dtype=X.dtype, meta=X[:0])
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 100)  # of a task
    n_workers = len(cluster.workers)
    with (
        warnings.catch_warnings(),
        # A local cluster gives up workers that are away a while after they were lost, even
        # if they were back meanwhile.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}),
    ):
        warnings.simplefilter("ignore")
        try:
            model = ELMRegressor(60, random_state=0).fit(rows, da.from_array(y, chunks=150))
        finally:
            client.wait_for_workers(n_workers, timeout=60)  # the next test wants all of them
    assert len(list(tmp_path.glob("* died *"))) == 20
    assert model.n_samples_seen_ == N
    assert model.epsilon_ == known.epsilon_
    np.testing.assert_allclose(model.predict(X), known.predict(X), rtol=1e-10)


def chunked(A, n=700):
    return da.from_array(A, chunks=(n, *A.shape[1:]))


def _fitted(client):
    X, y, _, _ = numbers()
    return ELMRegressor(30, random_state=0).fit(chunked(X), chunked(y))


def test_an_error_leaves_the_model_as_it_was(client):
    X, y, _, _ = numbers()
    model = _fitted(client)
    before = model.predict(X)
    bad = X.copy()
    bad[2500, 1] = np.nan
    with pytest.raises(ValueError, match=r"partition 4 of 5: X: .*NaN"):
        model.partial_fit(chunked(bad), chunked(y))
    with pytest.raises(ValueError, match=r"partition 4 of 5: X: .*NaN"):
        model.fit(chunked(bad), chunked(y))
    with pytest.raises(ValueError, match="X has 3 features"):
        client.compute(model.predict(da.from_array(X[:, :3]))).result()
    with pytest.raises(ValueError, match="cannot be unlearned"):
        model.unlearn(chunked(X[:50] * 3, 10), chunked(y[:50], 10))
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.n_samples_seen_ == N


def test_partitions_that_differ(client):
    X, y, labels, _ = numbers()
    model = ELMRegressor(30, random_state=0)
    table, names = frame()
    parts = dd.from_pandas(table, npartitions=3)
    renamed = dd.from_map(
        lambda i: table[names].rename(columns={"x1": f"x1{'' if i < 2 else '?'}"}),
        range(3),
        meta=table[names][:0],
    )
    same = dd.from_map(lambda i: table["y"], range(3), meta=table["y"][:0])
    with pytest.raises(ValueError, match=r"its columns are 'x0', 'x1\?'"):
        model.fit(renamed, same)
    two = dd.from_map(lambda i: table["y"], range(2), meta=table["y"][:0])
    with pytest.raises(ValueError, match="y: it has 2 partitions, and X has 3"):
        model.fit(parts[names], dd.from_pandas(table["y"], npartitions=2))
    with pytest.raises(ValueError, match=r"partition \d of 2: y: inconsistent numbers"):
        model.fit(dd.from_pandas(table[names], npartitions=2), two.partitions[:2])
    with pytest.raises(ValueError, match="y: inconsistent numbers of samples: 2999 of y"):
        model.fit(chunked(X), chunked(y[1:]))
    with pytest.raises(ValueError, match="y: expected a Dask array"):
        model.fit(chunked(X), y)
    kinds = da.concatenate([chunked(y[:1400].round()), chunked(labels[1400:].astype(object))])
    with pytest.raises(ValueError, match=r"partition \d of 5: y: Unknown label type"):
        ELMClassifier(30).fit(chunked(X), kinds)
    text = table.assign(x0="much")
    with pytest.raises(ValueError, match=r"partition \d of 3: X: expected numbers"):
        model.fit(dd.from_pandas(text[names], npartitions=3), parts["y"])
    assert not hasattr(model, "n_features_in_")


def test_nothing_to_learn(client):
    X, y, _, _ = numbers()
    model = ELMRegressor(30, random_state=0)
    table, names = frame()
    parts = dd.from_pandas(table, npartitions=3)
    empty = parts[parts["x0"] > 1e9]
    with pytest.raises(ValueError, match="X: it has no rows in any partition"):
        model.fit(empty[names], empty["y"])
    with pytest.raises(ValueError, match="sample_weight: all weights are zero"):
        model.fit(chunked(X), chunked(y), chunked(np.zeros(N)))
    model.fit(parts[names], parts["y"])
    assert len(model.predict(empty[names]).compute()) == 0
    model.partial_fit(empty[names], empty["y"])
    assert model.n_samples_seen_ == N


def test_labels_that_were_never_learned_are_not_removed(client):
    X, _, labels, _ = numbers()
    model = ELMClassifier(30, random_state=0).fit(chunked(X), chunked(labels))
    other = np.where(np.arange(N) == 5, "other", labels)
    with pytest.raises(ValueError, match="never learned"):
        model.unlearn(chunked(X), chunked(other))


@pytest.mark.parametrize("solver", ["dynamic", "light", "sliding", "batch"])
def test_solvers_that_are_no_sums(client, solver):
    X, y, _, _ = numbers()
    model = ELMRegressor(30, solver)
    with pytest.raises(ValueError, match="is not a sum over rows"):
        model.fit(chunked(X), chunked(y))


def test_a_cluster_without_workers(monkeypatch):
    from distributed import Client, LocalCluster

    monkeypatch.setattr("greville.dask.blocks._PATIENCE", 0.2)
    X, y, _, _ = numbers()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", scheduler_port=0) as cluster,
            Client(cluster),
            pytest.raises(TimeoutError, match="0/1 workers"),
        ):
            Opium().fit(chunked(X), chunked(y))


def test_scores_of_what_cannot_be_compared(client):
    X, y, labels, _ = numbers()
    model = _fitted(client)
    gap = np.where(np.arange(N) == 5, np.nan, y)
    for arguments, message in (
        ((chunked(X), chunked(gap)), r"partition 1 of 5: y: Input contains NaN"),
        ((chunked(X), chunked(y), chunked(gap)), "sample_weight"),
        ((chunked(X), chunked(y), chunked(-np.ones(N))), "sample_weight"),
        ((chunked(X), chunked(y), chunked(np.zeros(N))), "no row has a positive weight"),
        ((chunked(X), chunked(np.column_stack([y, y]))), r"y: .* number of output"),
    ):
        with pytest.raises(ValueError, match=message):
            model.score(*arguments)
    classifier = ELMClassifier(30, random_state=0)
    classifier.fit(chunked(X), chunked(labels))
    local = classifier.to_local()
    assert classifier.score(chunked(X), chunked(labels[:, None])) == local.score(X, labels)
    with pytest.raises(ValueError, match="y: .*[lL]abel"):
        classifier.score(chunked(X), chunked(np.ones(N, int)))
    with pytest.raises(ValueError, match="no row has a positive weight"):
        classifier.score(chunked(X), chunked(labels), chunked(np.zeros(N)))


def test_unlearning_what_was_not_learned_like_this(client):
    X, y, _, _ = numbers()
    with pytest.raises(NotFittedError):
        ELMRegressor(30).unlearn(chunked(X), chunked(y))
    model = _fitted(client)
    before = model.predict(X)
    for weight in (0.5, 0.0, 2.0):
        with pytest.raises(ValueError, match="cannot be unlearned"):
            model.unlearn(chunked(X), chunked(y), chunked(np.full(N, weight)))
    with pytest.raises(ValueError, match="y: expected a Dask array"):
        model.fit(chunked(X), None)
    np.testing.assert_array_equal(model.predict(X), before)


def test_tables_do_not_take_dask_frames():
    table, names = frame()
    parts = dd.from_pandas(table, npartitions=2)
    with pytest.raises(ValueError, match=r"it is a Dask collection; pass X.compute\(\)"):
        greville.TableRegressor().fit(parts[names], table["y"])


def test_a_fit_inside_a_task(client):
    """It leaves its thread to the tasks that it waits for."""

    def work():
        import dask.array

        from greville.dask import ELMRegressor as Model

        X = dask.array.random.default_rng(0).normal(size=(600, 3), chunks=(50, 3))
        return Model(20, random_state=0).fit(X, X[:, 0]).n_samples_seen_

    futures = [client.submit(work, pure=False) for _ in range(3)]
    assert [future.result(timeout=60) for future in futures] == [600, 600, 600]


def test_labels_that_are_text_have_the_dtype_that_was_announced(client):
    """Else Dask cannot write them to Parquet."""
    table, names = frame()
    parts = dd.from_pandas(table, npartitions=3)
    model = ELMClassifier(30, random_state=0).fit(parts[names], parts["label"])
    lazy = model.predict(parts[names])
    assert client.compute(lazy).result().dtype == lazy.dtype
