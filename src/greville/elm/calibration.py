"""Calibration: how sharp probabilities are, from scores of rows that were not learned.

The probabilities of the classes are ``softmax(a * scores)``. The one number a, the sharpness, is
that with the least log loss on scores that a row got before it was learned, or without it. In
`fit` these are leave-one-out scores of some of the rows, in a stream the scores that the rows of a
*window* had before each was learned.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp
from typing import Annotated, Any

import numpy as np

from ..backend import Array
from ..fields import array, require, stored

# The sharpness is sought among these, and between them.
_SHARPNESS = np.geomspace(0.5, 200, 28)

# What it is without evidence, for so many classes: this times their root. Settled on KEEL's data.
_USUAL, _STRENGTH = 2.2, 1.0

# The first window begins after so many rows, the others where these have doubled. A window is as
# long as what came before it, up to so many rows.
_FIRST_WINDOW, _LONGEST_WINDOW = 128, 256

# Rows of a `fit` whose leave-one-out scores are used.
_ROWS_OF_FIT = 1024

# Scores whose log losses are computed together.
_NUMBERS_AT_ONCE = 1 << 15

# No class is less likely than exp(-50) times the most likely one: none is impossible.
_FAR = 50.0


def _none() -> Array:
    return np.zeros(len(_SHARPNESS))


def _check_fields(calibration: Calibration) -> None:
    for losses in (calibration.losses, calibration.so_far):
        require(losses.shape == _SHARPNESS.shape, "the losses do not fit")


@stored(check=_check_fields)
@dataclass(frozen=True, eq=False)
class Calibration:
    """The log loss for each sharpness; an immutable value.

    Attributes
    ----------
    losses : ndarray
        Summed over the rows of the last window that is complete, or of a `fit`.
    so_far : ndarray
        Summed over the rows of the present window.
    """

    losses: Annotated[Array, array(1)] = field(default_factory=_none)
    so_far: Annotated[Array, array(1)] = field(default_factory=_none)

    def sharpness(self, n_classes: int) -> float:
        """Return the factor of scores before the softmax."""
        usual = _USUAL * np.sqrt(n_classes)
        sought = np.log(_SHARPNESS)
        cost = self.losses + _STRENGTH * (sought - np.log(usual)) ** 2
        best = int(np.clip(cost.argmin(), 1, len(cost) - 2))
        left, middle, right = cost[best - 1 : best + 2]
        bend = left - 2 * middle + right
        step = 0.5 * (left - right) / bend if bend > 0 else 0.0
        spacing = sought[1] - sought[0]
        return float(np.exp(sought[best] + spacing * np.clip(step, -1, 1)))

    def after(self, n_seen: int, losses: Array, n: int) -> Calibration:
        """Return the calibration after n more rows of a window, which follow `n_seen` others."""
        window = window_at(n_seen)
        if window is None or n == 0:
            return self
        so_far = losses if n_seen == window[0] else self.so_far + losses
        if n_seen + n < window[1]:
            return replace(self, so_far=so_far)
        return Calibration(losses=so_far)

    def without_window(self) -> Calibration:
        """Drop the window's sums, after rows were removed or merged."""
        return replace(self, so_far=_none())


def window_at(n_seen: int) -> tuple[int, int] | None:
    """Return the bounds of the calibration window that contains the next row.

    Examples
    --------
    >>> from greville.elm.calibration import window_at
    >>> window_at(127), window_at(128), window_at(1100), window_at(1280)
    (None, (128, 256), (1024, 1280), None)
    """
    if n_seen < _FIRST_WINDOW:
        return None
    start = _FIRST_WINDOW << ((n_seen // _FIRST_WINDOW).bit_length() - 1)
    stop = start + min(start, _LONGEST_WINDOW)
    return (start, stop) if n_seen < stop else None


def rows_until_bound(n_seen: int) -> int:
    """Return the number of rows until a calibration window begins or ends."""
    window = window_at(n_seen)
    if window is not None:
        return window[1] - n_seen
    if n_seen < _FIRST_WINDOW:
        return _FIRST_WINDOW - n_seen
    return (_FIRST_WINDOW << (n_seen // _FIRST_WINDOW).bit_length()) - n_seen


def rows_of_fit(n: int) -> Array:
    """Choose the rows of a `fit` whose leave-one-out scores calibrate: at equal distances."""
    n_used = min(n, _ROWS_OF_FIT)
    return np.arange(n_used) * n // n_used


def log_losses(scores: Array, labels: Array, weight: Array | None = None) -> Array:
    """The log loss for each sharpness, summed over rows.

    A score of -inf is that of a class that was not known yet; rows of such a class do not count.
    """
    scores = np.asarray(scores, np.float64)
    own = scores[np.arange(len(labels)), labels]
    counts = np.isfinite(own)
    if weight is not None:
        counts = counts & (weight > 0)
    scores, own = scores[counts], own[counts]
    top = scores.max(axis=1, keepdims=True, initial=-np.inf)
    below = np.maximum(scores - top, -1e6, where=np.isfinite(scores), out=scores - top)
    weight = np.ones(len(own)) if weight is None else weight[counts]
    losses, length = np.zeros(len(_SHARPNESS)), max(1, _NUMBERS_AT_ONCE // scores.shape[1])
    for start in range(0, len(own), length):
        some = slice(start, start + length)
        odds = np.exp(np.multiply.outer(_SHARPNESS, below[some])).sum(axis=2)
        each = np.log(odds) - np.multiply.outer(_SHARPNESS, own[some] - top[some, 0])
        losses += np.minimum(each, _FAR) @ weight[some]
    return losses


def probabilities_of_one(scores: list[float], sharpness: float) -> list[float]:
    """What `probabilities` gives for one row, in numbers of Python: faster for a few classes."""
    top = max(scores)
    weights = [exp(max(sharpness * (score - top), -_FAR)) for score in scores]
    total = sum(weights)
    return [weight / total for weight in weights]


def probabilities(scores: Array, sharpness: Any) -> Array:
    """``softmax(sharpness * scores)`` of each row, with no class impossible whose score is finite.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
    sharpness : float, or ndarray of shape (n_samples,)
    """
    below = scores - scores.max(axis=1, keepdims=True)
    below *= np.reshape(sharpness, (-1, 1)).astype(scores.dtype)
    np.maximum(below, -_FAR, out=below, where=np.isfinite(below))
    np.exp(below, out=below)
    below /= below.sum(axis=1, keepdims=True)
    return below
