"""Forecasting a series while learning from it, in one pass."""

from __future__ import annotations

from itertools import chain
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from ..elm import ELMRegressor, hidden_size
from ..linalg import Array
from ..mixture import Mixture, mix
from ..solvers import Opium
from ..threads import one_thread
from ..validation import check_number, unchanged_on_error
from ._arguments import as_columns, network_solvers
from ._features import FeatureBuilder, Features
from ._interval import AdaptiveInterval
from ._learner import Learner
from ._result import Forecast

# hidden="auto": the most units. On the electrocardiogram, 200 instead of 100 improve little.
_MAX_UNITS = 300

# Predictors are weighted by about their last 1 / (1 - 0.98) = 50 errors.
_FORECAST_ERROR_DECAY = 0.98

# How many times more likely a simpler predictor is a priori: persistence and the linear model than
# the first network, and that than the next.
_PRIOR_RATIO = 3.0

# Predicted changes are clipped to this many times the largest change seen so far: models of a
# series without noise may diverge after a change point.
_CLIP_FACTOR = 2.0

# The largest number, in units of the first change, whose squares may be summed up.
_MAX_MAGNITUDE = 1e140


class _Predictions(NamedTuple):
    """Predictions of changes, one for each column of `changes`; in the units of the features."""

    now: Array  # what they start from, in the units of the series
    changes: Array  # (n_predictors, n): persistence, linear, networks; NaN if none was made
    mixed: Array
    half_width: Array

    @classmethod
    def missing(cls, n_predictors: int, n: int) -> _Predictions:
        nothing = np.full((n_predictors + 3, n), np.nan)
        return cls(nothing[0], nothing[3:], nothing[1], nothing[2])


