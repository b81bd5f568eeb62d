"""The paper's signals, as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .linalg import Array
from .validation import check_number


def sine_switch(
    n_samples: int = 10_000,
    *,
    dt: float = 1e-3,
    frequencies: tuple[float, float] = (10.0, 20.0),
    lags: Sequence[int] = range(1, 11),
) -> tuple[Array, Array]:
    """A sine whose frequency changes half-way, to be predicted from its own past.

    The task of Figure 1 of the paper. The signal is ``sin(2πft)`` at times 0, dt, 2dt, …; before
    time 0 it has the first frequency, so that the first samples have a past too.

    Parameters
    ----------
    n_samples : int, default=10_000
    dt : float, default=1e-3
        Seconds between samples.
    frequencies : tuple of two floats, default=(10.0, 20.0)
        In Hz, before and after the change.
    lags : sequence of int, default=1 to 10
        Which past samples are the inputs, counted back from the one to be predicted.

    Returns
    -------
    X : ndarray of shape (n_samples, n_lags)
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from greville.datasets import sine_switch
    >>> X, y = sine_switch(1000)
    >>> X.shape, bool(X[500, 0] == y[499])
    ((1000, 10), True)
    """
    check_number("n_samples", n_samples, low=1, whole=True)
    if len(lags) == 0:
        raise ValueError("lags: it is empty; pass at least one, such as [1].")
    for lag in lags:
        check_number("lags", lag, low=1, whole=True)
    if len(frequencies) != 2:
        raise ValueError(f"frequencies={frequencies!r}: pass two, before and after the change.")
    history = max(lags)
    k = np.arange(-history, n_samples)
    f = np.where(k < n_samples // 2, *frequencies)
    signal = np.sin(2 * np.pi * f * k * dt)
    X = np.stack([signal[history - lag : len(signal) - lag] for lag in lags], axis=1)
    return X, signal[history:]
