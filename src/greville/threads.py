"""One BLAS thread where more would be in each other's way.

QR factorisations and products with few rows are thousands of small steps. Two threads gain little
there when nothing else runs. When something does, be it NumPy's own BLAS threads still spinning
after the user's last product, they wait for each other: 20 s instead of 0.3 s were seen for one
factorisation at M = 2000.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from threading import Lock, local
from typing import Any

from threadpoolctl import ThreadpoolController  # a dependency of scikit-learn


@cache
def _pools() -> list[Any]:
    """What sets the number of threads of SciPy's BLAS, or of all where it has none."""
    pools = [pool for pool in ThreadpoolController().lib_controllers if pool.user_api == "blas"]
    own = [pool for pool in pools if "scipy" in str(Path(pool.filepath).parent)]
    return own or pools


class _OneThread:
    """A context in which SciPy's BLAS runs on one thread; it may be entered again inside itself.

    The number of threads is one for the whole process. Whoever leaves puts back what was there
    before anybody entered, so that it is right when the last one has left; who is still inside
    then goes on with more threads, which is slower and nothing else.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._before: list[int] = []
        self._mine = local()

    def __enter__(self) -> None:
        self._mine.depth = getattr(self._mine, "depth", 0) + 1
        if self._mine.depth > 1:
            return
        with self._lock:
            if self._inside == 0:
                self._before = [pool.num_threads for pool in _pools()]
            self._inside += 1
            for pool in _pools():
                pool.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        self._mine.depth -= 1
        if self._mine.depth:
            return
        with self._lock:
            self._inside -= 1
            for pool, n_threads in zip(_pools(), self._before, strict=True):
                pool.set_num_threads(n_threads)


one_thread = _OneThread()
