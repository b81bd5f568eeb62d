"""The machine, and the peak memory of this process."""

from __future__ import annotations

import platform
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


class PeakMemory:
    """The peak memory of this process since the object was made, in units of 2^20 bytes.

    Where the system cannot reset the peak (elsewhere than on Linux), it is that since the start.
    """

    def __init__(self) -> None:
        with suppress(OSError):  # resets the peak on Linux
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        self.before = _memory("VmRSS") or _peak()

    @property
    def total(self) -> float | None:
        return _memory("VmHWM") or _peak()

    @property
    def beyond(self) -> float | None:
        """The peak minus the memory in use when the object was made."""
        total = self.total
        return None if total is None or self.before is None else total - self.before


def _memory(what: str) -> float | None:
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    lines = status.read_text(encoding="utf-8").splitlines()
    line = next(line for line in lines if line.startswith(what))
    return int(line.split()[1]) / 1024


def _peak() -> float | None:
    try:
        import resource
    except ModuleNotFoundError:
        return None  # not on Windows
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def environment() -> dict[str, Any]:
    """Versions and hardware that measured numbers depend on."""
    import numpy as np
    import scipy
    import sklearn
    import threadpoolctl

    from .. import __version__
    from ..threads import cores

    blas = sorted(
        {
            f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', '?')})"
            for pool in threadpoolctl.threadpool_info()
            if pool["user_api"] == "blas"
        }
    )
    return {
        "greville": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "blas": ", ".join(blas) or "unknown",
        "cpu": _cpu(),
        "cores": cores(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
