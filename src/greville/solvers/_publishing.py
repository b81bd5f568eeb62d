"""How a model changes: what it has learned is one value, which is replaced by one assignment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from ..compiled import usable
from ..threads import LockOfEach
from ._in_place import InPlace

# Attributes that a copy makes for itself: neither pickled nor stored.
CACHES = ("_lock", "_live", "_live_from", "_not_live")

# What users find here; all else is for other packages.
_DOCUMENTED = {"frozen", "merge", "n_samples_seen_", "set_params"}


class StartedMeanwhile(Exception):
    """An exception: a signal handler started the model while first rows were being prepared."""


class Publishing:
    """A model that is prepared aside and published at once, for readers that never wait.

    What was learned is an immutable value, `fitted_`. A method that learns holds the lock of its
    model, so that no row of another thread is lost, makes another value and publishes it. A method
    that reads takes `fitted_` once and needs no lock. The lock may be taken again by the thread
    that holds it, which a signal handler does.

    Single rows are learned in place, into `_live`, as long as nothing else is done. It counts
    before `_fitted`, which is then the value that it started from.

    Examples
    --------
    >>> from greville import ELMRegressor, Opium
    >>> from greville.solvers import Publishing
    >>> isinstance(Opium(), Publishing), isinstance(ELMRegressor(), Publishing)
    (True, True)
    """

    _fitted: Any = None
    _live: Any = None
    _live_from = 0  # the number of rows from which on single ones are learned in place
    _not_live: Any = None  # a value from which no rows can be learned in place
    _lock: Any = LockOfEach()

    @property
    def fitted_(self) -> Any:
        """What was learned, as an immutable value."""
        live = self._live
        if live is not None:
            return live.fitted()
        if self._fitted is None:
            raise AttributeError(f"this {type(self).__name__} has not been fitted yet")
        return self._fitted

    @property
    def start_value(self) -> Any:
        """An immutable value with the sizes, units and classes of now, and maybe of fewer rows.

        Unlike `fitted_`, it is there at once while single rows are learned in place.
        """
        live = self._live
        return self.fitted_ if live is None else live.start_value

    def change(self, step: Callable[[Any], tuple[Any, Any]]) -> Any:
        """Publish the first of the two values that `step` makes of `fitted_`; return the second.

        An exception changes nothing. If a signal handler learns meanwhile, `step` is called again.
        """

        def learned(fitted: Any) -> tuple[Any, Any]:
            fitted.check_learns()
            return step(fitted)

        return self.convert(learned)

    def convert(self, step: Callable[[Any], tuple[Any, Any]]) -> Any:
        """Publish another form of what was learned, made by `step` as in `change`.

        Nothing is called between the check and the assignment, so that no signal is handled there.
        """
        with self._lock:
            while True:
                fitted = self.leave_live()
                new, answer = step(fitted)
                if self._fitted is fitted and self._live is None:
                    self.__dict__["_fitted"] = new
                    return answer

    @contextmanager
    def replacement(self, *, first: bool = False) -> Iterator[Self]:
        """A copy that replaces this model when the block ends without an exception.

        With `first` it learns the first rows, and `StartedMeanwhile` is raised if a signal handler
        has learned others by then.
        """
        with self._lock:
            copy = object.__new__(type(self))
            vars(copy).update({k: v for k, v in dict(vars(self)).items() if k not in CACHES})
            yield copy
            kept = {"_lock", *self._get_param_names()}  # type: ignore[attr-defined]
            learned = {k: v for k, v in vars(copy).items() if k not in kept} | {"_live": None}
            if self._live is not None:
                self._live.close()
            if first and self._fitted is not None:
                raise StartedMeanwhile
            self.__dict__.update(learned)
            for name in vars(self).keys() - learned.keys() - kept:
                del vars(self)[name]

    def publish(self, fitted: Any, **attributes: Any) -> None:
        """Replace what was learned, and attributes that go with it."""
        with self._lock:
            if self._live is not None:
                self._live.close()
            self.__dict__.update(attributes, _fitted=fitted, _live=None, _live_from=0)

    def started_live(self, *, wait: bool = True) -> Any:
        """The arrays into which single rows are learned from now on; None where that cannot be.

        Without `wait` also where a thread is learning, this one included.
        """
        if (not wait and self._lock._is_owned()) or not self._lock.acquire(blocking=wait):
            return None
        try:
            fitted = self._fitted
            if self._live is not None or fitted is None or fitted is self._not_live:
                return self._live
            settled = fitted.settled
            if settled.pending or fitted.n_seen < self._live_from or not usable():
                return None
            live = self._made_live(settled)
            if live is None:
                self._not_live = fitted
            elif self._fitted is fitted and self._live is None:
                self._live = live
            return self._live
        finally:
            self._lock.release()

    def _made_live(self, fitted: Any) -> Any:
        """The arrays for single rows after a value without pending rows, or None."""
        return None

    def leave_live(self) -> Any:
        """Stop learning in place, and return the learned value."""
        with self._lock:
            while self._live is not None:
                self._close(self._live)
                self.__dict__["_live_from"] = self._fitted.n_seen + InPlace.rows_between_changes
            return self._fitted

    def renew(self, live: Any) -> None:
        """Publish the value of arrays that are at their limit; the next row fills others."""
        with self._lock:
            if self._live is live:
                self._close(live)

    def _close(self, live: Any) -> None:
        """Replace the arrays by a value, unless a signal handler has done so meanwhile."""
        fitted = live.close()
        if self._live is live:
            self.__dict__.update(_fitted=fitted, _live_from=0, _live=None)

    def __dir__(self) -> list[str]:
        """List the documented attributes, without the internals of `Publishing`."""
        hidden = {name for name in vars(Publishing) if not name.startswith("__")} - _DOCUMENTED
        return [name for name in super().__dir__() if name not in hidden]

    def __getstate__(self) -> Any:
        """Return the attributes to pickle, read at once: other threads may learn meanwhile."""
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        live = state.get("_live")
        kept = {name: value for name, value in state.items() if name not in CACHES}
        return kept if live is None else {**kept, "_fitted": live.fitted()}

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def set_params(self, **params: Any) -> Self:
        """Set parameters, which count when `fit`, or the first row, starts a model.

        A model that has started learns no more rows with other parameters than it was started
        with: `partial_fit`, `learn_one` and the like are a ValueError then.
        """
        self.leave_live()
        super().set_params(**params)  # type: ignore[misc]
        return self

    @property
    def n_samples_seen_(self) -> int:
        """The number of rows seen so far."""
        check_is_fitted(self)
        live = self._live
        n: int = self.fitted_.n_seen if live is None else live.n_seen
        return n

    # Models as sums over rows

    def merge(self, *others: Self) -> Self:
        """Learn all that other models have learned: as if this one had seen all of their rows.

        Parameters
        ----------
        *others : models of the same kind, with the same parameters
            Give estimators the same `random_state`, or the same fitted transformer.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        for other in others:
            if type(other) is not type(self):
                raise ValueError(
                    f"other: expected {type(self).__name__}, got {type(other).__name__}; only "
                    "models of one kind can be merged."
                )
            check_is_fitted(other)
            self._check_alike(other)

        def merged(fitted: Any) -> tuple[Any, None]:
            for other in others:
                fitted = fitted.merge(other.fitted_)
            return fitted, None

        self.change(merged)
        return self

    def _check_alike(self, other: Self) -> None:
        """Raise a ValueError for a model that was not started like this one."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Self:
        """Return a new model that has learned the rows of both models."""
        return copy(self).merge(other) if isinstance(other, type(self)) else NotImplemented

    def __radd__(self, other: Any) -> Self:
        return copy(self) if isinstance(other, int) and other == 0 else NotImplemented  # sum()

    def frozen(self) -> Self:
        """A model that predicts the same and cannot learn: small enough to be sent anywhere."""
        check_is_fitted(self)
        return self.with_fitted(self.fitted_.frozen())

    def with_fitted(self, fitted: Any) -> Self:
        """Return a copy of the model with another learned value."""
        other = copy(self)
        other.publish(fitted)
        return other

    def _move(self, b: Any) -> None:
        with self._lock:
            if self._fitted is not None:
                self.convert(lambda fitted: (fitted.on(b), None))
