"""Single rows learned in place: the arrays of the compiled kernels, which belong to one model.

What was learned is an immutable value, and to make one costs more than to learn a row of ten units.
So rows that come one at a time are learned into arrays that are filled once, from a value. `fitted`
makes a value of them again, for everything else. Both ways give the same model, to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from ..backend import Array, eps
from ..compiled import Kernels, Unavailable, load
from ..mixture import Mixture
from ..threads import new_lock
from ..validation import largest_square
from ._derived import derived, replace
from ._mean import ZERO
from ._rows import Rows

# More rows than there will be.
NEVER = 1 << 60

# Fewer rows than these until ε is chosen, or a floor added, are not worth the arrays.
_FEWEST_ROWS = 8

# Numbers in the rows for which there is room, and the fewest rows.
_ROOM, _FEWEST_OF_ROOM = 1 << 17, 512

# Longer than any row that is learned; its square is a number.
_LONGEST = 1e150


class Learned(NamedTuple):
    """A state after kernels have learned rows into it.

    Attributes
    ----------
    rows : those that they have learned, where they keep them
    n : how many
    R, Z, loss : the root after them; None where there are only weights
    W : the weights after them, where there is no root
    """

    rows: Rows
    n: int
    R: Array | None
    Z: Array | None
    loss: Array | None
    W: Array | None


class InPlace:
    """Arrays of one model, which compiled kernels change row by row.

    A call of a kernel holds Python's lock until it returns: other threads see the arrays before or
    after it. The array is filled once. When it has no more room, or ε is chosen or a floor added,
    the model makes a value of it, and goes on with another `InPlace`.

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
        How many rows may be learned here; another `InPlace` learns the next.
    layer : ndarray, optional
        The layer of which rows are the inputs, as the kernels have it; without it they are
        activations.
    """

    # Rows learned without kernels after another method has learned: it may be called again soon.
    rows_between_changes = 128

    def __init__(
        self,
        fitted: Any,
        members: Any,
        kernels: Kernels,
        *,
        single: bool,
        limit: int,
        layer: Array | None,
    ) -> None:
        self.start_value = self._last = fitted
        self.kernels = kernels
        self.number = fitted.dtype.type
        self.single, self.has_layer = single, layer is not None
        self._ending = "number" if single else "outputs"  # of the names of kernels
        self._members = members
        self._event = fitted.rows_until_event()
        self._mixture: Mixture | None = getattr(fitted, "mixture", None)
        self._is_closed = False
        self._lock = new_lock()
        M, L = fitted.shape.n_hidden, fitted.n_outputs
        has_root = members[0].root is not None
        self._due = min(self._event, limit)
        if has_root:
            self._due = min(self._due, max(_FEWEST_OF_ROOM, _ROOM // (M + L)))
        room = self._due if has_root else 0
        self._at = kernels.layout.places(M, L, len(members), room)
        self._fill(room, layer)

    @derived
    def _predict(self) -> Any:
        return partial(getattr(self.kernels, f"predict_{self._ending}"), self.array)

    @derived
    def _learn(self) -> Any:
        return partial(getattr(self.kernels, f"learn_{self._ending}"), self.array)

    @classmethod
    def start(
        cls,
        fitted: Any,
        *,
        single: bool,
        limit: int = NEVER,
        layer: Callable[[Kernels], Array | None] | None = None,
    ) -> InPlace | None:
        """Fill arrays from a learned value; None if kernels cannot learn rows for this value."""
        shape = fitted.shape
        if not shape.backend.has_kernels:
            return None
        members = fitted.for_kernels()
        if members is None or fitted.rows_until_event() < _FEWEST_ROWS:
            return None
        if not all(map(_fits, members)):
            return None
        kernels = load(shape.dtype)
        if kernels is None:
            return None
        made = None if layer is None else layer(kernels)
        return cls(fitted, members, kernels, single=single, limit=limit, layer=made)

    # From a value to arrays

    def _fill(self, room: int, layer: Array | None) -> None:
        layout, at, start = self.kernels.layout, self._at, self.start_value
        self.array = array = _aligned(at.end + (0 if layer is None else len(layer)))
        if layer is not None:
            array[layout.LAYER], array[at.end :] = at.end, layer
        array[layout.N_HIDDEN], array[layout.N_OUTPUTS] = start.shape.n_hidden, start.n_outputs
        array[layout.N_MEMBERS], array[layout.ROOM] = len(self._members), room
        array[layout.LARGEST_SQUARE] = largest_square(start.dtype)
        array[layout.DUE_AFTER] = self._due
        for i, member in enumerate(self._members):
            self._fill_member(self._part(array, i), member)
        if self._mixture is not None:
            mixture = self._mixture
            array[layout.MIX_COUNT], array[layout.MIX_DECAY] = mixture.count, mixture.decay
            array[at.prior :][: len(self._members)] = mixture.log_prior
            array[at.squares :][: mixture.squares.size] = mixture.squares.ravel()
        self.allow(NEVER)

    def _part(self, array: Array, i: int) -> Array:
        """Return the part of the work array that belongs to a member."""
        start = self._at.members + i * self._at.stride
        return array[start : start + self._at.stride]

    def _fill_member(self, array: Array, member: Any) -> None:
        layout, at, shape = self.kernels.layout, self._at, self.start_value.shape
        M, L, root = shape.n_hidden, shape.n_outputs, member.root
        array[layout.KEEP] = member.keep
        if root is None:
            array[layout.PER_GAIN] = 1 / member.gain
            array[at.W :][: M * L] = member.W.T.ravel()
            array[layout.WEIGHTS_KNOWN] = 1.0
            return
        array[layout.LARGEST_ROW] = min(root.largest_row, _LONGEST) ** 2
        array[at.loss :][:L] = root.loss
        rows = array[at.root : at.inverse].reshape(M, -1)[:, :M]
        np.copyto(rows, root.R, where=~np.tri(M, k=-1, dtype=bool))  # below it, there are zeros
        array[at.inverse :][:M] = 1 / np.diagonal(root.R).astype(np.float64)
        array[at.Z :][: M * L] = root.Z.ravel()
        if root.mean is not None:
            array[layout.HAS_MEAN], array[layout.MEAN_COUNT] = 1.0, root.mean.count
            array[layout.ROUNDING] = ZERO * eps(shape.dtype)
            array[at.target :][:L] = root.mean.target
            array[at.mean :][:M] = root.mean.row

    # From arrays to a value

    @property
    def n_seen(self) -> int:
        """Number of rows the model has learned, before and since the arrays were filled."""
        return self.start_value.n_seen + int(self.array[self.kernels.layout.N_ROWS])

    def allow(self, n: int) -> None:
        """Let at most n more rows be learned."""
        layout = self.kernels.layout
        self.array[layout.LIMIT] = min(self._due, self.array[layout.N_ROWS] + n)
        if self._is_closed:  # also by a signal handler just now
            self.array[layout.LIMIT] = 0

    def close(self) -> Any:
        """Refuse all further rows, and return the learned rows as an immutable value."""
        self._is_closed = True
        self.allow(0)
        return self.fitted()

    def fitted(self) -> Any:
        """The learned state, as an immutable value."""
        with self._lock:
            if self._last.n_seen == self.n_seen:
                return self._last
            array, start, layout = self._copy(), self.start_value, self.kernels.layout
            n, M = int(array[layout.N_ROWS]), start.shape.n_hidden
            kept = n if array[layout.ROOM] else 0
            width = M + start.n_outputs
            both = array[self._at.rows :][: kept * width].reshape(kept, width).astype(start.dtype)
            rows = Rows.of(both[:, :M], both[:, M:])
            if kept and array[layout.N_IN_ROOTS] < n:  # a row is too long for the kernels
                self._last = start.learn_now(rows)
                return self._last
            members = [
                member.with_learned(self._learned(self._part(array, i), member, rows, n))
                for i, member in enumerate(self._members)
            ]
            state = start.rejoined(members, self._mixed_by(array)).counted(start.n_seen + n)
            self._last = state.after_event() if n >= self._event else state
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
        mixture = self._mixture
        if mixture is None:
            return None
        squares = array[self._at.squares :][: mixture.squares.size].reshape(mixture.squares.shape)
        count = float(array[self.kernels.layout.MIX_COUNT])
        return replace(mixture, squares=squares.copy(), count=count)

    def _learned(self, array: Array, member: Any, rows: Rows, n: int) -> Learned:
        at, shape = self._at, self.start_value.shape
        M, L, dtype = shape.n_hidden, shape.n_outputs, shape.dtype
        if member.root is None:
            W = np.ascontiguousarray(array[at.W :][: L * M].reshape(L, M).T, dtype=dtype)
            return Learned(rows, n, None, None, None, W)
        R = array[at.root : at.inverse].reshape(M, -1)[:, :M]
        Z = array[at.Z :][: M * L].reshape(M, L)
        R, Z = (np.asfortranarray(A, dtype=dtype) for A in (R, Z))
        return Learned(rows, n, R, Z, array[at.loss :][:L].copy(), None)

    # Single rows, for any thread

    def outputs(self, x: Any) -> Any:
        """The outputs for one row, one of them as a number; None where kernels cannot predict."""
        try:
            if self.single:
                value = self._predict(x)
                return value if value == value else None  # noqa: PLR0124 - not NaN
            out = np.empty(self.start_value.n_outputs)
            return None if isnan(self._predict(out, x)) else out
        except self.kernels.refusals:  # not an array of this dtype
            return None

    def learned(self, x: Any, y: Any) -> int:
        """Learn one row; return 0, 1 if ε, a floor or larger arrays are due, < 0 on refusal."""
        try:
            status: int = self._learn(x, y)
        except self.kernels.refusals:  # as above, or not a number
            return -1
        return status


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
