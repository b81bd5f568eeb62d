"""Servers for tests: applications in this process, and processes of their own."""

import http.client
import json
import os
import re
import signal
import socket
import time
from contextlib import ExitStack, contextmanager

import pytest

from .. import children
from .rows import taught

pytest.importorskip("fastapi", reason="install greville[serve] to test the server")

from greville.serve import Limits


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


def until(condition):
    """Wait until it holds."""
    deadline = time.monotonic() + children.LIMIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Asking:
    """Requests, by `request`, which gives a status, headers and a body."""

    def ask(self, method, path, content=None, headers=()):
        """The status, and what was answered."""
        headers = dict(headers)
        if content is not None and not isinstance(content, (bytes, str)):
            content = json.dumps(content)
        if content is not None:
            headers.setdefault("Content-Type", "application/json")
        status, self.headers, found = self.request(method, path, content, headers)
        if self.headers.get("Content-Type", "").startswith("application/json"):
            found = json.loads(found)
        return status, found

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, content, **more):
        return self.ask("POST", path, content, **more)


class Application(Asking):
    """A server without a process and without a network."""

    def __init__(self, stack, folder, names=("m",), address=None, **options):
        from starlette.testclient import TestClient

        from greville.serve import ServeOptions, ServerAddress, open_learning
        from greville.serve.application import make_app

        options = {"target": "y", "settings": {"task": "numbers", "hidden": 20}, **options}
        address = address or ServerAddress(limits=options.get("limits", Limits()))
        self.services = {
            name: open_learning(folder / f"{name}.greville", ServeOptions(**options))[0]
            for name in names
        }
        client = TestClient(
            make_app(self.services, address),
            "http://127.0.0.1:8000",
            raise_server_exceptions=False,
            follow_redirects=False,
        )
        self._client, own = client, stack.enter_context(ExitStack())
        own.enter_context(client)
        self.close = own.close  # earlier than the others

    def request(self, method, path, content, headers):
        address = f"http://127.0.0.1:8000{path}"
        found = self._client.request(method, address, content=content, headers=headers)
        return found.status_code, found.headers, found.content


class Server(Asking):
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

    def request(self, method, path, content, headers):
        connection = self.connection()
        try:
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

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


@pytest.fixture(scope="module")
def start_application(tmp_path_factory):
    """Make a server in this process, with a folder of its own."""
    with ExitStack() as stack:

        def start(folder=None, **options):
            return Application(stack, folder or tmp_path_factory.mktemp("models"), **options)

        yield start


@pytest.fixture(scope="module")
def shared(start_application):
    """A server whose model no test changes."""
    return taught(start_application())


@pytest.fixture(scope="module")
def start_server(launcher, tmp_path_factory):
    """Start a server for all tests of a module, with a model of its own."""
    with _servers(launcher, tmp_path_factory.mktemp("servers")) as start:

        def start_one(*options):
            return start(tmp_path_factory.mktemp("model") / "m.greville", *options)

        yield start_one
