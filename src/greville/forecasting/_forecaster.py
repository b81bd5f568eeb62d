"""Forecasting a series while learning from it, in one pass."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from ..elm import ELMRegressor, hidden_size
from ..linalg import Array
from ..progress import Progress, silent
from ..solvers import DynamicOpium, Opium
from ..threads import one_thread
from ..validation import check_length, check_number, naming, unchanged_on_error
from ._forecast import Forecast
from ._learner import Learner
from ._past import Known, Past
from ._trust import Band, Trust

# hidden="auto": with more, a sample costs more than it gains. 200 instead of 100 gain little on
# the electrocardiogram.
_MOST_UNITS = 300

# alpha="auto": all of the past, and the last hundred samples or so. More memories in between cost
# as much again each and gain a per cent or two.
_MEMORIES = (1.0, 1.01)

# Samples that `forecast` takes at a time.
_PIECE = 8192

# The largest number, in units of the first change, whose square may be summed up.
_LARGEST = 1e140


class _Pending(NamedTuple):
    """A prediction whose target is not known yet; in the units of `Past`."""

    now: float  # in the units of the series
    changes: list[float] | None  # of persistence, the linear model and the others; None: NaN
    mixed: float
    half: float


class Forecaster:
    """Predicts a series from its own past and learns from it, piece by piece.

    At time t, with y_t seen, it predicts y_{t+horizon} from y_t, ..., y_{t-lags+1} and the other
    inputs at t. A prediction is learned from when its target has come, and not before: what it
    says about a sample depends on nothing later than `horizon` samples before it.

    Four predict the change from y_t: nobody ("it stays"), a linear model, and two random hidden
    layers, one that remembers everything and one that forgets. The prediction is their mean, by
    trust in those that have erred least on about the last fifty samples. Nobody is believed beyond
    twice the largest change seen so far.

    Parameters
    ----------
    lags : int, default=10
        How many of the latest samples to predict from.
    horizon : int, default=1
        How many samples ahead to predict.
    alpha : float or "auto", default="auto"
        How fast the hidden layer forgets, as in `DynamicOpium`; 1 never does. "auto" has two, with
        1 and 1.01.
    hidden : int, transformer or "auto", default="auto"
        The hidden layer, as in `ELMRegressor`. "auto" is 10 units for every lag and input, from
        100 to 300.
    solver : str or solver object, optional
        What learns the weights of the hidden layer, instead of what `alpha` says.
    interval : float, default=0.9
        The part of the targets that should lie between `lower` and `upper`.
    random_state : int, default=0
        Seeds the hidden layer.

    Attributes
    ----------
    n_samples_seen_ : int

    Notes
    -----
    About 0.1 ms a sample with 10 lags and a horizon of 1, three times that for longer horizons and
    for samples that come one by one; more in the first thousand samples. Memory does not grow.

    Missing samples (NaN) are neither learned nor learned from, and no time passes for what forgets;
    no prediction is made from a row that lacks something.

    References
    ----------
    Gibbs & Candès, "Adaptive conformal inference under distribution shift", 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.forecasting import Forecaster
    >>> series = np.sin(np.arange(300) / 5) + 0.1 * np.random.default_rng(0).normal(size=300)
    >>> model = Forecaster(lags=5)
    >>> for piece in (series[:100], series[100:]):
    ...     rows = model.update(piece)
    >>> len(rows), model.future().index
    (200, array([300]))
    """

    def __init__(
        self,
        lags: int = 10,
        horizon: int = 1,
        *,
        alpha: float | str = "auto",
        hidden: Any = "auto",
        solver: Any = None,
        interval: float = 0.9,
        random_state: Any = 0,
    ) -> None:
        check_number("lags", lags, low=1, whole=True)
        check_number("horizon", horizon, low=1, whole=True)
        check_number("interval", interval, low=0, high=1, include_low=False)
        self.lags, self.horizon, self.interval = int(lags), int(horizon), float(interval)
        self.alpha, self.hidden, self.solver = alpha, hidden, solver
        self.random_state = random_state
        self.n_samples_seen_ = 0
        self._solvers = _chosen_solvers(alpha, solver)
        self._learners: list[Learner] | None = None  # until the number of inputs is known

    def update(self, values: Any, inputs: Any = None) -> Forecast:
        """See more of the series; what was predicted for these samples before they came.

        How a series is cut into pieces changes nothing but rounding.

        Parameters
        ----------
        values : array-like of shape (n_samples,)
            The next samples; NaN where one is missing.
        inputs : array-like of shape (n_samples, n_inputs), optional
            What else is known at the same times; NaN where missing.

        Returns
        -------
        Forecast
            A row for every sample that could be predicted: the first is number
            ``lags - 1 + horizon``, counted from 0.
        """
        columns = _checked(values, inputs)
        if self._learners is not None and columns.shape[1] != self._n_columns:
            raise ValueError(
                f"inputs: got {columns.shape[1] - 1} columns, but this forecast was started with "
                f"{self._n_columns - 1}; pass as many."
            )
        with unchanged_on_error(self, *self._parts()), one_thread:
            if self._learners is None:
                self._begin(columns.shape[1])
            if not len(columns):
                return self._forecast(self.n_samples_seen_, [], columns[:, 0])
            return self._advance(columns)

    def future(self) -> Forecast:
        """What is predicted for the `horizon` samples after the last one seen.

        Returns
        -------
        Forecast
            Its targets are NaN.
        """
        if self._learners is None:
            return self._forecast(0, [], np.empty(0))
        start = self.n_samples_seen_
        return self._forecast(start, list(self._pending), np.full(self.horizon, np.nan))

    def _parts(self) -> list[Any]:
        return [part for learner in self._learners or [] for part in learner.parts()]

    def _begin(self, n_columns: int) -> None:
        self._n_columns = n_columns
        n_rows = self.lags + n_columns - 1
        auto = isinstance(self.hidden, str) and self.hidden == "auto"
        hidden = hidden_size(n_rows, most=_MOST_UNITS) if auto else self.hidden
        models = [
            ELMRegressor(hidden, solver, self.random_state, standardize=True)
            for solver in self._solvers
        ]
        if not all(hasattr(model, "prequential") for model in models):
            raise ValueError(
                f"solver={self.solver!r}: it does not learn online; pass 'opium', 'light', "
                "'dynamic', 'greville' or such an object."
            )
        linear = Opium(epsilon="auto", intercept=True)
        self._learners = [Learner(model, self.horizon) for model in (linear, *models)]
        self._past = Past(self.lags, n_columns - 1)
        nothing = np.full((self.horizon, n_rows), np.nan)
        self._waiting = Known(nothing[:, 0], nothing, nothing)
        empty = _Pending(np.nan, None, np.nan, np.nan)
        self._pending = deque([empty] * self.horizon)
        self._trust, self._band = Trust(2 + len(models)), Band(self.interval)

    def _advance(self, columns: Array) -> Forecast:
        assert self._learners is not None
        past, n = deepcopy(self._past), len(columns)  # copies: all of the update, or nothing of it
        known = past.advance(columns)
        if np.nanmax(np.abs(known.plain), initial=0.0) > _LARGEST:
            raise ValueError(
                "values, inputs: the largest number is too far from the first for its square; "
                "pass them in other units."
            )
        both = Known(*(np.concatenate(pair) for pair in zip(self._waiting, known, strict=True)))
        change = known.now - both.now[:n]
        predicted = [np.where(np.isfinite(known.plain[:, 0]), 0.0, np.nan)]
        for i, learner in enumerate(self._learners):
            rows, asked = (both.plain, known.plain) if i == 0 else (both.levelled, known.levelled)
            predicted.append(learner.answers(rows[:n], change, asked))
        made = self._settled(past.unit[0], columns[:, 0], change, np.array(predicted).T)
        self._past = past
        self._waiting = Known(*(part[n:] for part in both))
        start, self.n_samples_seen_ = self.n_samples_seen_, self.n_samples_seen_ + n
        return self._forecast(start, made, columns[:, 0])

    def _settled(
        self, unit: float, values: Array, change: Array, predicted: Array
    ) -> list[_Pending]:
        """What was predicted for each of these samples; the next predictions are left pending."""
        trust, band, pending = deepcopy((self._trust, self._band, self._pending))
        made = []
        rows = zip(values.tolist(), change.tolist(), predicted.tolist(), strict=True)
        for value, moved, changes in rows:
            due = pending.popleft()
            made.append(due)
            if not isnan(moved):
                trust.saw(moved)
                if due.changes is not None:
                    trust.learn([moved - each for each in due.changes])
                    band.learn(abs(moved - due.mixed), due.half)
            if not isnan(changes[0]):
                held = trust.held(changes)
                pending.append(_Pending(value, held, trust.mixed(held), band.half()))
            else:
                pending.append(_Pending(value, None, np.nan, np.nan))
        self._trust, self._band, self._pending = trust, band, pending
        return made

    def _forecast(self, start: int, made: list[_Pending], target: Array) -> Forecast:
        """Rows for the samples from `start` on; those that nothing could be known of are left out.

        In the units of the series again.
        """
        skipped = min(max(0, self.lags - 1 + self.horizon - start), len(target))
        made, target = made[skipped:], target[skipped:]
        unit = self._past.unit[0] if len(made) else 1.0
        columns = [
            (p.now, np.nan if p.changes is None else p.changes[1], p.mixed, p.half) for p in made
        ]
        now, linear, mixed, half = np.array(columns, dtype=float).reshape(-1, 4).T.copy()
        prediction = now + unit * mixed
        return Forecast(
            index=np.arange(start + skipped, start + skipped + len(made)),
            target=target.copy(),
            prediction=prediction,
            lower=prediction - unit * half,
            upper=prediction + unit * half,
            persistence=now,
            linear=now + unit * linear,
            lags=self.lags,
            horizon=self.horizon,
            interval=self.interval,
        )


def forecast(
    series: Any,
    *,
    lags: int = 10,
    horizon: int = 1,
    alpha: float | str = "auto",
    hidden: Any = "auto",
    solver: Any = None,
    inputs: Any = None,
    interval: float = 0.9,
    random_state: Any = 0,
    progress: Progress = silent,
) -> Forecast:
    """Predict every sample of a series from those before it, learning on the way.

    No prediction uses anything that would not have been known when it was made. `Forecaster` says
    how it is made, and does the same piece by piece.

    Parameters
    ----------
    series : array-like of shape (n_samples,)
        NaN where a sample is missing.
    lags : int, default=10
        How many of the latest samples to predict from.
    horizon : int, default=1
        How many samples ahead to predict.
    alpha : float or "auto", default="auto"
        How fast the hidden layer forgets, as in `DynamicOpium`; 1 never does.
    hidden : int, transformer or "auto", default="auto"
        The hidden layer, as in `ELMRegressor`.
    solver : str or solver object, optional
        What learns the weights of the hidden layer, instead of what `alpha` says.
    inputs : array-like of shape (n_samples, n_inputs), optional
        What else is known at the time of each sample, for the prediction made then.
    interval : float, default=0.9
        The part of the targets that should lie between `lower` and `upper`.
    random_state : int, default=0
        Seeds the hidden layer.
    progress : callable, optional
        Told how it goes; see `greville.progress`.

    Returns
    -------
    Forecast
        A row for every sample that could be predicted, and `horizon` more for those to come.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.forecasting import forecast
    >>> series = np.sin(np.arange(500) / 5) + 0.1 * np.random.default_rng(0).normal(size=500)
    >>> found = forecast(series)
    >>> found.index[[0, -1]], bool(abs(found.prediction[-1] - np.sin(500 / 5)) < 0.2)
    (array([ 10, 500]), True)
    >>> found.summary()["ratio"]["persistence"] < 0.8
    True
    """
    columns = _checked(series, inputs, "series")
    model = Forecaster(
        lags,
        horizon,
        alpha=alpha,
        hidden=hidden,
        solver=solver,
        interval=interval,
        random_state=random_state,
    )
    n, parts = len(columns), []
    if n < lags:
        raise ValueError(
            f"series, lags={lags!r}: {n} samples are fewer than one prediction needs; pass more, "
            "or fewer lags."
        )
    with progress("forecast", n) as advance:
        for start in range(0, n, _PIECE):
            piece = columns[start : start + _PIECE]
            parts.append(model.update(piece[:, 0], None if inputs is None else piece[:, 1:]))
            advance(len(piece))
    return Forecast.joined([*parts, model.future()])


def _chosen_solvers(alpha: Any, solver: Any) -> list[Any]:
    """What learns the weights of each hidden layer."""
    auto = isinstance(alpha, str) and alpha == "auto"
    if solver is not None:
        if not auto:
            raise ValueError(f"alpha={alpha!r}, solver={solver!r}: pass one of them.")
        return [solver]
    if isinstance(alpha, str) and not auto:
        raise ValueError(f"alpha={alpha!r}: pass 'auto' or a number >= 1 and < 2.")
    if not auto:
        check_number("alpha", alpha, low=1, high=2)
    return [
        Opium(epsilon="auto", intercept=True) if each == 1 else DynamicOpium(each, epsilon="auto")
        for each in (_MEMORIES if auto else (alpha,))
    ]


def _checked(values: Any, inputs: Any, name: str = "values") -> Array:
    """The series and the inputs as columns of one array."""
    columns = _numbers(values, name, 1)[:, None]
    if inputs is None:
        return columns
    others = _numbers(inputs, "inputs", 2)
    check_length("inputs", len(others), len(columns))
    return np.hstack([columns, others])


def _numbers(values: Any, name: str, n_dimensions: int) -> Array:
    with naming(name):
        array = np.asarray(values, dtype=np.float64)
        if array.ndim != n_dimensions:
            shape = "(n_samples,)" if n_dimensions == 1 else "(n_samples, n_inputs)"
            raise ValueError(f"got an array of shape {array.shape}; pass one of shape {shape}.")
        if np.isinf(array).any():
            raise ValueError(
                "contains infinity; pass finite numbers, and NaN where one is missing."
            )
    return array
