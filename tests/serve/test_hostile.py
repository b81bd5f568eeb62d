"""What no client should send is refused with its status, changes nothing and holds nobody up.

Slow, long, too many, broken off, not HTTP, not JSON: by bytes on a connection, to one server.
"""

import itertools
import json
import random
import time
from contextlib import ExitStack, suppress

import pytest

from .. import children
from .raw import Client, get, head, post, post_chunks

ROW = {"a": 0.5, "b": -1.25, "c": "Oslo"}
PATHS = ("/predict", "/learn", "/unlearn", "/models/m/predict", "/models/m/learn")
JSON, LINES = "application/json", "application/x-ndjson"

pytestmark = pytest.mark.full


def body_of(value):
    return json.dumps(value).encode()


def until(condition):
    """Wait until it holds."""
    deadline = time.monotonic() + children.LIMIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(scope="module")
def server(start_server):
    """One that has learned some rows."""
    server = start_server("--target", "y", "--hidden", "20", "--max-body", "2MB")
    assert server.post("/learn", good_rows(random.Random(0), 500))[0] == 200
    return server


@pytest.fixture(scope="module")
def narrow(start_server):
    """One with little time, and few connections."""
    return start_server("--target", "y", "--timeout", "1s", "--max-connections", "8")


@pytest.fixture(autouse=True)
def _it_goes_on(request):
    """After every test the server answers, and has said nothing of a mistake of its own."""
    yield
    for name in {"server", "narrow"} & set(request.fixturenames):
        asked = request.getfixturevalue(name)
        until(lambda asked=asked: asked.get("/health")[0] == 200)
        said = asked.said.read_text()
        assert "Traceback" not in said, said
        assert "mistake" not in said, said


@pytest.fixture
def connect():
    """Connections to a server; they are closed at the end."""
    with ExitStack() as stack:
        yield lambda to: stack.enter_context(Client(to.port))


# Connections


def test_requests_behind_each_other_are_answered_in_order(server):
    """Of any size, in chunks or whole, all at once, and where the client says no more."""
    numbers = [(37 * i) % 400 for i in range(300)]
    sent = [post(body_of({**ROW, "id": f"{n}" * 40}), path="/learn") for n in numbers]
    with Client(server.port) as client:
        client.send(b"".join(sent))
        client.end()
        for number in numbers:
            answer = client.answer()
            assert (answer.status, json.loads(answer.body)["field"]) == (422, "y"), number
        assert client.is_closed()
    with Client(server.port) as client:
        many = body_of([ROW] * 3000)
        for sent in (
            post(many),
            post_chunks(many[:10], many[10:]),
            post_chunks(*[b" "] * 999, b"{"),
        ):
            assert client.ask(sent).status in (200, 400)
        assert client.ask(get(), "HEAD").status == 200


def test_slow_requests_are_refused_in_time(narrow, connect):
    """Every byte may be in time, and all of them are not."""
    begun = time.monotonic()
    clients = [connect(narrow) for _ in range(4)]
    parts = b"GET / HTTP/1.1\r\nHost: x\r\nA: ", b"G", post(b"abc", length=10)
    for client, sent in zip(clients, (*parts, post_chunks(b"abc")[:-5]), strict=True):
        client.send(sent)
    with Client(narrow.port) as client:
        client.send(get() + b"GET /")
        assert client.answer().status == 200
        while (answer := client.answer_or_none(0.1)) is None:
            client.send(b"a")
        assert answer.status == 408
    for client in clients:
        answer = client.answer()
        assert (answer.status, answer.headers["connection"]) == (408, "close")
        assert "1 second" in answer.error or "body" in answer.error
        assert client.is_closed()
    assert time.monotonic() - begun > 0.9


def test_connections_beyond_the_limit_are_told_and_places_become_free(narrow, connect):
    clients = [connect(narrow) for _ in range(8)]
    assert all(client.ask(get()).status == 200 for client in clients)
    for _ in range(10):
        with Client(narrow.port) as other:
            other.send(get())
            answer = other.answer()
            assert answer.status == 429
            assert "8 connections" in answer.error
            assert other.is_closed()
    clients.pop().cut()
    clients.pop().socket.close()

    def free():
        with Client(narrow.port) as client:
            return client.ask(get()).status == 200

    until(free)


