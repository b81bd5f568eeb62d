"""The paths of one model."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from itertools import islice
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel, BeforeValidator

from .. import __version__
from ..persistence import ModelFileError
from ..tables import Answering, model_bytes, model_summary
from .bodies import JSON, NDJSON, RequestError, receive_body, unusable
from .learning_service import LearningService, Work, id_text
from .log import Log, LogError, Row
from .service import Service

# Rows times units from which a prediction is computed in another thread.
_MUCH_WORK = 1 << 20

# Values of a column, and columns that are not used, which are named.
_MOST_VALUES, _MOST_NAMED = 200, 20

# Seconds between two events, in which replicas are answered too, and between two looks at a log;
# runs of its entries in an answer.
_BETWEEN, _POLL, _MOST_RUNS = 1.0, 0.05, 8

_OTHER_LOG = "This log does not go on from there; load /model/file?log again."

# The interval around a prediction in which nine of ten targets lie: so many standard deviations.
_NINE_OF_TEN = 1.6448536269514722

logger = logging.getLogger("greville.serve")


class Refusal(BaseModel):
    """The error in one sentence, and the field of the request that caused the error."""

    error: str
    field: str | None


class _DirectRoute(APIRoute):
    """Calls its handler at once where no query is to be read, which takes FastAPI longer."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Any:
            return await (handle if request.scope["query_string"] else self.endpoint)(request)

        return answer


def find_service(request: Request) -> Service:
    """The model that the path names, or the only one."""
    services: dict[str, Service] = request.app.state.services
    name = request.path_params.get("name")
    if name is None and len(services) == 1:
        return next(iter(services.values()))
    if name not in services:
        others = ", ".join(f"/models/{each}" for each in list(services)[:10])
        what = "Several models are served" if name is None else "There is no such model"
        raise RequestError(404, f"{what}; take one of {others}.", "name")
    return services[name]


_ROW = {"type": "object", "additionalProperties": True, "example": {"area": 80, "city": "Oslo"}}
_CONTENT = {
    JSON: {"schema": {"oneOf": [_ROW, {"type": "array", "items": _ROW}]}},
    NDJSON: {"schema": {"type": "string", "description": "One JSON object a line."}},
}
_POSTED: dict[str, Any] = {
    "methods": ["POST"],
    "openapi_extra": {"requestBody": {"required": True, "content": _CONTENT}},
}


# "?std" alone switches it on.
_Flag = Annotated[bool, BeforeValidator(lambda text: text if text != "" else True)]


class Additions(BaseModel, extra="forbid"):
    """A standard deviation with an interval for nine of ten, the probability of each class, and
    the share of each column in the prediction."""

    std: _Flag = False
    proba: _Flag = False
    why: _Flag = False


_NO_ADDITIONS = Additions()
_Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", min_length=1, max_length=200, description="Done once a key."),
]


async def predict(
    request: Request, additions: Annotated[Additions, Query()] = _NO_ADDITIONS
) -> Response:
    """A row with an id is kept, on the disk, until its target comes with /learn."""
    service = find_service(request)
    answering, name = service.answering(), service.id
    _check_additions(additions, answering)
    body = await receive_body(request, request.app.state.limits)
    rows, flags = body.rows, additions.model_dump()
    kept = [row for row in rows if id_text(row, name) is not None]
    if len(rows) * answering.units > _MUCH_WORK:
        answers = await asyncio.to_thread(answering.answers, rows, **flags)
    else:
        answers = answering.answers(rows, **flags)
    for k, (row, answer) in enumerate(zip(rows, answers, strict=True)):
        if "error" in answer:
            raise unusable(answer["error"], rows, k)
        if additions.std:
            std, middle = answer.get("std"), answer["prediction"]
            half = None if std is None else _NINE_OF_TEN * std
            answer["interval"] = None if half is None else [middle - half, middle + half]
        if row.get(name) is not None:
            answer["id"] = row[name]
        answer.update(_unused(answering, [row], name))
    if kept:
        predictions = [answer["prediction"] for answer in answers if "id" in answer]
        await asyncio.wrap_future(service.submit(Work("keep", kept, predictions)))
    service.board.add_predictions(rows, answers)
    return body.response(answers)


def _check_additions(additions: Additions, answering: Answering) -> None:
    """Raise a RequestError for additions that the model does not have."""
    model, what = answering.model, "There is no {0}: the model predicts {1}."
    is_classifier = model.task == "classification"
    if model.estimator is not None and additions.std and not model.says_how_sure:
        kind = "classes" if is_classifier else "numbers with the solver light"
        raise RequestError(422, what.format("std", kind), "std")
    if model.estimator is not None and additions.proba and not is_classifier:
        raise RequestError(422, what.format("proba", "a number"), "proba")


def _unused(answering: Answering, rows: list[Row], id: str) -> dict[str, list[str]]:
    """Names in rows that the model does not use, as a part of an answer."""
    unused = set().union(*map(answering.unused, rows)) - {id}
    return {"unused": sorted(unused)[:_MOST_NAMED]} if unused else {}


async def learn(request: Request, idempotency_key: _Key = None) -> Response:
    """Rows with their targets, or ids of kept rows with targets; all of a request or none.

    Answered when they are on the disk. An id that was learned before is counted as repeated.
    After 100 targets in ascending or descending order the answer has a warning.
    """
    return await _change("learn", request, idempotency_key)


