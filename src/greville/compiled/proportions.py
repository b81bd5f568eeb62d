"""Compiled features of time series, where numba is installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

from .loading import _announced, _uncollected, usable

# Comparisons of a number with a bias after which it is worth loading compiled code: half a second's
# in NumPy.
_WORTH_LOADING = 1 << 31


class _Process:
    """What was done in this process."""

    n_compared: ClassVar[int] = 0


def proportions_kernel(n: int) -> Callable[..., Any] | None:
    """The compiled function for n more comparisons of `MiniRocketLayer`; None where there is none.

    It is loaded when so many were asked for that it pays.

    Examples
    --------
    >>> from greville.compiled import proportions_kernel
    >>> callable(proportions_kernel(1 << 31) or print)
    True
    """
    _Process.n_compared += n
    return _proportions() if _Process.n_compared >= _WORTH_LOADING and usable() else None


@cache
def _proportions() -> Callable[..., Any] | None:
    try:
        with _uncollected(), _announced():
            from ._convolutions import proportions
    except Exception as error:  # numba's own, and a lack of memory or of a folder
        warnings.warn(
            f"numba is installed but does not work ({error}); features of series are made without "
            "it, more slowly.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return proportions
