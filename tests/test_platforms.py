"""What is different on Windows, tried here by taking away what Windows lacks."""

import ast
import errno
import http.client
import io
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import greville
from greville.cli import _process
from greville.persistence import ModelFileError, atomic, locked, whole_file
from greville.tables.readers.remote import is_remote

from . import children

# What Windows does not have, or has in another way
_POSIX = re.compile(
    r"os\.(mkfifo|fork|killpg|geteuid|umask)\b|\.chmod\(|\.symlink_to\(|\bresource\.|\bpty\."
    r"|send_signal\(|SIGKILL|start_new_session|preexec_fn|shell=True|os\.kill\("
)


@pytest.mark.full
def test_tests_of_what_windows_lacks_say_so():
    for path in Path(__file__).parent.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                marks = " ".join(ast.unparse(each) for each in node.decorator_list)
                body = ast.unparse(node.body)
                if _POSIX.search(body) and path.name != "test_platforms.py":
                    assert "mark.posix" in marks or "skipif" in marks, f"{path.name}: {node.name}"


@pytest.fixture
def on_windows(monkeypatch):
    """Call it to be on Windows until the test ends."""
    return lambda: monkeypatch.setattr(sys, "platform", "win32")


class Locks:
    """`msvcrt.locking`: one holder for a file, until it is closed."""

    LK_NBLCK = 2

    def __init__(self):
        self.held = set()

    def locking(self, descriptor, mode, n_bytes):
        assert (mode, n_bytes) == (self.LK_NBLCK, 1)
        file = os.fstat(descriptor).st_ino
        if file in self.held:
            raise OSError(errno.EACCES, "Permission denied")
        self.held.add(file)


def test_locks_of_windows(tmp_path, monkeypatch, on_windows):
    locks = Locks()
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", locks)
    on_windows()
    opened, real_close, real_unlink = set(), os.close, os.unlink

    def close(descriptor):
        locks.held.discard(os.fstat(descriptor).st_ino)
        opened.add(descriptor)
        real_close(descriptor)

    def unlink(path):
        if locks.held:  # an open file cannot be removed
            raise PermissionError(errno.EACCES, "in use")
        real_unlink(path)

    monkeypatch.setattr(os, "close", close)
    monkeypatch.setattr(os, "unlink", unlink)
    path = tmp_path / "m.greville"
    with (
        locked(path),
        pytest.raises(ModelFileError, match="another greville command is using it"),
        locked(path),
    ):
        pass
    assert os.listdir(tmp_path) == []
    with locked(path):
        pass


def test_a_file_that_a_reader_has_open_is_replaced_later(tmp_path, monkeypatch, on_windows):
    path, real, refusals = tmp_path / "m", os.replace, [3]

    def replace(old, new):
        if refusals[0]:
            refusals[0] -= 1
            raise PermissionError(errno.EACCES, "in use")
        real(old, new)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(ModelFileError, match="in use"):
        greville.save(greville.Opium(1), path)  # not on Windows: at once
    on_windows()
    greville.save(greville.Opium(2), path)
    assert greville.load(path).epsilon == 2
    refusals[0], before = 10**9, path.read_bytes()
    monkeypatch.setattr(atomic, "_PATIENCE", 0.05)
    with pytest.raises(PermissionError), whole_file(path) as new:
        Path(new).write_bytes(b"new")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]


@pytest.mark.parametrize("errors", ["strict", "backslashreplace"])
def test_output_that_has_no_greek_letters(monkeypatch, errors):
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="cp1252", errors=errors)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", None)  # as without a console
    _process.make_safe_for_text()
    print("ε → é", flush=True)
    assert written.getvalue() == f"\\u03b5 \\u2192 é{os.linesep}".encode("cp1252")


def test_output_into_pipes_of_windows_is_utf8(monkeypatch, on_windows):
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="cp1252", newline="\r\n")
    monkeypatch.setattr(sys, "stdout", stream)
    on_windows()
    _process.make_safe_for_text()
    print("ε → é", flush=True)
    assert written.getvalue() == "ε → é\n".encode()


def test_closed_pipes_of_windows(on_windows):
    invalid = OSError(errno.EINVAL, "Invalid argument")
    assert not _process.is_closed_pipe(invalid)
    on_windows()
    assert _process.is_closed_pipe(invalid)
    assert _process.is_closed_pipe(BrokenPipeError())
    assert not _process.is_closed_pipe(OSError(errno.EINVAL, "Invalid argument", "a<b.csv"))
    assert not _process.is_closed_pipe(ValueError())


def test_an_interrupt_is_no_kill_on_windows(monkeypatch, on_windows):
    asked = threading.Event()
    monkeypatch.setattr(_process._thread, "interrupt_main", asked.set)
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("it would end the process"))
    on_windows()
    with _process.repeating(KeyboardInterrupt, _process.interrupt):
        sys.unraisablehook(SimpleNamespace(exc_type=KeyboardInterrupt))
    assert asked.wait(children.LIMIT)


@pytest.mark.parametrize("name", ["C:\\data.csv", "C:/data.csv", "C://data.csv", "data.csv"])
def test_drives_are_no_addresses(name):
    assert not is_remote(name)
    assert is_remote("s3://bucket/data.csv")


@pytest.mark.full
def test_a_server_as_a_process(tmp_path):
    """It starts, learns and stops on every system."""
    command = [*children.GREVILLE, "serve", str(tmp_path / "m"), "--target", "y", "--port", "0"]
    stop, options = signal.SIGTERM, {}
    if os.name == "nt":
        stop = signal.CTRL_BREAK_EVENT
        options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    with children.started(command, stderr=subprocess.PIPE, encoding="utf-8", **options) as process:
        line = next(line for line in process.stderr if "http://" in line)
        host, port = re.search(r"http://([\d.]+):(\d+)", line).groups()
        connection = http.client.HTTPConnection(host, int(port), timeout=children.LIMIT)
        body, headers = '{"a": 1, "y": 2}', {"Content-Type": "application/json"}
        connection.request("POST", "/learn", body, headers)
        answer = connection.getresponse().read()
        connection.close()
        assert b'"learned": 1' in answer or b'"learned":1' in answer
        process.send_signal(stop)
        said = process.stderr.read()
        assert process.wait(children.LIMIT) == 0, said
    assert greville.load(tmp_path / "m").lines == 1
