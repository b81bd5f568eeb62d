"""Exact predictions while rows are pending: what these will do to the weights.

Rows that come one at a time are not worth a QR factorisation each. They are collected, and what
they will do to the weights is followed in the coordinates f = R⁻ᵀa of the root R as it is. There
all rows so far count as the identity, and the recursion of the paper, eqs. (12), (15) and (16), is

    p = f - K'Kf,  s = 1 + f·p,  a new row p/√s of K,  z ← z + p e/s,

with θ = I - K'K and the weights R⁻¹z. z is never formed either: a prediction f·z is f·Z and the
products of Kf with the e/√s of the rows behind K.

1 + f·p loses digits as |f|² grows, and the first rows of a stream are 1/ε long in these
coordinates. Then the same is done by Householder reflections of [I; F'], which lose none: with
Q = I - [I; U']T[I U], p is f - U'T'Uf up to a rotation that nothing depends on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf, sqrt
from typing import Any

import numpy as np

from ..backend import Array, eps, longest_rows
from ..threads import new_lock, one_thread
from ._mean import ZERO, Mean
from ._pending import Pending
from ._state import LARGEST_LOSS, State, with_intercept

# Rows to catch up with at once. More are better learned: that is what a QR factorisation is for.
_MOST_AT_ONCE = 32

# A row that was predicted, and what was found on the way: its bytes, the number of pending rows,
# the row around the mean, f, t and the prediction.
_Asked = tuple[bytes, int, Array, Array, Array, Any]


class Correction(ABC):
    """Predictions and weights after pending rows, without learning these.

    Pending rows are only added. So a prediction after the first n of them stays what it was, and
    several threads may ask for different n.
    """

    long_rows = False  # whether the next correction should use reflections

    @abstractmethod
    def follow(self, pending: Pending) -> bool:
        """Catch up with pending rows; False if it cannot."""

    @abstractmethod
    def predict(self, h: Array, pending: Pending) -> Any:
        """The prediction for one row after the pending rows; a number if there is one output.

        None where it cannot catch up, R is too close to singular, or h has numbers that are not
        finite.
        """

    @abstractmethod
    def weights(self, pending: Pending) -> Array | None:
        """W after the pending rows, with a row for the intercept first if there is one.

        None as above.
        """

    def learned(self, pending: Pending, h: Array, y: Any) -> Pending | None:
        """The pending rows and one more, if that was the last to be predicted after them."""
        return None


def most_pending(root: State) -> int:
    """How many rows are collected before they are learned, when each is predicted first.

    Each costs 4M operations for every one before it, and its part of a QR factorisation, which
    becomes cheaper with their number. Predict and learn in microseconds, for 64 and 128 of them:
    20 and 23 for M = 100, 46 and 48 for M = 300, 273 and 206 for M = 1000. The first rows of all
    can be more: what is there before them, the prior, costs nothing to read. But no more than
    there are directions, in which the prior soon means nothing.
    """
    n_hidden = root.n_hidden
    usual = 64 if n_hidden < 500 else root.backend.tuning.pending_rows
    return usual if root.basis is None else min(max(usual, min(n_hidden // 8, 1024)), n_hidden)


class RootCorrection(Correction):
    """What pending rows will do to a root.

    Parameters
    ----------
    root : State
        Without a basis, or one that has not seen a row.
    limit : int
        At how many pending rows something else happens to the root, and they must be learned.
    growth : float
        What each row is multiplied by more than the one before it, where old ones fade.
    reflect : bool
        Whether to use reflections, for long rows.
    """

    def __init__(self, root: State, limit: int, growth: float, *, reflect: bool) -> None:
        n_outputs, dtype, n_hidden = root.Z.shape[1], root.dtype, root.n_hidden
        kernels = root.backend.kernels(dtype)
        assert kernels is not None
        self.root = root
        self.limit = limit
        self._growth = growth
        self._sum_of_squares = 0.0
        self._n = 0
        self._buffer: Any = None
        self._dot, self._gemv = kernels.dot, kernels.gemv
        if root.basis is None:
            self._Z, self._into = root.Z, kernels.into(root.R)
            self._most_squares = inf
        else:  # and the prior must not be lost in rounding
            self._most_squares = (LARGEST_LOSS[dtype.char] / eps(dtype)) ** 2
            per_prior = dtype.type(1 / root.prior)
            self._Z, self._into = np.zeros((n_hidden, n_outputs), dtype), per_prior.__mul__
        self._single = self._Z[:, 0] if n_outputs == 1 else None
        self._K = np.empty((limit, n_hidden), dtype)  # or U
        self._T = np.zeros((limit, limit), dtype) if reflect else None  # T'
        self._errors = np.empty((limit, n_outputs) if n_outputs > 1 else limit, dtype)  # e/√s
        self._weights: tuple[int, Array] | None = None
        self._last: _Asked | None = None
        self._means = None if root.mean is None else _Means(root.mean, limit, dtype)
        self._largest_row = (root.largest_row if root.basis is None else inf) ** 2
        self._lock = new_lock()
        self._short = longest_rows(dtype)
        self._shared = kernels.shared
        self._one_thread_rows = kernels.shared // n_hidden  # products for which BLAS uses one

    @property
    def long_rows(self) -> bool:  # type: ignore[override]
        """Whether the pending rows were too long for anything but reflections."""
        return not self._sum_of_squares < self._short

    # Following rows

    def follow(self, pending: Pending) -> bool:
        n = pending.n
        if n <= self._n:
            return n == 0 or pending.buffer is self._buffer
        if n >= self.limit or n > self._n + _MOST_AT_ONCE:
            return False
        if self._n and pending.buffer is not self._buffer:
            return False
        with self._lock, one_thread:
            if self._n and pending.buffer is not self._buffer:
                return False
            self._buffer = buffer = pending.buffer
            for i in range(self._n, n):  # another thread may have been faster
                row, f, t, predicted = self._asked(buffer.H[i], i)  # type: ignore[union-attr]
                y = buffer.Y[i] if self._single is None else buffer.Y[i, 0]  # type: ignore[union-attr]
                if not self._add(i, row, f, t, y, predicted, float(buffer.weight[i])):  # type: ignore[union-attr]
                    return False
        return True

    def learned(self, pending: Pending, h: Array, y: Any) -> Pending | None:
        if not self._was_asked(pending, h):
            return None
        after = pending.with_one(h, y)
        self._take(pending.n, after, y)
        return after

    def take(self, pending: Pending, after: Pending, h: Array, y: Any) -> bool:
        """Follow one more row, which is in `after` already; False if it is not followed."""
        return self._was_asked(pending, h) and self._take(pending.n, after, y)

    def _was_asked(self, pending: Pending, h: Array) -> bool:
        """Whether a row was the last to be predicted, after these pending rows."""
        last, i = self._last, pending.n
        if last is None or last[1] != i or self._n != i or last[0] != h.tobytes():
            return False
        return not i or pending.buffer is self._buffer

    def _take(self, i: int, after: Pending, y: Any) -> bool:
        """Follow the row that was asked last; False if it is not followed."""
        assert self._last is not None
        _, _, row, f, along, predicted = self._last
        if i + 1 >= self.limit:
            return False
        with self._lock:
            if self._n != i:
                return False
            self._buffer = after.buffer
            if i <= self._one_thread_rows:
                return self._add(i, row, f, along, y, predicted, 1.0)
            with one_thread:
                return self._add(i, row, f, along, y, predicted, 1.0)

    def _add(
        self, i: int, row: Array, f: Array, t: Array, y: Any, predicted: Any, weight: float
    ) -> bool:
        """One more row of K; t is Kf, or T'Uf. False if it is too long."""
        dot, gemv, K, T, means = self._dot, self._gemv, self._K, self._T, self._means
        scale = self._growth ** (i + 1)
        if means is not None:
            weight *= scale * scale  # as it counts next to rows that do not fade meanwhile
            scale = means.factor(i, weight)
        elif weight != 1.0:
            scale *= sqrt(weight)
        if self._largest_row < inf and not dot(row, row) <= self._largest_row:
            return False
        square = dot(f, f)
        self._sum_of_squares = total = self._sum_of_squares + scale * scale * square
        if not total < (self._short if T is None else self._most_squares):
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
                along = gemv(-tau * factor, K[:i].T, p, trans=1)
                T[i, :i] = self._times_part(along, transposed=True)
            T[i, i] = tau
            np.multiply(p, factor, out=K[i])
        self._errors[i] = (y - predicted) * (scale / length)
        if means is not None:
            means.add(i, row, self._buffer.Y[i], weight)  # as it will be learned
        self._n = i + 1
        return True

    # Asking

    def predict(self, h: Array, pending: Pending) -> Any:
        n, known, last = pending.n, self._weights, self._last
        if (n != self._n or pending.buffer is not self._buffer) and not self.follow(pending):
            return None
        if (known is None or known[0] != n) and (last is None or last[1] != n):
            if n <= self._one_thread_rows:
                last = (h.tobytes(), n, *self._asked(h, n))
            else:
                with one_thread:
                    last = (h.tobytes(), n, *self._asked(h, n))
            predicted = last[-1]
        else:
            W = self._weights_after(n)  # asked for the second time: there will be others
            if W is None:
                return None
            single, V = self._single is not None, W if self._means is None else W[1:]
            predicted = self._dot(h, V[:, 0]) if single else self._gemv(1.0, V.T, h)
            if self._means is not None:
                predicted = predicted + (W[0, 0] if single else W[0])
        single = self._single is not None
        if not (-inf < predicted < inf if single else np.isfinite(predicted).all()):
            return None
        self._last = last
        return predicted

    def _asked(self, h: Array, n: int) -> tuple[Array, Array, Array, Any]:
        """A row around the mean of all before it, f, t and the prediction after n pending rows."""
        means = self._means
        if means is None:
            f = self._into(h)
            return h, f, *self._looked_up(f, n)
        row = means.centred(h, n)
        f = self._into(row)
        t, predicted = self._looked_up(f, n)
        return row, f, t, predicted + means.targets[n]

    def _looked_up(self, f: Array, n: int) -> tuple[Array, Any]:
        """Kf, or T'Uf, and the prediction for a row after the first n pending ones."""
        dot, gemv, single = self._dot, self._gemv, self._single
        if n == 0:
            zero = f[:0]
            return zero, gemv(1.0, self._Z, f, trans=1) if single is None else dot(single, f)
        t = gemv(1.0, self._K[:n].T, f, trans=1)
        if self._T is not None:
            t = self._times_part(t)
        if single is not None:
            return t, dot(single, f) + dot(self._errors[:n], t)
        return t, gemv(1.0, self._Z, f, trans=1) + t @ self._errors[:n]

    def weights(self, pending: Pending) -> Array | None:
        return self._weights_after(pending.n) if self.follow(pending) else None

    def _weights_after(self, n: int) -> Array | None:
        if n == 0:
            return self.root.solution
        known = self._weights
        if known is None or known[0] != n:
            b, errors = self.root.backend, self._errors[:n].reshape(n, -1)
            with one_thread:
                if self._T is not None:
                    errors = b.matmul(np.ascontiguousarray(self._T[:n, :n].T), errors)
                z = self._Z + b.matmul(self._K[:n].T, np.ascontiguousarray(errors))
                if self.root.basis is None:
                    W = np.ascontiguousarray(b.solve(self.root.R, z))
                else:
                    W = z / z.dtype.type(self.root.prior)
            if not np.isfinite(W).all():
                return None
            mean = None if self._means is None else self._means.after(n)
            self._weights = known = n, with_intercept(b, W, mean)
        return known[1]

    def _times_part(self, v: Array, *, transposed: bool = False) -> Array:
        """T'[:n, :n] @ v, or v @ T'[:n, :n], on one thread and without a copy."""
        T, n = self._T, len(v)
        assert T is not None
        if n * n < self._shared:  # where NumPy's BLAS, which takes parts of matrices, has one
            return v @ T[:n, :n] if transposed else T[:n, :n] @ v
        whole = np.zeros(len(T), T.dtype)
        whole[:n] = v
        return self._gemv(1.0, T.T, whole, trans=0 if transposed else 1)[:n]


class _Means:
    """The means of rows and targets before the first, second, ... pending row."""

    def __init__(self, mean: Mean, limit: int, dtype: Any) -> None:
        self._dtype = dtype
        self._rounding = ZERO * eps(dtype)
        self._single = len(mean.target) == 1
        self._counts = [mean.count] * (limit + 1)
        self._rows = np.empty((limit + 1, len(mean.row)))
        self._rows[0] = mean.row
        # Numbers if there is one output.
        self.targets: list[Any] = [mean.target[0] if self._single else mean.target] * (limit + 1)

    def centred(self, h: Array, n: int) -> Array:
        mean = self._rows[n]
        row = h - mean
        row[np.abs(row) <= self._rounding * np.abs(mean)] = 0  # as `zero_rounding`
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
