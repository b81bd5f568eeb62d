"""Models that answer and learn over HTTP, and lose nothing that they have acknowledged."""

from __future__ import annotations

from .engine import Engine
from .kernels import load_kernels
from .limits import Limits
from .log import Log, LogError
from .opening import ServeError, Wanted, log_path, open_engine
from .reading import Reader
from .running import Address, listen, run

__all__ = [
    "Address",
    "Engine",
    "Limits",
    "Log",
    "LogError",
    "Reader",
    "ServeError",
    "Wanted",
    "listen",
    "load_kernels",
    "log_path",
    "open_engine",
    "run",
]
