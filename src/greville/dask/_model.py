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

from ..elm.calibration import rows_of_fit
from ..validation import check_something_counts
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
    def _n_units(self, local: Any) -> int:
        """The size of an ordinary model."""

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

    def _fit(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Self:
        """Learn all rows of Dask collections, and nothing else."""
        blocks = Blocks(X, y=y, sample_weight=sample_weight)
        model = self._unplaced()
        start = self._look(model, blocks)
        model.start_from(start.survey, *self._rows_for_layer(model, blocks, start))
        model = self._with_rows(model, blocks, start.survey.n, options)
        if getattr(model, "learns_from_left_out", False):
            places = rows_of_fit(start.survey.n)
            model.calibrate(*self._rows_at(places, blocks, start))
        self._take(model)
        return self

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Self:
        """Learn more rows."""
        if not self.__sklearn_is_fitted__():  # type: ignore[attr-defined]
            return self._fit(X, y, sample_weight, **options)
        blocks = Blocks(X, y=y, sample_weight=sample_weight)
        n_rows = _MANY if blocks.n_rows is None else blocks.n_rows
        self._take(self._with_rows(self._without_device(), blocks, n_rows, options))
        return self

    def _unlearn(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Remove rows learned earlier."""
        check_is_fitted(self)
        blocks = Blocks(X, y=y, sample_weight=sample_weight)
        model = self._without_device()
        gathered = compute(self.client_, self._gathered(model, blocks, None, {}))
        self._take(model.leave(gathered.to("cpu")))
        return self

    def _unplaced(self) -> Any:
        """An ordinary model with these parameters, which lives in the memory of this process."""
        return self.local(**{**self._local_parameters(), "device": None})

    def _without_device(self) -> Any:
        """What was learned, in the memory of this process."""
        return self.to_local().to("cpu").set_params(device=None)

    def _look(self, model: Any, blocks: Blocks) -> Any:
        """The survey of all rows."""
        tasks = [blocks.apply(partial(_work.look, model, i), i) for i in range(blocks.n)]
        start = compute(self.client_, as_tree(tasks, _work.joined))
        if start.survey is None:
            raise ValueError("X: it has no rows in any partition; there is nothing to learn.")
        check_something_counts(np.array([start.survey.count]))
        return start

    def _rows_for_layer(self, model: Any, blocks: Blocks, start: Any) -> tuple[Any, ...]:
        """The rows that the hidden layer is fitted to or chosen from."""
        if not model.looks_at_rows:
            row: tuple[Any, Any] = start.row
            return row
        places = model.places_for_layer(start.survey.n, len(start.survey.inputs.low))
        return self._rows_at(places, blocks, start)

    def _rows_at(self, places: Any, blocks: Blocks, start: Any) -> tuple[Any, ...]:
        """Rows at these places among all: inputs, targets and, where there are any, weights."""
        ends = np.cumsum(start.lengths)
        cuts = np.searchsorted(places, ends)
        parts = []
        for i, (begin, end) in enumerate(zip([0, *cuts[:-1]], cuts, strict=True)):
            if end > begin:
                inside = places[begin:end] - (ends[i] - start.lengths[i])
                parts.append(blocks.apply(partial(_work.rows_at, inside), i))
        found = compute(self.client_, dask.delayed(list)(parts))
        X, y, weight = zip(*found, strict=True)
        stacked = _work.stacked(list(X)), _work.stacked(list(y))
        return stacked if weight[0] is None else (*stacked, _work.stacked(list(weight)))

    def _with_rows(self, model: Any, blocks: Blocks, n_rows: int, options: Any) -> Any:
        """An ordinary model with the rows of all blocks."""
        for wanted in (n_rows, None):  # the fast way, and the one that suits all rows
            joined = self._joined(model, self._gathered(model, blocks, wanted, options))
            if joined is not None:
                return joined
        raise AssertionError("rows that were gathered without a Gram matrix were not joined")

    def _gathered(self, model: Any, blocks: Blocks, n_rows: int | None, options: Any) -> Any:
        """A task for a model that has gathered the rows of all blocks."""
        shared = dask.delayed(model, pure=False, traverse=False)
        walks = n_walks(self.client_, blocks.n, self._n_units(model))

        def step(i: int, before: Any) -> Any:
            task = partial(_gather, n_rows, self.device, options)
            return blocks.apply(task, i, shared, before)

        return walked(step, blocks.n, walks, _work.merge)

    def _joined(self, model: Any, gathered: Any) -> Any:
        """An ordinary model with gathered rows: learned here, or where there are devices."""
        if self.device is None:
            found = compute(self.client_, gathered)
            return model if model.join(found.to("cpu")) else None
        shared = dask.delayed(model, pure=False, traverse=False)
        task = dask.delayed(_work.join, pure=False)(shared, gathered, self.device)
        learned = compute(self.client_, task)
        return None if learned is None else learned.to("cpu")

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


# Rows whose number is not known are taken to be many.
_MANY = 1 << 62


def _gather(
    n_rows: int | None, device: Any, options: Any, model: Any, before: Any, X: Any, y: Any, w: Any
) -> Any:
    return _work.gather(model, n_rows, device, before, options, X, y, w)


def _predicted(X: Any, model: Any, ask: _work.Question, like: Any) -> Any:
    return ask(model, like, X)


def _as_frame(like: Any, names: Any) -> Any:
    """An empty Series or data frame for answers like these."""
    import pandas

    if like.ndim == 1:
        labels = like if like.dtype.kind not in "OUS" else np.asarray(names)  # text has a dtype
        return pandas.Series(labels, name="prediction").iloc[:0]
    return pandas.DataFrame(like, columns=range(like.shape[1]) if names is None else names)
