"""Rows from the bodies of requests, and answers as bodies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from fastapi import Request, Response
from starlette.requests import ClientDisconnect

from ..tables.readers.json import is_text
from .log import Row
from .options import Limits
from .refusals import RequestError

JSON, NDJSON = "application/json", "application/x-ndjson"

# Squares of larger numbers, and sums of them, would be infinite.
_LARGEST = 1e100

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
        form = "lines"
        texts = {f"Line {k:,}": line for k, line in enumerate(content.split(b"\n"), 1)}
        rows = {name: _parsed(line, name) for name, line in texts.items() if line.strip()}
    else:
        value = _parsed(content, "The body")
        form = "many" if isinstance(value, list) else "one"
        many = {f"Row {k:,}": row for k, row in enumerate(value, 1)} if form == "many" else {}
        rows = many if form == "many" else {"The body": value}
    if not rows:
        raise RequestError(400, "The body has no row; send a JSON object, or a list of them.")
    if len(rows) > limits.rows:
        what = f"The body has {len(rows):,} rows; send at most {limits.rows:,} in a request."
        raise RequestError(413, what)
    for name, row in rows.items():
        _check_row(row, name, limits)
    return Body(list(rows.values()), form, content)


def _parsed(text: bytes, name: str) -> Any:
    try:
        return _decode(text.decode())
    except RecursionError:
        reason = "has lists or objects that are nested too deep"
    except ValueError as error:
        reason = f"cannot be read as JSON: {str(error).partition('; use sys.')[0]}"
    raise RequestError(400, f"{name} {reason}.")


def _not_a_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number there; leave the field out, or send null")


def _object(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ValueError(f"the field {shown(twice)} is there twice")
    return row


_decode = json.JSONDecoder(parse_constant=_not_a_number, object_pairs_hook=_object).decode


def _check_row(row: Any, name: str, limits: Limits) -> None:
    if not isinstance(row, dict):
        raise RequestError(400, f"{name} is not a JSON object with a field for each column.")
    if not row:
        raise RequestError(422, f"{name} has no field; send one for each column.")
    if len(row) > limits.columns:
        raise RequestError(413, f"{name} has {len(row):,} fields; send at most {limits.columns:,}.")
    for field, value in row.items():
        if not _is_usable(field):
            raise RequestError(422, f"{name}: a field's name has half of a character.")
        if not (_is_usable(value) or (type(value) is list and _are_numbers(value))):
            what = "send text, a number up to 1e100, true, false, null or a list of numbers"
            if isinstance(value, dict) and value:
                what = (
                    f"send what is in it as fields such as {shown(f'{field}.{next(iter(value))}')}"
                )
            field_name = f"{name}: the field {shown(field)}"
            raise RequestError(422, f"{field_name} cannot be used; {what}.", field)


def _is_usable(value: Any) -> bool:
    """Whether a column may have this value."""
    kind = type(value)
    if kind is float or kind is int:
        return -_LARGEST <= value <= _LARGEST
    if kind is str:
        return value.isascii() or is_text(value)
    return value is None or kind is bool


def _are_numbers(values: list[Any]) -> bool:
    """Whether a value is a list of numbers, such as an embedding."""
    return all((type(v) is float or type(v) is int) and abs(v) <= _LARGEST for v in values)


def shown(value: Any) -> str:
    """A name or a value in a message, not longer than a line."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
