"""How much a request may ask for, and how models are served."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


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
    connections: int = 256  # open at once: 503, by uvicorn
    requests: int = 1_000  # that wait for the disk: 429
    watchers: int = 32  # of /events: 429
    seconds: float = 30.0  # in which a body must come: 408


@dataclass(frozen=True)
class ServeOptions:
    """How models are to be served.

    Attributes
    ----------
    target : the column to predict, of a new model
    settings : other parameters of a new `TableModel`
    given : those of them that a model which is there must have too
    id : the field that names rows; None for that of the file, or "id"
    follow : whether a new stream mixes predictions with what the last targets say
    new_log : whether to go on without a log that is not there
    sync : whether rows are on the disk before they are acknowledged
    limits : Limits
    keep : seconds after which rows without a target, and keys of requests, are forgotten
    keep_log : seconds after which entries are deleted that a snapshot has; None for never
    every, every_seconds : rows or seconds between two snapshots, if anything was learned

    Examples
    --------
    >>> from greville.serve import ServeOptions
    >>> ServeOptions(target="flow").every
    10000
    """

    target: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    id: str | None = None
    follow: bool = True
    new_log: bool = False
    sync: bool = True
    limits: Limits = field(default_factory=Limits)
    keep: float = 7 * 86_400.0
    keep_log: float | None = None
    every: int = 10_000
    every_seconds: float = 60.0
