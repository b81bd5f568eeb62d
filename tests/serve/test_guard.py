"""What the guard lets through, what it refuses, and what it adds to answers."""

import asyncio
import json
import logging
import threading
import time

import pytest

pytest.importorskip("uvicorn")

from greville.serve.errors import BUG, RequestError
from greville.serve.guard import POLICY, Guard
from greville.serve.limits import Limits

from .raw import WAIT, cut, echo, get, post, post_chunks, quiet, running, until

HOSTS = frozenset({"localhost", "127.0.0.1", "::1", "my.host"})
JSON = (b"content-type", b"application/json")


def ask(guard, path="/predict", headers=(), *, method="POST", parts=(b"{}",), scope=None):
    """Status, headers, body and all messages of an answer, without a server."""
    headers = [(name.lower().encode(), value) for name, value in headers]
    if method == "POST" and not any(
        n in (b"content-length", b"transfer-encoding") for n, _ in headers
    ):
        headers.append((b"content-length", b"%d" % sum(map(len, parts))))
    scope = {"type": "http", "method": method, "path": path, "headers": headers, **(scope or {})}
    waiting = [
        {"type": "http.request", "body": part, "more_body": i < len(parts) - 1}
        for i, part in enumerate(parts)
    ]
    sent = []

    async def receive():
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    asyncio.run(guard(scope, receive, send))
    if not sent:
        return None, {}, b"", sent
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), body, sent


def guarded(app=echo, **options):
    return Guard(app, **{"limits": Limits(), "token": None, "hosts": None, **options})


def status(guard, *headers, **options):
    """Of a POST with these headers; errors are sentences as JSON."""
    kind = [] if any(name == "Content-Type" for name, _ in headers) else [("Content-Type", JSON[1])]
    found, answered, body, _ = ask(guard, headers=[*kind, *headers], **options)
    if found >= 400:
        assert answered[b"content-type"] == JSON[1]
        said = json.loads(body)
        assert set(said) == {"error", "field"}
        assert said["error"].endswith(".")
    return found


@pytest.mark.parametrize("token", ["secret", "geheim-é-✓"])
def test_tokens(token):
    guard = guarded(token=token)
    right = token.encode()
    for value in (b"Bearer " + right, b"bearer " + right, b"BEARER  " + right + b" "):
        assert status(guard, ("Authorization", value)) == 200
    for value in (
        *(b"", b"Bearer", b"Bearer ", b"Bearer x", b"Bearer \xff\xfe", b"Basic " + right, right),
        *(b"Bearer " + right + b"x", b"Bearer " + right[:-1], b"Bearer " + right.upper()),
        *(b"Bearer Bearer " + right, b"Bearer " + right + b" " + right),
    ):
        assert status(guard, ("Authorization", value)) == 401
    found, headers, _, _ = ask(guard, headers=[("Content-Type", JSON[1])])
    assert (found, headers[b"www-authenticate"]) == (401, b"Bearer")


def test_public_paths_need_no_token():
    guard = guarded(token="secret")
    for path in ("/", "/docs", "/health", "/ready", "/page/page.js", "/page/index.html"):
        assert ask(guard, path, method="GET")[0] == 200
    for path in (
        *("/model", "/model/file", "/metrics", "/events", "/openapi.json", "/models", "/other"),
        *(
            "//",
            "/docs/",
            "/health/",
            "/health/x",
            "/page",
            "/page/../model",
            "/page/a/../../model",
        ),
        *("/page/..", "/page/a/b", "/models/health", "/models/a/health", "/Health", ""),
    ):
        assert ask(guard, path, method="GET")[0] == 401


def test_an_empty_token_is_no_token():
    for token in ("", " \n"):
        with pytest.raises(ValueError, match="empty"):
            guarded(token=token)


@pytest.mark.parametrize(
    "host",
    [
        *(b"localhost", b"LocalHost:8000", b"127.0.0.1:1", b"[::1]", b"[::1]:8000", b"my.host."),
        *(b"my.host:", b"my.host.:80"),
    ],
)
def test_hosts_that_are_known(host):
    assert status(guarded(hosts=HOSTS), ("Host", host)) == 200


