"""What a solver has learned, as one immutable value: what all solvers share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Self

import numpy as np

from .. import backend
from ..backend import Array, Backend
from ..devices import memory_errors_named
from ..fields import Fields, array, count, require, stored
from ._derived import Value, derived, is_derived, replace
from ._rows import Rows

# Pending rows of float32 from which on they are learned for good when the model is read.
_FEW_IN_FLOAT32 = 32

_ONLY_WEIGHTS = (
    "this model is frozen: it has only the weights to predict with; use the model that it was made "
    "from."
)


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "pending_rows", self.backend.tuning.pending_rows)

    def memory(self) -> AbstractContextManager[None]:
        """A context in which a device that runs out of memory says what was asked of it."""
        if self.backend.has_kernels:
            return nullcontext()
        return memory_errors_named(self.backend, self.n_hidden, self.dtype)


class _Usual(Value):
    """What holds of a state unless its class says something else."""

    shape: Any  # a Shape
    root: Any = None  # the sums from which θ and standard deviations are read
    is_frozen: Any = False
    solution: Any  # W, with a row for the intercept first if any

    # What only some can do
    on: Any
    with_outputs: Any
    leave_out: Any
    unlearn: Any
    merge: Any
    accumulator: Any
    without: Any

    keep: Any = 1.0  # what is left of a row's weight after the next


@dataclass(frozen=True, eq=False, kw_only=True)
class State(_Usual):
    """What a solver has learned: an immutable value. Learning makes another.

    A subclass has `shape`, `added` and `solution`. One that learns online has `innovated` and
    `with_outputs` too, and `with_units` for values of text columns that come late. These work on a
    value without pending rows, and leave `n_seen` as it is.

    In these methods `weight` is NumPy's; H, Y, errors, predictions and weights are arrays of the
    backend, and `rows` are either's.

    Attributes
    ----------
    n_seen : int
        How many rows were seen, with those that are pending.
    pending : tuple
        Chunks (H, Y, weight) that will be learned together with others: a QR factorisation of one
        row costs nearly as much as one of thirty, and past a hundred there is little to gain.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import Opium
    >>> Opium(1e-3).fit(np.eye(3), [1.0, 2.0, 3.0]).fitted_.n_seen
    3
    """

    n_seen: Annotated[int, count] = 0
    pending: tuple[Any, ...] = ()

    # For subclasses

    def added(self, rows: Rows) -> Self:
        """The state after more rows."""
        return self._recorded(rows)[0]

    def added_by_fit(self, rows: Rows) -> Self:
        """The state after the rows of a `fit`, which may be all there will ever be."""
        return self.added(rows)

    def innovated(self, H: Array, Y: Array, weight: Array) -> tuple[Self, Array]:
        """The state after a few rows, and the error of each before it was learned."""
        raise TypeError(f"{type(self).__name__} does not learn row by row.")

    def continued(self, settings: Any) -> Self:
        """The state with the solver's settings for the rows to come.

        Raises
        ------
        ValueError
            If a model that has started cannot go on with them.
        """
        return self

    def with_units(self, n_hidden: int, old: Array) -> Self:
        """With more hidden units, zero so far, the present ones at the indices `old`, ascending."""
        raise ValueError(
            f"{type(self).__name__} cannot learn a value that comes late: it has no with_units. "
            "Let the first rows have all values, or choose the solver opium."
        )

    def chosen(self) -> Self:
        """With an ε that is chosen with care, where it is chosen at all."""
        return self.flushed()

    def rows_until_event(self) -> int:
        """How many rows come before anything but rows changes the state."""
        return 1 << 30

    def after_event(self) -> Self:
        """The state with ε chosen or a floor added, if that is due."""
        return self

    def record_rows(self) -> int:
        """How many rows `innovated` may take at once."""
        return min(self.shape.backend.tuning.record_rows, self.rows_until_event())

    def spreads_in_order(self, H: Array, Y: Array, weight: Array) -> Array:
        """Standard deviations for rows learned one after the other, each before it is learned."""
        spreads, state = [], self
        for i in range(H.shape[0]):
            row = slice(i, i + 1)
            spreads.append(state.spread(H[row, :]))
            state = state.learn_now(Rows.of(H[row, :], Y[row, :], weight[row]))
        return np.concatenate(spreads)

    def for_kernels(self) -> tuple[Any, ...] | None:
        """The states into which kernels may learn rows; None where they cannot."""
        return None

    def with_learned(self, learned: Any) -> Self:
        """The state after rows that kernels have learned."""
        raise TypeError(f"{type(self).__name__} does not learn in place.")

    def rejoined(self, members: list[Any], mixture: Any) -> Any:
        """The state of which `for_kernels` gave the members."""
        return members[0]

    # Rows that wait

    @property
    def n_pending(self) -> int:
        """How many rows wait to be learned together."""
        return sum(chunk[0].shape[0] for chunk in self.pending)

    def counted(self, n_seen: int, pending: tuple[Any, ...] = ()) -> Self:
        """The same with another number of rows, and what was computed from it."""
        new: Self = object.__new__(type(self))
        vars(new).update(vars(self), n_seen=n_seen, pending=pending)
        vars(new).pop("_flushed", None)
        return new

    def flushed(self) -> Self:
        """The same with the pending rows learned."""
        flushed: Self = self._flushed if self.pending else self
        return flushed

    @derived
    def _flushed(self) -> Self:
        b, n = self.shape.backend, self.n_pending
        rows = Rows.joined(b, [Rows.of(*chunk) for chunk in self.pending])
        return self.counted(self.n_seen - n).learn_now(rows)

    @property
    def settled(self) -> Self:
        """The state to go on from: without pending rows if a reader has had them learned.

        In float32 a few rows stay pending: learned one by one, they would lose digits.
        """
        few = self.dtype == np.float32 and self.n_pending < _FEW_IN_FLOAT32
        settled: Self = self if few or not is_derived(self, "_flushed") else self._flushed
        return settled

    def __getstate__(self) -> dict[str, Any]:
        return super(State, self.settled).__getstate__()

    def compact(self) -> Self:
        """The same with the pending rows learned, without what can be computed from it.

        A copy that was made from the compact state goes on as this one does, to the bit.
        """
        return replace(self.flushed())

    # Learning

    def check_learns(self) -> None:
        """Raise a ValueError for weights alone."""
        if self.is_frozen:
            raise ValueError(_ONLY_WEIGHTS)

    def learn(self, rows: Rows) -> Self:
        """The value after more rows, of which few wait for others."""
        limit = self.shape.pending_rows
        if rows.n >= limit:
            return self.learn_now(rows)
        base = self.settled
        new = base.counted(self.n_seen + rows.n, (*base.pending, rows.arrays()))
        return new.flushed() if new.n_pending >= limit else new

    def learn_now(self, rows: Rows) -> Self:
        """The value after more rows, none of which is pending."""
        base = self.flushed()
        with base.shape.memory():
            return base.added(rows).counted(base.n_seen + rows.n)

    def learn_all(self, rows: Rows) -> Self:
        """The value after the rows of a `fit`, for which a choice of ε may cost more."""
        with self.shape.memory():
            return self.added_by_fit(rows).counted(self.n_seen + rows.n)

    def record(self, rows: Rows, look: Callable[..., None] | None = None) -> tuple[Self, Array]:
        """The value after more rows, and the prediction of each before it was learned.

        `look` gets the state before each block of rows, and the block.
        """
        with self.shape.memory():
            return self.flushed()._recorded(rows, look)

    def _recorded(self, rows: Rows, look: Callable[..., None] | None = None) -> tuple[Self, Array]:
        b, weight, blocks, start, state = self.shape.backend, rows.weights, [], 0, self
        while start < rows.n:
            stop = min(rows.n, start + max(1, state.record_rows()))
            H, Y = (b.asarray(A) for A in rows.make(start, stop))
            if look is not None:
                look(state, H, Y, weight[start:stop])
            state, errors = state.innovated(H, Y, weight[start:stop])
            state = state.counted(self.n_seen + stop)
            blocks.append(Y - errors)
            start = stop
        return state, b.xp.concat(blocks)

    def record_with_spread(self, rows: Rows) -> tuple[Self, tuple[Array, Array]]:
        """The value after more rows; the prediction and spread of each before it was learned."""
        spreads: list[Array] = []
        new, predicted = self.record(
            rows, lambda state, *block: spreads.append(state.spreads_in_order(*block))
        )
        return new, (predicted, np.concatenate(spreads))

    # Reading

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        return int(self.shape.n_outputs)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype of weights and predictions."""
        dtype: np.dtype[Any] = self.shape.dtype
        return dtype

    def weights(self) -> Array:
        """W after every row seen so far, with a row for the intercept first if any."""
        W: Array = self.flushed().solution
        return W

    def predict(self, H: Array, W: Array | None = None) -> Array:
        """Predictions for rows; `W` are the weights, if they are known already."""
        b, W = self.shape.backend, self.weights() if W is None else W
        H = b.asarray(H)
        if W.shape[0] == H.shape[1]:
            return b.matmul(H, W)
        return b.matmul(H, W[1:, :]) + W[:1, :]

    def predict_one(self, h: Array) -> Any:
        """The prediction for one row; a number if there is one output."""
        predicted = self.shape.backend.to_numpy(self.predict(h[None]))[0]
        return predicted if len(predicted) > 1 else predicted[0]

    def spread(self, H: Array) -> Array:
        """The standard deviation of a new target for each row and output (NumPy)."""
        state = self.flushed()
        state.check_learns()
        deviations: Array = state.root.deviations(self.shape.backend.asarray(H))
        return deviations

    def frozen(self) -> FrozenState:
        """The weights alone, a small value that predicts the same and cannot learn."""
        W, shape = self.weights(), self.shape
        return FrozenState(W=W, b=shape.backend, n_hidden=shape.n_hidden, n_seen=self.n_seen)


