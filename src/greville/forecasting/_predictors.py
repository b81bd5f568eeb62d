"""Predictors of the next samples from given lags, mixed by their errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from ..backend import Array
from ._features import FeatureBuilder, Features
from ._interval import AdaptiveInterval
from ._learner import Learner
from ._trust import Trust

# The first errors of a model say little about the later ones: error number k counts k / 50.
_LEARNING_ERRORS = 50

# How many times more likely a simpler predictor is a priori: the rules and the linear models than
# the first network, and that than the others.
_PRIOR_RATIO = 3.0

# The median is far off wherever a series goes up or down: as unlikely as the last network.
_MEDIAN = 2

# Predicted changes are clipped to this many times the largest change seen so far: models of a
# series without noise may diverge after a change point.
_CLIP_FACTOR = 2.0

# The largest number, in units of the first change, whose squares may be summed up.
_MAX_MAGNITUDE = 1e140


class Predictions(NamedTuple):
    """Predictions made at n times for each of the next steps, in the units of the series."""

    last: Array  # (n,): the last known sample then, the prediction that nothing changes
    seasonal: Array  # (n, n_steps), as all others: what was one season before, or the last sample
    linear: Array  # NaN if none was made
    mixed: Array
    half_width: Array

    @classmethod
    def nothing(cls, n_steps: int) -> Predictions:
        """Return predictions of NaN for `n_steps` times before the first sample."""
        nothing = np.full((n_steps, n_steps), nan)
        return cls(nothing[:, 0], nothing, nothing, nothing, nothing)

    def from_time(self, k: int) -> Predictions:
        return Predictions(*(part[k:] for part in self))

    @classmethod
    def concatenated(cls, parts: Sequence[Predictions]) -> Predictions:
        """The predictions of several parts, one after the other."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


class _Changes(NamedTuple):
    """The predictors' outputs, as changes of the series in the units of the features."""

    predicted: Array  # (n, n_predictors, n_steps)
    mixed: Array  # (n, n_steps)
    half_width: Array

    def from_time(self, k: int) -> _Changes:
        return _Changes(*(part[k:] for part in self))

    def then(self, more: _Changes) -> _Changes:
        return _Changes(*map(np.concatenate, zip(self, more, strict=True)))


class Model(NamedTuple):
    """An online model of a series, with an output for every step."""

    model: Any
    inputs: str  # the part of the features that it learns from
    complexity: tuple[int, int]  # for one step ahead, and for later ones
    before: str | None = None  # on the curve: the part whose differences it predicts


