"""What solvers offer to other packages, and what a new solver has to provide.

A solver has two sides. The class that people use (`Opium`) has parameters, checks and shapes, as
scikit-learn wants them. Its `algorithm` is a set of pure functions: the state before any row, the
state after some rows, the weights. `Fitted` (in `fitted`) joins an algorithm with a state and the
rows that are pending.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..backend import Array, Backend, Kernels
from ..devices import memory_errors_named
from ._in_place import Filling
from ._rows import Rows, block_length
from .sums import Sums

__all__ = ["Algorithm", "Capabilities", "Rows", "Shape", "block_length"]


@dataclass(frozen=True)
class Capabilities:
    """What a kind of solver can do beside `fit` and `predict`.

    Attributes
    ----------
    online : learn rows as they come (`partial_fit`, `learn_one`, `prequential`)
    adds : learn what another model has learned (`merge`)
    removes : take rows away (`unlearn`)
    tells_spread : standard deviations of predictions (`return_std`)
    chooses_epsilon : ``epsilon="auto"`` (`epsilon_`, `path`)
    leaves_out : leave-one-out predictions (`loo_predict`)

    Examples
    --------
    >>> from greville import Opium, OpiumLight
    >>> Opium.capabilities.removes, OpiumLight.capabilities.removes
    (True, False)
    """

    online: bool = True
    adds: bool = False
    removes: bool = False
    tells_spread: bool = False
    chooses_epsilon: bool = False
    leaves_out: bool = False


@dataclass(frozen=True)
class Shape:
    """The size and kind of what is learned; and what is looked up for every row, once.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.backend import default
    >>> from greville.solvers import Shape
    >>> Shape(default(), 100, 1, np.dtype(float)).n_hidden
    100
    """

    backend: Backend
    n_hidden: int
    n_outputs: int
    dtype: np.dtype[Any]
    pending_rows: int = field(init=False, repr=False)
    kernels: Kernels | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pending_rows", self.backend.tuning.pending_rows)
        object.__setattr__(self, "kernels", self.backend.kernels(self.dtype))

    def memory(self) -> AbstractContextManager[None]:
        """A context in which a device that runs out of memory says what was asked of it."""
        if self.kernels is not None:
            return nullcontext()
        return memory_errors_named(self.backend, self.n_hidden, self.dtype)

    def __reduce__(self) -> Any:
        return Shape, (self.backend, self.n_hidden, self.n_outputs, self.dtype)


class Algorithm(ABC):
    """How a solver learns: functions of a state that only it understands, which never change one.

    Subclasses are frozen dataclasses of the solver's parameters. `start`, `learn` and `weights`
    are all that a solver needs that learns all rows at once; one that learns online has `innovate`
    and `with_outputs` too, and `with_units` for values of text columns that come late.

    In these functions `weight` is NumPy's; H, Y, errors, predictions and weights are arrays of the
    backend, and `rows` are either's.

    Examples
    --------
    >>> from greville import Opium
    >>> Opium(0.5).algorithm()
    OpiumAlgorithm(epsilon=0.5, tol=None, intercept=False)
    """

    @abstractmethod
    def start(self, shape: Shape) -> Any:
        """The state before any row."""

    @abstractmethod
    def learn(self, shape: Shape, state: Any, rows: Rows, seen: int) -> Any:
        """The state after some rows, which come after `seen` others."""

    @abstractmethod
    def weights(self, state: Any) -> Array:
        """W, of shape (n_hidden, n_outputs), below a row for the intercept if there is one."""

    def learn_all(self, shape: Shape, state: Any, rows: Rows) -> Any:
        """The state after the rows of a `fit`, which may be all there will ever be."""
        return self.learn(shape, state, rows, 0)

    def filling(self, shape: Shape, state: Any, seen: int) -> Filling | None:
        """The arrays for compiled kernels, and for how many rows; None where they cannot learn."""
        return None

    def with_due(self, shape: Shape, state: Any, seen: int) -> Any:
        """The state after `seen` rows that kernels learned, with ε chosen or a floor added."""
        return state

    def innovate(
        self, shape: Shape, state: Any, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Any, Array]:
        """The state after a few rows, and the error of each before it was learned."""
        raise NotImplementedError

    def with_outputs(self, shape: Shape, state: Any, n_outputs: int, old: Array) -> Any:
        """A state with more outputs, zero in all rows so far, the present ones at `old`."""
        raise NotImplementedError

    def with_units(self, shape: Shape, state: Any, n_hidden: int, old: Array) -> Any:
        """A state with more hidden units, zero in all rows so far, the present ones at `old`.

        These are in ascending order. A solver without it refuses values that come late.
        """
        raise ValueError(
            f"{type(self).__name__} cannot learn a value that comes late: it has no with_units. "
            "Let the first rows have all values, or choose the solver opium."
        )

    def rows_until_next_event(self, shape: Shape, seen: int) -> int:
        """How many rows after `seen` come before anything but rows changes the state."""
        return 1 << 30

    def record_rows(self, shape: Shape, seen: int) -> int:
        """How many rows `innovate` may take at once after `seen` rows."""
        return min(shape.backend.tuning.record_rows, self.rows_until_next_event(shape, seen))

    def root(self, state: Any) -> Sums:
        """The root from which θ, ψ and the loss are read."""
        raise NotImplementedError

    def spread(self, state: Any, H: Array) -> Array:
        """The standard deviation of a new target for each row and output, as a NumPy array."""
        return self.root(state).deviations(H)

    def spreads_in_order(
        self, shape: Shape, state: Any, H: Array, Y: Array, weight: Array, seen: int
    ) -> Array:
        """The same for rows that are learned one after the other, each before it is learned."""
        spreads, rows = [], Rows.of(H, Y, weight)
        for i in range(rows.n):
            spreads.append(self.spread(state, H[i : i + 1, :]))
            state = self.learn(shape, state, rows.part(i, i + 1), seen + i)
        return np.concatenate(spreads)

    def unlearn(self, shape: Shape, state: Any, rows: Rows, seen: int) -> Any:
        """The state without some rows; a ValueError if they cannot be removed."""
        raise NotImplementedError

    def merge(self, state: Any, other: Any) -> Any:
        """The state that has learned the rows of both; None if it cannot be."""
        raise NotImplementedError

    def subtract(self, shape: Shape, state: Any, sums: Any, everything: bool) -> Any:
        """The state without the rows of an accumulation; a ValueError if they cannot be removed.

        `everything` says whether they are as many as were learned.
        """
        raise NotImplementedError

    def accumulation(self) -> Algorithm:
        """The algorithm that only adds rows up, for `merge` and `subtract` of this one."""
        raise NotImplementedError

    def chosen(self, state: Any) -> Any:
        """The state with an ε that is chosen with care, where it is chosen at all."""
        return state

    def leave_out(self, shape: Shape, state: Any, rows: Rows) -> Array:
        """Predictions (NumPy) for rows that were learned, each as if it alone had not been."""
        raise NotImplementedError

    def on(self, old: Backend, new: Backend, state: Any) -> Any:
        """The same state on another backend."""
        if hasattr(state, "on"):
            return state.on(new)
        return new.asarray(old.to_numpy(state))

    def compact(self, state: Any) -> Any:
        """The same state without what can be computed from it."""
        return state.compact() if hasattr(state, "compact") else state

    def check_continues(self, started: Algorithm) -> None:  # noqa: B027
        """Raise a ValueError if a model that started with other parameters cannot go on."""

    def record(
        self,
        shape: Shape,
        state: Any,
        rows: Rows,
        seen: int,
        look: Callable[..., None] | None = None,
    ) -> tuple[Any, Array]:
        """The state after some rows, and the prediction of each before it was learned.

        `look` is called with every block of rows, and the state before it.
        """
        b, weight, blocks, start = shape.backend, rows.weights, [], 0
        while start < rows.n:
            stop = min(rows.n, start + max(1, self.record_rows(shape, seen + start)))
            H, Y = (b.asarray(A) for A in rows.make(start, stop))
            block = (state, H, Y, weight[start:stop], seen + start)
            if look is not None:
                look(*block)
            state, errors = self.innovate(shape, *block)
            blocks.append(Y - errors)
            start = stop
        return state, b.xp.concat(blocks)
