"""Where a server listens, how much a request may ask for, and how models are served."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from typing import Any


class ServeError(ValueError):
    """A model that cannot be served as it was asked for.

    Examples
    --------
    >>> from greville.serve import ServeError, ServerAddress
    >>> try:
    ...     ServerAddress(host="0.0.0.0")
    ... except ServeError:
    ...     print("others could use it: it needs a token")
    others could use it: it needs a token
    """


@dataclass(frozen=True)
class Limits:
    """Limits of requests: what is more is refused, with the status beside each limit.

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
    connections: int = 256  # open at once: 503
    seconds: float = 30.0  # in which a body must come: 408


@dataclass(frozen=True)
class ServerAddress:
    """The address of a server, and the rules for who may use it.

    Attributes
    ----------
    host, port : where to listen; port 0 is any that is free
    token : what clients must send; needed for all but loopback addresses
    origins : pages from elsewhere that may use the server
    limits : Limits

    Raises
    ------
    ServeError
        If others could use it without a token, or if an origin is none.

    Examples
    --------
    >>> from greville.serve import ServerAddress
    >>> ServerAddress(host="0.0.0.0", token="secret", origins=("https://example.org/",)).origins
    ('https://example.org',)
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    origins: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.token is None and not _is_loopback(self.host):
            what = "others could use the server; give it a token, or listen on 127.0.0.1"
            raise ServeError(f"host={self.host!r}: {what}.")
        origins = tuple(origin.strip().lower().removesuffix("/") for origin in self.origins)
        for origin in origins:
            if not re.fullmatch(r"[a-z][a-z0-9+.-]*://[a-z0-9.:\[\]_-]+", origin):
                what = "it must look like https://example.com or http://example.com:8080"
                raise ServeError(f"allow_origin={origin!r}: this is not an origin: {what}.")
        object.__setattr__(self, "origins", origins)


def _is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class ServeOptions:
    """Options for serving models.

    Attributes
    ----------
    target : the column to predict, of a new model
    settings : other parameters of a new `TableModel`
        that a model which is there must have too
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
    id: str | None = None
    follow: bool = True
    new_log: bool = False
    sync: bool = True
    limits: Limits = field(default_factory=Limits)
    keep: float = 7 * 86_400.0
    keep_log: float | None = None
    every: int = 10_000
    every_seconds: float = 60.0
