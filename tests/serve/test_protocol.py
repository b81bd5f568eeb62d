"""Connections under a real server: what is slow, long, broken or too much is refused."""

import asyncio
import contextlib
import gc
import json
import socket
import threading
import time
import weakref

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("httptools")

from greville.serve.guard import Guard
from greville.serve.limits import Limits
from greville.serve.protocol import limited

from .raw import chunks, cut, echo, get, post, post_chunks, quiet, running, until

SHORT = Limits(seconds=0.3)


@pytest.fixture(params=["asyncio", "uvloop"], scope="module")
def loop(request):
    if request.param == "uvloop":
        pytest.importorskip("uvloop")
    return request.param


@pytest.fixture(scope="module")
def plain(loop):
    """A server that tests share, since its start and end take longer than they do."""
    with running(echo, loop=loop, limits=Limits(head=1000)) as server:
        yield server


@pytest.fixture(scope="module")
def short(loop):
    """The same with little time."""
    with running(echo, loop=loop, limits=SHORT) as server:
        yield server


@pytest.fixture(autouse=True)
def _no_errors_in_the_log(caplog):
    yield
    assert quiet(caplog)


def test_requests_follow_each_other_on_a_connection(plain):
    with plain.client() as client:
        for size in (0, 1, 1000, 300_000, 5):
            answer = client.ask(post(b"x" * size))
            assert answer.status == 200
            assert json.loads(answer.body) == {"method": "POST", "path": "/predict", "size": size}
        assert json.loads(client.ask(post_chunks(b"ab", b"c" * 70_000)).body)["size"] == 70_002
        assert client.ask(get()).status == 200
        assert client.ask(get(method="HEAD"), "HEAD").body == b""


def test_pipelined_requests_are_answered_in_order(plain):
    sizes = [(37 * i) % 400 for i in range(3000)]
    sent = b"".join(post(b"x" * size) for size in sizes)
    assert len(sent) > 1 << 18
    with plain.client() as client:
        sender = threading.Thread(target=client.send, args=(sent,))
        sender.start()
        found = [json.loads(client.answer().body)["size"] for _ in sizes]
        sender.join()
        assert found == sizes
        assert client.ask(get()).status == 200


def test_pipelined_requests_of_a_client_that_says_no_more(plain):
    sizes = [(37 * i) % 400 for i in range(500)]
    with plain.client() as client:
        client.send(b"".join(post(b"x" * size) for size in sizes))
        client.socket.shutdown(socket.SHUT_WR)
        assert [json.loads(client.answer().body)["size"] for _ in sizes] == sizes
        assert client.is_closed()


def test_half_a_request_of_a_client_that_says_no_more(plain):
    for sent in (b"", b"GET / HT", post(b"abc", length=10)):
        with plain.client() as client:
            client.send(sent)
            client.socket.shutdown(socket.SHUT_WR)
            assert client.is_closed()
    with plain.client() as client:  # a whole one, and a part of the next
        client.send(get() + b"GET / HT")
        client.socket.shutdown(socket.SHUT_WR)
        assert client.answer().status == 200
        assert client.is_closed()
    with plain.client() as client:  # more than is taken at once
        client.send(get() * 1000 + b"GET / HT")
        client.socket.shutdown(socket.SHUT_WR)
        assert all(client.answer().status == 200 for _ in range(1000))
        assert client.is_closed()
    until(lambda: not plain.open)


def test_the_time_of_a_request_starts_with_its_first_byte():
    with running(echo, limits=Limits(seconds=0.6)) as server, server.client() as client:
        time.sleep(0.4)
        began = time.monotonic()
        assert client.ask(b"GET /").status == 408
        assert time.monotonic() - began > 0.5


def test_slow_heads(short):
    clients = []
    for sent in (b"", b"G", b"GET / HTTP/1.1\r\nHost: x\r\nA: ", b"\r\n"):
        clients.append(short.client())
        clients[-1].send(sent)
    for client in clients:
        with client:
            answer = client.answer()
            assert answer.status == 408
            assert "0.3 seconds" in answer.error
            assert answer.headers["connection"] == "close"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert client.is_closed()


@pytest.mark.parametrize("byte", [b"a", b"\r\n"])
def test_heads_that_come_a_byte_at_a_time(short, byte):
    """Every byte is in time, and all of them are not. Line ends before a request are none of it."""
    with short.client() as client:
        client.send(get() + (b"GET /" if byte == b"a" else b""))
        while (answer := client.answer_or_none(0.05)) is None or answer.status == 200:
            client.send(byte)
        assert answer.status == 408