@pytest.mark.parametrize(
    "host",
    [
        *(b"", b"evil.example", b"evil.example:8000", b"localhost.evil.example", b"[::2]", b"::1"),
        *(b"localhost:80:80", b"localhost:x", b"[::1", b"[::1]x", b"\xff", b"my.host@evil.example"),
        *(b"evil.example/localhost", b"127.0.0.1.evil.example", "localhost:²".encode("latin-1")),
    ],
)
def test_hosts_that_are_not(host):
    guard = guarded(hosts=HOSTS)
    assert status(guard, ("Host", host)) == 403
    assert status(guarded(), ("Host", host)) == 200
    # A page that could rebind its name does not know the token.
    safe = guarded(hosts=HOSTS, token="t")
    assert status(safe, ("Host", host), ("Authorization", b"Bearer t")) == 200


def test_a_host_is_needed_where_it_is_checked():
    assert status(guarded(hosts=HOSTS)) == 403
    assert status(guarded(hosts=frozenset({"[::1]"})), ("Host", b"[::1]:8000")) == 200


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (b"http://localhost:8000", b"localhost:8000"),
        (b"http://LOCALHOST:8000", b"localhost:8000"),
        (b"http://localhost", b"localhost"),
        (b"http://localhost", b"localhost:80"),
        (b"https://my.host", b"my.host"),
        (b"https://my.host", b"my.host:443"),
        (b"http://[::1]:8000", b"[::1]:8000"),
    ],
)
def test_pages_of_the_server_itself(origin, host):
    assert status(guarded(hosts=HOSTS), ("Host", host), ("Origin", origin)) == 200


@pytest.mark.parametrize(
    "origin",
    [
        *(b"null", b"", b"http://evil.example", b"http://localhost", b"http://localhost:8001"),
        *(b"ftp://localhost:8000", b"localhost:8000", b"http://", b"http://localhost:8000.evil"),
        *(b"http://localhost:8000/", b"http://evil.example, http://localhost:8000", b"\xff"),
        *(b"http://user@localhost:8000", b"https://friend.example.evil", b"file://"),
    ],
)
def test_pages_of_others(origin):
    for guard in (guarded(), guarded(origins=("https://friend.example",), token="t")):
        headers = ("Host", b"localhost:8000"), ("Origin", origin), ("Authorization", b"Bearer t")
        assert status(guard, *headers) == 403
        assert ask(guard, "/health", headers, method="GET")[0] == 403
        found, said, _, _ = ask(
            guard, headers=[*headers, ("Access-Control-Request-Method", b"POST")], method="OPTIONS"
        )
        assert found == 403
        assert b"access-control-allow-origin" not in said
    assert status(guarded(), ("Origin", b"http://localhost")) == 403  # there is no Host


def test_pages_that_are_allowed():
    guard = guarded(token="t", origins=("https://Friend.example/", "http://b.example:80"))
    for origin in (b"https://friend.example", b"http://b.example"):
        headers = ("Host", b"localhost:8000"), ("Origin", origin)
        found, said, body, _ = ask(
            guard, headers=[*headers, ("Access-Control-Request-Method", b"POST")], method="OPTIONS"
        )
        assert (found, body) == (204, b"")
        assert said[b"access-control-allow-origin"] == origin
        assert {b"authorization", b"content-type", b"idempotency-key"} <= set(
            said[b"access-control-allow-headers"].split(b", ")
        )
        assert said[b"access-control-allow-methods"] == b"GET, POST"
        for token, expected in ((b"Bearer t", 200), (b"Bearer x", 401)):
            found, said, _, _ = ask(
                guard, headers=[*headers, ("Content-Type", JSON[1]), ("Authorization", token)]
            )
            assert found == expected
            assert said[b"access-control-allow-origin"] == origin
            assert said[b"vary"] == b"Origin"
            assert b"access-control-allow-credentials" not in said
    found, said, _, _ = ask(guard, "/health", method="GET")
    assert (found, said[b"vary"]) == (200, b"Origin")
    assert b"access-control-allow-origin" not in said
    # Without a preflight it is a request like others.
    assert (
        ask(guard, "/health", [("Origin", b"https://friend.example")], method="OPTIONS")[0] == 200
    )


