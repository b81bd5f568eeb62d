"""Refusals: what a client gets when a request cannot be answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fastapi.responses import JSONResponse

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


def unusable(reason: str, row: dict[str, Any]) -> RequestError:
    """Describe a row that cannot be used to the client, with the first field that is named."""
    places = {reason.find(repr(name)): name for name in row if repr(name) in reason}
    text = reason.rstrip(".")
    field = places[min(places)] if places else None
    return RequestError(422, f"{text[:1].upper()}{text[1:]}.", field)
