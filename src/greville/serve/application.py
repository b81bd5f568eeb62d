"""The server as an application of FastAPI, and who may use it."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from typing import Any

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
from .metrics import Metrics
from .options import Address
from .refusals import BUG, RequestError
from .routes import add_paths, find_service
from .service import Service

_TEXT = (
    "A model that answers and learns. Rows are JSON objects with a field for each column. What is "
    "learned is on the disk before it is acknowledged."
)

# Seconds that a server waits for its models before it listens; a long log takes longer.
_SOON = 2.0

_PAGE = files("greville.serve") / "page"
_SWAGGER = files("fastapi_offline") / "static"

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
    services: Mapping[str, Service], address: Address, is_stopping: Any = lambda: False
) -> ASGIApp:
    """The application that answers for some models, to those who may use it.

    Parameters
    ----------
    services : dict of str to Service
        Models by their names. The application starts them, and closes them at its end.
    address : Address
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

    def add(path: str, file: object) -> None:
        async def send() -> Response:
            return FileResponse(str(file))

        app.add_api_route(path, send, include_in_schema=False)

    add("/", _PAGE / "index.html")
    add("/docs", _PAGE / "docs.html")
    for name in ("swagger-ui-bundle.js", "swagger-ui.css"):
        add(f"/page/{name}", _SWAGGER / name)
    app.mount("/page", StaticFiles(directory=str(_PAGE)))


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
    address : Address
        With the token that ``Authorization: Bearer`` must say on all but public paths, and the
        origins of pages on other hosts that may use the server.
    metrics : Metrics
    """

    def __init__(self, app: ASGIApp, address: Address, metrics: Metrics) -> None:
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
        is_file = path.startswith("/page/") and "/" not in path[6:] and ".." not in path
        if self._token is None or path in _PUBLIC or is_file:
            return None
        scheme, _, said = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and hmac.compare_digest(said.strip(), self._token.encode()):
            return None
        return RequestError(401, "The token is missing or wrong: send Authorization: Bearer TOKEN.")
