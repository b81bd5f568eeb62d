"""Time series as rows of numbers: what layers for them share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..backend import Array, Backend
from ..devices import is_tensor
from ..fields import require
from ..validation import naming, unchanged_on_error
from .protocol import Layer

# Shorter series are continued with zeros.
KERNEL_LENGTH = 9


def series_rows(X: Any, n_channels: int | None = None) -> tuple[Any, int]:
    """Series as rows of numbers, one channel after the other, and the number of channels.

    Parameters
    ----------
    X : array-like of shape (n_cases, n_channels, n_timepoints) or (n_cases, n_columns)
        Columns of a 2-d X are those of `n_channels` channels, one after the other.
    n_channels : int, optional
        How many channels there must be. By default as many as a 3-d X has, and one of a 2-d X.

    Returns
    -------
    rows : array of shape (n_cases, n_channels * n_timepoints), or X itself where it is 2-d
    n_channels : int

    Examples
    --------
    >>> import numpy as np
    >>> from greville.layers import series_rows
    >>> rows, n_channels = series_rows(np.zeros((5, 3, 20)))
    >>> rows.shape, n_channels
    ((5, 60), 3)
    """
    if isinstance(X, (list, tuple)):
        with naming("X"):
            try:
                X = np.asarray(X)
            except ValueError:
                raise ValueError(
                    "its series differ in length; cut them, or pad them with their last number, to "
                    "one length."
                ) from None
    if getattr(X, "ndim", 2) == 3:
        n, channels, length = X.shape
        if n_channels is not None and n_channels != channels:
            raise ValueError(
                f"X: its series have {channels} channels, and {n_channels} are expected; pass X of "
                "shape (n_cases, n_channels, n_timepoints)."
            )
        X = X if is_tensor(X) else np.asarray(X)
        return X.reshape(n, channels * length), channels
    channels = 1 if n_channels is None else n_channels
    columns = getattr(X, "shape", (0, 0))[1:]
    if channels > 1 and columns and columns[0] % channels:
        raise ValueError(
            f"X: {columns[0]} columns are not those of {channels} channels of one length; pass X "
            "of shape (n_cases, n_channels, n_timepoints)."
        )
    return X, channels


class SeriesLayer(Layer):
    """Units that see series: X of shape (n_cases, n_channels, n_timepoints), or flat rows of these.

    Series are seen around a centre and in a unit, both of which are each channel's, measured from
    the first rows: so all of a layer can be done in float32.
    """

    bias_: Array
    n_channels: int | None
    n_channels_: int
    centre_: Array
    unit_: Array

    def fit(self, X: Any, y: Any = None) -> Self:
        """Set the units from these series.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_channels, n_timepoints) or (n_cases, n_timepoints)
        y : ignored

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self.check_parameters()
            X, self.n_channels_ = series_rows(X, self.n_channels)
            super().fit(X, y)
        return self

    def as_rows(self, X: Any) -> Any:
        return series_rows(X, self.n_channels_)[0]

    @property
    def length(self) -> int:
        """The number of time points of a series, of which there are at least nine."""
        return max(KERNEL_LENGTH, self.n_features_in_ // self.n_channels_)

    def _measure(self, X: Array) -> None:
        """Set the centre and the unit of each channel."""
        channels = X.reshape(len(X), self.n_channels_, -1).astype(np.float64)
        self.centre_ = channels.mean(axis=(0, 2))
        spread = np.abs(channels - self.centre_[:, None]).max(axis=(0, 2))
        self.unit_ = np.where(spread > 0, spread, 1.0)

    def _series(self, b: Backend, X: Any, shift: Array | None) -> Array:
        """Series of float32 in these units, of shape (n_channels, length, n_cases)."""
        X = b.asarray(X, np.float64)
        X = X if shift is None else X - b.asarray(shift, np.float64)
        series = b.xp.reshape(X.T, (self.n_channels_, -1, X.shape[0]))
        centre, unit = (b.asarray(A[:, None, None], np.float64) for A in (self.centre_, self.unit_))
        with np.errstate(over="ignore"):  # far from all others, as good as infinite
            x = b.asarray((series - centre) / unit, np.float32)
        missing = self.length - x.shape[1]
        if not missing:
            return x
        return b.xp.concat([x, b.zeros((x.shape[0], missing, x.shape[2]), np.float32)], axis=1)

    def _check_stored(self) -> None:
        n = self.n_channels_
        fits = n >= 1 and self.n_features_in_ % n == 0 and self.n_features_in_ > 0
        require(fits, "the channels do not fit the columns")
        require(self.centre_.shape == self.unit_.shape == (n,), "units do not fit the channels")
        require(bool((self.unit_ > 0).all()), "units are not positive")


def dilated(b: Backend, x: Array, dilation: int) -> list[Array]:
    """x of shape (n_channels, length, ...) at nine places, `dilation` apart, with zeros beyond."""
    length, edge = x.shape[1], b.zeros((x.shape[0], 4 * dilation, *x.shape[2:]), np.float32)
    padded = b.xp.concat([edge, x, edge], axis=1)
    return [padded[:, g * dilation : g * dilation + length] for g in range(KERNEL_LENGTH)]
