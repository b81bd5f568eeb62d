"""What the solvers on a triangular root share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..linalg import Array, matmul
from ..validation import check_rows, unchanged_on_error
from . import _recording
from ._ahead import Ahead, most_ahead
from ._base import OnlineSolver
from ._mean import Followed, Mean, RowBlocks
from ._root import Root
from ._rows import Held, Rows, Waiting, block_length
from ._spread import spreads_ahead


class RootSolver(OnlineSolver):
    """A solver whose state is a `Root`; rows count in full and nothing is forgotten."""

    _ahead: Ahead | None = None
    _long_rows = False  # whether the last ones were, in the coordinates of the root

    def _absorb(self, state: Any, rows: Rows, seen: int) -> Any:
        state = state.copy()
        blocks = self._blocks(rows, state.mean)
        state.absorb(blocks, rows.n)
        state.mean = blocks.after
        state.tally(np.ones(rows.n) if rows.weight is None else rows.weight)
        return state

    def _blocks(self, rows: Rows, start: Mean | RowBlocks | None) -> RowBlocks:
        return RowBlocks(rows, block_length(self.n_features_in_, self._dtype), start)

    def _innovate(
        self, state: Any, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Any, Array]:
        if state.mean is None:
            state, errors = self._innovated(state, H, Y, np.sqrt(weight))
        else:
            H, Y, factor, _, _, mean = state.mean.follow(H, Y, weight)
            state, errors = self._innovated(state, H, Y, factor)
            state.mean = mean
        state.tally(weight)
        return state, errors

    def _run(
        self, state: Any, rows: Rows, seen: int, look: Callable[..., None] | None = None
    ) -> tuple[Any, Array]:
        parts, start, tried = [], 0, look is not None
        while start < rows.n:
            stop, found = rows.n, None
            if not tried and _recording.pays(state, stop - start):
                found, tried = self._recorded(state, rows.part(start, stop), seen + start), True
            if found is None:
                if not tried and _recording.may_pay(state, stop - start):
                    stop = min(stop, start + 2 * self.n_features_in_)  # and look again
                found = super()._run(state, rows.part(start, stop), seen + start, look)
            state, predicted = found
            parts.append(predicted)
            start = stop
        return state, np.concatenate(parts)

    def _recorded(self, state: Any, rows: Rows, seen: int) -> tuple[Any, Array] | None:
        """What `_run` returns, by the way that pays; None if too many digits were lost on it."""
        weight = np.ones(rows.n) if rows.weight is None else rows.weight
        if not weight.all() or (state.mean is not None and not state.mean.count > 0):
            return None
        blocks = Followed(rows, self._parts_of_record(rows.n, seen), state.mean)
        choose = self._chooser(state, blocks, weight, seen)
        found = _recording.record(state, blocks(), choose)
        if found is None:
            return None
        state, predicted = found
        state.mean = blocks.after
        state.tally(weight)
        if choose is not None and choose.path is not None:
            state.path = choose.path
        return state, blocks.undone(predicted)

    def _parts_of_record(self, n: int, seen: int) -> Iterator[slice]:
        """Blocks of the next n rows, as long as pays, that end where ε is to be chosen."""
        length, stop = _recording.block_of_rows(self.n_features_in_), 0
        while stop < n:
            start, stop = stop, min(n, stop + min(length, self._reach(seen + stop)))
            yield slice(start, stop)

    def _chooser(self, state: Any, blocks: Followed, weight: Array, seen: int) -> Any:
        """What chooses ε after blocks of a record, if anything does."""
        return None

    def _innovated(self, state: Any, H: Array, Y: Array, factor: Array) -> tuple[Any, Array]:
        """Learn rows multiplied by their factors; rows with a factor of zero are only predicted."""
        state, errors, stop = state.copy(), np.empty_like(Y), 0
        for counts, run in groupby(factor > 0):
            start, stop = stop, stop + len(list(run))
            h, y = H[start:stop], Y[start:stop]
            if counts:
                f = factor[start:stop, None].astype(H.dtype, copy=False)
                errors[start:stop] = state.innovations(f * h, f * y) / f
            else:
                errors[start:stop] = y - matmul(h, state.weights())
        return state, errors

    # While rows wait

    def predict_one(self, h: Any) -> Any:
        ahead = self._ahead
        if ahead is not None and ahead.held is self._held and self._is_usual(h):
            predicted = ahead.predict(h, h.tobytes())
            if predicted is not None:
                return self._one(predicted)
        return super().predict_one(h)

    def learn_one(self, h: Any, y: Any) -> Self:
        # The usual row, just predicted, and so looked at already.
        ahead = self._ahead
        if (
            ahead is not None
            and ahead.held is self._held
            and isinstance(y, float)
            and self._flat
            and self._is_row(h)
            and y * y < self._limit
            and self._learned_ahead(ahead, h, y)
        ):
            return self
        return super().learn_one(h, y)

    def _weights_after(self, held: Held) -> Array | None:
        ahead = self._look_ahead(held)
        return None if ahead is None else ahead.weights(held[1].n)

    def _learn_one(self, h: Array, y: Any) -> None:
        ahead = self._ahead
        if type(y) is np.ndarray and y.shape == (1,):
            y = y[0]
        if ahead is not None and ahead.held is self._held and self._learned_ahead(ahead, h, y):
            return
        super()._learn_one(h, y)

    def _learned_ahead(self, ahead: Ahead, h: Array, y: Any) -> bool:
        """Learn the row that was just predicted; False if this is another."""
        held, seen = self._held, self.n_samples_seen_
        new = ahead.learned(h, h.tobytes(), y)
        if new is None:
            return False
        try:
            self._held = new
            self.n_samples_seen_ = seen + 1
        except BaseException:  # Ctrl-C between the two
            self._held, self.n_samples_seen_ = held, seen
            raise
        return True

    def _predict_one(self, h: Array) -> Any:
        ahead = self._ahead
        if ahead is None or ahead.held is not self._held:
            ahead = self._look_ahead(self._held)
            if ahead is None:
                self._check_going_on()
                state, held = self._flush(), self._held
                if held[0] is not state or held[1].n:  # another thread has learned more
                    held = (state, Waiting())
                ahead = self._look_ahead(held)
            if ahead is None:
                return super()._predict_one(h)
        predicted = ahead.predict(h, h.tobytes())
        return super()._predict_one(h) if predicted is None else predicted

    def _look_ahead(self, held: Held) -> Ahead | None:
        """What the waiting rows will do, or None where they must be learned to know it."""
        ahead, (state, waiting) = self._ahead, held
        if ahead is not None:
            if ahead.root is state and ahead.follow(held):
                return ahead
            self._long_rows = ahead.long_rows
        if not isinstance(state, Root):
            return None
        state.refresh()
        if state.basis is not None and not state.is_prior_alone:
            return None
        reach = min(self._reach(self.n_samples_seen_ - waiting.n), most_ahead(state))
        if waiting.n >= reach:
            return None
        growth = self._growth_of_a_row()
        for reflect in (False, True) if not self._long_rows else (True,):
            ahead = Ahead(state, reach, growth, reflect=reflect)
            if ahead.follow(held):
                self._ahead = ahead
                return ahead
        return None

    def _look_no_further(self) -> None:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            self._long_rows = ahead.long_rows

    def _reach(self, seen: int) -> int:
        """How many rows after `seen` may wait until something else happens to the state."""
        return 1 << 30

    def _growth_of_a_row(self) -> float:
        """What a row is multiplied by more than the one before it, if nothing fades meanwhile."""
        return 1.0

    def __getstate__(self) -> Any:
        beside = ("_ahead", "_long_rows")
        return {name: v for name, v in super().__getstate__().items() if name not in beside}

    def _weights_of(self, state: Root) -> Array:
        return state.solution()

    def _predicted(self, H: Array, W: Array) -> Array:
        if len(W) == self.n_features_in_:
            return matmul(H, W)
        return matmul(H, W[1:]) + W[0]

    def _with_outputs(self, state: Root, n_outputs: int, old: Array) -> Root:
        return state.with_outputs(n_outputs, old)

    def predict(self, H: Any, return_std: bool = False) -> Any:
        """H @ W and, if wanted, how far off it may be.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_hidden)
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        Y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the same shape
            The standard deviation of a new target at each row, for Gaussian noise: that of the
            noise, estimated from the residuals, and that of the weights, from θ. Infinite before
            any row. Only if `return_std`.
        """
        if not return_std:
            return super().predict(H)
        check_is_fitted(self)
        H = check_rows(self, H, "H", reset=False, dtype=self._dtype)
        state = self._flush()
        predicted = self._predicted(H, self._weights_of(state))
        return self._shaped(predicted), self._shaped(state.spread(H))

    def prequential(
        self, H: Any, Y: Any, sample_weight: Any = None, return_std: bool = False
    ) -> Any:
        """Predict every row before it is learned, and learn them all.

        What a loop of `predict` and `partial_fit` over single rows gives, to rounding, at the
        speed of matrix products.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_hidden)
        Y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        predictions : ndarray of the shape of Y
            Row k was predicted from all rows learned earlier and the first k of these. Before
            anything was learned, the prediction is zero.
        std : ndarray of the shape of Y
            What `predict` would have said of each; infinite for the first row. Only if
            `return_std`.
        """
        if not return_std:
            return super().prequential(H, Y, sample_weight)
        with unchanged_on_error(self):
            rows = self._checked(H, Y, sample_weight, reset=not self._started)
            predicted, spread = self._record_with_spread(rows)
            return self._shaped(predicted), self._shaped(spread)

    def _record_with_spread(self, rows: Rows) -> tuple[Array, Array]:
        """As `_record`, with the standard deviation of every prediction."""
        spreads: list[Array] = []
        predicted = self._record(rows, lambda *block: spreads.append(self._spread_ahead(*block)))
        return predicted, np.concatenate(spreads)

    def _spread_ahead(self, state: Any, H: Array, Y: Array, weight: Array, seen: int) -> Array:
        """The standard deviation of each row's prediction, before it and after those before it."""
        factor = self._growth(weight)
        if factor is not None and factor.all():
            state.refresh()
            spreads = None
            if state.basis is None:
                spreads = spreads_ahead(state, H, Y, weight, factor)
            if spreads is not None:
                return spreads
        return self._spread_one_by_one(state, H, Y, weight, seen)

    def _spread_one_by_one(self, state: Any, H: Array, Y: Array, weight: Array, seen: int) -> Array:
        spreads = []
        rows = Rows.of(H, Y, weight)
        for i in range(rows.n):
            spreads.append(state.spread(H[i : i + 1]))
            state = self._absorb(state, rows.part(i, i + 1), seen + i)
        return np.concatenate(spreads)

    def _growth(self, weight: Array) -> Array | None:
        """What to multiply the next rows by if nothing fades meanwhile; None if more happens."""
        return np.sqrt(weight)

    def _root(self) -> Root:
        check_is_fitted(self)
        root: Root = self._flush()
        root.refresh()
        return root

    @property
    def theta_(self) -> Array:
        """The paper's θ, the (pseudo)inverse of H'H, of shape (n_hidden, n_hidden); eq. (11).

        With an intercept, of the rows around their mean.
        """
        return self._root().theta()

    @property
    def psi_(self) -> Array:
        """The paper's ψ, of shape (n_outputs, n_hidden) or (n_hidden,); eq. (26)."""
        psi = self._root().psi()
        return psi[0] if self._flat else psi

    @property
    def loss_(self) -> Array | float:
        """What the weights minimise, at its minimum: |Y - HW|² + |epsilon·W|², for each output.

        With an intercept, of rows and targets around their means.
        """
        loss = self._root().loss
        return float(loss[0]) if self._flat else loss.copy()