_NOT_STORED = ("b", "pending")


def _to_fields(state: WeightsState) -> Fields:
    """The arrays in files are NumPy's, whatever the backend."""
    mine = {f.name: getattr(state, f.name) for f in fields(state) if f.name not in _NOT_STORED}
    return {**mine, "W": state.b.to_numpy(state.W)}


def _from_fields(cls: type[WeightsState], stored: Fields) -> WeightsState:
    b = backend.default()
    return cls(**{**stored, "W": b.asarray(stored["W"]), "b": b})


def _check_weights(state: WeightsState) -> None:
    fits = state.W.shape[0] - state.shape.n_hidden in (0, 1) and state.shape.n_hidden >= 1
    require(fits, "the weights have another number of rows than units")
    require(state.b.to_numpy(state.W).dtype.char in "fd", "the weights are not floats")


def stored_weights(cls: type[Any]) -> type[Any]:
    """Declare a dataclass derived from `WeightsState`, with its annotated fields."""
    declare = stored(
        derived=_NOT_STORED, check=_check_weights, to_fields=_to_fields, from_fields=_from_fields
    )
    return declare(cls)


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightsState(State):
    """A state that is nothing but the weights.

    Attributes
    ----------
    W : array of shape (n_hidden, n_outputs)
    b : Backend
    """

    W: Annotated[Array, array(2)]
    b: Backend

    @classmethod
    def start(cls, shape: Shape, **settings: Any) -> Self:
        """Weights of zero."""
        b = shape.backend
        return cls(W=b.zeros((shape.n_hidden, shape.n_outputs), shape.dtype), b=b, **settings)

    @derived
    def shape(self) -> Shape:
        """The size and kind of the weights."""
        n_hidden, n_outputs = self.W.shape
        return Shape(self.b, n_hidden, n_outputs, self.b.dtype_of(self.W))

    @property
    def solution(self) -> Array:
        return self.W

    def on(self, b: Backend) -> Self:
        """The same on another backend, with no row pending."""
        base = self.flushed()
        return replace(base, W=b.asarray(base.b.to_numpy(base.W)), b=b)


@stored_weights
@dataclass(frozen=True, eq=False, kw_only=True)
class FrozenState(WeightsState):
    """Weights that another state has found, with a row for the intercept first if any."""

    n_hidden: Annotated[int, count]
    is_frozen = True

    @derived
    def shape(self) -> Shape:
        """The size and kind of the weights."""
        return Shape(self.b, self.n_hidden, self.W.shape[1], self.b.dtype_of(self.W))

    def added(self, rows: Rows) -> Any:
        raise ValueError(_ONLY_WEIGHTS)

    def leave_out(self, rows: Rows) -> Any:
        raise ValueError(_ONLY_WEIGHTS)
