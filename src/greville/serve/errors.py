"""What a client is told."""

from __future__ import annotations

import json
from typing import Any

# Of an error that is not the client's.
BUG = "This is a bug in greville, not in your request; the server's log has the details."


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

    def body(self) -> bytes:
        """The same as JSON."""
        return json.dumps(self.as_dict()).encode()
