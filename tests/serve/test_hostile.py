"""What no client should send is refused, changes nothing and holds nobody up.

Bodies go to an application; what is slow, long, too many, broken off or not HTTP goes to a server.
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


def good_rows(draw, n):
    rows = [{"a": draw.gauss(0, 1), "b": draw.gauss(0, 1)} for _ in range(n)]
    return [{**row, "c": draw.choice(("Oslo", "Bonn")), "y": row["a"] - row["b"]} for row in rows]


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
        headers = {"Idempotency-Key": key.encode("latin-1")} if key else {}
        headers["Content-Type"] = draw.choice((JSON, JSON, LINES, JSON + "; charset=utf-8"))
        yield path + draw.choice(queries), body, headers


def broken_further(draw):
    """Bytes of broken bodies changed, left out, repeated."""
    while True:
        body = bytearray(draw.choice([body for body in BROKEN if len(body) < 2000]))
        # What makes it unusable stays at its end.
        body = bytes(spoiled(draw, body)) + b"\x00]"
        yield draw.choice(PATHS), body, {"Content-Type": draw.choice((JSON, LINES))}


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


def model_of(server):
    known = server.get("/model")[1]
    return [known[name] for name in ("rows", "rows_without_target", "position")]


def test_bodies_that_cannot_be_used_are_refused_and_change_nothing(start_application):
    draw = random.Random(20_240_229)
    server = start_application()
    assert server.post("/learn", good_rows(draw, 500))[0] == 200
    before, file = model_of(server), server.get("/model/file")
    prediction = server.post("/predict", ROW)[1]
    bodies = [
        *itertools.islice(bad_bodies(draw), 300),
        *itertools.islice(broken_further(draw), 100),
    ]
    for path, body, headers in bodies:
        status, answer = server.post(path, body, headers=headers)
        assert 400 <= status < 500, (path, body[:100], answer)
        assert answer.keys() == {"error", "field"}
        assert answer["error"].endswith(".")
    assert (model_of(server), server.get("/model/file")) == (before, file)
    assert server.post("/predict", ROW)[1] == pytest.approx(prediction, rel=1e-9)  # to rounding
    assert server.post("/learn", {**ROW, "y": 1.0})[1]["position"] == before[-1] + 1


def test_a_model_that_has_learned_nothing_answers_them_all(start_application):
    """It may learn some of them; it has no mistakes."""
    server = start_application()
    for path, body in itertools.product(PATHS[:3], BROKEN[::-1] + NOT_LEARNED):
        status, answer = server.post(path, body)
        assert status < 500, (path, body[:100], answer)


# Connections


def until(condition):
    """Wait until it holds."""
    deadline = time.monotonic() + children.LIMIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(scope="module")
def narrow(start_server):
    """A server with little time, and few connections."""
    options = ("--timeout", "1s", "--max-connections", "8", "--max-body", "2MB")
    server = start_server("--target", "y", *options)
    assert server.post("/learn", good_rows(random.Random(0), 50))[0] == 200
    return server


@pytest.fixture(autouse=True)
def _it_goes_on(request):
    """After every test the server answers, and has said nothing of a mistake of its own."""
    yield
    if "narrow" in request.fixturenames:
        narrow = request.getfixturevalue("narrow")
        until(lambda: narrow.get("/health")[0] == 200)
        said = narrow.said.read_text()
        assert "Traceback" not in said, said


@pytest.fixture
def connect(narrow):
    """Connections to the server; they are closed at the end."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Client(narrow.port))


def test_slow_bodies_are_refused_in_time(narrow):
    """Every byte may be in time, and all of them are not."""
    begun = time.monotonic()
    with Client(narrow.port) as client:
        client.send(post(b"abc", length=1000))
        while (answer := client.answer_or_none(0.1)) is None:
            client.send(b"a")
        assert (answer.status, answer.headers["connection"]) == (408, "close")
        assert "within 1 seconds" in answer.error
        assert client.is_closed()
    assert time.monotonic() - begun > 0.9


def test_connections_beyond_the_limit_are_told_and_places_become_free(narrow, connect):
    clients = [connect() for _ in range(8)]
    assert all(client.ask(get()).status == 200 for client in clients)
    with Client(narrow.port) as other:
        assert other.ask(get()).status == 503
    clients.pop().cut()
    clients.pop().socket.close()

    def free():
        with Client(narrow.port) as client:
            return client.ask(get()).status == 200

    until(free)


def test_answers_reach_clients_that_are_still_sending(narrow):
    big = b"x" * (8 << 20)
    for sent in (post(big), post_chunks(*[big[:70_000]] * 100)):
        with Client(narrow.port) as client:
            try:
                client.send(sent)
            except OSError:
                continue  # the connection was closed; it may have been before the answer was read
            answer = client.answer()
            assert (answer.status, answer.headers["connection"]) == (413, "close")
            assert "2097152 bytes" in answer.error


def test_clients_that_go_at_any_byte_hold_no_place(narrow, connect):
    request = post(body_of(ROW)) + get("/events", "A: b")
    for end in range(0, len(request) + 1, 5):
        client = connect()
        with suppress(OSError):  # there may be no place for it
            client.send(request[:end])
        client.cut() if end % 2 else client.socket.close()

    def all_are_served():
        with ExitStack() as stack, suppress(OSError, EOFError):
            clients = [stack.enter_context(Client(narrow.port)) for _ in range(8)]
            return all(client.ask(get()).status == 200 for client in clients)

    until(all_are_served)


def noise(draw):
    """Anything at all."""
    while True:
        data = draw.randbytes(draw.choice((1, 10, 100, 1000)))
        yield draw.choice((b"", b"\r\n\r\n", b"GET ", b"POST /learn HTTP/1.1\r\n")) + data


def spoiled_requests(draw):
    """Any byte of whole requests, whose bodies are unusable to begin with."""
    pool = [body for body in NOT_LEARNED if len(body) < 500]
    while True:
        path = draw.choice(("/learn", "/unlearn", "/models/m/learn"))
        body = draw.choice(pool)
        yield bytes(spoiled(draw, post(body, path=path)))


# Two lengths, or two ends, that would let two readers of a request understand different things.
AMBIGUOUS = [
    head("/learn", "Content-Length: 1", "Content-Length: 2") + b"{}",
    head("/learn", "Content-Length: 1", "Transfer-Encoding: chunked") + b"0\r\n\r\n",
    head("/learn", "Content-Length: -1"),
    head("/learn", "Content-Length: 99999999999999999999999"),
    b"hello\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,  # TLS
]


def statuses(port, sent):
    """Those of all answers, until the server ends the connection."""
    found = []
    with Client(port) as client:
        with suppress(OSError):
            client.send(sent)
            client.end()
        with suppress(EOFError, ConnectionError, KeyError):  # the end; a 1xx has no length
            while True:
                found.append(client.answer().status)
    return found


def test_what_is_no_http_is_uvicorns_to_answer_and_changes_nothing(narrow):
    draw = random.Random(20_240_229)
    before = model_of(narrow)
    assert all(statuses(narrow.port, sent)[:1] == [400] for sent in AMBIGUOUS)
    sent = [*itertools.islice(spoiled_requests(draw), 120), *itertools.islice(noise(draw), 30)]
    found = [status for each in sent for status in statuses(narrow.port, each)]
    assert len(found) > 100
    assert all(400 <= status < 500 for status in found), set(found)
    assert model_of(narrow) == before
