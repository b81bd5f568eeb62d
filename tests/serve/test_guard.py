"""What the guard of a server refuses before the application sees it, without a server."""

import asyncio

import pytest

pytest.importorskip("fastapi", reason="install greville[serve] to test the server")

from greville.serve import guard as module
from greville.serve.limits import Limits


def test_bodies_of_all_requests_together(monkeypatch):
    """Many large bodies at once are refused before they fill the memory; then it goes on."""
    monkeypatch.setattr(module, "_BODIES_AT_ONCE", 3)
    found = []

    async def all_at_once():
        refused = asyncio.Event()

        async def app(scope, receive, send):
            await refused.wait()
            await receive()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        guard = module.Guard(app, limits=Limits(body=1000), token=None, hosts=None)

        async def ask():
            async def receive():
                return {"type": "http.request", "body": b"x" * 1000, "more_body": False}

            async def send(message):
                if "status" in message:
                    found.append(message["status"])
                if len(found) == 2:
                    refused.set()

            headers = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
            scope = {"type": "http", "method": "POST", "path": "/learn", "headers": headers}
            await guard(scope, receive, send)

        async with asyncio.timeout(60):
            await asyncio.gather(*(ask() for _ in range(5)))
            await asyncio.gather(*(ask() for _ in range(3)))

    asyncio.run(all_at_once())
    assert found == [429, 429, *[200] * 6]
