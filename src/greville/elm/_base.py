"""A hidden layer and a solver, and the way from X through both."""

from __future__ import annotations

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
from ..linalg import Array, matmul
from ..solvers import Batch, DynamicOpium, Greville, Opium, OpiumLight
from ..solvers._additive import AdditiveSolver
from ..solvers._base import Solver
from ..solvers._exact import RootSolver
from ..solvers._rows import FEW, Rows, block_length
from ..threads import one_thread
from ..validation import (
    check_magnitude,
    check_number,
    check_rows,
    unchanged_on_error,
)

SOLVERS: dict[str, type[Solver]] = {
    "batch": Batch,
    "greville": Greville,
    "opium": Opium,
    "light": OpiumLight,
    "dynamic": DynamicOpium,
}


def solver_is_online(estimator: ELM) -> bool:
    """Whether there is partial_fit; a solver that is none says what is wrong when it is used."""
    if estimator.solver == "batch" or isinstance(estimator.solver, Batch):
        raise AttributeError("Batch needs all rows at once; use fit, or another solver.")
    return True


def solver_is_additive(estimator: ELM) -> bool:
    """Whether rows can be unlearned, and models merged."""
    kind = SOLVERS.get(estimator.solver) if isinstance(estimator.solver, str) else None
    kind = kind or type(estimator.solver)
    if not issubclass(kind, AdditiveSolver):
        raise AttributeError(
            f"{kind.__name__} is not a sum over rows; use the solver Opium to unlearn and merge."
        )
    return True


class ELM(BaseEstimator):
    """The layer, the solver and the way from X through both, block by block."""

    def __init__(
        self, hidden: Any = "auto", solver: Any = "opium", random_state: Any = None
    ) -> None:
        self.hidden = hidden
        self.solver = solver
        self.random_state = random_state

    def _chosen_solver(self) -> Solver:
        """A solver as `solver` describes it, not yet fitted."""
        if isinstance(self.solver, Solver):
            return clone(self.solver)
        if isinstance(self.solver, str) and self.solver in SOLVERS:
            return SOLVERS[self.solver]()
        names = ", ".join(map(repr, SOLVERS))
        raise ValueError(f"solver={self.solver!r}: choose one of {names}, or pass a solver object.")

    def _chosen_layer(self) -> Any:
        """A transformer as `hidden` describes it, not yet fitted."""
        if isinstance(self.hidden, str) and self.hidden == "auto":
            return RandomLayer(random_state=self.random_state)
        if hasattr(self.hidden, "transform") and not isinstance(self.hidden, type):
            return _seeded(clone(self.hidden), self.random_state)
        if not isinstance(self.hidden, Integral) or isinstance(self.hidden, bool):
            raise ValueError(
                f"hidden={self.hidden!r}: pass 'auto', a number of units or a transformer object."
            )
        check_number("hidden", self.hidden, low=1, whole=True)
        return RandomLayer(int(self.hidden), random_state=self.random_state)

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

    def _begin(self, X: Any, y: Array, n_outputs: int) -> None:
        """Forget everything: a new layer for the columns of X, a solver that has seen nothing."""
        self.solver_ = self._chosen_solver()
        self._dtype = self._dtype_for(X, reset=True)
        self.hidden_ = self._chosen_layer().fit(X, y)
        n_hidden = self._activations(X[:1]).shape[1]
        self.solver_._begin(n_hidden, n_outputs, self._dtype)

    def _activations(self, X: Any, weight: Array | None = None) -> Array:
        H = self.hidden_.transform(X)
        H = H.toarray() if sparse.issparse(H) else np.asarray(H)
        H = np.ascontiguousarray(H, dtype=self._dtype)
        check_magnitude("hidden.transform(X)", H, weight)
        return H

    def _rows(self, X: Any, targets: Callable[[slice], Array], weight: Array | None) -> Rows:
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
            return np.concatenate([matmul(self._activations(block), W) for block in blocks])

    def _scores_and_spreads(self, X: Any) -> tuple[Array, Array]:
        """H @ W and its standard deviations, block by block."""
        check_is_fitted(self)
        state = self._exact_solver()._flush()
        X = self._checked_rows(X, reset=False)
        W = state.weights()
        length = block_length(W.shape[0], self._dtype)
        scores, spreads = [], []
        with one_thread if X.shape[0] < FEW else nullcontext():
            for start in range(0, X.shape[0], length):
                H = self._activations(X[start : start + length])
                scores.append(matmul(H, W))
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
        if not _same_layer(self.hidden_, other.hidden_):
            raise ValueError(
                "other: its hidden layer is not that of this model; give both the same "
                "random_state, or the same fitted transformer as hidden."
            )

    def _merge(self, other: Any) -> None:
        assert isinstance(self.solver_, AdditiveSolver)
        self.solver_._merge(other.solver_)

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned so far."""
        check_is_fitted(self)
        return self.solver_.n_samples_seen_

    def __sklearn_is_fitted__(self) -> bool:
        return self._started

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


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
