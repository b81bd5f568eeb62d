"""How much a request may ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What is more is refused, with the status that stands beside it.

    Examples
    --------
    >>> from greville.serve import Limits
    >>> Limits(rows=100).rows
    100
    """

    body: int = 4 << 20  # bytes of a request's body: 413
    rows: int = 10_000  # rows in a request: 413
    columns: int = 1_000  # names in a row: 413
    waiting: int = 100_000  # rows that wait for their targets: 429
    connections: int = 256  # open at once: 429
    requests: int = 1_000  # that wait for the disk: 429
    watchers: int = 32  # of /events: 429
    seconds: float = 30.0  # from a request's first byte to the end of its body: 408
    head: int = 32 << 10  # bytes of the request line and the headers: 431