class Forecaster:
    """Predicts a series from its own past and learns from it, piece by piece.

    At time t, with y_t seen, it predicts y_{t+horizon} from y_t, ..., y_{t-lags+1} and the other
    inputs at t. A row is learned when its target has come, and not before: the prediction of a
    sample depends on nothing later than `horizon` samples before it.

    Four predictors estimate the change from y_t: persistence (no change), a linear model, and two
    networks with a random hidden layer, one that remembers everything and one that forgets. The
    prediction is their mean, weighted by their errors on about the last fifty samples. Predicted
    changes are clipped to twice the largest change seen so far.

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
    for samples passed one by one; more in the first thousand samples. Memory does not grow.

    Missing samples (NaN) are skipped: nothing is learned from them, nothing is forgotten because
    of them, and no prediction is made while one of the lags or inputs is missing.

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
        self._solvers = network_solvers(alpha, solver)
        self._learners: list[Learner] = []  # until the number of inputs is known
        self._pending = _Predictions.missing(2, 0)

    def update(self, values: Any, inputs: Any = None) -> Forecast:
        """Learn more of the series, and return what was predicted for these samples beforehand.

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
        columns = as_columns(values, inputs)
        if self._learners and columns.shape[1] != self._n_columns:
            raise ValueError(
                f"inputs: got {columns.shape[1] - 1} columns, but this forecast was started with "
                f"{self._n_columns - 1}; pass as many."
            )
        with unchanged_on_error(*self._stateful_parts()), one_thread:
            if not self._learners:
                self._start(columns.shape[1])
            if not len(columns):
                return self._forecast(self.n_samples_seen_, self._pending, columns[:, 0])
            return self._advance(columns)

    def future(self) -> Forecast:
        """What is predicted for the `horizon` samples after the last one seen.

        Returns
        -------
        Forecast
            Its targets are NaN.
        """
        n = self.horizon if self._learners else 0
        return self._forecast(self.n_samples_seen_, self._pending, np.full(n, np.nan))

    def _stateful_parts(self) -> list[Any]:
        """The objects whose attributes an update replaces."""
        parts = chain.from_iterable(learner.stateful_parts() for learner in self._learners)
        return [self, self._features, *parts] if self._learners else [self]

    def _start(self, n_columns: int) -> None:
        self._n_columns = n_columns
        n_features = self.lags + n_columns - 1
        auto = isinstance(self.hidden, str) and self.hidden == "auto"
        hidden = hidden_size(n_features, most=_MAX_UNITS) if auto else self.hidden
        networks = [
            ELMRegressor(hidden, solver, self.random_state, standardize=True)
            for solver in self._solvers
        ]
        if not all(hasattr(network, "prequential") for network in networks):
            raise ValueError(
                f"solver={self.solver!r}: it does not learn online; pass 'opium', 'light', "
                "'dynamic', 'greville' or such an object."
            )
        linear = Opium(epsilon="auto", intercept=True)
        self._learners = [Learner(model, self.horizon) for model in (linear, *networks)]
        self._features = FeatureBuilder(self.lags, n_columns - 1)
        nothing = np.full((self.horizon, n_features), np.nan)
        self._unlearned = Features(nothing[:, 0], nothing, nothing)
        complexity = np.maximum(np.arange(1 + len(self._learners)) - 1, 0)
        self._pending = _Predictions.missing(len(complexity), self.horizon)
        self._mixture = Mixture.start(-np.log(_PRIOR_RATIO) * complexity, 1, _FORECAST_ERROR_DECAY)
        self._interval = AdaptiveInterval(self.interval)
        self._largest_change = 0.0

    def _advance(self, columns: Array) -> Forecast:
        n = len(columns)
        new = self._features.append(columns)
        if np.nanmax(np.abs(new.relative), initial=0.0) > _MAX_MAGNITUDE:
            raise ValueError(
                "values, inputs: the largest number is too far from the first for its square; "
                "pass them in other units."
            )
        # Features, and predictions, of which the first n have their targets now.
        rows = Features(*map(np.concatenate, zip(self._unlearned, new, strict=True)))
        change = new.now - rows.now[:n]
        predicted = [np.where(np.isfinite(new.relative[:, 0]), 0.0, np.nan)]
        linear, *networks = self._learners
        predicted.append(linear.learn_and_predict(rows.relative[:n], change, new.relative))
        for network in networks:
            predicted.append(network.learn_and_predict(rows.centred[:n], change, new.centred))
        made = self._mix(columns[:, 0], change, np.array(predicted))
        self._unlearned = Features(*(part[n:] for part in rows))
        self._pending = _Predictions(*(part[..., n:] for part in made))
        start, self.n_samples_seen_ = self.n_samples_seen_, self.n_samples_seen_ + n
        return self._forecast(start, made, columns[:, 0])

    def _mix(self, values: Array, change: Array, predicted: Array) -> _Predictions:
        """The pending predictions, followed by those made at the times of `values`.

        `change` has the targets of the first of them, as many as there are values.
        """
        n, pending = len(values), self._pending
        sizes = np.fmax.accumulate([self._largest_change, *np.abs(change)])
        limits = _CLIP_FACTOR * sizes[1:]
        clipped = np.clip(predicted, -limits, limits)
        changes = np.hstack([pending.changes, clipped])
        errors = change - changes[:, :n]
        known = np.isfinite(errors).all(axis=0)
        counted = np.where(known, errors, 0.0)[:, :, None]
        self._mixture, weights = self._mixture.update_many(counted, known)
        mixed = np.append(pending.mixed, mix(weights[1:], clipped[:, :, None]))
        half_widths, interval = pending.half_width.tolist(), self._interval.copy()
        absolute = np.where(known, np.abs(change - mixed[:n]), np.nan).tolist()
        for k, has_prediction in enumerate(np.isfinite(clipped[0]).tolist()):
            if not isnan(absolute[k]):
                interval.learn(absolute[k], half_widths[k])
            half_widths.append(interval.half_width() if has_prediction else np.nan)
        self._interval, self._largest_change = interval, float(sizes[-1])
        return _Predictions(np.append(pending.now, values), changes, mixed, np.array(half_widths))

    def _forecast(self, start: int, made: _Predictions, target: Array) -> Forecast:
        """The first of these predictions as rows for the samples from `start` on.

        Left out are the first samples, which have too few before them for a prediction.
        """
        skipped = min(max(0, self.lags - 1 + self.horizon - start), len(target))
        now, changes, mixed, half_width = (part[..., skipped : len(target)] for part in made)
        unit = self._features.unit[0] if self._learners else 1.0
        prediction = now + unit * mixed
        return Forecast(
            index=np.arange(start + skipped, start + len(target)),
            target=target[skipped:].copy(),
            prediction=prediction,
            lower=prediction - unit * half_width,
            upper=prediction + unit * half_width,
            persistence=now.copy(),
            linear=now + unit * changes[1],
            lags=self.lags,
            horizon=self.horizon,
            interval=self.interval,
        )
