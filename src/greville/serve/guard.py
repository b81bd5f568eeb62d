"""Who may use the server: token, host and origin, checked before each request."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .refusals import RequestError

# Without a token they are answered too. None of them says anything of a model.
_PUBLIC = frozenset({"/", "/docs", "/openapi.json", "/health", "/ready"})

# The headers of all answers, and that of pages: they load nothing from elsewhere.
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
_POLICY = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    b"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
)


class Guard:
    """Refuse strangers, count all answers, and add the headers that all of them have.

    Parameters
    ----------
    app : ASGI application
    token : str or None
        What ``Authorization: Bearer`` must say on all but public paths.
    hosts : iterable of str or None
        Names, without ports, that ``Host`` may have where there is no token; None for any. A
        page of another site could otherwise read answers after it changed what its name means.
    origins : tuple of str
        Of pages on other hosts that may use the server, by `checked_origin`.
    observe : callable
        Called with route, status and seconds when an answer starts.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str | None = None,
        hosts: frozenset[str] | None = None,
        origins: tuple[str, ...] = (),
        observe: Callable[[str, int, float], None] = lambda route, status, seconds: None,
    ) -> None:
        self._app, self._token, self._hosts, self._observe = app, token, hosts, observe
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = getattr(scope.get("route"), "path", "other")
                self._observe(route, message["status"], time.perf_counter() - began)
                headers = message["headers"]
                is_page = (b"content-type", b"text/html; charset=utf-8") in headers
                message["headers"] = [*headers, *_HEADERS, *([_POLICY] if is_page else ())]
            await send(message)

        try:
            self._check(scope["path"], dict(scope["headers"]))
        except RequestError as error:
            await error.response()(scope, receive, answer)
        else:
            await self._app(scope, receive, answer)

    def _check(self, path: str, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._token is None and self._hosts is not None and name_of(host) not in self._hosts:
            raise RequestError(
                403, "Host does not name this server: use its address or start it with a token."
            )
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if b"origin" in headers and origin not in self._origins and not _is_same(origin, host):
            raise RequestError(
                403, "Origin is another site: start the server with --allow-origin for it."
            )
        # "/page/../predict" is nobody's page.
        is_file = path.startswith("/page/") and "/" not in path[6:] and ".." not in path
        if self._token is None or path in _PUBLIC or is_file:
            return
        scheme, _, said = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(
            said.strip(), self._token.encode()
        ):
            raise RequestError(
                401, "The token is missing or wrong: send Authorization: Bearer TOKEN."
            )


def name_of(host: str) -> str:
    """The name in a ``Host`` header, without its port; empty if it is no such header.

    Examples
    --------
    >>> from greville.serve.guard import name_of
    >>> [name_of(host) for host in ("localhost.", "[::1]:8000", "localhost:x", "::1")]
    ['localhost', '::1', '', '']
    """
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, "80"
    is_address = name.startswith("[") and name.endswith("]")
    if (":" in name and not is_address) or not (port.isascii() and port.isdigit()):
        return ""
    return name[1:-1] if is_address else name.removesuffix(".")


def _is_same(origin: str, host: str) -> bool:
    """Whether a page comes from this server.

    Schemes are not compared: behind a proxy that ends TLS the server does not know its own.
    """
    scheme, _, authority = origin.partition("://")
    port = {"http": ":80", "https": ":443"}.get(scheme)
    if port is None or not authority:
        return False
    return authority.removesuffix(port) == host.removesuffix(port)


def checked_origin(origin: str) -> str:
    """An origin as browsers write it; a ValueError if it is none."""
    scheme, separator, rest = origin.strip().lower().removesuffix("/").partition("://")
    if not separator or not scheme or not rest or set(rest) & set("/?#*@, ") or not rest.isascii():
        raise ValueError(
            f"{origin!r} is not an origin: it must look like https://example.com or "
            "http://example.com:8080."
        )
    return f"{scheme}://{rest.removesuffix({'http': ':80', 'https': ':443'}.get(scheme, ' '))}"
