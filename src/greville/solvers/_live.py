"""A model that learns single rows in place, by compiled kernels, while rows come one at a time.

What was learned is an immutable value, and to make one costs more than to learn a row of ten units.
So rows that come one at a time are learned into a `Live`, which belongs to one model; `fitted`
makes a value of it when anything else is wanted. Either goes on where the other stopped, to
rounding.
"""

from __future__ import annotations

from functools import partial
from math import isnan
from typing import Any

import numpy as np

from ..compiled import Unavailable, usable
from ..threads import new_lock
from ._joint_work import JointWork, make_work
from ._pending import Pending
from ._rows import Rows
from ._work import OneByOne, Work
from .fitted import Fitted
from .protocol import Algorithm

# More rows than there will be.
NEVER = 1 << 60

# Fewer rows than these, until something else is due, are not worth the arrays.
_FEWEST_ROWS = 8


class Live:
    """What was learned, in the arrays of the kernels.

    Parameters
    ----------
    fitted : Fitted
        Without pending rows.
    work : Work or JointWork
        Filled with its state.
    single : bool
        Whether predictions and targets are numbers, not arrays.
    max_rows : int
        How many rows may be learned here in a row.
    """

    # Rows that are learned without kernels after anything else was done: it may be done again.
    rows_between_changes = 128

    def __init__(
        self, fitted: Fitted, work: Work | JointWork, *, single: bool, max_rows: int = NEVER
    ) -> None:
        self.work = work
        self.kernels = work.kernels
        self.number = fitted.dtype.type
        self.single = single
        self._stopped = False
        self.max_rows = max_rows
        self._lock = new_lock()
        self._starts = {work.times_filled: fitted}
        self._last = fitted
        work.allow(max_rows)

    def __getattr__(self, name: str) -> Any:
        """The kernels for activations, compiled when they are first wanted."""
        kernels, single = vars(self)["kernels"], vars(self)["single"]
        if name == "predict":
            kernel = kernels.predict_one if single else kernels.predict_outputs
        elif name == "learn":
            kernel = kernels.learn_one if single else kernels.learn_outputs
        else:
            raise AttributeError(name)
        bound = vars(self)[name] = partial(kernel, self.work.array)
        return bound

    @classmethod
    def start(cls, fitted: Fitted, *, single: bool, max_rows: int = NEVER) -> Live | None:
        """Go on from a value; None where rows must be learned otherwise."""
        parts = None if fitted.shape.kernels is None else _parts_of(fitted)
        if parts is None:
            return None
        shape = fitted.shape
        try:
            work = make_work(shape.dtype, shape.n_hidden, shape.n_outputs, parts)
            return None if work is None else cls(fitted, work, single=single, max_rows=max_rows)
        except Unavailable:
            return None

    # For the thread that learns, under the lock of the model

    def renew(self, fitted: Fitted) -> bool:
        """Go on from another value; False, and nothing changes, if that is not possible here."""
        parts = _parts_of(fitted) if usable() else None
        size, work = (fitted.shape.n_hidden, fitted.shape.n_outputs), self.work
        if parts is None or not work.holds(*size, parts):
            return False
        with self._lock:
            self._starts = {**self._starts, work.times_filled + 1: fitted}
            work.fill(parts)
            self._starts = {work.times_filled: fitted}
            self._last, self._stopped = fitted, False
            work.allow(self.max_rows)
        return True

    def goes_on(self, algorithm: Algorithm) -> bool:
        """Whether more rows can be learned here, with the parameters as they are now."""
        work = self.work
        if self._stopped or algorithm != self._start.algorithm or work.n_rows >= work.parts.limit:
            return False
        if work.is_full and not self.renew(self._with_waiting()):
            return False
        work.allow(self.max_rows)
        return True

    def after_due(self, h: Any, y: Any, algorithm: Algorithm) -> Fitted | None:
        """What is learned after one more row, and what is due with it.

        None if nothing is due, or the row must be learned otherwise.
        """
        start, work = self._start, self.work
        if self._stopped or algorithm != start.algorithm or work.n_rows != work.parts.limit:
            return None
        found = work.state_after(h, y)
        if found is None:
            return None
        state, n = found[0], start.n_seen + found[1]
        state = algorithm.with_due(start.shape, state, n)
        return Fitted(algorithm, start.shape, state, n)

    def learned_with_due(self, h: Any, y: Any, algorithm: Algorithm) -> bool:
        """Learn one more row, and do here what is due with it; False if that is done otherwise."""
        work = self.work
        if not isinstance(work, JointWork) or work.n_rows != work.parts.limit:
            return False
        if self._stopped or algorithm != self._start.algorithm:
            return False
        with self._lock:
            if not work.learn_due(h, y):
                return False
            work.allow(self.max_rows)
        return True

    def close(self, fitted: Fitted | None = None) -> bool:
        """Learn no more rows, unless any was learned since `fitted` was read; whether it is so."""
        with self._lock:
            self.work.allow(0)
            same = fitted is None or (self._last is fitted and fitted.n_seen == self._n_seen)
            if not same:
                self.work.allow(self.max_rows)
            return same

    # For any thread

    @property
    def n_outputs(self) -> int:
        return self._start.n_outputs

    @property
    def n_seen(self) -> int:
        """How many rows were seen."""
        with self._lock:
            return self._n_seen

    @property
    def start_value(self) -> Fitted:
        """The value from which it went on, without the rows that were learned since."""
        with self._lock:
            return self._start

    @property
    def _start(self) -> Fitted:
        """The value that the work was filled with."""
        return self._starts[self.work.times_filled]

    @property
    def _n_seen(self) -> int:
        return self._start.n_seen + self.work.n_rows

    def predicted(self, h: Any) -> Any:
        """The prediction for one row; None where it must be found otherwise."""
        try:
            if self.single:
                value = self.predict(h)
                return None if isnan(value) else self.number(value)
            out = np.empty(self.n_outputs)
            return out.astype(self.number) if self.predict(h, out) == 0 else None
        except Exception:  # not an array of this dtype; numba has several errors for it
            return None

    def learned(self, h: Any, y: Any) -> bool:
        """Learn one row; False where it must be checked first, or learned otherwise."""
        try:
            return self.learn(h, y) == 0
        except Exception:  # as above, or not a number
            return False

    def stop(self) -> None:
        """Have the rows that wait learned otherwise, with the next one; one may be too long."""
        self._stopped = True
        self.work.allow(0)

    def fitted(self) -> Fitted:
        """What was learned, as an immutable value."""
        with self._lock:
            last, start = self._last, self._start
            if self._n_seen == last.n_seen:
                return last
            state, n, H, Y = self.work.state()
            pending = Pending().with_rows(Rows.of(H, Y)) if len(H) else None
            new = Fitted(start.algorithm, start.shape, state, start.n_seen + n, pending)
            self._last = new
            return new

    def _with_waiting(self) -> Fitted:
        """What was learned, and the rows that wait, all of them at once."""
        start = self._start
        state, n, H, Y = self.work.state(apply=False)
        base = Fitted(start.algorithm, start.shape, state, start.n_seen + n - len(H))
        return base.learn_now(Rows.of(H, Y)) if len(H) else base


def _parts_of(fitted: Fitted) -> OneByOne | None:
    """What kernels need of a value; None where rows must be learned otherwise."""
    shape = fitted.shape
    if fitted.pending.n or shape.kernels is None:
        return None
    parts = fitted.algorithm.one_by_one(shape, fitted.state, fitted.n_seen)
    if parts is None or parts.limit < _FEWEST_ROWS:
        return None
    return parts if parts.fits() else None
