"""A hidden layer and a solver, and the way from X through both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from numbers import Integral
from pickle import PicklingError
from typing import Any, Self

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..layers import RandomLayer
from ..layers._base import is_own
from ..linalg import Array
from ..solvers import Opium, OpiumLight
from ..solvers._additive import AdditiveSolver
from ..solvers._base import Solver
from ..solvers._choosing import ChoosingSolver
from ..solvers._evidence import Path
from ..solvers._exact import RootSolver
from ..solvers._rows import FEW, Rows, block_length
from ..threads import one_thread
from ..validation import (
    FLOATS,
    check_magnitude,
    check_memory,
    check_number,
    check_rows,
    check_something_counts,
    unchanged_on_error,
)
from ._scaling import MOST_ROWS, Early, Scaling, joined, rows_measured
from ._single import SingleRows
from ._solvers import SOLVERS, solver_chooses, solver_is_additive

# What hidden="auto" may spend on three matrices of weights by weights.
_MEMORY = 256e6

# Numbers of sparse rows that are made dense at a time, where they must be.
_DENSE_NUMBERS = 1 << 23


class ELM(SingleRows, BaseEstimator, ABC):
    """The layer, the solver and the way from X through both, block by block."""

    def __init__(
        self,
        hidden: Any = "auto",
        solver: Any = "opium",
        random_state: Any = None,
        *,
        standardize: Any = "auto",
    ) -> None:
        self.hidden = hidden
        self.solver = solver
        self.random_state = random_state
        self.standardize = standardize

    def _chosen_solver(self) -> Solver:
        """A solver as `solver` describes it, not yet fitted."""
        if isinstance(self.solver, Solver):
            return clone(self.solver)
        if isinstance(self.solver, str) and self.solver in SOLVERS:
            return clone(SOLVERS[self.solver])
        names = ", ".join(map(repr, SOLVERS))
        raise ValueError(f"solver={self.solver!r}: choose one of {names}, or pass a solver object.")

    def _chosen_layer(self, X: Any, n_rows: int | None) -> Any:
        """A transformer as `hidden` describes it, not yet fitted."""
        if isinstance(self.hidden, str) and self.hidden == "auto":
            chosen = isinstance(self.solver_, Opium) and self.solver_.epsilon == "auto"
            size = _size_for(X.shape[1], n_rows, self._dtype) if chosen else 10 * X.shape[1]
            return RandomLayer(size, bias=True, random_state=self.random_state)
        if self._has_own_layer:
            return _seeded(clone(self.hidden), self.random_state)
        if not isinstance(self.hidden, Integral) or isinstance(self.hidden, bool):
            raise ValueError(
                f"hidden={self.hidden!r}: pass 'auto', a number of units or a transformer object."
            )
        check_number("hidden", self.hidden, low=1, whole=True)
        return RandomLayer(int(self.hidden), bias=True, random_state=self.random_state)

    @property
    def _has_own_layer(self) -> bool:
        """Whether `hidden` is a transformer, which then gets X as it is."""
        return hasattr(self.hidden, "transform") and not isinstance(self.hidden, type)

    def _standardizes(self) -> bool:
        if isinstance(self.standardize, str) and self.standardize == "auto":
            return not self._has_own_layer or getattr(self.hidden, "_wants_order_one", False)
        if not isinstance(self.standardize, (bool, np.bool_)):
            raise ValueError(f"standardize={self.standardize!r}: pass 'auto', True or False.")
        return bool(self.standardize)

    def _guarded(self) -> AbstractContextManager[None]:
        """All of what the block does, or nothing of it."""
        return unchanged_on_error(self, *([self.solver_] if self._started else []))

    @property
    def _started(self) -> bool:
        return hasattr(self, "solver_")

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        # Integers stay integers: they become floats block by block, in the hidden layer.
        return check_rows(self, X, "X", reset=reset, dtype="numeric", accept_sparse="csr")

    def _dtype_for(self, X: Any, *, reset: bool) -> Any:
        """float32 for float32, else float64; a model keeps what its first rows gave it."""
        return (
            np.dtype(np.float32 if X.dtype == np.float32 else np.float64) if reset else self._dtype
        )

    # Learning: rows that are checked, as they came

    def _fit(self, X: Any, y: Array, weight: Array | None) -> None:
        """Forget everything, then learn these rows; all of them set the units."""
        check_something_counts(weight)
        self._dtype = self._dtype_for(X, reset=True)
        self._check_size(X.shape[1])
        self._early: Early | None = None
        self._measure(X, y, weight)
        self._begin(X, y, X.shape[0])
        self.solver_._fit(self._rows(X, y, weight))

    def _learn(self, X: Any, y: Array, weight: Array | None) -> None:
        """Learn more rows of a stream, or its first."""
        self._open(X, y, weight)
        if not self._remember(X, y, weight):
            self.solver_._learn(self._rows(X, y, weight))

    def _record(
        self, X: Any, y: Array, weight: Array | None, record: Callable[[Rows], Any]
    ) -> list[Any]:
        """What `record` says of pieces of a stream in which the units stay as they are."""
        self._open(X, y, weight)
        parts, start, n = [], 0, X.shape[0]
        while start < n:
            seen = MOST_ROWS if self._early is None else self._early[0].shape[0]
            ahead = n if seen >= MOST_ROWS else max(1, 2 * rows_measured(seen)) - seen
            piece = slice(start, min(n, start + ahead))
            chunk = X[piece], y[piece], None if weight is None else weight[piece]
            parts.append(record(self._rows(*chunk)))
            self._remember(*chunk)
            start = piece.stop
        return parts

    def _open(self, X: Any, y: Array, weight: Array | None) -> None:
        """Make ready for the first rows of a stream."""
        if self._started:
            return
        self._dtype = self._dtype_for(X, reset=True)
        self._check_size(X.shape[1])
        self._early = None
        if self._has_own_layer:  # which is fitted once: so are the units
            self._measure(X, y, weight)
        else:
            self._measure(X[:0], y[:0], None)
            if self._standardizes():
                self._early = (X[:0], y[:0], None)
        self._begin(X, y, None)

    def _remember(self, X: Any, y: Array, weight: Array | None) -> bool:
        """Keep the first rows; if they say that the units change, learn all of them again."""
        if self._early is None:
            return False
        before, self._early = self._early, joined(self._early, (X, y, weight))
        n = self._early[0].shape[0]
        first, changed = rows_measured(n), False
        if first > rows_measured(before[0].shape[0]):
            X, y, weight = self._early
            of_first = weight if weight is None else weight[:first]
            changed = self._measure(X[:first], y[:first], of_first)
        if changed:
            self._start_again()
            self.solver_._learn(self._rows(*self._early))
        if n >= MOST_ROWS:
            self._early = None
        return changed

    def _begin(self, X: Any, y: Array, n_rows: int | None) -> None:
        """A new layer for the columns of X, a solver that has seen nothing."""
        self.solver_ = self._chosen_solver()
        seen = X if self._has_own_layer else X[:1]  # a RandomLayer counts columns, no more
        self.hidden_ = self._chosen_layer(X, n_rows).fit(self._scaling.apply(seen, self._dtype), y)
        self._start_again()

    def _check_size(self, n_features: int) -> None:
        """Raise a NotEnoughMemory if the layer or the solver will not fit, before either is there.

        Measuring the columns takes some arrays of one number a column. A random layer is drawn and
        then transposed, and the exact solvers hold two matrices of units by units.
        """
        size, what = 0, f"X with {n_features:,} columns"
        if isinstance(self.hidden, Integral):
            size, what = int(self.hidden), f"hidden={self.hidden!r} and {what}"
        elif isinstance(self.hidden, str) and self.hidden == "auto":
            size = _size_for(n_features, None, self._dtype)
        pairs = 0 if isinstance(self._chosen_solver(), OpiumLight) else 2 * size**2
        check_memory(
            what,
            n_features * (16.0 * size + 64) + float(pairs) * self._dtype.itemsize,
            "pass fewer units with hidden, or fewer columns.",
        )

    def _start_again(self) -> None:
        """A solver that has seen nothing, for the layer there is."""
        n_hidden = self._transformed(np.zeros((1, self.n_features_in_), self._dtype)).shape[1]
        self.solver_._begin(n_hidden, self._n_outputs, self._dtype)

    def _measure(self, X: Any, y: Array, weight: Array | None) -> bool:
        """Take the units of inputs and targets from these rows; whether they have changed."""
        before = getattr(self, "_scaling", None), getattr(self, "_target_scaling", None)
        self._scaling = self._target_scaling = Scaling(None, None)
        if self._standardizes() and X.shape[0]:
            always = not isinstance(self.standardize, str)
            self._scaling = Scaling.of_inputs(
                X, weight, always=always, centre_sparse=not self._has_own_layer
            )
            self._target_scaling = self._units_of_targets(y, weight)
        return before != (self._scaling, self._target_scaling)

    # What a subclass provides

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """How many outputs the solver has."""

    @abstractmethod
    def _targets(self, y: Array) -> Callable[[slice], Array]:
        """The targets of rows, as the solver wants them."""

    def _units_of_targets(self, y: Array, weight: Array | None) -> Scaling:
        return Scaling(None, None)

    # From X to H

    def _transformed(self, X: Any) -> Any:
        if is_own(self.hidden_):  # X is checked already
            return self.hidden_._transformed(X if X.dtype in FLOATS else X.astype(np.float64))
        H = self.hidden_.transform(X)
        return H.toarray() if sparse.issparse(H) else np.asarray(H)

    def _activations(self, X: Any, weight: Array | None = None) -> Array:
        scaling = self._scaling
        if sparse.issparse(X) and scaling.centre is not None:
            H = self._transformed_around_centre(X)
        else:
            H = self._transformed(scaling.apply(X, self._dtype))
        H = np.ascontiguousarray(H, dtype=self._dtype)
        try:
            check_magnitude("hidden.transform(X)", H, weight)
        except ValueError as error:
            raise ValueError(
                f"{error} X, as it was passed, has numbers from {X.min():.3g} to {X.max():.3g}."
            ) from None
        return H

    def _transformed_around_centre(self, X: Any) -> Any:
        """Of sparse rows: without filling the zeros, or else a few rows at a time."""
        scaling, layer = self._scaling, self.hidden_
        if is_own(layer):
            # In float64: what is far from the zeros loses digits there.
            return layer._transformed(scaling.divided(X, np.float64), scaling.shift)
        length = max(1, _DENSE_NUMBERS // X.shape[1])
        pieces = (X[start : start + length] for start in range(0, X.shape[0], length))
        return np.concatenate(
            [self._transformed(scaling.apply(piece, self._dtype)) for piece in pieces]
        )

    def _rows(self, X: Any, y: Array, weight: Array | None) -> Rows:
        targets = self._targets(y)

        def make(start: int, stop: int) -> tuple[Array, Array]:
            with one_thread if stop - start < FEW else nullcontext():
                H = self._activations(X[start:stop], weight)
            return H, targets(slice(start, stop))

        return Rows(X.shape[0], make, weight)

    def _scores(self, X: Any) -> Array:
        """H @ W, block by block, of shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        X = self._checked_rows(X, reset=False)
        W = self.solver_._weights()
        length = block_length(W.shape[0], self._dtype)
        blocks = (X[start : start + length] for start in range(0, X.shape[0], length))
        with one_thread if X.shape[0] < FEW else nullcontext():
            parts = [self.solver_._predicted(self._activations(block), W) for block in blocks]
        return np.concatenate(parts)

    def _scores_and_spreads(self, X: Any) -> tuple[Array, Array]:
        """H @ W and its standard deviations, block by block."""
        check_is_fitted(self)
        solver = self._exact_solver()
        state = solver._flush()
        X = self._checked_rows(X, reset=False)
        W = solver._weights_of(state)
        length = block_length(W.shape[0], self._dtype)
        scores, spreads = [], []
        with one_thread if X.shape[0] < FEW else nullcontext():
            for start in range(0, X.shape[0], length):
                H = self._activations(X[start : start + length])
                scores.append(solver._predicted(H, W))
                spreads.append(state.spread(H))
        return np.concatenate(scores), np.concatenate(spreads)

    def _exact_solver(self) -> RootSolver:
        if not isinstance(self.solver_, RootSolver):
            raise ValueError(
                f"return_std=True: {type(self.solver_).__name__} does not know how sure it is; use "
                "the solver Opium, DynamicOpium, SlidingOpium or Greville."
            )
        return self.solver_

    # Models as sums over rows

    @available_if(solver_is_additive)
    def merge(self, *others: Self) -> Self:
        """Learn all that other models have learned: as if this one had seen all of their rows.

        Parameters
        ----------
        *others : estimators of the same kind with the same hidden layer and solver
            Give them the same `random_state`, or the same fitted transformer.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        with self._guarded():
            for other in others:
                self._check_alike(other)
                self._merge(other)
        return self

    def __add__(self, other: Any) -> Self:
        """A new model that has learned what both have."""
        return self._twin().merge(other) if isinstance(other, type(self)) else NotImplemented

    def __radd__(self, other: Any) -> Self:
        return self._twin() if isinstance(other, int) and other == 0 else NotImplemented  # sum()

    def _twin(self) -> Self:
        """A copy that goes its own way: what it shares is never changed."""
        check_is_fitted(self)
        twin = copy(self)
        twin.solver_ = copy(self.solver_)
        return twin

    def _check_alike(self, other: Any) -> None:
        if type(other) is not type(self):
            raise ValueError(
                f"other: expected {type(self).__name__}, got {type(other).__name__}; only models "
                "of one kind can be merged."
            )
        check_is_fitted(other)
        if (self._scaling, self._target_scaling) != (other._scaling, other._target_scaling):
            raise ValueError(
                "other: it has learned other units for its inputs or targets than this model; "
                "bring the data to order one yourself, and pass standardize=False."
            )
        if not _same_layer(self.hidden_, other.hidden_):
            raise ValueError(
                "other: its hidden layer is not that of this model; give both the same "
                "random_state, or the same fitted transformer as hidden."
            )

    def _merge(self, other: Any) -> None:
        assert isinstance(self.solver_, AdditiveSolver)
        self.solver_._merge(other.solver_)
        self._early = None

    # What the choice of epsilon was

    @available_if(solver_chooses)
    def path(self) -> Path:
        """The evidence for each epsilon that was tried when it was last chosen.

        Returns
        -------
        path : Path
            With arrays `epsilon` and `evidence`, the number `chosen`, and a method `plot`.
        """
        check_is_fitted(self)
        assert isinstance(self.solver_, ChoosingSolver)
        return self.solver_.path()

    @property
    def epsilon_(self) -> float:
        """The epsilon in use, for the solvers Opium and DynamicOpium."""
        check_is_fitted(self)
        if not isinstance(self.solver_, ChoosingSolver):
            raise AttributeError(f"{type(self.solver_).__name__} has no epsilon_.")
        return self.solver_.epsilon_

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned so far."""
        check_is_fitted(self)
        return self.solver_.n_samples_seen_

    def __getstate__(self) -> Any:
        return {k: v for k, v in super().__getstate__().items() if k != "_last_one"}

    def __sklearn_is_fitted__(self) -> bool:
        return self._started

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _size_for(n_features: int, n_rows: int | None, dtype: Any) -> int:
    """The number of units for hidden="auto".

    Ten times the number of inputs, the paper's rule, and at least 100. Where the rows are known,
    at least 15 times the root of their number, up to 2000; rounded up to 100, 200, 400, ..., so
    that shards of a data set get the same. Three matrices of units by units fit into 256 MB.
    """
    wanted = max(100, 10 * n_features)
    if n_rows is not None:
        rows = min(2000.0, 15 * np.sqrt(n_rows))
        wanted = max(wanted, int(100 * 2 ** np.ceil(np.log2(max(rows, 100) / 100))))
    return min(wanted, int(np.sqrt(_MEMORY / (3 * np.dtype(dtype).itemsize))))


def _same_layer(a: Any, b: Any) -> bool:
    """Whether two fitted transformers do the same; how they were seeded does not matter."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    fitted = ({k: v for k, v in vars(t).items() if k != "random_state"} for t in (a, b))
    try:
        first, second = map(joblib.hash, fitted)
    except (TypeError, AttributeError, PicklingError):  # it cannot be looked into
        return False
    return bool(first == second)


def _seeded(transformer: Any, random_state: Any) -> Any:
    """Seed whatever in the transformer has a random_state that is None."""
    for name, value in transformer.get_params().items():
        if value is None and (name == "random_state" or name.endswith("__random_state")):
            transformer.set_params(**{name: random_state})
    return transformer