def test_nothing_is_said_of_origins_where_none_is_allowed():
    found, said, _, _ = ask(guarded(), "/health", method="GET")
    assert found == 200
    assert not [name for name in said if name.startswith(b"access-control") or name == b"vary"]


@pytest.mark.parametrize(
    "origin", ["*", "null", "friend.example", "https://", "https://a/b", "https://*.a"]
)
def test_what_is_no_origin(origin):
    with pytest.raises(ValueError, match="is not an origin"):
        guarded(origins=(origin,))


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        *((200, kind) for kind in (b"application/json", b"application/x-ndjson")),
        *((200, b"Application/JSON" + more) for more in (b"; charset=utf-8", b';charset="UTF-8"')),
        *((415, kind) for kind in (b"", b"text/plain", b"application/x-www-form-urlencoded")),
        *((415, kind) for kind in (b"multipart/form-data; boundary=x", b"text/json", b"json")),
        *(
            (415, b"application/json" + more)
            for more in (b"; charset=latin-1", b"; x=y", b";", b"x")
        ),
        *(
            (415, kind)
            for kind in (b"application/json, text/plain", b"\xff", b"text/plain;application/json")
        ),
        (415, b"application/json; charset=utf-8; charset=utf-8"),
    ],
)
def test_types_of_bodies(expected, said):
    assert status(guarded(), ("Content-Type", said)) == expected


def test_types_and_encodings():
    guard = guarded()
    assert ask(guard)[0] == 415
    assert status(guard, ("Content-Encoding", b"Identity")) == 200
    for said in (b"gzip", b"br", b"identity, gzip", b"", b"\xff"):
        assert status(guard, ("Content-Encoding", said)) == 415
    assert status(guard, ("Transfer-Encoding", b"chunked")) == 200
    assert status(guard, ("Transfer-Encoding", b"gzip, chunked")) == 415


@pytest.mark.parametrize(
    "name",
    ["Host", "Origin", "Authorization", "Content-Type", "Content-Length", "Idempotency-Key"],
)
def test_headers_that_are_there_twice(name):
    value = {"Content-Type": JSON[1], "Content-Length": b"2", "Origin": b"http://a", "Host": b"a"}
    pair = name, value.get(name, b"x")
    assert status(guarded(), pair) in (200, 403)
    assert status(guarded(), pair, pair) == 400


def test_sizes_of_bodies():
    guard = guarded(limits=Limits(body=1000))
    for parts in ([b"x" * 1000], [b"x"] * 1000, [b"", b"x" * 999, b"", b"x", b""]):
        found, _, body, _ = ask(guard, headers=[JSON_TYPE, CHUNKED], parts=parts)
        assert (found, json.loads(body)["size"]) == (200, 1000)
    for parts in ([b"x" * 1001], [b"x"] * 1001, [b"x" * 1000, b"", b"x", b"x" * 5000]):
        found, said, _, sent = ask(guard, headers=[JSON_TYPE, CHUNKED], parts=parts)
        assert (found, said[b"connection"]) == (413, b"close")
        assert not sent[-1].get("more_body")
    for length in (b"1001", b"9" * 18, b"9" * 30, b"9" * 5000):
        found, said, _, _ = ask(guard, headers=[JSON_TYPE, ("Content-Length", length)])
        assert (found, said[b"connection"]) == (413, b"close")
    for length in (b"-1", b"x", b"1.5", b"+1", "²".encode()):
        assert status(guard, ("Content-Length", length)) == 400
    assert guard._held == 0


JSON_TYPE = ("Content-Type", JSON[1])
CHUNKED = ("Transfer-Encoding", b"chunked")


