"""On a Dask cluster: one and two workers next to one process, the merge, and the cost model."""

from __future__ import annotations

import gc
import logging
import tempfile
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from greville import ELMRegressor

FEATURES = 20

# Runs: rows, hidden units, and rows in a row group.
RUNS = ((1_000_000, 1000, 20_000), (60_000, 4000, 6000))

# The run on GPUs: rows, inputs, hidden units.
ON_GPUS = 60_000, 50, 10_000

# Units for which the constants of the merge are measured.
_MERGED = 4000

MERGED: tuple[int, ...] = (1000, 4000, 10_000)


def run() -> None:
    """Print the tables of docs/scale.md."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        print("    Dask is not installed (pip install '.[dask]'): nothing was measured")
        return
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        costs = Costs.measured()
        print(f"    constants: {costs}")
        for n, units, group in RUNS:
            path = Path(folder) / "rows.parquet"
            _write(path, n, group)
            _compare(path, n, units, group, costs)
    for units in MERGED:
        there, here = _merge(units)
        print(
            f"    merge of {units:,} units ({8e-6 * units**2:,.0f} MB): {there:.2f} s with its way "
            f"from worker to worker, {here:.2f} s to the client"
        )
    print("    10⁹ rows x 1,000 features, 10,000 units, by the model (40 Gbit/s between machines):")
    _predicted(costs)
    _on_gpus()


@dataclass(frozen=True)
class Costs:
    """Seconds of one thread for each operation."""

    multiply: float  # one operation in the Gram matrix, which takes M² of them a row
    layer: float  # a multiplication and addition in the hidden layer, and what follows
    activate: float  # one activation: the layer's function, checks, the mean
    read: float  # one number from Parquet to the layer
    look: float  # one number of the first look
    factor: float  # one operation of the choice of ε, M³, on all threads of the client
    merge: float  # one number of sums, from worker to worker and added there
    fetch: float  # the same from a worker to the client
    task: float  # of the two tasks of a block: scheduling, checks
    start: float  # of a fit: graphs, answers

    @classmethod
    def measured(cls) -> Costs:
        """In processes of one thread, as workers are; what the client does with all of its."""
        with _client(1) as client:
            found = client.submit(_constants, pure=False).result()
            few, many = _best(lambda: _tiny(client, 1), 3), _best(lambda: _tiny(client, 50), 3)
        merge, fetch = (each / _MERGED**2 for each in _merge(_MERGED))
        return cls(
            **found,
            factor=_factor(),
            merge=merge,
            fetch=fetch,
            task=(many - few) / 49,
            start=few,
        )

    def seconds(
        self,
        n: float,
        features: int,
        units: int,
        workers: int,
        blocks: float,
        *,
        bandwidth: float = np.inf,
    ) -> dict[str, float]:
        """What the parts of a fit take; `bandwidth` is that between machines, in bytes a second."""
        matrix = units**2
        rows = n / workers
        wire = 8 * matrix / bandwidth
        rounds = int(np.ceil(np.log2(workers)))
        return {
            "look": rows * features * (self.look + self.read),
            "read": rows * features * self.read,
            "layer": rows * units * (features * self.layer + self.activate),
            "Gram": rows * matrix * self.multiply,
            "merge": rounds * (wire + matrix * self.merge),
            "finish": wire + matrix * self.fetch + units**3 * self.factor,
            "tasks": self.start + blocks / workers * self.task,
        }

    def __str__(self) -> str:
        return (
            f"Gram {1e-9 / self.multiply:.1f} and layer {2e-9 / self.layer:.1f} GFLOP/s a thread, "
            f"{1e9 * self.activate:.1f} ns an activation, {1e9 * self.read:.1f} and "
            f"{1e9 * self.look:.1f} ns a number to read and look at, {1e9 * self.merge:.0f} ns a "
            f"number of sums to merge and {1e9 * self.fetch:.0f} to fetch, {1e9 * self.factor:.2f} "
            f"ns x M³ for the choice of ε, {1e3 * self.task:.1f} ms a block, "
            f"{self.start:.2f} s to start"
        )


def _data(n: int, seed: int) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, FEATURES))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + random.normal(size=n)
    return X, y


def _frame(n: int, seed: int) -> Any:
    import pandas

    X, y = _data(n, seed)
    return pandas.DataFrame(X, columns=[f"x{i}" for i in range(FEATURES)]).assign(y=y)


def _write(path: Path, n: int, group: int) -> None:
    import pyarrow
    from pyarrow import parquet

    writer = None
    for seed, start in enumerate(range(0, n, group)):
        table = pyarrow.Table.from_pandas(_frame(min(group, n - start), seed), preserve_index=False)
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=group)
    assert writer is not None
    writer.close()


def _model(units: int, **options: Any) -> dict[str, Any]:
    return {"hidden": units, "random_state": 0, **options}


class _client:
    """A client of so many workers, processes of one thread."""

    def __init__(self, workers: int) -> None:
        from distributed import Client, LocalCluster

        self._cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
        self._client = Client(self._cluster)

    def __enter__(self) -> Any:
        return self._client

    def __exit__(self, *_: Any) -> None:
        self._client.close()
        self._cluster.close()


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _tiny(client: Any, n_blocks: int) -> None:
    import dask.array as da

    from greville.dask import ELMRegressor as Distributed

    size = 2000 // n_blocks
    X = da.random.default_rng(0).normal(size=(2000, FEATURES), chunks=(size, FEATURES))
    Distributed(**_model(10)).fit(X, X[:, 0])


# Constants


def _best(work: Callable[[], Any], rounds: int = 5) -> float:
    return min(_seconds(work) for _ in range(rounds))


def _constants() -> dict[str, float]:
    """On a worker."""
    from greville.backend import get
    from greville.layers import RandomLayer

    n, units = 8192, 2000
    X, y = _data(n, 0)
    b = get("scipy")
    layer = RandomLayer(units, bias=True, random_state=0).fit(X[:1])
    wide = RandomLayer(units, bias=True, random_state=0).fit(np.zeros((1, 420)))
    H = layer.activations(X)
    G = b.zeros((units, units), np.float64)
    gram = _best(lambda: b.add_gram(G, H))
    narrow = _best(lambda: layer.activations(X))
    wider = _best(lambda: wide.activations(np.tile(X, (1, 21))))
    per_feature = max((wider - narrow) / (n * units * 400), 1e-12)
    model = ELMRegressor(**_model(units))
    look = _best(lambda: model.prepare(X, y))
    part = _accumulator(units, X, y).partial_fit(X, y)  # from zeros it is faster
    added = _best(lambda: copy(part).partial_fit(X, y), 3)
    rest = added - gram - n * units * FEATURES * per_feature
    return {
        "multiply": gram / (n * units**2),
        "layer": per_feature,
        "activate": max(rest, narrow - n * units * FEATURES * per_feature) / (n * units),
        "look": look / (n * FEATURES),
        "read": _reading(),
    }


def _reading(n: int = 40_000) -> float:
    import dask.dataframe as dd

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.parquet"
        _write(path, n, 20_000)
        read = dd.read_parquet(path, split_row_groups=1)
        names = [f"x{i}" for i in range(FEATURES)]

        def work() -> None:
            for block in (read[names], read["y"]):
                for part in block.to_delayed():
                    part.compute(scheduler="synchronous")

        return _best(work, 3) / (n * (FEATURES + 1))


def _factor(units: int = 2000) -> float:
    """The choice of ε and the root, on the client."""
    n = 3 * units
    X, y = _data(n, 0)
    model = ELMRegressor(**_model(units))
    model.prepare(X, y, n_rows=len(X))
    part = _accumulator(units, X, y).partial_fit(X, y)
    return _best(lambda: copy(model).merge(part), 2) / units**3


# Fits


def _moved() -> float:
    """Bytes that have gone through the loopback device, whatever sent them."""
    import psutil

    return float(psutil.net_io_counters(pernic=True)["lo"].bytes_sent)


def _peak() -> float:
    """The most memory that a process has had, in bytes; Linux knows it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def _compare(path: Path, n: int, units: int, group: int, costs: Costs) -> None:
    """One process with all threads, one worker and two."""
    import dask.dataframe as dd
    import pandas

    from greville.dask import ELMRegressor as Distributed

    names = [f"x{i}" for i in range(FEATURES)]
    kept: dict[str, Any] = {}

    def alone() -> None:
        table = pandas.read_parquet(path)
        kept["one"] = ELMRegressor(**_model(units)).fit(table[names], table["y"])

    times = {0: _seconds(alone)}
    print(f"    {n:,} rows x {FEATURES}, {units:,} units, from Parquet")
    print(f"    {'one process, all threads':32} {times[0]:6.1f} s")
    test = _data(1000, 10**6)[0]
    for workers in (1, 2):
        with _client(workers) as client:
            client.run(_import)
            _tiny(client, 4)
            before = client.run(_peak)
            read = dd.read_parquet(path, split_row_groups=1)
            model = Distributed(**_model(units))
            sent, start = _moved(), time.perf_counter()
            model.fit(read[names], read["y"])
            times[workers] = time.perf_counter() - start
            moved = _moved() - sent
            after = client.run(_peak)
            memory = max(after[name] - before[name] for name in after)
        model_seconds = sum(costs.seconds(n, FEATURES, units, workers, n / group).values())
        off = np.abs(
            model.to_local().predict(_named(test, names)) - kept["one"].predict(_named(test, names))
        ).max()
        assert model.epsilon_ == kept["one"].epsilon_
        print(
            f"    {workers} worker{'s' * (workers > 1):24} {times[workers]:6.1f} s; by the model "
            f"{model_seconds:6.1f} s ({model_seconds / times[workers]:.2f}); {moved / 1e6:,.0f} MB "
            f"moved, {memory / 1e6:,.0f} MB a worker more than before; largest difference of "
            f"predictions {off:.1e}"
        )
    print(f"    two workers over one: {times[1] / times[2]:.2f} x")


