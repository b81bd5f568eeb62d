"""A server that runs until it is told to stop."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import uvicorn
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from ..elm import ELMClassifier, ELMRegressor
from .app import Service
from .engine import Engine
from .guard import Guard, checked_origin
from .limits import Limits
from .opening import ServeError
from .reader import Reader

# Seconds after which a thread must let others run: a prediction waits that long for the learner.
_SWITCH_INTERVAL = 0.0005

# Single rows after which kernels are certainly in use.
_ROWS_THAT_LOAD = 64

# Seconds that requests have to end when the server stops, and that an idle connection is kept.
_GRACE, _KEEP_ALIVE = 10, 60


@dataclass(frozen=True)
class Address:
    """Where a server listens, and who may use it.

    Attributes
    ----------
    host, port : where to listen; port 0 is any that is free
    token : what clients must send; needed for all but loopback addresses
    origins : pages from elsewhere that may use the server

    Examples
    --------
    >>> from greville.serve import Address
    >>> Address(port=0).check()
    >>> Address(host="0.0.0.0", token="secret").check()
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    origins: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def check(self) -> None:
        """A ServeError if others could use it without a token, or if an origin is invalid."""
        if self.token is None and not is_loopback(self.host):
            raise ServeError(
                f"host={self.host!r}: others could use the server; give it a token, or listen on "
                "127.0.0.1."
            )
        for origin in self.origins:
            try:
                checked_origin(origin)
            except ValueError as error:
                raise ServeError(f"allow_origin={origin!r}: {error}") from None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class _Server(uvicorn.Server):
    """Stops at SIGTERM and SIGINT, unless the shell has had them ignored; a second one hurries.

    So does SIGBREAK, which is Ctrl-Break, on Windows.
    """

    def __init__(
        self, config: uvicorn.Config, service: Service, started: Callable[[str], None]
    ) -> None:
        super().__init__(config)
        self._service, self._announce = service, started
        self.signal: int | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            host, port = sockets[0].getsockname()[:2]
            self._announce(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.end_events()
        await super().shutdown(sockets)

    def stop(self) -> None:
        """Stop soon, as a signal would have it."""
        self.should_exit = True

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.signal = sig
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # `run` does, until all is closed


@contextmanager
def _stopped_by_signals(server: _Server) -> Iterator[None]:
    """Signals ask the server to stop, as long as the block runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = ("SIGTERM", "SIGBREAK", "SIGINT")  # SIGBREAK on Windows alone
    heard = [getattr(signal, name) for name in names if hasattr(signal, name)]
    numbers = [each for each in heard if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.signal(number, server.handle_exit) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
    engines: Mapping[str, Engine | Reader],
    address: Address,
    sock: socket.socket | None = None,
    started: Callable[[str], None] = lambda url: None,
    replaying: Callable[[int], None] = lambda left: None,
) -> int | None:
    """Serve models until a signal comes; which one. All that was acknowledged is on the disk.

    Parameters
    ----------
    engines : dict of str to Engine or Reader
        By the names of the models. They are started, and closed at the end.
    address : Address
    sock : socket, optional
        That listens there, from `listen`; it is closed at the end.
    started : callable, optional
        Called with the URL when the server listens.
    replaying : callable, optional
        Called once a second with how many rows of logs are still to be learned, and with 0 then.

    Raises
    ------
    ServeError
        If it cannot listen, or a model cannot go on: start it again, and the log is replayed.
    """
    address.check()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    service = Service(engines, address.limits)
    config = uvicorn.Config(
        guarded(service, address),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=address.limits.connections + 1,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_GRACE,
    )
    load_kernels()  # ten seconds and more where numba has to compile them
    server = _Server(config, service, started)
    service.on_failure, service.on_replay = server.stop, replaying
    with (
        sock or listen(address.host, address.port) as listening,
        _stopped_by_signals(server),
        asyncio.Runner(loop_factory=config.get_loop_factory()) as runner,
    ):
        runner.run(server.serve([listening]))
    if service.failures:
        raise ServeError(service.failures[0])
    return server.signal


def guarded(service: Service, address: Address) -> ASGIApp:
    """The application of a service, for those who may use it."""
    hosts = frozenset({"localhost", "127.0.0.1", "::1", address.host.strip("[]")})
    token, origins = address.token, tuple(map(checked_origin, address.origins))
    app: ASGIApp = Guard(service.app, token, hosts, origins, service.meters.observe)
    if not origins:
        return app
    headers = ["Authorization", "Content-Type", "Idempotency-Key"]
    return CORSMiddleware(app, origins, allow_methods=["GET", "POST"], allow_headers=headers)


def load_kernels() -> None:
    """Have all that single rows need compiled or loaded before anyone waits for it."""
    X = np.random.default_rng(0).normal(size=(_ROWS_THAT_LOAD, 2))
    for model in (ELMRegressor(4, random_state=0), ELMClassifier(4, random_state=0)):
        y = X[:, 0] > 0
        model.fit(X, y if isinstance(model, ELMClassifier) else X[:, 0])
        for x, target in zip(X, model.predict(X), strict=True):
            model.predict_one(x)
            model.learn_one(x, target)
