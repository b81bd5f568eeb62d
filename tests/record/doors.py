"""The ways into greville that are not names of the package: its command and its server.

What a rebuilding moves is changed here, and nowhere else.
"""

import atexit
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from unittest import mock

LIMIT = 120  # seconds; for what hangs


def command(*arguments, stdin=b""):
    """Run the command in this process: its exit code, and the text on stdout and stderr."""
    from greville.cli import main  # the entry point of the package

    content = stdin.encode() if isinstance(stdin, str) else stdin
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(content)
        files[0].seek(0)
        with (
            _standard_streams(files),
            mock.patch.object(sys, "argv", ["greville", *map(str, arguments)]),
        ):
            try:
                main()
                code = 0
            except SystemExit as ended:
                code = ended.code or 0
        texts = []
        for file in files[1:]:
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return code, *texts


@contextmanager
def _standard_streams(files):
    """The files are the standard streams, of Python and of the system: Arrow uses the latter."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in range(3)]
    with ExitStack() as stack:
        for number, (name, mode) in enumerate([("stdin", "r"), ("stdout", "w"), ("stderr", "w")]):
            os.dup2(files[number].fileno(), number)
            stack.callback(os.close, kept[number])
            stack.callback(os.dup2, kept[number], number)
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            stack.enter_context(stream)
            stack.enter_context(mock.patch.object(sys, name, stream))
        # Otherwise help names the module that was started, which may be any.
        stack.enter_context(mock.patch.object(sys.modules["__main__"], "__package__", None))
        yield


class Server:
    """``greville serve`` as a process of its own, and requests to it."""

    def __init__(self, *arguments, environment=None):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = self._folder.name
        self._said = open(os.path.join(self.folder, "said.txt"), "w+", encoding="utf-8")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", "greville", "serve", *map(str, arguments), "--port", "0"],
            cwd=self.folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=subprocess.STDOUT,
        )
        atexit.register(self.end)
        self._port = self._wait_for_port()
        while self.ask("GET", "/ready")[0] != 200:
            time.sleep(0.02)

    def _wait_for_port(self):
        deadline = time.monotonic() + LIMIT
        while True:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", self.said())
            if found:
                return int(found[1])
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start: {self.said()}")
            time.sleep(0.02)

    def said(self):
        """What the server has printed so far."""
        with open(self._said.name, encoding="utf-8") as file:
            return file.read()

    def ask(self, method, path, content=None, headers=()):
        """The status of an answer, and its JSON or text."""
        headers, body = dict(headers), content
        if content is not None:
            headers.setdefault("Content-Type", "application/json")
            body = content if isinstance(content, (bytes, str)) else json.dumps(content)
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=LIMIT)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            found = response.read()
        finally:
            connection.close()
        if response.headers.get("Content-Type", "").startswith("application/json"):
            return response.status, json.loads(found)
        return response.status, found.decode("utf-8", "replace")

    def end(self):
        """Stop the process as Ctrl-C does, and remove its files; the exit code."""
        atexit.unregister(self.end)
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._said.close()
        with suppress(OSError):
            self._folder.cleanup()
        return code