def _named(X: Any, names: list[str]) -> Any:
    import pandas

    return pandas.DataFrame(X, columns=names)


def _import() -> None:
    import dask.dataframe  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import greville.dask  # noqa: F401


def _merge(units: int, rounds: int = 2) -> tuple[float, float]:
    """Two sums on two workers: to one of them and added there; and to the client."""
    from greville.dask import wrapper

    found = []
    with _client(2) as client:
        client.run(_import)
        first, second = list(client.scheduler_info(n_workers=-1)["workers"])
        for _ in range(rounds):
            futures = [
                client.submit(_summed, units, workers=[worker], pure=False)
                for worker in (first, second)
            ]
            for future in futures:
                future.exception()  # waits for it
            start = time.perf_counter()
            merged = client.submit(wrapper.merged, *futures, workers=[first], pure=False)
            merged.exception()
            there = time.perf_counter() - start
            start = time.perf_counter()
            model = client.gather(merged, direct=True)
            found.append((there, time.perf_counter() - start))
            assert model.n_samples_seen_ == 2 * 256
            del model, merged, futures
            gc.collect()
    return min(each[0] for each in found), min(each[1] for each in found)


def _summed(units: int) -> Any:
    X, y = _data(256, 0)
    return _accumulator(units, X, y).partial_fit(X, y)


