"""A state in the arrays of the compiled kernels, which learn and predict single rows there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..backend import Array, eps
from ..compiled import Kernels, Unavailable
from ..mixture import Mixture
from ..validation import largest_square
from ._derived import replace
from ._mean import ZERO, Mean
from .sums import Sums

# Rows for which there is room until a prediction needs them. So many at once are better learned by
# other means; of small layers so many that a Gram matrix is.
_ROOM, _ROOM_OF_SMALL, _SMALL = 512, 1024, 256

# Units up to which the memory for the next filling is kept.
_KEPT_UNITS = 1536

# Longer than any row that is learned; its square is a number.
_LONGEST = 1e150


class Learned(NamedTuple):
    """What n single rows have made of a `OneByOne`.

    Attributes
    ----------
    n : how many
    root : the root after them, or None
    W : the weights after them, of OPIUM light
    H, Y : the rows as the root has learned them, if they are kept
    energy, excited : of `Fading`
    """

    n: int
    root: Sums | None
    W: Array | None
    H: Array
    Y: Array
    energy: float
    excited: float


@dataclass(frozen=True, eq=False)
class OneByOne:
    """What the kernels need of a state, and how it becomes a state again.

    Attributes
    ----------
    join : from `Learned`, the state
    limit : rows that may be learned before anything else is due
    root : the root that answers
    keeps_rows : whether rows are kept as they are learned, for sums that follow later
    keep : what is left of a row's weight after the next
    energy, excited : of `Fading`
    W, gain : of OPIUM light, which has no root
    members : several that learn the same rows and are mixed by their errors
    mixture : their mixture
    renewed : from the number of a member, its state and how many rows came, that member with what
        is due then; None where it cannot go on
    """

    join: Callable[[Learned], Any]
    limit: int
    root: Sums | None = None
    keeps_rows: bool = False
    keep: float = 1.0
    energy: float = 0.0
    excited: float = 0.0
    W: Array | None = None
    gain: float = 1.0
    members: tuple[OneByOne, ...] = ()
    mixture: Mixture | None = None
    renewed: Callable[[int, Any, int], OneByOne | None] | None = None

    def fits(self) -> bool:
        """Whether the kernels can go on from here."""
        root = self.root
        if self.members:
            return all(member.fits() for member in self.members)
        if root is None:
            return True
        if root.basis is not None:
            return False
        with np.errstate(all="ignore"):
            return bool(np.isfinite(1 / np.diagonal(root.R).astype(np.float64)).all())


class Work:
    """The arrays of the kernels for one model.

    Parameters
    ----------
    kernels : Kernels
    n_hidden, n_outputs : int
    parts : OneByOne
    array : ndarray, optional
        Where it is to be: a part of that of several. It is then filled by who has these.
    """

    def __init__(
        self,
        kernels: Kernels,
        n_hidden: int,
        n_outputs: int,
        parts: OneByOne,
        array: Array | None = None,
    ) -> None:
        self._layout = layout = kernels.layout
        self.kernels = kernels
        self._dtype = kernels.dtype
        room = _ROOM_OF_SMALL if n_hidden <= _SMALL else _ROOM
        self._room = 0 if parts.root is None else room
        self._size = n_hidden, n_outputs, parts.root is None, parts.keeps_rows
        self._at = at = layout.places(n_hidden, n_outputs, self._room)
        self.n_numbers = at.end if parts.keeps_rows else at.kept
        self.array = aligned(self.n_numbers) if array is None else array
        self._next: Array | None = None
        self._upper = ~np.tri(n_hidden, k=-1, dtype=bool)
        self._filled: dict[int, OneByOne] = {}
        if array is None:
            self.fill(parts)

    def holds(self, n_hidden: int, n_outputs: int, parts: OneByOne) -> bool:
        """Whether a state of this size fits into the same arrays."""
        return self._size == (n_hidden, n_outputs, parts.root is None, parts.keeps_rows)

    def fill(self, parts: OneByOne) -> None:
        """Begin with another state of the same size.

        All of it at once, for other threads and for an interrupt: which state it is, is a number in
        the array too.
        """
        times = self.times_filled + 1
        array = self.start_of(parts, times)
        self._filled = {**self._filled, times: parts}
        self.kernels.replace(self.array, array)
        self._filled = {times: parts}
        if self._size[0] > _KEPT_UNITS:
            self._next = None

    def start_of(self, parts: OneByOne, times: int) -> Array:
        """The numbers of a state, without rows, when it is filled for so many times."""
        layout, at, (M, L, *_) = self._layout, self._at, self._size
        array = self._next
        if array is None:
            array = self._next = np.zeros(at.H)  # all but the rows
        array[: at.root] = 0.0
        array[layout.N_HIDDEN], array[layout.N_OUTPUTS] = M, L
        array[layout.LIMIT], array[layout.ROOM] = parts.limit, self._room
        array[layout.LARGEST_SQUARE] = largest_square(self._dtype)
        array[layout.KEEP], array[layout.PER_GAIN] = parts.keep, 1 / parts.gain
        array[layout.ENERGY], array[layout.EXCITED] = parts.energy, parts.excited
        array[layout.KEEPS_ROWS] = parts.keeps_rows
        root, W = parts.root, parts.W
        if W is not None:
            array[at.W : at.W + M * L] = W.T.ravel()
            array[layout.WEIGHTS_KNOWN] = 1.0
        if root is not None:
            array[layout.LARGEST_ROW] = min(root.largest_row, _LONGEST) ** 2
            array[layout.COUNT] = root.count
            array[layout.COUNT_OF_SQUARES] = root.count_of_squares
            array[at.loss : at.loss + L] = root.loss
            R = array[at.root : at.inverse].reshape(M, -1)[:, :M]
            np.copyto(R, root.R, where=self._upper)  # below it, there are zeros
            array[at.inverse : at.inverse + M] = 1 / np.diagonal(root.R).astype(np.float64)
            array[at.Z : at.Z + M * L] = root.Z.ravel()
            if root.mean is not None:
                array[layout.HAS_MEAN], array[layout.MEAN_COUNT] = 1.0, root.mean.count
                array[layout.ROUNDING] = ZERO * eps(self._dtype)
                array[at.target : at.target + L] = root.mean.target
                array[at.mean : at.mean + M] = root.mean.row
        array[layout.FILLED] = times
        return array

    # Counts

    @property
    def times_filled(self) -> int:
        """How often it was filled."""
        return int(self.array[self._layout.FILLED])

    @property
    def parts(self) -> OneByOne:
        """The state that it was filled with."""
        return self._filled[self.times_filled]

    @property
    def n_rows(self) -> int:
        """Rows since it was filled."""
        return int(self.array[self._layout.N_ROWS])

    @property
    def is_full(self) -> bool:
        """Whether no row can be learned here before the others are learned elsewhere."""
        return self.has_no_room or self.n_rows >= self.parts.limit

    @property
    def has_no_room(self) -> bool:
        """Whether there is no room for one more row."""
        layout, array = self._layout, self.array
        n = array[layout.N_WAITING] + array[layout.N_KEPT]
        return bool(0 < self._room <= n)

    def allow(self, n: int) -> None:
        """Let at most n more rows come before a kernel says that it is full."""
        self.array[self._layout.LIMIT] = min(self.parts.limit, self.n_rows + n)

    # What was learned

    def state(self, *, apply: bool = True) -> tuple[Any, int, Array, Array]:
        """The state, how many rows came so far, and those of them that are not in it yet.

        With `apply` these are learned first, one after the other, unless one is too long.
        """
        if apply and self._room:
            with suppress(Unavailable):  # rows that wait are learned otherwise
                self.kernels.apply(self.array)
        return self.state_of(self._copy(), self.parts)

    def state_after(self, h: Array, y: Any) -> tuple[Any, int] | None:
        """The state after one more row than there may be, and how many came then.

        None if a row is too long. The row is learned into a copy: it may have to be learned
        together with what is due after it.
        """
        self.kernels.apply(self.array)
        copy, kernels, layout = self._copy(), self.kernels, self._layout
        copy[layout.LIMIT] = np.inf
        single = np.ndim(y) == 0
        target = float(y) if single else np.ascontiguousarray(y, self._dtype)
        status = (kernels.learn_one if single else kernels.learn_outputs)(copy, h, target)
        if status != layout.DONE or kernels.apply(copy) != layout.DONE:
            return None
        return self.state_of(copy, self.parts)[:2]

    def _copy(self) -> Array:
        return copy_of(self.kernels, self.array)

    def state_of(self, array: Array, parts: OneByOne) -> tuple[Any, int, Array, Array]:
        """`state`, from the numbers of the work and what it was filled with."""
        layout, at, (M, L, *_) = self._layout, self._at, self._size
        n, waiting = int(array[layout.N_ROWS]), int(array[layout.N_WAITING])
        H = array[at.H : at.H + waiting * M].reshape(waiting, M).astype(self._dtype, copy=False)
        Y = array[at.Y : at.Y + waiting * L].reshape(waiting, L).astype(self._dtype, copy=False)
        return self._joined(array, parts, n - waiting), n, H, Y

    def _joined(self, array: Array, parts: OneByOne, n: int) -> Any:
        """The state after n rows."""
        layout, at, (M, L, *_) = self._layout, self._at, self._size
        root, W = parts.root, parts.W
        if n > 0 and root is None:
            W = array[at.W : at.W + M * L].reshape(L, M).T
            W = np.ascontiguousarray(W, dtype=self._dtype)
        elif n > 0:
            root = self._root(array, parts, n)
        kept = int(array[layout.N_KEPT])
        rows = (
            array[at.kept : at.kept + kept * (M + L)]
            .reshape(kept, M + L)
            .astype(self._dtype, copy=False)
        )
        energy, excited = float(array[layout.ENERGY]), float(array[layout.EXCITED])
        return parts.join(Learned(n, root, W, rows[:, :M], rows[:, M:], energy, excited))

    def _root(self, array: Array, parts: OneByOne, n: int) -> Sums:
        layout, at, (M, L, *_) = self._layout, self._at, self._size
        before, decay = parts.root, parts.keep**n
        assert before is not None
        mean = before.mean
        if mean is not None:
            row, target = array[at.mean :][:M].copy(), array[at.target :][:L].copy()
            mean = Mean(float(array[layout.MEAN_COUNT]), row, target)
        R = array[at.root : at.inverse].reshape(M, -1)[:, :M]
        Z = array[at.Z : at.Z + M * L].reshape(M, L)
        return replace(
            before,
            R=np.asfortranarray(R, dtype=self._dtype),
            Z=np.asfortranarray(Z, dtype=self._dtype),
            loss=array[at.loss : at.loss + L].copy(),
            count=float(array[layout.COUNT]),
            count_of_squares=float(array[layout.COUNT_OF_SQUARES]),
            mean=mean,
            prior=before.prior * float(np.sqrt(decay)),
            weight=decay * before.weight + float(array[layout.COUNT]) - decay * before.count,
            largest_row=before.largest_row if decay == 1.0 else np.inf,
            lost=before.lost * decay,
        )

    # Many rows

    def record(self, H: Array, Y: Array) -> Array:
        """Learn rows until one must be learned elsewhere; the predictions before each of them."""
        n_outputs = Y.shape[1]
        H, Y = np.ascontiguousarray(H).ravel(), np.ascontiguousarray(Y).ravel()
        predicted = np.empty(len(Y))
        n = self.kernels.record(self.array, H, Y, predicted)
        return predicted[: n * n_outputs].reshape(n, n_outputs).astype(self._dtype)


def copy_of(kernels: Kernels, array: Array) -> Array:
    """A copy of all numbers, while no other thread can learn."""
    copy = np.empty_like(array)
    try:
        kernels.snapshot(array, copy)
    except Unavailable:  # so that no kernel learns any more
        copy[:] = array
    return copy


def aligned(n: int) -> Array:
    """n zeros that begin with a line of the cache."""
    array = np.zeros(n + 8)
    start = -(array.ctypes.data // 8) % 8
    return array[start : start + n]
