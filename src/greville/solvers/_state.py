"""What a solver has learned, as one immutable value: what all solvers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from ..backend import Array, Backend
from ..fields import array, count, require
from ._derived import Value, derived, is_derived, replace, stored_value
from ._rows import Rows
from .sums import predictions

# Pending rows of float32 from which on they are learned for good when the model is read.
_FEW_IN_FLOAT32 = 32

_ONLY_WEIGHTS = (
    "this model is frozen: it has only the weights to predict with; use the model that it was made "
    "from."
)


@dataclass(frozen=True)
class Shape:
    """The size and kind of what is learned.

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


@dataclass(frozen=True, eq=False, kw_only=True)
class State(Value):
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

    shape: ClassVar[Any]  # a Shape
    solution: ClassVar[Any]  # W, with a row for the intercept first if any
    root: ClassVar[Any] = None  # the sums from which θ and standard deviations are read
    keep: ClassVar[Any] = 1.0  # what is left of a row's weight after the next
    is_frozen: ClassVar[bool] = False
    rules: ClassVar[tuple[str, ...]] = ()  # settings that are fields

    # What only some can do
    with_outputs: ClassVar[Any]
    leave_out: ClassVar[Any]
    unlearn: ClassVar[Any]
    merge: ClassVar[Any]
    accumulator: ClassVar[Any]
    without: ClassVar[Any]

    # For subclasses

    def added(self, rows: Rows) -> Self:
        """The state after more rows."""
        return self._recorded(rows)[0]

    def added_by_fit(self, rows: Rows) -> Self:
        """The state after the rows of a `fit`, which may be all there will ever be."""
        return self.added(rows)

    def innovated(self, H: Array, Y: Array, weight: Array) -> tuple[Self, Array]:
        """Return the state after a few rows, and each row's prediction error before learning."""
        raise TypeError(f"{type(self).__name__} does not learn row by row.")

    def fits(self, settings: Any) -> bool:
        """Whether the state was started with these settings."""
        return all(settings[name] == getattr(self, name) for name in self.rules)

    def with_units(self, n_hidden: int, old: Array) -> Self:
        """Return a state with more units, zero so far, the present ones at ascending `old`."""
        raise ValueError(
            f"{type(self).__name__} cannot learn a value that comes late: it has no with_units. "
            "Let the first rows have all values, or choose the solver opium."
        )

    def chosen(self) -> Self:
        """Choose ε with care, where it is chosen at all."""
        return self.flushed()

    def rows_until_event(self) -> int:
        """Return the number of rows before the next event: a choice of ε, or a floor."""
        return 1 << 30

    def after_event(self) -> Self:
        """Return the state after a due choice of ε, or with a due floor added."""
        return self

    def record_rows(self) -> int:
        """Return the largest number of rows that `innovated` may take at once."""
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

    def on(self, b: Backend) -> Self:
        return super(State, self.flushed()).on(b)

    # Rows that wait

    @property
    def n_pending(self) -> int:
        """Number of rows that wait to be learned together."""
        return sum(chunk[0].shape[0] for chunk in self.pending)

    def counted(self, n_seen: int, pending: tuple[Any, ...] = ()) -> Self:
        """Return the state with another number of rows; derived values are kept."""
        new: Self = object.__new__(type(self))
        vars(new).update(vars(self), n_seen=n_seen, pending=pending)
        vars(new).pop("_flushed", None)
        return new

    def flushed(self) -> Self:
        """Learn the pending rows."""
        flushed: Self = self._flushed if self.pending else self
        return flushed

    @derived
    def _flushed(self) -> Self:
        b, n = self.shape.backend, self.n_pending
        rows = Rows.concatenated(b, [Rows.of(*chunk) for chunk in self.pending])
        return self.counted(self.n_seen - n).learn_now(rows)

    @property
    def settled(self) -> Self:
        """The state to continue from: without pending rows if a reader has had them learned.

        In float32 a few rows stay pending: learned one by one, they would lose digits.
        """
        few = self.dtype == np.float32 and self.n_pending < _FEW_IN_FLOAT32
        settled: Self = self if few or not is_derived(self, "_flushed") else self._flushed
        return settled

    def __getstate__(self) -> dict[str, Any]:
        return super(State, self.settled).__getstate__()

    def compact(self) -> Self:
        """Learn the pending rows, and drop what can be computed from the state.

        A copy that was made from the compact state goes on as this one does, to the bit.
        """
        return replace(self.flushed())

    # Learning

    def check_learns(self) -> None:
        """Raise a ValueError for weights alone."""
        if self.is_frozen:
            raise ValueError(_ONLY_WEIGHTS)

    def learn(self, rows: Rows) -> Self:
        """Return the value after more rows; a few rows may stay pending."""
        limit = self.shape.backend.tuning.pending_rows
        if rows.n >= limit:
            return self.learn_now(rows)
        base = self.settled
        new = base.counted(self.n_seen + rows.n, (*base.pending, rows.arrays()))
        return new.flushed() if new.n_pending >= limit else new

    def learn_now(self, rows: Rows) -> Self:
        """The value after more rows, none of which is pending."""
        base = self.flushed()
        return base.added(rows).counted(base.n_seen + rows.n)

    def learn_all(self, rows: Rows) -> Self:
        """The value after the rows of a `fit`, for which a choice of ε may cost more."""
        return self.added_by_fit(rows).counted(self.n_seen + rows.n)

    def record(self, rows: Rows, *, spread: bool = False) -> tuple[Self, list[Array]]:
        """Return the value after more rows, and each row's prediction before learning.

        With `spread` also their standard deviations.
        """
        return self.flushed()._recorded(rows, spread)

    def _recorded(self, rows: Rows, spread: bool = False) -> tuple[Self, list[Array]]:
        b, weights, start, state = self.shape.backend, rows.weights, 0, self
        blocks, spreads = list[Array](), list[Array]()
        while start < rows.n:
            stop = min(rows.n, start + max(1, state.record_rows()))
            H, Y = (b.asarray(A) for A in rows.make(start, stop))
            weight = weights[start:stop]
            if spread:
                spreads.append(state.spreads_in_order(H, Y, weight))
            state, errors = state.innovated(H, Y, weight)
            state = state.counted(self.n_seen + stop)
            blocks.append(Y - errors)
            start = stop
        return state, [b.xp.concat(blocks), *([np.concatenate(spreads)] if spread else [])]

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
        b = self.shape.backend
        return predictions(b, b.asarray(H), self.weights() if W is None else W)

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

    def in_words(self, n_seen: int) -> dict[str, str]:
        """Describe the state: ε, and what becomes of old rows, as far as that is at hand."""
        return {}

    def frozen(self) -> FrozenState:
        """The weights alone, a small value that predicts the same and cannot learn."""
        W, shape = self.weights(), self.shape
        size = {"n_hidden": shape.n_hidden, "n_seen": self.n_seen}
        return FrozenState(W=W, backend=shape.backend, **size)


