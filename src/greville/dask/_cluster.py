"""Many blocks on many workers: each walks through some of them, and a tree joins what they found.

Dask decides where tasks run, moves results and repeats what was lost with a worker. A task depends
on nothing but its arguments, so nothing is counted twice or left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import dask
import distributed
import numpy as np
from distributed.worker import thread_state

# How long to wait for the first worker, in seconds.
_PATIENCE = 30

# What of the memory of a worker sums over rows may take, and how many matrices they are.
_SHARE, _MATRICES = 0.6, 3


def client_of(client: Any) -> Any:
    """The client to use: this one, the one that the program has started, or None."""
    if isinstance(client, str):
        raise ValueError(f"client={client!r}: pass a client, distributed.Client({client!r}).")
    if client is not None:
        return client
    try:
        return distributed.default_client()
    except ValueError:  # there is none
        return None


def compute(client: Any, value: Any) -> Any:
    """The value of a task; what was begun is cancelled if this is interrupted."""
    if client is not None:
        _wait_for_worker(client)
    with warnings.catch_warnings():
        # A hidden layer is sent once, and has the size that it has.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        if client is None:
            return dask.compute(value)[0]
        future = client.compute(value)
    inside = hasattr(thread_state, "key")  # a task, which must not keep its worker from others
    if inside:
        distributed.secede()
    try:
        # From the worker itself, where that can be reached: large sums need not go over the
        # scheduler.
        return client.gather(future, direct=True)
    except BaseException:
        future.cancel()
        raise
    finally:
        future.release()
        if inside:
            distributed.rejoin()


def n_walks(client: Any, n_blocks: int, n_units: int) -> int:
    """How many tasks walk through blocks at a time: as many as the workers have threads.

    Fewer where their memory would not hold the sums of so many.
    """
    if client is None:
        return min(n_blocks, dask.system.CPU_COUNT)
    needed = _MATRICES * 8.0 * n_units**2
    walks = 0
    _wait_for_worker(client)
    for worker in client.scheduler_info(n_workers=-1)["workers"].values():
        limit = worker.get("memory_limit") or np.inf
        walks += int(max(1, min(worker["nthreads"], _SHARE * limit / needed)))
    return max(1, min(n_blocks, walks))


def _wait_for_worker(client: Any) -> None:
    """Raise a ValueError if there is no worker after a while: Dask would wait for ever."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise ValueError(
            f"client: the cluster {client.scheduler.address} has no worker after {_PATIENCE} "
            "seconds; start one, or let an adaptive cluster have at least one."
        ) from error


def walked(
    step: Callable[[int, Any], Any], n_blocks: int, n_walks: int, merge: Callable[..., Any]
) -> Any:
    """A task for what all blocks make together.

    Parameters
    ----------
    step : function
        ``step(i, before)`` is a task for block i after those before it; `before` is None for the
        first of a walk.
    n_blocks, n_walks : int
        Each walk goes through blocks that follow one another.
    merge : function
        Joins what two walks have found.
    """
    found = []
    for blocks in np.array_split(np.arange(n_blocks), min(n_walks, n_blocks)):
        before = None
        for i in blocks.tolist():
            before = step(i, before)
        found.append(before)
    return as_tree(found, merge)


def as_tree(parts: Sequence[Any], merge: Callable[..., Any]) -> Any:
    """A task that joins neighbours, then what came out of these, and so on."""
    parts, join = list(parts), dask.delayed(merge, pure=False)
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [*(join(*pair) for pair in pairs), *parts[len(parts) // 2 * 2 :]]
    return parts[0]
