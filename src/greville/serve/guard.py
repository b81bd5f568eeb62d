"""Checks before each request reaches the application: token, host, origin, size and time."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from . import headers as fields
from .errors import BUG, RequestError
from .limits import Limits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Observe = Callable[[str, int, float], None]

LOGGER = logging.getLogger("greville.serve")

_OF_A_MODEL = (
    *("/predict", "/learn", "/unlearn", "/model", "/model/file"),
    *("/metrics", "/events", "/health", "/ready", "/openapi.json", "/docs"),
)
ROUTES = frozenset(
    {"/", "/models", "/page/{file}", *_OF_A_MODEL}
    | {"/models/{name}" + route for route in _OF_A_MODEL}
)

# Without a token they are answered too. None of them says anything of a model.
PUBLIC = frozenset({"/", "/docs", "/health", "/ready"})

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    b"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_JSON = (b"content-type", b"application/json")
_CLOSE = (b"connection", b"close")
ALWAYS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
_FIXED = frozenset({name for name, _ in ALWAYS} | {b"content-security-policy"})

_PREFLIGHT = [
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type, idempotency-key"),
    (b"access-control-max-age", b"600"),
]

_BODIES_AT_ONCE = 16  # of the largest size; memory is bounded, however many connections there are
_LINGER = 1.0  # seconds; a connection closed at once would take the answer with it
_GONE = 499  # the status that is counted where the client did not wait; it is never sent


class Guard:
    """Check requests before the application sees them, and complete its answers.

    It reads the whole body, so that the application never waits for a client, and answers requests
    that it refuses with a status and one sentence as JSON.

    Parameters
    ----------
    app : ASGI application
    limits : Limits
    token : str or None
        What ``Authorization: Bearer`` must say on all but public paths.
    hosts : frozenset of str or None
        Names, without ports, that ``Host`` may have where there is no token; None for any. A
        page of another site could otherwise read answers after it changed what its name means.
    origins : tuple of str
        Of pages on other hosts that may use the server.
    observe : callable, optional
        Called with route, status and seconds when an answer starts.
    routes : iterable of str
        Those that are told apart in `observe`; all others are "other".
    """

    def __init__(
        self,
        app: App,
        *,
        limits: Limits,
        token: str | None,
        hosts: frozenset[str] | None,
        origins: tuple[str, ...] = (),
        observe: Observe | None = None,
        routes: Iterable[str] = ROUTES,
    ) -> None:
        if token is not None and not token.strip():
            raise ValueError("token is empty: pass None for a server without one.")
        self.app, self.limits, self.observe = app, limits, observe
        self._token = None if token is None else token.strip().encode()
        self._hosts = None if hosts is None else {fields.bare_name(host) for host in hosts}
        self._origins = frozenset(fields.checked_origin(origin) for origin in origins)
        self._routes = frozenset(routes)
        self._usual_hosts: set[bytes] = set()  # those that were checked before
        self._held = 0  # bytes of bodies in memory
        self._most_held = _BODIES_AT_ONCE * limits.body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http":
            await self._answer(scope, receive, send)
        elif kind == "lifespan":
            await self.app(scope, receive, send)
        elif kind == "websocket":
            await send({"type": "websocket.close", "code": 1008})

    def route(self, path: str) -> str:
        """The path without the name of a model or of a file, or "other" if it is not known."""
        if path in self._routes:
            return path
        if path.startswith("/models/"):
            _, slash, rest = path[8:].partition("/")
            path = f"/models/{{name}}{slash}{rest}"
        elif path.startswith("/page/"):
            path = "/page/{file}"
        return path if path in self._routes else "other"

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = _Answer(send, self.route(scope["path"]), self.observe)
        headers: dict[bytes, bytes] = {}
        held = 0
        try:
            fields.read_headers(scope["headers"], headers)
            if self._asks_only(scope, headers, answer):
                await answer.send(204, b"", _PREFLIGHT)
                return
            self._check_token(scope["path"], headers)
            has_body = fields.has_body(headers)
            if has_body or scope["method"] == "POST":
                fields.check_type(scope["method"], headers)
                self._check_length(headers)
            if has_body:
                body = await self._read(scope, receive)
                if body is None:
                    answer.count(_GONE)
                    return
                held = len(body)
                self._held += held
                receive = _Received(body, receive)
                del body
            await self.app(scope, receive, answer)
            if not answer.started:
                raise RuntimeError("The application did not answer.")
        except RequestError as error:
            if answer.started:
                raise
            await self._refuse(error, headers, receive, answer)
        except Exception as error:
            if _is_disconnect(error, answer):
                if not answer.started:
                    answer.count(_GONE)
                return
            LOGGER.exception("%s %s failed", scope["method"], answer.route)
            # After its start the server closes the connection, so that no answer looks complete.
            if not answer.started:
                await answer.send(500, RequestError(500, BUG).body(), [_JSON])
        finally:
            self._held -= held

    async def _refuse(
        self, error: RequestError, headers: dict[bytes, bytes], receive: Receive, answer: _Answer
    ) -> None:
        extra = [_JSON]
        if error.status == 401:
            extra.append((b"www-authenticate", b"Bearer"))
        if error.status == 429:
            extra.append((b"retry-after", b"1"))
        rest = not isinstance(receive, _Received) and fields.has_body(headers)
        if not rest or (error.status not in (408, 413, 429) and fields.has_small_body(headers)):
            await answer.send(error.status, error.body(), extra)
            return
        # A client that is still sending would lose the answer with the connection.
        await answer.send(error.status, error.body(), [*extra, _CLOSE], complete=False)
        await _drain(receive)
        await answer({"type": "http.response.body"})

    def _asks_only(self, scope: Scope, headers: dict[bytes, bytes], answer: _Answer) -> bool:
        """Check host and origin; whether this only asks what another page may do."""
        host = headers.get(b"host", b"")
        if self._hosts is not None and self._token is None and host not in self._usual_hosts:
            if fields.host_of(host) not in self._hosts:
                raise RequestError(
                    403, "Host does not name this server: use its address or start it with a token."
                )
            if len(self._usual_hosts) < 64:
                self._usual_hosts.add(host)
        if self._origins:
            answer.extra.append((b"vary", b"Origin"))
        origin = headers.get(b"origin")
        if origin is None:
            return False
        if origin.decode("latin-1").lower() in self._origins:
            answer.extra.append((b"access-control-allow-origin", origin))
            return scope["method"] == "OPTIONS" and any(
                name == b"access-control-request-method" for name, _ in scope["headers"]
            )
        if not fields.is_same_origin(origin, host):
            raise RequestError(
                403, "Origin is another site: start the server with --allow-origin for it."
            )
        return False

    def _check_token(self, path: str, headers: dict[bytes, bytes]) -> None:
        if self._token is None or path in PUBLIC:
            return
        # "/page/../predict" is nobody's page.
        if path.startswith("/page/") and "/" not in path[6:] and ".." not in path:
            return
        scheme, _, said = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and hmac.compare_digest(said.strip(), self._token):
            return
        raise RequestError(401, "The token is missing or wrong: send Authorization: Bearer TOKEN.")

    def _check_length(self, headers: dict[bytes, bytes]) -> None:
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            raise RequestError(400, "Content-Length is not a whole number.")
        if len(length) > 18 or int(length) > self.limits.body:
            raise self._too_large()

    def _too_large(self) -> RequestError:
        return RequestError(
            413, f"The body is larger than {self.limits.body} bytes: send fewer rows at a time."
        )

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body; None where the client has gone."""
        known = (scope.get("extensions") or {}).get("greville.request", {})  # by `protocol`
        if "complete" in known:
            return await self._collect(receive)  # without a clock, which costs more than the rest
        began = known.get("began") or asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(began + self.limits.seconds):
                return await self._collect(receive)
        except TimeoutError:
            raise RequestError(
                408, f"The body has not come within {self.limits.seconds:g} seconds: send it again."
            ) from None

    async def _collect(self, receive: Receive) -> bytes | None:
        parts: list[bytes] = []
        size = 0
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                part = message.get("body", b"")
                size += len(part)
                self._held += len(part)
                if size > self.limits.body:
                    raise self._too_large()
                if self._held > self._most_held:
                    raise RequestError(429, "Too many large requests at once: send it again.")
                if not message.get("more_body", False):
                    return b"".join([*parts, part]) if parts else part
                parts.append(part)
        finally:
            self._held -= size


