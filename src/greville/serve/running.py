"""A server that runs until it is told to stop."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import uvicorn

from ..elm import ELMClassifier, ELMRegressor
from .application import make_app
from .options import Address, ServeError
from .service import Service

# Seconds after which a thread must let others run: a prediction waits that long for the learner.
_SWITCH_INTERVAL = 0.0005

# Single rows after which kernels are certainly in use.
_ROWS_THAT_LOAD = 64

# Seconds that requests have to end when the server stops, and that an idle connection is kept.
_GRACE, _KEEP_ALIVE = 10, 60


class _Server(uvicorn.Server):
    """Stops at signals, and when a model cannot go on; `signal` is the first that came."""

    def __init__(self, services: Mapping[str, Service], address: Address) -> None:
        app = make_app(services, address, lambda: self.should_exit)
        config = uvicorn.Config(
            app,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=address.limits.connections + 1,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=_GRACE,
        )
        super().__init__(config)
        self._services, self.signal = list(services.values()), 0

    async def on_tick(self, counter: int) -> bool:
        failed = any(service.failure for service in self._services)
        return await super().on_tick(counter) or failed

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals():
            yield
            # Raised again, they would end the process before it has said what was saved.
            self.signal = next(iter(self._captured_signals), 0)
            self._captured_signals.clear()


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; a ServeError if the port cannot be used.

    Examples
    --------
    >>> from greville.serve import listen
    >>> with listen("127.0.0.1", 0) as sock:
    ...     sock.getsockname()[0]
    '127.0.0.1'
    """
    name = host.strip("[]")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    try:
        return socket.create_server((name, port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        why = (getattr(error, "strerror", None) or str(error)).partition(" (")[0]
        raise ServeError(f"port={port!r}: nothing can listen there on {host} ({why}).") from error


def run(
    services: Mapping[str, Service],
    address: Address,
    sock: socket.socket | None = None,
    started: Callable[[str], None] = lambda url: None,
) -> int:
    """Serve models until a signal comes; return the signal. Acknowledged rows are on disk.

    Parameters
    ----------
    services : dict of str to Service
        By the names of the models. They are started, and closed at the end.
    address : Address
    sock : socket, optional
        That listens there, from `listen`; it is closed at the end.
    started : callable, optional
        Called with the URL when the server is about to answer.

    Raises
    ------
    ServeError
        If it cannot listen, or a model cannot go on: start it again, and the log is replayed.
    """
    sys.setswitchinterval(_SWITCH_INTERVAL)
    load_kernels()
    server = _Server(services, address)
    with (
        sock or listen(address.host, address.port) as listening,
        asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner,
    ):
        host, port = listening.getsockname()[:2]
        started(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
        runner.run(server.serve([listening]))
    for service in services.values():
        if service.failure is not None:
            raise ServeError(service.failure)
    return server.signal


def load_kernels() -> None:
    """Compile or load the kernels for single rows before the first request.

    That takes ten seconds and more where numba has to compile it.
    """
    X = np.random.default_rng(0).normal(size=(_ROWS_THAT_LOAD, 2))
    for model in (ELMRegressor(4, random_state=0), ELMClassifier(4, random_state=0)):
        y = X[:, 0] > 0
        model.fit(X, y if isinstance(model, ELMClassifier) else X[:, 0])
        for x, target in zip(X, model.predict(X), strict=True):
            model.predict_one(x)
            model.learn_one(x, target)
