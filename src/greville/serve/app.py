"""The paths of the server."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from .. import __version__
from ..persistence import ModelFileError, save
from ..tables import model_bytes, model_summary
from . import openapi
from .board import Board, interval
from .bodies import Body, read_body
from .engine import Engine
from .errors import RequestError
from .learning import News, Work, id_text, unusable
from .limits import Limits
from .model_metrics import metrics_text
from .reading import Reader

# Rows times units from which a prediction is computed in another thread, and bytes of a body from
# which it is read there: others are answered meanwhile.
_MUCH_WORK, _LONG_BODY = 1 << 20, 1 << 17

# Values of a column, and columns that are not used, which are named.
_MOST_VALUES, _MOST_NAMED = 200, 20

# Characters of an Idempotency-Key.
_LONGEST_KEY = 200

_PAGE = files("greville.serve") / "page"
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}

logger = logging.getLogger("greville.serve")

Handler = Callable[["_Model", "_Asked"], Awaitable[Response | tuple[bytes, str]]]


class _Asked:
    """What a request asks for; its body has come, by `Guard`."""

    __slots__ = ("_receive", "_scope")

    def __init__(self, scope: Any, receive: Any) -> None:
        self._scope, self._receive = scope, receive

    @property
    def query(self) -> bytes:
        return self._scope["query_string"]

    def header(self, name: bytes) -> str | None:
        for each, value in self._scope["headers"]:
            if each == name:
                return value.decode("latin-1")
        return None

    async def body(self) -> bytes:
        parts = []
        while True:
            message = await self._receive()
            if message["type"] != "http.request":
                raise ClientDisconnect
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)


class _Model:
    """One model, as requests see it."""

    def __init__(self, name: str, engine: Engine | Reader, limits: Limits) -> None:
        self.name, self.engine, self.limits = name, engine, limits
        self.board = Board(engine, limits.watchers)


def _in_loop(loop: asyncio.AbstractEventLoop, act: Callable[[News], None], news: News) -> None:
    """Have the loop's thread do something with news of another thread."""
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(act, news)


