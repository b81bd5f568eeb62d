"""Drift detection: an alarm when the errors of a model change."""

from __future__ import annotations

from bisect import bisect_left, insort
from copy import copy
from math import exp, isfinite, isnan, log
from typing import Any

import numpy as np

from .backend import Array
from .fields import count, each, finite, require, stored
from .validation import check_number, naming

# The number of errors kept to compare with. More would make the ranks finer and take more memory.
_MOST = 4096

# The exponents ε of the bets: small ones win on tiny p-values, large ones on slightly small ones.
_BOLDNESS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95)

# Beyond the largest error kept, p-values decrease with this power of the error: tails heavier than
# those of any distribution with a finite variance.
_TAIL = 2.0


def _check_fields(monitor: DriftMonitor) -> None:
    bets, errors = monitor._bets, monitor._errors
    require(0 < monitor.rate < 1 and monitor.warmup >= 1, "the monitor has impossible settings")
    require(len(bets) == len(_BOLDNESS) and min(bets) >= 0, "the monitor has other bets")
    require(len(errors) <= _MOST, "the monitor has too many errors")
    require(errors == sorted(errors) and min(errors, default=0) >= 0, "errors are not sorted")


@stored(
    parameters={
        "rate": finite,
        "warmup": count,
        "n_seen_": count,
        "alarms_": each(count),
        "statistic_": finite,
        "bets": each(finite).kept_in("_bets"),
        "errors": each(finite).kept_in("_errors"),
    },
    whole=True,
    check=_check_fields,
)
class DriftMonitor:
    """Raises an alarm when the errors of a model become larger than they were.

    Pass it prequential errors, best together with their predicted standard deviations. Each is
    compared with those since the last alarm: p is the share of them that were as large. While
    nothing changes, all p are equally likely, and bets that p is small win nothing on average. The
    statistic is the Shiryaev-Roberts sum of such bets, R ← (1 + R)·ε p^(ε-1), averaged over ε from
    0.05, for large changes, to 0.95, for slow ones. It grows by one a sample on average, whatever
    the distribution of the errors. So the mean time to a false alarm, at R >= 1/rate, is at least
    1/rate samples, provided that errors are exchangeable until then and have a variance: an error
    beyond the largest so far is taken to be as unlikely as in the heaviest tails that allow one.

    Parameters
    ----------
    rate : float, default=1e-4
        False alarms a sample, at most: one in 10,000 samples by default.
    warmup : int, default=30
        Errors to see after the start, and after an alarm, before the next alarm.

    Attributes
    ----------
    statistic_ : float
        R; an alarm at 1/rate.
    n_seen_ : int
    alarms_ : list of int
        The samples, counted from 0, at which there was an alarm.

    Notes
    -----
    A few microseconds a sample. Up to 4096 errors are kept.

    References
    ----------
    Vovk, Nouretdinov & Gammerman, "Retrain or not retrain: conformal test martingales for change-
    point detection", 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.monitor import DriftMonitor
    >>> errors = np.random.default_rng(0).normal(size=2000)
    >>> errors[1000:] *= 3
    >>> alarms = DriftMonitor().update_many(errors)
    >>> bool(1000 < alarms[0] < 1030)
    True
    """

    def __init__(self, rate: float = 1e-4, warmup: int = 30) -> None:
        check_number("rate", rate, low=0, high=1, include_low=False)
        check_number("warmup", warmup, low=1, whole=True)
        self.rate = rate
        self.warmup = warmup
        self.n_seen_ = 0
        self.alarms_: list[int] = []
        self._start()

    def _start(self) -> None:
        self.statistic_ = 0.0
        self._bets = [0.0] * len(_BOLDNESS)
        self._errors: list[float] = []  # sizes of errors since the last alarm, sorted

    def copy(self) -> DriftMonitor:
        """Another monitor that has seen the same errors."""
        other = copy(self)
        other.alarms_ = list(self.alarms_)
        other._errors = list(self._errors)
        return other

    def update(self, error: float, std: float = 1.0) -> bool:
        """Add one error, and return whether it raises an alarm.

        Parameters
        ----------
        error : float
            The prediction error.
        std : float, default=1.0
            The predicted standard deviation of the error. While it is infinite, as before the first
            row, the error is ignored.

        Returns
        -------
        alarm : bool
        """
        error, std = _number("error", error), _number("std", std)
        if not isfinite(error):
            raise ValueError(f"error={error!r}: pass a finite number.")
        if isnan(std) or std < 0:
            raise ValueError(f"std={std!r}: pass a number >= 0.")
        return self._see(abs(error), std)

    def update_many(self, errors: Any, std: Any = 1.0) -> Array:
        """Add many errors, one after the other.

        Parameters
        ----------
        errors : array-like of shape (n_samples,)
        std : float or array-like of shape (n_samples,), default=1.0

        Returns
        -------
        alarms : ndarray of int
            The indices of those that raised an alarm.
        """
        with naming("errors"):
            errors = np.asarray(errors, dtype=np.float64)
            if errors.ndim != 1 or not np.isfinite(errors).all():
                raise ValueError("expected finite numbers in one dimension.")
        with naming("std"):
            std = np.broadcast_to(np.asarray(std, dtype=np.float64), errors.shape)
            if not (std >= 0).all():
                raise ValueError("expected numbers >= 0.")
        pairs = zip(np.abs(errors).tolist(), std.tolist(), strict=True)
        return np.flatnonzero([self._see(size, spread) for size, spread in pairs])

    def _see(self, size: float, std: float) -> bool:
        k = self.n_seen_
        self.n_seen_ += 1
        if std == float("inf"):
            return False
        size = size / std if std > 0 else (float("inf") if size > 0 else 0.0)
        u = log(self._chance(size))
        most = 1e3 / self.rate  # the most that a bet may hold after the warm-up
        self._bets = [
            min((1 + r) * e * exp(min((e - 1) * u, 500.0)), most)
            for r, e in zip(self._bets, _BOLDNESS, strict=True)
        ]
        self.statistic_ = sum(self._bets) / len(self._bets)
        if self.statistic_ * self.rate >= 1 and len(self._errors) >= self.warmup:
            self._start()
            self.alarms_.append(k)
            return True
        if len(self._errors) < _MOST and isfinite(size):
            insort(self._errors, size)
        return False

    def _chance(self, size: float) -> float:
        """The p-value: the share of errors that were as large; extrapolated beyond the largest."""
        errors = self._errors
        n = len(errors)
        if n and size > errors[-1] > 0:
            part = (errors[-1] / size) ** _TAIL if isfinite(size) else 0.0
            return max(part, 1e-300) / (n + 1)
        return (n - bisect_left(errors, size) + 1) / (n + 1)


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}={value!r}: pass a number.") from None
