"""The paths of one model."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from .. import __version__
from ..persistence import ModelFileError, save
from ..tables import Answering, Stream, model_bytes, model_summary
from .board import Board
from .bodies import Row, receive_body
from .description import EVENTS, FILE, LEARN, LOG, LONGEST_KEY, MODEL, PREDICT, UNLEARN
from .engine import Engine
from .learning import Work, id_text, unusable
from .limits import Limits
from .log import LogReader
from .reader import Reader
from .refusals import RequestError
from .replica import Replica

# Rows times units from which a prediction is computed in another thread.
_MUCH_WORK = 1 << 20

# Values of a column, and columns that are not used, which are named.
_MOST_VALUES, _MOST_NAMED = 200, 20

logger = logging.getLogger("greville.serve")

Handler = Callable[[Request], Awaitable[Response]]


class ServedModel:
    """One model, as requests see it."""

    def __init__(self, name: str, engine: Engine | Reader, limits: Limits) -> None:
        self.name, self.engine, self.limits = name, engine, limits
        self.board = Board(engine, limits.watchers)


def find_model(request: Request) -> ServedModel:
    """The model that the path names, or the only one."""
    models: dict[str, ServedModel] = request.app.state.models
    name = request.path_params.get("name")
    if name is None and len(models) == 1:
        (name,) = models
    model = models.get(name)  # type: ignore[arg-type]
    if model is None:
        paths = ", ".join(f"/models/{each}" for each in list(models)[:10])
        what = "Several models are served" if name is None else "There is no such model"
        raise RequestError(404, f"{what}; take one of {paths}.", "name")
    request.scope["greville.model"] = model  # for what is refused
    return model


# The interval around a prediction in which nine of ten targets lie: so many standard deviations.
_NINE_OF_TEN = 1.6448536269514722


async def predict(request: Request) -> Response:
    """A row with an id is kept, on the disk, until its target comes with /learn."""
    model = find_model(request)
    engine, answering = model.engine, model.engine.answering()
    flags = query_flags(request, "std", "proba")
    _check_flags(flags, answering)
    body = await receive_body(request, model.limits)
    rows, name = body.rows, engine.id
    named = [row for row in rows if row.get(name) is not None]
    for row in named:
        id_text(row[name], name)
    if len(rows) * answering.units > _MUCH_WORK:
        answers = await asyncio.to_thread(answering.answers, rows, **flags)
    else:
        answers = answering.answers(rows, **flags)
    for k, (row, answer) in enumerate(zip(rows, answers, strict=True)):
        if "error" in answer:
            raise unusable(answer["error"], row, "" if len(rows) == 1 else f"Row {k + 1:,}: ")
        if flags["std"]:
            answer["interval"] = _interval(answer["prediction"], answer.get("std"))
        if row.get(name) is not None:
            answer["id"] = row[name]
        answer.update(_unused(answering, [row], name))
    if named:
        given = [answer["prediction"] for answer in answers if "id" in answer]
        await asyncio.wrap_future(engine.submit(Work("keep", named, given)))
    model.board.predicted(rows, answers)
    return body.response(answers)


def _interval(prediction: Any, std: Any) -> list[float] | None:
    """Where nine of ten targets are to be expected."""
    if not isinstance(prediction, float) or not isinstance(std, float):
        return None
    return [prediction - _NINE_OF_TEN * std, prediction + _NINE_OF_TEN * std]


def query_flags(request: Request, *names: str) -> dict[str, bool]:
    """What is switched on in the query, where nothing else may be."""
    flags = dict.fromkeys(names, False)
    for name, value in request.query_params.items() if request.scope["query_string"] else ():
        if name not in names:
            known = " or ".join(names)
            raise RequestError(422, f"The query has an unknown field; it may be {known}.", name)
        if value.lower() not in ("", "1", "true", "0", "false"):
            raise RequestError(
                422, f"The field {name} of the query is neither true nor false.", name
            )
        flags[name] = value.lower() in ("", "1", "true")
    return flags


def _check_flags(flags: Mapping[str, bool], answering: Answering) -> None:
    """A RequestError if the model has no such thing."""
    model = answering.model
    if model.estimator is None:
        return
    if flags["std"] and not model.says_how_sure:
        what = "classes" if model.task == "classification" else "numbers with the solver light"
        raise RequestError(422, f"There is no std: the model predicts {what}.", "std")
    if flags["proba"] and model.task != "classification":
        raise RequestError(422, "There is no proba: the model predicts a number.", "proba")


def _unused(answering: Answering, rows: list[Row], id: str) -> dict[str, list[str]]:
    """Names in rows that the model does not use, as a part of an answer."""
    unused = set().union(*map(answering.unused, rows)) - {id}
    return {"unused": sorted(unused)[:_MOST_NAMED]} if unused else {}


async def learn(request: Request) -> Response:
    """Rows with their targets, or ids of kept rows with targets; all of a request or none.

    Answered when they are on the disk. An id that was learned before is counted as repeated.
    After 100 targets in ascending or descending order the answer has a warning.
    """
    return await _change("learn", request)


async def unlearn(request: Request) -> Response:
    """Rows with their targets, or ids of rows that were learned: as if they had never come."""
    return await _change("unlearn", request)


async def _change(action: str, request: Request) -> Response:
    model = find_model(request)
    answering, key = model.engine.answering(), request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= LONGEST_KEY:
        raise RequestError(
            422,
            f"The Idempotency-Key must have 1 to {LONGEST_KEY} characters.",
            "Idempotency-Key",
        )
    body = await receive_body(request, model.limits)
    content = action.encode() + b" " + body.content
    digest = "" if key is None else hashlib.sha256(content).hexdigest()
    work = Work(action, body.rows, key=key, digest=digest)
    answer = await asyncio.wrap_future(model.engine.submit(work))
    if not answering.model.schema_may_change:
        answer = {**answer, **_unused(answering, body.rows, model.engine.id)}
    return JSONResponse(answer)


async def describe(request: Request) -> Response:
    """What greville info says, and how far the model has come."""
    model = find_model(request)
    engine = model.engine
    known = engine.answering().model
    columns = known.schema.columns if known.has_schema else []
    return JSONResponse(
        {
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
            "leader": leader_of(engine),
            "version": __version__,
        }
    )


def leader_of(engine: Engine | Reader) -> dict[str, Any] | None:
    """Whom a replica follows, and how far it is behind."""
    if not isinstance(engine, Replica):
        return None
    numbers = {"position": engine.leader_position, "behind": engine.behind}
    return {"url": engine.leader, **numbers, "seconds_since_heard": round(engine.silence, 1)}


def _column(column: Any) -> dict[str, Any]:
    found = {"name": column.name, "what": column.description()}
    values = [*getattr(column, "values", ()), *getattr(column, "late", ())]
    return {**found, "values": [str(each) for each in values][:_MOST_VALUES]} if values else found


async def download(request: Request) -> Response:
    """For greville predict, greville.load, or another server."""
    model = find_model(request)
    model.engine.answering()
    log = query_flags(request, "log")["log"]
    try:
        stream, extra, _ = await asyncio.wrap_future(model.engine.submit(Work("copy")))
        content = await asyncio.to_thread(_as_bytes, stream, extra if log else None)
    except (OSError, ModelFileError) as error:
        logger.error("/model/file: %s", error)
        raise RequestError(
            503, "The file cannot be written or read now; the server's log says why."
        ) from error
    ascii_name = "".join(
        c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in model.name
    )
    headers = {"content-disposition": f'attachment; filename="{ascii_name}.greville"'}
    if log:
        headers["Greville-Log"] = _log_of(model).log_uid
    return Response(content, media_type="application/octet-stream", headers=headers)


def _log_of(model: ServedModel) -> Engine:
    """What has a log, which can be followed."""
    if isinstance(model.engine, Engine):
        return model.engine
    raise RequestError(404, "This server has no log; follow the server that learns.")


async def follow(request: Request) -> Response:
    """Server-sent events, for greville serve --follow: all that was learned after a position."""
    model = find_model(request)
    engine = _log_of(model)
    engine.answering()
    after = request.query_params.get("after", "")
    if not (after.isascii() and after.isdigit() and len(after) < 19):
        raise RequestError(422, "The field after of the query must be a position.", "after")
    log = await asyncio.to_thread(LogReader, engine.log_path)
    reaches = await asyncio.to_thread(log.reaches, int(after))
    if request.query_params.get("log") != engine.log_uid or not reaches:
        log.close()
        raise RequestError(
            410, "This log does not go on from there; load /model/file?log again.", "after"
        )
    return StreamingResponse(model.board.entries(log, int(after)), media_type="text/event-stream")


def _as_bytes(stream: Stream, extra: dict[str, Any] | None) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.greville"
        save(stream, path, extra=extra)
        return path.read_bytes()


async def events(request: Request) -> Response:
    """Server-sent events: "state" each second, with counts, errors, alarms and the last rows."""
    model = find_model(request)
    model.board.check_room()
    return StreamingResponse(model.board.watch(), media_type="text/event-stream")


# The path, the method, what answers, and what the description says besides.
PATHS: tuple[tuple[str, str, Handler, dict[str, Any]], ...] = (
    ("/predict", "POST", predict, PREDICT),
    ("/learn", "POST", learn, LEARN),
    ("/unlearn", "POST", unlearn, UNLEARN),
    ("/model", "GET", describe, MODEL),
    ("/model/file", "GET", download, FILE),
    ("/events", "GET", events, EVENTS),
    ("/log", "GET", follow, LOG),
)
