"""Exact predictions of several states that are mixed by their errors, while rows are pending."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from ..mixture import Mixture, weights_for_one_output
from ..threads import new_lock
from ._correction import Correction, RootCorrection
from ._derived import replace
from ._pending import Pending


class JointCorrection(Correction):
    """What pending rows will do to several roots, and to the weights of their mixture.

    Parameters
    ----------
    members : list of RootCorrection
        That have seen no pending row.
    mixture : Mixture
    """

    def __init__(self, members: list[RootCorrection], mixture: Mixture) -> None:
        self._members = members
        self._limit = min(member.limit for member in members)
        self._mixture = mixture
        # Of the mixture after the first 0, 1, 2, ... pending rows: squares, which are a list of
        # numbers if there is one output, and the count.
        self._single = mixture.squares.shape[1] == 1
        squares: Any = mixture.squares[:, 0].tolist() if self._single else mixture.squares
        self._mixtures = [(squares, mixture.count)]
        self._log_prior = mixture.log_prior.tolist()
        self._buffer: Any = None
        self._last: tuple[bytes, int, Any] | None = None  # a row, and what all predict for it
        self._lock = new_lock()

    @property
    def long_rows(self) -> bool:  # type: ignore[override]
        """Whether the pending rows were too long for anything but reflections."""
        return any(member.long_rows for member in self._members)

    def follow(self, pending: Pending) -> bool:
        if pending.n >= self._limit:
            return False
        if pending.n < len(self._mixtures):
            return pending.n == 0 or pending.buffer is self._buffer
        with self._lock:
            if len(self._mixtures) > 1 and pending.buffer is not self._buffer:
                return False
            self._buffer = buffer = pending.buffer
            assert buffer is not None
            for i in range(len(self._mixtures) - 1, pending.n):
                values = self._values(buffer.H[i], Pending(buffer, i))
                if values is None:
                    return False
                for member in self._members:
                    if not member.follow(Pending(buffer, i + 1)):
                        return False
                self._add(values, buffer.Y[i], float(buffer.weight[i]))
        return True

    def learned(self, pending: Pending, h: Array, y: Any) -> Pending | None:
        last, n = self._last, pending.n
        if last is None or last[1] != n or len(self._mixtures) != n + 1 or last[0] != h.tobytes():
            return None
        if n and pending.buffer is not self._buffer:
            return None
        after = pending.with_one(h, y)
        with self._lock:
            if len(self._mixtures) != n + 1:  # another thread was faster
                return after
            followed = True
            for member in self._members:
                followed = member.take(pending, after, h, y) and followed
            # The last row that they may have they do not follow; the mixture does.
            if followed or n + 1 >= self._limit:
                self._buffer = after.buffer
                self._add(last[2], after.buffer.Y[n], 1.0)  # type: ignore[union-attr]
        return after

    def _add(self, values: Any, y: Array, weight: float) -> None:
        squares, count = self._mixtures[-1]
        if not self._single:
            new = self.mixture_after(len(self._mixtures) - 1).update(y - values, weight)
            squares, count = new.squares, new.count
        elif weight > 0:
            decay, target = self._mixture.decay, float(y[0])
            pairs = zip(squares, values, strict=True)
            squares = [decay * s + weight * (target - value) ** 2 for s, value in pairs]
            count = decay * count + weight
        self._mixtures.append((squares, count))

    def mixture_after(self, n: int) -> Mixture:
        """The mixture after the first n pending rows, which were followed."""
        squares, count = self._mixtures[n]
        if self._single:
            squares = np.array(squares)[:, None]
        return replace(self._mixture, squares=squares, count=count)

    def _weights(self, n: int) -> Any:
        squares, count = self._mixtures[n]
        if self._single:
            return weights_for_one_output(self._log_prior, squares, count)
        return self.mixture_after(n).weights()

    def has_followed(self, pending: Pending) -> bool:
        """Whether it knows what these pending rows do."""
        return 0 < pending.n < len(self._mixtures) and pending.buffer is self._buffer

    def predict(self, h: Array, pending: Pending) -> Any:
        if not self.follow(pending):
            return None
        values = self._values(h, pending)
        if values is None:
            return None
        self._last = h.tobytes(), pending.n, values
        weights, dtype = self._weights(pending.n), self._members[0].root.dtype
        if self._single:
            return dtype.type(sum([p * v for p, v in zip(weights, values, strict=True)]))
        return (weights @ values).astype(dtype)

    def _values(self, h: Array, pending: Pending) -> Any:
        """What each member predicts: numbers, or an array of shape (n_members, n_outputs)."""
        found = []
        for member in self._members:
            value = member.predict(h, pending)
            if value is None:
                return None
            found.append(float(value) if self._single else value)
        return found if self._single else np.array(found, np.float64)

    def weights(self, pending: Pending) -> Array | None:
        if not self.follow(pending):
            return None
        found = [member.weights(pending) for member in self._members]
        if any(W is None for W in found):
            return None
        parts = zip(self._weights(pending.n), found, strict=True)
        mixed: Any = sum(W * float(p) for p, W in parts)  # type: ignore[misc,operator]
        return mixed
