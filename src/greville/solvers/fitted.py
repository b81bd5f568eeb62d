"""What a solver has learned, as one immutable value: estimators, files and others work with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..backend import Array, Backend
from ._frozen import ONLY_WEIGHTS, Frozen
from ._in_place import record_in_place
from ._pending import Pending
from .protocol import Algorithm, Rows, Shape
from .sums import Sums


class Fitted:
    """What a solver has learned: an immutable value. Learning makes another.

    Parameters
    ----------
    algorithm : Algorithm
    shape : Shape
    state : object
        What the algorithm has made of the rows learned so far.
    n_seen : int
        How many rows were seen, with those that are pending.
    pending : Pending
        Rows that will be learned together with others.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import Opium
    >>> Opium(1e-3).fit(np.eye(3), [1.0, 2.0, 3.0]).fitted_.n_seen
    3
    """

    __slots__ = (
        "_flushed",
        "algorithm",
        "n_seen",
        "pending",
        "shape",
        "state",
    )

    def __init__(
        self,
        algorithm: Algorithm,
        shape: Shape,
        state: Any,
        n_seen: int = 0,
        pending: Pending | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.shape = shape
        self.state = state
        self.n_seen = n_seen
        self.pending = Pending() if pending is None else pending
        self._flushed: Fitted | None = None  # the same with the pending rows learned

    @classmethod
    def start(cls, algorithm: Algorithm, shape: Shape) -> Fitted:
        """The value before any row."""
        with shape.memory():
            return cls(algorithm, shape, algorithm.start(shape))

    def __reduce__(self) -> Any:
        if not self.n_seen:  # a model that is sent to many places before it has learned is small
            return Fitted.start, (self.algorithm, self.shape)
        if self.pending.n:
            self.pending.finish_checks()
        n_seen = self.n_seen - self.pending.n_refused  # these are not pickled
        return Fitted, (self.algorithm, self.shape, self.state, n_seen, self.pending)

    @property
    def n_outputs(self) -> int:
        return self.shape.n_outputs

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.shape.dtype

    @property
    def is_frozen(self) -> bool:
        """Whether these are weights alone, which cannot learn."""
        return isinstance(self.algorithm, Frozen)

    def check_learns(self) -> None:
        """Raise a ValueError for weights alone."""
        if self.is_frozen:
            raise ValueError(ONLY_WEIGHTS)

    def with_algorithm(self, algorithm: Algorithm) -> Fitted:
        """The same with other parameters for the rows to come.

        Raises
        ------
        ValueError
            If a model that has started cannot go on with them.
        """
        if algorithm == self.algorithm:
            return self
        algorithm.check_continues(self.algorithm)
        base = self.flushed()
        return Fitted(algorithm, self.shape, base.state, base.n_seen)

    # Learning

    def after(self, state: Any, n_seen: int) -> Fitted:
        """The same with another state after so many rows, none of which is pending."""
        return Fitted(self.algorithm, self.shape, state, n_seen)

    def flushed(self) -> Fitted:
        """The same with the pending rows learned."""
        n = self.pending.n
        if not n:
            return self
        flushed = self._flushed
        if flushed is None:
            rows, state, seen = self.pending.rows(self.shape.backend), self.state, self.n_seen - n
            if rows.n:
                with self.shape.memory():
                    state = self.algorithm.learn(self.shape, state, rows, seen)
            self._flushed = flushed = self.after(state, seen + rows.n)
        return flushed

    @property
    def is_flushed(self) -> bool:
        """Whether no row is pending, or the pending ones have been learned in `flushed`."""
        return self._flushed is not None or not self.pending.n

    def compact(self) -> Fitted:
        """The same with the pending rows learned, without what can be computed from the state.

        A copy that was made from the compact state goes on as this one does, to the bit.
        """
        flushed = self.flushed()
        state = self.algorithm.compact(flushed.state)
        return Fitted(self.algorithm, self.shape, state, flushed.n_seen)

    def learn(self, rows: Rows) -> Fitted:
        """The value after more rows, of which few wait for others."""
        if rows.n < self.shape.pending_rows:
            return self._collected(self.pending.with_rows(rows), rows.n)
        return self.learn_now(rows)

    def learn_now(self, rows: Rows) -> Fitted:
        """The value after more rows, none of which is pending."""
        base = self.flushed()
        with self.shape.memory():
            state = self.algorithm.learn(self.shape, base.state, rows, base.n_seen)
        return base.after(state, base.n_seen + rows.n)

    def learn_all(self, rows: Rows) -> Fitted:
        """The value after the rows of a `fit`, for which a choice of ε may cost more."""
        with self.shape.memory():
            state = self.algorithm.learn_all(self.shape, self.state, rows)
        return self.after(state, self.n_seen + rows.n)

    def learn_one(self, h: Array, y: Any) -> Fitted:
        """The value after one more row, which may wait for others."""
        return self.learn(self._row(h, y))

    def learn_one_now(self, h: Array, y: Any) -> Fitted:
        """The value after one more row, with none pending."""
        return self.learn_now(self._row(h, y))

    def _row(self, h: Array, y: Any) -> Rows:
        return Rows.of(h[None], np.asarray(y, self.dtype).reshape(1, -1))

    def _collected(self, pending: Pending, n: int) -> Fitted:
        new = Fitted(self.algorithm, self.shape, self.state, self.n_seen + n, pending)
        return new.flushed() if pending.n >= self.shape.pending_rows else new

    def record(self, rows: Rows) -> tuple[Fitted, Array]:
        """The value after more rows, and the prediction of each before it was learned."""
        found = record_in_place(self, rows)
        return self.record_by_products(rows) if found is None else found

    def record_with_spread(self, rows: Rows) -> tuple[Fitted, tuple[Array, Array]]:
        """The value after more rows; the prediction and spread of each before it was learned."""
        spreads = []

        def look(*block: Any) -> None:
            spreads.append(self.algorithm.spreads_in_order(self.shape, *block))

        new, predicted = self.record_by_products(rows, look)
        return new, (predicted, np.concatenate(spreads))

    def record_by_products(self, rows: Rows, look: Any = None) -> tuple[Fitted, Array]:
        """`record` by matrix products; `look` is called with each block and the state before it."""
        base = self.flushed()
        with self.shape.memory():
            state, predicted = self.algorithm.record(
                self.shape, base.state, rows, base.n_seen, look
            )
        return base.after(state, base.n_seen + rows.n), predicted

    def with_outputs(self, n_outputs: int, old: Array) -> Fitted:
        """The value with more outputs, zero in all rows so far, the present ones at `old`."""
        base = self.flushed()
        state = self.algorithm.with_outputs(self.shape, base.state, n_outputs, old)
        shape = replace(self.shape, n_outputs=n_outputs)
        return Fitted(self.algorithm, shape, state, base.n_seen)

    def with_units(self, n_hidden: int, old: Array) -> Fitted:
        """The value with more hidden units, zero so far, the present ones at `old`, ascending."""
        base = self.flushed()
        state = self.algorithm.with_units(self.shape, base.state, n_hidden, old)
        shape = replace(self.shape, n_hidden=n_hidden)
        return Fitted(self.algorithm, shape, state, base.n_seen)

    def unlearn(self, rows: Rows) -> Fitted:
        """The value without some learned rows; a ValueError if they cannot be removed."""
        base = self.flushed()
        if rows.n > base.n_seen:
            raise ValueError(f"got {rows.n} rows to unlearn, but only {base.n_seen} were learned.")
        state = self.algorithm.unlearn(self.shape, base.state, rows, base.n_seen)
        return self.after(state, base.n_seen - rows.n)

    def merge(self, other: Fitted) -> Fitted:
        """The value with the rows of another one; a ValueError if they do not go together."""
        for name, mine, theirs in (
            ("dtype", self.dtype, other.dtype),
            ("number of hidden units", self.shape.n_hidden, other.shape.n_hidden),
            ("number of outputs", self.n_outputs, other.n_outputs),
        ):
            if mine != theirs:
                raise ValueError(
                    f"other: its {name} is {theirs}, that of this model {mine}; only models that "
                    "were started alike can be merged."
                )
        other.check_learns()
        base, other = self.flushed(), other.flushed().on(self.shape.backend)
        state = self.algorithm.merge(base.state, other.state)
        if state is None:
            raise ValueError("other: the two models cannot be merged; a larger epsilon helps.")
        return self.after(state, base.n_seen + other.n_seen)

    def accumulator(self) -> Fitted:
        """A value of the same size without rows, which only adds up those that come.

        `merge` learns all of them as if they had come in one `fit`, and `without` unlearns them.
        """
        self.check_learns()
        return Fitted.start(self.algorithm.accumulation(), self.shape)

    def without(self, sums: Fitted) -> Fitted:
        """The value without the rows of an accumulator; a ValueError if they cannot be removed."""
        base, other = self.flushed(), sums.flushed().on(self.shape.backend)
        if other.n_seen > base.n_seen:
            raise ValueError(
                f"got {other.n_seen} rows to unlearn, but only {base.n_seen} were learned."
            )
        with self.shape.memory():
            everything = other.n_seen == base.n_seen
            state = self.algorithm.subtract(self.shape, base.state, other.state, everything)
        return self.after(state, base.n_seen - other.n_seen)

    def on(self, b: Backend) -> Fitted:
        """The same on another backend, with no row pending."""
        if b is self.shape.backend:
            return self
        if not self.n_seen:  # nothing to move
            return Fitted.start(self.algorithm, replace(self.shape, backend=b))
        base = self.flushed()
        state = self.algorithm.on(self.shape.backend, b, base.state)
        return Fitted(self.algorithm, replace(self.shape, backend=b), state, base.n_seen)

    def chosen(self) -> Fitted:
        """The same with an ε chosen with care from all rows, where it is not given."""
        base = self.flushed()
        return self.after(self.algorithm.chosen(base.state), base.n_seen)

    def frozen(self) -> Fitted:
        """The weights alone, a small value that predicts the same and cannot learn."""
        return Fitted(Frozen(), self.shape, self.weights(), self.n_seen)

    # Reading

    def predict_one(self, h: Array) -> Any:
        """The prediction for one row; a number if there is one output."""
        predicted = self.shape.backend.to_numpy(self.predict(h[None]))[0]
        return predicted if len(predicted) > 1 else predicted[0]

    def weights(self) -> Array:
        """W after every row seen so far, with a row for the intercept first if any."""
        return self.algorithm.weights(self.flushed().state)

    def predict(self, H: Array, W: Array | None = None) -> Array:
        """Predictions for rows; `W` are the weights, if they are known already."""
        b = self.shape.backend
        W, H = self.weights() if W is None else W, b.asarray(H)
        if W.shape[0] == self.shape.n_hidden:
            return b.matmul(H, W)
        return b.matmul(H, W[1:, :]) + W[:1, :]

    def spread(self, H: Array) -> Array:
        """The standard deviation of a new target for each row and output."""
        return self.algorithm.spread(self.flushed().state, self.shape.backend.asarray(H))

    def leave_out(self, rows: Rows) -> Array:
        """Predictions for rows that were learned, each as if it alone had not been (NumPy)."""
        return self.algorithm.leave_out(self.shape, self.flushed().state, rows)

    def root(self) -> Sums:
        """The root from which θ, ψ and the loss are read."""
        return self.algorithm.root(self.flushed().state)
