"""The servers of `benchmarks.serve`, each a process of its own on a free port of 127.0.0.1.

`servers.py bare` and `servers.py flask` are those that greville is compared with.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

# Seconds to start or to end.
PATIENCE = 60.0

_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")


def greville(model: Path, units: int, *options: str) -> list[str]:
    """The command of a new model of y with so many hidden units."""
    command = [sys.executable, "-m", "greville", "serve", str(model), "--target", "y"]
    return [*command, "--hidden", str(units), "--port", "0", *options]


def other(name: str) -> list[str]:
    """The command of "bare" or of "flask"."""
    return [sys.executable, str(Path(__file__)), name]


@contextlib.contextmanager
def serving(commands: dict[str, list[str]]) -> Iterator[dict[str, int]]:
    """Start servers, all at once; their ports by name, when all have said them."""
    with contextlib.ExitStack() as stack:
        started = {name: stack.enter_context(_started(one)) for name, one in commands.items()}
        yield {name: _port(*one) for name, one in started.items()}


@contextlib.contextmanager
def _started(command: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], IO[str]]]:
    """A process, and the file of what it says."""
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said) as process,
    ):
        try:
            yield process, said
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


def _port(process: subprocess.Popen[bytes], said: IO[str]) -> int:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        text = os.pread(said.fileno(), 1 << 16, 0).decode(errors="replace")
        found = _ADDRESS.search(text)
        if found:
            return int(found[1])
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise RuntimeError(f"{process.args!r} did not start:\n{text}")


def bare() -> None:
    """FastAPI with an endpoint that reads nothing and answers a constant: the limit."""
    import uvicorn
    from fastapi import FastAPI

    app = FastAPI()

    @app.post("/predict")
    async def predict() -> dict[str, float]:
        return {"prediction": 1.0}

    config = uvicorn.Config(
        app,
        http="httptools",
        loop="auto" if sys.platform == "win32" else "uvloop",
        access_log=False,
        log_level="warning",
    )
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(2048)
        _say(listening.getsockname()[1])
        uvicorn.Server(config).run(sockets=[listening])


def flask() -> None:
    """A linear model of river behind Flask, one row a request; nothing is logged or stored.

    Its StandardScaler is left out: river 0.26 cannot import it on Python 3.11, and the inputs are
    of order one.
    """
    from flask import Flask, request
    from river import linear_model
    from werkzeug.serving import make_server

    app = Flask(__name__)
    model = linear_model.LinearRegression()
    learned, lock = 0, threading.Lock()

    @app.post("/predict")
    def predict() -> dict[str, float]:
        return {"prediction": model.predict_one(request.get_json())}

    @app.post("/learn")
    def learn() -> dict[str, int]:
        nonlocal learned
        row = request.get_json()
        target = row.pop("y")
        with lock:  # each request has a thread, and the model is not made for several
            model.learn_one(row, target)
            learned += 1
            return {"learned": 1, "position": learned}

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    # What `app.run()` and `flask run` start: threads, and connections that stay open.
    server = make_server("127.0.0.1", 0, app, threaded=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _say(server.server_port)
    server.serve_forever()


def _say(port: int) -> None:
    print(f"http://127.0.0.1:{port}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    {"bare": bare, "flask": flask}[sys.argv[1]]()
