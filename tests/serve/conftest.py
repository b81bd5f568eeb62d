"""Servers for tests, as processes of their own."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from .. import children

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
    command = [sys.executable, "-m", "tests.serve._launcher"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with children.started(command, limit=3600, env=environment, **pipes) as process:

        def launch(arguments, said):
            process.stdin.write(json.dumps([arguments, said]) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield launch
        process.stdin.close()


@pytest.fixture
def serve(launcher, tmp_path):
    """Start a server with these arguments; all are stopped at the end."""
    started = []

    def start(*arguments, port=0, ready=True):
        folder = tmp_path / f"server{len(started)}"
        folder.mkdir()
        server = Server(launcher, folder, [*arguments, "--port", port])
        started.append(server)
        return server.wait_until_ready() if ready else server

    yield start
    for server in started:
        server.end(signal.SIGKILL)
