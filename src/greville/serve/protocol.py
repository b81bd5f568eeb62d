"""Connections of uvicorn with limits that it does not have itself.

Written against uvicorn 0.54 and httptools 0.9. A request that is not understood, too long or too
slow is answered in JSON and its connection closed, and never reaches the application.
"""

from __future__ import annotations

import asyncio
import http
from asyncio import TimerHandle
from collections.abc import MutableMapping
from itertools import chain
from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from .errors import RequestError
from .guard import ALWAYS, Receive, Send
from .limits import Limits

_OVERRIDDEN = (
    *("connection_made", "connection_lost", "data_received", "eof_received"),
    *("on_message_begin", "on_headers_complete", "on_body", "on_message_complete"),
    *("on_response_complete", "pause_writing", "resume_writing", "_unset_keepalive_if_required"),
)
for _name in _OVERRIDDEN:
    if not callable(getattr(HttpToolsProtocol, _name, None)):
        raise ImportError(
            f"This uvicorn's HttpToolsProtocol has no {_name}, so greville's limits would not "
            "hold: install uvicorn 0.54."
        )

_LINGER = 1.0  # seconds; a connection closed at once would take the answer with it
_SLICE = 1 << 14  # bytes; so many requests at most are taken from one packet before they are due
_MOST_WAITING = 1 << 20  # bytes that came before they were due

# What `Guard` is told of a request: that all of it has come, or when it began.
_COMPLETE: dict[str, dict[object, object]] = {"greville.request": {"complete": True}}

_NOT_HTTP = RequestError(400, "This is not a request of HTTP/1.1.")
_UPGRADE = RequestError(400, "The protocol cannot be changed: send a request without Upgrade.")


def limited(limits: Limits, connections: set[Any] | None = None) -> type[HttpToolsProtocol]:
    """A protocol for ``uvicorn.Config(http=...)``.

    Parameters
    ----------
    limits : Limits
        Of which it uses `connections`, `head` and `seconds`.
    connections : set, optional
        Where open connections are kept, to count them elsewhere or over several servers.
    """
    names = {"limits": limits, "shared": connections, "turned_away": set()}
    return type("LimitedProtocol", (_Limited,), names)


