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

from ..compiled import Unavailable, load, usable
from ..threads import new_lock
from ._pending import Pending
from ._rows import Rows
from ._work import OneByOne, Work
from .fitted import Fitted
from .protocol import Algorithm

# Units up to which rotations, row after row, are faster than to collect rows.
_MOST_UNITS = 1536

# More rows than there will be.
_NEVER = 1 << 60

# Fewer rows than these, until something else is due, are not worth the arrays.
_FEWEST_ROWS = 8


class Live:
    """What was learned, in the arrays of the kernels.

    Parameters
    ----------
    fitted : Fitted
        Without pending rows.
    work : Work
        Filled with its state.
    single : bool
        Whether predictions and targets are numbers, not arrays.
    looks : int
        After how many rows parameters that were set meanwhile are to be looked at.
    """

    # Rows that are learned otherwise after anything else was done: it may be done again.
    rows_between_changes = 128

    def __init__(self, fitted: Fitted, work: Work, *, single: bool, looks: int = _NEVER) -> None:
        kernels = load(fitted.dtype)
        assert kernels is not None
        self.work = work
        self.kernels = kernels
        self.number = fitted.dtype.type
        self.outputs = work.outputs
        self._dtype = fitted.dtype
        self._single = single
        self._looks = looks
        self._lock = new_lock()
        self._begin(fitted)

    def __getattr__(self, name: str) -> Any:
        """The kernels for activations, compiled when they are first wanted."""
        kernels, single = vars(self)["kernels"], vars(self)["_single"]
        if name == "predict":
            kernel = kernels.predict_one
        elif name == "learn":
            kernel = kernels.learn_one if single else kernels.learn_outputs
        else:
            raise AttributeError(name)
        bound = vars(self)[name] = partial(kernel, self.work.array)
        return bound

    @classmethod
    def start(cls, fitted: Fitted, *, single: bool, looks: int = _NEVER) -> Live | None:
        """Go on from a value; None where rows must be learned otherwise."""
        parts = _parts_of(fitted)
        kernels = None if parts is None else load(fitted.dtype)
        if parts is None or kernels is None:
            return None
        shape = fitted.shape
        try:
            work = Work(kernels, shape.n_hidden, shape.n_outputs, parts)
            return cls(fitted, work, single=single, looks=looks)
        except Unavailable:
            return None

    def renew(self, fitted: Fitted) -> bool:
        """Go on from another value; False, and nothing changes, if that is not possible here."""
        parts, shape = _parts_of(fitted) if usable() else None, fitted.shape
        if parts is None or not self.work.holds(shape.n_hidden, shape.n_outputs, parts):
            return False
        with self._lock:
            self.work.fill(parts)
            self._begin(fitted)
        return True

    def _begin(self, fitted: Fitted) -> None:
        self._start = self._last = fitted
        self.work.allow(self._looks)

    @property
    def n_outputs(self) -> int:
        return self._start.n_outputs

    @property
    def n_seen(self) -> int:
        """How many rows were seen."""
        with self._lock:
            return self._n_seen

    @property
    def _n_seen(self) -> int:
        return self._start.n_seen + self.work.n_rows

    def predicted(self, h: Any) -> Any:
        """The prediction for one row; None where it must be found otherwise."""
        try:
            value = self.predict(h)
        except TypeError:  # not an array of this dtype
            return None
        if isnan(value):
            return None
        return self.number(value) if self._single else self.outputs.astype(self._dtype)

    def learned(self, h: Any, y: Any) -> bool:
        """Learn one row; False where it must be checked first, or learned otherwise."""
        try:
            return self.learn(h, y) == 0
        except (TypeError, OverflowError):
            return False

    def goes_on(self, algorithm: Algorithm) -> bool:
        """Whether more rows can be learned here, with the parameters as they are now."""
        work = self.work
        if algorithm != self._start.algorithm or work.n_rows >= work.parts.limit:
            return False
        if work.is_full and not self.renew(self.fitted().flushed()):
            return False
        work.allow(self._looks)
        return True

    def fitted(self) -> Fitted:
        """What was learned, as an immutable value."""
        with self._lock:
            start, last = self._start, self._last
            if last.n_seen == self._n_seen:
                return last
            state, n, H, Y = self.work.state()
            pending = Pending().with_rows(Rows.of(H, Y)) if len(H) else None
            new = Fitted(start.algorithm, start.shape, state, start.n_seen + n, pending)
            self._last = new
            return new

    def close(self, fitted: Fitted | None = None) -> bool:
        """Learn no more rows, unless any was learned since `fitted` was read; whether it is so."""
        with self._lock:
            self.work.allow(0)
            same = fitted is None or (self._last is fitted and fitted.n_seen == self._n_seen)
            if not same:
                self.work.allow(self._looks)
            return same


def _parts_of(fitted: Fitted) -> OneByOne | None:
    """What kernels need of a value; None where rows must be learned otherwise."""
    shape = fitted.shape
    if fitted.pending.n or shape.n_hidden > _MOST_UNITS or shape.kernels is None:
        return None
    parts = fitted.algorithm.one_by_one(shape, fitted.state, fitted.n_seen)
    return parts if parts is not None and parts.limit >= _FEWEST_ROWS and parts.fits() else None