def test_long_heads_and_trailers(server):
    for sent in (
        get("/health", "A: " + "x" * (1 << 20)),
        get("/" + "x" * (1 << 20)),
        get("/health", *["A: x"] * 10_000),
        b"GET / HTTP/1.1\r\nA: " + b"x" * 50_000,  # which goes on
        post_chunks(b"{}")[:-2] + b"B: c\r\n" * 10_000,
        get("/health", "A: " + "x" * 40_000) + get() * 1000,
    ):
        with Client(server.port) as client:
            answer = client.ask(sent)
            assert (answer.status, answer.headers["connection"]) == (431, "close")
            assert answer.error
            assert client.is_closed()


def test_answers_reach_clients_that_are_still_sending(server):
    """A connection that is closed with unread bytes is reset, and the answer is lost."""
    big = b"x" * (8 << 20)
    for sent in (post(big), post_chunks(*[big[:70_000]] * 100)):
        with Client(server.port) as client:
            answer = client.ask(sent)
            assert (answer.status, answer.headers["connection"]) == (413, "close")
            assert "2097152 bytes" in answer.error
    with Client(server.port) as client:
        client.send(post(b"", "Expect: 100-continue", length=len(body_of(ROW))))
        assert client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue"
        assert client.ask(body_of(ROW)).status == 200
        assert client.ask(post(b"", "Expect: 100-continue", length=3 << 20)).status == 413


def test_clients_that_go_at_any_byte_and_those_that_do_not_read(narrow, connect):
    """No place is kept for them."""
    request = post(body_of(ROW)) + get("/events", "A: b")
    for end in range(0, len(request) + 1, 5):
        client = connect(narrow)
        with suppress(OSError):  # there may be no place for it
            client.send(request[:end])
        client.cut() if end % 2 else client.socket.close()
    clients = [connect(narrow)]
    until(lambda: _is_served(clients, 0, lambda: connect(narrow)))
    with suppress(ConnectionError):
        clients[0].send(get("/openapi.json") * 100_000)
    time.sleep(3)  # none of the answers is read, so that it is cut after one second
    with pytest.raises((EOFError, ConnectionError)):
        _read_answers(clients[0], 10_000)
    clients[0].socket.close()
    clients = [connect(narrow) for _ in range(8)]
    until(lambda: all(_is_served(clients, i, lambda: connect(narrow)) for i in range(8)))


def _read_answers(client, n):
    for _ in range(n):
        client.answer()


def _is_served(clients, i, again):
    """Whether a client has its place; else it tries again."""
    with suppress(OSError, EOFError):
        if clients[i].ask(get()).status == 200:
            return True
    clients[i].socket.close()
    clients[i] = again()
    return False


def test_headers_that_are_there_twice_and_those_behind_a_body_count_for_nothing(server):
    for line in ("Host: 127.0.0.1", "Content-Type: application/json", "Idempotency-Key: k"):
        twice = [line] if line.startswith(("Host", "Content-Type")) else [line, line]
        with Client(server.port) as client:
            assert client.ask(post(body_of(ROW), *twice)).status == 400
    with Client(server.port) as client:
        sent = post_chunks(body_of(ROW), trailer=b"Idempotency-Key: " + b"k" * 300 + b"\r\n")
        answer = client.ask(sent.replace(b"/predict", b"/learn"))
        assert json.loads(answer.body)["field"] == "y"  # not the key, which is too long
        assert client.ask(get()).status == 200


NOT_HTTP = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,  # TLS
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET  HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
    b"GET / HTTP/1.1\r\nA: b\x00c\r\n\r\n",
    b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    b"CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    get("/health", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
    post_chunks(b"ab")[:-5] + b"zzz\r\n",
]


def test_what_is_no_http_is_refused_in_json(server):
    for sent in NOT_HTTP:
        with Client(server.port) as client:
            answer = client.ask(sent)
            assert (answer.status, answer.headers["connection"]) == (400, "close"), sent
            assert answer.error
            assert client.is_closed()


# Bodies

