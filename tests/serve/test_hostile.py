"""What no client should send is refused, changes nothing and holds nobody up.

Bodies go to an application; what is slow, long, too many, broken off or not HTTP goes to a server.
"""

import http.client
import itertools
import json
import socket
import time
from contextlib import ExitStack, suppress

import pytest

from .conftest import until
from .rows import inputs, rows, taught

ROW = {"a": 0.5, "b": -1.25, "c": "Oslo"}
PATHS = ("/predict", "/learn", "/unlearn", "/models/m/predict", "/models/m/learn")
JSON, LINES = "application/json", "application/x-ndjson"

pytestmark = pytest.mark.full


def body_of(value):
    return json.dumps(value).encode()


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


def good_rows(n):
    cities = itertools.cycle(("Oslo", "Bonn", "Rome"))
    return [{"a": k / 50, "b": k % 5, "c": next(cities), "y": k % 7 / 2} for k in range(n)]


def state_of(server):
    known = server.get("/model")[1]
    return known["rows"], known["position"], server.get("/model/file")


def test_bodies_that_cannot_be_used_are_refused_and_change_nothing(start_application):
    server = start_application()
    assert server.post("/learn", good_rows(500))[0] == 200
    before = state_of(server)
    requests = [
        *itertools.product(PATHS, BROKEN, (JSON, LINES)),
        *itertools.product(PATHS[1:3], NOT_LEARNED, (JSON,)),
    ]
    for path, body, kind in requests:
        if len(body) > 50_000 and path != "/learn":
            continue
        status, answer = server.post(path, body, headers={"Content-Type": kind})
        assert 400 <= status < 500, (path, body[:100], answer)
        assert answer.keys() == {"error", "field"}
        assert answer["error"].endswith(".")
    assert state_of(server) == before
    assert server.post("/learn", {**ROW, "y": 1.0})[1]["position"] == 501


def test_a_model_that_has_learned_nothing_answers_them_all(start_application):
    """It may learn some of them; it has no mistakes."""
    server = start_application()
    for path, body in itertools.product(PATHS[:3], BROKEN[::-1] + NOT_LEARNED):
        status, answer = server.post(path, body)
        assert status < 500, (path, body[:100], answer)


# Connections


@pytest.fixture(scope="module")
def narrow(start_server):
    """A server with little time, and few connections."""
    options = ("--timeout", "1s", "--max-connections", "8", "--max-body", "2MB")
    return taught(start_server("--target", "y", "--hidden", "20", *options))


@pytest.fixture(autouse=True)
def _it_goes_on(request):
    """After every test the server answers, and has said nothing of a mistake of its own."""
    yield
    if "narrow" in request.fixturenames:
        narrow = request.getfixturevalue("narrow")
        until(lambda: narrow.get("/health")[0] == 200)
        said = narrow.said.read_text()
        assert "Traceback" not in said, said


HEAD = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


def answer_to(server, parts):
    """The status of the answer to bytes, and whether the connection was closed after it."""
    with socket.create_connection((server.host, server.port), timeout=60) as connection:
        with suppress(OSError):  # it may have closed the connection already
            for part in parts:
                connection.sendall(part)
        response = http.client.HTTPResponse(connection)
        with suppress(ConnectionError):
            response.begin()
            response.read()
            return response.status, response.will_close
        return None, True


def test_slow_bodies_are_refused_in_time(narrow):
    """Every byte may be in time, and all of them are not."""

    def slowly():
        yield HEAD + b"Content-Length: 1000\r\n\r\n"
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            time.sleep(0.1)
            yield b"a"

    assert answer_to(narrow, slowly()) == (408, True)


def test_large_bodies_are_refused_before_they_have_come(narrow):
    chunk = b"%x\r\n%b\r\n" % (70_000, b"x" * 70_000)
    lengths = HEAD + b"Content-Length: 9000000\r\n\r\n"
    chunks = itertools.repeat(chunk, 100)
    for parts in ([lengths], [HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *chunks]):
        assert answer_to(narrow, parts) in ((413, True), (None, True))
    assert answer_to(narrow, [lengths]) == (413, True)


def test_connections_beyond_the_limit_are_told_and_places_become_free(narrow):
    with ExitStack() as stack:
        for _ in range(8):
            connection = narrow.connection()
            stack.callback(connection.close)
            connection.request("GET", "/health")
            assert connection.getresponse().read()
        assert narrow.get("/health")[0] == 503
    until(lambda: narrow.get("/health")[0] == 200)


def test_clients_that_go_at_any_byte_hold_no_place_and_teach_nothing(narrow):
    body = json.dumps(rows(1)[0]).encode()
    request = HEAD.replace(b"predict", b"learn") + b"Content-Length: %d\r\n\r\n" % len(body) + body
    before = state_of(narrow)
    for end in range(0, len(request), 7):
        with (
            suppress(OSError),  # there may be no place for it
            socket.create_connection((narrow.host, narrow.port)) as connection,
        ):
            connection.sendall(request[:end])
    until(lambda: narrow.post("/predict", inputs(rows(1)[0]))[0] == 200)
    assert state_of(narrow) == before


def test_what_is_no_http_is_uvicorns_to_answer_and_changes_nothing(narrow):
    """Two lengths, or two ends, would let two readers understand different things."""
    before = state_of(narrow)
    ambiguous = ("Content-Length: 1\r\nContent-Length: 2", "Content-Length: -1")
    ambiguous += ("Content-Length: 1\r\nTransfer-Encoding: chunked",)
    sent = [HEAD + each.encode() + b"\r\n\r\n{}" for each in ambiguous]
    for each in (*sent, b"hello\r\n\r\n", b"\x16\x03\x01\x02\x00" + b"\x00" * 200):
        assert answer_to(narrow, [each])[0] == 400
    assert state_of(narrow) == before