def test_a_slow_body(short, monkeypatch):
    monkeypatch.setattr("greville.serve.guard._LINGER", 0.1)
    for sent in (post(b"abc", length=10), post_chunks(b"abc")[:-5]):
        with short.client() as client:
            answer = client.ask(sent)
            assert answer.status == 408
            assert answer.headers["connection"] == "close"
            assert "body" in answer.error
            assert client.is_closed()


def test_the_time_of_a_head_counts_for_the_body(monkeypatch):
    """Otherwise a request could take twice its time."""
    seen = []
    read = Guard._read

    def reading(guard, scope, receive):
        if scope["path"] == "/here":  # other servers may still be at their last request
            seen.append(scope.get("extensions"))
        return read(guard, scope, receive)

    monkeypatch.setattr(Guard, "_read", reading)
    with running(echo, limits=Limits(seconds=20)) as server, server.client() as client:
        whole = post(b"abc", path="/here")
        client.send(whole[:10])
        until(lambda: len(server.open) == 1 and next(iter(server.open))._in_head)
        since = next(iter(server.open))._since
        client.send(whole[10:-1])
        until(lambda: seen)
        assert seen[0] == {"greville.request": {"began": since}}
        assert client.ask(whole[-1:]).status == 200
        # All at once: no clock is needed.
        assert client.ask(whole).status == 200
        assert seen[1] == {"greville.request": {"complete": True}}


def test_a_body_that_never_ends_after_its_answer(loop, monkeypatch):
    """The application did not want it; it is read and forgotten, but not for ever."""
    monkeypatch.setattr("greville.serve.protocol._LINGER", 0.1)
    with running(echo, loop=loop, limits=SHORT, token="secret") as server:
        with server.client() as client:
            assert client.ask(post(b"abc", length=1000)).status == 401
            until(lambda: refuses(client, b"x"))
        until(lambda: not server.open)


def refuses(client, data):
    """Whether the connection is closed, for what is sent here."""
    try:
        client.send(data)
    except OSError:
        return True
    return False


def test_slow_requests_do_not_wait_for_answers_of_earlier_ones():
    """The time for a second request starts when the first is answered."""
    release = threading.Event()

    async def app(scope, receive, send):
        while scope["path"] == "/slow" and not release.is_set():
            await asyncio.sleep(0.01)
        await echo(scope, receive, send)

    with running(app, limits=Limits(seconds=0.6)) as server, server.client() as client:
        client.send(get("/slow") + b"GET /next HT")
        time.sleep(0.8)
        (connection,) = server.open
        released = time.monotonic()
        release.set()
        assert json.loads(client.answer().body)["path"] == "/slow"
        until(lambda: connection._since >= released)
        assert client.answer().status == 408  # the rest of the second does not come


def test_idle_connections_are_closed(loop):
    with running(echo, loop=loop, keep_alive=0.2) as server, server.client() as client:
        assert client.ask(get()).status == 200
        assert client.is_closed()


def test_long_heads(plain):
    room = 1000 - len(get("/health", "A: "))
    with plain.client() as client:
        for _ in range(3):
            assert client.ask(get("/health", "A: " + "x" * room)).status == 200
    for sent in (
        get("/health", "A: " + "x" * (room + 1)),
        get("/health", "A: " + "x" * (1 << 20)),
        get("/" + "x" * (1 << 25)),  # still on its way when it is refused
        get("/health", *["A: x"] * 10_000),
        b"GET / HTTP/1.1\r\nA: " + b"x" * 5000,  # which goes on
        b"GET /" + b"x" * 5000,
        get("/health", "A: " + "x" * (room + 1)) + get() * 1000,
    ):
        with plain.client() as client:
            answer = client.ask(sent)
            assert answer.status == 431
            assert "1000 bytes" in answer.error
            assert answer.headers["connection"] == "close"
            assert client.is_closed()


def test_a_long_head_after_others(plain):
    """What was asked before is answered; then the connection ends."""
    with plain.client() as client:
        client.send(get() * 5 + get("/" + "x" * 2000))
        for _ in range(5):
            assert client.answer().status == 200
        assert client.is_closed()


