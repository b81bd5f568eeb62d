"""What models of Dask collections share: the passes over the rows, and lazy predictions."""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar, Self

import dask
import dask.array as da
import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from . import _work
from ._blocks import Blocks, is_array
from ._cluster import as_tree, client_of, compute, n_walks, walked
from ._scores import Errors


class DaskModel:
    """A model whose methods also take Dask arrays and data frames.

    It holds what was learned in this process, as the model it is derived from does, and all other
    methods are those of that.
    """

    local: ClassVar[type[Any]]

    client: Any = None
    device: Any = None

    @abstractmethod
    def to_local(self) -> Any:
        """The ordinary model that has learned the same; it needs no cluster."""

    @abstractmethod
    def _take(self, local: Any) -> None:
        """Publish what an ordinary model has learned."""

    @property
    def client_(self) -> Any:
        """The client in use."""
        return client_of(self.client)

    @abstractmethod
    def _accumulator(self, local: Any) -> Any:
        """What adds rows up on a worker, for an ordinary model of this kind."""

    @abstractmethod
    def _n_units(self, local: Any, blocks: Blocks) -> int:
        """The size of an ordinary model."""

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Self:
        """Learn all rows of Dask collections, and nothing else."""

    # A client is a connection: copies share it, and pickles have none

    def __sklearn_clone__(self) -> Self:
        parameters = {name: clone(v, safe=False) for name, v in self._local_parameters().items()}
        make: Any = type(self)
        other: Self = make(**parameters, client=self.client)
        return other

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        return {**state, "client": None}

    def __copy__(self) -> Self:
        return self._with_state(self.__getstate__())

    def __deepcopy__(self, memo: Any) -> Self:
        return self._with_state(deepcopy(self.__getstate__(), memo))

    def _with_state(self, state: Any) -> Self:
        other = object.__new__(type(self))
        other.__setstate__(state)  # type: ignore[attr-defined]
        other.client = self.client
        return other

    def _local_parameters(self) -> dict[str, Any]:
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {name: value for name, value in parameters.items() if name != "client"}

    # Learning

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Self:
        """Learn more rows."""
        if not self.__sklearn_is_fitted__():  # type: ignore[attr-defined]
            return self._fit(X, y, sample_weight, **options)
        blocks = Blocks(X, y=y, sample_weight=sample_weight)
        self._take(self._with_rows(self._without_device(), blocks, options))
        return self

    def _unlearn(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Remove rows learned earlier."""
        check_is_fitted(self)
        blocks = Blocks(X, y=y, sample_weight=sample_weight)
        model = self._without_device()
        sums = compute(self.client_, self._sums(model, blocks, {}))
        self._take(_work.without(model, sums))
        return self

    def _unplaced(self) -> Any:
        """An ordinary model with these parameters, which lives in the memory of this process."""
        return self.local(**{**self._local_parameters(), "device": None})

    def _without_device(self) -> Any:
        """What was learned, in the memory of this process."""
        return self.to_local().to("cpu").set_params(device=None)

    def _with_rows(self, model: Any, blocks: Blocks, options: Any) -> Any:
        """An ordinary model with the rows of all blocks: learned here, or where devices are."""
        sums = self._sums(model, blocks, options)
        if self.device is None:
            return _work.learned(model, compute(self.client_, sums))
        shared = dask.delayed(model, pure=False, traverse=False)
        task = dask.delayed(_work.learned, pure=False)(shared, sums, self.device)
        return compute(self.client_, task)

    def _sums(self, model: Any, blocks: Blocks, options: Any) -> Any:
        """A task for the sums over the rows of all blocks."""
        shared = dask.delayed(self._accumulator(model), pure=False, traverse=False)
        walks = n_walks(self.client_, blocks.n, self._n_units(model, blocks))
        task = partial(_work.added, self.device, options)

        def step(i: int, before: Any) -> Any:
            return blocks.apply(task, i, shared, before)

        return walked(step, blocks.n, walks, _work.merged)

    # Predicting

    def _r2(self, predicted: Any, y: Any, sample_weight: Any) -> float:
        """The mean over the outputs of how much of the variance lazy predictions explain."""
        blocks = Blocks(predicted, y=y, sample_weight=sample_weight)
        tasks = [blocks.apply(Errors.of, i) for i in range(blocks.n)]
        return float(compute(self.client_, as_tree(tasks, Errors.joined)).r2())

    def _lazy(
        self, X: Any, method: str, model: Any, like: Any, part: int | None = None, **options: Any
    ) -> Any:
        """The answers of a method to every block, as a Dask collection."""
        shared = dask.delayed(model, pure=False, traverse=False)
        ask = _work.Question(method, options, part, self.device)
        if is_array(X):
            X = X.rechunk({1: -1}) if X.ndim == 2 and X.numblocks[1] > 1 else X
            if X.ndim != 2:
                raise ValueError(f"X: expected a Dask array of two dimensions, got {X.ndim}.")
            chunks = (
                {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], like.shape[1:])}
            )
            return da.map_blocks(
                _predicted, X, shared, ask, like, dtype=like.dtype, meta=like, **chunks
            )
        framed = _as_frame(like, self._names_of_outputs(method))
        return X.map_partitions(_predicted, shared, ask, framed, meta=framed)

    def _names_of_outputs(self, method: str) -> Any:
        """The names of the columns of an answer to a data frame; None for numbers."""
        return None

    def _answer(self, X: Any, method: str, **options: Any) -> Any:
        """A Dask collection of the answers of a method, or for return_std two of them."""
        check_is_fitted(self)
        if options.get("return_std"):
            model = self._without_device()
            return tuple(
                self._lazy(X, method, model, self._like(method), part=part, **options)
                for part in (0, 1)
            )
        return self._lazy(X, method, self._without_device().frozen(), self._like(method), **options)

    @abstractmethod
    def _like(self, method: str) -> Any:
        """An empty array of the kind that a method returns."""


def _predicted(X: Any, model: Any, ask: _work.Question, like: Any) -> Any:
    return ask(model, like, X)


def _as_frame(like: Any, names: Any) -> Any:
    """An empty Series or data frame for answers like these."""
    import pandas

    if like.ndim == 1:
        labels = like if like.dtype.kind not in "OUS" else np.asarray(names)  # text has a dtype
        return pandas.Series(labels, name="prediction").iloc[:0]
    return pandas.DataFrame(like, columns=range(like.shape[1]) if names is None else names)