def _accumulator(units: int, X: Any, y: Any) -> Any:
    """A model of all rows that only adds rows up."""
    model = ELMRegressor(**_model(units))
    model.prepare(X, y, n_rows=len(X))
    return model.accumulator()


def _predicted(costs: Costs) -> None:
    """The case of docs/scale.md."""
    for workers in (1, 10, 100, 1000):
        parts = costs.seconds(1e9, 1000, 10_000, workers, 1e9 / 100_000, bandwidth=5e9)
        total = sum(parts.values())
        shares = ", ".join(f"{name} {value:,.0f}" for name, value in parts.items() if value >= 1)
        print(f"    {workers:5} workers of one thread: {total / 3600:9.1f} h ({shares} s)")


def _on_gpus() -> None:
    """Two workers on the GPU of this machine, next to one process."""
    import dask.array as da

    from greville.dask import ELMRegressor as Distributed

    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("    torch finds no GPU here: workers with GPUs were not measured")
        return
    n, features, units = ON_GPUS
    X = np.random.default_rng(0).normal(size=(n, features))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + np.random.default_rng(1).normal(size=n)
    blocks = da.from_array(X, chunks=(5000, features)), da.from_array(y, chunks=5000)
    options = _model(units, device="cuda")
    alone = ELMRegressor(**options)
    one = _best(lambda: alone.fit(X, y), 2)
    with _client(2):
        model = Distributed(**options)
        two = _best(lambda: model.fit(*blocks), 2)
    off = np.abs(model.to_local().predict(X[:1000]) - alone.predict(X[:1000])).max()
    print(
        f"    {n:,} rows x {features}, {units:,} units on a GPU: {one:.2f} s in one process, "
        f"{two:.1f} s on two workers; largest difference of predictions {off:.1e}"
    )