def test_trailers_are_no_headers(loop, plain):
    seen = []

    async def app(scope, receive, send):
        await echo(scope, receive, send)
        seen.append(dict(scope["headers"]))

    with running(app, loop=loop) as server, server.client() as client:
        answer = client.ask(post_chunks(b"{}", trailer=b"Authorization: Bearer x\r\nB: c\r\n"))
        assert answer.status == 200
        assert client.ask(get()).status == 200
        until(lambda: len(seen) == 2)
        assert b"authorization" not in seen[0]
        assert b"b" not in seen[0]
    for long in (b"B: " + b"c" * 50_000, b"B: c\r\n" * 10_000):
        with plain.client() as client:
            assert client.ask(post_chunks(b"{}")[:-2] + long).status == 431
            assert client.is_closed()


NOT_HTTP = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,  # TLS
    b"hello\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET  HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
    b"GET / HTTP/1.1\r\nA: b\x00c\r\n\r\n",
    b"GET / HTTP/1.1\r\n : x\r\n\r\n",
    b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /?\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /ä HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
    b"GET http:// HTTP/1.1\r\nHost: x\r\n\r\n",
    b"CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 1, 2\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
    get("/health", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
    get("/health", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"),
]


@pytest.mark.parametrize("sent", NOT_HTTP)
def test_what_is_not_http_is_refused_in_json(plain, sent):
    with plain.client() as client:
        answer = client.ask(sent)
        assert answer.status == 400
        assert answer.error.endswith(".")
        assert answer.headers["connection"] == "close"
        assert client.is_closed()
    assert plain.ask(get()).status == 200


def test_a_body_that_breaks(loop):
    started = threading.Event()

    async def app(scope, receive, send):
        started.set()
        await echo(scope, receive, send)

    broken = post_chunks(b"ab")[:-5] + b"zzz\r\n"
    with running(app, loop=loop) as server:
        with server.client() as client:
            answer = client.ask(broken)
            assert answer.status == 400
            assert client.is_closed()
        assert not started.is_set()
        with server.client() as client:  # in order, behind others
            client.send(get() * 3 + broken)
            assert [client.answer().status for _ in range(4)] == [200, 200, 200, 400]
            assert client.is_closed()


def test_connections_beyond_the_limit(loop):
    """None of 300 hangs or is cut, and places become free again."""
    with running(echo, loop=loop, limits=Limits(connections=256)) as server:
        clients = [server.client() for _ in range(256)]
        assert all(client.ask(get()).status == 200 for client in clients)
        others = [server.client() for _ in range(44)]
        for other in others:
            other.send(get() + post(b"x" * 1000))
            answer = other.answer()
            assert answer.status == 429
            assert "256 connections" in answer.error
            assert answer.headers["connection"] == "close"
        assert len(server.uvicorn.server_state.connections) == 256
        for other in others:
            assert other.is_closed()
            other.socket.close()
        until(lambda: not server.protocol.turned_away)
        assert len(server.open) == 256
        for client in clients[:10]:
            client.socket.close()
        until(lambda: len(server.open) == 246)
        for _ in range(3):
            assert server.ask(get()).status == 200
        for client in clients[10:]:
            client.socket.close()
        until(lambda: not server.open)


def test_refused_connections_are_not_kept(loop, monkeypatch):
    """Few of them may take their time to read that they are refused."""
    monkeypatch.setattr("greville.serve.protocol._LINGER", 1000)
    with running(echo, loop=loop, limits=Limits(connections=2)) as server:
        clients = [server.client() for _ in range(2)]
        assert all(client.ask(get()).status == 200 for client in clients)
        others = [server.client() for _ in range(10)]
        assert all(client.answer().status == 429 for client in others)
        until(lambda: len(server.protocol.turned_away) == 2)
        for client in clients + others:
            client.socket.close()
        until(lambda: not server.protocol.turned_away)


def test_nothing_follows_an_answer_whose_request_breaks_later(loop):
    """Neither where it was refused nor where the application did not read it."""

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x"})

    begun = post_chunks(b"ab")[:-5]
    for options, status in (({"token": "t"}, 401), ({"bare": True}, 200)):
        with running(app, loop=loop, **options) as server, server.client() as client:
            assert client.ask(begun).status == status
            client.send(b"zzz\r\n")
            assert client.is_closed()


def test_an_application_adds_nothing_to_a_refusal(loop):
    release = threading.Event()

    async def app(scope, receive, send):
        while not release.is_set():
            await asyncio.sleep(0.01)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x"})

    with running(app, loop=loop, bare=True) as server, server.client() as client:
        client.send(post_chunks(b"ab")[:-5])
        until(lambda: server.uvicorn.server_state.tasks)
        assert client.ask(b"zzz\r\n").status == 400
        release.set()
        until(lambda: not server.uvicorn.server_state.tasks)
        assert client.is_closed()


def test_clients_that_go_at_any_byte(loop):
    """By a reset or by an end; no task, timer or connection is left."""
    request = post(b'{"a": 1}') + get("/health", "A: b")
    with running(echo, loop=loop, limits=Limits(seconds=20)) as server:
        for end in range(0, len(request) + 1, 3):
            for go in (cut, lambda client: client.socket.close()):
                client = server.client()
                client.send(request[:end])
                go(client)
        assert server.ask(get()).status == 200
        until(lambda: not server.open)
        until(lambda: not server.uvicorn.server_state.tasks)
        assert not server.uvicorn.server_state.connections


def test_nothing_is_kept_of_a_closed_connection():
    """A timer would hold it, with its buffers, for as long as it runs."""
    with running(echo, limits=Limits(seconds=1000), keep_alive=1000) as server:
        found = []
        for sent in (b"", b"GET", get(), get() + b"GE", post(b"abc", length=10), b"no\r\n\r\n"):
            client = server.client()
            until(lambda: server.open)
            found.append(weakref.ref(next(iter(server.open))))
            client.send(sent)
            if sent.startswith(get()):
                client.answer()
            cut(client)
            until(lambda: not server.open)

        def gone():
            gc.collect()
            return not any(ref() for ref in found)

        until(gone)


def test_a_client_that_goes_is_not_hidden_by_a_request_behind():
    """Streams end when their client has gone, whatever it has asked since."""
    ended = threading.Event()

    async def app(scope, receive, send):
        if scope["path"] != "/events":
            await echo(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        ended.set()

    with running(app) as server:
        client = server.client()
        client.send(get("/events") + get())
        assert client._until(b"\r\n\r\n")
        cut(client)
        assert ended.wait(30)


def test_a_client_that_does_not_read_is_cut():
    """It would keep the answer in memory for ever."""
    done = threading.Event()

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200})
        for _ in range(1000):
            await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
            if done.is_set():
                break
        await send({"type": "http.response.body"})

    with running(app, limits=SHORT) as server, server.client() as client:
        client.send(get())
        until(lambda: server.open)
        until(lambda: not server.open)
        done.set()


