"""Models that answer and learn over HTTP, and lose nothing that they have acknowledged."""

from __future__ import annotations

from .application import listen, load_kernels, run
from .learning_service import LearningService
from .log import Log, LogError
from .opening import log_path, open_earlier, open_learning, open_reader
from .parameters import Limits, ServeError, ServeOptions, ServerAddress
from .replica import Replica, open_replicas
from .service import Service

__all__ = [
    "LearningService",
    "Limits",
    "Log",
    "LogError",
    "Replica",
    "ServeError",
    "ServeOptions",
    "ServerAddress",
    "Service",
    "listen",
    "load_kernels",
    "log_path",
    "open_earlier",
    "open_learning",
    "open_reader",
    "open_replicas",
    "run",
]
