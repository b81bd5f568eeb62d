"""The server: an application of FastAPI, who may use it, and how it runs until it is stopped."""

from __future__ import annotations

import asyncio
import hmac
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.resources import files
from typing import Any

import numpy as np
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .. import __version__
from ..elm import ELMClassifier, ELMRegressor
from .bodies import BUG, RequestError
from .metrics import Metrics
from .parameters import ServeError, ServerAddress
from .routes import add_paths, find_service
from .service import Service

_TEXT = (
    "A model that answers and learns. Rows are JSON objects with a field for each column. What is "
    "learned is on the disk before it is acknowledged."
)

# Seconds after which a thread must let others run: a prediction waits that long for the learner.
_SWITCH_INTERVAL = 0.0005

# Single rows after which kernels are certainly in use.
_ROWS_THAT_LOAD = 64

# Seconds that requests have to end when the server stops, and that an idle connection is kept.
_GRACE, _KEEP_ALIVE = 10, 60


# Seconds that a server waits for its models before it listens; a long log takes longer.
_SOON = 2.0

_PAGE = files("greville.serve") / "page"

# The headers of all answers, and that of pages: they load nothing from elsewhere.
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
_POLICY = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    b"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
)

# Without a token they are answered too. None of them says anything of a model.
_PUBLIC = frozenset({"/", "/docs", "/openapi.json", "/health", "/ready"})


def make_app(
    services: Mapping[str, Service], address: ServerAddress, is_stopping: Any = lambda: False
) -> ASGIApp:
    """The application that answers for some models, to those who may use it.

    Parameters
    ----------
    services : dict of str to Service
        Models by their names. The application starts them, and closes them at its end.
    address : ServerAddress
    is_stopping : callable
        Whether streams of events, which never end by themselves, are to end.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        for name, service in services.items():
            service.name = name
            service.start()
        until = time.monotonic() + _SOON
        while time.monotonic() < until and not all(s.published or s.failure for s in served):
            await asyncio.sleep(0.005)
        yield
        for service in served:
            await asyncio.to_thread(service.close)

    served, metrics = list(services.values()), Metrics(services)
    app = FastAPI(
        title="greville serve",
        version=__version__,
        description=_TEXT,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.services, app.state.limits = services, address.limits
    app.state.is_stopping = is_stopping
    add_paths(app)
    _add_health(app, services, metrics)
    _add_page(app)
    _add_refusals(app)
    hosts = {"localhost", "127.0.0.1", "[::1]", address.host, f"[{address.host}]"}
    allowed = ["*"] if address.token else sorted(hosts)
    guarded: ASGIApp = TrustedHostMiddleware(app, allowed, www_redirect=False)
    guarded = Access(guarded, address, metrics)
    if not address.origins:
        return guarded
    headers = ["Authorization", "Content-Type", "Idempotency-Key"]
    return CORSMiddleware(
        guarded, address.origins, allow_methods=["GET", "POST"], allow_headers=headers
    )


def _add_health(app: FastAPI, services: Mapping[str, Service], metrics: Metrics) -> None:
    @app.get("/health", summary="Whether the process runs")
    async def health() -> dict[str, Any]:
        behind = [s.behind for s in services.values() if s.behind is not None]
        return {"status": "ok", **({"behind": max(behind)} if behind else {})}

    @app.get("/ready", summary="Whether all models answer")
    async def ready() -> Response:
        for service in services.values():
            service.answering()
        return JSONResponse({"ready": True})

    @app.get("/metrics", summary="Numbers for Prometheus")
    def numbers() -> Response:
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @app.get("/models", summary="The names of all models")
    async def models() -> dict[str, list[str]]:
        return {"models": list(services)}


def _add_page(app: FastAPI) -> None:
    """Add the page and Swagger UI; all their files come from this server."""

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(str(_PAGE / "index.html"))

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return FileResponse(str(_PAGE / "docs.html"))

    app.mount("/page", StaticFiles(directory=str(_PAGE)))
    app.mount("/swagger", StaticFiles(directory=str(files("fastapi_offline") / "static")))


def _add_refusals(app: FastAPI) -> None:
    """Answer what cannot be done with one sentence, in JSON."""

    @app.exception_handler(RequestError)
    async def refuse(request: Request, error: RequestError) -> Response:
        if error.status < 500:
            with suppress(RequestError):
                find_service(request).board.refuse(error)
        return error.response()

    @app.exception_handler(RequestValidationError)
    async def refuse_parameter(request: Request, error: RequestValidationError) -> Response:
        where, *_, name = error.errors()[0]["loc"]
        text = f"The field {str(name)[:80]} of the {where} is wrong: {error.errors()[0]['msg']}."
        return await refuse(request, RequestError(422, text, str(name)))

    @app.exception_handler(HTTPException)
    async def refuse_path(request: Request, error: HTTPException) -> Response:
        message = f"{error.detail}; /docs has all paths and methods."
        answer = RequestError(error.status_code, message).response()
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(Exception)
    async def say_bug(request: Request, error: Exception) -> Response:
        return RequestError(500, BUG).response()


class Access:
    """Refuse pages of others and those without the token; count all answers, and add headers.

    Parameters
    ----------
    app : ASGI application
    address : ServerAddress
        With the token that ``Authorization: Bearer`` must say on all but public paths, and the
        origins of pages on other hosts that may use the server.
    metrics : Metrics
    """

    def __init__(self, app: ASGIApp, address: ServerAddress, metrics: Metrics) -> None:
        self._app, self._token, self._observe = app, address.token, metrics.observe
        self._origins = frozenset(address.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = getattr(scope.get("route"), "path", "other")
                self._observe(route, message["status"], time.perf_counter() - began)
                headers = message["headers"]
                is_page = (b"content-type", b"text/html; charset=utf-8") in headers
                message["headers"] = [*headers, *_HEADERS, *([_POLICY] if is_page else ())]
            await send(message)

        error = self._refusal(scope["path"], dict(scope["headers"]))
        await (self._app if error is None else error.response())(scope, receive, answer)

    def _refusal(self, path: str, headers: dict[bytes, bytes]) -> RequestError | None:
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1") not in self._origins:
            # Behind a proxy that ends TLS the server does not know its own scheme.
            name = origin.partition(b"://")[2]
            if not name or name.lower() != headers.get(b"host", b"").lower():
                what = "Origin is another site: start the server with --allow-origin for it."
                return RequestError(403, what)
        # "/page/../predict" is nobody's page.
        is_file = path.startswith(("/page/", "/swagger/")) and path.count("/") == 2
        if self._token is None or path in _PUBLIC or is_file:
            return None
        scheme, _, said = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and hmac.compare_digest(said.strip(), self._token.encode()):
            return None
        return RequestError(401, "The token is missing or wrong: send Authorization: Bearer TOKEN.")


class _Server(uvicorn.Server):
    """Stops at signals, and when a model cannot go on; `signal` is the first that came."""

    def __init__(self, services: Mapping[str, Service], address: ServerAddress) -> None:
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
    address: ServerAddress,
    sock: socket.socket | None = None,
    started: Callable[[str], None] = lambda url: None,
) -> int:
    """Serve models until a signal comes; return the signal. Acknowledged rows are on disk.

    Parameters
    ----------
    services : dict of str to Service
        By the names of the models. They are started, and closed at the end.
    address : ServerAddress
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
    for model, y in (
        (ELMRegressor(4, random_state=0), X[:, 0]),
        (ELMClassifier(4, random_state=0), X[:, 0] > 0),
    ):
        model.fit(X, y)
        for x, target in zip(X, y, strict=True):
            model.predict_one(x)
            model.learn_one(x, target)