def _check_weights(state: WeightsState) -> None:
    fits = state.W.shape[0] - state.shape.n_hidden in (0, 1) and state.shape.n_hidden >= 1
    require(fits, "the weights have another number of rows than units")
    require(state.dtype.char in "fd", "the weights are not floats")


# Declares a dataclass derived from `WeightsState`, with its annotated fields.
stored_weights = stored_value(_check_weights)


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightsState(State):
    """A state that is nothing but the weights.

    Attributes
    ----------
    W : array of shape (n_hidden, n_outputs)
    backend : Backend
    """

    W: Annotated[Array, array(2)]
    backend: Backend

    arrays = ("W",)

    @classmethod
    def start(cls, shape: Shape, **settings: Any) -> Self:
        """Return weights of zero."""
        b = shape.backend
        W = b.zeros((shape.n_hidden, shape.n_outputs), shape.dtype)
        return cls(W=W, backend=b, **settings)

    @derived
    def shape(self) -> Shape:
        """The size and kind of the weights."""
        n_hidden, n_outputs = self.W.shape
        return Shape(self.backend, n_hidden, n_outputs, self.backend.dtype_of(self.W))

    @property
    def solution(self) -> Array:
        return self.W


@stored_weights
@dataclass(frozen=True, eq=False, kw_only=True)
class FrozenState(WeightsState):
    """Weights that another state has found, with a row for the intercept first if any."""

    n_hidden: Annotated[int, count]
    is_frozen = True

    @derived
    def shape(self) -> Shape:
        """The size and kind of the weights."""
        b = self.backend
        return Shape(b, self.n_hidden, self.W.shape[1], b.dtype_of(self.W))

    def added(self, rows: Rows) -> Any:
        raise ValueError(_ONLY_WEIGHTS)

    leave_out = added
