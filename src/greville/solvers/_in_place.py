"""Single rows learned in place: the arrays of the compiled kernels, which belong to one model.

What was learned is an immutable value, and to make one costs more than to learn a row of ten units.
So rows that come one at a time are learned into arrays that are filled once, from a value. `fitted`
makes a value of them again, for everything else. Both ways give the same model, to rounding.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from ..backend import Array, eps
from ..compiled import Kernels, Unavailable, load, usable
from ..mixture import Mixture
from ..threads import new_lock
from ..validation import largest_square
from ._derived import replace
from ._mean import ZERO, Mean
from ._rows import Rows
from .sums import Sums

# More rows than there will be.
NEVER = 1 << 60

# Fewer rows than these until ε is chosen, or a floor added, are not worth the arrays.
_FEWEST_ROWS = 8

# Rows for which there is room while no prediction needs them; more in small layers, whose rows are
# short.
_ROOM, _ROOM_OF_SMALL, _SMALL = 512, 1024, 256

# Longer than any row that is learned; its square is a number.
_LONGEST = 1e150

# Records by kernels: up to how many units they are faster than matrix products, from how many rows
# on it is worth to load them, and the rows of one call, during which no other thread runs.
_UNITS_TO_RECORD, _FEWEST_TO_RECORD, _ROWS_OF_A_CALL = 128, 4096, 1024


class Learned(NamedTuple):
    """What kernels have made of a state with n rows.

    Attributes
    ----------
    n : how many
    root : the root after them, or None
    W : the weights after them, of OPIUM light
    H, Y : the rows as the root has learned them, if they are kept
    energy, excited : of a `FadingState`
    """

    n: int
    root: Sums | None
    W: Array | None
    H: Array
    Y: Array
    energy: float
    excited: float


class InPlace:
    """What one model has learned, in arrays that compiled kernels change row by row.

    A call of a kernel holds Python's lock until it returns: other threads see the arrays before or
    after it. The array is filled once. After the row at which ε is chosen, or a floor added, the
    model makes a value of it, and goes on with another `InPlace`.

    Parameters
    ----------
    fitted : State
        A value without pending rows.
    members : tuple of State
        From `State.for_kernels`: one state, or several that are mixed.
    kernels : Kernels
    single : bool
        Whether predictions and targets are numbers, not arrays.
    limit : int
        How many rows may be learned here.
    """

    # Rows learned without kernels after another method has learned: it may be called again soon.
    rows_between_changes = 128

    def __init__(
        self, fitted: Any, members: Any, kernels: Kernels, *, single: bool, limit: int
    ) -> None:
        self.start_value = self._last = fitted
        self.kernels = kernels
        self.number = fitted.dtype.type
        self.single = single
        self._members = members
        self._due = fitted.rows_until_event()
        self._mixture: Mixture | None = getattr(fitted, "mixture", None)
        self._is_closed = False
        self._lock = new_lock()
        layout, shape, first = kernels.layout, fitted.shape, members[0]
        room = _ROOM_OF_SMALL if shape.n_hidden <= _SMALL else _ROOM
        self._room = 0 if first.root is None else room
        self._at = layout.places(shape.n_hidden, shape.n_outputs, self._room)
        self._stride = layout.up(self._at.end if first.keeps_rows else self._at.kept)
        self._fill(limit)

    def __getattr__(self, name: str) -> Any:
        """The kernels that take activations, compiled when they are first called."""
        if name not in ("predict", "learn"):
            raise AttributeError(name)
        kernel = getattr(self.kernels, f"{name}_{'one' if self.single else 'outputs'}")
        bound = vars(self)[name] = partial(kernel, self.array)
        return bound

    @classmethod
    def start(cls, fitted: Any, *, single: bool, limit: int = NEVER) -> InPlace | None:
        """The arrays of a value; None where kernels cannot learn its rows."""
        shape = fitted.shape
        if shape.kernels is None or fitted.pending:
            return None
        members = fitted.for_kernels()
        if members is None or fitted.rows_until_event() < _FEWEST_ROWS:
            return None
        if not all(map(_fits, members)):
            return None
        try:
            kernels = load(shape.dtype, mixed=hasattr(fitted, "mixture"))
            if kernels is None:
                return None
            return cls(fitted, members, kernels, single=single, limit=limit)
        except Unavailable:
            return None

    # From a value to arrays

    def _fill(self, limit: int) -> None:
        layout, members, mixture = self.kernels.layout, self._members, self._mixture
        n_outputs, stride = self.start_value.n_outputs, self._stride
        end, places = len(members) * stride, None
        if mixture is not None:
            places = layout.mixture_places(len(members), n_outputs)
            end += places.end
        self.array = array = _aligned(end)
        for i, member in enumerate(members):
            self._fill_member(array[i * stride : (i + 1) * stride], member)
        if mixture is not None and places is not None:
            array[layout.N_MEMBERS], array[layout.STRIDE] = len(members), stride
            mixed = array[len(members) * stride :]
            mixed[layout.MIX_COUNT], mixed[layout.MIX_DECAY] = mixture.count, mixture.decay
            mixed[places.prior :][: len(members)] = mixture.log_prior
            mixed[places.squares :][: mixture.squares.size] = mixture.squares.ravel()
        self.allow(limit)

    def _fill_member(self, array: Array, member: Any) -> None:
        layout, at, shape = self.kernels.layout, self._at, self.start_value.shape
        M, L = shape.n_hidden, shape.n_outputs
        array[layout.N_HIDDEN], array[layout.N_OUTPUTS], array[layout.ROOM] = M, L, self._room
        array[layout.LARGEST_SQUARE] = largest_square(shape.dtype)
        array[layout.KEEP], array[layout.PER_GAIN] = member.keep, 1 / member.gain
        array[layout.ENERGY], array[layout.EXCITED] = member.energy, member.excited
        array[layout.KEEPS_ROWS] = member.keeps_rows
        array[layout.DUE_AFTER] = self._due
        root, W = member.root, member.W
        if W is not None:
            array[at.W : at.W + M * L] = W.T.ravel()
            array[layout.WEIGHTS_KNOWN] = 1.0
        if root is None:
            return
        array[layout.LARGEST_ROW] = min(root.largest_row, _LONGEST) ** 2
        array[layout.COUNT], array[layout.COUNT_OF_SQUARES] = root.count, root.count_of_squares
        array[at.loss : at.loss + L] = root.loss
        rows = array[at.root : at.inverse].reshape(M, -1)[:, :M]
        np.copyto(rows, root.R, where=~np.tri(M, k=-1, dtype=bool))  # below it, there are zeros
        array[at.inverse : at.inverse + M] = 1 / np.diagonal(root.R).astype(np.float64)
        array[at.Z : at.Z + M * L] = root.Z.ravel()
        if root.mean is not None:
            array[layout.HAS_MEAN], array[layout.MEAN_COUNT] = 1.0, root.mean.count
            array[layout.ROUNDING] = ZERO * eps(shape.dtype)
            array[at.target : at.target + L] = root.mean.target
            array[at.mean : at.mean + M] = root.mean.row

    # From arrays to a value

    @property
    def is_mixed(self) -> bool:
        """Whether several states are mixed."""
        return self._mixture is not None

    @property
    def _n_rows(self) -> int:
        """How many rows were learned since the arrays were filled."""
        layout, n_members = self.kernels.layout, len(self._members)
        place = n_members * self._stride + layout.MIX_ROWS if self.is_mixed else layout.N_ROWS
        return int(self.array[place])

    @property
    def n_seen(self) -> int:
        """How many rows the model has learned, with those before the arrays were filled."""
        return self.start_value.n_seen + self._n_rows

    @property
    def is_due(self) -> bool:
        """Whether `fitted` will choose ε, or add a floor, after the last row."""
        return self._n_rows >= self._due

    def allow(self, n: int) -> None:
        """Let at most n more rows be learned."""
        layout = self.kernels.layout
        limits = self.array[layout.LIMIT :: self._stride][: len(self._members)]
        limits[:] = min(self._due, self._n_rows + n)
        if self._is_closed:  # also by a signal handler just now
            limits[:] = 0

    def close(self) -> Any:
        """Refuse all further rows, and make a value of those that were learned."""
        self._is_closed = True
        self.allow(0)
        return self.fitted()

    def fitted(self) -> Any:
        """What was learned, as an immutable value."""
        with self._lock:
            if self._last.n_seen == self.n_seen:
                return self._last
            with suppress(Unavailable):  # rows that wait are learned below
                self.kernels.apply(self.array)
            array, start, stride, states = self._copy(), self.start_value, self._stride, []
            for i, member in enumerate(self._members):
                learned, H, Y = self._learned(array[i * stride : (i + 1) * stride], member)
                state = member.with_learned(learned).counted(start.n_seen + learned.n)
                # One of the rows that still wait is too long for the kernels.
                states.append(state.learn_now(Rows.of(H, Y)) if len(H) else state)
            n_seen = states[0].n_seen
            state = start.rejoined(states, self._mixed_by(array)).counted(n_seen)
            if n_seen - start.n_seen >= self._due:
                state = state.after_event()
            self._last = state
            return self._last

    def _copy(self) -> Array:
        """A copy of all numbers, while no other thread can learn."""
        copy = np.empty_like(self.array)
        try:
            self.kernels.snapshot(self.array, copy)
        except Unavailable:  # so that no kernel learns any more
            copy[:] = self.array
        return copy

    def _mixed_by(self, array: Array) -> Mixture | None:
        layout, mixture = self.kernels.layout, self._mixture
        if mixture is None:
            return None
        n_members = len(self._members)
        places = layout.mixture_places(n_members, self.start_value.n_outputs)
        mixed = array[n_members * self._stride :]
        squares = mixed[places.squares :][: mixture.squares.size].reshape(mixture.squares.shape)
        return replace(mixture, squares=squares.copy(), count=float(mixed[layout.MIX_COUNT]))

    def _learned(self, array: Array, member: Any) -> tuple[Learned, Array, Array]:
        """What a member has learned, and its waiting rows with their targets."""
        layout, at, shape = self.kernels.layout, self._at, self.start_value.shape
        M, L, dtype = shape.n_hidden, shape.n_outputs, shape.dtype

        def numbers(start: int, rows: int, width: int) -> Array:
            found = array[start : start + rows * width].reshape(rows, width)
            return found.astype(dtype)

        waiting, kept = int(array[layout.N_WAITING]), int(array[layout.N_KEPT])
        n = int(array[layout.N_ROWS]) - waiting
        root, W, rows = member.root, member.W, numbers(at.kept, kept, M + L)
        if n > 0 and root is None:
            W = np.ascontiguousarray(numbers(at.W, L, M).T)
        elif n > 0:
            root = self._root(array, member, n)
        energy, excited = float(array[layout.ENERGY]), float(array[layout.EXCITED])
        learned = Learned(n, root, W, rows[:, :M], rows[:, M:], energy, excited)
        return learned, numbers(at.H, waiting, M), numbers(at.Y, waiting, L)

    def _root(self, array: Array, member: Any, n: int) -> Sums:
        layout, at, shape = self.kernels.layout, self._at, self.start_value.shape
        M, L, before, decay = shape.n_hidden, shape.n_outputs, member.root, member.keep**n
        assert before is not None
        mean, count = before.mean, float(array[layout.COUNT])
        if mean is not None:
            row, target = array[at.mean :][:M].copy(), array[at.target :][:L].copy()
            mean = Mean(float(array[layout.MEAN_COUNT]), row, target)
        R = array[at.root : at.inverse].reshape(M, -1)[:, :M]
        Z = array[at.Z : at.Z + M * L].reshape(M, L)
        return replace(
            before,
            R=np.asfortranarray(R, dtype=shape.dtype),
            Z=np.asfortranarray(Z, dtype=shape.dtype),
            loss=array[at.loss : at.loss + L].copy(),
            count=count,
            count_of_squares=float(array[layout.COUNT_OF_SQUARES]),
            weight=decay * before.weight + count - decay * before.count,
            mean=mean,
            prior=before.prior * float(np.sqrt(decay)),
            largest_row=before.largest_row if decay == 1.0 else np.inf,
            lost=before.lost * decay,
        )

    # Single rows, for any thread

    def predicted(self, h: Any) -> Any:
        """The prediction for one row; None where kernels cannot predict it."""
        try:
            if self.single:
                value = self.predict(h)
                return None if isnan(value) else self.number(value)
            out = np.empty(self.start_value.n_outputs)
            return out.astype(self.number) if self.predict(h, out) == 0 else None
        except self.kernels.refusals:  # not an array of this dtype
            return None

    def learned(self, h: Any, y: Any) -> bool:
        """Learn one row; False where kernels cannot learn it."""
        try:
            return self.learn(h, y) in _LEARNED
        except self.kernels.refusals:  # as above, or not a number
            return False

    def record(self, H: Array, Y: Array) -> Array:
        """Learn rows up to one that kernels cannot learn; the prediction before each of them."""
        n_outputs, predicted = Y.shape[1], np.empty(Y.size)
        rows, targets = np.ascontiguousarray(H).ravel(), np.ascontiguousarray(Y).ravel()
        n = self.kernels.record(self.array, rows, targets, predicted)
        return predicted[: n * n_outputs].reshape(n, n_outputs).astype(self.number)


_LEARNED = (0, 1)  # what kernels return for a row that is learned; 1 where something else is due


def record_in_place(state: Any, rows: Rows) -> tuple[Any, Array] | None:
    """The state after many rows, and their predictions; None where products are faster."""
    wide = state.shape.n_hidden > _UNITS_TO_RECORD
    if wide or rows.weight is not None or rows.n < _FEWEST_TO_RECORD or not usable():
        return None
    blocks: list[Array] = []
    start = 0
    while start < rows.n:
        part = rows.part(start, min(rows.n, start + _ROWS_OF_A_CALL))
        live = InPlace.start(state.flushed(), single=False)
        if not start and (live is None or live.is_mixed):
            return None
        if live is not None:
            blocks.append(live.record(*part.make(0, part.n)))
            state, start = live.fitted(), start + len(blocks[-1])
        if live is None or not len(blocks[-1]):  # ε or a floor is due, or a row is too long
            n = max(1, state.record_rows())
            state, predicted = state.record_by_products(part.part(0, min(n, part.n)))
            blocks.append(predicted)
            start += len(predicted)
    return state, np.concatenate(blocks)


def _fits(member: Any) -> bool:
    """Whether kernels can learn into the state: its root has no basis and no zero pivot."""
    if member.root is None:
        return True
    if member.root.basis is not None:
        return False
    with np.errstate(all="ignore"):
        return bool(np.isfinite(1 / np.diagonal(member.root.R).astype(np.float64)).all())


def _aligned(n: int) -> Array:
    """n zeros that begin with a line of the cache."""
    array = np.zeros(n + 8)
    start = -(array.ctypes.data // 8) % 8
    return array[start : start + n]