def test_bodies_of_all_requests_together(monkeypatch):
    """Many large bodies at once are refused before they fill the memory."""
    monkeypatch.setattr("greville.serve.guard._BODIES_AT_ONCE", 3)

    async def app(scope, receive, send):
        await entered.wait()
        await echo(scope, receive, send)

    guard = guarded(app, limits=Limits(body=1000))

    async def all_at_once():
        nonlocal entered
        entered = asyncio.Event()
        found = []

        async def one():
            async def receive():
                return {"type": "http.request", "body": b"x" * 1000, "more_body": False}

            async def send(message):
                if "status" in message:
                    found.append(message["status"])

            headers = [JSON, (b"content-length", b"1000")]
            scope = {"type": "http", "method": "POST", "path": "/learn", "headers": headers}
            await guard(scope, receive, send)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(5):
                tasks.create_task(one())
            while len(found) < 2:
                await asyncio.sleep(0.001)
            entered.set()
        return found

    entered = None
    assert asyncio.run(all_at_once()) == [429, 429, 200, 200, 200]
    assert guard._held == 0
    assert status(guard) == 200


def test_time_that_a_head_has_taken_is_not_there_for_its_body():
    guard = guarded(limits=Limits(seconds=1000))
    sent = []

    async def receive():
        if sent:  # the answer; what is left of the body is not waited for
            return {"type": "http.disconnect"}
        await asyncio.sleep(WAIT)
        raise AssertionError("it waited")

    async def send(message):
        sent.append(message)

    began = {"greville.request": {"began": time.monotonic() - 1000}}
    headers = [JSON, (b"content-length", b"10")]
    scope = {"type": "http", "method": "POST", "path": "/learn", "headers": headers}
    asyncio.run(guard({**scope, "extensions": began}, receive, send))
    assert sent[0]["status"] == 408


def test_small_bodies_of_refused_requests_are_read_and_the_connection_kept():
    with running(echo, token="t") as server, server.client() as client:
        for _ in range(3):
            answer = client.ask(post(b"x" * 1000))
            assert answer.status == 401
            assert "connection" not in answer.headers
        assert client.ask(post(b"x", "Authorization: Bearer t")).status == 200
        answer = client.ask(post(b"x" * 200_000))
        assert (answer.status, answer.headers["connection"]) == (401, "close")


def test_answers_reach_clients_that_are_still_sending():
    """A connection that is closed with unread bytes is reset, and the answer is lost."""
    big = b"x" * (8 << 20)
    with running(echo, limits=Limits(body=100_000)) as server:
        for sent in (post(big), post_chunks(*[big[:70_000]] * 100)):
            for _ in range(3):
                with server.client() as client:
                    answer = client.ask(sent)
                    assert answer.status == 413
                    assert "100000 bytes" in answer.error
                    assert answer.headers["connection"] == "close"
        assert server.ask(post()).status == 200


def answering(kind, extra=()):
    async def app(scope, receive, send):
        headers = [(b"content-type", kind), *extra]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"x"})

    return app


def test_headers_of_answers():
    always = {
        b"x-content-type-options": b"nosniff",
        b"referrer-policy": b"no-referrer",
        b"cache-control": b"no-store",
    }
    for kind in (b"text/html", b"text/html; charset=utf-8", b"text/css", b"text/event-stream"):
        extra = [(b"Cache-Control", b"public"), (b"x-other", b"1")]
        _, said, _, sent = ask(guarded(answering(kind, extra)), "/", method="GET")
        assert always.items() <= said.items()
        assert said[b"x-other"] == b"1"
        assert said.get(b"content-security-policy") == (POLICY if b"html" in kind else None)
        names = [name.lower() for name, _ in sent[0]["headers"]]
        assert len(names) == len(set(names))
    for options, path in (({"token": "t"}, "/model"), ({"hosts": HOSTS}, "/"), ({}, "/predict")):
        found, said, _, _ = ask(guarded(**options), path)
        assert found in (401, 403, 415)
        assert always.items() <= said.items()


