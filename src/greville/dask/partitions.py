"""Partitions of Dask collections, and the tasks that walk through them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
from dask.delayed import Delayed
from dask.local import get_sync
from dask.optimization import cull
from dask.utils import is_dataframe_like, is_series_like
from distributed.worker import thread_state

# How long to wait for the first worker, in seconds.
_PATIENCE = 30

# What of the memory of a worker sums over rows may take, and how many matrices they are.
_SHARE, _MATRICES = 0.6, 3


def is_collection(value: Any) -> bool:
    """Whether it is a Dask array or data frame, and not computed yet."""
    meta = getattr(value, "_meta", None)
    return dask.is_dask_collection(value) and (
        isinstance(value, da.Array) or is_dataframe_like(meta) or is_series_like(meta)
    )


class Partitions:
    """The partitions of X, and of what goes with them, row by row.

    A task loads the partition that only it needs, so that no worker loads others ahead of their
    use. What several need, and data that are on workers already, are the scheduler's.

    Parameters
    ----------
    X : Dask array or data frame
    **others : Dask collections of as many rows, or None
        They get the partitions of X, if their lengths are known.
    """

    def __init__(self, X: Any, **others: Any) -> None:
        X = whole_rows("X", X)
        if others.get("sample_weight", self) is None:
            del others["sample_weight"]
        aligned = [X, *(_aligned(name, other, X) for name, other in others.items())]
        # Dask would join partitions of which it reads few columns: other ones for X than for y.
        with dask.config.set({"optimization.tune.active": False}):
            blocks = [np.ravel(each.to_delayed()).tolist() for each in aligned]
        self.n, self.n_columns = len(blocks[0]), int(X.shape[1]) if len(X.shape) == 2 else 1
        for name, some in zip(others, blocks[1:], strict=True):
            if len(some) != self.n:
                raise ValueError(
                    f"{name}: it has {len(some)} partitions, and X has {self.n}; give both the "
                    "same. Of files, pass the data frame and the Series themselves, not arrays of "
                    "them: Dask joins partitions of which it reads few columns."
                )
        rows = list(zip(*blocks, strict=True))
        self._rows = rows if distributed.futures_of(aligned) else _loads(rows)

    def apply(self, i: int, function: Any, *args: Any) -> Delayed:
        """A task that calls a function with other arguments and those of one partition.

        A `ValueError` of it says which partition it is about.
        """
        return dask.delayed(_call, pure=False)(function, i, self.n, self._rows[i], *args)


class _Load:
    """A part of a Dask graph that makes a partition where it is used."""

    def __init__(self, graph: Any, keys: list[Any]) -> None:
        self.graph, self.keys = graph, keys


def _call(function: Any, i: int, n: int, row: Any, *args: Any) -> Any:
    try:
        return function(*args, *(get_sync(row.graph, row.keys) if isinstance(row, _Load) else row))
    except ValueError as error:
        raise ValueError(f"partition {i + 1} of {n}: {error}") from error


def _loads(rows: list[tuple[Delayed, ...]]) -> list[Any]:
    """How each row of partitions is loaded; those with tasks that others need too are as before."""
    graph = {k: task for block in rows[0] for k, task in block.dask.to_dict().items()}
    parts = [cull(graph, [block.key for block in row])[0] for row in rows]
    times = Counter(key for part in parts for key in part)
    return [
        _Load(part, [block.key for block in row]) if all(times[key] == 1 for key in part) else row
        for row, part in zip(rows, parts, strict=True)
    ]


def whole_rows(name: str, X: Any) -> Any:
    """A collection whose partitions have all columns."""
    if not is_collection(X):
        raise ValueError(
            f"{name}: expected a Dask array or data frame beside the others, got "
            f"{type(X).__name__}; make it one, with the partitions of X."
        )
    return X.rechunk({1: -1}) if isinstance(X, da.Array) and X.ndim == 2 else X


def _aligned(name: str, other: Any, X: Any) -> Any:
    """A collection in the partitions of X, where both say how long these are."""
    other = whole_rows(name, other)
    if isinstance(other, da.Array) and isinstance(X, da.Array):
        mine, n = sum(other.chunks[0]), sum(X.chunks[0])
        if mine != n and not np.isnan(mine + n):
            raise ValueError(f"{name}: it has {mine} rows, and X has {n}.")
        if mine == n:  # no unknown length
            return other.rechunk({0: X.chunks[0]})
    return other


# The cluster


def current_client() -> Any:
    """The client that the program has started, or None."""
    try:
        return distributed.get_client()
    except ValueError:
        return None


def compute(value: Any) -> Any:
    """The value of a task; what was begun is cancelled if this is interrupted."""
    client = current_client()
    with warnings.catch_warnings():
        # A hidden layer is sent once, and has the size that it has.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        if client is None:
            return dask.compute(value)[0]
        _wait_for_worker(client)
        future = client.compute(value)
    inside = hasattr(thread_state, "key")  # a task, which must not keep its worker from others
    if inside:
        distributed.secede()
    try:
        # From the worker itself, where that can be reached: large sums need not go over the
        # scheduler.
        return client.gather(future, direct=True)
    finally:
        future.release()
        if inside:
            distributed.rejoin()


def _wait_for_worker(client: Any) -> None:
    """Raise a ValueError if there is no worker after a while: Dask would wait for ever."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise ValueError(
            f"the cluster {client.scheduler.address} has no worker after {_PATIENCE} "
            "seconds; start one, or let an adaptive cluster have at least one."
        ) from error


def added_up(
    step: Callable[[int, Any], Any], n: int, n_units: int, merge: Callable[[Any, Any], Any]
) -> Any:
    """The sums over n partitions: each walk adds some up, and a tree merges these.

    There are as many walks as the workers have threads; fewer where their memory would not hold
    the sums of so many. ``step(i, before)`` is a task for partition i after those before it in its
    walk, or None.
    """
    client = current_client()
    n_walks = dask.system.CPU_COUNT
    if client is not None:
        _wait_for_worker(client)
        needed, n_walks = _MATRICES * 8.0 * n_units**2, 0
        for worker in client.scheduler_info(n_workers=-1)["workers"].values():
            limit = worker.get("memory_limit") or np.inf
            n_walks += int(max(1, min(worker["nthreads"], _SHARE * limit / needed)))
    walks = [None] * min(n_walks, n)
    for walk, places in enumerate(np.array_split(np.arange(n), len(walks))):
        for i in places.tolist():
            walks[walk] = step(i, walks[walk])
    join = dask.delayed(merge, pure=False)
    while len(walks) > 1:
        pairs = zip(walks[::2], walks[1::2], strict=False)
        walks = [*(join(*pair) for pair in pairs), *walks[len(walks) // 2 * 2 :]]
    return compute(walks[0])
