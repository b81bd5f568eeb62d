"""Rows from the bodies of requests, answers as bodies, and refusals."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic import (
    FailFast,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    TypeAdapter,
    ValidationError,
)
from starlette.requests import ClientDisconnect

from .log import Row
from .parameters import Limits

JSON, NDJSON = "application/json", "application/x-ndjson"

# Squares of larger numbers, and sums of them, would be infinite.
_Integer = Annotated[StrictInt, Field(ge=-(10**100), le=10**100)]
_Float = Annotated[StrictFloat, Field(ge=-1e100, le=1e100, allow_inf_nan=False)]
_Value = StrictBool | _Integer | _Float | StrictStr | list[_Integer | _Float] | None
_ROW = TypeAdapter[Any](dict[str, _Value])
_ROWS = TypeAdapter[Any](Annotated[list[dict[str, _Value]], FailFast()])

# Bytes of a body from which it is read in another thread: others are answered meanwhile.
_LONG_BODY = 1 << 17


@dataclass(frozen=True)
class Body:
    """Rows, whether they came as one object, as a list, or as lines; and the bytes of them."""

    rows: list[Row]
    form: str
    content: bytes

    def response(self, answers: Sequence[Any]) -> Response:
        """Return the answers in the form in which the rows came."""
        if self.form == "lines":
            lines = "".join(json.dumps(each) + "\n" for each in answers)
            return Response(lines, media_type=NDJSON)
        content = answers[0] if self.form == "one" else answers
        return Response(json.dumps(content), media_type=JSON)


async def receive_body(request: Request, limits: Limits) -> Body:
    """The body of a request, if it is not too large, comes in time, and has rows."""
    kind = request.headers.get("content-type", "").lower().replace(" ", "")
    if kind.removesuffix(";charset=utf-8") not in (JSON, NDJSON):
        what = f"Content-Type must be {JSON} or {NDJSON}, without or with charset=utf-8."
        raise RequestError(415, what)
    content = b""
    too_large = f"The body is larger than {limits.body} bytes: send fewer rows at a time."
    try:
        async with asyncio.timeout(limits.seconds):
            if int(request.headers.get("content-length", 0)) > limits.body:
                raise RequestError(413, too_large)
            async for part in request.stream():
                content += part
                if len(content) > limits.body:
                    raise RequestError(413, too_large)
    except TimeoutError:
        what = f"The body has not come within {limits.seconds:g} seconds: send it again."
        raise RequestError(408, what) from None
    except ClientDisconnect:
        raise RequestError(400, "The client has gone.") from None
    if len(content) > _LONG_BODY:
        return await asyncio.to_thread(read_body, content, kind, limits)
    return read_body(content, kind, limits)


def read_body(content: bytes, kind: str, limits: Limits) -> Body:
    """The rows of a body; a RequestError if it has none."""
    if kind.startswith(NDJSON):
        form, lines = "lines", enumerate(content.split(b"\n"), 1)
        rows = [_validated(_ROW, line, f"Line {k:,}") for k, line in lines if line.strip()]
    elif content.lstrip().startswith(b"["):
        form, rows = "many", _validated(_ROWS, content, "The body")
    else:
        form, rows = "one", [_validated(_ROW, content, "The body")]
    if not rows:
        raise RequestError(400, "The body has no row; send a JSON object, or a list of them.")
    if len(rows) > limits.rows:
        what = f"The body has {len(rows):,} rows; send at most {limits.rows:,} in a request."
        raise RequestError(413, what)
    for k, row in enumerate(rows):
        if not 0 < len(row) <= limits.columns:
            with naming_row(rows, k):
                what = f"The row has {len(row):,} fields; send one for each column"
                raise RequestError(413 if row else 422, f"{what}, at most {limits.columns:,}.")
    return Body(rows, form, content)


def _validated(adapter: TypeAdapter[Any], content: bytes, name: str) -> Any:
    """A row, or a list of rows, from JSON; a RequestError that says where it is wrong."""
    try:
        return adapter.validate_json(content)
    except ValidationError as error:
        wrong, *_ = error.errors(include_url=False, include_context=False)
    if wrong["type"] == "json_invalid":
        reason = wrong["msg"].removeprefix("Invalid JSON: ")
        raise RequestError(400, f"{name} cannot be read as JSON: {reason}.")
    place = wrong["loc"]
    if place and isinstance(place[0], int):
        name, place = f"Row {place[0] + 1:,}", place[1:]
    if not place:
        raise RequestError(400, f"{name} is not a JSON object with a field for each column.")
    field, value = str(place[0]), wrong["input"]
    what = "send text, a number up to 1e100, true, false, null or a list of numbers"
    if len(place) == 2 and isinstance(value, dict) and value:
        what = f"send what is in it as fields such as {shown(f'{field}.{next(iter(value))}')}"
    raise RequestError(422, f"{name}: the field {shown(field)} cannot be used; {what}.", field)


def shown(value: Any) -> str:
    """A name or a value in a message, not longer than a line."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."


# Of an error that is not the client's.
BUG = "This is a bug in greville, not in your request; the server's log has the details."

# Headers beside a status.
_HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    408: {"Connection": "close"},  # the rest of the body may still come
    413: {"Connection": "close"},
    429: {"Retry-After": "1"},
    503: {"Retry-After": "1"},
}


class RequestError(Exception):
    """A request that cannot be answered: a status of HTTP, and one sentence.

    Parameters
    ----------
    status : int
    message : str
        Names the field and says what to do.
    field : str, optional
        The name of the field, for programs.
    """

    def __init__(self, status: int, message: str, field: str | None = None) -> None:
        super().__init__(status, message, field)
        self.status, self.message, self.field = status, message, field

    def __str__(self) -> str:
        return self.message

    def response(self) -> JSONResponse:
        content = {"error": self.message, "field": self.field}
        return JSONResponse(content, self.status, _HEADERS.get(self.status))


@contextmanager
def naming_row(rows: Sequence[Any], k: int) -> Iterator[None]:
    """Name the row in a refusal, where the request has several rows."""
    try:
        yield
    except RequestError as error:
        if len(rows) > 1:
            error.message = f"Row {k + 1:,}: {error.message}"
        raise


def unusable(reason: str, rows: Sequence[Row], k: int = 0) -> RequestError:
    """Say why a row cannot be used: which of several, and the first field that is named."""
    row, text = rows[k], reason.rstrip(".")
    places = {reason.find(repr(name)): name for name in row if repr(name) in reason}
    text = f"{text[:1].upper()}{text[1:]}."
    text = f"Row {k + 1:,}: {text}" if len(rows) > 1 else text
    return RequestError(422, text, places[min(places)] if places else None)
