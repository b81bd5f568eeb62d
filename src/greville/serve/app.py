"""The server as an application of FastAPI."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match, Route
from starlette.types import Scope

from .. import __version__
from .description import NAME, REFUSED, TEXT, with_token
from .engine import Engine
from .learning import News
from .limits import Limits
from .prometheus import Meters
from .reader import Reader
from .refusals import BUG, RequestError
from .routes import PATHS, ServedModel

# Seconds that a server waits for its models before it listens; a long log takes longer.
_SOON = 2.0

_PAGE = files("greville.serve") / "page"
_SWAGGER = files("fastapi_offline") / "static"

logger = logging.getLogger("greville.serve")


class Service:
    """All models of a server, and the application that answers for them.

    Parameters
    ----------
    engines : dict of str to Engine or Reader
        Models by their names. The application starts them, and closes them at its end.
    limits : Limits
    """

    def __init__(self, engines: Mapping[str, Engine | Reader], limits: Limits) -> None:
        self.models = {name: ServedModel(name, engine, limits) for name, engine in engines.items()}
        self.meters = Meters(self.models)
        self.app = self._make_app()
        self.on_failure: Callable[[], None] = lambda: None
        self.on_replay: Callable[[int], None] = lambda left: None  # once a second

    @property
    def engines(self) -> list[Engine | Reader]:
        return [model.engine for model in self.models.values()]

    @property
    def failures(self) -> list[str]:
        """Why models no longer learn."""
        engines = [engine for engine in self.engines if isinstance(engine, Engine)]
        return [engine.failure for engine in engines if engine.failure is not None]

    @asynccontextmanager
    async def _running(self, app: FastAPI) -> AsyncIterator[None]:
        """Models run, and are looked at once a second; at the end snapshots are written."""
        loop = asyncio.get_running_loop()
        for model in self.models.values():
            model.engine.on_news = partial(_in_loop, loop, model.board.learn)
            model.engine.start()
        until = loop.time() + _SOON
        while any(e.published is None for e in self.engines) and loop.time() < until:
            if self.failures:
                break
            await asyncio.sleep(0.005)
        ticking = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticking.cancel()
            for engine in self.engines:
                await asyncio.to_thread(engine.close)

    async def _tick(self) -> None:
        replaying = 0
        while True:
            left = sum(engine.to_replay for engine in self.engines)
            if left or replaying:
                self.on_replay(left)
            replaying = left
            for model in self.models.values():
                try:
                    model.board.tick()
                except Exception:  # which only looks at things
                    logger.exception("%s cannot be looked at.", model.name)
            if self.failures:
                self.on_failure()
            await asyncio.sleep(1)

    def end_events(self) -> None:
        """End all streams of events, which would never end by themselves."""
        for model in self.models.values():
            model.board.close()

    def _make_app(self) -> FastAPI:
        app = FastAPI(
            title="greville serve",
            version=__version__,
            description=TEXT,
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
            lifespan=self._running,
        )
        app.state.models = self.models
        self._add_paths(app)
        self._add_health(app)
        for path, name in (("/", "index.html"), ("/docs", "docs.html")):
            app.add_api_route(path, _file(_PAGE / name), include_in_schema=False)
        for name in ("swagger-ui-bundle.js", "swagger-ui.css"):
            app.add_api_route(f"/page/{name}", _file(_SWAGGER / name), include_in_schema=False)
        app.mount("/page", StaticFiles(directory=str(_PAGE)))
        _add_refusals(app)
        describe = app.openapi
        app.openapi = lambda: with_token(describe())  # type: ignore[method-assign]
        return app

    def _add_paths(self, app: FastAPI) -> None:
        """The paths of the only model, and those of all by their names."""
        for prefix, named in (("", []), ("/models/{name}", [NAME])):
            for path, method, handler, told in PATHS:
                app.router.routes.append(_FastRoute(prefix + path, handler, methods=[method]))
                extra = told.get("openapi_extra", {})
                parameters = [*named, *extra.get("parameters", [])]
                app.add_api_route(
                    prefix + path,
                    handler,
                    methods=[method],
                    response_model=None,
                    tags=["several models" if named else "one model"],
                    summary=told["summary"],
                    responses={**REFUSED, **told.get("responses", {})},
                    openapi_extra={**extra, "parameters": parameters},
                )

    def _add_health(self, app: FastAPI) -> None:
        @app.head("/health", include_in_schema=False)
        @app.get("/health", summary="Whether the process runs")
        async def health() -> dict[str, Any]:
            known = [engine.behind for engine in self.engines]
            behind = [n for n in known if n is not None]
            return {"status": "ok", **({"behind": max(behind)} if behind else {})}

        @app.head("/ready", include_in_schema=False)
        @app.get("/ready", summary="Whether all models answer")
        async def ready() -> Response:
            try:
                for engine in self.engines:
                    engine.answering()
            except RequestError as error:
                return JSONResponse({"ready": False, **error.as_dict()}, error.status)
            return JSONResponse({"ready": True})

        @app.get("/metrics", summary="Numbers for Prometheus")
        async def metrics() -> Response:
            return Response(generate_latest(self.meters.registry), media_type=CONTENT_TYPE_LATEST)

        @app.get("/models", summary="The names of all models")
        async def models() -> dict[str, list[str]]:
            return {"models": list(self.models)}


class _FastRoute(Route):
    """What answers, in half the time of FastAPI's route behind it, which only describes it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, {**found, "route": self}  # by which it is counted


def _in_loop(loop: asyncio.AbstractEventLoop, act: Callable[[News], None], news: News) -> None:
    """Have the loop's thread do something with news of another thread."""
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(act, news)


def _file(path: object) -> Callable[[], Awaitable[Response]]:
    async def endpoint() -> Response:
        return FileResponse(str(path))

    return endpoint


def _add_refusals(app: FastAPI) -> None:
    """Answer what cannot be done with one sentence, in JSON."""

    @app.exception_handler(RequestError)
    async def refuse(request: Request, error: RequestError) -> Response:
        model: ServedModel | None = request.scope.get("greville.model")
        if model is not None:
            model.board.refuse(error)
        return error.response()

    @app.exception_handler(HTTPException)
    async def refuse_path(request: Request, error: HTTPException) -> Response:
        what = {404: "There is no such path", 405: "This path has other methods"}
        message = f"{what.get(error.status_code, error.detail)}; /docs has all of them."
        answer = RequestError(error.status_code, message).response()
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(ClientDisconnect)
    async def forget(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=400)  # which nobody reads

    @app.exception_handler(Exception)
    async def say_bug(request: Request, error: Exception) -> Response:
        return RequestError(500, BUG).response()