# Every one is refused, on every path that takes rows.
BROKEN = [
    *(b"", b" ", b"\n\n", b"\x00", b"\xff", b"\xef\xbb\xbf{}", b"{", b"}", b"[", b"]", b"[]"),
    *(b"{}", b"[{}]", b"[{},{}]", b"null", b"true", b"1", b"-0", b'"text"', b"NaN", b"[1, 2]"),
    *(b"[[]]", b"[null]", b'{"a": 1', b'{"a": 1,}', b'{"a" 1}', b"{'a': 1}", b"{a: 1}", b'{"a": }'),
    *(b'{"a": 1}{"b": 2}', b'[{"a": 1}', b'{"a": 01}', b'{"a": +1}', b'{"a": .5}', b'{"a": 1.}'),
    *(b'{"a": 0x10}', b'{"a": 1_000}', b'{"a": 1e}', b'{"a": tru}', b'{"a": undefined}'),
    *(b'{"a": NaN}', b'{"a": Infinity}', b'{"a": -Infinity}', b'{"a": "\x01"}', b'{"a": "\n"}'),
    *(b'{"a": "\\x"}', b'{"a": "\\u12"}', b'{"a": "\\ud800"}', b'{"\\udfff": 1, "a": 1}'),
    *(b'{"a": "\xc3\x28"}', b'{"a": "\xed\xa0\x80"}', b'{"\xff": 1}', b'{"a": 1} \x00', b"\x00{}"),
    *("{}".encode("utf-16"), '{"a": 1}'.encode("utf-16-le"), '{"a": 1}'.encode("utf-32")),
    *(b"/* */ {}", b"<row a='1'/>", b"a=1&b=2", b"a,b\n1,2\n", b"\x1f\x8b\x08\x00" * 5),
    b"[" * 100_000,
    b"[" * 500 + b"]" * 500,
    b'{"a": ' * 50_000,
    b'{"a": ' * 300 + b"1" + b"}" * 300,
    b'{"a": 1' + b"0" * 5000 + b', "b": 1}',
    b'{"a": -1' + b"0" * 5000 + b"}",
    b'{"id": 1' + b"0" * 5000 + b', "a": 1}',
    *(body_of({**ROW, "y": 1, "a": value}) for value in ([], {}, [1], {"a": 1}, [[[]]])),
    *(body_of({**ROW, "y": 1, "id": value}) for value in ([], {}, 1.5, -0.0, 1e300, True, False)),
    *(body_of({**ROW, "y": 1, "id": value}) for value in ("x" * 1000, 10**300, -(10**250))),
    *(body_of({**ROW, "y": 1, "a": value}) for value in ("text", "1,5", "inf", "0x1", "Ⅷ")),
    *(b'{"b": 1, "c": "Oslo", "y": 1, "a": %b}' % v for v in (b"1e999", b"-1e999", b"1e400")),
    b'{"b": 1, "c": "Oslo", "y": 1, "a": 1' + b"0" * 400 + b"}",
    body_of([ROW | {"y": 1}, 5]),
    body_of([ROW | {"y": 1}, {**ROW, "y": 1, "a": "text"}]),
    body_of([ROW | {"y": 1}, {**ROW, "y": 1, "b": [0]}]),
    body_of({f"x{i}": i for i in range(1001)}),
    body_of({"": 1}),
    body_of({"unknown": 1}),
    body_of([ROW] * 10_001),
]

# Refused where something would be learned.
NOT_LEARNED = [
    body_of(ROW),
    body_of([ROW, ROW]),
    *(body_of({**ROW, "y": value}) for value in (None, "", "text", [1], {}, "inf", "1,5")),
    *(b'{"a": 1, "b": 1, "c": "Oslo", "y": %b}' % v for v in (b"1e999", b"-1e999", b"NaN")),
    b'{"a": 1, "b": 1, "c": "Oslo", "y": 1' + b"0" * 400 + b"}",
    *(body_of({"id": value, "y": 1}) for value in ("never", 10**18, -1, "", "\x00", "' OR 1=1 --")),
    body_of([{**ROW, "y": 1}, {"id": "never", "y": 1}]),
    body_of({"y": 1}),
    body_of({"y": 1, "Y": 2, "A": 1}),
    body_of([{**ROW, "id": "twice", "y": 1}, {**ROW, "id": "twice", "y": 2}]),
]


def request(path, body, *lines, kind=JSON, chunked=None):
    """A request whose head is sound; `chunked` draws where its body is cut."""
    if chunked is None:
        return post(body, *lines, path=path, kind=kind)
    cuts = sorted(chunked.sample(range(len(body) + 1), min(len(body), 5)))
    parts = [body[i:j] for i, j in itertools.pairwise([0, *cuts, len(body)]) if i < j]
    return post_chunks(*parts, lines=lines, path=path, kind=kind)


def bad_bodies(draw):
    """Sound heads; bodies that are broken, or cannot be used where they are sent."""
    queries = ("", "", "", "?std", "?proba", "?std=1&std=2", "?" + "x" * 500, "?std=maybe", "?=&&")
    keys = ("", "", "k", "k" * 200, "k" * 5000, "\xe9", "a b", "'; DROP TABLE entries; --")
    while True:
        path = draw.choice(PATHS)
        pool = BROKEN + NOT_LEARNED if "learn" in path else BROKEN
        body = draw.choice(pool)
        if len(body) > 50_000 and draw.random() < 0.9:
            continue
        key = draw.choice(keys)
        lines = [f"Idempotency-Key: {key}"] if key else []
        kind = draw.choice((JSON, JSON, LINES, JSON + "; charset=utf-8"))
        chunked = draw if draw.random() < 0.3 else None
        yield request(path + draw.choice(queries), body, *lines, kind=kind, chunked=chunked)


