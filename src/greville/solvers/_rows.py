"""A chunk of rows that is read block by block, and more than once if it must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ..backend import Array, Backend
from ..devices import place_of
from ..fields import array, finite, nothing, require, stored
from ..validation import check_size

# It takes a block of rows and targets, and returns them.
Check = Callable[[Any, Any], tuple[Any, Any]]


def block_length(b: Backend, n_hidden: int, dtype: Any) -> int:
    """Return the number of rows of activations that are made and learned at a time.

    Enough for matrix products to run at full speed, few enough to stay small next to an M x M
    matrix. Each block is one pass over that matrix, so large layers want larger ones: for M = 7840
    in float32, the Gram matrix of 138 thousand million operations a second with 32 MiB, 147 with
    128.
    """
    size, (least, most) = np.dtype(dtype).itemsize, b.tuning.block_bytes
    room = min(max(int(n_hidden**2 * size * b.tuning.block_share), least), most)
    rows = room // (n_hidden * size)
    return max(256, rows - rows % b.tuning.block_multiple)


class Rows:
    """n rows of activations and targets with their weights, made a block at a time.

    Parameters
    ----------
    n : int
        The number of rows.
    make : function
        ``make(start, stop)`` returns the (H, Y) of these rows: slices of arrays, or the output of
        a hidden layer. It is called again where a fast route fails and a safe one starts over.
    weight : ndarray of shape (n,), optional
        The sample weights.
    check : function, optional
        From `device_check`, for rows that are not checked yet: they are when they are made.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.solvers import Rows
    >>> H, Y = np.ones((10, 3)), np.ones((10, 1))
    >>> rows = Rows(10, lambda start, stop: (H[start:stop], Y[start:stop]))
    >>> rows.make(0, 4)[0].shape
    (4, 3)
    """

    def __init__(
        self,
        n: int,
        make: Callable[[int, int], tuple[Array, Array]],
        weight: Array | None = None,
        check: Check | None = None,
    ) -> None:
        self.n = n
        self.weight = weight
        self.check = check
        self._make = make

    @classmethod
    def of(
        cls, H: Array, Y: Array, weight: Array | None = None, check: Check | None = None
    ) -> Rows:
        """Make rows from arrays H and Y."""
        return cls(H.shape[0], lambda i, j: (H[i:j, :], Y[i:j, :]), weight, check)

    @classmethod
    def concatenated(cls, b: Backend, parts: list[Rows]) -> Rows:
        """The rows of several parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        pairs = [[b.asarray(A) for A in part.make(0, part.n)] for part in parts]
        H, Y = (b.xp.concat(list(column)) for column in zip(*pairs, strict=True))
        weighted = any(part.weight is not None for part in parts)
        return cls.of(H, Y, np.concatenate([part.weights for part in parts]) if weighted else None)

    @property
    def weights(self) -> Array:
        """The sample weights, ones where there are none."""
        return np.ones(self.n) if self.weight is None else self.weight

    def make(self, start: int, stop: int) -> tuple[Array, Array]:
        """The H and Y of these rows; a ValueError if they cannot be learned."""
        H, Y = self._make(start, stop)
        return (H, Y) if self.check is None else self.check(H, Y)

    def part(self, start: int, stop: int) -> Rows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[start:stop]
        make = self._make
        return Rows(stop - start, lambda i, j: make(start + i, start + j), weight, check=self.check)

    def keeping(self, places: Array) -> tuple[Rows, list[Array]]:
        """Return these rows, and a list that collects H at some indices while blocks are made."""
        make, kept = self._make, list[Array]()

        def make_and_keep(start: int, stop: int) -> tuple[Array, Array]:
            H, Y = make(start, stop)
            if start == 0:  # all rows again
                kept.clear()
            first, last = np.searchsorted(places, (start, stop))
            kept.append(H[places[first:last] - start])
            return H, Y

        return Rows(self.n, make_and_keep, self.weight, self.check), kept

    def arrays(self) -> tuple[Array, Array, Array | None]:
        """The rows as arrays of their own."""
        H, Y = map(_copied, self.make(0, self.n))
        return H, Y, None if self.weight is None else self.weight.copy()

    def slices(self, length: int) -> Iterator[slice]:
        """Consecutive parts of at most so many rows."""
        for start in range(0, self.n, length):
            yield slice(start, min(start + length, self.n))


def _copied(A: Any) -> Any:
    return A.copy() if isinstance(A, np.ndarray) else A + 0


def _check_counts(counts: Counts) -> None:
    sizes = (counts.n, counts.n_of_squares, counts.weight)
    require(min(sizes) >= 0, "a state has a negative size")


