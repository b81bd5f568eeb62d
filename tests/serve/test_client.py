"""examples/serve/client.py and client.sh: what they send again, and what they do not."""

import importlib.util
import json
import os
import shutil
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from .. import children

FILE = Path(__file__).parent.parent.parent / "examples/serve/client.py"


@pytest.fixture
def client(monkeypatch):
    """The module; it does not wait between attempts."""
    spec = importlib.util.spec_from_file_location("client", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    waits = []
    monkeypatch.setattr(module.time, "sleep", waits.append)
    module.waits = waits
    return module


@contextmanager
def answering(*answers):
    """A server with these answers, in turn: a status and a body, or None for a closed connection.

    Gives its address and the requests that came.
    """
    requests, left = [], list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append((self.path, self.headers, json.loads(body)))
            answer = left.pop(0)
            if answer is None:
                return
            status, content, *headers = answer
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(
                content if isinstance(content, bytes) else json.dumps(content).encode()
            )

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", requests
        finally:
            server.shutdown()
            thread.join()


def test_the_same_request_again_has_the_same_key(client):
    done = {"learned": 1, "repeated": 0, "position": 1}
    busy = 503, {"error": "Not ready.", "field": None}, ("Retry-After", "7")
    with answering(None, busy, (200, done), (200, done)) as (address, requests):
        asking = client.Client(address, "secret")
        assert asking.learn({"x": 1, "y": 2}) == done
        assert asking.learn({"x": 1, "y": 2}) == done
    keys = [headers["Idempotency-Key"] for _, headers, _ in requests]
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert all(headers["Authorization"] == "Bearer secret" for _, headers, _ in requests)
    assert all(path == "/learn" and body == {"x": 1, "y": 2} for path, _, body in requests)
    assert len(client.waits) == 2
    assert 0 < client.waits[0] < 7 < client.waits[1]  # as long as the server said


def test_what_was_refused_is_not_sent_again(client):
    said = {"error": "x is infinite.", "field": "x"}
    with (
        answering((422, said), (502, b"<html>"), (401, b"")) as (address, requests),
        pytest.raises(client.Refused, match="422: x is infinite.") as refused,
    ):
        client.Client(address).predict([{"x": 1}], std=True, proba=True)
    assert (refused.value.status, refused.value.field) == (422, "x")
    assert [path for path, _, _ in requests] == ["/predict?std&proba"]


def test_targets_come_later(client):
    """Each row is predicted without its target, which comes under its id, once."""
    sent = []

    class Fake:
        def predict(self, row):
            sent.append(row)
            return {"id": row["id"], "prediction": None if len(sent) == 1 else 1.0}

        def learn(self, row):
            sent.append(row)

    rows = [{"x": i, "y": i + 0.5} for i in range(4)]
    errors = list(client.late_targets(Fake(), rows, "y", delay=2))
    assert [("x" in row, row.get("y"), row["id"]) for row in sent] == [
        (True, None, "row-1"),
        (True, None, "row-2"),
        (True, None, "row-3"),
        (False, 0.5, "row-1"),
        (True, None, "row-4"),
        (False, 1.5, "row-2"),
        (False, 2.5, "row-3"),
        (False, 3.5, "row-4"),
    ]
    assert errors == [0.5, 1.5, 2.5]


def shell(address, *arguments, waits="0 0"):
    return children.run(
        ["sh", FILE.with_name("client.sh"), *arguments],
        env={**os.environ, "GREVILLE_URL": address, "GREVILLE_WAITS": waits},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed here")
class TestShell:
    def test_the_same_request_again_has_the_same_key(self):
        done = {"learned": 1, "repeated": 0, "position": 1}
        with answering(None, (503, {"error": "Not ready."}), (200, done)) as (address, requests):
            ended = shell(address, "learn", '{"x": 1, "y": 2}')
        assert (ended.returncode, json.loads(ended.stdout)) == (0, done)
        assert len({headers["Idempotency-Key"] for _, headers, _ in requests}) == 1
        assert [body for _, _, body in requests] == [{"x": 1, "y": 2}] * 3

    def test_what_was_refused_is_not_sent_again(self):
        said = {"error": "x is infinite.", "field": "x"}
        with answering((422, said)) as (address, requests):
            ended = shell(address, "predict", '{"x": 1}')
        assert (ended.returncode, len(requests)) == (1, 1)
        assert "x is infinite." in ended.stderr
        assert not ended.stdout

    def test_the_token_is_sent_and_a_file_is_sent_as_lines(self, tmp_path, monkeypatch):
        (tmp_path / "token").write_text("0123456789abcdef\n")
        (tmp_path / "rows.jsonl").write_text('{"x": 1}')
        monkeypatch.setenv("GREVILLE_TOKEN_FILE", str(tmp_path / "token"))
        with answering((200, [])) as (address, requests):
            assert shell(address, "learn", f"@{tmp_path / 'rows.jsonl'}").returncode == 0
        ((path, headers, body),) = requests
        assert (path, body) == ("/learn", {"x": 1})
        assert headers["Authorization"] == "Bearer 0123456789abcdef"
        assert headers["Content-Type"] == "application/x-ndjson"
