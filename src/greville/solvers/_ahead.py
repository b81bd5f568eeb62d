"""Exact predictions while rows wait: one pass over the root for each, and none to learn it.

Rows that come one at a time are not worth a QR factorisation each. They wait, and what they will
do to the weights is followed in the coordinates f = R⁻ᵀa of the root R as it is. There every row
so far counts as the identity, and the recursion of the paper, eqs. (12), (15) and (16), is

    p = f - K'Kf,  s = 1 + f·p,  a new row p/√s of K,  z ← z + p e/s,

with θ = I - K'K and the weights R⁻¹z. z is never formed either: a prediction f·z is f·Z and the
products of Kf with the e/√s of the rows behind K.

1 + f·p loses digits as |f|² grows, and the first rows of a stream are 1/ε long in these
coordinates. Then the same is done by Householder reflections of [I; F'], which lose none: with
Q = I - [I; U']T[I U], p is f - U'T'Uf up to a rotation that nothing depends on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf, sqrt
from typing import Any

import numpy as np

from .. import linalg, unlocked
from ..linalg import DOT, GEMV, SHARED, TRSV, Array
from ..threads import new_lock, one_thread
from ._mean import Mean, zero_rounding
from ._root import LARGEST_LOSS, Root, with_intercept
from ._rows import FEW, Held, Waiting

# Rows to catch up with at once. More are better learned: that is what a QR factorisation is for.
_MOST_AT_ONCE = 32

# Roots from which even one vector is worth a second thread.
_LARGE = 3000


def most_ahead(root: Root) -> int:
    """How many rows wait before they are learned, when each is predicted first.

    Each costs 4M operations for every one before it, and its part of a QR factorisation, which
    becomes cheaper with their number. Predict and learn in microseconds, for 64 and 128 of them:
    20 and 23 for M = 100, 46 and 48 for M = 300, 273 and 206 for M = 1000. The first rows of all
    can be more: what is there before them, the prior, costs nothing to read. But no more than
    there are directions, in which the prior soon means nothing.
    """
    n_hidden = root.n_hidden
    usual = 64 if n_hidden < 500 else FEW
    return usual if root.basis is None else min(max(usual, min(n_hidden // 8, 1024)), n_hidden)


# A row that was predicted, and what was found on the way: its bytes, the number of rows waiting,
# the row around the mean, f, t and the prediction.
Asked = tuple[bytes, int, Array, Array, Array, Any]


class Ahead:
    """A root, the rows that wait, and what these will do to it.

    Rows are only added. So a prediction after the first n of them stays what it was, and threads
    may ask for several at once.

    Parameters
    ----------
    root : Root
        Without a basis, or one that has not seen a row.
    reach : int
        From how many rows on something else happens to the root, and they must be learned.
    growth : float
        What each row is multiplied by more than the one before it, where old ones fade.
    reflect : bool
        Whether to use reflections, for long rows.
    """

    def __init__(self, root: Root, reach: int, growth: float, *, reflect: bool) -> None:
        n_outputs, dtype, n_hidden = root.Z.shape[1], root.Z.dtype, root.n_hidden
        self.root = root
        self.reach = reach
        self.growth = growth
        self.held: Held = (root, Waiting())  # what `predict` predicts after
        self.longest = 0.0
        self.reflects = reflect
        self._n = 0
        self._store: Any = None
        self._kernels = DOT[dtype], GEMV[dtype]
        if root.basis is None:
            self._Z, self._into = root.Z, _coordinates(root.R)
            self._longest_of_all = inf
        else:  # and the prior must not drown
            self._longest_of_all = (LARGEST_LOSS[dtype.char] / float(np.finfo(dtype).eps)) ** 2
            per_prior = dtype.type(1 / root.prior)
            self._Z, self._into = np.zeros((n_hidden, n_outputs), dtype), per_prior.__mul__
        self._single = self._Z[:, 0] if n_outputs == 1 else None
        self._K = np.empty((reach, n_hidden), dtype)  # or U
        self._T = np.zeros((reach, reach), dtype) if reflect else None  # T'
        self._errors = np.empty((reach, n_outputs) if n_outputs > 1 else reach, dtype)  # e/√s
        self._weights: tuple[int, Array] | None = None
        self._last: Asked | None = None
        self._means = None if root.mean is None else _Means(root.mean, reach, dtype)
        self._longest_row = (root.largest_row if root.basis is None else inf) ** 2
        self._lock = new_lock()
        self._limit = linalg.longest_rows(dtype)
        self._safe = SHARED // n_hidden  # rows that are no work for several threads

    @property
    def long_rows(self) -> bool:
        """Whether the waiting rows were too long for anything but reflections."""
        return not self.longest < self._limit

    # Following rows

    def follow(self, held: Held) -> bool:
        """Catch up with rows that wait; False if it cannot."""
        waiting = held[1]
        if waiting.n >= self.reach or waiting.n > self._n + _MOST_AT_ONCE:
            return False
        if waiting.n and self._n and waiting.store is not self._store:
            return False
        if self._n < waiting.n:
            with self._lock, one_thread:
                store: Any = waiting.store
                self._store = store
                for i in range(self._n, waiting.n):  # another thread may have been faster
                    row, f, t, predicted = self._asked(store.H[i], i)
                    y = store.Y[i] if self._single is None else store.Y[i, 0]
                    if not self._add(i, row, f, t, y, predicted, float(store.weight[i])):
                        return False
        self.held = held
        return True

    def learned(self, h: Array, key: bytes, y: Any) -> Held | None:
        """What is held after one more row, if that was the last to be predicted."""
        last, (state, waiting) = self._last, self.held
        i = waiting.n
        if last is None or last[1] != i or last[0] != key or self._n != i:
            return None
        _, _, row, f, along, predicted = last
        waiting = waiting.with_one(h, y)
        new = (state, waiting)
        if i + 1 < self.reach:
            with self._lock:
                if self._n != i:
                    return new
                self._store = waiting.store
                if i <= self._safe:
                    added = self._add(i, row, f, along, y, predicted, 1.0)
                else:
                    with one_thread:
                        added = self._add(i, row, f, along, y, predicted, 1.0)
                if added:
                    self.held = new
        return new

    def _add(
        self, i: int, row: Array, f: Array, t: Array, y: Any, predicted: Any, weight: float
    ) -> bool:
        """One more row of K; t is Kf, or T'Uf."""
        (dot, gemv), K, T, means = self._kernels, self._K, self._T, self._means
        scale = self.growth ** (i + 1)
        if means is not None:
            scale *= means.factor(i, weight)
        elif weight != 1.0:
            scale *= sqrt(weight)
        if self._longest_row < inf and not dot(row, row) <= self._longest_row:
            return False
        square = dot(f, f)
        self.longest = longest = self.longest + scale * scale * square
        if not longest < (self._limit if T is None else self._longest_of_all):
            return False
        K[i] = f
        if T is None:
            if i:
                square = max(square - dot(t, t), 0.0)  # f·p
            length = sqrt(1.0 + scale * scale * square)
            factor = scale / length
            if i:
                gemv(-factor, K[:i].T, t, factor, K[i], overwrite_y=1)
            else:
                K[0] *= factor
        else:
            p = gemv(-1.0, K[:i].T, t, 1.0, f) if i else f
            length = sqrt(1.0 + scale * scale * dot(p, p))
            factor, tau = scale / (1.0 + length), (1.0 + length) / length
            if i:
                T[i, :i] = _by_part(gemv(-tau * factor, K[:i].T, p, trans=1), T, transposed=True)
            T[i, i] = tau
            np.multiply(p, factor, out=K[i])
        self._errors[i] = (y - predicted) * (scale / length)
        if means is not None:
            means.add(i, row, self._store.Y[i], weight)  # as it will be learned
        self._n = i + 1
        return True

    # Asking

    def predict(self, h: Array, key: bytes) -> Any:
        """The prediction for one row; a number if there is one output.

        None where R is too close to singular to say it, or the row is not made of finite numbers.
        """
        n, known, last = self.held[1].n, self._weights, self._last
        if (known is None or known[0] != n) and (last is None or last[1] != n):
            if n <= self._safe:
                last = (key, n, *self._asked(h, n))
            else:
                with one_thread:
                    last = (key, n, *self._asked(h, n))
            predicted = last[-1]
        else:
            W = self.weights(n)  # asked for the second time: there will be others
            if W is None:
                return None
            dot, gemv = self._kernels
            V = W if self._means is None else W[1:]
            predicted = dot(h, V[:, 0]) if self._single is not None else gemv(1.0, V.T, h)
            if self._means is not None:
                predicted = predicted + (W[0, 0] if self._single is not None else W[0])
        single = self._single is not None
        if not (-inf < predicted < inf if single else np.isfinite(predicted).all()):
            return None
        self._last = last
        return predicted

    def _asked(self, h: Array, n: int) -> tuple[Array, Array, Array, Any]:
        """A row around the mean of all before it, f, t and the prediction after n waiting rows."""
        means = self._means
        if means is None:
            f = self._into(h)
            return h, f, *self._looked_up(f, n)
        row = means.centred(h, n)
        f = self._into(row)
        t, predicted = self._looked_up(f, n)
        return row, f, t, predicted + means.targets[n]

    def _looked_up(self, f: Array, n: int) -> tuple[Array, Any]:
        """Kf, or T'Uf, and the prediction for a row after the first n waiting ones."""
        (dot, gemv), single = self._kernels, self._single
        if n == 0:
            zero = f[:0]
            return zero, gemv(1.0, self._Z, f, trans=1) if single is None else dot(single, f)
        t = gemv(1.0, self._K[:n].T, f, trans=1)
        if self._T is not None:
            t = _by_part(t, self._T)
        if single is not None:
            return t, dot(single, f) + dot(self._errors[:n], t)
        return t, gemv(1.0, self._Z, f, trans=1) + t @ self._errors[:n]

    def weights(self, n: int) -> Array | None:
        """W after the first n waiting rows, C-ordered: R⁻¹z. None as above.

        Where there is an intercept, with a row for it first.
        """
        if n == 0:
            return self.root.solution()
        known = self._weights
        if known is None or known[0] != n:
            errors = self._errors[:n].reshape(n, -1)
            with one_thread:
                if self._T is not None:
                    errors = linalg.matmul(np.ascontiguousarray(self._T[:n, :n].T), errors)
                z = self._Z + linalg.matmul(self._K[:n].T, np.ascontiguousarray(errors))
                if self.root.basis is None:
                    W = np.ascontiguousarray(linalg.solve_root(self.root.R, z))
                else:
                    W = z / z.dtype.type(self.root.prior)
            if not np.isfinite(W).all():
                return None
            mean = None if self._means is None else self._means.after(n)
            self._weights = known = n, with_intercept(W, mean)
        return known[1]