def test_routes_are_bounded():
    seen = []
    guard = guarded(observe=lambda *what: seen.append(what), token="t")
    for path, route in {
        "/predict": "/predict",
        "/models/houses/predict": "/models/{name}/predict",
        "/models/a b/model/file": "/models/{name}/model/file",
        "/models": "/models",
        "/models/houses": "other",
        "/models/houses/": "other",
        "/models/a/b/predict": "other",
        "/models//predict": "/models/{name}/predict",
        "/page/page.js": "/page/{file}",
        "/": "/",
        "/predict/": "other",
        "/x" * 1000: "other",
        "": "other",
        "/models/{name}/predict": "/models/{name}/predict",
    }.items():
        ask(guard, path, method="GET")
        assert seen[-1][0] == route
        assert seen[-1][1] == (200 if path in ("/", "/page/page.js") else 401)
        assert 0 <= seen[-1][2] < WAIT
    few = guarded(observe=lambda *what: seen.append(what), routes={"/only"})
    for path in ("/only", "/predict"):
        ask(few, path, method="GET")
    assert [route for route, _, _ in seen[-2:]] == ["/only", "other"]


def raising(error, *, started=False):
    async def app(scope, receive, send):
        if started:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
        raise error

    return app


def test_mistakes_are_logged_and_not_shown(caplog):
    seen = []
    guard = guarded(raising(ValueError("a secret")), observe=lambda *what: seen.append(what))
    found, said, body, _ = ask(guard, headers=[JSON_TYPE])
    assert (found, said[b"content-type"]) == (500, b"application/json")
    assert json.loads(body) == {"error": BUG, "field": None}
    assert said[b"cache-control"] == b"no-store"
    assert [what[:2] for what in seen] == [("/predict", 500)]
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("greville.serve", logging.ERROR)
    assert "a secret" in str(record.exc_info[1])

    async def silent(scope, receive, send):
        pass

    assert ask(guarded(silent), method="GET")[0] == 500


def test_errors_of_requests_are_answered():
    guard = guarded(raising(RequestError(422, "area is no number: send one.", "area")))
    found, said, body, _ = ask(guard, headers=[JSON_TYPE])
    assert (found, said[b"content-type"]) == (422, b"application/json")
    assert json.loads(body) == {"error": "area is no number: send one.", "field": "area"}
    assert b"connection" not in said


def test_a_mistake_after_the_start_ends_the_connection(caplog):
    app = raising(ValueError("late"), started=True)
    with running(app) as server, server.client() as client:
        client.send(get())
        with pytest.raises(EOFError):
            client.answer()
    assert [record.name for record in caplog.records][:1] == ["greville.serve"]


def test_clients_that_go_are_no_mistakes(caplog):
    class ClientDisconnect(Exception):  # as Starlette calls it
        pass

    seen = []
    observe = lambda *what: seen.append(what)  # noqa: E731
    # In the middle of the body; before the answer; while it is sent.
    found, *_ = ask(guarded(observe=observe), headers=[JSON_TYPE, CHUNKED], parts=())
    assert found is None
    ask(guarded(raising(ClientDisconnect()), observe=observe), headers=[JSON_TYPE])
    assert [what[:2] for what in seen] == [("/predict", 499)] * 2
    ask(guarded(raising(ConnectionResetError(), started=True), observe=observe), method="GET")
    assert quiet(caplog)
    # Before its start an error of a connection can only be the application's own.
    assert ask(guarded(raising(ConnectionResetError())), method="GET")[0] == 500
    assert not quiet(caplog)


def test_streams_end_when_their_client_has_gone(caplog):
    """With a reset at once, else when there is something to write."""
    left = threading.Semaphore(0)

    async def app(scope, receive, send):
        gone = asyncio.create_task(until_gone(receive))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while not gone.done():
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
            await asyncio.sleep(0.01)
        left.release()

    async def until_gone(receive):
        while (await receive())["type"] != "http.disconnect":
            pass

    with running(app) as server:
        for leave in (cut, lambda client: client.socket.close()):
            client = server.client()
            client.send(get("/events"))
            assert client._until(b"\r\n\r\n")
            leave(client)
            assert left.acquire(timeout=WAIT)
        until(lambda: not server.open)
    assert quiet(caplog)


def test_other_protocols():
    sent, passed = [], []

    async def send(message):
        sent.append(message)

    async def app(scope, receive, send):
        passed.append(scope["type"])

    guard = guarded(app)
    asyncio.run(guard({"type": "websocket", "path": "/", "headers": []}, None, send))
    assert [message["type"] for message in sent] == ["websocket.close"]
    asyncio.run(guard({"type": "lifespan"}, None, send))
    assert passed == ["lifespan"]
