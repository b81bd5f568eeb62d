"""The predictions of a forecast, and a summary of their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..linalg import Array

# Samples that are left out of the summary, after as many predictions as there are lags.
_BURN_IN = 20

RESULT_COLUMNS = ("index", "target", "prediction", "lower", "upper", "persistence", "linear")


@dataclass(frozen=True, eq=False)
class Forecast:
    """Predictions of a series, each made `horizon` samples before its target.

    Attributes
    ----------
    index : ndarray of int
        The number of the predicted sample, counted from 0.
    target : ndarray
        Its value; NaN where it is missing or still to come.
    prediction : ndarray
        NaN where one of the lags or inputs is missing.
    lower, upper : ndarray
        The interval; NaN until 20 errors are known.
    persistence : ndarray
        The sample `horizon` before: the prediction that nothing changes.
    linear : ndarray
        The prediction of a linear model of the same lags and inputs, learned in the same way.
    lags, horizon : int
    interval : float
        The part of the targets that the interval should hold.
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

    def __len__(self) -> int:
        return len(self.index)

    @classmethod
    def joined(cls, parts: Sequence[Forecast]) -> Forecast:
        """Pieces of one forecast, one after the other."""
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in RESULT_COLUMNS
        }
        return replace(parts[0], **columns)

    @property
    def burn_in(self) -> int:
        """The first sample that counts in the summary; those before are for learning."""
        return 2 * self.lags - 1 + self.horizon + _BURN_IN

    def summary(self) -> dict[str, Any]:
        """The errors of the predictions, next to those of simpler ones.

        Returns
        -------
        summary : dict
            ``n``, the samples that count: those from number ``burn_in`` on with a target and all
            predictions; ``rms`` and ``mean_absolute`` errors of "greville", "persistence" and
            "linear"; ``ratio``, the rms error next to that of "persistence" and "linear";
            ``interval`` and ``coverage``, the part of the targets it should hold and did; and
            ``verdict``, a sentence.

        Examples
        --------
        >>> import numpy as np
        >>> from greville.forecasting import forecast
        >>> series = np.cumsum(np.random.default_rng(0).normal(size=500))  # a random walk
        >>> forecast(series).summary()["verdict"].split(":")[0]
        'No better than the simpler'
        """
        predictions = {
            "greville": self.prediction,
            "persistence": self.persistence,
            "linear": self.linear,
        }
        errors = np.array([self.target - each for each in predictions.values()])
        counts = np.isfinite(errors).all(axis=0) & (self.index >= self.burn_in)
        errors = errors[:, counts]
        n = errors.shape[1]
        largest = np.abs(errors).max(initial=0.0) or 1.0  # so that no square under- or overflows
        rms = largest * np.sqrt(_mean((errors / largest) ** 2))
        by_name = dict(zip(predictions, rms.tolist(), strict=True))
        ratio = {name: _ratio(rms[0], by_name[name]) for name in ("persistence", "linear")}
        stated = counts & np.isfinite(self.lower)
        inside = (self.lower <= self.target) & (self.target <= self.upper)
        return {
            "n": n,
            "burn_in": self.burn_in,
            "rms": by_name,
            "mean_absolute": dict(zip(predictions, _mean(np.abs(errors)).tolist(), strict=True)),
            "ratio": ratio,
            "interval": self.interval,
            "coverage": float(_mean(inside[stated])),
            "verdict": _verdict(n, self.burn_in, by_name, ratio),
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
    """Over the last axis; NaN if it is empty."""
    return values.mean(axis=-1) if values.shape[-1] else np.full(values.shape[:-1], np.nan)


def _ratio(error: float, other: float) -> float:
    if other > 0 or np.isnan(other):
        return float(error / other)
    return 1.0 if error == 0 else float("inf")


def _verdict(n: int, burn_in: int, rms: dict[str, float], ratio: dict[str, float]) -> str:
    if n == 0:
        return f"Too short to say: no sample from number {burn_in} on has all predictions."
    if max(rms.values()) == 0:
        return "Nothing to predict: the series does not change."
    worst = max(ratio.values())
    verdict = (
        "Worth it" if worst < 0.98 else "No better than the simpler" if worst < 1.02 else "Worse"
    )
    return (
        f"{verdict}: greville's error is {ratio['persistence']:.2g} of persistence's and "
        f"{ratio['linear']:.2g} of a linear predictor's."
    )
