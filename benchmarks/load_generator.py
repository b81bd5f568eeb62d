"""Load for an HTTP server, from a process of its own: `load_generator.py < load.json`.

Each connection has one request on its way, and stays open unless the server closes it: Flask's own
does after every answer, and the time to open it again is then part of the next request's.

There is no HTTP library in it, which would take longer than the server: requests are made
beforehand, and of an answer only the status, the length and one content are read. What was measured
is printed as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

# After the end, seconds for answers that are still to come.
PATIENCE = 30.0

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n", re.IGNORECASE)
_CLOSES = re.compile(rb"\r\nconnection:[ \t]*close[ \t]*\r\n", re.IGNORECASE)


@dataclass(frozen=True)
class Load:
    """What to send, and for how long.

    Parameters
    ----------
    port : int
        Of 127.0.0.1.
    path : str
        Of the request, such as ``/predict``.
    bodies : list of str
        JSON, sent in turn by all connections together.
    connections : int
        Open at once; each has one request on its way.
    seconds : float
        How long is measured, after `warm_up` seconds that are not.
    requests : int
        At most, with those of the warm-up.
    rate : float, optional
        Requests a second. A time is then counted from when its request was due, also if the
        connection still waited for an answer: a server that stops for a second shows as a second
        of many requests, not of one. Without it requests are sent as fast as answers come.
    """

    port: int
    path: str
    bodies: list[str]
    connections: int = 32
    seconds: float = 5.0
    warm_up: float = 1.0
    requests: int = 10_000_000
    rate: float | None = None


@dataclass(frozen=True)
class Measured:
    """What came back.

    Attributes
    ----------
    rate : float
        Answers a second with status 200, after the warm-up.
    p50, p99 : float
        Milliseconds from a request to the end of its answer, after the warm-up.
    acknowledged : int
        Answers with status 200, with those of the warm-up.
    errors : dict
        How many of which other kind: "status 503", "connection lost", "no answer".
    sample : list
        Number of a body and the text of the answer to it, the last with status 200.
    busy : float
        Share of a core that the generator itself took: near 1, it measured itself.
    """

    rate: float
    p50: float
    p99: float
    acknowledged: int
    errors: dict[str, int]
    sample: tuple[int, str]
    busy: float


class _Run:
    """All connections of a load."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.prepared = [_request(load, body) for body in load.bodies]
        self.sent = self.acknowledged = 0
        self.times: list[tuple[float, float]] = []  # due, answered
        self.errors: Counter[str] = Counter()
        self.sample = (0, "")
        self.open = 0
        self.finished = asyncio.Event()
        self.start = self.stop = 0.0

    def next(self) -> int | None:
        """Number of the body to send now; None when there is nothing more to send."""
        if self.sent >= self.load.requests or time.perf_counter() >= self.stop:
            return None
        self.sent += 1
        return (self.sent - 1) % len(self.prepared)

    def closed(self) -> None:
        self.open -= 1
        if not self.open:
            self.finished.set()

    async def measure(self) -> Measured:
        load, loop = self.load, asyncio.get_running_loop()
        connections = [_Connection(self, loop, number) for number in range(load.connections)]
        for connection in connections:
            await connection.connect()
        self.open = len(connections)
        cpu = time.process_time()
        self.start = time.perf_counter()
        self.stop = self.start + load.warm_up + load.seconds
        for connection in connections:
            connection.go_on()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.finished.wait(), load.warm_up + load.seconds + PATIENCE)
        for connection in connections:
            connection.end()
        busy = (time.process_time() - cpu) / (time.perf_counter() - self.start)
        return self._measured(busy)

    def _measured(self, busy: float) -> Measured:
        begin = self.start + self.load.warm_up
        end = self.stop
        if self.sent >= self.load.requests:  # all were sent before the time was over
            end = min(end, max((done for _, done in self.times), default=end))
        inside = sum(begin <= done <= end for _, done in self.times)
        late = sorted(1e3 * (done - due) for due, done in self.times if due >= begin)
        return Measured(
            rate=inside / (end - begin) if end > begin else float("nan"),
            p50=_quantile(late, 0.5),
            p99=_quantile(late, 0.99),
            acknowledged=self.acknowledged,
            errors=dict(self.errors),
            sample=self.sample,
            busy=busy,
        )


