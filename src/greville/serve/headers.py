"""Checks of request headers."""

from __future__ import annotations

from collections.abc import Iterable

from .errors import RequestError

# Two of the same would let two readers of a request understand different things.
_ONCE = frozenset(
    {
        *(b"host", b"origin", b"authorization", b"content-type", b"content-length"),
        *(b"content-encoding", b"transfer-encoding", b"idempotency-key"),
    }
)
_TYPES = frozenset({b"application/json", b"application/x-ndjson"})
_CHARSETS = frozenset({b"charset=utf-8", b'charset="utf-8"'})
_SMALL = 1 << 16


def read_headers(pairs: Iterable[tuple[bytes, bytes]], into: dict[bytes, bytes]) -> None:
    twice = None
    for name, value in pairs:
        if name in _ONCE:
            if name in into:
                twice = name
            into[name] = value
    if twice is not None:
        raise RequestError(400, f"The header {twice.decode().title()} is there more than once.")


def has_body(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


def has_small_body(headers: dict[bytes, bytes]) -> bool:
    length = headers.get(b"content-length", b"")
    return len(length) < 8 and length.isdigit() and int(length) <= _SMALL


def check_type(method: str, headers: dict[bytes, bytes]) -> None:
    said = headers.get(b"content-type", b"")
    if method == "POST" and said not in _TYPES:
        kind, *options = (part.strip() for part in said.lower().split(b";"))
        if kind not in _TYPES:
            raise RequestError(
                415, "Content-Type must be application/json or application/x-ndjson."
            )
        if len(options) > 1 or not _CHARSETS.issuperset(options):
            raise RequestError(415, "Content-Type may only add charset=utf-8.")
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        raise RequestError(415, "Content-Encoding is not understood: send the body as it is.")
    if headers.get(b"transfer-encoding", b"chunked").strip().lower() != b"chunked":
        raise RequestError(415, "Transfer-Encoding must be chunked, or not there.")


def bare_name(name: str) -> str:
    return name.strip().lower().removeprefix("[").removesuffix("]").removesuffix(".")


def host_of(header: bytes) -> str | None:
    """The name in a ``Host`` header, without its port; None if it is no such header."""
    host = header.decode("latin-1")
    if host.startswith("["):
        name, bracket, port = host.partition("]")
        if not bracket or (port and not port.startswith(":")):
            return None
        port = port[1:]
    else:
        name, _, port = host.partition(":")
    if port and not (port.isascii() and port.isdigit()):
        return None
    return bare_name(name) or None


def is_same_origin(origin: bytes, host: bytes) -> bool:
    """Whether a page comes from this server.

    Schemes are not compared: behind a proxy that ends TLS the server does not know its own.
    """
    scheme, separator, authority = origin.lower().partition(b"://")
    port = {b"http": b":80", b"https": b":443"}.get(scheme)
    if not separator or not authority or port is None:
        return False
    return authority.removesuffix(port) == host.lower().removesuffix(port)


def checked_origin(origin: str) -> str:
    scheme, separator, rest = origin.strip().lower().removesuffix("/").partition("://")
    if not separator or not scheme or not rest or set(rest) & set("/?#*@, ") or not rest.isascii():
        raise ValueError(
            f"{origin!r} is not an origin: it must look like https://example.com or "
            "http://example.com:8080."
        )
    default = {"http": ":80", "https": ":443"}.get(scheme, "\n")
    return f"{scheme}://{rest.removesuffix(default)}"