class Service:
    """All models of a server; an ASGI application.

    Parameters
    ----------
    engines : dict of str to Engine or Reader
        Models by their names; `start` starts them.
    limits : Limits
    requests : optional
        Counts of requests, for /metrics: has a method `families`.
    """

    def __init__(
        self, engines: Mapping[str, Engine | Reader], limits: Limits, requests: Any = None
    ) -> None:
        self.limits, self._requests = limits, requests
        self.models = {name: _Model(name, engine, limits) for name, engine in engines.items()}
        self._endpoints = {
            (method, path): self._endpoint(handler) for path, method, handler in _HANDLERS
        }
        self.app = self._make_app()
        self._ticking: asyncio.Task[None] | None = None
        self.on_failure: Callable[[], None] = lambda: None
        self.on_replay: Callable[[int], None] = lambda left: None  # once a second

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """The application. The way to a model is short, which doubles predictions a second."""
        endpoint = self._endpoints.get((scope.get("method"), scope.get("path")))
        if endpoint is None:
            await self.app(scope, receive, send)
        else:
            answer = await endpoint(None, _Asked(scope, receive))
            if isinstance(answer, Response):
                await answer(scope, receive, send)
            else:
                await _send(send, *answer)

    async def start(self) -> None:
        """Start all models, and look at them once a second."""
        loop = asyncio.get_running_loop()
        for model in self.models.values():
            model.engine.on_news = partial(_in_loop, loop, model.board.learn)
            model.engine.start()
        self._ticking = asyncio.create_task(self._tick())

    async def wait_until_ready(self, seconds: float) -> None:
        """Wait until all models answer, but not longer than that."""
        until = asyncio.get_running_loop().time() + seconds
        while any(model.engine.published is None for model in self.models.values()):
            if self.failures or asyncio.get_running_loop().time() > until:
                return
            await asyncio.sleep(0.005)

    async def _tick(self) -> None:
        replaying = 0
        while True:
            left = sum(model.engine.to_replay for model in self.models.values())
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

    @property
    def failures(self) -> list[str]:
        """Why models no longer learn."""
        engines = [model.engine for model in self.models.values()]
        return [e.failure for e in engines if isinstance(e, Engine) and e.failure is not None]

    def end_events(self) -> None:
        """End all streams of events, which would never end by themselves."""
        for model in self.models.values():
            model.board.close()

    async def close(self) -> None:
        """Finish what is there, and write snapshots."""
        if self._ticking is not None:
            self._ticking.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._ticking
        for model in self.models.values():
            await asyncio.to_thread(model.engine.close)

    def _make_app(self) -> FastAPI:
        app = FastAPI(
            title="greville serve",
            version=__version__,
            description=openapi.DESCRIPTION,
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
        )

        @app.exception_handler(HTTPException)
        async def refuse(request: Request, error: HTTPException) -> Response:
            what = {404: "There is no such path", 405: "This path has other methods"}
            message = what.get(error.status_code, str(error.detail))
            answer = RequestError(error.status_code, f"{message}; /docs has all of them.")
            return _refusal(answer, error.headers)

        @app.head("/health", include_in_schema=False)
        @app.get("/health", summary="Whether the process runs", tags=["server"])
        async def health() -> dict[str, str]:
            return {"status": "ok"}

        @app.head("/ready", include_in_schema=False)
        @app.get("/ready", summary="Whether all models answer", tags=["server"])
        async def ready() -> Response:
            try:
                for model in self.models.values():
                    model.engine.answering()
            except RequestError as error:
                return JSONResponse({"ready": False, **error.as_dict()}, error.status)
            return JSONResponse({"ready": True})

        @app.get("/metrics", summary="Numbers for Prometheus", tags=["server"])
        async def metrics() -> Response:
            text = metrics_text(self.models, self._requests)
            return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

        @app.get("/models", summary="The names of all models", tags=["server"])
        async def models() -> dict[str, list[str]]:
            return {"models": list(self.models)}

        for path, name in (("/", "index.html"), ("/docs", "docs.html")):
            app.add_api_route(path, _static(name), include_in_schema=False)
        for each in _PAGE.iterdir():
            app.add_api_route(f"/page/{each.name}", _static(each.name), include_in_schema=False)
        for path, method, handler in _HANDLERS:
            for prefix in ("", "/models/{name}"):
                app.add_api_route(
                    prefix + path,
                    self._route(self._endpoints[method, path]),
                    methods=[method],
                    response_model=None,
                    tags=["one model"] if not prefix else ["several models"],
                    operation_id=f"{handler.__name__}{'_of' if prefix else ''}",
                    **openapi.operation(handler.__name__, bool(prefix)),
                )
        return app

    def _endpoint(self, handler: Handler) -> Callable[..., Awaitable[Any]]:
        """What answers a request to a model, or None for the only one."""

        async def endpoint(name: str | None, asked: _Asked) -> Response | tuple[bytes, str]:
            model = None
            try:
                model = self._model(name)
                return await handler(model, asked)
            except RequestError as error:
                if model is not None:
                    model.board.refuse(error)
                return _refusal(error)

        return endpoint

    def _route(self, endpoint: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Response]]:
        """The same for FastAPI."""

        async def route(request: Request) -> Response:
            asked = _Asked(request.scope, request.receive)
            answer = await endpoint(request.path_params.get("name"), asked)
            if isinstance(answer, Response):
                return answer
            return Response(answer[0], media_type=answer[1])

        return route

    def _model(self, name: str | None) -> _Model:
        if name is None and len(self.models) == 1:
            return next(iter(self.models.values()))
        found = None if name is None else self.models.get(name)
        if found is None:
            paths = ", ".join(f"/models/{each}" for each in list(self.models)[:10])
            what = "Several models are served" if name is None else "There is no such model"
            raise RequestError(404, f"{what}; take one of {paths}.", "name")
        return found


async def predict(model: _Model, asked: _Asked) -> tuple[bytes, str]:
    answering = model.engine.answering()
    wanted = _wanted(asked.query)
    known = answering.model
    if wanted["std"] and known.estimator is not None and not known.says_how_sure:
        what = "classes" if known.task == "classification" else "numbers with the solver light"
        raise RequestError(422, f"There is no std: the model predicts {what}.", "std")
    if wanted["proba"] and known.estimator is not None and known.task != "classification":
        raise RequestError(422, "There is no proba: the model predicts a number.", "proba")
    body = await _rows(model, await asked.body(), asked)
    rows, name = body.rows, model.engine.id
    named = [row for row in rows if row.get(name) is not None]
    for row in named:
        id_text(row[name], name)
    if len(rows) * answering.units > _MUCH_WORK:
        answers = await asyncio.to_thread(answering.answers, rows, **wanted)
    else:
        answers = answering.answers(rows, **wanted)
    for k, (row, answer) in enumerate(zip(rows, answers, strict=True)):
        if "error" in answer:
            place = "" if len(rows) == 1 else f"Row {k + 1:,}: "
            raise unusable(answer["error"], row, place)
        if wanted["std"]:
            answer["interval"] = interval(answer["prediction"], answer.get("std"))
        if row.get(name) is not None:
            answer["id"] = row[name]
        unused = answering.unused(row) - {name}
        if unused:
            answer["unused"] = sorted(unused)[:_MOST_NAMED]
    if named:
        given = [answer["prediction"] for answer in answers if "id" in answer]
        await asyncio.wrap_future(model.engine.submit(Work("keep", named, given)))
    model.board.predicted(rows, answers)
    return body.answer(answers)


async def learn(model: _Model, asked: _Asked) -> Response:
    return await _change(model, asked, "learn")


async def unlearn(model: _Model, asked: _Asked) -> Response:
    return await _change(model, asked, "unlearn")


