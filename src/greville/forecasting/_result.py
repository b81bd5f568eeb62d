"""The predictions of a forecast, and a summary of their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..backend import Array
from ._verdict import SIMPLE, verdict

# Samples that are left out of the summary, after as many predictions as there are lags.
_BURN_IN = 20

RESULT_COLUMNS = (
    "index",
    "step",
    "target",
    "prediction",
    "lower",
    "upper",
    "persistence",
    "seasonal",
    "linear",
)


def first_that_counts(lags: int, horizon: int) -> int:
    """Return the index of the first sample whose error counts; earlier ones are for learning."""
    return 2 * lags - 1 + horizon + _BURN_IN


@dataclass(frozen=True, eq=False)
class Forecast:
    """Predictions of a series, each made `step` samples before its target.

    For a sample that has come this is the `horizon`; those to come are 1, 2, ... `horizon` steps
    after the last one.

    Attributes
    ----------
    index : ndarray of int
        The number of the predicted sample, counted from 0.
    target : ndarray
        Its value; NaN where it is missing or still to come.
    prediction : ndarray
        NaN before as many samples as lags have come.
    lower, upper : ndarray
        The interval; NaN until 20 errors are known.
    persistence : ndarray
        The last known sample at the time of the prediction: that nothing changes.
    linear : ndarray
        The prediction of a linear model of the same lags and inputs, learned in the same way.
    lags, horizon : int
        How many of the latest samples were predicted from, and how many steps ahead.
    interval : float
        The part of the targets that the interval should hold.
    step : ndarray of int
        How many samples before its target each prediction was made.
    seasonal : ndarray
        The last known sample a whole number of seasons before the target: that the last season
        repeats itself. As `persistence` while no season was found.

    Examples
    --------
    >>> import numpy as np
    >>> from greville.forecasting import forecast
    >>> result = forecast(np.sin(np.arange(300) / 5), lags=10)
    >>> result.target[:2].round(2), result.prediction[-1].round(2)
    (array([0.91, 0.81]), np.float64(-0.3))
    """

    index: Array
    target: Array
    prediction: Array
    lower: Array
    upper: Array
    persistence: Array
    linear: Array
    lags: int
    horizon: int
    interval: float
    step: Array = None  # type: ignore[assignment]
    seasonal: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.step is None:
            object.__setattr__(self, "step", np.full(len(self.index), self.horizon))
        if self.seasonal is None:
            object.__setattr__(self, "seasonal", self.persistence)

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, rows: slice) -> Forecast:
        """Return some of the rows."""
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in RESULT_COLUMNS}
        return replace(self, **columns)

    @classmethod
    def concatenated(cls, parts: Sequence[Forecast]) -> Forecast:
        """Pieces of one forecast, one after the other."""
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in RESULT_COLUMNS
        }
        return replace(parts[0], **columns)

    @property
    def burn_in(self) -> int:
        """Index of the first sample that counts in the summary; earlier ones are for learning."""
        return first_that_counts(self.lags, self.horizon)

    def summary(self) -> dict[str, Any]:
        """Return the errors of the predictions, and those of simpler methods.

        Returns
        -------
        summary : dict
            ``n``, the samples that count: those from number ``burn_in`` on with a target and all
            predictions; ``rms`` and ``mean_absolute`` errors of "greville", "persistence",
            "seasonal" and "linear"; ``ratio``, the rms error next to those of the other three;
            ``interval`` and ``coverage``, the part of the targets it should hold and did; and
            ``verdict``, what the mean absolute errors mean, in words.

        Examples
        --------
        >>> import numpy as np
        >>> from greville.forecasting import forecast
        >>> series = np.cumsum(np.random.default_rng(0).normal(size=500))  # a random walk
        >>> print(forecast(series).summary()["verdict"])  # doctest: +ELLIPSIS
        The mean absolute error is as large as that of persistence and ...
        """
        predictions = {
            "greville": self.prediction,
            "persistence": self.persistence,
            "seasonal": self.seasonal,
            "linear": self.linear,
        }
        errors = np.array([self.target - each for each in predictions.values()])
        counts = np.isfinite(errors).all(axis=0) & (self.index >= self.burn_in)
        errors = errors[:, counts]
        n = errors.shape[1]
        largest = np.abs(errors).max(initial=0.0) or 1.0  # so that no square under- or overflows
        rms = largest * np.sqrt(_mean((errors / largest) ** 2))
        by_name = dict(zip(predictions, rms.tolist(), strict=True))
        ratio = {name: _ratio(rms[0], by_name[name]) for name in SIMPLE}
        absolute = dict(zip(predictions, _mean(np.abs(errors)).tolist(), strict=True))
        stated = counts & np.isfinite(self.lower)
        inside = (self.lower <= self.target) & (self.target <= self.upper)
        return {
            "n": n,
            "burn_in": self.burn_in,
            "rms": by_name,
            "mean_absolute": absolute,
            "ratio": ratio,
            "interval": self.interval,
            "coverage": float(_mean(inside[stated])),
            "verdict": verdict(absolute, n, self.burn_in),
        }

    def plot(self, path: str | Path | None = None, name: str = "series") -> Any:
        """A picture of the predictions and of their errors; needs Matplotlib.

        Parameters
        ----------
        path : path, optional
            Where to save it; the ending of the name says in which format.
        name : str, default="series"
            The name of the series.

        Returns
        -------
        figure : matplotlib.figure.Figure
        """
        from ._draw import draw

        figure = draw(self, name)
        if path is not None:
            figure.savefig(path, dpi=150)
        return figure


def _mean(values: Array) -> Any:
    """Return the mean over the last axis; NaN if that axis is empty."""
    return values.mean(axis=-1) if values.shape[-1] else np.full(values.shape[:-1], np.nan)


def _ratio(error: float, other: float) -> float:
    if other > 0 or np.isnan(other):
        return float(error / other)
    return 1.0 if error == 0 else float("inf")
