"""The algorithm of the exact solvers: every row counts in full, for ever."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..backend import Array
from ._derived import replace, with_derived
from ._evidence import Choice, choice_in_stream
from ._in_place import Filling, Learned, Member
from ._mean import Chunk, Mean
from ._qr import is_few
from ._remove import check_same_rows, join, leave, merge, unlearn
from ._ridge import Ridge, accumulate, append_rows, choose, innovate, learn
from ._rows import Counts, Rows, block_length
from .protocol import Algorithm, Shape
from .sums import Sums, spreads_in_order


@dataclass(frozen=True)
class ExactAlgorithm(Algorithm):
    """Recursive least squares on a root.

    Attributes
    ----------
    epsilon : the prior, or None where it is chosen
    tol : eq. (10), or None for what rounding may leave
    intercept : whether a constant is added that is not regularised
    """

    epsilon: float | None
    tol: float | None = None
    intercept: bool = False

    def start(self, shape: Shape) -> Ridge:
        size = (shape.backend, shape.n_hidden, shape.n_outputs, shape.dtype)
        return Ridge.start(*size, self.epsilon, tol=self.tol, intercept=self.intercept)

    # Learning

    def learn(self, shape: Shape, state: Ridge, rows: Rows, seen: int) -> Ridge:
        if self.epsilon is not None:
            return learn(state, chunk_of(shape, rows, state.mean))
        due = last_choice(seen + rows.n, shape.n_hidden) - seen
        if due <= 0:
            return learn(state, chunk_of(shape, rows, state.mean))
        chunk, rest = chunk_of(shape, rows.part(0, due), state.mean), None
        if due < rows.n:
            rest = chunk_of(shape, rows.part(due, rows.n), None if state.mean is None else chunk)
        choice = choice_in_stream(shape.backend, seen + due)
        return learn(state, chunk, choice=choice, rest=rest)

    def learn_all(self, shape: Shape, state: Ridge, rows: Rows) -> Ridge:
        choice: Choice | None = "thorough" if self.epsilon is None else None
        return learn(state, chunk_of(shape, rows, state.mean), choice=choice)

    def innovate(
        self, shape: Shape, state: Ridge, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Ridge, Array]:
        mean, factor, rows = state.mean, np.sqrt(weight), Rows.of(H, Y, weight)
        if mean is not None:
            H, Y, factor, _, _, mean = mean.follow(shape.backend, H, Y, weight)
        seen += len(weight)
        due = self.epsilon is None and last_choice(seen, shape.n_hidden) == seen
        state, errors = innovate(state, H, Y, factor, follow=not due)
        tally = Counts.of(weight).with_rows(shape.backend, rows, state.sums.different)
        state = state.noted(tally, mean)
        return (choose(state, choice_in_stream(shape.backend, seen)) if due else state), errors

    def filling(self, shape: Shape, state: Ridge, seen: int) -> Filling:
        member = member_of(self, for_kernels(state))
        return Filling((member,), self.rows_until_next_event(shape, seen))

    def with_due(self, shape: Shape, state: Ridge, seen: int) -> Ridge:
        if not state.chooses or last_choice(seen, shape.n_hidden) != seen:
            return state
        return choose(state, choice_in_stream(shape.backend, seen))

    def rows_until_next_event(self, shape: Shape, seen: int) -> int:
        usual = super().rows_until_next_event(shape, seen)
        return usual if self.epsilon is not None else next_choice(seen, shape.n_hidden) - seen

    def with_outputs(self, shape: Shape, state: Ridge, n_outputs: int, old: Array) -> Ridge:
        return state.with_outputs(n_outputs, old)

    def with_units(self, shape: Shape, state: Ridge, n_hidden: int, old: Array) -> Ridge:
        return state.with_units(n_hidden, old)

    # Sums over rows

    def unlearn(self, shape: Shape, state: Ridge, rows: Rows, seen: int) -> Ridge:
        if rows.n == seen:
            check_same_rows(state, rows)
            return self.start(shape)
        return self.chosen(unlearn(state, rows))

    def merge(self, state: Ridge, other: Ridge) -> Ridge | None:
        merged = merge(state, other)
        return None if merged is None else self.chosen(merged)

    def subtract(self, shape: Shape, state: Ridge, sums: Ridge, everything: bool) -> Ridge:
        left = leave(state, sums, everything=everything)
        return self.start(shape) if left is None else self.chosen(left)

    def accumulation(self) -> Accumulation:
        return Accumulation(0.0 if self.epsilon == 0 else None, self.tol, self.intercept)

    def chosen(self, state: Ridge) -> Ridge:
        return choose(state, "thorough")

    def leave_out(self, shape: Shape, state: Ridge, rows: Rows) -> Array:
        return shape.backend.to_numpy(state.root.leave_out(rows))

    # Reading

    def weights(self, state: Ridge) -> Array:
        return state.root.solution

    def root(self, state: Ridge) -> Sums:
        return state.root

    def spreads_in_order(
        self, shape: Shape, state: Ridge, H: Array, Y: Array, weight: Array, seen: int
    ) -> Array:
        if weight.all() and state.root.basis is None:
            spreads = spreads_in_order(state.root, H, Y, weight, np.sqrt(weight))
            if spreads is not None:
                return spreads
        return super().spreads_in_order(shape, state, H, Y, weight, seen)

    def check_continues(self, started: Algorithm) -> None:
        assert isinstance(started, ExactAlgorithm)
        if (self.epsilon is None, self.intercept) != (started.epsilon is None, started.intercept):
            raise ValueError(
                "epsilon, intercept: a model that has started cannot change between a given and a "
                "chosen epsilon, nor with and without intercept; call fit to start again."
            )


class Accumulation(ExactAlgorithm):
    """Sums over rows without an ε, for a solver that learns all of them with `merge`."""

    def learn(self, shape: Shape, state: Ridge, rows: Rows, seen: int) -> Ridge:
        return accumulate(state, chunk_of(shape, rows, state.mean))

    def learn_all(self, shape: Shape, state: Ridge, rows: Rows) -> Ridge:
        return self.learn(shape, state, rows, 0)

    def merge(self, state: Ridge, other: Ridge) -> Ridge:
        return join(state, other, by_gram=True)

    def chosen(self, state: Ridge) -> Ridge:
        return state

    def weights(self, state: Ridge) -> Array:
        raise ValueError("these are sums over rows, not a fitted model; merge them into one.")


def chunk_of(
    shape: Shape, rows: Rows, start: Mean | Chunk | None, keep: float | None = None
) -> Chunk:
    """Rows as they are learned after those of a mean, or of another chunk."""
    b = shape.backend
    return Chunk(b, rows, block_length(b, shape.n_hidden, shape.dtype), start, keep)


def for_kernels(ridge: Ridge) -> Ridge:
    """A ridge in the form that kernels need, unless it has few rows of many units."""
    return ridge if is_few(ridge.n_hidden, ridge.sums.rank) else ridge.dense()


def member_of(algorithm: Algorithm, ridge: Ridge, **fading: Any) -> Member:
    """A ridge as a `Member` for kernels."""

    def join(learned: Learned) -> Ridge:
        return joined(ridge, learned)

    return Member(algorithm, join, ridge.root, ridge.chooses, **fading)


def joined(ridge: Ridge, learned: Learned, keep: float = 1.0) -> Ridge:
    """A ridge that has learned single rows."""
    root = learned.root
    assert root is not None
    if not ridge.chooses:
        return ridge.with_sums(root)
    factor = np.sqrt(keep ** np.arange(learned.n - 1, -1, -1.0))[:, None].astype(root.dtype)

    def rows() -> Iterator[tuple[Array, Array]]:
        yield learned.H * factor, learned.Y * factor

    new = append_rows(replace(ridge).faded(keep**learned.n), rows, follow=False)
    before = ridge.sums.different
    tally = root.tally._replace(different=before)
    if before is not None:
        came = _rows_as_they_came(learned, keep)
        tally = tally.plus(Counts().with_rows(ridge.backend, came, before))
    sums = new.sums.with_tally(tally).around(root.mean)
    return with_derived(replace(new, sums=sums), root=root)


def _rows_as_they_came(learned: Learned, keep: float) -> Rows:
    """Rows that were learned around the mean of all before each, from the mean after the last."""
    root, H, Y = learned.root, learned.H, learned.Y
    assert root is not None
    if root.mean is None:
        return Rows.of(H, Y)
    both = np.hstack([H, Y]).astype(np.float64)
    mean, count = np.concatenate([root.mean.row, root.mean.target]), root.mean.count
    for i in range(len(both) - 1, -1, -1):
        before = max(count - 1, 0.0)
        step = both[i] / np.sqrt(before / count) if before > 0 else np.zeros_like(mean)
        mean = mean - step / count
        both[i], count = mean + step, before / keep
    both = both.astype(root.dtype)
    return Rows.of(both[:, : H.shape[1]], both[:, H.shape[1] :])


@lru_cache(maxsize=64)
def _choices(seen: int, n_hidden: int) -> tuple[int, int]:
    """The last row up to `seen` at which ε was to be chosen, and the next.

    After half as many rows again; from M rows on after M/2, which take about half as long to learn
    as a choice takes; later with every third.
    """
    last, following = 0, 1
    while following <= seen:
        last = following
        following += max(1, last // 3, min(last // 2, n_hidden // 2))
    return last, following


def last_choice(seen: int, n_hidden: int) -> int:
    """The last row up to `seen` at which ε was to be chosen."""
    return _choices(seen, n_hidden)[0]


def next_choice(seen: int, n_hidden: int) -> int:
    """The first row after `seen` at which ε is to be chosen."""
    return _choices(seen, n_hidden)[1]