class _Means:
    """The means of rows and targets before the first, second, ... waiting row."""

    def __init__(self, mean: Mean, reach: int, dtype: Any) -> None:
        self._dtype = dtype
        self._eps = float(np.finfo(dtype).eps)
        self._single = len(mean.target) == 1
        self._counts = [mean.count] * (reach + 1)
        self._rows = np.empty((reach + 1, len(mean.row)))
        self._rows[0] = mean.row
        # Numbers if there is one output.
        self.targets: list[Any] = [mean.target[0] if self._single else mean.target] * (reach + 1)

    def centred(self, h: Array, n: int) -> Array:
        row = h - self._rows[n]
        zero_rounding(row, self._rows[n], self._eps)
        return row if row.dtype == self._dtype else row.astype(self._dtype)

    def factor(self, i: int, weight: float) -> float:
        """What a row around the mean before it is multiplied by."""
        count = self._counts[i]
        return sqrt(count * weight / (count + weight)) if count > 0 else 0.0

    def add(self, i: int, row: Array, y: Array, weight: float) -> None:
        """Move by one row, which is given around the mean."""
        count, target = self._counts[i] + weight, self.targets[i]
        share = weight / count if count > 0 else 0.0
        np.add(self._rows[i], share * row, out=self._rows[i + 1])
        self.targets[i + 1] = target + share * ((y[0] if self._single else y) - target)
        self._counts[i + 1] = count

    def after(self, n: int) -> Mean:
        return Mean(self._counts[n], self._rows[n], np.atleast_1d(self.targets[n]))


def _coordinates(R: Array) -> Callable[[Array], Array]:
    """a → R⁻ᵀa."""
    if len(R) >= _LARGE and R.dtype == np.float64 and unlocked.available():
        return partial(unlocked.solve_transposed_vector, R)
    return partial(TRSV[R.dtype], R, trans=1)


def _by_part(v: Array, T: Array, *, transposed: bool = False) -> Array:
    """T[:n, :n] @ v, or v @ T[:n, :n], on one thread and without a copy."""
    n = len(v)
    if n * n < SHARED:  # where NumPy's BLAS, which knows parts of matrices, has one thread
        return v @ T[:n, :n] if transposed else T[:n, :n] @ v
    whole = np.zeros(len(T), T.dtype)
    whole[:n] = v
    return GEMV[T.dtype](1.0, T.T, whole, trans=0 if transposed else 1)[:n]
