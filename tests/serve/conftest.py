"""Servers for tests, as processes of their own."""

import http.client
import json
import os
import re
import signal
import time
from contextlib import contextmanager

import pytest

from .. import children
from .rows import NEW, taught

pytest.importorskip("fastapi", reason="install greville[serve] to test the server")


class Server:
    """``greville serve`` as a process, and requests to it."""

    def __init__(self, launcher, folder, arguments):
        self._launcher, self.folder = launcher, folder
        self.arguments = [str(each) for each in arguments]
        self.said = folder / "said.txt"
        self.start()

    def start(self):
        self.said.write_text("")
        self.pid = self._launcher(self.arguments, str(self.said))
        deadline = time.monotonic() + children.LIMIT
        while True:
            found = re.search(r"http://(\S+?):(\d+)", self.said.read_text())
            if found is not None:
                break
            assert self.is_running, self.said.read_text()
            assert time.monotonic() < deadline, self.said.read_text()
            time.sleep(0.005)
        self.host, self.port = found[1], int(found[2])
        self.url = found[0]

    @property
    def is_running(self):
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def end(self, number=signal.SIGTERM):
        """Send a signal, and wait for the end."""
        if self.is_running:
            os.kill(self.pid, number)
        deadline = time.monotonic() + children.LIMIT
        while self.is_running:
            assert time.monotonic() < deadline, "the server does not stop"
            time.sleep(0.005)

    def connection(self):
        return http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=children.LIMIT)

    def ask(self, method, path, content=None, headers=()):
        """The status, and what was answered."""
        body = content
        headers = dict(headers)
        if content is not None and not isinstance(content, (bytes, str)):
            body = json.dumps(content)
        if content is not None:
            headers.setdefault("Content-Type", "application/json")
        connection = self.connection()
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            found = response.read()
            if response.headers.get("Content-Type", "").startswith("application/json"):
                found = json.loads(found)
            self.headers = response.headers
            return response.status, found
        finally:
            connection.close()

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, content, **more):
        return self.ask("POST", path, content, **more)

    def wait_until_ready(self):
        deadline = time.monotonic() + children.LIMIT
        while self.get("/ready")[0] != 200:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return self


@pytest.fixture(scope="session")
def launcher():
    """Starts ``greville serve``; the process id."""
    if not hasattr(os, "fork"):
        pytest.skip("the servers of these tests are forked; tests/test_platforms.py starts another")
    from . import _launcher

    (read, ask), (answer, write) = os.pipe(), os.pipe()

    def work():
        os.close(ask)
        os.close(answer)
        with open(read) as asked, open(write, "w") as answered:
            _launcher.main(asked, answered)

    child = children.fork(work)
    os.close(read)
    os.close(write)
    with open(ask, "w", buffering=1) as asking, open(answer) as answers:

        def launch(arguments, said):
            asking.write(json.dumps([arguments, said]) + "\n")
            return int(answers.readline())

        yield launch
    assert children.exit_code(child) == 0


@contextmanager
def _servers(launcher, folder):
    """Start servers; all are stopped at the end."""
    started = []

    def start(*arguments, port=0, ready=True):
        own = folder / f"server{len(started)}"
        own.mkdir()
        server = Server(launcher, own, [*arguments, "--port", port])
        started.append(server)
        return server.wait_until_ready() if ready else server

    try:
        yield start
    finally:
        for server in started:
            server.end(signal.SIGKILL)


@pytest.fixture
def serve(launcher, tmp_path):
    """Start a server with these arguments."""
    with _servers(launcher, tmp_path) as start:
        yield start


@pytest.fixture(scope="session")
def shared(launcher, tmp_path_factory):
    """A server whose model no test changes."""
    with _servers(launcher, tmp_path_factory.mktemp("servers")) as start:
        yield taught(start(tmp_path_factory.mktemp("model") / "m.greville", *NEW))


@pytest.fixture(scope="module")
def start_server(launcher, tmp_path_factory):
    """Start a server for all tests of a module, with a model of its own."""
    with _servers(launcher, tmp_path_factory.mktemp("servers")) as start:

        def start_one(*options):
            return start(tmp_path_factory.mktemp("model") / "m.greville", *options)

        yield start_one
