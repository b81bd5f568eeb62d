"""Data, clocks and memory for the cases."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from greville import datasets

Array = NDArray[Any]


def mnist(dtype: Any = np.float32) -> tuple[Array, Array, Array, Array]:
    """Training and test images, pixels in [0, 1], and labels."""
    try:
        X, y, X_test, y_test = datasets.mnist()
    except datasets.DataError as error:
        sys.exit(str(error))
    return X.astype(dtype, copy=False), y, X_test.astype(dtype, copy=False), y_test


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_a_fresh_process(work: Callable[..., Any], *args: Any) -> Any:
    """work(*args) in a new process, for peaks of memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, args)


def relative_error(got: Array, want: Array) -> float:
    return float(np.linalg.norm(got.astype(np.float64) - want) / np.linalg.norm(want))
