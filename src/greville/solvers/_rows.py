"""A chunk of rows that is read block by block, and more than once if it must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..backend import Array, Backend
from ..validation import check_size


def block_length(b: Backend, n_hidden: int, dtype: Any) -> int:
    """How many rows of activations are made and learned at a time.

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
    check : LateCheck, optional
        For rows that are not checked yet: they are looked at when they are made.

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
        check: LateCheck | None = None,
    ) -> None:
        self.n = n
        self.weight = weight
        self.check = check
        self._make = make

    @classmethod
    def of(
        cls, H: Array, Y: Array, weight: Array | None = None, check: LateCheck | None = None
    ) -> Rows:
        """Rows of arrays."""
        return cls(H.shape[0], lambda i, j: (H[i:j, :], Y[i:j, :]), weight, check)

    @classmethod
    def joined(cls, b: Backend, parts: list[Rows]) -> Rows:
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
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[start:stop]
        make = self._make
        return Rows(stop - start, lambda i, j: make(start + i, start + j), weight, check=self.check)

    def keeping(self, places: Array) -> tuple[Rows, list[Array]]:
        """The same rows, and a list that gets the H of those at some places when all are made."""
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


class Counts(NamedTuple):
    """How much rows count.

    Attributes
    ----------
    n, n_of_squares : how many, and the same with the squares of what each counts where they fade
    weight : the sum of their sample weights
    different : fingerprints of the different ones among them; None where they are many, or not
        looked at
    """

    n: float = 0.0
    n_of_squares: float = 0.0
    weight: float = 0.0
    different: Array | None = None

    @classmethod
    def of(cls, weight: Array, fading: Array | float = 1.0) -> Counts:
        """The counts of rows with these weights, each multiplied by what is left of it."""
        counts = np.where(weight > 0, fading, 0.0)
        return cls(float(counts.sum()), float((counts**2).sum()), float((weight * fading).sum()))

    def with_rows(self, b: Backend, rows: Rows, before: Array | None) -> Counts:
        """The same with fingerprints of the rows, unless there were many `before`."""
        return self if before is None else self._replace(different=fingerprints(b, rows))

    def plus(self, other: Counts, sign: float = 1.0) -> Counts:
        """The counts of the rows of both; without the others where the sign is -1."""
        n, n_of_squares, weight = (
            mine + sign * theirs for mine, theirs in zip(self[:3], other[:3], strict=True)
        )
        different = self.different
        if sign > 0 and different is not None:
            different = _joined_fingerprints(different, other.different)
        return Counts(n, n_of_squares, weight, different)


# Rows that are different, up to which they are counted.
_MOST_DIFFERENT = 256

# Digits after the point in which fingerprints of different rows differ.
_DIGITS = {"d": 9, "f": 4}


def fingerprints(b: Backend, rows: Rows) -> Array | None:
    """A number for each different row and its target, in ascending order; None if they are many."""
    found: Array | None = np.empty(0)
    for part in rows.slices(_MOST_DIFFERENT + 1):
        H, Y = (b.asarray(A) for A in rows.make(part.start, part.stop))
        used = None if rows.weight is None else rows.weight[part] > 0
        assert found is not None
        found = _joined_fingerprints(found, _fingerprints(b, H, Y, used))
        if found is None:
            return None
    return found


def _fingerprints(b: Backend, H: Array, Y: Array, used: Array | None) -> Array:
    """A projection of each row of length one, and the logarithm of its length."""
    dtype = b.dtype_of(H)
    projected = np.zeros(H.shape[0])
    for seed, A in enumerate((H, Y)):
        direction = np.random.RandomState(seed).normal(size=(A.shape[1], 1)).astype(dtype)
        projected += b.to_numpy(b.matmul(A, b.asarray(direction)))[:, 0]
    length = np.sqrt(b.row_squares(H) + b.row_squares(Y))
    length = np.where(length > 0, length, 1.0)
    found = np.round(projected / length + np.log(length), _DIGITS[dtype.char])
    return np.unique(found if used is None else found[used])


def _joined_fingerprints(mine: Array, theirs: Array | None) -> Array | None:
    if theirs is None:
        return None
    both = np.union1d(mine, theirs)
    return both if len(both) <= _MOST_DIFFERENT else None


class LateCheck:
    """A check of numbers on a device, block by block: to read its result makes the program wait.

    Parameters
    ----------
    b : Backend
    dtype : numpy.dtype
    names : tuple of two str
        What rows and targets are called in messages.
    weight : ndarray, optional
        The sample weights.
    """

    def __init__(
        self, b: Backend, dtype: Any, names: tuple[str, str], weight: Array | None = None
    ) -> None:
        self._b = b
        self._dtype = np.dtype(dtype)
        self._names = names
        self._weight = weight

    def __call__(self, H: Any, Y: Any) -> tuple[Array, Array]:
        """Both on the device, in the dtype of the model; a ValueError for NaN or large numbers."""
        b, xp = self._b, self._b.xp
        H, Y = (b.asarray(A, self._dtype) for A in (H, Y))
        # Two passes over an array: its absolute values would be a copy.
        ends = xp.stack([end for A in (H, Y) for end in (-xp.min(A), xp.max(A))])
        sizes = b.to_numpy(xp.max(xp.reshape(ends, (2, 2)), axis=1)).tolist()
        for name, size in zip(self._names, sizes, strict=True):
            check_size(name, size, self._dtype, self._weight)
        return H, Y
