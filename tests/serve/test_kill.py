"""Killed again and again under load: what was acknowledged was learned exactly once, to the bit."""

import http.client
import json
import os
import random
import signal
import sqlite3
import threading
import time
from contextlib import closing

import pytest

from greville.serve import log_path

from .. import children
from ..lengths import at_length
from .conftest import free_port
from .rows import offline, same_model

CLIENTS = 4
OPTIONS = ("--target", "y", "--hidden", "20", "--every", "200")


class Client(threading.Thread):
    """Sends rows until it is stopped, each again until it is acknowledged.

    Odd clients name their rows by ids, even ones name their requests.
    """

    def __init__(self, number, port):
        super().__init__(daemon=True)
        self.number, self.port = number, port
        self.acknowledged = []
        self.stopping = threading.Event()
        self.refused = []
        self.patience = 3000  # tries after it was stopped

    def run(self):
        draw = random.Random(self.number)
        sent = 0
        while not self.stopping.is_set():
            rows = []
            for _ in range(draw.choice((1, 1, 7))):
                sent += 1
                a, b = draw.gauss(0, 1), draw.gauss(0, 1)
                rows.append({"name": f"{self.number}-{sent}", "a": a, "b": b, "y": a * b})
            headers = {"Content-Type": "application/json"}
            if self.number % 2:
                rows = [{**row, "id": row["name"]} for row in rows]
            else:
                headers["Idempotency-Key"] = f"{self.number}-{sent}"
            if self.send(json.dumps(rows), headers):
                self.acknowledged += [row["name"] for row in rows]

    def send(self, body, headers):
        while not self.stopping.is_set() or self.patience:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            try:
                connection.request("POST", "/learn", body, headers)
                response = connection.getresponse()
                answer = response.read()
                if response.status == 200:
                    return True
                if response.status != 503:
                    self.refused.append(answer)
            except (OSError, http.client.HTTPException):
                pass  # it was killed: the same again
            finally:
                connection.close()
            time.sleep(0.01)
            self.patience -= self.stopping.is_set()
        return False


KILLS = at_length(2, 50)


@pytest.mark.posix("SIGKILL")
def test_after_kills_every_row_was_learned_once(serve, tmp_path):
    path, port = tmp_path / "m.greville", free_port()
    server = serve(path, *OPTIONS, "--ignore", "name", port=port)
    clients = [Client(number, port) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    draw = random.Random(0)
    try:
        for _ in range(KILLS):
            before = sum(len(client.acknowledged) for client in clients)
            deadline = time.monotonic() + children.LIMIT
            wanted = draw.randrange(12, 40)
            while sum(len(client.acknowledged) for client in clients) < before + wanted:
                assert time.monotonic() < deadline, server.said.read_text()
                time.sleep(0.001)
            os.kill(server.pid, signal.SIGKILL)
            server.end(signal.SIGKILL)
            server.start()
    finally:
        for client in clients:
            client.stopping.set()
        for client in clients:
            client.join()
    assert all(client.patience for client in clients)
    server.wait_until_ready()
    rows = server.get("/model")[1]["rows"]
    server.end()
    with closing(sqlite3.connect(log_path(path))) as db:
        logged = [json.loads(row) for (row,) in db.execute("SELECT row FROM entries")]
    names = [row["name"] for row in logged]
    acknowledged = [name for client in clients for name in client.acknowledged]
    assert not any(client.refused for client in clients)
    assert len(acknowledged) > 10 * KILLS
    assert len(set(names)) == len(names) == rows  # each once
    assert set(acknowledged) <= set(names)
    assert same_model(path, offline(logged, ignore=["name"]))