async def _change(model: _Model, asked: _Asked, action: str) -> Response:
    answering = model.engine.answering()
    key, content = asked.header(b"idempotency-key"), await asked.body()
    digest = ""
    if key is not None:
        if not 0 < len(key) <= _LONGEST_KEY:
            raise RequestError(
                422,
                f"The Idempotency-Key must have 1 to {_LONGEST_KEY} characters.",
                "Idempotency-Key",
            )
        digest = hashlib.sha256(f"{action} ".encode() + content).hexdigest()
    body = await _rows(model, content, asked)
    work = Work(action, body.rows, key=key, digest=digest)
    answer = await asyncio.wrap_future(model.engine.submit(work))
    if not answering.model.schema_may_change:
        unused = set().union(*map(answering.unused, body.rows)) - {model.engine.id}
        if unused:
            answer = {**answer, "unused": sorted(unused)[:_MOST_NAMED]}
    return JSONResponse(answer)


async def describe(model: _Model, asked: _Asked) -> Response:
    return JSONResponse(description(model))


def description(model: _Model) -> dict[str, Any]:
    """What a model is, and how far it has come."""
    engine = model.engine
    known = engine.answering().model
    columns = known.schema.columns if known.has_schema else []
    return {
        "name": model.name,
        **model_summary(known),
        "columns": [_column(column) for column in columns if column.inputs],
        "memory": model_bytes(known),
        "says_std": known.task is None or known.says_how_sure,
        "says_proba": known.task == "classification",
        "id": engine.id,
        "position": engine.position,
        "snapshot": {"position": engine.snapshot_position, "at": engine.snapshot_at},
        "waiting": engine.n_waiting,
        "read_only": isinstance(engine, Reader),
        "version": __version__,
    }


def _column(column: Any) -> dict[str, Any]:
    found = {"name": column.name, "what": column.description()}
    values = [*getattr(column, "values", ()), *getattr(column, "late", ())]
    return {**found, "values": [str(each) for each in values][:_MOST_VALUES]} if values else found


async def file(model: _Model, asked: _Asked) -> Response:
    engine = model.engine
    engine.answering()
    headers = {"content-disposition": f'attachment; filename="{_ascii(model.name)}.greville"'}
    try:
        if isinstance(engine, Reader):
            content = await asyncio.to_thread(engine.path.read_bytes)
        else:
            stream = await asyncio.wrap_future(engine.submit(Work("copy")))
            content = await asyncio.to_thread(_as_bytes, stream)
    except (OSError, ModelFileError) as error:
        logger.error("/model/file: %s", error)
        raise RequestError(
            503, "The file cannot be written or read now; the server's log says why."
        ) from error
    return Response(content, media_type="application/octet-stream", headers=headers)


def _as_bytes(stream: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.greville"
        save(stream, path)
        return path.read_bytes()


def _ascii(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)


async def events(model: _Model, asked: _Asked) -> Response:
    model.board.check_room()
    return StreamingResponse(model.board.watch(), media_type="text/event-stream")


_HANDLERS: tuple[tuple[str, str, Handler], ...] = (
    ("/predict", "POST", predict),
    ("/learn", "POST", learn),
    ("/unlearn", "POST", unlearn),
    ("/model", "GET", describe),
    ("/model/file", "GET", file),
    ("/events", "GET", events),
)


async def _rows(model: _Model, content: bytes, asked: _Asked) -> Body:
    kind = asked.header(b"content-type") or ""
    limits = model.limits
    if len(content) > _LONG_BODY:
        return await asyncio.to_thread(read_body, content, kind, limits)
    return read_body(content, kind, limits)


async def _send(send: Any, content: bytes, kind: str) -> None:
    """An answer without what a `Response` can do besides."""
    headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(content))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _wanted(query: bytes) -> dict[str, bool]:
    """Whether a standard deviation or probabilities are asked for."""
    if not query:
        return {"std": False, "proba": False}
    found = parse_qs(query.decode("latin-1"), keep_blank_values=True)
    for name in found:
        if name not in ("std", "proba"):
            raise RequestError(422, "The query has an unknown field; it may be std or proba.", name)
    return {name: _is_on(name, found.get(name)) for name in ("std", "proba")}


def _is_on(name: str, values: list[str] | None) -> bool:
    if values is None:
        return False
    if values[-1].lower() not in ("", "1", "true", "0", "false"):
        raise RequestError(422, f"The field {name} of the query is neither true nor false.", name)
    return values[-1].lower() in ("", "1", "true")


def _refusal(error: RequestError, headers: Mapping[str, str] | None = None) -> Response:
    extra = dict(headers or {})
    if error.status in (429, 503):
        extra["Retry-After"] = "1"
    return JSONResponse(error.as_dict(), error.status, extra)


def _static(name: str) -> Callable[[], Awaitable[Response]]:
    content = (_PAGE / name).read_bytes()
    kind = _KINDS[Path(name).suffix] + "; charset=utf-8"

    async def endpoint() -> Response:
        return Response(content, media_type=kind)

    return endpoint
