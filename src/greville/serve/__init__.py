"""Models that answer and learn over HTTP, and lose nothing that they have acknowledged."""

from __future__ import annotations

from .engine import Engine
from .limits import Limits, ServeOptions
from .log import Log, LogError
from .opening import ServeError, log_path, open_engine
from .reader import Reader
from .running import Address, listen, load_kernels, run

__all__ = [
    "Address",
    "Engine",
    "Limits",
    "Log",
    "LogError",
    "Reader",
    "ServeError",
    "ServeOptions",
    "listen",
    "load_kernels",
    "log_path",
    "open_engine",
    "run",
]