def broken_further(draw):
    """Bytes of broken bodies changed, left out, repeated; heads stay sound."""
    while True:
        body = bytearray(draw.choice([body for body in BROKEN if len(body) < 2000]))
        # What makes it unusable stays at its end.
        body = spoiled(draw, body) + b"\x00]"
        yield request(draw.choice(PATHS), bytes(body), kind=draw.choice((JSON, LINES)))


def spoiled(draw, data):
    """Some bytes changed, left out, inserted or repeated."""
    data = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 5, 20))):
        at = draw.randrange(len(data) + 1)
        what = draw.randrange(5)
        if what == 0 and at < len(data):
            data[at] = draw.randrange(256)
        elif what == 1:
            del data[at : at + draw.choice((1, 2, 10))]
        elif what == 2:
            data[at:at] = bytes(draw.randrange(256) for _ in range(draw.choice((1, 2, 5))))
        elif what == 3:
            data[at:at] = data[at : at + draw.randrange(1, 30)]
        else:
            data[at:at] = draw.choice((b"\r\n", b"\n", b"\r", b"\x00", b":", b" ", b"%", b"\xff"))
    return data


def spoiled_requests(draw):
    """Any byte of whole requests, whose bodies are unusable to begin with."""
    pool = [body for body in NOT_LEARNED if len(body) < 500]
    while True:
        path = draw.choice(("/learn", "/unlearn", "/models/m/learn"))
        body = draw.choice(pool)
        lines = ["Idempotency-Key: k"] if draw.random() < 0.3 else []
        chunked = draw if draw.random() < 0.3 else None
        yield bytes(spoiled(draw, request(path, body, *lines, chunked=chunked)))


GOOD = body_of(ROW)
METHODS = ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "PROPFIND", "QUERY", "M")
TRICKS = (
    *("/nothing", "//learn", "/learn/", "/./learn", "/page/../learn", "/page/%2e%2e/learn", "/%00"),
    *("/models", "/models/", "/models//learn", "/models/none/learn", "/models/m", "/models/m/"),
    *("/models/%2e%2e/learn", "/models/m%2flearn", "/learn%00", "/learn%0d%0aX: y", "/LEARN", "*"),
    *("/" + "a/" * 2000, "/%ff%fe", "/%", "/%zz", "/learn;x=1", "/learn%3fstd", "/\\..\\learn"),
    *("http://evil.example/nothing", "https:///x", "http://[::1", "learn", "?std", "#", "/#/learn"),
)
HEADERS = (
    *("Content-Length: -1", "Content-Length: 1e3", "Content-Length: 0x10", "Content-Length: "),
    *("Content-Length: 99999999999999999999", "Content-Length: " + "9" * 3000),
    *("Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5, 5", "Content-Length: 17000000"),
    "Content-Length: 5\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nContent-Length: 5",
    *("Transfer-Encoding: gzip", "Transfer-Encoding: chunked, gzip", "Transfer-Encoding: xchunked"),
    *("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding:\x0bchunked"),
    *("Transfer-Encoding : chunked", " Transfer-Encoding: chunked", "Content-Encoding: gzip"),
    *("Content-Type: text/plain", "Content-Type: application/json; charset=utf-16"),
    *("Content-Type: application/json\r\nContent-Type: application/json", "Content-Type: \xff"),
    *("Host: evil.example", "Host: 127.0.0.1", "Host:", "Origin: http://evil.example"),
    *("Origin: null", "Origin: http://127.0.0.1", "Origin: \xff", "Origin: a\r\nOrigin: b"),
    *("Upgrade: websocket\r\nConnection: Upgrade", "Upgrade: h2c\r\nConnection: Upgrade"),
    *("X: \x00", "X: a\rb", "X: a\nb", "X\x00: a", "X", ": a", "X Y: a", "\xff: a", "X: \x7f"),
    *("X: " + "x" * 40_000, "\r\n".join(f"X{i}: {i}" for i in range(5000)), "\tfolded: x"),
)