class _Limited(HttpToolsProtocol):
    limits: ClassVar[Limits]
    shared: ClassVar[set[Any] | None]
    turned_away: ClassVar[set[Any]]  # connections beyond the limit that are being told so

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.ws_protocol_class = None
        self._open: set[Any] = self.connections if self.shared is None else self.shared
        self._timer: TimerHandle | None = None  # while bytes of a request are missing
        self._since = 0.0  # when the wait for them began
        self._stalled: TimerHandle | None = None  # while the client does not read
        self._in_message = self._in_head = False
        self._quiet = 0  # bytes since there was a request or a part of its body
        self._rest = bytearray()  # which came before earlier requests were answered
        self._refusal: RequestError | None = None  # why a callback stopped the parser
        self._deaf = self._lingering = self._half_closed = False
        self._active: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        full = len(self._open) >= self.limits.connections
        super().connection_made(transport)
        if full:
            self.connections.discard(self)
            many = len(self.turned_away) >= self.limits.connections
            self.turned_away.add(self)
            most = self.limits.connections
            self._refuse(
                RequestError(429, f"More than {most} connections are open: try again later.")
            )
            if many:
                self.transport.close()
            return
        self._open.add(self)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)
        self.turned_away.discard(self)
        self._deaf = True
        self._rest.clear()
        self._unwatch()
        self._unset_keepalive_if_required()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        # The base class tells the last request only, which may be behind this one.
        if self._active is not None and not self._active.response_complete:
            self._active.disconnected = True
            self._active.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        self._unset_keepalive_if_required()
        if self._rest:
            self._rest += data
            self.flow.pause_reading()
            if len(self._rest) > _MOST_WAITING:
                self._stop_after_answers()
            return
        self._feed(data)

    def _feed(self, data: bytes) -> None:
        if len(data) <= _SLICE:
            if not self._parse(data):
                return
        else:
            for start in range(0, len(data), _SLICE):
                if self.pipeline:
                    self._rest += data[start:]
                    self.flow.pause_reading()
                    break
                if not self._parse(data[start : start + _SLICE]):
                    return
        if self._in_message or not self._is_answering():
            self._watch()
        elif self._timer is not None:
            self._unwatch()

    def _parse(self, data: bytes) -> bool:
        """Whether the connection goes on."""
        self._quiet += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._break(_UPGRADE)
            return False
        except httptools.HttpParserError:
            self._break(self._refusal or _NOT_HTTP)
            return False
        if not self._in_message:
            self._quiet = 0
        elif self._quiet > self.limits.head:
            self._break(self._too_long())
            return False
        return True

    def _feed_rest(self) -> None:
        if self._deaf or not self._rest or self.pipeline:
            return
        self._unset_keepalive_if_required()
        data, self._rest = bytes(self._rest), bytearray()
        self._feed(data)
        if not self._deaf and not self._rest and not self.pipeline:
            self.flow.resume_reading()
            self._close_if_done()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_message = self._in_head = True
        if self._timer is not None:
            self._since = self.loop.time()

    def on_headers_complete(self) -> None:
        # " HTTP/1.1", three line ends and a space; ": " and a line end for each header.
        size = len(self.parser.get_method()) + len(self.url) + 14 + 4 * len(self.headers)
        if size + sum(map(len, chain.from_iterable(self.headers))) > self.limits.head:
            self._refusal = self._too_long()
        elif self.parser.should_upgrade():
            self._refusal = _UPGRADE
        if self._refusal is not None:
            raise self._refusal
        if self._timer is not None:
            self.scope["extensions"] = {"greville.request": {"began": self._since}}
        super().on_headers_complete()
        self._in_head = False
        self._quiet = 0
        self.headers = []  # for trailers, which are no headers
        if not self.pipeline:
            self._active = self.cycle

    def on_body(self, body: bytes) -> None:
        self._quiet = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_message = False
        self._quiet = 0
        self.scope["extensions"] = _COMPLETE
        super().on_message_complete()

    def on_response_complete(self) -> None:
        following = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if following is not None:
            self._active = following
        if self._timer is not None:
            self._since = self.loop.time()
        if self._rest:
            self.loop.call_soon(self._feed_rest)
        elif self._half_closed:
            self._close_if_done()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Answer clients that say that they have asked everything."""
        if self._lingering or self.scheme == "https":
            return None
        waits_for_body = self._in_message and not self._in_head and not self.pipeline
        if (self._is_answering() and not waits_for_body) or self._rest:
            self._half_closed = True
            return True
        return None

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stalled is None:
            self._stalled = self.loop.call_later(self.limits.seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _close_if_done(self) -> None:
        if self._half_closed and not self._is_answering():
            self.transport.close()

    def _too_long(self) -> RequestError:
        return RequestError(
            431, f"Address and headers are longer than {self.limits.head} bytes: send fewer."
        )

    def _watch(self) -> None:
        """Wait for bytes, but not for ever."""
        if self._timer is None and not self._deaf:
            self._since = self.loop.time()
            self._timer = self.loop.call_later(self.limits.seconds, self._check_time)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_time(self) -> None:
        self._timer = None
        left = self._since + self.limits.seconds - self.loop.time()
        if left > 0:
            self._timer = self.loop.call_later(left, self._check_time)
        elif self._is_answering():
            # The application has its own clock, and earlier answers must not be cut.
            self._timer = self.loop.call_later(self.limits.seconds, self._check_time)
        elif self._in_message and not self._in_head:
            self._hang_up()  # it was answered before its body came
        else:
            seconds = self.limits.seconds
            self._refuse(RequestError(408, f"No request has come within {seconds:g} seconds."))

    def _break(self, error: RequestError) -> None:
        """Nothing after this can be understood."""
        in_body = self._in_message and not self._in_head
        if not self._is_answering():
            if in_body:  # it was answered before its body came
                self._hang_up()
            else:
                self._refuse(error)
        elif not in_body:
            self._stop_after_answers()
        elif self.pipeline:  # others are answered before it
            self.pipeline[0] = (self.cycle, _Refusing(error))  # type: ignore[assignment]
            self._stop_after_answers()
        elif self.cycle.response_started:
            self._hang_up()
        else:
            self._refuse(error)

    def _stop_after_answers(self) -> None:
        self.cycle.keep_alive = False
        self._deaf = True
        self._rest.clear()
        self._unwatch()

    def _refuse(self, error: RequestError) -> None:
        """Answer in the application's place."""
        if not self.transport.is_closing():
            self.transport.write(_written(error, self.server_state.default_headers))
        self._hang_up()

    def _hang_up(self) -> None:
        """Close, but let the client read before what was written."""
        self._deaf = self._lingering = True
        self._rest.clear()
        self._unwatch()
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # so that the application adds nothing
            self.cycle.message_event.set()
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._timer = self.loop.call_later(_LINGER, self.transport.abort)


class _Refusing:
    """An application that answers with an error."""

    def __init__(self, error: RequestError) -> None:
        self._error = error

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        headers, body = _parts(self._error)
        status = self._error.status
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _parts(error: RequestError) -> tuple[list[tuple[bytes, bytes]], bytes]:
    body = error.body()
    headers = [
        *ALWAYS,
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    ]
    if error.status == 429:
        headers.append((b"retry-after", b"1"))
    return headers, body


def _written(error: RequestError, default: list[tuple[bytes, bytes]]) -> bytes:
    headers, body = _parts(error)
    line = f"HTTP/1.1 {error.status} {http.HTTPStatus(error.status).phrase}\r\n".encode()
    lines = (b"%b: %b\r\n" % header for header in (*default, *headers))
    return b"".join((line, *lines, b"\r\n", body))
