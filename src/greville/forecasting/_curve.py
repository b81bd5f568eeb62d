"""A scale on which a season that grows with its series stays as large as it was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..backend import Array

# The scale, in terms of the smallest sample: above it the curve is logarithmic to 3 per cent.
_BELOW = 0.25

# asinh of more than this is beyond all floating-point numbers.
_MOST = 700.0


@dataclass(frozen=True)
class Curve:
    """A scale like the logarithm, but defined at zero and below: asinh(y / scale) / unit.

    Parameters
    ----------
    scale : float
        Above it the curve is logarithmic, between it and minus it nearly straight.
    unit : float
        A typical change on the curve.
    """

    scale: float
    unit: float

    @classmethod
    def fitted(cls, series: Array) -> Curve | None:
        """The curve for a series; None unless all of it is positive.

        Parameters
        ----------
        series : ndarray of shape (n,)
            NaN where a sample is missing.
        """
        observed = series[np.isfinite(series)]
        if not len(observed) or observed.min() <= 0 or observed.min() == observed.max():
            return None
        scale = float(observed.min()) * _BELOW
        changes = np.abs(np.diff(np.arcsinh(observed / scale)))
        return cls(scale, float(changes.mean()))

    def apply(self, y: Array) -> Array:
        return np.arcsinh(y / self.scale) / self.unit

    def invert(self, z: Array) -> Array:
        return self.scale * np.sinh(np.clip(self.unit * z, -_MOST, _MOST))
