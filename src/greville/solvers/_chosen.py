"""A root whose ridge is chosen from what was seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, Self

import numpy as np

from .. import linalg
from ..linalg import Array, column_squares
from ..threads import one_thread
from ._evidence import Path, Sums, choose, takes_singular_values
from ._root import (
    LARGEST_LOSS,
    ONE_THREAD,
    SMALL,
    Blocks,
    GramSums,
    Root,
    rounding_of_sums,
)

# Sums that come from a Gram matrix have lost the digits of an ε below some limit. They are taken
# only if ε can still become so many times smaller.
_ROOM_BELOW = 10.0

# The ε² from which on an error of the sums does not matter, as a multiple of that error.
_ABOVE_ERRORS = {"d": 1e8, "f": 1e2}

# What removing rows must leave of a direction so that no digits are lost, as a power of eps.
_LEAST_LEFT = 0.46

# How much less than nothing rounding may leave of the squares of targets.
_ROUNDING_OF_TARGETS = 1e-6

# The ε in use before any row could be learned from, when the weights are zero for any.
_BEFORE = 1e-3


class ChosenRoot(Root):
    """The root for one ε, and beside it the sums over rows, from which ε is chosen.

    The root is that of `Root`: it answers reads, and follows single rows. The `sums` are another
    one, of the rows alone: it has no prior, so that it may be singular, and is never solved with.
    When ε is chosen anew, the root is made afresh from the sums: ε is no part of what is stored.

    Where the sums come from a difference or a Gram matrix, they have an error of the size of its
    rounding. They then contain a ridge of that size, which is known, as their prior; and `least` is
    the smallest ε at which the error does not matter. Both are absolute numbers, and small: after
    more rows they do not matter any more.

    Parameters
    ----------
    n_hidden, n_outputs, dtype, intercept
        As in `Root`.
    """

    def __init__(
        self, n_hidden: int, n_outputs: int, dtype: Any, *, intercept: bool = False
    ) -> None:
        super().__init__(n_hidden, n_outputs, _BEFORE, dtype, intercept=intercept)
        self.sums = Root(n_hidden, n_outputs, 0.0, dtype)
        self.epsilon = _BEFORE
        self.path: Path | None = None
        self.least = 0.0

    def copy(self) -> Self:
        other = super().copy()
        other.sums = self.sums.copy()
        return other

    # Learning

    def absorb(
        self,
        blocks: Blocks,
        n_rows: int,
        *,
        decay: float = 1.0,
        choosing: bool = False,
        cheap: bool = True,
        rest: Blocks | None = None,
    ) -> bool:
        """As in `Root`; the rows must have been tallied. If `choosing`, ε is chosen at the end.

        The `rest` of the rows comes after the choice, if that saves a Gram matrix. Returns whether
        it has been learned too.
        """
        if n_rows == 0:
            return False
        wide = self.n_hidden >= ONE_THREAD  # where a QR on one thread is no match for products
        tall = 8 * n_rows >= self.n_hidden if wide else n_rows >= 2 * self.n_hidden
        tall = bool(tall and (choosing or self.path))
        with one_thread if n_rows * self.n_hidden**2 < SMALL else nullcontext():
            if tall:
                for precision in dict.fromkeys((self.Z.dtype, np.dtype(np.float64))):
                    if self._absorb_in_gram(blocks, decay, precision, rest, choosing, cheap):
                        return rest is not None
        keep_root = not tall and not choosing and self.basis is None
        self.fade(decay)
        for H, Y in blocks():
            with one_thread:
                for piece in _few(H, Y):
                    self._append_to_both(*piece, both=keep_root)
        if not keep_root:
            self._forget_root()
        if choosing:
            self.choose(cheap=cheap)
        return False

    def _append_to_both(self, H: Array, Y: Array, *, both: bool) -> None:
        self._append_to_sums(H, Y)
        if both:
            self._own()
            self._append(H, Y)

    def _append_to_sums(self, H: Array, Y: Array) -> None:
        sums = self.sums
        if sums.basis is not None:  # the first row
            sums._grow(self.n_hidden)
            sums.basis = None
        sums._own()
        sums._append(H, Y)

    def choose(self, *, cheap: bool) -> None:
        """Choose ε from what the sums say now; `cheap` where there will be many choices."""
        sums = self._described()
        if sums.length == 0:  # nothing but zeros so far
            return
        with one_thread if self.n_hidden < ONE_THREAD else nullcontext():
            smallest = max(self.sums.prior, self._smallest_ridge(sums.length), self.least)
            self.path, _ = choose(sums, smallest, cheap=cheap)
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
            R, Z = R.copy(order="F"), Z.copy(order="F")
            with one_thread if len(R) < ONE_THREAD else nullcontext():
                left = linalg.append_diagonal(R, Z, float(np.sqrt(ridge)), np.zeros_like(Z))
            loss = loss + column_squares(left)
        # At once: another thread may be copying this, or do the same.
        vars(self).update(
            R=R,
            Z=Z,
            loss=loss,
            basis=None,
            prior=max(self.epsilon, sums.prior),
            _weights=None,
            _trace=None,
            _shared=ridge <= 0,
        )

    def innovations(self, H: Array, Y: Array) -> Array:
        self.refresh()
        with one_thread:
            if self.basis is None:
                self._own()
                errors = self._innovate(H, Y)
                self._append_to_sums(H, Y)
            else:  # no row so far: nobody can predict anything but zero
                errors = np.empty_like(Y)
                for i in range(len(H)):
                    errors[i] = Y[i] - linalg.matmul(H[i : i + 1], self.weights())[0]
                    self._append_to_sums(H[i : i + 1], Y[i : i + 1])
                    self._forget_root()
        return errors

    def fade(self, decay: float) -> None:
        super().fade(decay)
        self.sums.fade(decay)
        self.epsilon *= float(np.sqrt(decay))
        self.least *= float(np.sqrt(decay))

    def remove(self, H: Array, Y: Array, least: float | None = None) -> bool:
        """As in `Root`; where too little is left of a direction, in the sums themselves."""
        if not self.sums.R.any():  # no row so far but zeros
            left = self.sums.loss - column_squares(Y)
            if H.any() or (left < -_ROUNDING_OF_TARGETS * self.sums.loss).any():
                return False
            self.sums.loss = np.maximum(left, 0.0)
            self._forget_root()
            return True
        error = rounding_of_sums(H)
        limit = float(np.finfo(self.Z.dtype).eps) ** _LEAST_LEFT
        if not self.sums.remove(H, Y, limit):
            found = self._subtract(H, Y, 4 * rounding_of_sums(self.sums.R))
            if found is None:
                return False
            error = found
        self._raise_least(error)
        self._forget_root()
        return True

    def _raise_least(self, error: float) -> None:
        """Keep ε above what one more error of the sums, in H'H, can do."""
        self.least = float(np.sqrt(self.least**2 + _ABOVE_ERRORS[self.Z.dtype.char] * error))

    def _subtract(self, H: Array, Y: Array, rounding: float) -> float | None:
        """The sums less those of some rows: in float64, and with a ridge as large as its rounding.

        Returns the ridge. None, and no change, if what is left is no sum of squares to rounding.
        """
        sums, dtype = self.sums, self.Z.dtype
        R, Z, T, targets = (A.astype(np.float64) for A in (sums.R, sums.Z, H, Y))
        G, C = linalg.gram_of_root(np.asfortranarray(R)), linalg.matmul(R.T, Z)
        squares = sums.loss + column_squares(sums.Z) - column_squares(Y)
        linalg.subtract_gram(G, np.ascontiguousarray(T))
        C -= linalg.matmul(T.T, targets)
        for ridge in (rounding, len(G) * rounding):
            root = linalg.root_of_gram(linalg.with_ridge(G, ridge))
            if root is None:
                continue
            new = linalg.solve_root(root, C, transposed=True)
            parts = root.astype(dtype, order="F"), new.astype(dtype, order="F")
            if sums._replace(parts, squares, self.mean):
                sums.prior = float(np.hypot(sums.prior, np.sqrt(ridge)))
                return ridge
        return None

    def merge(self, other: Root) -> bool:
        assert isinstance(other, ChosenRoot)
        mine, theirs = self.sums, other.sums
        rows = np.ascontiguousarray(theirs.R), np.ascontiguousarray(theirs.Z)
        blocks = [rows] if theirs.basis is None else []
        with one_thread if self.n_hidden < ONE_THREAD else nullcontext():
            for block in (*blocks, *self._step(other)):
                for piece in _few(*block):
                    self._append_to_sums(*piece)
        mine.loss = mine.loss + theirs.loss
        mine.prior = float(np.hypot(mine.prior, theirs.prior))
        self.count += other.count
        self.count_of_squares += other.count_of_squares
        self.least = float(np.hypot(self.least, other.least))
        self._forget_root()
        return True

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

    def _smallest_ridge(self, length: float) -> float:
        """The ε that the rounding of rows of this mean square length does not reach."""
        dtype = self.Z.dtype
        rounding = float(np.finfo(dtype).eps) * float(np.sqrt(length))
        return rounding / LARGEST_LOSS[dtype.char]

    def _described(self) -> Sums:
        sums = self.sums
        length = self._length(float(column_squares(sums.R).sum()), sums.prior)
        return self._sums(sums.prior, length, R=sums.R, Z=sums.Z, loss=sums.loss)

    def _sums(self, prior: float, length: float, **of_rows: Any) -> Sums:
        mean = self.mean
        if mean is None:
            return Sums(self.count, prior, length, np.zeros(self.Z.shape[1]), **of_rows)
        of_means = mean.count * mean.target**2
        return Sums(max(self.count - 1, 0.0), prior, length, of_means, **of_rows)

    def _length(self, total: float, prior: float) -> float:
        """The mean square length of a row."""
        total -= self.n_hidden * prior**2
        return max(total, 0.0) / self.count if self.count > 0 else 0.0

    # The route through the Gram matrix

    def _absorb_in_gram(
        self,
        blocks: Blocks,
        decay: float,
        precision: Any,
        rest: Blocks | None,
        choosing: bool,
        cheap: bool,
    ) -> bool:
        """Tall chunks: one Gram matrix, if at the ε that goes with it it loses no digits."""
        sums, least_before = self.sums, self.least
        prior = float(np.sqrt(decay)) * sums.prior
        if sums.basis is None:
            R, Z = sums.R.astype(precision, copy=False), sums.Z.astype(precision, copy=False)
            C = linalg.matmul(R.T, Z) * precision.type(decay)
            G = linalg.gram_of_root(R)
            G *= precision.type(decay)
        else:
            G = np.zeros((self.n_hidden, self.n_hidden), precision, order="F")
            C = np.zeros((self.n_hidden, self.Z.shape[1]), precision)
        squares = decay * (sums.loss + column_squares(sums.Z)) + _add_rows(G, C, blocks)
        if not G.diagonal().max() > 0:
            return False
        epsilon, path, root = float(np.sqrt(decay)) * self.epsilon, self.path, None
        if choosing:
            found = self._choose_by_gram(G, C, squares, prior, cheap)
            if found is None:
                return False
            path, root = found
            epsilon = path.chosen
        if rest is not None:
            squares, root = squares + _add_rows(G, C, rest), None
        if root is None:
            root = linalg.root_of_gram(linalg.with_ridge(G, epsilon**2 - prior**2))
        if root is None:
            return False
        if not self._take_gram(GramSums(G, C, squares, 0.0), root, epsilon, prior, choosing):
            return False
        self.path = path
        self.least = max(float(np.sqrt(decay)) * least_before, self.least)
        return True

    def _take_gram(
        self, sums: GramSums, root: Array, epsilon: float, prior: float, choosing: bool
    ) -> bool:
        """Take a Gram matrix, which contains prior², and its root at ε; G is overwritten.

        False, and no change, if at this ε it has lost too many digits.
        """
        G, dtype = sums.G, self.Z.dtype
        lost = linalg.part_of_safe_error(root, dtype, noisy=True)
        if not lost <= 1:
            return False
        least = epsilon * float(np.sqrt(lost))
        if choosing and dtype == np.float64 and least * _ROOM_BELOW > epsilon:
            return False
        rounding = len(G) * float(np.finfo(G.dtype).eps) * float(G.diagonal().max())
        kept = float(np.hypot(prior, np.sqrt(rounding)))
        kept, small = (epsilon, None) if kept > epsilon else (kept, _rooted(G, kept, prior))
        if small is None:
            kept, small = epsilon, root
        self.sums = Root(self.n_hidden, self.Z.shape[1], kept, dtype)
        for held, R in ((self.sums, small), (self, root)):
            Z = linalg.solve_root(R, sums.C, transposed=True)
            held.R, held.Z = R.astype(dtype, copy=False), Z.astype(dtype, copy=False)
            held.loss = np.maximum(sums.squares - column_squares(Z), 0.0)
            held.basis = None
        self.epsilon, self.least = epsilon, least
        self._holds(epsilon)
        return True

    def squares(self) -> tuple[float, Array]:
        return self.sums.squares()

    @property
    def slack(self) -> float:
        return self.n_hidden * self.least**2

    # For a record of many rows

    def gram_sums(self) -> GramSums:
        sums = self.sums
        squares = sums.loss + column_squares(sums.Z)
        ridge = max(self.prior**2 - sums.prior**2, 0.0)
        C = linalg.matmul(sums.R.T, sums.Z)
        return GramSums(linalg.gram_of_root(sums.R), C, squares, ridge)

    def after_gram(self, sums: GramSums, R: Array) -> Self | None:
        other, prior = self.copy(), self.sums.prior
        epsilon = float(np.sqrt(sums.ridge + prior**2))
        if not other._take_gram(sums, R, epsilon, prior, choosing=True):
            return None
        other.least = max(self.least, other.least)
        return other

    def ridge_by_gram(self, G: Array, C: Array, squares: Array) -> float:
        """Choose ε from sums that are a Gram matrix; what to add to it, or nan if it cannot tell.

        The rows must have been tallied, and their mean noted.
        """
        prior = self.sums.prior
        found = self._choose_by_gram(G, C, squares, prior, cheap=True)
        if found is None:
            return float("nan")
        self.path = found[0]
        return self.path.chosen**2 - prior**2

    def _choose_by_gram(
        self, G: Array, C: Array, squares: Array, prior: float, cheap: bool
    ) -> tuple[Path, Array | None] | None:
        """The choice, by the way that a root of this size would take; None if it is too small."""
        length = self._length(float(G.diagonal().sum(dtype=np.float64)), prior)
        # Below the rounding of its largest elements, the matrix has nothing to say.
        whole_curve = takes_singular_values(len(G), cheap=cheap)
        limit = float(np.finfo(G.dtype).eps) * float(G.diagonal().max())
        limit *= len(G) if whole_curve else 1
        smallest = float(np.hypot(prior, np.sqrt(limit)))
        if not whole_curve:
            sums = self._sums(prior, length, gram=G, targets=C, squares=squares)
        else:
            R = linalg.root_of_gram(linalg.with_ridge(G, limit))
            if R is None:
                return None
            Z = linalg.solve_root(R, C, transposed=True)
            loss = np.maximum(squares - column_squares(Z), 0.0)
            sums = self._sums(smallest, length, R=R, Z=Z, loss=loss)
        path, root = choose(sums, max(smallest, self.least), cheap=cheap)
        return None if path.chosen == path.epsilon[0] else (path, root)


def _rooted(G: Array, epsilon: float, prior: float) -> Array | None:
    """The root for a ridge of epsilon², in the memory of G."""
    linalg.add_ridge(G, epsilon**2 - prior**2)
    return linalg.root_of_gram(G)


def _add_rows(G: Array, C: Array, blocks: Blocks) -> Array:
    """Add H'H to G and H'Y to C, in place; return |Y|²."""
    squares = np.zeros(C.shape[1])
    for rows, targets in blocks():
        H, Y = rows.astype(G.dtype, copy=False), targets.astype(G.dtype, copy=False)
        linalg.add_gram(G, H)
        C += linalg.matmul(H.T, Y)
        squares += column_squares(targets)
        del rows, targets, H, Y  # one block at a time
    return squares


def _few(H: Array, Y: Array) -> Iterator[tuple[Array, Array]]:
    """Pieces that a QR factorisation takes at once."""
    for start in range(0, len(H), 256):
        yield H[start : start + 256], Y[start : start + 256]
