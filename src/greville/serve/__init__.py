"""Models that answer and learn over HTTP, and lose nothing that they have acknowledged."""

from __future__ import annotations

from .engine import Engine
from .limits import Limits, ServeOptions
from .log import Log, LogError, LogReader
from .opening import ServeError, log_path, open_engine
from .reader import Reader
from .replica import Replica, open_replicas
from .running import Address, listen, load_kernels, run

__all__ = [
    "Address",
    "Engine",
    "Limits",
    "Log",
    "LogError",
    "LogReader",
    "Reader",
    "Replica",
    "ServeError",
    "ServeOptions",
    "listen",
    "load_kernels",
    "log_path",
    "open_engine",
    "open_replicas",
    "run",
]