def test_requests_before_their_time_are_not_collected():
    """Behind an answer that takes long a client can send; not more than a little is kept."""
    release = threading.Event()

    async def app(scope, receive, send):
        while scope["path"] == "/slow" and not release.is_set():
            await asyncio.sleep(0.01)
        await echo(scope, receive, send)

    with running(app) as server, server.client() as client:
        client.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            client.send(get("/slow") + get() * 300_000)
        (connection,) = server.open
        assert 0 < len(connection.pipeline) < 1000
        assert 0 < len(connection._rest) < 2 << 20
        release.set()


def test_an_application_that_listens_does_not_collect_them_either():
    """Whoever waits for a disconnect has the server read on."""
    release = threading.Event()

    async def app(scope, receive, send):
        while not release.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(receive(), 0.001)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    with running(app, bare=True) as server, server.client() as client:
        until(lambda: server.open)
        (connection,) = server.open
        sender = threading.Thread(target=refuses, args=(client, get("/slow") + get() * 300_000))
        sender.start()
        until(lambda: connection._deaf)
        release.set()
        until(lambda: not server.open)
        sender.join()


def test_the_class_is_for_its_limits():
    a, b = limited(Limits(head=1)), limited(Limits(head=2))
    assert (a.limits.head, b.limits.head) == (1, 2)
    assert a.turned_away is not b.turned_away


def test_expect_continue(loop):
    with running(echo, loop=loop, limits=Limits(body=1000)) as server:
        with server.client() as client:
            client.send(post(b"", "Expect: 100-continue", length=3))
            assert client._until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue"
            assert json.loads(client.ask(b"abc").body)["size"] == 3
        with server.client() as client:  # refused before it is sent
            answer = client.ask(post(b"", "Expect: 100-continue", length=3000))
            assert answer.status == 413
            client.socket.shutdown(socket.SHUT_WR)
            assert client.is_closed()


def test_chunks_are_counted(plain):
    """Chunks of one byte are six; what is between them is limited, not the sum."""
    with plain.client() as client:
        answer = client.ask(post_chunks(*[b"x"] * 2000))
        assert json.loads(answer.body)["size"] == 2000
        extension = chunks(b"x").replace(b"1\r\n", b"1;" + b"a" * 50_000 + b"\r\n", 1)
        head = post_chunks()[: -len(chunks())]
        answer = client.ask(head + extension)
        assert answer.status == 431
