"""Forecasting a whole series at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..progress import Progress, silent
from ._arguments import as_columns
from ._forecaster import Forecaster
from ._result import Forecast

# The number of samples that `forecast` takes at a time.
_CHUNK = 8192


def forecast(
    series: Any,
    *,
    lags: int | str = "auto",
    horizon: int = 1,
    alpha: float | str = "auto",
    hidden: Any = "auto",
    solver: Any = None,
    inputs: Any = None,
    interval: float = 0.9,
    layer: Any = None,
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
    lags, horizon, alpha, hidden, solver, interval, layer, random_state
        As in `Forecaster`.
    inputs : array-like of shape (n_samples, n_inputs), optional
        What else is known at the time of each sample, for the prediction made then.
    progress : callable, optional
        Called as the work goes on; see `greville.progress`.

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
    columns = as_columns(series, inputs, "series")
    settings = {"alpha": alpha, "hidden": hidden, "solver": solver, "interval": interval}
    model = Forecaster(lags, horizon, **settings, layer=layer, random_state=random_state)
    n, parts = len(columns), []
    if n and np.isnan(columns[:, 0]).all():
        raise ValueError("series: it has no values; pass numbers, and NaN where one is missing.")
    if n < model.lags:
        raise ValueError(
            f"series, lags={model.lags!r}: {n} samples are fewer than one prediction needs; pass "
            "more, or fewer lags."
        )
    with progress("forecast", n) as advance:
        for start in range(0, n, _CHUNK):
            piece = columns[start : start + _CHUNK]
            parts.append(model.update(piece[:, 0], None if inputs is None else piece[:, 1:]))
            advance(len(piece))
    return Forecast.concatenated([*parts, model.future()])