class Predictors:
    """Rules, linear models and networks, and their weighted mean.

    Each predicts the change from a sample to each of the next `horizon` ones; a model has an output
    for every step. Every step has weights of the predictors and an interval of its own, which
    learn each error when its target comes.

    Parameters
    ----------
    features : FeatureBuilder
    models : sequence of Model
        The first is linear in the lags.
    horizon : int
    interval : float
    """

    def __init__(
        self, features: FeatureBuilder, models: Sequence[Model], horizon: int, interval: float
    ) -> None:
        self._features, self._horizon = features, horizon
        self._models = models
        self._learners = [Learner(each.model, horizon) for each in models]
        self._trust = [
            Trust.start(-np.log(_PRIOR_RATIO) * self._complexity(step))
            for step in range(1, horizon + 1)
        ]
        self._intervals = [AdaptiveInterval(interval) for _ in range(horizon)]
        self._largest_changes = np.zeros(horizon)
        self._n_errors = np.zeros(horizon, int)
        self._lowest, self._highest = np.inf, -np.inf
        self._last = self._now = nan
        self._missing_for = 0
        # What was known and predicted at the last times, whose targets are still to come.
        self._unlearned = features.nothing(horizon)
        nothing = np.full((horizon, len(self._complexity(1)) + 2, horizon), nan)
        self._pending = _Changes(nothing[:, 2:], nothing[:, 0], nothing[:, 1])

    def _complexity(self, step: int) -> Array:
        """Return a penalty for each predictor's complexity, in the order of `_predicted`.

        Errors of later steps are alike for as many samples, so that their means say less, while
        what a model has learned from overlapping steps is less certain than it seems.
        """
        later = step > 1
        season = self._features.has_season
        naive = [-1 if later else 0] * (2 if season else 1)
        rules = [*naive, *([0] if season else []), _MEDIAN, 0]
        return np.array([*rules, *(each.complexity[later] for each in self._models)])

    def stateful_parts(self) -> list[Any]:
        """The objects whose attributes are replaced while they learn."""
        parts = chain.from_iterable(learner.stateful_parts() for learner in self._learners)
        return [self, *self._features.stateful_parts(), *parts]

    def advance(self, columns: Array) -> Predictions:
        """Learn these samples, and return what is predicted after each of them.

        In the place of a missing sample stands what was predicted for it.
        """
        nothing = Predictions.nothing(self._horizon).from_time(self._horizon)
        return Predictions.concatenated([nothing, *map(self._advance, _cut_at_gaps(columns))])

    def _advance(self, columns: Array) -> Predictions:
        """Return new predictions after samples without gaps, or after one missing sample."""
        n = len(columns)
        expected = self._expected() if isnan(columns[0, 0]) else None
        new = self._features.append(columns, expected)
        if np.nanmax(np.abs(new.relative), initial=0.0) > _MAX_MAGNITUDE:
            raise ValueError(
                "values, inputs: the largest number is too far from the first for its square; "
                "pass them in other units."
            )
        # Row i has its last target at the new sample i. A row whose own sample is missing is not
        # learned: its changes would start from a guess.
        rows = self._unlearned.then(new)
        predicted = self._predicted(rows, new)
        self._note_range(columns[:, 0])
        made = self._mix(rows, predicted)
        self._unlearned, self._pending = rows.from_time(n), self._pending.then(made).from_time(n)
        self._now = columns[-1, 0] if expected is None else expected
        now = columns[:, :1] if expected is None else np.array([[expected]])
        last = np.full(n, self._last) if self._missing_for else columns[:, 0]
        unit, by_linear = self._features.unit[0], made.predicted[:, self._features.n_rules]
        seasonal = new.rules[:, :, int(self._features.has_season)]
        return Predictions(
            last,
            now + unit * seasonal,
            now + unit * by_linear,
            now + unit * made.mixed,
            unit * made.half_width,
        )

    def _predicted(self, rows: Features, new: Features) -> Array:
        """Return the changes that each predictor predicts, of shape (n, n_predictors, n_steps)."""
        n = len(new.seen)

        def targets(series: Array, before: Array) -> Array:
            """Return each row's next samples minus `before`; NaN if its own sample is missing."""
            ahead = np.lib.stride_tricks.sliding_window_view(series[1:], self._horizon)
            return np.where(np.isnan(series[:n, None]), nan, ahead - before[:n])

        changes = targets(rows.seen, rows.seen[:, None])
        predicted = list(np.moveaxis(new.rules, 2, 0))
        for learner, (_, name, _, base) in zip(self._learners, self._models, strict=True):
            inputs = getattr(rows, name)
            if base is None:
                predicted.append(learner.learn_and_predict(inputs[:n], changes, inputs[-n:]))
                continue
            before = getattr(rows, base)
            differences = learner.learn_and_predict(
                inputs[:n], targets(rows.curved, before), inputs[-n:]
            )
            values = self._features.from_curve(before[-n:] + differences)
            predicted.append(values - new.now[:, None])
        # Where one cannot predict yet, nothing changes.
        return np.stack(
            [np.where(np.isnan(each), predicted[0], each) for each in predicted], axis=1
        )

    def _expected(self) -> float | None:
        """Return the expected next sample, limited by those seen; None before the first sample."""
        if isnan(self._last):
            return None
        unit, change = self._features.unit[0], self._pending.mixed[-1, 0]
        if isnan(change):
            return self._last
        margin = unit * _CLIP_FACTOR * self._largest_changes[0]
        low, high = self._lowest - margin, self._highest + margin
        return float(np.clip(self._now + unit * change, low, high))

    def _note_range(self, values: Array) -> None:
        self._missing_for = self._missing_for + 1 if isnan(values[0]) else 0
        if not self._missing_for:
            self._last = float(values[-1])
            self._lowest = min(self._lowest, float(values.min()))
            self._highest = max(self._highest, float(values.max()))

    def _mix(self, rows: Features, predicted: Array) -> _Changes:
        """The clipped and the mixed predictions and their half widths at the new times.

        `rows` has the last `horizon` times before them too.
        """
        n, h = len(predicted), self._horizon
        clipped, mixed, half_width = np.empty(predicted.shape), np.empty((n, h)), np.empty((n, h))
        trusts, intervals, largest, counts = [], [], [], []
        for step in range(1, h + 1):
            # For each new sample, what was predicted for it so many steps before.
            k, before = step - 1, slice(h - step, h - step + n)
            sizes = np.abs(rows.seen[h:] - rows.seen[before])
            sizes = np.fmax.accumulate([self._largest_changes[k], *sizes])
            limits = _CLIP_FACTOR * sizes[1:, None]
            clipped[:, :, k] = np.clip(predicted[:, :, k], -limits, limits)
            changes = np.concatenate([self._pending.predicted[:, :, k], clipped[:, :, k]])[before]
            change = rows.seen[h:] - rows.now[before]
            errors = change[:, None] - changes
            complete = np.isfinite(errors).all(axis=1)
            n_errors = self._n_errors[k] + np.cumsum(complete)
            counted = complete * np.minimum(1.0, n_errors / _LEARNING_ERRORS)
            trust, weights = self._trust[k].update_many(np.abs(errors), counted)
            mixed[:, k] = (weights * clipped[:, :, k]).sum(axis=1)
            earlier = np.concatenate([self._pending.mixed[:, k], mixed[:, k]])[before]
            absolute = np.where(complete, np.abs(change - earlier), nan)
            interval, half_width[:, k] = self._intervals[k].advance(
                absolute, self._pending.half_width[before.start :, k], step
            )
            trusts.append(trust)
            intervals.append(interval)
            largest.append(sizes[-1])
            counts.append(n_errors[-1])
        self._trust, self._intervals = trusts, intervals
        self._largest_changes = np.array(largest)
        self._n_errors = np.array(counts)
        if self._missing_for:  # as far from the last sample as a later step is without a gap
            later = np.minimum(np.arange(h) + self._missing_for, h - 1)
            half_width = half_width[:, later]
        half_width[np.isnan(mixed)] = nan
        return _Changes(clipped, mixed, half_width)


def _cut_at_gaps(columns: Array) -> Iterator[Array]:
    """Yield pieces in which no sample is missing, and missing samples one by one."""
    missing = np.flatnonzero(np.isnan(columns[:, 0]))
    for start, stop in pairwise(sorted({0, *missing, *(missing + 1), len(columns)})):
        yield columns[start:stop]
