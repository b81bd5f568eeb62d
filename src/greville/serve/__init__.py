"""Models that answer and learn over HTTP, and lose nothing that they have acknowledged."""

from __future__ import annotations

from .learner import Learner
from .log import Log, LogError
from .opening import log_path, open_earlier, open_learner, open_reader
from .options import Address, Limits, ServeError, ServeOptions
from .replica import Replica, open_replicas
from .running import listen, load_kernels, run
from .service import Service

__all__ = [
    "Address",
    "Learner",
    "Limits",
    "Log",
    "LogError",
    "Replica",
    "ServeError",
    "ServeOptions",
    "Service",
    "listen",
    "load_kernels",
    "log_path",
    "open_earlier",
    "open_learner",
    "open_reader",
    "open_replicas",
    "run",
]
