"""Data, clocks and memory for the cases."""

from __future__ import annotations

import gzip
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def mnist(dtype: Any = np.float32) -> tuple[Array, Array, Array, Array]:
    """Training and test images, pixels in [0, 1], and labels, from GREVILLE_DATA."""
    folder = Path(os.environ.get("GREVILLE_DATA", "")) / "mnist"
    if not folder.is_dir():
        sys.exit("Set GREVILLE_DATA to a folder that holds mnist/ with the four idx.gz files.")

    def read(name: str, skip: int) -> Array:
        with gzip.open(folder / name) as file:
            return np.frombuffer(file.read(), np.uint8, offset=skip)

    def images(name: str) -> Array:
        pixels = read(name, 16).reshape(-1, 784)
        return pixels.astype(dtype) / np.asarray(255, dtype)

    return (
        images("train-images-idx3-ubyte.gz"),
        read("train-labels-idx1-ubyte.gz", 8),
        images("t10k-images-idx3-ubyte.gz"),
        read("t10k-labels-idx1-ubyte.gz", 8),
    )


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_megabytes() -> float:
    """The most memory this process has held so far."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count what the process was forked from
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def in_a_fresh_process(work: Callable[..., Any], *args: Any) -> Any:
    """work(*args) where nothing else has been measured before: for peaks of memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, args)


def relative_error(got: Array, want: Array) -> float:
    return float(np.linalg.norm(got.astype(np.float64) - want) / np.linalg.norm(want))
