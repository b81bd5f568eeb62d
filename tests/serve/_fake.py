"""A server with the files of the page and scripted answers."""

import json
import mimetypes
import queue
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

PAGE = Path(__file__).parents[2] / "src" / "greville" / "serve" / "page"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

AT = 1763312345.0  # some second

ROW = {"area": 80, "city": "Oslo"}


def houses(**changes):
    """What `GET /model` says of a regression."""
    model = {
        "name": "houses",
        "target": "price",
        "task": "regression",
        "classes": None,
        "rows": 1203,
        "rows_without_target": 0,
        "columns_may_still_change": True,
        "solver": "opium",
        "alpha": None,
        "seed": 0,
        "inputs": 12,
        "units": 100,
        "epsilon": 0.0123456,
        "columns": [
            {"name": "area", "what": "number"},
            {"name": "city", "what": "one of 2: Bonn, Oslo", "values": ["Bonn", "Oslo"]},
            {"name": "garden", "what": "true or false"},
        ],
        "says_std": True,
        "says_proba": False,
        "id": "id",
        "position": 1205,
        "snapshot": {"position": 1000, "at": AT},
        "waiting": 3,
        "read_only": False,
        "leader": None,
        "version": "0.1.0",
    }
    return model | changes


def entry(row, **changes):
    """One of the last rows."""
    found = {
        "row": row,
        "at": AT + (row or 0),
        "id": None,
        "prediction": 11.9,
        "target": 12.4,
        "values": ROW,
    }
    return found | changes


def state(**changes):
    """What `/events` says every second."""
    history = [
        {"row": 100 * i, "now": 1.2 + 2 / i, "since_start": 1.4 + 2 / i} for i in range(1, 13)
    ]
    found = {
        "rows": 1203,
        "predictions": 5000,
        "refused": 0,
        "learned": 813,
        "behind": None,
        "waiting": 3,
        "forgotten": 0,
        "error": {
            "name": "mean absolute error",
            "now": 1.23456,
            "since_start": 1.4,
            "n": 1203,
        },
        "history": history,
        "alarms": [{"row": 640, "at": AT}, {"row": 900, "at": AT + 60}],
        "last": [
            entry(1203, target=None, id=17),
            entry(1202),
            entry(1201, target=14.0),
        ],
        "refusals": [],
    }
    return found | changes


def nothing_learned():
    """A model and a state before the first row."""
    model = houses(
        task=None, rows=0, columns=[], inputs=None, units=None, epsilon=None, snapshot=None
    )
    error = {"name": "mean absolute error", "now": None, "since_start": None, "n": 0}
    empty = {"rows": 0, "predictions": 0, "learned": 0, "waiting": 0}
    return model, state(**empty, error=error, history=[], alarms=[], last=[])


@dataclass
class Script:
    """What the server answers. Tests change it while it runs."""

    models: dict[str, dict[str, Any]]
    states: dict[str, dict[str, Any]]
    token: str | None = None
    prediction: dict[str, Any] = field(
        default_factory=lambda: {"prediction": 12.3, "std": 0.4, "interval": [11.642, 12.958]}
    )
    status: int = 200  # of /predict
    importance: dict[str, float] = field(default_factory=dict)
    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    streams: list[queue.Queue] = field(default_factory=list)
    address: str = ""

    def send(self, data):
        """Another state to everybody who listens."""
        for stream in list(self.streams):
            stream.put(data)

    def end_streams(self):
        """As when the server is stopped."""
        for stream in list(self.streams):
            stream.put(None)
        self.streams.clear()

    def asked(self, path):
        """Bodies of the requests for a path."""
        return [body for _, asked, body in self.requests if asked == path]


class _Handler(BaseHTTPRequestHandler):
    script: Script

    def log_message(self, *_):
        pass

    def _answer(self, status, body, kind="application/json", **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def _file(self, name):
        kind = mimetypes.guess_type(name)[0]
        policy = {"Content_Security_Policy": POLICY} if name.endswith(".html") else {}
        self._answer(200, (PAGE / name).read_bytes(), kind, **policy)

    def do_GET(self):
        path = urlsplit(self.path).path
        self.script.requests.append(("GET", self.path, None))
        if path == "/":
            self._file("index.html")
        elif path.startswith("/page/") and (PAGE / path[6:]).is_file():
            self._file(path[6:])
        elif self._allowed():
            self._data(path)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.script.requests.append(("POST", self.path, body))
        if self._allowed():
            self._answer(self.script.status, self.script.prediction)

    def _allowed(self):
        token = self.script.token
        if token is None or self.headers.get("Authorization") == f"Bearer {token}":
            return True
        self._answer(401, {"error": "This server wants a token.", "field": None})
        return False

    def _data(self, path):
        script = self.script
        names = list(script.models)
        if not names:
            self._answer(503, {"error": "The log is still being read.", "field": None})
            return
        name, what = names[0], path[1:]
        if path.startswith("/models/"):
            name, what = (unquote(part) for part in path[8:].split("/", 1))
        elif len(names) > 1 and what in ("model", "events"):
            self._answer(404, {"error": "There are several models.", "field": None})
            return
        if what == "models":
            self._answer(200, {"models": names})
        elif what == "model":
            self._answer(200, script.models[name])
        elif what == "importance":
            self._answer(200, script.importance)
        elif what == "events":
            self._stream(script.states[name])
        else:
            self._answer(404, {"error": "There is no such path.", "field": None})

    def _stream(self, first):
        events = queue.Queue()
        events.put(first)
        self.script.streams.append(events)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while (found := events.get()) is not None:
            try:
                self.wfile.write(f"event: state\ndata: {json.dumps(found)}\n\n".encode())
                self.wfile.flush()
            except OSError:  # the page has left
                break


@contextmanager
def serving(models=None, states=None, **settings):
    """A server on a port of its own, while the block runs."""
    script = Script(models or {"houses": houses()}, states or {"houses": state()}, **settings)
    handler = type("Handler", (_Handler,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    script.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield script
    finally:
        script.end_streams()
        server.shutdown()
        server.server_close()
        thread.join()
