"""The load generator of the benchmarks, against a server whose answers are known."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from benchmarks.load_generator import Load, generate

pytestmark = pytest.mark.full


@contextmanager
def answering(status=lambda count: 200, closes=False, wait=lambda count: 0.0):
    """The port of a server that says which request it answers, and the bodies that came."""
    bodies, lock = [], threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body go together, or the system waits for more

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                bodies.append((self.path, self.headers["Content-Type"], body.decode()))
                count = len(bodies)
            time.sleep(wait(count))
            answer = json.dumps({"body": json.loads(body)}).encode()
            self.send_response(status(count))
            self.send_header("Content-Length", str(len(answer)))
            if closes:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port, bodies
        finally:
            server.shutdown()
            thread.join()


def load(port, **options):
    usual = {"connections": 3, "seconds": 60, "warm_up": 0, "requests": 20}
    return Load(port, "/learn", ["[1]", "[2]"], **usual | options)


@pytest.mark.parametrize("closes", [False, True])
def test_as_many_requests_as_wanted(closes):
    with answering(closes=closes) as (port, bodies):
        found = generate(load(port))
    assert found.acknowledged == len(bodies) == 20
    assert sorted(bodies) == sorted([("/learn", "application/json", f"[{i}]") for i in (1, 2)] * 10)
    assert found.errors == {}
    assert json.loads(found.sample[1]) == {"body": [found.sample[0] + 1]}
    assert 0 < found.p50 <= found.p99
    assert found.rate > 0


def test_errors_are_counted_and_not_measured():
    with answering(status=lambda count: 503 if count > 15 else 200) as (port, _):
        found = generate(load(port))
    assert found.acknowledged == 15
    assert found.errors == {"status 503": 5}


def test_it_ends_when_its_time_is_over():
    with answering() as (port, bodies):
        found = generate(load(port, seconds=0.3, requests=10_000_000))
    assert found.acknowledged == len(bodies)  # none is left behind


def test_with_a_rate_a_pause_counts_for_all_that_were_due():
    """One answer takes half a second; at 100 a second, 50 requests are late."""
    pause = 0.5
    with answering(wait=lambda count: pause if count == 10 else 0.0) as (port, _):
        found = generate(load(port, connections=1, rate=100, requests=60))
    assert found.acknowledged == 60
    assert found.p50 > 100  # most of them, though one alone was slow
