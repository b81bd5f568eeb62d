"""Targets that come in order: predictions of the model mixed with those from the last targets.

A model sees the inputs of a row alone. Where targets come in order, the last of them may say more:
a meter reads about what it read a minute ago, and a machine that is idle stays so for a while. A
`Follower` (of numbers) or `LabelFollower` has the predictions of a model and the targets, and mixes
several predictions by their recent errors. So it is never much worse than the best of them, and
much better than the model alone where the level wanders, or labels stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, inf, isfinite, log, sqrt
from typing import Annotated, Any

from numpy.typing import NDArray

from .fields import Kind, count, each, finite, flag, nothing, require, stored, text
from .mixture import weights_for_one_output

Array = NDArray[Any]
Numbers = tuple[float, ...]

# What is predicted from the last errors of the model: it is moved by their mean, in which the last
# error counts so much, and all before it the rest.
_RATES = (0.5, 0.15)

# The model, the last target and the mean of all; and the model, moved at each rate.
_N_EXPERTS = 3 + len(_RATES)

# Errors count less by this factor with every row: about a hundred of them matter.
_DECAY = 0.99

# How many times likelier the last target and the mean are taken to be than what comes from the
# model, before there were errors; and the model, where that has learned other rows before, than all
# others. So there must be a reason to leave what is simple.
_LIKELIER = log(20.0)
_LOG_PRIOR = (0.0, _LIKELIER, _LIKELIER, *(0.0 for _ in _RATES))
_LOG_PRIOR_OF_TRAINED = (_LIKELIER, *(0.0 for _ in range(_N_EXPERTS - 1)))

# Predictions end so far, as a part of the range of the n targets so far, outside of it: a tenth and
# 10/n, since the range of a few says little.
_MARGIN, _MARGIN_OF_FEW = 0.1, 10.0

# A model that has learned other rows before is clipped from so many targets on.
_FEWEST_TO_CLIP = 30

# The weight of errors where none has counted: it must be positive.
_NO_ERRORS = 1e-12

# Squares that are larger count as much; targets are not larger.
_LARGEST, _LARGEST_TARGET = 1e300, 1e150


def _check_fields(follower: Follower) -> None:
    fits = len(follower.squares) == _N_EXPERTS and len(follower.levels) == len(_RATES)
    require(fits, "a follower has another number of experts")
    fits = follower.n <= 1 or follower.weight > 0
    require(fits, "a follower has targets and no errors")
    sizes = (*follower.squares, follower.weight)
    require(min(sizes) >= 0 and follower.low <= follower.high, "a follower has a negative size")


@stored(check=_check_fields)
@dataclass(frozen=True)
class Follower:
    """Five predictions for targets that come in order, mixed by their recent errors.

    They are that of the model; the last target; the mean of all targets; and the model's moved by
    the mean of its last errors, at two rates. All are clipped to the range of the n targets so far
    and a part of it, 1/10 + 10/n, on either side. Their weights are those of `Mixture`, after one
    more row on which all had the mean error, so that none is certain after a few rows. An
    immutable value: `learn` returns another.

    Parameters
    ----------
    trained : bool
        Whether the model has learned other rows before the first of these: it is then trusted more
        until errors say otherwise, and clipped only after 30 targets.

    Attributes
    ----------
    n : int
        How many targets came.
    last, mean, low, high : float
        The last of them, their mean, the smallest and the largest.
    levels : tuple of float
        The means of the model's last errors, one for each rate.
    squares, weight : tuple of float, float
        Of the `Mixture`: sums of squared errors of each prediction, and of their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor
    >>> from greville.following import Follower
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = X[:, 0] + np.cumsum(0.1 * rng.normal(size=500))  # the level wanders
    >>> follower, errors = Follower(), []
    >>> for p, target in zip(ELMRegressor(random_state=0).prequential(X, y), y):
    ...     errors.append([target - p, target - follower.predict(p)])
    ...     follower = follower.learn(p, target)
    >>> alone, followed = np.sqrt(np.mean(np.square(errors)[100:], axis=0))
    >>> bool(followed < 0.5 * alone)
    True
    """

    trained: Annotated[bool, flag] = False
    n: Annotated[int, count] = 0
    last: Annotated[float, finite] = 0.0
    mean: Annotated[float, finite] = 0.0
    low: Annotated[float, finite] = 0.0
    high: Annotated[float, finite] = 0.0
    levels: Annotated[Numbers, each(finite, tuple)] = (0.0,) * len(_RATES)
    squares: Annotated[Numbers, each(finite, tuple)] = (0.0,) * _N_EXPERTS
    weight: Annotated[float, finite] = 0.0

    def predict(self, predicted: float, std: float | None = None) -> float | tuple[float, float]:
        """The prediction for the next target.

        Parameters
        ----------
        predicted : float
            What the model predicts; NaN where it predicts nothing.
        std : float, optional
            The standard deviation of that.

        Returns
        -------
        predicted : float
            What the model predicts as long as no target has come.
        std : float
            Only if `std` is given: from those of the five, and how far these are apart.
        """
        if self.n == 0:
            return predicted if std is None else (predicted, std)
        values, weights = self._experts(predicted), self._weights
        mean = sum([p * value for p, value in zip(weights, values, strict=True)])
        if std is None:
            return mean
        own = std * std if isfinite(predicted) else inf
        squares, weight = self._moderate_errors()
        others = [own if self.n == 1 else square / weight for square in squares]
        variances = [own, *others[1:]] if isfinite(predicted) else others
        parts = zip(weights, values, variances, strict=True)
        variance = sum(
            [p * (v + (value - mean) * (value - mean)) for p, value, v in parts if p > 0]
        )
        return mean, sqrt(variance)

    def meet(self, predicted: float, target: float) -> Follower:
        """Learn a target for which the model could only guess, without the error of that guess."""
        learned = self.learn(predicted, target)
        return replace(
            learned, levels=self.levels, squares=self.squares, weight=max(self.weight, _NO_ERRORS)
        )

    def learn(self, predicted: float, target: float, since: Follower | None = None) -> Follower:
        """Learn one more target, and the model's earlier prediction of that target.

        Parameters
        ----------
        predicted, target : float
        since : Follower, optional
            What was known when the row had to be predicted, if other targets came together with
            this one: the last target and the last errors are then those of that moment. Otherwise
            history that is sorted by its target would make the last target look perfect.
        """
        n, target = self.n, float(target)
        if n == 0:
            return replace(self, n=1, last=target, mean=target, low=target, high=target)
        values = self._experts(predicted, since)
        errors = [target - value for value in values]
        error = target - predicted if isfinite(predicted) else 0.0
        levels = zip(self.levels, _RATES, strict=True)
        squares = zip(self.squares, errors, strict=True)
        return Follower(
            self.trained,
            n + 1,
            target,
            self.mean + (target - self.mean) / (n + 1),
            min(self.low, target),
            max(self.high, target),
            tuple([level + rate * (error - level) for level, rate in levels]),
            tuple([min(_DECAY * square + e * e, _LARGEST) for square, e in squares]),
            _DECAY * self.weight + 1.0,
        )

    def _experts(self, predicted: float, since: Follower | None = None) -> list[float]:
        """The five predictions, clipped; those from the last targets as of `since`."""
        model = predicted if isfinite(predicted) else self.mean
        last, levels = self.last, self.levels
        if since is not None:
            last, levels = since.last if since.n else self.mean, since.levels
        values = [model, last, self.mean, *[model + level for level in levels]]
        if self.trained and self.n < _FEWEST_TO_CLIP:
            return values
        margin = (_MARGIN + _MARGIN_OF_FEW / self.n) * (self.high - self.low)
        low, high = self.low - margin, self.high + margin
        return [low if v < low else high if v > high else v for v in values]

    @cached_property
    def _weights(self) -> list[float]:
        """Return the weight of each prediction."""
        log_prior = _LOG_PRIOR_OF_TRAINED if self.trained else _LOG_PRIOR
        return weights_for_one_output(log_prior, *self._moderate_errors())

    def _moderate_errors(self) -> tuple[Sequence[float], float]:
        """Return squared errors and their weight, with one more row on which all were equal.

        Two targets that happen to be the same would else make the last target certain.
        """
        if self.weight <= _NO_ERRORS:
            return self.squares, self.weight
        usual = sum(self.squares) / (_N_EXPERTS * self.weight)
        return [square + usual for square in self.squares], self.weight + 1.0


# Labels are followed up to so many.
_MOST_LABELS = 100

# The model; that the label stays; and the model, moved by that. The model is a priori twenty times
# as likely as the others.
_LOG_PRIOR_OF_LABELS = (0.0, -_LIKELIER, -_LIKELIER)


def _check_labels(follower: LabelFollower) -> None:
    labels, losses = follower.labels, follower.losses
    require(not labels or follower.last in labels, "a follower has no last label")
    fits = len(losses) == len(_LOG_PRIOR_OF_LABELS)
    require(fits and min(*losses, follower.stays, follower.weight) >= 0, "a follower has no labels")


_COUNTS = Kind(
    "how often each label came",
    lambda value: type(value) is dict and all(type(n) is int and n > 0 for n in value.values()),
)


@stored(check=_check_labels)
@dataclass(frozen=True)
class LabelFollower:
    """Three predictions for labels that come in order, mixed by their recent errors.

    They are the probabilities of the model; those of a label that stays as often as it has done
    lately, and else is drawn from all so far; and the model's, moved by that: by Bayes' rule, where
    inputs and the last label say different things about the next. An immutable value: `learn`
    returns another. More than a hundred labels are not followed.

    Attributes
    ----------
    labels : dict
        How often each label came.
    last : label
    stays, weight : float
        How many of the last hundred labels or so were that before them, and of how many.
    losses : tuple of float
        The sums of the squared errors of the three; an old one counts less.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.following import LabelFollower
    >>> follower = LabelFollower()
    >>> for label in "aaaaaaaaaabbbbbbbbbb" * 3:
    ...     follower = follower.learn(["a", "b"], [0.5, 0.5], label)
    >>> follower.predict(["a", "b"], [0.6, 0.4])[1] > 0.8
    True
    """

    labels: Annotated[dict[Any, int], _COUNTS] = field(default_factory=dict)
    last: Annotated[Any, nothing | text | flag | finite] = None
    stays: Annotated[float, finite] = 0.0
    weight: Annotated[float, finite] = 0.0
    losses: Annotated[Numbers, each(finite, tuple)] = (0.0,) * len(_LOG_PRIOR_OF_LABELS)

    @cached_property
    def n(self) -> int:
        """Number of labels so far."""
        return sum(self.labels.values())

    def predict(self, classes: Sequence[Any], proba: Sequence[float]) -> list[float]:
        """The probabilities of some classes for the next row.

        Parameters
        ----------
        classes : sequence of labels
        proba : sequence of float
            What the model says of them, and this, as long as no label has come.
        """
        if not self.weight or len(self.labels) > _MOST_LABELS:
            return list(proba)
        own, stay, move = self._weights
        parts = zip(*self._experts(classes, proba), strict=True)
        return [own * p + stay * q + move * r for p, q, r in parts]

    def meet(self, target: Any) -> LabelFollower:
        """Learn a label for which the model could only guess, without the error of that guess."""
        return self._counted(target, self, self.losses)

    def learn(
        self,
        classes: Sequence[Any],
        proba: Sequence[float],
        target: Any,
        since: LabelFollower | None = None,
    ) -> LabelFollower:
        """Learn one more label, and the probabilities that the model had predicted before it.

        Parameters
        ----------
        classes, proba
            As for `predict`.
        target : label
        since : LabelFollower, optional
            What was known when the row had to be predicted, if other labels came together with
            this one. Otherwise history that is sorted by its labels would make them all stay.
        """
        since, losses = self if since is None else since, self.losses
        if since.labels and target in classes and len(self.labels) <= _MOST_LABELS:
            place = classes.index(target)
            experts = since._experts(classes, proba)
            errors = [sum([p * p for p in each]) - 2 * each[place] + 1 for each in experts]
            losses = tuple([_DECAY * loss + e for loss, e in zip(losses, errors, strict=True)])
        return self._counted(target, since, losses)

    def _counted(self, target: Any, since: LabelFollower, losses: Numbers) -> LabelFollower:
        """Count one more label; `since` is the follower with the label before it."""
        labels = {**self.labels, target: self.labels.get(target, 0) + 1}
        if not since.labels:
            return LabelFollower(labels, target, self.stays, self.weight, losses)
        stays = _DECAY * self.stays + (since.last == target)
        return LabelFollower(labels, target, stays, _DECAY * self.weight + 1.0, losses)

    def _experts(
        self, classes: Sequence[Any], proba: Sequence[float]
    ) -> tuple[Sequence[float], Sequence[float], Sequence[float]]:
        """The three predictions, each with a sum of one."""
        before, staying, factors = vars(self).get("_staying", (None, (), ()))
        if before is not classes:  # two of these follow only from the labels so far
            total = self.n + len(classes)
            usual = (self.labels[self.last] + 1.0) / total
            stay = (self.stays + usual) / (self.weight + 1.0)
            change = (1.0 - stay) / max(1.0 - usual, 1e-9)
            factors = [stay / usual if label == self.last else change for label in classes]
            often = [(self.labels.get(label, 0) + 1.0) / total for label in classes]
            staying = [f * p for f, p in zip(factors, often, strict=True)]
            vars(self)["_staying"] = classes, staying, factors
        moved = [f * p for f, p in zip(factors, proba, strict=True)]
        scale = 1.0 / max(sum(moved), 1e-300)
        return proba, staying, [scale * p for p in moved]

    @cached_property
    def _weights(self) -> list[float]:
        """Return the weight of each prediction."""
        logs = [p - loss for p, loss in zip(_LOG_PRIOR_OF_LABELS, self.losses, strict=True)]
        top = max(logs)
        weights = [exp(each - top) for each in logs]
        total = sum(weights)
        return [each / total for each in weights]
