"""A root whose ridge is chosen when it is read, and an intercept that has none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, Self

import numpy as np

from .. import linalg
from ..linalg import Array, column_squares
from ..threads import one_thread
from ._evidence import Path, Sums, choose, energies, takes_singular_values
from ._root import LARGEST_LOSS, ONE_THREAD, SMALL, Blocks, Root

# Sums that come from a Gram matrix have lost the digits of an ε below some limit. They are taken
# only if ε can still become so many times smaller.
_ROOM_BELOW = 10.0

# How much larger than all before a row may be until the small ridge of the sums must follow.
_GROWTH_OF_ROWS = 10.0


class ChosenRoot(Root):
    """The root for one ε, and beside it the sums over rows almost without a ridge.

    The root is that of `Root`: it answers reads, and follows single rows. The `sums` are another
    root, with a ridge so small that nothing but rounding would notice (2e-7 of the longest
    possible row in float64, 1e-5 in float32); it is known, and ε² holds it. When ε is chosen
    anew, the root is made afresh from the sums: ε is never a part of what is stored.

    Parameters
    ----------
    n_hidden, n_outputs, dtype
        As in `Root`, the column of ones included.
    epsilon : float, or None to choose it
    free : int
        How many of the first columns have no ridge: one for an intercept, a column of ones.
    """

    def __init__(
        self, n_hidden: int, n_outputs: int, epsilon: float | None, free: int, dtype: Any
    ) -> None:
        super().__init__(n_hidden, n_outputs, 0.0, dtype)
        self.sums = Root(n_hidden, n_outputs, 0.0, dtype)
        self.fixed = epsilon
        self.free = free
        self.epsilon = 1e-3 if epsilon is None else epsilon  # the first until rows say more
        self.path: Path | None = None
        self.least = 0.0  # the ε below which the sums have lost their digits
        self.choosing = False
        self.often = True  # whether there will be many choices: then each must be cheap
        self.largest = 0.0

    def copy(self) -> Self:
        other = super().copy()
        other.sums = self.sums.copy()
        return other

    # Learning

    def absorb(
        self, blocks: Blocks, n_rows: int, *, decay: float = 1.0, rest: Blocks | None = None
    ) -> bool:
        """As in `Root`; the rows must have been tallied. If `choosing`, ε is chosen at the end.

        The `rest` of the rows comes after the choice, if that saves a Gram matrix. Returns whether
        it has been learned too.
        """
        if n_rows == 0:
            return False
        wide = self.n_hidden >= ONE_THREAD  # where a QR on one thread is no match for products
        tall = 8 * n_rows >= self.n_hidden if wide else n_rows >= 2 * self.n_hidden
        tall = bool(tall and (self.choosing or self.path or self.fixed))
        with one_thread if n_rows * self.n_hidden**2 < SMALL else nullcontext():
            if tall:
                for precision in dict.fromkeys((self.Z.dtype, np.dtype(np.float64))):
                    if self._absorb_in_gram(blocks, decay, precision, rest):
                        return rest is not None
        keep_root = not tall and not self.choosing and self.basis is None
        self.fade(decay)
        for H, Y in blocks():
            self._prepare(H)
            with one_thread:
                for piece in _few(H, Y):
                    self._append_to_both(*piece, both=keep_root)
        if not keep_root:
            self._forget_root()
        if self.choosing:
            self.choose()
        return False

    def _append_to_both(self, H: Array, Y: Array, *, both: bool) -> None:
        self.sums._own()
        self.sums._append(H, Y)
        if both:
            self._own()
            self._append(H, Y)

    def choose(self) -> None:
        """Choose ε from what the sums say now."""
        if self.fixed is None and self.sums.basis is None:
            with one_thread if self.n_hidden < ONE_THREAD else nullcontext():
                smallest = max(self.sums.prior, self._smallest_ridge(), self.least)
                self.path, _ = choose(self._described(), smallest, often=self.often)
            if self.path.chosen != self.prior or self.basis is not None:
                self.epsilon = self.path.chosen
                self._forget_root()

    def refresh(self) -> None:
        """Make the root again from the sums, if it does not hold them."""
        if self.basis is None or self.sums.basis is not None:
            return
        sums = self.sums
        ridge = self.epsilon**2 - sums.prior**2
        R, Z, loss = sums.R, sums.Z, sums.loss
        if ridge > 0:
            R, Z, left = self._raised(float(np.sqrt(ridge)))
            loss = loss + left
        self.R, self.Z, self.loss = R, Z, loss
        self._holds(max(self.epsilon, sums.prior))
        self._shared = ridge <= 0

    def _raised(self, d: float) -> tuple[Array, Array, Array]:
        """R and Z of the sums with d² more of a ridge, and what that adds to the loss."""
        R, Z, free = self.sums.R.copy(order="F"), self.sums.Z.copy(order="F"), self.free
        corner, below = R[free:, free:].copy(order="F"), Z[free:].copy(order="F")
        with one_thread if len(R) < ONE_THREAD else nullcontext():
            left = linalg.append_diagonal(corner, below, d, np.zeros_like(below))
        R[free:, free:], Z[free:] = corner, below
        return R, Z, column_squares(left)

    def innovations(self, H: Array, Y: Array) -> Array:
        self._prepare(H)
        self.refresh()
        if self.basis is not None:  # nothing but zeros so far
            self.sums.loss = self.sums.loss + column_squares(Y)
            self.loss = self.sums.loss
            return Y.copy()
        with one_thread:
            self._own()
            self.sums._own()
            errors = self._innovate(H, Y)
            self.sums._append(H, Y)
        return errors

    def fade(self, decay: float) -> None:
        super().fade(decay)
        self.sums.fade(decay)
        self.epsilon *= float(np.sqrt(decay))

    def remove(self, H: Array, Y: Array, least: float | None = None) -> bool:
        if self.sums.basis is not None:  # nothing but zeros so far
            self.sums.loss = np.maximum(self.sums.loss - column_squares(Y), 0.0)
            return not H.any()
        self.refresh()
        if not super().remove(H, Y, least):  # at ε: whether these rows were there
            return False
        if self.sums.remove(H, Y):
            self._forget_root()
        else:  # in some direction too little is left beside the rounding: ε stays there
            self.sums = self._as_sums()
        return True

    def _as_sums(self) -> Root:
        """The root itself, its ridge and all, in place of the sums."""
        sums = Root(self.n_hidden, self.Z.shape[1], self.prior, self.Z.dtype)
        sums.R, sums.Z, sums.loss, sums.basis = self.R, self.Z, self.loss, None
        sums._shared = True
        return sums

    def merge(self, other: Root) -> bool:
        assert isinstance(other, ChosenRoot)
        mine, theirs = self.sums, other.sums
        if theirs.basis is None:
            if mine.basis is not None:
                loss = mine.loss
                self.sums = theirs.copy()
                self.sums.loss = theirs.loss + loss
            else:
                rows = np.ascontiguousarray(theirs.R), np.ascontiguousarray(theirs.Z)
                mine._own()
                with one_thread if self.n_hidden < ONE_THREAD else nullcontext():
                    for piece in _few(*rows):
                        mine._append(*piece)
                mine.loss = mine.loss + theirs.loss
                mine.prior = float(np.hypot(mine.prior, theirs.prior))
        else:
            mine.loss = mine.loss + theirs.loss
        self.count += other.count
        self.count_of_squares += other.count_of_squares
        self.largest = max(self.largest, other.largest)
        self.least = float(np.hypot(self.least, other.least))
        self._forget_root()
        return True

    def move(self, by: Array) -> None:
        """To units around another centre: the columns after the ones grow by this."""
        self._forget_root()
        sums = self.sums
        if sums.basis is None:
            sums._own()
            sums.R[0, 1:] += sums.R[0, 0] * by
            sums._weights = sums._trace = None

    def with_outputs(self, n_outputs: int, old: Array) -> Self:
        other = super().with_outputs(n_outputs, old)
        other.sums = self.sums.with_outputs(n_outputs, old)
        return other

    # Reading

    def weights(self) -> Array:
        self.refresh()
        return super().weights()

    def spread(self, H: Array) -> Array:
        self.refresh()
        return super().spread(H)

    def trace(self) -> float:
        if self._trace is None:
            self._trace = linalg.trace_of_inverse(self._corner())
        return self._trace

    def theta(self) -> Array:
        return linalg.inverse_of_root(self._corner()) if self.basis is None else super().theta()

    def psi(self) -> Array:
        return super().psi()[:, self.free :]

    def _corner(self) -> Array:
        """The root of the part that has a ridge."""
        return np.asfortranarray(self.R[self.free :, self.free :])

    @property
    def is_prior_alone(self) -> bool:
        return False  # the first choice of ε comes with the first row

    # What the root and the sums hold

    def _forget_root(self) -> None:
        self.basis = np.empty((0, self.n_hidden), self.Z.dtype)
        self.R = np.empty((0, 0), self.Z.dtype, order="F")
        self.Z = np.empty((0, self.Z.shape[1]), self.Z.dtype, order="F")
        self.loss = self.sums.loss
        self._weights = self._trace = None

    def _holds(self, epsilon: float) -> None:
        """R and Z are now those of a ridge of epsilon², in arrays of their own."""
        self.basis = None
        self.prior = epsilon
        self._weights = self._trace = None
        self._shared = False

    def _prepare(self, H: Array) -> None:
        """Give the sums their small ridge at the first row, and a larger one if rows grow."""
        largest = float(np.abs(H).max(initial=0.0))
        if largest <= self.largest * _GROWTH_OF_ROWS and self.sums.basis is None:
            return
        if largest == 0:
            return
        before, self.largest = self.sums.prior, max(largest, self.largest)
        prior = self._smallest_ridge()
        if self.sums.basis is None:
            more = prior**2 - before**2
            if more > 0:
                self._raise(float(np.sqrt(more)))
            return
        self.sums._own()
        self.sums.prior = prior
        self.sums._grow(self.n_hidden)
        self.sums.R[np.arange(self.free), np.arange(self.free)] = 0
        self.sums.basis = None

    def _smallest_ridge(self) -> float:
        """What the sums need so that they lose no digits while rows do not span the space."""
        dtype = self.Z.dtype
        loss = float(np.finfo(dtype).eps) * self.largest * np.sqrt(self.n_hidden)
        smallest = loss / LARGEST_LOSS[dtype.char]
        return float(smallest if self.fixed is None else min(smallest, self.fixed / 1e3))

    def _raise(self, d: float) -> None:
        """A larger ridge for the sums."""
        sums = self.sums
        sums.R, sums.Z, left = self._raised(d)
        sums.loss = sums.loss + left
        sums.prior = float(np.hypot(sums.prior, d))
        sums._weights = sums._trace = None
        sums._shared = False
        if self.epsilon < sums.prior:
            self._forget_root()

    def _described(self) -> Sums:
        sums, free = self.sums, self.free
        total = float(column_squares(sums.R[free:, free:]).sum())
        return Sums(
            self.count, free, sums.prior, self._length(total, sums.prior), sums.R, sums.Z, sums.loss
        )

    def _length(self, total: float, prior: float) -> float:
        """The mean square length of a row."""
        total -= (self.n_hidden - self.free) * prior**2
        return max(total, 0.0) / self.count if self.count > 0 else 0.0

    # The route through the Gram matrix

    def _absorb_in_gram(
        self, blocks: Blocks, decay: float, precision: Any, rest: Blocks | None
    ) -> bool:
        """Tall chunks: one Gram matrix, if at the ε that goes with it it loses no digits."""
        dtype, sums = self.Z.dtype, self.sums
        prior = float(np.sqrt(decay)) * sums.prior if sums.basis is None else 0.0
        if sums.basis is None:
            R, Z = sums.R.astype(precision, copy=False), sums.Z.astype(precision, copy=False)
            C = linalg.matmul(R.T, Z) * precision.type(decay)
            G = linalg.gram_of_root(R)
            G *= precision.type(decay)
        else:
            G = np.zeros((self.n_hidden, self.n_hidden), precision, order="F")
            C = np.zeros((self.n_hidden, self.Z.shape[1]), precision)
        squares = decay * (sums.loss + column_squares(sums.Z))
        more, largest = _add_rows(G, C, blocks)
        squares, largest = squares + more, max(largest, self.largest)
        if not largest > 0:
            return False
        epsilon, path, root = float(np.sqrt(decay)) * self.epsilon, self.path, None
        if self.choosing:
            found = self._choose_by_gram(G, C, squares, prior)
            if found is None:
                return False
            path, root = found
            epsilon = path.chosen
        if rest is not None:
            more, longest = _add_rows(G, C, rest)
            squares, largest, root = squares + more, max(largest, longest), None
        if root is None:
            root = linalg.root_of_gram(linalg.with_ridge(G, epsilon**2 - prior**2, self.free))
        corner = slice(self.free, None)
        noisy = self.fixed is None
        if root is None:
            return False
        edge = np.asfortranarray(root[corner, corner])
        loss = linalg.part_of_safe_error(edge, dtype, noisy=noisy)
        if not loss <= 1:
            return False
        least = epsilon * float(np.sqrt(loss))
        if self.choosing and dtype == np.float64 and least * _ROOM_BELOW > epsilon:
            return False
        rounding = len(G) * float(np.finfo(precision).eps) * float(G.diagonal().max())
        kept = float(np.hypot(prior, np.sqrt(rounding)))
        kept, small = (epsilon, None) if kept > epsilon else (kept, self._rooted(G, kept, prior))
        if small is None:
            kept, small = epsilon, root
        self.sums = Root(self.n_hidden, self.Z.shape[1], kept, dtype)
        for held, R in ((self.sums, small), (self, root)):
            Z = linalg.solve_root(R, C, transposed=True)
            held.R, held.Z = R.astype(dtype, copy=False), Z.astype(dtype, copy=False)
            held.loss = np.maximum(squares - column_squares(Z), 0.0)
            held.basis = None
        self.largest, self.epsilon, self.path = largest, epsilon, path
        self.least = max(float(np.sqrt(decay)) * self.least, least)
        self._holds(epsilon)
        return True

    def _rooted(self, G: Array, epsilon: float, prior: float) -> Array | None:
        """The root for a ridge of epsilon², in the memory of G."""
        linalg.add_ridge(G, epsilon**2 - prior**2, self.free)
        return linalg.root_of_gram(G)

    def _choose_by_gram(
        self, G: Array, C: Array, squares: Array, prior: float
    ) -> tuple[Path, Array | None] | None:
        """The choice, by the way that a root of this size would take; None if it is too small."""
        length = self._length(float(energies(G, self.free).sum()), prior)
        # Below the rounding of its largest elements, the matrix has nothing to say.
        whole_curve = takes_singular_values(len(G), often=self.often)
        limit = float(np.finfo(G.dtype).eps) * float(G.diagonal().max())
        limit *= len(G) if whole_curve else 1
        smallest = float(np.hypot(prior, np.sqrt(limit)))
        if not whole_curve:
            sums = Sums(self.count, self.free, prior, length, gram=G, targets=C, squares=squares)
        else:
            R = linalg.root_of_gram(linalg.with_ridge(G, limit, self.free))
            if R is None:
                return None
            Z = linalg.solve_root(R, C, transposed=True)
            loss = np.maximum(squares - column_squares(Z), 0.0)
            sums = Sums(self.count, self.free, smallest, length, R, Z, loss)
        path, root = choose(sums, smallest, often=self.often)
        return None if path.chosen == path.epsilon[0] else (path, root)


def _add_rows(G: Array, C: Array, blocks: Blocks) -> tuple[Array, float]:
    """Add H'H to G and H'Y to C, in place; return |Y|² and the largest number in H."""
    squares, largest = np.zeros(C.shape[1]), 0.0
    for rows, targets in blocks():
        H, Y = rows.astype(G.dtype, copy=False), targets.astype(G.dtype, copy=False)
        linalg.add_gram(G, H)
        C += linalg.matmul(H.T, Y)
        squares += column_squares(targets)
        largest = max(largest, float(max(rows.max(initial=0.0), -rows.min(initial=0.0))))
        del rows, targets, H, Y  # one block at a time
    return squares, largest


def _few(H: Array, Y: Array) -> Iterator[tuple[Array, Array]]:
    """Pieces that a QR factorisation takes at once."""
    for start in range(0, len(H), 256):
        yield H[start : start + 256], Y[start : start + 256]
