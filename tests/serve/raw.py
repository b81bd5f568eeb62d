"""A server in a thread, and a client that sends bytes and not more."""

import asyncio
import json
import logging
import select
import socket
import struct
import threading
import time
from contextlib import contextmanager

import uvicorn

from greville.serve.guard import Guard
from greville.serve.limits import Limits
from greville.serve.protocol import limited

WAIT = 30.0  # seconds; for what hangs, not for what is slow


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def error(self):
        """The sentence of an error, whose form is checked."""
        assert self.headers["content-type"] == "application/json"
        found = json.loads(self.body)
        assert set(found) == {"error", "field"}
        return found["error"]


class Client:
    """One connection."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=WAIT)
        self._read = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def _more(self):
        data = self.socket.recv(1 << 16)
        self._read += data
        return data

    def _until(self, mark):
        while mark not in self._read:
            if not self._more():
                raise EOFError(self._read)
        found, self._read = self._read.split(mark, 1)
        return found

    def _exactly(self, size):
        while len(self._read) < size:
            if not self._more():
                raise EOFError(self._read)
        found, self._read = self._read[:size], self._read[size:]
        return found

    def answer(self, method="GET"):
        """Read one; EOFError where the connection is closed before its end."""
        line, *pairs = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, status, _ = line.split(" ", 2)
        assert version == "HTTP/1.1"
        headers = {}
        for pair in pairs:
            name, value = pair.split(": ", 1)
            assert name == name.lower()
            assert name not in headers
            headers[name] = value
        if method == "HEAD" or status in ("204", "304"):
            return Answer(int(status), headers, b"")
        if "content-length" in headers:
            body = self._exactly(int(headers["content-length"]))
        else:
            body = b""
            while size := int(self._until(b"\r\n"), 16):
                body += self._exactly(size)
                assert self._exactly(2) == b"\r\n"
            assert self._exactly(2) == b"\r\n"
        return Answer(int(status), headers, body)

    def answer_or_none(self, seconds):
        """None where nothing has come after so many seconds."""
        readable, _, _ = select.select([self.socket], [], [], seconds)
        return self.answer() if self._read or readable else None

    def ask(self, data, method="GET"):
        self.send(data)
        return self.answer(method)

    def is_closed(self):
        """Wait for the end of the connection; whether nothing came before it."""
        try:
            while self._more():
                pass
        except ConnectionResetError:
            pass
        return not self._read


def get(path="/health", *headers, host="127.0.0.1", method="GET"):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def post(body=b"{}", *headers, path="/predict", type="application/json", length=None):
    length = len(body) if length is None else length
    lines = [f"Content-Length: {length}", *([f"Content-Type: {type}"] if type else []), *headers]
    return get(path, *lines, method="POST") + body


def chunks(*parts, trailer=b""):
    found = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
    return found + b"0\r\n" + trailer + b"\r\n"


def post_chunks(*parts, trailer=b"", headers=()):
    lines = ["Transfer-Encoding: chunked", "Content-Type: application/json", *headers]
    return get("/predict", *lines, method="POST") + chunks(*parts, trailer=trailer)


class _Prompt(uvicorn.Server):
    """One that looks often whether it shall end."""

    async def main_loop(self):
        await self.on_tick(0)
        while not self.should_exit:
            await asyncio.sleep(0.005)


class Server:
    """uvicorn in a thread, as `running` starts it."""

    def __init__(self, app, limits, loop, keep_alive):
        self.open = set()
        self.protocol = limited(limits, self.open)
        config = uvicorn.Config(
            app,
            http=self.protocol,
            loop=loop,
            lifespan="off",
            log_config=None,
            timeout_keep_alive=keep_alive,
            timeout_graceful_shutdown=5,
        )
        self.uvicorn = _Prompt(config)
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.uvicorn.run, args=([self.socket],), daemon=True)

    def client(self):
        return Client(self.port)

    def ask(self, data, method="GET"):
        with self.client() as client:
            return client.ask(data, method)


@contextmanager
def running(app, *, limits=None, loop="asyncio", keep_alive=5, bare=False, **options):
    """A server of the application behind a guard, unless it is bare."""
    limits = limits or Limits()
    options = {"token": None, "hosts": None, **options}
    guarded = app if bare else Guard(app, limits=limits, **options)
    server = Server(guarded, limits, loop, keep_alive)
    server.thread.start()
    try:
        until(lambda: server.uvicorn.started)
        yield server
    finally:
        server.uvicorn.should_exit = True
        server.thread.join(WAIT)
        assert not server.thread.is_alive()


def until(condition):
    """Wait until it holds."""
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def cut(client):
    """Close with a reset."""
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.socket.close()


async def echo(scope, receive, send):
    """An application that says what it was asked."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message["body"]
        more = message["more_body"]
    said = {"method": scope["method"], "path": scope["path"], "size": len(body)}
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(said).encode()})


def quiet(caplog):
    """No error was logged, and no traceback."""
    found = [record for record in caplog.records if record.levelno >= logging.ERROR]
    return not [record.getMessage() for record in found]
