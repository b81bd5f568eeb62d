"""Time series to be predicted from their own past."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

import numpy as np

from ..backend import Array
from ..validation import check_number

ECG_RATE = 360
"""Samples of `ecg` per second."""


def sine_switch(
    n_samples: int = 10_000,
    *,
    dt: float = 1e-3,
    frequencies: tuple[float, float] = (10.0, 20.0),
    change: int | None = None,
    lags: Sequence[int] = range(1, 11),
) -> tuple[Array, Array]:
    """A sine whose frequency changes, to be predicted from its own past.

    The task of Figure 1 of the paper. The signal is ``sin(2πft)`` at times 0, dt, 2dt, …; before
    time 0 it has the first frequency, so that the first samples have all their lags.

    Parameters
    ----------
    n_samples : int, default=10_000
    dt : float, default=1e-3
        Seconds between samples.
    frequencies : tuple of two floats, default=(10.0, 20.0)
        In Hz, before and after the change.
    change : int, optional
        The first sample with the second frequency; the middle one by default.
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
    if change is not None:
        check_number("change", change, low=0, whole=True)
    if len(frequencies) != 2:
        raise ValueError(
            f"frequencies={frequencies!r}: pass two numbers, one before and one after the change."
        )
    history = _longest_lag(lags)
    k = np.arange(-history, n_samples)
    f = np.where(k < (n_samples // 2 if change is None else change), *frequencies)
    return _with_lags(np.sin(2 * np.pi * f * k * dt), lags)


def ecg(n_samples: int | None = None, *, lags: Sequence[int] = range(1, 11)) -> tuple[Array, Array]:
    """A minute of an electrocardiogram, to be predicted from its own past.

    A signal like that of Figure 2 of the paper, which does not say where its own comes from: record
    208, lead MLII, of the MIT-BIH Arrhythmia Database, sampled at 360 Hz, in millivolts. It has
    beats of two kinds. The data come with the package, under the Open Data Commons Attribution
    License; `ECG.md` in the same folder has the references.

    Parameters
    ----------
    n_samples : int, optional
        How many samples to predict; by default all that have all their lags, 21,600 less
        the longest.
    lags : sequence of int, default=1 to 10
        Which past samples are the inputs, counted back from the one to be predicted.

    Returns
    -------
    X : ndarray of shape (n_samples, n_lags)
    y : ndarray of shape (n_samples,)

    References
    ----------
    Moody & Mark, *The impact of the MIT-BIH Arrhythmia Database*, IEEE Engineering in Medicine and
    Biology 20(3), 2001. https://doi.org/10.13026/C2F305

    Examples
    --------
    >>> from greville.datasets import ECG_RATE, ecg
    >>> X, y = ecg()
    >>> X.shape, round(len(y) / ECG_RATE)
    ((21590, 10), 60)
    """
    history = _longest_lag(lags)
    with (files(__package__) / "ecg.npz").open("rb") as file, np.load(file) as archive:
        millivolts = (archive["ecg"].astype(np.float64) - 1024) / 200
    most = len(millivolts) - history
    if most < 1:
        raise ValueError(
            f"lags: the longest, {history}, is more than the {len(millivolts)} samples."
        )
    if n_samples is None:
        n_samples = most
    check_number("n_samples", n_samples, low=1, high=most + 1, whole=True)
    return _with_lags(millivolts[: history + n_samples], lags)


def _longest_lag(lags: Sequence[int]) -> int:
    if len(lags) == 0:
        raise ValueError("lags: it is empty; pass at least one, such as [1].")
    for lag in lags:
        check_number("lags", lag, low=1, whole=True)
    return max(lags)


def _with_lags(signal: Array, lags: Sequence[int]) -> tuple[Array, Array]:
    """The lags of every sample that has all of them, and the sample."""
    history = max(lags)
    X = np.stack([signal[history - lag : len(signal) - lag] for lag in lags], axis=1)
    return X, signal[history:]