class _Answer:
    """`send` for the application: adds the headers that all answers have, and counts them."""

    __slots__ = ("_began", "_observe", "_send", "extra", "route", "started")

    def __init__(self, send: Send, route: str, observe: Observe | None) -> None:
        self._send, self.route, self._observe = send, route, observe
        self._began = time.perf_counter()
        self.started = False
        self.extra: list[tuple[bytes, bytes]] = []

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            self.count(message["status"])
            headers = [*ALWAYS, *self.extra]
            for header in message.get("headers", ()):
                name = header[0].lower()
                if name not in _FIXED:
                    headers.append(header)
                if name == b"content-type" and header[1].startswith(b"text/html"):
                    headers.append((b"content-security-policy", POLICY))
            message = {**message, "headers": headers}
        await self._send(message)

    def count(self, status: int) -> None:
        if self._observe is not None:
            self._observe(self.route, status, time.perf_counter() - self._began)

    async def send(
        self,
        status: int,
        body: bytes,
        headers: list[tuple[bytes, bytes]],
        *,
        complete: bool = True,
    ) -> None:
        if status != 204:
            headers = [*headers, (b"content-length", b"%d" % len(body))]
        await self({"type": "http.response.start", "status": status, "headers": headers})
        await self({"type": "http.response.body", "body": body, "more_body": not complete})


class _Received:
    """`receive` for the application: the body at once, then what the server says."""

    __slots__ = ("_body", "_receive")

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _drain(receive: Receive) -> None:
    """Read what is left of a body and forget it, for a moment."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LINGER):
            while (await receive()).get("more_body", False):
                pass


def _is_disconnect(error: Exception, answer: _Answer) -> bool:
    # The second is Starlette's, whose module is slow to import and of no other use here.
    return (answer.started and isinstance(error, ConnectionError)) or (
        type(error).__name__ == "ClientDisconnect"
    )
