"""The states of a reservoir, in machine code."""

from __future__ import annotations

import numpy as np

from ._kernels import _tanh
from .loading import compiled

_SIGNATURE = "void(f8[:,::1], i8[:,::1], f8[:,::1], f8, f8[::1], f8[:,::1])"
_OPTIONS = {"nogil": True, "error_model": "numpy"}


@compiled(_SIGNATURE, **_OPTIONS)
def states(drive, sources, strengths, leak, x, H):
    """H[t] for each row drive[t], after the state x, which becomes the last."""
    degree, n_units = np.uint64(sources.shape[0]), np.uint64(len(x))
    total = np.empty_like(x)
    for t in range(np.uint64(len(drive))):
        for j in range(n_units):
            total[j] = drive[t, j]
        for k in range(degree):
            for j in range(n_units):
                total[j] += strengths[k, j] * x[np.uint64(sources[k, j])]
        _tanh(total)
        for j in range(n_units):
            x[j] += leak * (total[j] - x[j])
            H[t, j] = x[j]