def broken_heads(draw):
    """Methods, paths, versions and headers; the body would be a good prediction."""
    sound = [f"Content-Type: {JSON}", f"Content-Length: {len(GOOD)}"]
    while True:
        what = draw.randrange(5)
        if what == 0:
            yield (
                head(draw.choice(("/predict", "/learn")), *sound, method=draw.choice(METHODS))
                + GOOD
            )
        elif what == 1:
            yield head(draw.choice(TRICKS), *sound) + GOOD
        elif what == 2:
            extra = draw.choice(HEADERS)
            name = extra.partition(":")[0].lower()
            # One more of a kind, or in the place of the sound one.
            lines = [line for line in sound if not line.lower().startswith(name + ":")]
            if "transfer-encoding" in extra.lower():
                lines = sound[:1]
            yield head("/learn", *lines, extra) + GOOD
        elif what == 3:
            version = draw.choice(
                ("HTTP/0.9", "HTTP/2.0", "HTTP/1.2", "HTTP/11", "HTP/1.1", "", "x")
            )
            yield head("/learn", *sound).replace(b"HTTP/1.1", version.encode()) + GOOD
        else:
            size = draw.choice((b"z", b"-1", b"0x5", b"fffffffffffffffff", b"", b"5 5", b"\x00"))
            framed = size + b"\r\n" + GOOD + b"\r\n0\r\n\r\n"
            yield head("/learn", sound[0], "Transfer-Encoding: chunked") + framed


def noise(draw):
    """Anything at all."""
    while True:
        data = draw.randbytes(draw.choice((1, 10, 100, 1000)))
        yield draw.choice((b"", b"\r\n\r\n", b"GET ", b"POST /learn HTTP/1.1\r\n")) + data


def check(answer, sent):
    """Refused, in JSON, without a word on the inside of the server."""
    assert 400 <= answer.status < 500, (answer.status, sent[:300], answer.body[:300])
    assert answer.error, sent[:300]


def ask_behind_each_other(port, requests):
    """All on one connection, which stays open: the framing of all of them is sound."""
    with Client(port) as client:
        for sent in _batches(requests, 10):
            client.send(b"".join(sent))
            for each in sent:
                check(client.answer(), each)


def _batches(values, size):
    for start in range(0, len(values), size):
        yield values[start : start + size]


def ask_alone(port, sent):
    """As many answers as the server finds requests in it, all refusals; then the end."""
    with Client(port) as client:
        try:
            client.send(sent)
            client.end()
        except OSError:
            pass  # refused before all of it was sent
        n = 0
        try:
            while True:
                check(client.answer(), sent)
                n += 1
        except EOFError as end:
            if end.args != (b"",):
                raise AssertionError((sent[:300], end.args)) from end
        except ConnectionResetError:
            pass
        return n


def model_of(server):
    _, known = server.get("/model")
    _, file = server.get("/model/file")
    return {name: known[name] for name in ("rows", "rows_without_target", "position")}, file


def good_rows(draw, n):
    rows = [{"a": draw.gauss(0, 1), "b": draw.gauss(0, 1)} for _ in range(n)]
    return [{**row, "c": draw.choice(("Oslo", "Bonn")), "y": row["a"] - row["b"]} for row in rows]


def test_malformed_requests_are_refused_and_change_nothing(server):
    """Bodies come many to a connection; what breaks the head has its own."""
    draw = random.Random(20_240_229)
    before, prediction = model_of(server), server.post("/predict", ROW)
    assert prediction[0] == 200
    ask_behind_each_other(
        server.port, [*some(bad_bodies(draw), 300), *some(broken_further(draw), 100)]
    )
    alone = [
        *some(spoiled_requests(draw), 120),
        *some(broken_heads(draw), 150),
        *some(noise(draw), 30),
    ]
    answered = sum(ask_alone(server.port, sent) > 0 for sent in alone)
    assert answered > len(alone) / 2  # the others were closed, since they did not end
    assert model_of(server) == before
    assert server.post("/predict", ROW)[1] == pytest.approx(prediction[1], rel=1e-9)  # to rounding
    learned = server.post("/learn", {**ROW, "y": 1.0})[1]
    assert learned["position"] == before[0]["position"] + 1


def some(values, n):
    return itertools.islice(values, n)


def test_a_model_that_has_learned_nothing_answers_them_all(narrow):
    """It may learn some of them; it has no mistakes."""
    with Client(narrow.port) as client:
        for path, body in itertools.product(PATHS[:3], BROKEN[::-1] + NOT_LEARNED):
            answer = client.ask(request(path, body))
            assert answer.status < 500, (path, body[:100], answer.body)
            json.loads(answer.body)
        rows = good_rows(random.Random(0), 20)
        assert client.ask(request("/learn", body_of(rows))).status in (200, 422)
