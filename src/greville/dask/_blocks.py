"""Blocks of rows of Dask collections, which the tasks that use them load themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import dask
import dask.array as da
from dask._task_spec import DataNode
from dask.core import get_dependencies
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.local import get_sync
from dask.utils import is_dataframe_like, is_series_like
from distributed import Future

# The name of the graph that blocks are from.
_LAYER = "greville-blocks"


def is_collection(value: Any) -> bool:
    """Whether it is a Dask array or data frame, and not computed yet."""
    return dask.is_dask_collection(value) and (is_array(value) or is_frame(value))


def is_array(value: Any) -> bool:
    return isinstance(value, da.Array)


def is_frame(value: Any) -> bool:
    return hasattr(value, "map_partitions") and (
        is_dataframe_like(getattr(value, "_meta", None))
        or is_series_like(getattr(value, "_meta", None))
    )


class Load:
    """How the blocks of one task are made: a part of a Dask graph, and what it ends with.

    Tasks that only this block needs are run where the block is used, so that no worker loads
    blocks ahead of their use. Others, and data that are on workers already, are the scheduler's.
    """

    def __init__(self, graph: dict[Any, Any], keys: Sequence[Any], shared: Sequence[Any]) -> None:
        self._graph = graph
        self._keys = keys
        self.shared = shared  # keys that are passed in

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        made = dict(zip(self.shared, given, strict=True))
        own = [key for key in self._keys if key is not None and key not in made]
        if own:
            graph = {**self._graph, **{key: DataNode(key, value) for key, value in made.items()}}
            made |= dict(zip(own, get_sync(graph, own), strict=True))
        return [None if key is None else made[key] for key in self._keys]


class Blocks:
    """The blocks of rows of X, and of what goes with them, row by row.

    Parameters
    ----------
    X : Dask array or data frame
    **others : Dask collections of as many rows, or None
        They get the blocks of X, if their sizes are known.
    """

    def __init__(self, X: Any, **others: Any) -> None:
        X = _whole_rows("X", X)
        collections = {"X": X}
        for name, other in others.items():
            optional = name == "sample_weight" and other is None
            collections[name] = None if optional else _aligned(name, other, X)
        delayed = {name: _delayed(each) for name, each in collections.items() if each is not None}
        self.n = len(delayed["X"])
        for name, blocks in delayed.items():
            if len(blocks) != self.n:
                raise ValueError(
                    f"{name}: it has {len(blocks)} partitions, and X has {self.n}; give both the "
                    "same. Of files, pass the data frame and the Series themselves, not arrays of "
                    "them: Dask joins partitions of which it reads few columns."
                )
        self.n_columns = int(X.shape[1]) if len(X.shape) == 2 else 1
        rows = [
            [delayed[n][i] if n in delayed else None for n in collections] for i in range(self.n)
        ]
        self._loads, self._graph = _loads(rows)

    def apply(self, function: Any, i: int, *args: Any) -> Delayed:
        """A task that calls a function with the blocks of one place, after other arguments.

        A `ValueError` of it says which partition it is about.
        """
        load = self._loads[i]
        given = [Delayed(key, self._graph, layer=_LAYER) for key in load.shared]
        return dask.delayed(_call, pure=False)(function, i, self.n, load, given, *args)


def _call(function: Any, i: int, n: int, load: Load, given: Any, *args: Any) -> Any:
    try:
        return function(*args, *load(given))
    except ValueError as error:
        raise ValueError(f"partition {i + 1} of {n}: {error}") from error


def _whole_rows(name: str, X: Any) -> Any:
    """A collection whose blocks have all columns."""
    if not is_collection(X):
        raise ValueError(
            f"{name}: expected a Dask array or data frame beside the others, got "
            f"{type(X).__name__}; make it one, with the partitions of X."
        )
    if is_array(X) and X.ndim == 2 and X.numblocks[1] > 1:
        return X.rechunk({1: -1})
    return X


def _aligned(name: str, other: Any, X: Any) -> Any:
    """A collection in the blocks of X, where both say how long these are."""
    other = _whole_rows(name, other)
    if is_array(other) and is_array(X) and other.chunks[0] != X.chunks[0]:
        lengths = other.chunks[0], X.chunks[0]
        if all(n == n for n in (*lengths[0], *lengths[1])):  # noqa: PLR0124 - not NaN
            if sum(lengths[0]) != sum(lengths[1]):
                raise ValueError(
                    f"{name}: it has {sum(lengths[0])} rows, and X has {sum(lengths[1])}."
                )
            return other.rechunk({0: X.chunks[0]})
    return other


def _delayed(collection: Any) -> list[Delayed]:
    # Dask would join partitions of which it reads few columns: other ones for X than for y.
    with dask.config.set({"optimization.tune.active": False}):
        blocks = collection.to_delayed()
    return list(blocks.ravel()) if hasattr(blocks, "ravel") else list(blocks)


def _loads(rows: list[list[Delayed | None]]) -> tuple[list[Load], HighLevelGraph]:
    """For each row of blocks how to make them, and the graph of what is not made by these."""
    graph: dict[Any, Any] = {}
    for block in rows[0]:  # the blocks of one collection share a graph
        if block is not None:
            graph.update(block.dask.to_dict())
    depends = {key: get_dependencies(graph, key) for key in graph}
    wanted = [[None if block is None else block.key for block in row] for row in rows]
    needed = [_needed(depends, [key for key in row if key is not None]) for row in wanted]
    times = Counter(key for keys in needed for key in keys)
    loads = []
    for row, keys in zip(wanted, needed, strict=True):
        own = {key for key in keys if times[key] == 1 and not _is_data(graph.get(key))}
        shared = sorted(
            {d for key in own for d in depends[key] if d not in own}
            | {key for key in row if key is not None and key not in own},
            key=str,
        )
        loads.append(Load({key: graph[key] for key in own}, row, shared))
    return loads, HighLevelGraph.from_collections(_LAYER, graph)


def _needed(depends: dict[Any, Any], keys: Sequence[Any]) -> set[Any]:
    found: set[Any] = set()
    stack = list(keys)
    while stack:
        key = stack.pop()
        if key not in found:
            found.add(key)
            stack.extend(depends.get(key, ()))
    return found


def _is_data(node: Any) -> bool:
    """Whether it is no task but a value, or a result on a worker, which may not be in a graph."""
    return node is None or isinstance(node, (DataNode, Future))