@stored(check=_check_counts)
@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of rows: their number and their weight.

    Attributes
    ----------
    n, n_of_squares : how many, and the same with the squares of what each counts: less than one
        where old rows fade. A sample weight is the precision of its row, and does not change them
    weight : the sum of their sample weights
    different : fingerprints of the different ones among them, where these are few and ε is chosen:
        copies say nothing about it
    """

    n: Annotated[float, finite] = 0.0
    n_of_squares: Annotated[float, finite] = 0.0
    weight: Annotated[float, finite] = 0.0
    different: Annotated[Array | None, nothing | array(1)] = None

    @classmethod
    def of(
        cls, b: Backend, rows: Rows, fading: Array | float = 1.0, before: Counts | None = None
    ) -> Counts:
        """Count rows, each multiplied by its fading.

        With fingerprints, if those `before` have them.
        """
        weight = rows.weights
        counts = np.where(weight > 0, fading, 0.0)
        fingerprinted = before is not None and before.different is not None
        different = fingerprints(b, rows) if fingerprinted else None
        sums = float(counts.sum()), float((counts**2).sum()), float((weight * fading).sum())
        return cls(*sums, different)

    def plus(self, other: Counts, decay: float = 1.0, sign: float = 1.0) -> Counts:
        """The counts of the rows of both; of the first less the others where the sign is -1.

        `decay` is what is left of what the first count.
        """
        different = self.different
        if sign > 0:
            different = _joined_fingerprints(different, other.different)
        return Counts(
            decay * self.n + sign * other.n,
            decay**2 * self.n_of_squares + sign * other.n_of_squares,
            decay * self.weight + sign * other.weight,
            different,
        )

    @property
    def n_different(self) -> float:
        """Number of rows that count; if there are few different rows, copies count once."""
        return self.n if self.different is None else min(self.n, len(self.different))

    @property
    def redundancy(self) -> float:
        """Redundancy of the rows: one if all count alike, down to a half where old ones fade."""
        return self.n_of_squares / self.n if self.n > 0 else 1.0


# Rows that are different, up to which they are counted.
_MOST_DIFFERENT = 256

# Digits after the point in which fingerprints of different rows differ.
_DIGITS = {"d": 9, "f": 4}


def fingerprints(b: Backend, rows: Rows) -> Array | None:
    """A number for each different row and its target, in ascending order; None if they are many."""
    different: Array | None = np.empty(0)
    weights = rows.weights
    for part in rows.slices(_MOST_DIFFERENT + 1):
        H, Y = (b.asarray(A) for A in rows.make(part.start, part.stop))
        different = _joined_fingerprints(different, _fingerprints(b, H, Y)[weights[part] > 0])
        if different is None:
            break
    return different


def _fingerprints(b: Backend, H: Array, Y: Array) -> Array:
    """A projection of each row of length one, and the logarithm of its length."""
    dtype = b.dtype_of(H)
    projected = np.zeros(H.shape[0])
    for seed, A in enumerate((H, Y)):
        direction = np.random.RandomState(seed).normal(size=(A.shape[1], 1)).astype(dtype)
        projected += b.to_numpy(b.matmul(A, b.asarray(direction)))[:, 0]
    length = np.sqrt(b.row_squares(H) + b.row_squares(Y))
    length = np.where(length > 0, length, 1.0)
    return np.round(projected / length + np.log(length), _DIGITS[dtype.char])


def _joined_fingerprints(mine: Array | None, theirs: Array | None) -> Array | None:
    if mine is None or theirs is None:
        return None
    both = np.union1d(mine, theirs)
    return both if len(both) <= _MOST_DIFFERENT else None


def device_check(b: Backend, dtype: Any, weight: Array | None) -> Check | None:
    """A check of numbers on a device, block by block; None on the host, where they are checked.

    To read its result makes the program wait. It returns rows and targets on the device, in the
    dtype of the model, or raises a ValueError for NaN or large numbers.
    """
    if place_of(b) is None:
        return None
    xp = b.xp

    def check(H: Any, Y: Any) -> tuple[Array, Array]:
        H, Y = (b.asarray(A, dtype) for A in (H, Y))
        # Two passes over an array: its absolute values would be a copy.
        ends = xp.stack([end for A in (H, Y) for end in (-xp.min(A), xp.max(A))])
        sizes = b.to_numpy(xp.max(xp.reshape(ends, (2, 2)), axis=1)).tolist()
        for name, size in zip(("X", "y"), sizes, strict=True):
            check_size(name, size, np.dtype(dtype), weight)
        return H, Y

    return check
