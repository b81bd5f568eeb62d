"""A client that sends bytes and not more."""

import json
import select
import socket
import struct

WAIT = 60.0  # seconds; for what hangs, not for what is slow


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def error(self):
        """The sentence of an error, whose form is checked."""
        assert self.headers["content-type"] == "application/json"
        assert self.headers["x-content-type-options"] == "nosniff"
        found = json.loads(self.body)
        assert set(found) == {"error", "field"}
        assert found["error"].endswith(".")
        assert "Traceback" not in found["error"]
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

    def end(self):
        """Say that nothing more is sent."""
        self.socket.shutdown(socket.SHUT_WR)

    def cut(self):
        """Close with a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def _more(self):
        data = self.socket.recv(1 << 16)
        self._read += data
        return data

    def until(self, mark):
        """Read up to a mark; EOFError where the connection is closed before it."""
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
        line, *pairs = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        status = line.split(" ", 2)[1]
        headers = {}
        for pair in pairs:
            name, value = pair.split(": ", 1)
            headers[name.lower()] = value
        if method == "HEAD" or status in ("204", "304"):
            return Answer(int(status), headers, b"")
        return Answer(int(status), headers, self._exactly(int(headers["content-length"])))

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


def head(path, *lines, method="POST", host="127.0.0.1"):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *lines, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def get(path="/health", *lines, **more):
    return head(path, *lines, method="GET", **more)


def post(body, *lines, path="/predict", kind="application/json", length=None):
    length = len(body) if length is None else length
    return head(path, f"Content-Length: {length}", f"Content-Type: {kind}", *lines) + body


def chunks(*parts, trailer=b""):
    found = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
    return found + b"0\r\n" + trailer + b"\r\n"


def post_chunks(*parts, lines=(), path="/predict", kind="application/json", trailer=b""):
    lines = ["Transfer-Encoding: chunked", f"Content-Type: {kind}", *lines]
    return head(path, *lines) + chunks(*parts, trailer=trailer)