class _Connection(asyncio.Protocol):
    """Sends a request, waits for its answer, sends the next."""

    def __init__(self, run: _Run, loop: asyncio.AbstractEventLoop, number: int) -> None:
        self.run, self.loop, self.number = run, loop, number
        self.answers = 0
        self.received = bytearray()
        self.body: int | None = None  # number of the one on its way
        self.due = 0.0
        self.over = False
        self.closing = 0
        self.transport: asyncio.Transport | None = None
        self.opening: asyncio.Task[None] | None = None  # kept, or it may be collected

    async def connect(self) -> None:
        await self.loop.create_connection(lambda: self, "127.0.0.1", self.run.load.port)

    async def connect_again(self) -> None:
        try:
            await self.connect()
        except OSError:
            self._fail("no connection")
        else:
            self._write()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def go_on(self) -> None:
        """Send the next request, at once or when it is due."""
        rate = self.run.load.rate
        now = time.perf_counter()
        if rate is None:
            self._send(now)
            return
        turn = self.number + self.answers * self.run.load.connections
        due = self.run.start + turn / rate
        if due <= now:
            self._send(due)
        else:
            self.loop.call_later(due - now, self._send, due)

    def _send(self, due: float) -> None:
        if self.over:
            return
        self.body, self.due = self.run.next(), due
        if self.body is None:
            self.end()
        elif self.transport is None:
            self.opening = self.loop.create_task(self.connect_again())
        else:
            self._write()

    def _write(self) -> None:
        if self.transport is not None and self.body is not None:
            self.transport.write(self.run.prepared[self.body])

    def data_received(self, data: bytes) -> None:
        self.received += data
        head = self.received.find(b"\r\n\r\n")
        if head < 0 or self.over:
            return
        length = _LENGTH.search(self.received, 0, head + 2)
        if length is None or self.body is None:
            self._fail("answer without a length" if length is None else "answer to nothing")
            return
        end = head + 4 + int(length[1])
        if len(self.received) < end:
            return
        status = int(self.received[9:12])
        if status == 200:
            self.run.times.append((self.due, time.perf_counter()))
            self.run.acknowledged += 1
            self.run.sample = (self.body, self.received[head + 4 : end].decode())
        else:
            self.run.errors[f"status {status}"] += 1
        if _CLOSES.search(self.received, 0, head + 2) and self.transport is not None:
            self.closing += 1
            self.transport.close()
            self.transport = None
        del self.received[:end]
        self.body = None
        self.answers += 1
        self.go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.closing:  # it was closed here; another may be open already
            self.closing -= 1
            return
        self.transport = None
        if not self.over and self.body is not None:
            self._fail("connection lost")

    def end(self) -> None:
        """Close the connection; what is still on its way has no answer."""
        if self.over:
            return
        if self.body is not None:
            self.run.errors["no answer"] += 1
        self._close()

    def _fail(self, why: str) -> None:
        self.run.errors[why] += 1
        self._close()

    def _close(self) -> None:
        self.over = True
        if self.transport is not None:
            self.transport.close()
        self.run.closed()


def _request(load: Load, body: str) -> bytes:
    content = body.encode()
    head = (
        f"POST {load.path} HTTP/1.1\r\nHost: 127.0.0.1:{load.port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def _quantile(values: list[float], share: float) -> float:
    """The smallest value that at least this share of all does not exceed."""
    if not values:
        return float("nan")
    return values[max(0, math.ceil(share * len(values)) - 1)]


@contextlib.contextmanager
def generating(load: Load) -> Iterator[Callable[[], Measured]]:
    """Send it from a process of its own; the function that is given waits for what it measured."""
    command = [sys.executable, str(Path(__file__))]
    with contextlib.ExitStack() as stack:
        orders = stack.enter_context(tempfile.TemporaryFile("w+"))
        json.dump(asdict(load), orders)
        orders.seek(0)
        process = stack.enter_context(
            subprocess.Popen(command, stdin=orders, stdout=subprocess.PIPE, text=True)
        )

        def measured() -> Measured:
            limit = load.warm_up + load.seconds + 2 * PATIENCE
            text, _ = process.communicate(timeout=limit)
            if process.returncode:
                raise RuntimeError(f"the load generator ended with {process.returncode}")
            found: dict[str, Any] = json.loads(text)
            return Measured(**found | {"sample": tuple(found["sample"])})

        try:
            yield measured
        finally:
            if process.poll() is None:
                process.kill()


def generate(load: Load) -> Measured:
    """Send it from a process of its own, and wait for what it measured."""
    with generating(load) as measured:
        return measured()


async def _measure(load: Load) -> Measured:
    return await _Run(load).measure()


def main() -> None:
    """Read a load from standard input; print what was measured."""
    load = Load(**json.load(sys.stdin))
    run: Any = asyncio.run
    with contextlib.suppress(ImportError):  # there is none on Windows
        import uvloop

        run = uvloop.run
    gc.freeze()
    gc.disable()  # its pauses would count as the server's
    print(json.dumps(asdict(run(_measure(load)))))


if __name__ == "__main__":
    main()
