"""What a client is told when a request cannot be answered."""

from __future__ import annotations

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
        super().__init__(message)
        self.status, self.message, self.field = status, message, field

    def as_dict(self) -> dict[str, Any]:
        return {"error": self.message, "field": self.field}

    def response(self) -> JSONResponse:
        return JSONResponse(self.as_dict(), self.status, _HEADERS.get(self.status))
