"""Exact predictions of several states that are mixed by their errors, while rows are pending."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from ..mixture import Mixture
from ..threads import new_lock
from ._correction import Correction, RootCorrection
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
        self._mixtures = [mixture]  # after the first 0, 1, 2, ... pending rows
        self._buffer: Any = None
        self._last: tuple[bytes, int, Array] | None = None  # a row, and what all predict for it
        self._lock = new_lock()

    @property
    def long_rows(self) -> bool:  # type: ignore[override]
        """Whether the pending rows were too long for anything but reflections."""
        return any(member.long_rows for member in self._members)

    def follow(self, pending: Pending) -> bool:
        if pending.n < len(self._mixtures):
            return pending.n == 0 or pending.buffer is self._buffer
        with self._lock:
            if len(self._mixtures) > 1 and pending.buffer is not self._buffer:
                return False
            self._buffer = buffer = pending.buffer
            assert buffer is not None
            for i in range(len(self._mixtures) - 1, pending.n):
                values = self._values(buffer.H[i], Pending(buffer, i))
                after = Pending(buffer, i + 1)
                if values is None or not all([m.follow(after) for m in self._members]):
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
            if len(self._mixtures) == n + 1:
                taken = [m.take(pending, after, h, y) for m in self._members]
                if all(taken):
                    self._buffer = after.buffer
                    self._add(last[2], after.buffer.Y[n], 1.0)  # type: ignore[union-attr]
        return after

    def _add(self, values: Array, y: Array, weight: float) -> None:
        self._mixtures.append(self._mixtures[-1].update(y - values, weight))

    def predict(self, h: Array, pending: Pending) -> Any:
        if not self.follow(pending):
            return None
        values = self._values(h, pending)
        if values is None:
            return None
        self._last = h.tobytes(), pending.n, values
        mixed = self._mixtures[pending.n].weights() @ values
        dtype = self._members[0].root.dtype
        return dtype.type(mixed[0]) if len(mixed) == 1 else mixed.astype(dtype)

    def _values(self, h: Array, pending: Pending) -> Array | None:
        """What each member predicts, of shape (n_members, n_outputs)."""
        found = [member.predict(h, pending) for member in self._members]
        if any(value is None for value in found):
            return None
        return np.array(found, np.float64).reshape(len(found), -1)

    def weights(self, pending: Pending) -> Array | None:
        if not self.follow(pending):
            return None
        found = [member.weights(pending) for member in self._members]
        if any(W is None for W in found):
            return None
        parts = zip(self._mixtures[pending.n].weights(), found, strict=True)
        return sum(W * float(p) for p, W in parts)  # type: ignore[operator,return-value]
