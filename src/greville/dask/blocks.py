"""Blocks of Dask collections, and sums over them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import reduce
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
from dask.delayed import Delayed
from distributed.worker import thread_state
from scipy import sparse

from ..validation import check_length

# How long to wait for the first worker, in seconds.
_PATIENCE = 30


def is_collection(value: Any) -> bool:
    """Whether an object is a Dask array or data frame that is not computed yet."""
    return isinstance(value, (da.Array, dd.DataFrame, dd.Series))


def whole_rows(name: str, X: Any) -> Any:
    """A collection whose blocks have all columns."""
    if not is_collection(X):
        raise ValueError(
            f"{name}: expected a Dask array or data frame beside the others, got "
            f"{type(X).__name__}; make it one, with the partitions of X."
        )
    return X.rechunk({1: -1}) if isinstance(X, da.Array) and X.ndim == 2 else X


class Blocks:
    """The blocks of X with those of other collections, row by row.

    Parameters
    ----------
    X : Dask array or data frame
    **others : Dask collections of as many rows, or None
        They get the blocks of X, if their lengths are known.
    """

    def __init__(self, X: Any, **others: Any) -> None:
        X = whole_rows("X", X)
        if others.get("sample_weight", self) is None:
            del others["sample_weight"]
        aligned = [X, *(_aligned(name, other, X) for name, other in others.items())]
        # Dask would join partitions of which it reads few columns: other ones for X than for y.
        with dask.config.set({"optimization.tune.active": False}):
            blocks = [np.ravel(each.to_delayed()).tolist() for each in aligned]
        self.n = len(blocks[0])
        for name, some in zip(others, blocks[1:], strict=True):
            if len(some) != self.n:
                raise ValueError(
                    f"{name}: it has {len(some)} partitions, and X has {self.n}; give both the "
                    "same. Of files, pass the data frame and the Series themselves, not arrays of "
                    "them: Dask joins partitions of which it reads few columns."
                )
        self._rows = list(zip(*blocks, strict=True))

    def apply(self, i: int, function: Any, *args: Any) -> Delayed:
        """A task that calls a function with other arguments and those of one block."""
        return dask.delayed(_call, pure=False)(function, i, self.n, *args, *self._rows[i])

    def each(self, function: Any, *args: Any) -> list[Any]:
        """Apply a function to every block."""
        tasks = [self.apply(i, function, *args) for i in range(self.n)]
        results: list[Any] = compute(dask.delayed(list)(tasks))
        return results

    def at(self, places: Any, ends: Any) -> list[Any]:
        """Return the rows at sorted indices into the collection; `ends` are the block bounds."""
        cuts = np.searchsorted(places, ends)
        tasks = [
            self.apply(i, _taken, places[begin:end] - ends[i])
            for i, (begin, end) in enumerate(pairwise(cuts))
            if end > begin
        ]
        return [_stacked(parts) for parts in zip(*compute(dask.delayed(list)(tasks)), strict=True)]


def _aligned(name: str, other: Any, X: Any) -> Any:
    """A collection in the blocks of X, where both say how long these are."""
    other = whole_rows(name, other)
    if not (isinstance(other, da.Array) and isinstance(X, da.Array)):
        return other
    if np.isnan(other.shape[0] + X.shape[0]):
        return other
    check_length(name, other.shape[0], X.shape[0])
    return other.rechunk({0: X.chunks[0]})


@contextmanager
def naming_block(i: int, n: int) -> Iterator[None]:
    """Name the block in the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"partition {i + 1} of {n}: {error}") from error


def _call(function: Any, i: int, n: int, *args: Any) -> Any:
    with naming_block(i, n):
        return function(*args)


def _taken(places: Any, *row: Any) -> list[Any]:
    return [A.iloc[places] if hasattr(A, "iloc") else A[places] for A in row]


def _stacked(parts: Any) -> Any:
    """Rows of several arrays or frames as one."""
    if hasattr(parts[0], "iloc"):
        import pandas

        return pandas.concat(parts)
    if any(map(sparse.issparse, parts)):
        return sparse.vstack(parts).tocsr()
    return np.concatenate(parts)


# The cluster


def _current_client() -> Any:
    """The client that the program has started, or None."""
    try:
        client = distributed.get_client()
    except ValueError:
        return None
    client.wait_for_workers(1, timeout=_PATIENCE)
    return client


def compute(value: Any) -> Any:
    """Compute a task; an interrupt cancels all that the task has begun."""
    client = _current_client()
    if client is None:
        return dask.compute(value)[0]
    # A task must not keep its thread from those that it waits for.
    inside: AbstractContextManager[Any] = nullcontext()
    if hasattr(thread_state, "key"):
        inside = distributed.worker_client()
    with warnings.catch_warnings(), inside:
        # A hidden layer is sent once, and has the size that it has.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        future = client.compute(value)
        try:
            return client.gather(future, direct=True)  # large sums do not go over the scheduler
        finally:
            future.release()


def added_up(step: Callable[[Any, int], Any], n: int, merge: Callable[[Any, Any], Any]) -> Any:
    """Add up n blocks: each worker thread adds some blocks, and a tree merges their sums.

    ``step(before, i)`` is a task for block i after those before it in its walk, or None.
    """
    client = _current_client()
    threads = dask.system.CPU_COUNT if client is None else sum(client.nthreads().values())
    parts = np.array_split(np.arange(n), min(threads, n))
    walks = [reduce(step, part.tolist(), None) for part in parts]
    join = dask.delayed(merge, pure=False)
    while len(walks) > 1:
        pairs = zip(walks[::2], walks[1::2], strict=False)
        walks = [*(join(*pair) for pair in pairs), *walks[len(walks) // 2 * 2 :]]
    return compute(walks[0])