async def unlearn(request: Request, idempotency_key: _Key = None) -> Response:
    """Rows with their targets, or ids of rows that were learned: as if they had never come."""
    return await _change("unlearn", request, idempotency_key)


async def _change(action: str, request: Request, key: str | None) -> Response:
    service = find_service(request)
    answering = service.answering()
    body = await receive_body(request, request.app.state.limits)
    digest = "" if key is None else hashlib.sha256(action.encode() + body.content).hexdigest()
    work = Work(action, body.rows, key=key, digest=digest)
    answer = await asyncio.wrap_future(service.submit(work))
    if not answering.model.schema_may_change:
        answer = {**answer, **_unused(answering, body.rows, service.id)}
    return JSONResponse(answer)


def describe(request: Request) -> dict[str, Any]:
    """Return the facts of `greville info`, and the model's progress."""
    service = find_service(request)
    published = service.answering().model
    columns = published.schema.columns if published.has_schema else []
    return {
        "name": service.name,
        **model_summary(published),
        "columns": [_column(column) for column in columns if column.inputs],
        "memory": model_bytes(published),
        "says_std": published.task is None or published.says_how_sure,
        "says_proba": published.task == "classification",
        "id": service.id,
        "position": service.position,
        "snapshot": {"position": service.snapshot_position, "at": service.snapshot_at},
        "waiting": service.n_waiting,
        "read_only": not isinstance(service, LearningService),
        "leader": service.leader(),
        "most_changed": service.most_changed(),
        "version": __version__,
    }


def _column(column: Any) -> dict[str, Any]:
    described = {"name": column.name, "what": column.description()}
    values = [str(each) for each in (*getattr(column, "values", ()), *getattr(column, "late", ()))]
    return {**described, "values": values[:_MOST_VALUES]} if values else described


def importance(request: Request) -> dict[str, float]:
    """How far predictions move with each column, in units of the target, at the last rows."""
    return find_service(request).importance()


def download(
    request: Request,
    log: Annotated[_Flag, Query(description="With its place in the log, for replicas.")] = False,
) -> Response:
    """Send the model file: for `greville predict`, `greville.load` or another server."""
    service = find_service(request)
    service.answering()
    try:
        content = service.file(log and bool(_learning(service)))
    except (OSError, ModelFileError) as error:
        logger.error("/model/file: %s", error)
        what = "The file cannot be written or read now; the server's log says why."
        raise RequestError(503, what) from error
    name = service.name.encode("ascii", "replace").decode().replace("?", "_")
    headers = {"content-disposition": f'attachment; filename="{name}.greville"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


def _learning(service: Service) -> LearningService:
    """Return the service, which has a log that replicas follow."""
    if isinstance(service, LearningService):
        return service
    raise RequestError(404, "This server has no log; follow the server that learns.")


async def events(request: Request) -> Response:
    """Server-sent events: "state" each second, with counts, errors, alarms and the last rows."""
    service = find_service(request)

    async def states() -> AsyncIterator[str]:
        while not request.app.state.is_stopping():
            yield f"event: state\ndata: {json.dumps(service.state())}\n\n"
            await asyncio.sleep(_BETWEEN)

    return StreamingResponse(states(), media_type="text/event-stream")


async def follow(
    request: Request, after: Annotated[int, Query(ge=0, lt=1 << 63)], log: str = ""
) -> Response:
    """What was learned after a position, for greville serve --follow; nothing after a second."""
    service = _learning(find_service(request))
    service.answering()
    if log != service.log_uid or after > service.position:
        raise RequestError(410, _OTHER_LOG, "after")
    until = time.monotonic() + _BETWEEN
    while service.position <= after and time.monotonic() < until:
        await asyncio.sleep(_POLL)
    content = await asyncio.to_thread(_runs_after, service, after)
    return Response(content, media_type=JSON)


def _runs_after(service: LearningService, after: int) -> str:
    """Return the first runs of the log after a position, and the position of all, as JSON."""
    position = service.position
    try:
        with closing(Log(service.log.path, read_only=True)) as log:
            runs = [run._asdict() for run in islice(log.runs(after, position), _MOST_RUNS)]
    except LogError as error:  # these rows were erased
        raise RequestError(410, _OTHER_LOG, "after") from error
    return json.dumps({"position": position, "runs": runs})


def _named(name: str) -> None:
    """Describes the name in a path."""


_PATHS: tuple[tuple[str, Callable[..., Any], dict[str, Any]], ...] = (
    ("/predict", predict, {**_POSTED, "route_class_override": _DirectRoute}),
    ("/learn", learn, _POSTED),
    ("/unlearn", unlearn, _POSTED),
    ("/model", describe, {}),
    ("/importance", importance, {}),
    ("/model/file", download, {"response_class": Response}),
    ("/events", events, {"response_class": StreamingResponse}),
    ("/log", follow, {"include_in_schema": False}),
)


def add_paths(app: FastAPI) -> None:
    """Add the paths of the only model, and those of all by their names.

    Not by `include_router`: that looks for them in a router of its own, which takes longer than a
    prediction.
    """
    token = Depends(HTTPBearer(auto_error=False))  # which describes it; `Access` checks it
    for prefix, dependencies in (("", [token]), ("/models/{name}", [token, Depends(_named)])):
        for path, handler, options in _PATHS:
            app.router.add_api_route(
                prefix + path,
                handler,
                dependencies=dependencies,
                tags=["several models" if prefix else "one model"],
                responses={"4XX": {"model": Refusal, "description": "What is wrong."}},
                response_model=None,
                **options,
            )
