"""Ten thousand requests that no client should send: each is refused, and nothing changes.

Bodies come many to a connection, behind each other; what breaks the head has its own connection.
"""

import itertools
import json
import random
import socket

import pytest

from .raw import Client, chunks

TOTAL = 10_000
ROW = {"a": 0.5, "b": -1.25, "c": "Oslo"}
PATHS = ("/predict", "/learn", "/unlearn", "/models/m/predict", "/models/m/learn")
JSON, LINES = "application/json", "application/x-ndjson"


def body_of(value):
    return json.dumps(value).encode()


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


def head(path, *lines, method="POST", host="127.0.0.1"):
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode(
        "latin-1"
    )


def request(path, body, *lines, kind=JSON, chunked=None):
    """A request whose head is sound; `chunked` draws where its body is cut."""
    lines = [f"Content-Type: {kind}", *lines]
    if chunked is None:
        return head(path, f"Content-Length: {len(body)}", *lines) + body
    cuts = sorted(chunked.sample(range(len(body) + 1), min(len(body), 5)))
    parts = [body[i:j] for i, j in itertools.pairwise([0, *cuts, len(body)]) if i < j]
    return head(path, "Transfer-Encoding: chunked", *lines) + chunks(*parts)


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
    said = sent[:300], answer.body[:300]
    assert 400 <= answer.status < 500, (answer.status, *said)
    assert answer.headers["content-type"] == "application/json", said
    found = json.loads(answer.body)
    assert set(found) == {"error", "field"}, said
    assert found["error"].endswith("."), said
    assert "Traceback" not in found["error"], said
    assert answer.headers["x-content-type-options"] == "nosniff", said


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
            client.socket.shutdown(socket.SHUT_WR)
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


def test_ten_thousand_malformed_requests(serve, tmp_path):
    draw = random.Random(20_240_229)
    server = serve(tmp_path / "m.greville", "--target", "y", "--hidden", "20", "--timeout", "60s")
    rows = good_rows(draw, 10_000)  # after which refusals are cheap
    assert server.post("/learn", rows)[0] == 200
    before = model_of(server)
    assert before[0]["rows"] == len(rows)
    prediction = server.post("/predict", ROW)
    assert prediction[0] == 200

    together = [*itertools.islice(bad_bodies(draw), 5000)]
    together += itertools.islice(broken_further(draw), 1500)
    for some in _batches(together, 500):
        ask_behind_each_other(server.port, some)
    alone = [*itertools.islice(spoiled_requests(draw), 2000)]
    alone += itertools.islice(broken_heads(draw), 1000)
    alone += itertools.islice(noise(draw), 500)
    answered = sum(ask_alone(server.port, sent) > 0 for sent in alone)
    assert len(together) + len(alone) == TOTAL
    assert answered > len(alone) / 2  # the others were closed, since they did not end

    assert server.is_running
    assert model_of(server) == before
    assert server.post("/predict", ROW)[1] == pytest.approx(prediction[1], rel=1e-9)  # to rounding
    assert server.post("/learn", rows[0])[1]["position"] == before[0]["position"] + 1
    assert_quiet(server)


def assert_quiet(server):
    said = server.said.read_text()
    assert "Traceback" not in said, said
    assert "mistake" not in said, said


def test_a_model_that_has_learned_nothing(serve, tmp_path):
    """It may learn some of them; it has no mistakes."""
    server = serve(tmp_path / "m.greville", "--target", "y", "--hidden", "20")
    with Client(server.port) as client:
        for path, body in itertools.product(PATHS[:3], BROKEN[::-1] + NOT_LEARNED):
            answer = client.ask(request(path, body))
            assert answer.status < 500, (path, body[:100], answer.body)
            json.loads(answer.body)
        rows = good_rows(random.Random(0), 20)
        assert client.ask(request("/learn", body_of(rows))).status in (200, 422)
    assert_quiet(server)
