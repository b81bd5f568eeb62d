"""Several states in the arrays of the compiled kernels, which learn the same rows and are mixed."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ..backend import Array
from ..compiled import Kernels, Unavailable, load
from ._derived import replace
from ._rows import Rows
from ._work import OneByOne, Work, aligned, copy_of


def make_work(
    dtype: np.dtype[Any], n_hidden: int, n_outputs: int, parts: OneByOne
) -> Work | JointWork | None:
    """The arrays of the kernels for a state, or for several that are mixed; None without any."""
    kernels = load(dtype, mixed=bool(parts.members))
    if kernels is None:
        return None
    kind = JointWork if parts.members else Work
    return kind(kernels, n_hidden, n_outputs, parts)


class JointWork:
    """`Work` for several states. A row is predicted by all before it is learned; at most one waits.

    Parameters
    ----------
    kernels : Kernels
    n_hidden, n_outputs : int
    parts : OneByOne
        With members. Its `join` takes, for each of them, a state and the rows that are still to be
        learned, and then the mixture.
    """

    def __init__(self, kernels: Kernels, n_hidden: int, n_outputs: int, parts: OneByOne) -> None:
        self.kernels, self._layout = kernels, kernels.layout
        self._dtype = kernels.dtype
        self._size = n_hidden, n_outputs
        size, n_members = (kernels, n_hidden, n_outputs), len(parts.members)
        some = Work(*size, parts.members[0], np.empty(0))
        self._stride = stride = -(-some.n_numbers // 8) * 8
        self._places = kernels.layout.mixture_places(n_members, n_outputs)
        self.array = aligned(n_members * stride + self._places.end)
        self._works = [
            Work(*size, member, self.array[i * stride : (i + 1) * stride])
            for i, member in enumerate(parts.members)
        ]
        self._filled: dict[int, OneByOne] = {}
        self._before = [0] * n_members  # rows that came before each was filled the last time
        self.fill(parts)

    def holds(self, n_hidden: int, n_outputs: int, parts: OneByOne) -> bool:
        """Whether states of this size fit into the same arrays."""
        if len(parts.members) != len(self._works):
            return False
        pairs = zip(self._works, parts.members, strict=True)
        return all(work.holds(n_hidden, n_outputs, member) for work, member in pairs)

    def fill(self, parts: OneByOne) -> None:
        """Begin with other states of the same size; all of them at once, as in `Work`."""
        layout, mixture, places = self._layout, parts.mixture, self._places
        assert mixture is not None
        times = self.times_filled + 1
        pairs = zip(self._works, parts.members, strict=True)
        starts = [work.start_of(member, times) for work, member in pairs]
        self._mark_first(starts[0])
        mixed = np.zeros(places.end)
        mixed[layout.MIX_COUNT], mixed[layout.MIX_DECAY] = mixture.count, mixture.decay
        mixed[places.prior :][: len(starts)] = mixture.log_prior
        mixed[places.squares :][: mixture.squares.size] = mixture.squares.ravel()
        self._filled = {**self._filled, times: parts}
        self.kernels.replace(self.array, np.concatenate([*starts, mixed]))
        self._filled, self._before = {times: parts}, [0] * len(starts)

    def _mark_first(self, array: Array) -> None:
        """Say in the numbers of the first member that there are others."""
        layout = self._layout
        array[layout.N_MEMBERS], array[layout.STRIDE] = len(self._works), self._stride

    # Counts

    @property
    def times_filled(self) -> int:
        """How often it was filled."""
        return int(self.array[self._layout.FILLED])

    @property
    def parts(self) -> OneByOne:
        """The states that it was filled with."""
        return self._filled[self.times_filled]

    @property
    def n_rows(self) -> int:
        """Rows since it was filled."""
        return int(self.array[len(self._works) * self._stride + self._layout.MIX_ROWS])

    @property
    def is_full(self) -> bool:
        """Whether no row can be learned here before the others are learned elsewhere."""
        return self.n_rows >= self.parts.limit or any(work.has_no_room for work in self._works)

    def allow(self, n: int) -> None:
        """Let at most n more rows come before a kernel says that it is full."""
        limit = min(self.parts.limit, self.n_rows + n)
        for i, before in enumerate(self._before):
            self.array[i * self._stride + self._layout.LIMIT] = limit - before

    # What was learned

    def state(self, *, apply: bool = True) -> tuple[Any, int, Array, Array]:
        """The state, how many rows came so far, and no rows that are not in it."""
        with suppress(Unavailable):  # rows that wait are learned otherwise
            self.kernels.apply(self.array)
        return self._state_of(self._copy())

    def state_after(self, h: Array, y: Any) -> tuple[Any, int] | None:
        """The state after one more row than there may be, and how many came then."""
        copy = self._copy_after(h, y)
        return None if copy is None else self._state_of(copy)[:2]

    def learn_due(self, h: Array, y: Any) -> bool:
        """Learn one more row than there may be, and renew the members for which more is due then.

        The others go on as they are. Where it cannot be done, nothing changes.
        """
        parts, n, times = self.parts, self.n_rows + 1, self.times_filled
        copy = self._copy_after(h, y)
        if copy is None or parts.renewed is None:
            return False
        members, before = list(parts.members), list(self._before)
        for i, (work, member) in enumerate(zip(self._works, parts.members, strict=True)):
            if before[i] + member.limit + 1 != n:
                continue
            own = copy[i * self._stride : (i + 1) * self._stride]
            new = parts.renewed(i, work.state_of(own, member)[0], n)
            if new is None or not new.fits() or not work.holds(*self._size, new):
                return False
            start = work.start_of(new, times)
            if i == 0:
                self._mark_first(start)
            own[: len(start)] = start
            members[i], before[i] = new, n
        limit = min(b + member.limit for b, member in zip(before, members, strict=True))
        if limit <= n:
            return False
        self.kernels.snapshot(copy, self.array)
        self._before = before
        self._filled = {times: replace(parts, members=tuple(members), limit=limit)}
        return True

    def _copy_after(self, h: Array, y: Any) -> Array | None:
        """The numbers after one more row than there may be; None if it is too long."""
        self.kernels.apply(self.array)
        copy, kernels, layout = self._copy(), self.kernels, self._layout
        for i in range(len(self._works)):
            copy[i * self._stride + layout.LIMIT] = np.inf
        single = np.ndim(y) == 0
        target = float(y) if single else np.ascontiguousarray(y, self._dtype)
        status = (kernels.learn_one if single else kernels.learn_outputs)(copy, h, target)
        if status != layout.DONE or kernels.apply(copy) != layout.DONE:
            return None
        return copy

    def _copy(self) -> Array:
        return copy_of(self.kernels, self.array)

    def _state_of(self, array: Array) -> tuple[Any, int, Array, Array]:
        parts, stride, places = self.parts, self._stride, self._places
        assert parts.mixture is not None
        states: list[tuple[Any, Rows]] = []
        for i, (work, member) in enumerate(zip(self._works, parts.members, strict=True)):
            own = array[i * stride : (i + 1) * stride]
            state, _, H, Y = work.state_of(own, member)
            states.append((state, Rows.of(H, Y)))
        mixed = array[len(states) * stride :]
        n = int(mixed[self._layout.MIX_ROWS])
        squares = mixed[places.squares :][: parts.mixture.squares.size]
        mixture = replace(
            parts.mixture,
            squares=squares.reshape(parts.mixture.squares.shape).copy(),
            count=float(mixed[self._layout.MIX_COUNT]),
        )
        (M, L), none = self._size, np.empty((0, 0), self._dtype)
        state = parts.join((states, mixture, n))  # type: ignore[arg-type]
        return state, n, none.reshape(0, M), none.reshape(0, L)

    # Many rows

    def record(self, H: Array, Y: Array) -> Array:
        """Learn rows until one must be learned elsewhere; the predictions before each of them."""
        blocks, start = [np.empty((0, Y.shape[1]), self._dtype)], 0
        while start < len(Y):
            blocks.append(self._record_until_due(H[start:], Y[start:]))
            start += len(blocks[-1])
            if start == len(Y) or self.n_rows != self.parts.limit:
                break
            predicted = self._predict(H[start])
            single = Y.shape[1] == 1
            if predicted is None or not self.learn_due(
                H[start], Y[start, 0] if single else Y[start]
            ):
                break
            blocks.append(predicted)
            start += 1
        return np.concatenate(blocks)

    def _record_until_due(self, H: Array, Y: Array) -> Array:
        n_outputs = Y.shape[1]
        H, Y = np.ascontiguousarray(H).ravel(), np.ascontiguousarray(Y).ravel()
        predicted = np.empty(len(Y))
        n = self.kernels.record(self.array, H, Y, predicted)
        return predicted[: n * n_outputs].reshape(n, n_outputs).astype(self._dtype)

    def _predict(self, h: Array) -> Array | None:
        """The outputs for one row, of shape (1, n_outputs); None where they are found elsewhere."""
        if self._size[1] == 1:
            value = self.kernels.predict_one(self.array, h)
            return None if np.isnan(value) else np.array([[value]], self._dtype)
        out = np.empty(self._size[1])
        done = self.kernels.predict_outputs(self.array, h, out) == self._layout.DONE
        return out[None].astype(self._dtype) if done else None
